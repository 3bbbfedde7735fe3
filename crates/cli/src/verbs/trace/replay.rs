//! `drivescope trace replay`.

use anyhow::{Result, bail};

use crate::args::TraceReplayArgs;
use crate::exit::Exit;

/// Runs the verb.
///
/// # Errors
/// What makes it impossible.
pub fn main(args: &TraceReplayArgs) -> Result<Exit> {
    bail!("{}: not built yet", args.trace.display())
}

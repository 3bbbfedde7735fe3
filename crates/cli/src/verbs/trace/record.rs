//! `drivescope trace record`.

use anyhow::{Result, bail};

use crate::args::TraceRecordArgs;
use crate::exit::Exit;

/// Runs the verb.
///
/// # Errors
/// What makes it impossible.
pub fn main(args: &TraceRecordArgs) -> Result<Exit> {
    bail!("{}: not built yet", args.trace.display())
}

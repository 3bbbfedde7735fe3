//! `drivescope trace analyze`.

use anyhow::{Result, bail};

use crate::args::TraceAnalyzeArgs;
use crate::exit::Exit;

/// Runs the verb.
///
/// # Errors
/// What makes it impossible.
pub fn main(args: &TraceAnalyzeArgs) -> Result<Exit> {
    bail!("{}: not built yet", args.trace.display())
}

//! `drivescope trace compare`.

use anyhow::{Result, bail};

use crate::args::TraceCompareArgs;
use crate::exit::Exit;

/// Runs the verb.
///
/// # Errors
/// What makes it impossible.
pub fn main(args: &TraceCompareArgs) -> Result<Exit> {
    bail!("{}: not built yet", args.trace.display())
}

//! `drivescope trace export`.

use anyhow::{Result, bail};

use crate::args::TraceExportArgs;
use crate::exit::Exit;

/// Runs the verb.
///
/// # Errors
/// What makes it impossible.
pub fn main(args: &TraceExportArgs) -> Result<Exit> {
    bail!("{}: not built yet", args.trace.display())
}

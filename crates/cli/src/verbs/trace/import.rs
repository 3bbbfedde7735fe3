//! `drivescope trace import`.

use anyhow::{Result, bail};

use crate::args::TraceImportArgs;
use crate::exit::Exit;

/// Runs the verb.
///
/// # Errors
/// What makes it impossible.
pub fn main(args: &TraceImportArgs) -> Result<Exit> {
    bail!("{}: not built yet", args.trace.display())
}

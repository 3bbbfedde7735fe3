//! `drivescope purge`: empties a drive, and shows whether it is empty.

use anyhow::Result;

use crate::args::PurgeArgs;
use crate::exit::Exit;
use crate::purging;

/// Runs the verb.
///
/// # Errors
/// What makes it impossible.
pub fn main(args: &PurgeArgs) -> Result<Exit> {
    purging::run(args)
}

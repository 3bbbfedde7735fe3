//! `drivescope import`: what another tool printed, judged as a drive's own answers are.

use anyhow::{Result, bail};

use crate::args::{ImportArgs, ImportVerb};
use crate::exit::Exit;
use crate::verbs::read_input;

/// Runs the verb.
///
/// # Errors
/// When a file cannot be read, or holds nothing that is known.
pub fn main(args: &ImportArgs) -> Result<Exit> {
    let ImportVerb::Flashbench(args) = &args.verb;
    for path in &args.files {
        read_input(path)?;
    }
    bail!("nothing is known of these files")
}

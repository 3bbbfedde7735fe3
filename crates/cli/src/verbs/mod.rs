//! One file per verb.

pub mod devices;
pub mod flashbench;
pub mod health;
pub mod import;
pub mod mark;
pub mod plan;
pub mod probe;
pub mod rerun;
pub mod resume;
pub mod rows;
pub mod run;
pub mod runs;
pub mod shell;
pub mod sim;
pub mod trace;

use std::io::Read;
use std::path::Path;

use anyhow::{Context as _, Result};

/// What the file at `path` holds, or standard input for `-`.
///
/// # Errors
/// When it cannot be read.
fn read_input(path: &Path) -> Result<Vec<u8>> {
    let read = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    read.with_context(|| format!("{}: cannot be read", path.display()))
}

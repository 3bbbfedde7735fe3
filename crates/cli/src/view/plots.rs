//! Plots of probings.

use std::path::Path;

use anyhow::{Result, bail};
use probe::Body;

/// Draws the plot of what was probed.
///
/// # Errors
/// When there is none.
pub fn draw(_: &Body, path: &Path) -> Result<()> {
    bail!("{}: there is nothing to draw", path.display())
}

/// Offset and least time of each place, as flashbench writes them.
pub fn gnuplot(_: &Body) -> String {
    String::new()
}

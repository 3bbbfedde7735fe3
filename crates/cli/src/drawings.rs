//! Charts as they are written to files.

use std::path::Path;

use anyhow::{Result, bail};
use bench::outputs;
use report::chart::{Canvas, Chart, Ground, png_of_all, svg_of_all};

/// Writes charts into one file, as its name ends: one alone, and several in two columns.
///
/// # Errors
/// When a value cannot be drawn, the file's name has no known end, or it cannot be written.
pub fn write(charts: &[Chart], path: &Path, ground: Ground, force: bool) -> Result<()> {
    let name = path.display();
    let canvas = Canvas { ground, ..Canvas::default() };
    let bytes = match path.extension().and_then(|end| end.to_str()) {
        Some("svg") => svg_of_all(charts, canvas, 2)?.into_bytes(),
        Some("png") => png_of_all(charts, canvas, 2)?,
        _ => bail!("{name}: end the name in .svg or .png, which says how it is drawn"),
    };
    outputs::write(path, &bytes, force)
}

/// Draws all there is to see into one file, as its name ends.
///
/// # Errors
/// When there is nothing to draw, the file's name has no known end, or it cannot be written.
pub fn of_trace(
    body: &trace::analyze::body::Body,
    path: &Path,
    ground: Ground,
    force: bool,
) -> Result<()> {
    let charts: Vec<Chart> =
        views::trace_plots::charts(body).into_iter().map(|(_, chart)| chart).collect();
    if charts.is_empty() {
        bail!("{}: there is nothing to draw of what was looked at", path.display());
    }
    write(&charts, path, ground, force)
}

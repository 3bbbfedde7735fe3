//! Tests as they are written to the files that were asked for.

use anyhow::{Result, bail};
use bench::outputs;
use block::WallClock as _;
use pts::body::Body;
use record::Envelope;
use report::chart::Ground;
use views::pts::{charts, csv, pages};

use crate::args::PtsOutputArgs;
use crate::envelope::SystemClock;
use crate::{drawings, messages};

/// Writes what the flags ask for into files.
///
/// # Errors
/// When one cannot be written.
pub fn write(
    bodies: &[Body],
    envelope: &Envelope,
    output: &PtsOutputArgs,
    is_halted: bool,
) -> Result<()> {
    if let Some(path) = &output.csv {
        outputs::write(path, csv(bodies).as_bytes(), output.force)?;
    }
    if let Some(path) = &output.report {
        let written = record::rfc3339(SystemClock.now());
        let html = report::html::render(&pages::document(bodies, envelope, &written))?;
        outputs::write(path, html.as_bytes(), output.force)?;
    }
    if let Some(path) = &output.plot {
        let all: Vec<_> = bodies.iter().filter_map(charts::main).collect();
        if all.is_empty() && is_halted {
            messages::note(&drawings::not_yet(path));
            return Ok(());
        }
        if all.is_empty() {
            bail!("{}: there is nothing to draw of what was tested", path.display());
        }
        drawings::write(&all, path, Ground::Light, output.force)?;
    }
    Ok(())
}

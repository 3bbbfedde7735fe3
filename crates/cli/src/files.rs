//! Files that a result is also written to: its report, a picture and rows, all made of the recorded run as `report` and
//! `show` make them; or of the document, where there is no record.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use bench::outputs;
use block::WallClock as _;
use documents::recorded::{Recorded, ResultBody};
use report::RateUnit;
use report::chart::{Chart, Ground};
use runner::recorder::Closed;
use views::pts::pages;
use views::reporting as view;

use crate::args::{FilesArgs, PlaceArgs, ResultArgs};
use crate::envelope::SystemClock;
use crate::{drawings, messages, recorded};

/// A run that is over.
pub struct Ended<'a> {
    /// Its record.
    pub record: &'a Closed,
    /// Place of its record.
    pub place: &'a PlaceArgs,
    /// True when it was stopped before its end.
    pub is_halted: bool,
    /// Its result, for a run without a record.
    pub document: &'a dyn Fn() -> Result<Recorded>,
}

impl Ended<'_> {
    fn results(&self) -> Result<Vec<Recorded>> {
        match self.record {
            Closed { id: Some(id), failure: None } => {
                recorded::open_all(&[id.to_string()], self.place)
            }
            _ => Ok(vec![(self.document)()?]),
        }
    }
}

/// Writes the files that `files` name.
///
/// # Errors
/// When the result cannot be drawn, or a file not be written.
pub fn write(files: &FilesArgs, mib: bool, ended: &Ended<'_>) -> Result<()> {
    let FilesArgs { result: ResultArgs { report, force, .. }, plot, csv, .. } = files;
    if report.is_none() && plot.is_none() && csv.is_none() {
        return Ok(());
    }
    let runs = ended.results()?;
    if csv.is_some() {
        let rows = view::rows(&runs).context("the result has no rows")?;
        match csv.as_deref().filter(|_| !files.is_csv_on_stdout()) {
            Some(path) => outputs::write(path, rows.as_bytes(), *force)?,
            None => messages::plain(&rows)?,
        }
    }
    if let Some(path) = plot {
        draw(&view::main_charts(&runs), path, *force, ended.is_halted)?;
    }
    if let Some(path) = report {
        let rate = if mib { RateUnit::Mib } else { RateUnit::Mb };
        let document = match runs.as_slice() {
            // The specification says what is on which page.
            [Recorded { found: ResultBody::Tests(bodies), envelope, .. }] => {
                pages::document(bodies, envelope, &record::rfc3339(SystemClock.now()))
            }
            runs => view::document(runs, rate),
        };
        let page = report::html::render(&document)?;
        outputs::write(path, page.as_bytes(), *force)?;
        let size = report::number::bytes(page.len() as f64);
        messages::note(&format!("the report is in {} ({size})", path.display()));
    }
    Ok(())
}

fn draw(charts: &[Chart], path: &Path, force: bool, is_halted: bool) -> Result<()> {
    match charts {
        [] if is_halted => {
            messages::note(&format!("{} is not drawn: nothing to draw yet", path.display()));
            Ok(())
        }
        [] => bail!("{}: the result has nothing to draw", path.display()),
        charts => drawings::write(charts, path, Ground::Light, force),
    }
}

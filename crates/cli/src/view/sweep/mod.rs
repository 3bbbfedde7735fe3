//! A sweep as a page, as pictures and as rows.

pub mod charts;
mod csv;
mod tables;

use std::path::PathBuf;

use anyhow::Result;
use mark::sweep::{Body, findings};
use record::Document;
use report::chart::{Ground, terminal};
use report::{RateUnit, Style, Styled, render_tables};
use workload::plan::Plan;

use crate::setup::Swept;
use crate::verbs::sweep::is_stdout;
use crate::{outputs, talk};

pub use tables::{headline, outlook, page, plan};

/// The form of a sweep's body.
const SCHEMA: &str = "drivescope.sweep/1";

/// Files that a sweep is written to beside the result.
#[derive(Clone, Debug, Default)]
pub struct SweepFiles {
    /// One row a run; `-` for standard output.
    pub csv: Option<PathBuf>,
    /// Pictures.
    pub plot: Option<PathBuf>,
    /// True when they may be written over others.
    pub force: bool,
}

impl SweepFiles {
    /// Looks whether they may be written, before hours are spent on what is to be written.
    ///
    /// # Errors
    /// What is in the way.
    pub fn check(&self) -> Result<()> {
        let csv = self.csv.as_ref().filter(|path| !is_stdout(path));
        csv.into_iter().chain(&self.plot).try_for_each(|path| outputs::check(path, self.force))
    }

    /// True when rows go where the page would.
    pub fn is_csv_on_stdout(&self) -> bool {
        self.csv.as_deref().is_some_and(is_stdout)
    }

    /// Writes them.
    ///
    /// # Errors
    /// When one cannot be written.
    pub fn write(&self, document: &Document<Body>) -> Result<()> {
        if let Some(path) = &self.csv {
            csv::write(&document.body, path, self.force)?;
        }
        match &self.plot {
            Some(path) => {
                let charts = charts::all(&document.body);
                super::plots::write(&charts, path, Ground::Light, self.force)
            }
            None => Ok(()),
        }
    }
}

/// The mark of a sweep's plan as what it is.
pub fn found(swept: &Swept, plan: &Plan, mark: &Document<mark::Body>) -> Document<Body> {
    let mut envelope = mark.envelope.clone();
    SCHEMA.clone_into(&mut envelope.schema);
    let body = findings(&swept.sweep, plan, &mark.body, swept.limits);
    Document { envelope, body }
}

/// Prints a sweep.
///
/// # Errors
/// When it cannot be printed.
pub fn show(document: &Document<Body>, json: bool, mib: bool) -> Result<()> {
    if json {
        return talk::document(document);
    }
    let rate = if mib { RateUnit::Mib } else { RateUnit::Mb };
    let style = Style { rate, ..Style::default() };
    let mut text = render_tables(&page(&document.body, rate), style);
    if let Some(chart) = charts::first(&document.body) {
        text += &Styled::of_lines("\n");
        text += &terminal(&chart, style)?;
    }
    talk::result(&text)
}

//! A sweep as it leaves the program: printed, and written to the files that were asked for.

use std::path::{Path, PathBuf};

use anyhow::Result;
use bench::outputs;
use mark::sweep::Body;
use record::Document;
use report::chart::{Ground, terminal};
use report::{RateUnit, Style, Styled, render_tables};
use views::sweep::{charts, csv, page};

use crate::{drawings, messages};

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
            let text = csv(&document.body);
            match is_stdout(path) {
                true => messages::plain(&text)?,
                false => outputs::write(path, text.as_bytes(), self.force)?,
            }
        }
        match &self.plot {
            Some(path) => {
                let charts = charts::all(&document.body);
                drawings::write(&charts, path, Ground::Light, self.force)
            }
            None => Ok(()),
        }
    }
}

/// True when the file stands for standard output.
fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Prints a sweep.
///
/// # Errors
/// When it cannot be printed.
pub fn show(document: &Document<Body>, json: bool, mib: bool) -> Result<()> {
    if json {
        return messages::document(document);
    }
    let rate = if mib { RateUnit::Mib } else { RateUnit::Mb };
    let style = Style { rate, ..Style::default() };
    let mut text = render_tables(&page(&document.body, rate), style);
    if let Some(chart) = charts::first(&document.body) {
        text += &Styled::of_lines("\n");
        text += &terminal(&chart, style)?;
    }
    messages::result(&text)
}

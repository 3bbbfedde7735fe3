//! Flags about the result: how it is printed, the files that it is also written to, and how much is said meanwhile.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use bench::outputs;
use clap::Args;
use clap::builder::{ArgPredicate, PathBufValueParser, TypedValueParser as _};

use super::{BesideResume, page_file, picture, table_file};

/// Output of every verb that measures.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct ResultArgs {
    /// Print the result as JSON
    #[arg(long, add = BesideResume)]
    pub json: bool,
    /// Write the report of it (HTML) into this file
    #[arg(long, value_name = "FILE.html", value_parser = PathBufValueParser::new().try_map(page_file), add = BesideResume)]
    pub report: Option<PathBuf>,
    /// Write over files that exist
    #[arg(long, add = BesideResume)]
    pub force: bool,
    /// Show no progress
    #[arg(long, default_value_if("quiet", ArgPredicate::IsPresent, "true"), add = BesideResume)]
    pub no_progress: bool,
    /// Show nothing but the result and errors
    #[arg(long, short, add = BesideResume)]
    pub quiet: bool,
}

/// The same, of results that can be drawn and have rows.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct FilesArgs {
    #[command(flatten)]
    pub result: ResultArgs,
    /// Draw it into this file (.svg or .png)
    #[arg(long, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(picture), add = BesideResume)]
    pub plot: Option<PathBuf>,
    /// Write its rows into this CSV file; - for standard output
    #[arg(long, value_name = "FILE.csv", value_parser = PathBufValueParser::new().try_map(table_file), add = BesideResume)]
    pub csv: Option<PathBuf>,
    /// Print what would be done, how long it takes, what it reads and writes and what
    /// is known against its result, and end
    #[arg(long, add = BesideResume)]
    pub dry_run: bool,
}

impl ResultArgs {
    /// True when no hint at the page of a recorded run is needed: it was written, or a program reads the run's name.
    pub fn has_page(&self) -> bool {
        self.json || self.report.is_some()
    }

    /// As [`FilesArgs::check`].
    ///
    /// # Errors
    /// As there.
    pub fn check(&self) -> Result<()> {
        self.report.as_ref().map_or(Ok(()), |path| outputs::check(path, self.force))
    }
}

impl FilesArgs {
    /// Checks that the files may be written, before anything is opened or measured.
    ///
    /// # Errors
    /// The reason why one cannot.
    pub fn check(&self) -> Result<()> {
        if self.is_csv_on_stdout() && self.result.json {
            bail!(
                "--csv - and --json both print to standard output\nhint: give --csv a file, or leave one out"
            );
        }
        let csv = self.csv.as_ref().filter(|path| !is_stdout(path));
        let mut files: Vec<&PathBuf> =
            csv.into_iter().chain(&self.plot).chain(&self.result.report).collect();
        files.iter().try_for_each(|path| outputs::check(path, self.result.force))?;
        files.sort();
        match files.windows(2).find(|two| two[0] == two[1]) {
            Some(two) => bail!(
                "{} is named for two outputs\nhint: give each a file of its own",
                two[0].display()
            ),
            None => Ok(()),
        }
    }

    /// True when rows are printed instead of the result.
    pub fn is_csv_on_stdout(&self) -> bool {
        self.csv.as_deref().is_some_and(is_stdout)
    }
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

//! Directory of recorded runs.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use record::{Announced, Runs, SamplesFormat};
use serde_json::Value;

use crate::messages;

/// Whether and where a run is recorded.
#[derive(Clone, Debug, Default)]
pub struct Keep {
    /// The directory that the user named.
    pub runs_dir: Option<PathBuf>,
    /// No record is kept.
    pub no_record: bool,
    /// Form of the single I/Os, where the user named one.
    pub samples: Option<SamplesFormat>,
    /// The run that this one is a part of.
    pub part_of: Option<String>,
    /// True of a part of a run whose record is open: it is measured for that one, also where it cannot have a record itself.
    pub is_optional: bool,
    /// Engines that the kernel has refused by the time when the record begins.
    pub engine_refused: Option<fn() -> Option<Value>>,
    /// Announcement of the run.
    pub announced: Option<Box<Announced>>,
}

/// A place for a new run.
#[derive(Debug)]
pub struct Place {
    /// The recorded runs.
    pub runs: Runs,
    /// True when the user named it: then a run that cannot be recorded is not made.
    pub is_required: bool,
}

/// The directory of recorded runs that the user or the environment names.
fn directory(named: Option<&Path>) -> Option<PathBuf> {
    named.map(Path::to_path_buf).or_else(|| record::default_dir(|name| std::env::var_os(name)))
}

/// The recorded runs in the directory `named`, or in the usual one.
///
/// # Errors
/// When there is no usual one.
pub fn runs(named: Option<&Path>) -> Result<Runs> {
    let dir = directory(named)
        .context("no home directory is known to look for runs in; name one with --runs-dir")?;
    check_directory(&dir)?;
    Ok(Runs::at(dir))
}

fn check_directory(dir: &Path) -> Result<()> {
    if dir.exists() && !dir.is_dir() {
        bail!(
            "{}: is not a directory, and runs are kept in one; name another with --runs-dir or DRIVESCOPE_RUNS_DIR",
            dir.display()
        );
    }
    Ok(())
}

impl Keep {
    /// The place for a new run; `None` when it is not recorded, with a message unless that was asked for.
    ///
    /// # Errors
    /// When the place that the user named cannot be used.
    pub fn place(&self) -> Result<Option<Place>> {
        let variable = std::env::var_os("DRIVESCOPE_RUNS_DIR");
        let is_named = self.runs_dir.is_some()
            || self.samples.is_some()
            || variable.is_some_and(|dir| !dir.is_empty());
        let is_required = is_named && !self.is_optional;
        let not_recorded = |why: &str| {
            let hint = "; --runs-dir names another place";
            let hint = if why.contains("--runs-dir") { "" } else { hint };
            messages::note(&format!("this run is not recorded: {why}{hint}"));
            Ok(None)
        };
        if self.no_record {
            return Ok(None);
        }
        let Some(dir) = directory(self.runs_dir.as_deref()) else {
            return match is_required {
                true => bail!("{NO_HOME}; name one with --runs-dir"),
                false => not_recorded(NO_HOME),
            };
        };
        if is_required {
            check_directory(&dir)?;
        }
        let runs = Runs::at(dir);
        match runs.prepare() {
            Ok(()) => Ok(Some(Place { runs, is_required })),
            Err(error) if is_required => Err(error).context("runs cannot be kept"),
            Err(error) => not_recorded(&error.to_string()),
        }
    }
}

const NO_HOME: &str = "no home directory is known to keep runs in";

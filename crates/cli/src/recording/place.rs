//! Where runs are kept, and where a new one is to be.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use record::Runs;

use crate::args::{KeepArgs, PlaceArgs};
use crate::talk;

/// The directory of recorded runs that the flags or the environment name.
fn runs_dir(place: &PlaceArgs) -> Option<PathBuf> {
    let variable = |name: &str| -> Option<OsString> { std::env::var_os(name) };
    place.runs_dir.clone().or_else(|| record::default_dir(variable))
}

/// The recorded runs.
///
/// # Errors
/// When nothing says where they are.
pub fn runs(place: &PlaceArgs) -> Result<Runs> {
    let dir = runs_dir(place)
        .context("no home directory is known to look for runs in; name one with --runs-dir")?;
    is_no_file(&dir)?;
    Ok(Runs::at(dir))
}

fn is_no_file(dir: &Path) -> Result<()> {
    if dir.exists() && !dir.is_dir() {
        bail!(
            "{}: is no directory, and runs are kept in one; name another with --runs-dir or DRIVESCOPE_RUNS_DIR",
            dir.display()
        );
    }
    Ok(())
}

/// The directory that a new run is to be recorded in, and whether the user named it; `None` when nothing is to be
/// recorded, which the user is told unless it was asked for.
///
/// # Errors
/// When the place that the user named cannot be used.
pub fn place(keep: &KeepArgs) -> Result<Option<(Runs, bool)>> {
    let is_asked = keep.place.runs_dir.is_some()
        || keep.keep_samples.is_some()
        || std::env::var_os("DRIVESCOPE_RUNS_DIR").is_some_and(|dir| !dir.is_empty());
    let off = |why: &str| {
        let tail = "; --runs-dir names another place";
        let tail = if why.contains("--runs-dir") { "" } else { tail };
        talk::note(&format!("this run is not recorded: {why}{tail}"));
        Ok(None)
    };
    let Some(dir) = runs_dir(&keep.place).filter(|_| !keep.no_record) else {
        return match keep.no_record {
            true => Ok(None),
            false if is_asked => bail!("{NO_HOME}; name one with --runs-dir"),
            false => off(NO_HOME),
        };
    };
    if is_asked {
        is_no_file(&dir)?;
    }
    let runs = Runs::at(dir);
    match runs.prepare() {
        Ok(()) => Ok(Some((runs, is_asked))),
        Err(error) if is_asked => Err(error).context("runs cannot be kept"),
        Err(error) => off(&error.to_string()),
    }
}

const NO_HOME: &str = "no home directory is known to keep runs in";

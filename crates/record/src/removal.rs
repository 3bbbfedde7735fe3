//! Removing runs: all that a run writes, and nothing else.

use std::path::{Path, PathBuf};

use crate::files::{Entry, Files, Kind};
use crate::load::position_of;
use crate::store::{
    DOCUMENT, END, ENVELOPE, HISTOGRAMS, JOURNAL, NEW, PART, PLAN, RECORD, REMOVED, SAMPLES,
    SERIES, SETUP, SUMS,
};
use crate::{RecordError, RunId, SamplesFormat};

/// Files of a run beside its samples.
const OWN: [&str; 10] =
    [RECORD, PLAN, ENVELOPE, SETUP, JOURNAL, SERIES, HISTOGRAMS, DOCUMENT, SUMS, END];
/// How the name of a directory ends that has what is left of a removed run's: files of others.
const REST: &str = ".rest";

/// The name of a run's directory while it is removed.
pub(crate) fn aside(dir: &Path, id: &RunId) -> PathBuf {
    dir.join(format!("{REMOVED}{id}"))
}

/// Removes what is in the run directory `aside` of the runs directory `dir`. Where files are in it that no run writes, they
/// stay, in the directory that is returned.
pub(crate) fn remove<F: Files>(
    files: &F,
    dir: &Path,
    aside: &Path,
) -> Result<Option<PathBuf>, RecordError> {
    if remove_own(files, aside)? {
        return Ok(None);
    }
    let name = aside.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some(id) = name.strip_prefix(REMOVED) else { return Ok(Some(aside.to_owned())) };
    let rest = dir.join(format!("{id}{REST}"));
    // If that name is taken, both directories stay.
    let renamed = files.rename(aside, &rest).and_then(|()| files.sync_dir(dir));
    Ok(Some(if renamed.is_ok() { rest } else { aside.to_owned() }))
}

/// Removes a run's directory with all that a run writes; true when that was all. A link or a pipe under the name of a file
/// goes, and what a link leads to stays.
pub(crate) fn remove_own<F: Files>(files: &F, dir: &Path) -> Result<bool, RecordError> {
    let mut is_all = true;
    for entry in files.list(dir).map_err(RecordError::io("list it", dir))? {
        let path = dir.join(&entry.name);
        is_all &= match entry.kind {
            Kind::Dir if entry.name == SAMPLES => remove_samples(files, &path)?,
            _ => remove_if_own(files, &path, &entry, |name| OWN.contains(&name))?,
        };
    }
    if is_all {
        files.remove_dir(dir).map_err(RecordError::io("remove it", dir))?;
    }
    Ok(is_all)
}

fn remove_samples<F: Files>(files: &F, dir: &Path) -> Result<bool, RecordError> {
    let formats = [SamplesFormat::Csv, SamplesFormat::Parquet];
    let is_sample = |name: &str| formats.iter().any(|format| position_of(name, *format).is_some());
    let mut is_all = true;
    for entry in files.list(dir).map_err(RecordError::io("list it", dir))? {
        is_all &= remove_if_own(files, &dir.join(&entry.name), &entry, is_sample)?;
    }
    if is_all {
        files.remove_dir(dir).map_err(RecordError::io("remove it", dir))?;
    }
    Ok(is_all)
}

/// Removes a file whose name, or whose name once it is whole, `is_own`; false for any other.
fn remove_if_own<F: Files>(
    files: &F,
    path: &Path,
    entry: &Entry,
    is_own: impl Fn(&str) -> bool,
) -> Result<bool, RecordError> {
    let whole = entry.name.strip_prefix('.').and_then(|name| name.strip_suffix(PART));
    if entry.kind == Kind::Dir || !is_own(whole.unwrap_or(&entry.name)) {
        return Ok(false);
    }
    files.remove_file(path).map_err(RecordError::io("remove it", path))?;
    Ok(true)
}

/// Removes what earlier processes left unfinished in a runs directory. The caller holds its lock, so no other process is
/// working on it. A directory that cannot be removed is not a run anyway.
pub(crate) fn sweep<F: Files>(files: &F, dir: &Path) {
    let mut entries = files.list(dir).unwrap_or_default();
    entries.retain(|entry| {
        let is_ours = [NEW, REMOVED].iter().any(|begin| entry.name.starts_with(begin));
        is_ours && entry.kind == Kind::Dir
    });
    // First their names: one that was a run's must not be that again, with nothing in it.
    if !entries.is_empty() && files.sync_dir(dir).is_ok() {
        for entry in entries {
            let _ = remove(files, dir, &dir.join(entry.name));
        }
    }
}

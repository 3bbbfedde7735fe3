//! Why the record cannot do what was asked.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::{NotARunId, RunId};

/// Why the record cannot do what was asked: with which file, and what to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A file operation failed.
    #[error("{}: cannot {action}: {source}{}", path.display(), remedy(source))]
    Io {
        /// The attempted action, as the end of "cannot …".
        action: &'static str,
        /// On which file or directory.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The writer of a run failed before; the run is as the first failure left it.
    #[error(
        "the record of run {id} stopped: {cause}; saved in {}: {}",
        dir.display(), saved(*steps, until)
    )]
    Stopped {
        /// The run.
        id: RunId,
        /// Its directory.
        dir: PathBuf,
        /// Steps that are on disk.
        steps: u32,
        /// Position and name of the last of them.
        until: Option<(u32, String)>,
        /// The first failure.
        cause: String,
    },
    /// The journal of a run would grow beyond what is read back.
    #[error(
        "{}: would grow beyond {most_bytes} bytes, the most that is read back; this is not saved, the {steps} \
         steps before it are; begin another run for what is left, of fewer steps or of longer slices",
        path.display()
    )]
    Full {
        /// The journal.
        path: PathBuf,
        /// Steps that are on disk.
        steps: u32,
        /// How long it can be.
        most_bytes: u64,
    },
    /// A step was given twice.
    #[error("run {id} has position {position} already")]
    Repeated {
        /// The run.
        id: RunId,
        /// The position.
        position: u32,
    },
    /// A file does not hold what it should.
    #[error("{}{}: {what}; restore it from an export, or remove the run", path.display(), at_line(*line))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Line in it, from 1.
        line: Option<u64>,
        /// The fault.
        what: String,
    },
    /// Files of a run are no longer what they were when it began or ended.
    #[error(
        "run {id} was altered since it was recorded: {}; put back what was there, or begin a new run",
        files.join(", ")
    )]
    Altered {
        /// The run.
        id: RunId,
        /// The altered files, each with the kind of change.
        files: Vec<String>,
    },
    /// A newer drivescope wrote it.
    #[error("{}: has schema {schema:?}, and this drivescope reads up to {newest:?}: use a newer one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The schema that it states.
        schema: String,
        /// The newest that is understood.
        newest: &'static str,
    },
    /// Nothing has been recorded.
    #[error("{}: holds no runs yet; what is measured is kept there", dir.display())]
    NoRuns {
        /// The runs directory.
        dir: PathBuf,
    },
    /// No run has this name.
    #[error("no run in {} is called {name:?}; the newest are {}", dir.display(), list(newest))]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The runs directory.
        dir: PathBuf,
        /// The newest runs.
        newest: Vec<RunId>,
    },
    /// More than one run has a name that begins so.
    #[error("{name:?} could be {}; give more of the name", list(candidates))]
    Ambiguous {
        /// The name that was asked for.
        name: String,
        /// The newest runs whose names begin so.
        candidates: Vec<RunId>,
    },
    /// Another process is writing the run.
    #[error("run {id} is being written by another process; wait for it to end, or end it")]
    Busy {
        /// The run.
        id: RunId,
    },
    /// Another process is changing the runs directory, and did not finish soon.
    #[error("{}: another process is changing this directory; try again", dir.display())]
    DirectoryBusy {
        /// The runs directory.
        dir: PathBuf,
    },
    /// A run of this name is there already.
    #[error("{}: is there already, with other content; move one of the two away", dir.display())]
    Exists {
        /// Directory of that run.
        dir: PathBuf,
    },
    /// The run cannot be resumed.
    #[error("run {id} cannot be resumed: {why}")]
    NotResumable {
        /// The run.
        id: RunId,
        /// Why, and what to do.
        why: &'static str,
    },
    /// The run keeps no single I/Os.
    #[error("run {id} was begun without samples")]
    NoSamples {
        /// The run.
        id: RunId,
    },
    /// The file to import is not valid. Nothing was imported.
    #[error("{}: {what}; nothing was imported", path.display())]
    Archive {
        /// The file.
        path: PathBuf,
        /// The fault, and its place.
        what: String,
    },
    /// The output of an export failed.
    #[error("cannot write the archive: {0}")]
    Output(#[source] io::Error),
    /// The document has a form that JSON does not.
    #[error("cannot write the {what} as JSON: {source}")]
    Json {
        /// The part that cannot be written.
        what: &'static str,
        /// Why not.
        source: serde_json::Error,
    },
    /// The text is not the name of a run.
    #[error(transparent)]
    Name(#[from] NotARunId),
}

impl RecordError {
    /// Wraps the kernel's answer.
    pub(crate) fn io<'a>(
        action: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> RecordError + use<'a> {
        move |source| RecordError::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> RecordError {
        RecordError::Damaged { path: path.to_owned(), line: None, what: what.into() }
    }

    /// True when the cause is that something is not there.
    pub(crate) fn is_absence(&self) -> bool {
        matches!(self, RecordError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// True when the cause is that something else is in the place of a file.
    pub(crate) fn is_no_file(&self) -> bool {
        matches!(self, RecordError::Io { source, .. } if source.kind() == io::ErrorKind::InvalidInput)
    }
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            " (make room, or take another directory with --runs-dir)"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            " (take another directory with --runs-dir)"
        }
        _ => "",
    }
}

fn saved(steps: u32, until: &Option<(u32, String)>) -> String {
    match until {
        None => "no step".to_owned(),
        Some((position, step)) => {
            let plural = if steps == 1 { "step" } else { "steps" };
            format!("{steps} {plural}, until {step:?} at position {position}")
        }
    }
}

fn at_line(line: Option<u64>) -> String {
    line.map_or(String::new(), |line| format!(":{line}"))
}

fn list(ids: &[RunId]) -> String {
    ids.iter().map(RunId::as_str).collect::<Vec<_>>().join(", ")
}

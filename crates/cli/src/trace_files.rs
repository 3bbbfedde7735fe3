//! Files of traces: those that are read, and those that are written.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use bench::outputs;
use drives::TargetSpec;
use trace::import::Options;
use trace::{Existing, Source, TraceError};

use crate::wrong_verb::{self, Reader};

/// The trace in `files`.
///
/// # Errors
/// Those of reading it; where another verb is for the file, that one is named.
pub fn opened(files: &[PathBuf], options: &Options) -> Result<Box<dyn Source>> {
    let mut targets = files.iter().filter_map(|file| TargetSpec::of_argument(file));
    if let Some(drive) = targets.find(|target| !target.is_real()) {
        bail!("{drive}: is a drive, and a trace belongs there; drives stand behind it");
    }
    ::trace::import::open(files, options).map_err(|error| {
        let is_other = matches!(error, TraceError::Malformed { .. });
        let error = anyhow!(error);
        if is_other { wrong_verb::instead(files, Reader::Trace, error) } else { error }
    })
}

/// Policy for a file that already exists.
pub fn existing(force: bool) -> Existing {
    if force { Existing::Replace } else { Existing::Keep }
}

/// Names the flag where a file that is there already is the reason, and says what to do where `output` cannot be written.
pub fn in_the_way(output: &Path, error: TraceError) -> anyhow::Error {
    match error {
        // Of what is read, the error says itself what it is.
        TraceError::Io { source, file } if Path::new(&file) != output => {
            TraceError::Io { source, file }.into()
        }
        TraceError::Io { source, file } if source.kind() == ErrorKind::AlreadyExists => {
            match output.is_file() {
                true => anyhow!("{file}: exists; --force writes over it, or name another file"),
                false => anyhow!("{file}: is not a regular file, as a trace is; name another file"),
            }
        }
        TraceError::Io { source, .. } => outputs::cannot(output)(source),
        other => other.into(),
    }
}

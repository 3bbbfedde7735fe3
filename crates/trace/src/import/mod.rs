//! The formats of others, told apart by what is in the file.

use std::path::PathBuf;

use crate::{Source, TraceError};

/// How files are to be read. What is left open is settled by evidence, or refused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Leave out what cannot be read, and count it, instead of stopping there.
    pub lenient: bool,
}

/// Opens `files` as one trace, whatever format they have; our own container too.
///
/// # Errors
/// [`TraceError`] when one cannot be read, or when how to read it is not known.
pub fn open(files: &[PathBuf], _options: &Options) -> Result<Box<dyn Source>, TraceError> {
    let file = files.first().map_or_else(String::new, |path| path.display().to_string());
    Err(TraceError::Ambiguous {
        file,
        question: "no format is known yet".to_owned(),
        flag: "none".to_owned(),
    })
}

//! Times of a replay on a reference drive, in a file without a name.

use std::fs::File;
use std::io::{BufReader, Seek as _};

use anyhow::{Context as _, Result};
use trace::replay::ReferenceReader;

/// Times of a replay on a reference drive.
pub struct ReferenceTimes {
    file: File,
}

impl ReferenceTimes {
    /// The times in `file`.
    pub fn new(file: File) -> ReferenceTimes {
        ReferenceTimes { file }
    }

    /// Reads them from the first on.
    ///
    /// # Errors
    /// When the file cannot be read again.
    pub fn reader(&mut self) -> Result<ReferenceReader> {
        let mut file = self.file.try_clone().context("cannot read the temporary file")?;
        file.rewind().context("cannot read the temporary file")?;
        Ok(ReferenceReader::new(Box::new(BufReader::new(file)), "the temporary file"))
    }
}

//! The file of single I/Os that `--samples` writes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use bench::outputs::{self, Part};
use mark::TracedRun;
use runner::exit::Refused;

/// A samples file in the making. A run that fails leaves an earlier file as it was.
pub struct SamplesFile {
    part: Part,
    path: PathBuf,
    failed: Option<std::io::Error>,
}

impl SamplesFile {
    /// Makes the file before anything is measured, so that a path that cannot be written is known at
    /// once. `force` allows that there is one.
    ///
    /// # Errors
    /// Names the path; [`Refused`] when it names a device, another special file, or the target.
    pub fn create(path: &Path, force: bool) -> Result<SamplesFile> {
        if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
            let why = format!("{}: is not a regular file; --samples takes one", path.display());
            return Err(Refused(why).into());
        }
        let mut part = Part::begin(path, force)?;
        writeln!(
            part,
            "step,run,submitter,op,offset_bytes,length_bytes,intended_ns,issued_ns,completed_ns"
        )
        .map_err(outputs::cannot(path))?;
        Ok(SamplesFile { part, path: path.to_owned(), failed: None })
    }

    /// Writes a run's I/Os: times in nanoseconds since the run's first request. An error is kept for
    /// [`SamplesFile::finish`]; the measurement continues.
    pub fn write(&mut self, run: &TracedRun) {
        if self.failed.is_none() {
            self.failed = rows(&mut self.part, run).err();
        }
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// Names the path; then there is no new file.
    pub fn finish(self) -> Result<()> {
        match self.failed {
            Some(error) => Err(outputs::cannot(&self.path)(error)),
            None => self.part.finish(),
        }
    }
}

fn rows(out: &mut impl Write, run: &TracedRun) -> std::io::Result<()> {
    let step = block::text::csv_field(&run.step);
    for s in &run.samples {
        writeln!(
            out,
            "{step},{},{},{},{},{},{},{},{}",
            run.run + 1,
            s.submitter,
            s.op.word(),
            s.offset.0,
            s.len.0,
            s.intended.0,
            s.issued.0,
            s.completed.0
        )?;
    }
    Ok(())
}

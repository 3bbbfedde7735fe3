//! The file of single I/Os that `--samples` writes.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use mark::TracedRun;

use crate::durable;
use crate::exit::Refused;

/// A samples file in the making: a temporary file beside the one that was asked for, which takes its
/// name only when it is whole. A run that fails leaves an earlier file as it was.
pub struct SamplesFile {
    out: BufWriter<File>,
    path: PathBuf,
    temporary: PathBuf,
    failed: Option<std::io::Error>,
    done: bool,
}

impl SamplesFile {
    /// Makes the file before anything is measured, so that a path that cannot be written is known at
    /// once.
    ///
    /// # Errors
    /// Names the path; [`Refused`] when it names a device, another special file, or the `target`.
    pub fn create(path: &Path, target: &str) -> Result<SamplesFile> {
        if let Ok(meta) = fs::metadata(path) {
            if !meta.is_file() {
                let why = format!("{}: is no regular file; --samples takes one", path.display());
                return Err(Refused(why).into());
            }
            let same = |other: fs::Metadata| (other.dev(), other.ino()) == (meta.dev(), meta.ino());
            if fs::metadata(target).is_ok_and(same) {
                let why =
                    format!("{}: is what is measured; --samples takes another", path.display());
                return Err(Refused(why).into());
            }
        }
        let cannot = || format!("{}: cannot be written", path.display());
        let mut name = path.file_name().with_context(cannot)?.to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let temporary = path.with_file_name(name);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)
            .with_context(cannot)?;
        let mut samples = SamplesFile {
            out: BufWriter::new(file),
            path: path.to_owned(),
            temporary,
            failed: None,
            done: false,
        };
        writeln!(
            samples.out,
            "step,run,submitter,op,offset_bytes,length_bytes,intended_ns,issued_ns,completed_ns"
        )
        .with_context(cannot)?;
        Ok(samples)
    }

    /// Writes a run's I/Os: times in nanoseconds since the run's first request. An error is kept for
    /// [`SamplesFile::finish`]; the measurement goes on.
    pub fn write(&mut self, run: &TracedRun) {
        if self.failed.is_none() {
            self.failed = rows(&mut self.out, run).err();
        }
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// Names the path; then there is no new file.
    pub fn finish(mut self) -> Result<()> {
        let cannot = format!("{}: cannot be written", self.path.display());
        if let Some(error) = self.failed.take() {
            return Err(error).context(cannot);
        }
        // Before it takes the name, which may be that of an earlier file: a power cut leaves one of the two.
        let whole = self.out.flush().and_then(|()| self.out.get_ref().sync_all());
        whole.with_context(|| cannot.clone())?;
        fs::rename(&self.temporary, &self.path).with_context(|| cannot.clone())?;
        self.done = true;
        durable::settle_name(&self.path).context(cannot)
    }
}

impl Drop for SamplesFile {
    fn drop(&mut self) {
        if !self.done {
            // Nobody is left to be told; the name says what it is.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

fn rows(out: &mut impl Write, run: &TracedRun) -> std::io::Result<()> {
    let step = record::csv_field(&run.step);
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

//! Files that something is written to beside the result: never a drive, however it was named; whole or not there; and over
//! another file only when that was said.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use trace::{Existing, Pending};

use crate::exit::Refused;

/// Makes the file at `path`, or empties the one that is there, for what goes to it bit by bit. A pipe or a terminal is taken
/// as it is.
///
/// # Errors
/// [`Refused`] where a block device is, also through a link: nobody means to have a drawing over a drive's first
/// sectors. Otherwise the system's answer, with the path.
pub fn create(path: &Path) -> Result<File> {
    // Looked at before it is opened, since udev looks at every device that was open for writing; and again when it
    // is open, since another may have taken its name.
    check_dir(path)?;
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
    let file = file.map_err(cannot(path))?;
    let kind = file.metadata().map_err(cannot(path))?.file_type();
    refuse_drive(path, kind)?;
    if kind.is_file() {
        file.set_len(0).map_err(cannot(path))?;
    }
    Ok(file)
}

/// Looks whether a file may be written to `path`, before hours are spent on what is to be written. `force` allows that
/// there is one; an empty one holds nothing that could be lost.
///
/// # Errors
/// [`Refused`] where a block device is; else what is in the way, and what to do.
pub fn check(path: &Path, force: bool) -> Result<()> {
    not_in_the_way(path, force)?;
    if is_taken_as_it_is(path) {
        return Ok(());
    }
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    if let Some(dir) = dir.filter(|dir| !dir.is_dir()) {
        let (path, dir) = (path.display(), dir.display());
        bail!(
            "{path}: cannot be written, for there is no directory {dir}; make it, or name another"
        );
    }
    // The name of one that is taken back at once.
    Pending::begin(path, Existing::Replace).map(drop).map_err(cannot(path))
}

fn not_in_the_way(path: &Path, force: bool) -> Result<()> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            bail!("{}: is a directory, and a file's name belongs there", path.display())
        }
        Ok(meta) if meta.is_file() && meta.len() > 0 && !force => {
            bail!("{}: exists; --force writes over it, or name another file", path.display())
        }
        Ok(meta) => refuse_drive(path, meta.file_type()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).map_err(cannot(path)),
    }
}

/// True of a pipe, a terminal and the like.
fn is_taken_as_it_is(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| !meta.is_file())
}

/// Looks whether files may be written into the directory `path`, which may have to be made.
///
/// # Errors
/// [`Refused`] where a block device is.
pub fn check_dir(path: &Path) -> Result<()> {
    fs::metadata(path).map_or(Ok(()), |meta| refuse_drive(path, meta.file_type()))
}

fn refuse_drive(path: &Path, kind: FileType) -> Result<()> {
    if kind.is_block_device() {
        let why = format!("{}: is a block device, and a file belongs there", path.display());
        return Err(Refused(why).into());
    }
    Ok(())
}

/// That a file cannot be written, why, and what to do.
pub fn cannot(path: &Path) -> impl FnOnce(io::Error) -> anyhow::Error {
    let path = path.display().to_string();
    move |error| match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            anyhow!(
                "{path}: cannot be written, for there is no room; make some, or name a file elsewhere"
            )
        }
        ErrorKind::ReadOnlyFilesystem => {
            anyhow!(
                "{path}: cannot be written, for its filesystem is read-only; name a file elsewhere"
            )
        }
        ErrorKind::PermissionDenied => {
            anyhow!(
                "{path}: cannot be written, for that is not permitted here; name a file elsewhere"
            )
        }
        ErrorKind::NotFound => {
            anyhow!(
                "{path}: cannot be written, for no file can be made there; name a file elsewhere"
            )
        }
        // It would name the file in the making, of which the user knows nothing.
        kind if error.raw_os_error().is_none() && kind != ErrorKind::Other => {
            anyhow!("{path}: cannot be written: {kind}; name a file elsewhere")
        }
        _ => anyhow!(error).context(format!("{path}: cannot be written")),
    }
}

/// Writes a whole file.
///
/// # Errors
/// As [`check`], or the system's answer; then what was there before is there still.
pub fn write(path: &Path, bytes: &[u8], force: bool) -> Result<()> {
    let mut part = Part::begin(path, force)?;
    part.write_all(bytes).map_err(cannot(path))?;
    part.finish()
}

/// A file in the making: under a name of its own beside the one that was asked for, which it takes when it is whole.
/// Dropped before, it leaves what was there as it was. A pipe or a terminal is written to as it is.
pub struct Part {
    out: BufWriter<File>,
    path: PathBuf,
    pending: Option<Pending>,
    force: bool,
}

impl Part {
    /// Begins a file that is to be at `path`.
    ///
    /// # Errors
    /// As [`check`], or the system's answer, with the path.
    pub fn begin(path: &Path, force: bool) -> Result<Part> {
        check(path, force)?;
        let (file, pending) = if is_taken_as_it_is(path) {
            (create(path)?, None)
        } else {
            // One that is there now is empty, or may be written over.
            let existing = if path.exists() { Existing::Replace } else { Existing::Keep };
            let begun = Pending::begin(path, existing).map_err(cannot(path))?;
            (begun.0, Some(begun.1))
        };
        Ok(Part { out: BufWriter::new(file), path: path.to_owned(), pending, force })
    }

    /// Gives the file its name, and waits until both are durable.
    ///
    /// # Errors
    /// The system's answer, with the path; then there is no new file.
    pub fn finish(mut self) -> Result<()> {
        self.out.flush().map_err(cannot(&self.path))?;
        let Some(pending) = self.pending else { return Ok(()) };
        not_in_the_way(&self.path, self.force)?;
        pending.publish(self.out.get_ref()).map_err(cannot(&self.path))
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a file keeps the end of what was there before, or a pipe is refused.
    #[test]
    fn a_file_is_emptied_and_a_character_device_taken() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plot.svg");
        fs::write(&path, "a longer text than the new one").unwrap();
        Write::write_all(&mut create(&path).unwrap(), b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        create(Path::new("/dev/null")).unwrap();
        let error = format!("{:#}", create(&dir.path().join("no/file")).unwrap_err());
        assert!(error.contains("no/file: cannot be written"), "{error}");
    }

    // Breaks when a file is written over unasked, is there before it is whole, or loses what was there to one that failed.
    #[test]
    fn a_file_takes_its_name_when_it_is_whole_and_from_another_only_by_force() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.csv");
        let names = || fs::read_dir(dir.path()).unwrap().count();
        let mut part = Part::begin(&path, false).unwrap();
        part.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(part);
        assert_eq!(names(), 0);
        write(&path, b"first", false).unwrap();
        let error = format!("{:#}", write(&path, b"second", false).unwrap_err());
        assert!(error.contains("result.csv: exists; --force"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"first");
        write(&path, b"third", true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"third");
        // Another makes the file while this one is written.
        fs::remove_file(&path).unwrap();
        let mut part = Part::begin(&path, false).unwrap();
        part.write_all(b"mine").unwrap();
        fs::write(&path, "another's").unwrap();
        part.finish().unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"another's");
        assert_eq!(names(), 1);
        // A link stays one.
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        write(&link, b"through", true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"through");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let full = format!("{:#}", write(Path::new("/dev/full"), b"text", false).unwrap_err());
        assert!(full.starts_with("/dev/full: cannot be written"), "{full}");
    }
}

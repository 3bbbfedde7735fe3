//! Files that something is written to beside the result: never a drive nor the target, however it was named; whole or
//! not there; and over another file only when that was said.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, anyhow, bail};
use drives::TargetSpec;
use linux::sysfs::Roots;
use rustix::fs::OFlags;
use rustix::io::Errno;
use trace::{Existing, FileId, Pending};

use runner::exit::Refused;
use runner::messages;

/// An output that was named.
struct Declared {
    path: PathBuf,
    /// The end of a pipe that is written to. Kept open: a reader would take its being closed for the end.
    pipe: Option<File>,
}

/// All outputs that were named so far. For the whole process: what is resumed knows its target later than its outputs.
static DECLARED: Mutex<Vec<Declared>> = Mutex::new(Vec::new());

/// Keeps every output off the file or device `target`, and off the files that it is stored in, from now on. Directories
/// and virtual drives have only the latter, or nothing.
///
/// # Errors
/// [`Refused`] where an output that was named, standard output or standard error is one of them.
pub fn protect(target: &Path) -> Result<()> {
    if TargetSpec::of_argument(target).is_some_and(|target| !target.is_real()) {
        return Ok(());
    }
    let Ok(meta) = fs::metadata(target) else { return Ok(()) };
    let below = linux::devices::stored_in(&Roots::default(), target).into_iter();
    let own = meta.is_file().then(|| FileId::of(&meta));
    trace::protect(below.map(|(dev, ino)| FileId { dev, ino }).chain(own));
    let declared = DECLARED.lock().unwrap_or_else(PoisonError::into_inner);
    declared.iter().try_for_each(|output| refuse(&output.path))?;
    for (_, name, stream) in streams() {
        if trace::is_protected(&stream) {
            quieten();
            return Err(Refused(format!(
                "{name} is the target {}, or a file that it is stored in; expected another file\n\
                 hint: send the output to a file that is not measured",
                target.display()
            ))
            .into());
        }
    }
    Ok(())
}

/// Looks whether standard output or standard error is a drive, whose first sectors they would write over.
///
/// # Errors
/// [`Refused`] when one is.
pub fn check_streams() -> Result<()> {
    for (number, name, stream) in streams() {
        if stream.file_type().is_block_device() {
            quieten();
            let device = fs::read_link(format!("/proc/self/fd/{number}")).unwrap_or_default();
            return Err(Refused(format!(
                "{name} is the block device {}; expected a file, a pipe or a terminal\n\
                 hint: put a file name after >",
                device.display()
            ))
            .into());
        }
    }
    Ok(())
}

/// Standard output and standard error: number, name, and what it is.
fn streams() -> impl Iterator<Item = (u8, &'static str, Metadata)> {
    let of =
        |stream: &dyn AsFd| File::from(stream.as_fd().try_clone_to_owned().ok()?).metadata().ok();
    let out = of(&io::stdout()).map(|meta| (1, "standard output", meta));
    let error = of(&io::stderr()).map(|meta| (2, "standard error", meta));
    out.into_iter().chain(error)
}

/// Says nothing more where standard error is what nothing may be written to.
fn quieten() {
    let must_not =
        |meta: &Metadata| meta.file_type().is_block_device() || trace::is_protected(meta);
    if streams().any(|(number, _, meta)| number == 2 && must_not(&meta)) {
        messages::hold();
    }
}

/// Notes that `path` will be written to: the check that every output passes, before anything is done for it.
///
/// # Errors
/// [`Refused`] for the target or a block device, also through a link; and for a pipe without a reader.
pub fn declare(path: &Path) -> Result<()> {
    refuse(path)?;
    let mut declared = DECLARED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_pipe = fs::metadata(path).is_ok_and(|meta| meta.file_type().is_fifo());
    let is_known = |output: &Declared| output.path == path && (output.pipe.is_some() || !is_pipe);
    if !declared.iter().any(is_known) {
        let pipe = is_pipe.then(|| open(path)).transpose()?;
        declared.push(Declared { path: path.to_owned(), pipe });
    }
    Ok(())
}

fn refuse(path: &Path) -> Result<()> {
    fs::metadata(path).map_or(Ok(()), |meta| refuse_known(path, &meta))
}

fn refuse_known(path: &Path, meta: &Metadata) -> Result<()> {
    let path = path.display();
    if meta.file_type().is_block_device() {
        return Err(Refused(format!(
            "{path} is a block device; expected a file\nhint: name a file for the output"
        ))
        .into());
    }
    if trace::is_protected(meta) {
        return Err(Refused(format!(
            "{path} is the target, or a file that the target is stored in; expected another file\n\
             hint: name a file that is not measured"
        ))
        .into());
    }
    Ok(())
}

/// Opens what is to be written to, and never waits for who reads a pipe.
fn open(path: &Path) -> Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).custom_flags(flags.bits().cast_signed());
    match options.open(path) {
        Err(error) if error.raw_os_error() == Some(Errno::NXIO.raw_os_error()) => {
            bail!("{} has no reader\nhint: start the program that reads it first", path.display())
        }
        opened => {
            let file = opened.map_err(cannot(path))?;
            // Only opening must not wait; writing may.
            let now = rustix::fs::fcntl_getfl(&file).context("cannot look at an output")?;
            rustix::fs::fcntl_setfl(&file, now - OFlags::NONBLOCK)
                .context("cannot set up an output")?;
            Ok(file)
        }
    }
}

/// Makes the file at `path`, or empties the one that is there, for what goes to it bit by bit. A pipe or a terminal is taken
/// as it is.
///
/// # Errors
/// As [`declare`]; otherwise the system's answer, with the path.
pub fn create(path: &Path) -> Result<File> {
    // Looked at before it is opened, since udev looks at every device that was open for writing; and again when it
    // is open, since another may have taken its name.
    declare(path)?;
    let held = {
        let mut declared = DECLARED.lock().unwrap_or_else(PoisonError::into_inner);
        declared.iter_mut().filter(|output| output.path == path).find_map(|o| o.pipe.take())
    };
    if let Some(pipe) = held {
        return Ok(pipe);
    }
    let file = open(path)?;
    let meta = file.metadata().map_err(cannot(path))?;
    refuse_known(path, &meta)?;
    if meta.is_file() {
        file.set_len(0).map_err(cannot(path))?;
    }
    Ok(file)
}

/// Makes the file at `path`, where nothing may be.
///
/// # Errors
/// As [`declare`]; otherwise the system's answer, with the path.
pub fn create_new(path: &Path) -> Result<File> {
    declare(path)?;
    File::create_new(path).map_err(cannot(path))
}

/// Looks whether a file may be written to `path`, before hours are spent on what is to be written. `force` allows that
/// there is one; an empty one holds nothing that could be lost.
///
/// # Errors
/// As [`declare`]; else what is in the way, and what to do.
pub fn check(path: &Path, force: bool) -> Result<()> {
    declare(path)?;
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
        Ok(meta) => refuse_known(path, &meta),
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
/// [`Refused`] where a block device or the target is.
pub fn check_dir(path: &Path) -> Result<()> {
    refuse(path)
}

/// The error that a file cannot be written, with its reason and what to do.
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

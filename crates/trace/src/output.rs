//! Files that have their name once they are whole.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, Metadata, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
use tempfile::{Builder, NamedTempFile, TempPath};

/// Policy for a file that exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the new one is not written.
    Keep,
    /// The new one takes its place once it is whole.
    Replace,
}

/// A file, whatever its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    /// Number of the device that its filesystem is on.
    pub dev: u64,
    /// Its inode there.
    pub ino: u64,
}

impl FileId {
    /// The file that `meta` is of.
    pub fn of(meta: &Metadata) -> FileId {
        FileId { dev: meta.dev(), ino: meta.ino() }
    }
}

/// Files under measurement. Shared by the whole process, since the writer of an output does not know the target.
static PROTECTED: Mutex<BTreeSet<FileId>> = Mutex::new(BTreeSet::new());

/// Makes every [`Pending`] refuse to take the place of one of these files from now on.
pub fn protect(files: impl IntoIterator<Item = FileId>) {
    PROTECTED.lock().unwrap_or_else(PoisonError::into_inner).extend(files);
}

/// Whether [`protect`] was called with the file that `meta` is of.
pub fn is_protected(meta: &Metadata) -> bool {
    PROTECTED.lock().unwrap_or_else(PoisonError::into_inner).contains(&FileId::of(meta))
}

/// An output that would take the place of what is measured.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("it is the target, or what the target is stored in")]
pub struct IsProtected;

fn refuse_protected(path: &Path) -> io::Result<()> {
    match path.metadata() {
        Ok(meta) if is_protected(&meta) => Err(io::Error::other(IsProtected)),
        _ => Ok(()),
    }
}

/// A file that is being written in the directory where it will be; dropped, it goes. It has no name until it is whole, so
/// that nothing is left of it by a kill or a crash; where the filesystem takes no file without one (FAT, NFS), a hidden
/// one that ends in `.partial`.
pub struct Pending {
    path: PathBuf,
    existing: Existing,
    temporary: Option<TempPath>,
}

impl Pending {
    /// Makes the file that will be at `path`, open for reading and writing.
    ///
    /// # Errors
    /// The system's error; `AlreadyExists` when the path exists and must be kept; an error with a message when it is
    /// not a regular file, since replacing a device is never intended; [`IsProtected`].
    pub fn begin(path: &Path, existing: Existing) -> io::Result<(File, Pending)> {
        let mut path = path.to_owned();
        refuse_protected(&path)?;
        if path.symlink_metadata().is_ok() {
            if existing == Existing::Keep {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            // The target of a link is replaced, not the link.
            path = fs::canonicalize(path)?;
            if !path.metadata()?.is_file() {
                return Err(io::Error::other("what is there is not a regular file"));
            }
        }
        if path.file_name().is_none() {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        if let Some(file) = without_name(directory_of(&path)) {
            return Ok((file, Pending { path, existing, temporary: None }));
        }
        let (file, temporary) = with_name(&path)?;
        Ok((file, Pending { path, existing, temporary: Some(temporary) }))
    }

    /// Makes the bytes of `file` durable, then gives it its name.
    ///
    /// # Errors
    /// The system's answer; `AlreadyExists` where a file to be kept has come in the meantime; [`IsProtected`].
    pub fn publish(self, file: &File) -> io::Result<()> {
        file.sync_all()?;
        let Pending { path, existing, temporary } = self;
        refuse_protected(&path)?;
        match (existing, temporary) {
            (Existing::Keep, Some(temporary)) => temporary.persist_noclobber(&path)?,
            (Existing::Replace, Some(temporary)) => temporary.persist(&path)?,
            (Existing::Keep, None) => link(file, &path)?,
            // A link replaces nothing, a rename does.
            (Existing::Replace, None) => {
                let named = beside(&path, |names, directory| {
                    names.make_in(directory, |name| link(file, name))
                })?;
                named.1.persist(&path)?;
            }
        }
        File::open(directory_of(&path))?.sync_all()
    }
}

/// A temporary name beside `path`, which says whose it is, for what `make` makes there.
fn beside<T>(
    path: &Path,
    make: impl FnOnce(&mut Builder<'_, '_>, &Path) -> io::Result<NamedTempFile<T>>,
) -> io::Result<(T, TempPath)> {
    let mut prefix = OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push(".");
    let mut names = Builder::new();
    let made = make(names.prefix(&prefix).suffix(".partial"), directory_of(path))?;
    Ok(made.into_parts())
}

fn with_name(path: &Path) -> io::Result<(File, TempPath)> {
    let permissions = Permissions::from_mode(MODE);
    beside(path, |names, directory| names.permissions(permissions).tempfile_in(directory))
}

/// As any program makes its files: what the user's mask takes away is taken away.
const MODE: u32 = 0o666;

/// A file in `directory` that has no name and can be given one; none where the system makes no such file.
fn without_name(directory: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(open(directory, flags, Mode::from_raw_mode(MODE)).ok()?);
    descriptor(&file).exists().then_some(file)
}

/// Gives a file without a name this one, which nothing may have.
fn link(file: &File, name: &Path) -> io::Result<()> {
    Ok(linkat(CWD, descriptor(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

fn descriptor(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// The directory that `path` is in.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn names_in(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    fn written(path: &Path, existing: Existing, temporary: bool) -> io::Result<()> {
        let (mut file, mut pending) = Pending::begin(path, existing)?;
        if temporary && pending.temporary.is_none() {
            // As where no file is without a name.
            let named = with_name(path)?;
            (file, pending.temporary) = (named.0, Some(named.1));
        }
        file.write_all(b"new")?;
        pending.publish(&file)
    }

    // Breaks when a file that is cut, by a kill or a full disk, is left under some name.
    #[test]
    fn nothing_has_a_name_before_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let (mut file, pending) = Pending::begin(&path, Existing::Keep).unwrap();
        file.write_all(b"half").unwrap();
        match pending.temporary {
            None => assert_eq!(names_in(dir.path()), [""; 0]),
            Some(_) => eprintln!("skipped: every file here has a name"),
        }
        drop(pending);
        assert_eq!(names_in(dir.path()), [""; 0]);
    }

    // Breaks when the two ways of making a file differ in what becomes of one that is there, or of its links and mode.
    #[test]
    fn with_a_name_and_without_come_to_the_same() {
        for temporary in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("out");
            written(&path, Existing::Keep, temporary).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"new");
            let plain = File::create(dir.path().join("plain")).unwrap().metadata().unwrap();
            let made = path.metadata().unwrap();
            assert_eq!((made.mode(), made.nlink()), (plain.mode(), 1));
            // One that came in the meantime.
            fs::remove_file(&path).unwrap();
            let (file, pending) = Pending::begin(&path, Existing::Keep).unwrap();
            fs::write(&path, "other").unwrap();
            let refused = pending.publish(&file).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(&path).unwrap(), b"other");
            let link = dir.path().join("link");
            std::os::unix::fs::symlink("out", &link).unwrap();
            written(&link, Existing::Replace, temporary).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"new");
            assert!(link.symlink_metadata().unwrap().is_symlink());
            assert_eq!(path.metadata().unwrap().nlink(), 1);
            let mut left = names_in(dir.path());
            left.sort_unstable();
            assert_eq!(left, ["link", "out", "plain"]);
        }
    }

    // Breaks when a file that is measured can be replaced, by whatever name, also where it came to be measured late.
    #[test]
    fn what_is_measured_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (target, other) = (dir.path().join("target"), dir.path().join("other"));
        fs::write(&target, "data").unwrap();
        fs::write(&other, "old").unwrap();
        fs::hard_link(&target, dir.path().join("hard")).unwrap();
        std::os::unix::fs::symlink("target", dir.path().join("soft")).unwrap();
        let is_refused =
            |error: io::Error| error.get_ref().is_some_and(|it| it.is::<IsProtected>());
        let (late, pending) = Pending::begin(&target, Existing::Replace).unwrap();
        // Held until the process ends, or a later file of another test could get the protected number.
        let held = File::open(&target).unwrap();
        protect([FileId::of(&held.metadata().unwrap())]);
        std::mem::forget(held);
        assert!(is_refused(pending.publish(&late).unwrap_err()));
        for name in ["target", "hard", "soft"] {
            for existing in [Existing::Keep, Existing::Replace] {
                let begun = Pending::begin(&dir.path().join(name), existing).map(drop);
                assert!(is_refused(begun.unwrap_err()), "{name}");
            }
        }
        written(&other, Existing::Replace, false).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"data");
        assert_eq!(names_in(dir.path()).len(), 4);
    }
}

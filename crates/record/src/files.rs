//! The file operations that the record is made of: all of them, so that each can be made to fail.
//!
//! The record relies on these guarantees of POSIX and Linux: a rename within a directory is atomic; a file's bytes are durable
//! after [`OutFile::sync`], its name after [`Files::sync_dir`] of the directory that holds it; and after a failed sync nothing
//! is known of the bytes it was to save, even when a later sync succeeds (Linux marks the pages clean). So this crate never
//! retries a sync.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::time::UNIX_EPOCH;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Modes of all that is made here: what was measured, and on which drive, is for its owner to show.
const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;

/// A filesystem.
pub trait Files: Clone {
    /// A file open for writing at its end.
    type File: OutFile;
    /// A lock that is held until it is dropped.
    type Lock: Send;

    /// Makes an empty file, which must not exist.
    ///
    /// # Errors
    /// The kernel's answer; `AlreadyExists` among them. This holds for all that follow.
    fn create_new(&self, path: &Path) -> io::Result<Self::File>;
    /// Opens an existing file for writing at its end.
    ///
    /// # Errors
    /// The kernel's answer; `InvalidInput` for a link, a pipe, and whatever else is not a regular file. This holds for
    /// [`Files::open`] and [`Files::lock`] too, which never wait for another process.
    fn append(&self, path: &Path) -> io::Result<Self::File>;
    /// Opens an existing file for reading.
    ///
    /// # Errors
    /// The kernel's answer.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>>;
    /// Opens a file that the user named for reading; it may be a link or a pipe.
    ///
    /// # Errors
    /// The kernel's answer.
    fn open_input(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        self.open(path)
    }
    /// Gives a file or directory another name, in one step; an existing file of that name goes.
    ///
    /// # Errors
    /// The kernel's answer; for a directory also when the new name is a directory that is not empty.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// The kernel's answer.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Makes a directory, which must not exist, in one that does.
    ///
    /// # Errors
    /// The kernel's answer.
    fn make_dir(&self, dir: &Path) -> io::Result<()>;
    /// Lists the entries of a directory, in any order.
    ///
    /// # Errors
    /// The kernel's answer.
    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>>;
    /// Returns the metadata of a path; links are not followed.
    ///
    /// # Errors
    /// The kernel's answer.
    fn stat(&self, path: &Path) -> io::Result<Stat>;
    /// Removes a file.
    ///
    /// # Errors
    /// The kernel's answer.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    ///
    /// # Errors
    /// The kernel's answer.
    fn remove_dir(&self, dir: &Path) -> io::Result<()>;
    /// Locks a file against other openings of it, in this process and others; `None` when it is locked.
    /// The file is made when `create` says so.
    ///
    /// # Errors
    /// The kernel's answer.
    fn lock(&self, path: &Path, create: bool) -> io::Result<Option<Self::Lock>>;
}

/// A file that is written at its end.
pub trait OutFile: Write + Send {
    /// Makes all that was written durable.
    ///
    /// # Errors
    /// The kernel's answer; then nothing is known of what was written since the last success.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the file to `length` bytes.
    ///
    /// # Errors
    /// The kernel's answer.
    fn truncate(&mut self, length: u64) -> io::Result<()>;
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The name; one that is not UTF-8 has its odd bytes replaced, and so is not one of ours.
    pub name: String,
    /// Kind of the entry.
    pub kind: Kind,
}

/// Kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// Anything else, links among them.
    Other,
}

/// Metadata of a path, known without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its kind.
    pub kind: Kind,
    /// Length in bytes.
    pub len: u64,
    /// When it was last written, in nanoseconds since 1970, as the filesystem reports it.
    pub modified_ns: i128,
}

/// The filesystem of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFiles;

/// A locked file.
#[derive(Debug)]
pub struct RealLock(File);

impl Drop for RealLock {
    fn drop(&mut self) {
        // Closing is not enough: a forked child keeps the lock for as long as it has the descriptor.
        let _ = self.0.unlock();
    }
}

impl Files for RealFiles {
    type File = File;
    type Lock = RealLock;

    fn create_new(&self, path: &Path) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)
    }

    fn append(&self, path: &Path) -> io::Result<File> {
        regular(OpenOptions::new().append(true), path)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(regular(OpenOptions::new().read(true), path)?))
    }

    fn open_input(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(File::open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let flags = OFlags::DIRECTORY.bits().cast_signed();
        match OpenOptions::new().read(true).custom_flags(flags).open(dir)?.sync_all() {
            // Some network and FUSE filesystems have no such thing; there is nothing better to call.
            Err(e) if matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
                Ok(())
            }
            other => other,
        }
    }

    fn make_dir(&self, dir: &Path) -> io::Result<()> {
        DirBuilder::new().mode(DIR_MODE).create(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<Entry>> {
        fs::read_dir(dir)?
            .map(|entry| {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                Ok(Entry { name, kind: kind(entry.file_type()?) })
            })
            .collect()
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let meta = fs::symlink_metadata(path)?;
        let modified = meta.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
        let modified_ns = modified.and_then(|t| i128::try_from(t.as_nanos()).ok()).unwrap_or(0);
        Ok(Stat { kind: kind(meta.file_type()), len: meta.len(), modified_ns })
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        fs::remove_dir(dir)
    }

    fn lock(&self, path: &Path, create: bool) -> io::Result<Option<RealLock>> {
        let open = |write| {
            let mut options = OpenOptions::new();
            options.read(true).write(write).create(create && write).mode(FILE_MODE);
            regular(&mut options, path)
        };
        let file = match open(true) {
            // Only NFS wants it writable, and a run in a read-only directory can be looked at, too.
            Err(e) if e.kind() != ErrorKind::NotFound && !create => open(false)?,
            other => other?,
        };
        match file.try_lock() {
            Ok(()) => Ok(Some(RealLock(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Opens a regular file and nothing else: a directory that others put together may have a pipe in the place of a file, for
/// which opening would wait, or a link to what is not part of a record.
fn regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let other = |what| io::Error::new(ErrorKind::InvalidInput, what);
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = options.custom_flags(flags.bits().cast_signed()).open(path);
    let code = |errno: Errno| Some(errno.raw_os_error());
    let file = opened.map_err(|error| match error.raw_os_error() {
        it if it == code(Errno::LOOP) => {
            other("it is a symbolic link, and records are regular files")
        }
        it if it == code(Errno::NXIO) => other(NOT_REGULAR),
        _ => error,
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(other(NOT_REGULAR)) }
}

const NOT_REGULAR: &str = "it is not a regular file";

impl OutFile for File {
    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

fn kind(file_type: fs::FileType) -> Kind {
    if file_type.is_file() {
        Kind::File
    } else if file_type.is_dir() {
        Kind::Dir
    } else {
        Kind::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_ends_when_it_is_dropped_though_a_child_has_its_descriptor() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let lock = RealFiles.lock(&path, true).unwrap().unwrap();
        assert!(
            RealFiles.lock(&path, false).unwrap().is_none(),
            "it locks against this process, too"
        );
        // The descriptor of a forked child: the same opening of the file, which keeps a lock that is only closed.
        let childs = lock.0.try_clone().unwrap();
        drop(lock);
        assert!(RealFiles.lock(&path, false).unwrap().is_some());
        drop(childs);
    }
}

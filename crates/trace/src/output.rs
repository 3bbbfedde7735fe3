//! Files that have their name once they are whole.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempPath;

/// What becomes of a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It stays, and the new one is not written.
    Keep,
    /// The new one takes its place once it is whole.
    Replace,
}

/// A file that is being written beside the place where it will be; dropped, it goes.
pub(crate) struct Pending {
    path: PathBuf,
    existing: Existing,
    temporary: TempPath,
}

impl Pending {
    /// Makes the file that will be at `path`, open for reading and writing.
    ///
    /// # Errors
    /// The system's answer; `AlreadyExists` where a file is to be kept, and a word where what is there is no file,
    /// since nobody means to replace a device by one.
    pub(crate) fn begin(path: &Path, existing: Existing) -> io::Result<(File, Pending)> {
        let mut path = path.to_owned();
        if path.symlink_metadata().is_ok() {
            if existing == Existing::Keep {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            // What a link points at is replaced, not the link.
            path = fs::canonicalize(path)?;
            if !path.metadata()?.is_file() {
                return Err(io::Error::other("what is there is not a regular file"));
            }
        }
        let mut prefix = OsString::from(".");
        prefix.push(path.file_name().ok_or(io::ErrorKind::InvalidFilename)?);
        prefix.push(".");
        let made = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".partial")
            // As any program makes its files: what the user's mask takes away is taken away.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(directory_of(&path))?;
        let (file, temporary) = made.into_parts();
        Ok((file, Pending { path, existing, temporary }))
    }

    /// Makes the bytes of `file` durable, then gives it its name.
    ///
    /// # Errors
    /// The system's answer; `AlreadyExists` where a file to be kept has come in the meantime.
    pub(crate) fn publish(self, file: &File) -> io::Result<()> {
        file.sync_all()?;
        match self.existing {
            Existing::Keep => self.temporary.persist_noclobber(&self.path)?,
            Existing::Replace => self.temporary.persist(&self.path)?,
        }
        File::open(directory_of(&self.path))?.sync_all()
    }
}

/// The directory that `path` is in.
fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    }
}

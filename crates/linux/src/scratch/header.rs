//! Name and header of a test file: by both of them a later run knows that it is ours.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::XattrFlags;
use rustix::io::Errno;

/// The extended attribute that each test file carries from the first moment, with the run's identifier as its value.
pub const HEADER: &str = "user.drivescope.scratch";

const PREFIX: &str = ".drivescope-";
const SUFFIX: &str = ".scratch";

/// True for text that can be part of a test file's name.
pub(super) fn is_run_id(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !text.is_empty() && text.chars().all(is_word)
}

/// The test file of a run in `dir`.
pub(super) fn path_of(dir: &Path, run_id: &str) -> PathBuf {
    dir.join(format!("{PREFIX}{run_id}{SUFFIX}"))
}

/// The run's identifier in the name of a test file; `None` when it is not such a name.
pub(super) fn id_of(path: &Path) -> Option<&str> {
    let id = path.file_name()?.to_str()?.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    is_run_id(id).then_some(id)
}

/// Puts the header on the test file at `path`.
///
/// # Errors
/// The kernel's answer; filesystems of sticks and cards have no extended attributes.
pub(super) fn put(file: &File, path: &Path) -> io::Result<()> {
    let id = id_of(path).unwrap_or_default();
    Ok(rustix::fs::fsetxattr(file, HEADER, id.as_bytes(), XattrFlags::empty())?)
}

/// Whether the file at `path` carries the header of the run in its name. Where the filesystem has no extended
/// attributes, the name has to do.
pub(super) fn is_on(file: &File, path: &Path) -> bool {
    let Some(id) = id_of(path) else { return false };
    let mut value = vec![0; id.len() + 1];
    match rustix::fs::fgetxattr(file, HEADER, &mut *value) {
        Ok(length) => value.get(..length) == Some(id.as_bytes()),
        Err(error) => matches!(error, Errno::NOTSUP | Errno::NOSYS),
    }
}

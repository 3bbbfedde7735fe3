//! Files that survive a power cut from the moment at which the program reports them.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use record::{Files as _, RealFiles};

/// Makes the content of the file at `path` durable, and its name. Until then a power cut can leave the name with
/// nothing in it, or the content without a name. Pipes and other special files are left alone.
///
/// # Errors
/// The kernel's answer.
pub fn settle(path: &Path) -> io::Result<()> {
    if !fs::metadata(path)?.is_file() {
        return Ok(());
    }
    File::open(path)?.sync_all()?;
    settle_name(path)
}

/// Makes the names in the directory of `path` durable: what was given there, and what was taken.
///
/// # Errors
/// The kernel's answer.
fn settle_name(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    RealFiles.sync_dir(directory.unwrap_or(Path::new(".")))
}

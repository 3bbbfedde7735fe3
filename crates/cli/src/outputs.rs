//! Files that something is written to beside the result: never a drive, however it was named.

use std::fs::{self, File, FileType, OpenOptions};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::exit::Refused;

/// Makes the file at `path`, or empties the one that is there. A pipe or a terminal is taken as it is.
///
/// # Errors
/// [`Refused`] where a block device is, also through a link: nobody means to have a drawing over a drive's first
/// sectors. Otherwise the system's answer, with the path.
pub fn create(path: &Path) -> Result<File> {
    // Looked at before it is opened, since udev looks at every device that was open for writing; and again when it
    // is open, since another may have taken its name.
    check(path)?;
    let cannot = || format!("{}: cannot be written", path.display());
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path);
    let file = file.with_context(cannot)?;
    let kind = file.metadata().with_context(cannot)?.file_type();
    refuse_drive(path, kind)?;
    if kind.is_file() {
        file.set_len(0).with_context(cannot)?;
    }
    Ok(file)
}

/// Looks whether something may be written to `path`, before hours are spent on what is to be written.
///
/// # Errors
/// [`Refused`] where a block device is.
pub fn check(path: &Path) -> Result<()> {
    fs::metadata(path).map_or(Ok(()), |meta| refuse_drive(path, meta.file_type()))
}

fn refuse_drive(path: &Path, kind: FileType) -> Result<()> {
    if kind.is_block_device() {
        let why = format!("{}: is a block device, and a file belongs there", path.display());
        return Err(Refused(why).into());
    }
    Ok(())
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
        std::io::Write::write_all(&mut create(&path).unwrap(), b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        create(Path::new("/dev/null")).unwrap();
        let error = format!("{:#}", create(&dir.path().join("no/file")).unwrap_err());
        assert!(error.contains("no/file: cannot be written"), "{error}");
    }
}

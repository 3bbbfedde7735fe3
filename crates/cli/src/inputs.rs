//! Files that a user names to be read.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use drives::TargetSpec;

/// Longest file that is read as a whole.
const WHOLE_MAX: u64 = 64 << 20;

/// Opens the file at `path`, or standard input for `-`.
///
/// # Errors
/// When it cannot be read.
pub fn open(path: &Path) -> Result<Box<dyn Read>> {
    if path.is_dir() {
        bail!("{}: is a directory; name the files in it", path.display());
    }
    if TargetSpec::of_argument(path).is_some_and(|target| !target.is_real()) {
        bail!("{}: is a drive, and a file belongs there", path.display());
    }
    if std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_block_device()) {
        bail!("{}: is a block device, and a file of results belongs there", path.display());
    }
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin()));
    }
    let file = File::open(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    Ok(Box::new(file))
}

/// Content of the file at `path`, or of standard input for `-`.
///
/// # Errors
/// When it cannot be read, or is too long.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    all_of(&mut open(path)?, &path.display().to_string())
}

/// All of `input`, which is called `name`.
///
/// # Errors
/// When it cannot be read, or is too long.
pub fn all_of(input: &mut dyn Read, name: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = input.take(WHOLE_MAX + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("{name}: cannot be read"))?;
    if bytes.len() as u64 > WHOLE_MAX {
        bail!("{name}: is longer than {} MiB, and no file of this kind is", WHOLE_MAX >> 20);
    }
    Ok(bytes)
}

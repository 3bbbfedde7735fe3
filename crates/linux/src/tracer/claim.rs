//! Notes on tracers of the kernel that are ours and have no owner the kernel knows: who uses them, and what it takes to
//! put them back.
//!
//! A note is a file in a directory of ours, locked as long as its owner lives. A note without a lock was left by the
//! dead, and says what is to be undone. Kernel state that no note speaks of is somebody else's.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

/// Longest note that is read.
const NOTE_MAX: u64 = 64 << 10;

/// A note of ours. Gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    file: File,
    path: PathBuf,
}

impl Claim {
    /// Takes the note `name` in `dir`, which may be made for it. The error's kind is `WouldBlock` when a living process
    /// has it.
    pub(crate) fn take(dir: &Path, name: &str) -> io::Result<Claim> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let path = dir.join(name);
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(0o600);
            if let Some(claim) = Claim::lock(options.open(&path)?, &path)? {
                return Ok(claim);
            }
        }
    }

    /// `None` when the file was removed meanwhile: then the lock means nothing.
    fn lock(file: File, path: &Path) -> io::Result<Option<Claim>> {
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let is_there = file.metadata()?.nlink() > 0;
        Ok(is_there.then(|| Claim { file, path: path.to_owned() }))
    }

    /// Takes over the notes of dead processes in `dir`, with names that begin with `prefix`: the rest of each name, its
    /// text, and the note itself, which is ours now.
    pub(crate) fn of_the_dead(dir: &Path, prefix: &str) -> Vec<(String, String, Claim)> {
        let names = crate::sysfs::names_in(dir).into_iter();
        let dead = names.filter_map(|name| {
            let rest = name.strip_prefix(prefix)?.to_owned();
            let path = dir.join(&name);
            let file = OpenOptions::new().read(true).write(true).open(&path).ok()?;
            let claim = Claim::lock(file, &path).ok()??;
            let mut text = String::new();
            (&claim.file).take(NOTE_MAX).read_to_string(&mut text).ok()?;
            Some((rest, text, claim))
        });
        dead.collect()
    }

    /// Says `text`, instead of what was said before.
    pub(crate) fn say(&self, text: &str) -> io::Result<()> {
        let mut file = &self.file;
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(text.as_bytes())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a living recorder's tracer is taken for a dead one's, or a dead one's is never found.
    #[test]
    fn a_note_is_its_owners_as_long_as_it_lives() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("run");
        let claim = Claim::take(&dir, "blktrace-sda").unwrap();
        claim.say("something that is longer").unwrap();
        claim.say("undo me").unwrap();
        assert_eq!(
            Claim::take(&dir, "blktrace-sda").unwrap_err().kind(),
            io::ErrorKind::WouldBlock
        );
        assert!(Claim::of_the_dead(&dir, "blktrace-").is_empty());
        // As the kernel leaves it when the owner is killed: the file without its lock.
        let path = claim.path.clone();
        fs::rename(&path, dir.join("kept")).unwrap();
        drop(claim);
        fs::rename(dir.join("kept"), &path).unwrap();
        assert!(Claim::of_the_dead(&dir, "other-").is_empty());
        let dead = Claim::of_the_dead(&dir, "blktrace-");
        assert_eq!(dead.len(), 1);
        assert_eq!((dead[0].0.as_str(), dead[0].1.as_str()), ("sda", "undo me"));
        assert!(Claim::take(&dir, "blktrace-sda").is_err(), "it is being cleaned up");
        drop(dead);
        assert!(!path.exists());
        assert!(Claim::take(&dir, "blktrace-sda").is_ok());
    }
}

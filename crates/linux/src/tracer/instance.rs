//! A tracefs instance of our own: buffers, events and filters that nobody else sees or disturbs.
//!
//! An instance outlives who made it. So its directory is locked as long as its owner lives; the kernel takes the lock
//! away with the process, even by `kill -9`. One of our names without a lock was left by the dead, and the next run
//! removes it. A lock is asked and not the process id in the name, since ids are used again, and mean nothing across
//! containers; the id is there for people.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{FlockOperation, flock};

/// First part of the names of our instances.
const PREFIX: &str = "drivescope-";

/// An instance. Its events are off and it is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Instance {
    dir: PathBuf,
    /// Carries the lock.
    _lock: File,
}

impl Instance {
    /// Makes one below `tracefs`.
    pub(crate) fn create(tracefs: &Path) -> io::Result<Instance> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let all = tracefs.join("instances");
        // Nobody who cleans up may come between the making of a directory and its lock.
        let _making = locked(&all, FlockOperation::LockExclusive)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = all.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&dir)?;
        match locked(&dir, FlockOperation::NonBlockingLockExclusive) {
            Ok(lock) => Ok(Instance { dir, _lock: lock }),
            Err(error) => {
                let _ = fs::remove_dir(&dir);
                Err(error)
            }
        }
    }

    /// Its directory.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Writes `text` to its file `name`.
    pub(crate) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        write(&self.dir.join(name), text)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        remove(&self.dir);
    }
}

/// Removes the instances below `tracefs` whose owners are dead; their names.
pub(crate) fn remove_dead(tracefs: &Path) -> Vec<String> {
    let all = tracefs.join("instances");
    let Ok(_cleaning) = locked(&all, FlockOperation::LockExclusive) else { return Vec::new() };
    let names = crate::sysfs::names_in(&all).into_iter();
    names
        .filter(|name| is_ours(name))
        .filter(|name| {
            let dir = all.join(name);
            let dead = locked(&dir, FlockOperation::NonBlockingLockExclusive);
            dead.is_ok_and(|_lock| remove(&dir))
        })
        .collect()
}

/// `drivescope-1234-0`: what [`Instance::create`] makes, and not what somebody else has named like it.
fn is_ours(name: &str) -> bool {
    let numbers = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(pid, number)| is_number(pid) && is_number(number))
}

fn remove(dir: &Path) -> bool {
    // Events that are on would have to be turned off by the removal, which newer kernels do and older refuse.
    let _ = write(&dir.join("tracing_on"), "0");
    let _ = write(&dir.join("events/enable"), "0");
    fs::remove_dir(dir).is_ok()
}

/// Opens a directory and takes its lock, which ends with what is returned.
fn locked(dir: &Path, how: FlockOperation) -> io::Result<File> {
    let file = File::open(dir)?;
    flock(&file, how)?;
    Ok(file)
}

/// Writes a control file of the kernel's in one call.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let said =
        |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mut file = OpenOptions::new().write(true).open(path).map_err(said)?;
    file.write_all(text.as_bytes()).map_err(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_we_make_are_ours() {
        for name in ["drivescope-1-0", "drivescope-4194304-17"] {
            assert!(is_ours(name), "{name}");
        }
        for name in [
            "drivescope",
            "drivescope-1",
            "drivescope-1-",
            "drivescope-a-0",
            "drivescope-1-0x",
            "foo-1-0",
        ] {
            assert!(!is_ours(name), "{name}");
        }
    }

    // Breaks when the instance of a living recorder is taken from it, or a dead one's is left.
    #[test]
    fn the_dead_are_removed_and_the_living_and_strangers_are_not() {
        let tracefs = tempfile::tempdir().unwrap();
        let all = tracefs.path().join("instances");
        fs::create_dir(&all).unwrap();
        let alive = Instance::create(tracefs.path()).unwrap();
        for name in ["drivescope-99-0", "drivescope-mine", "somebody-1-0"] {
            fs::create_dir(all.join(name)).unwrap();
        }
        assert_eq!(remove_dead(tracefs.path()), ["drivescope-99-0"]);
        assert!(alive.dir().exists());
        assert!(all.join("drivescope-mine").exists() && all.join("somebody-1-0").exists());
        let dir = alive.dir().to_owned();
        drop(alive);
        assert!(!dir.exists());
    }
}

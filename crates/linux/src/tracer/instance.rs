//! A tracefs instance of our own: buffers, events and filters that no other tracer sees or disturbs.
//!
//! An instance outlives the process that made it. So its directory is locked as long as its owner lives; the kernel
//! releases the lock with the process, even by `kill -9`. One of our names without a lock was left by a dead process,
//! and the next run removes it. The lock decides and not the process id in the name, since ids mean nothing across
//! containers. But while a process of that id runs that began when the name says, the instance stays, lock or no lock.

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
        // No cleanup may come between the making of a directory and its lock.
        let _making = locked(&all, FlockOperation::LockExclusive)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let pid = std::process::id();
        let began = began(pid).unwrap_or_default();
        let dir = all.join(format!("{PREFIX}{pid}-{began}-{number}"));
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

/// Removes the instances below `tracefs` whose owners are dead; their names. Another process that makes or removes
/// instances is waited for, or else these are left to it, as `how` says.
pub(crate) fn remove_dead(tracefs: &Path, how: FlockOperation) -> Vec<String> {
    let all = tracefs.join("instances");
    let Ok(_cleaning) = locked(&all, how) else { return Vec::new() };
    let names = crate::sysfs::names_in(&all).into_iter();
    names
        .filter(|name| owner(name).is_some_and(|owner| !owner.is_running()))
        .filter(|name| {
            let dir = all.join(name);
            let dead = locked(&dir, FlockOperation::NonBlockingLockExclusive);
            dead.is_ok_and(|_lock| remove(&dir))
        })
        .collect()
}

/// Process that made an instance, read from the instance's name.
#[derive(Debug, PartialEq, Eq)]
struct Owner {
    pid: u32,
    /// Its start in clock ticks since boot; `None` in names of earlier versions.
    began: Option<u64>,
}

impl Owner {
    /// True when the process with its id is the one that made the instance.
    fn is_running(&self) -> bool {
        self.began.is_some() && began(self.pid) == self.began
    }
}

/// The owner in a name such as `drivescope-1234-567890-0`: what [`Instance::create`] makes, and not what somebody else
/// has named like it.
fn owner(name: &str) -> Option<Owner> {
    let is_number = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = name.strip_prefix(PREFIX)?.split('-').collect();
    let parts: Option<Vec<u64>> =
        parts.iter().map(|part| Some(part).filter(|part| is_number(part))?.parse().ok()).collect();
    let (pid, began) = match parts?[..] {
        [pid, _number] => (pid, None),
        [pid, began, _number] => (pid, Some(began)),
        _ => return None,
    };
    Some(Owner { pid: pid.try_into().ok()?, began })
}

/// Start of a running process in clock ticks since boot (proc_pid_stat(5), field 22); `None` of one that has ended.
fn began(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let began = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(began)
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
        assert_eq!(owner("drivescope-1-0"), Some(Owner { pid: 1, began: None }));
        for name in ["drivescope-4194304-17", "drivescope-1-234567-0"] {
            assert!(owner(name).is_some(), "{name}");
        }
        for name in [
            "drivescope",
            "drivescope-1",
            "drivescope-1-",
            "drivescope-a-0",
            "drivescope-1-0x",
            "drivescope-1--0",
            "drivescope-1-2-3-4",
            "drivescope-+1-0",
            "drivescope-99999999999-0",
            "foo-1-0",
        ] {
            assert_eq!(owner(name), None, "{name}");
        }
    }

    // Breaks when the instance of a living recorder is taken from it, or a dead one's is left.
    #[test]
    fn the_dead_are_removed_and_the_living_and_strangers_are_not() {
        let tracefs = tempfile::tempdir().unwrap();
        let all = tracefs.path().join("instances");
        fs::create_dir(&all).unwrap();
        let alive = Instance::create(tracefs.path()).unwrap();
        // Another process had the id of this one before; and one that runs has lost its lock.
        let pid = std::process::id();
        let began = began(pid).unwrap();
        let (dead, runs) =
            (format!("drivescope-{pid}-{}-7", began + 1), format!("drivescope-{pid}-{began}-7"));
        for name in ["drivescope-99-0", "drivescope-mine", "somebody-1-0", &*dead, &*runs] {
            fs::create_dir(all.join(name)).unwrap();
        }
        let busy = locked(&all, FlockOperation::LockExclusive).unwrap();
        let left = remove_dead(tracefs.path(), FlockOperation::NonBlockingLockExclusive);
        assert!(left.is_empty(), "somebody else cleans up");
        drop(busy);
        let mut removed = remove_dead(tracefs.path(), FlockOperation::LockExclusive);
        removed.sort();
        let mut expected = ["drivescope-99-0".to_owned(), dead];
        expected.sort();
        assert_eq!(removed, expected);
        assert!(alive.dir().exists() && all.join(runs).exists());
        assert!(all.join("drivescope-mine").exists() && all.join("somebody-1-0").exists());
        let dir = alive.dir().to_owned();
        drop(alive);
        assert!(!dir.exists());
    }
}

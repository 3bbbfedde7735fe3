//! A device's I/O scheduler, changed for a while and put back.
//!
//! A scheduler holds requests back, sorts and merges them, so it is part of what a replay measures
//! (kernel: `Documentation/block/switching-sched.rst`). It is a property of the whole disk and outlives the process
//! that sets it, so drivescope puts it back on every exit that a process can see.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use thiserror::Error;

use crate::sysfs::{BlockNode, Roots};

/// Why a scheduler cannot be set.
#[derive(Debug, Error)]
pub enum SchedulerError {
    /// The path is not a block device, or the device has no queue of its own.
    #[error("{}: has no I/O scheduler to set; leave --scheduler out, or name a block device", .path.display())]
    None {
        /// The path as given.
        path: PathBuf,
    },
    /// The kernel does not have the scheduler that was asked for.
    #[error("{device}: has no scheduler {wanted}; choose from {}", .choices.join(", "))]
    Unknown {
        /// The disk.
        device: String,
        /// Scheduler that was asked for.
        wanted: String,
        /// Schedulers that the kernel offers.
        choices: Vec<String>,
    },
    /// The kernel refuses.
    #[error("{}: cannot set the I/O scheduler: {source} (it takes root)", .path.display())]
    Set {
        /// The kernel's file.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
}

/// The schedulers of a disk: the chosen one, and all that could be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The one in use.
    pub chosen: String,
    /// All, in the kernel's order.
    pub all: Vec<String>,
}

/// Takes apart what `queue/scheduler` shows: names in a row, the chosen one in brackets.
fn parse(text: &str) -> Option<Choices> {
    let plain = |word: &str| word.trim_matches(['[', ']']).to_owned();
    let mut words = text.split_whitespace().peekable();
    // A device without a choice shows a bare `none`.
    let first = plain(words.peek()?);
    let all: Vec<&str> = words.collect();
    let chosen = all.iter().find(|word| word.starts_with('[')).map_or(first, |word| plain(word));
    Some(Choices { chosen, all: all.into_iter().map(plain).collect() })
}

/// The schedulers of the disk that `path` (a block device, or a partition of one) lies on.
pub fn choices(roots: &Roots, path: &Path) -> Option<Choices> {
    parse(&disk(roots, path)?.attr(ATTRIBUTE)?)
}

fn disk(roots: &Roots, path: &Path) -> Option<BlockNode> {
    Some(BlockNode::by_dev_path(roots, path)?.disk())
}

const ATTRIBUTE: &str = "queue/scheduler";

/// A scheduler that was set. Dropped, it is put back to what it was.
#[derive(Debug)]
pub struct Held {
    file: PathBuf,
    before: String,
    now: String,
}

impl Held {
    /// Returns the scheduler that was set before.
    pub fn before(&self) -> &str {
        &self.before
    }

    /// Returns the scheduler that is set now.
    pub fn now(&self) -> &str {
        &self.now
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = all_held();
        held.retain(|(file, _)| *file != self.file);
        // Errors are ignored: the device may be gone, and its scheduler with it.
        let _ = fs::write(&self.file, &self.before);
    }
}

/// Sets the scheduler of the disk that `path` lies on to `wanted`, until the answer is dropped. `noop`, as kernels
/// before 5.0 called it, is taken for `none`.
///
/// # Errors
/// [`SchedulerError`]; nothing is changed then.
pub fn hold(roots: &Roots, path: &Path, wanted: &str) -> Result<Held, SchedulerError> {
    let Choice { file, before, now } = choose(roots, path, wanted)?;
    let held = Held { file, before, now };
    // Noted first: a signal between the two leaves nothing changed for good.
    all_held().push((held.file.clone(), held.before.clone()));
    match fs::write(&held.file, &held.now) {
        Ok(()) => Ok(held),
        Err(source) => Err(SchedulerError::Set { path: held.file.clone(), source }),
    }
}

/// Finds out whether [`hold`] would know what to set, and changes nothing.
///
/// # Errors
/// [`SchedulerError::None`] and [`SchedulerError::Unknown`].
pub fn check(roots: &Roots, path: &Path, wanted: &str) -> Result<(), SchedulerError> {
    choose(roots, path, wanted).map(drop)
}

/// A scheduler that can be set.
struct Choice {
    file: PathBuf,
    before: String,
    now: String,
}

fn choose(roots: &Roots, path: &Path, wanted: &str) -> Result<Choice, SchedulerError> {
    let none = || SchedulerError::None { path: path.to_owned() };
    let disk = disk(roots, path).ok_or_else(none)?;
    let Choices { chosen, all } =
        disk.attr(ATTRIBUTE).and_then(|text| parse(&text)).ok_or_else(none)?;
    let known = |name: &str| all.iter().any(|one| one == name);
    let wanted = if wanted == "noop" && !known("noop") { "none" } else { wanted };
    if !known(wanted) {
        let (device, wanted) = (disk.name().to_owned(), wanted.to_owned());
        return Err(SchedulerError::Unknown { device, wanted, choices: all });
    }
    let file = disk.dir().join(ATTRIBUTE);
    Ok(Choice { file, before: chosen, now: wanted.to_owned() })
}

/// Schedulers that are held, with what they were before.
static HELD: Mutex<Vec<(PathBuf, String)>> = Mutex::new(Vec::new());

fn all_held() -> MutexGuard<'static, Vec<(PathBuf, String)>> {
    // A list of names is whole after any panic.
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts every scheduler back: for a second Ctrl-C, which does not wait for the owners to drop them.
pub fn restore_all() {
    for (file, before) in all_held().drain(..) {
        let _ = fs::write(file, before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with one disk `sda` and its partition `sda1`.
    fn machine(schedulers: &str) -> (tempfile::TempDir, Roots) {
        let root = tempfile::tempdir().unwrap();
        let (sys, dev) = (root.path().join("sys"), root.path().join("dev"));
        fs::create_dir_all(sys.join("block/sda/queue")).unwrap();
        fs::create_dir_all(sys.join("block/sda/sda1")).unwrap();
        fs::create_dir_all(sys.join("class/block")).unwrap();
        fs::create_dir_all(&dev).unwrap();
        fs::write(sys.join("block/sda/queue/scheduler"), schedulers).unwrap();
        fs::write(sys.join("block/sda/sda1/partition"), "1").unwrap();
        for (name, to) in [("sda", "../../block/sda"), ("sda1", "../../block/sda/sda1")] {
            std::os::unix::fs::symlink(to, sys.join("class/block").join(name)).unwrap();
            fs::write(dev.join(name), "").unwrap();
        }
        let roots = Roots { sys, dev, ..Roots::default() };
        (root, roots)
    }

    fn scheduler(roots: &Roots) -> String {
        fs::read_to_string(roots.sys.join("block/sda/queue/scheduler")).unwrap()
    }

    #[test]
    fn the_chosen_one_is_told_from_the_others() {
        let Choices { chosen, all } = parse("none [mq-deadline] kyber bfq\n").unwrap();
        assert_eq!((chosen.as_str(), all.len()), ("mq-deadline", 4));
        assert_eq!(
            parse("none").unwrap(),
            Choices { chosen: "none".into(), all: vec!["none".into()] }
        );
        assert_eq!(parse(" \n"), None);
    }

    #[test]
    fn a_scheduler_is_put_back_when_it_is_no_longer_held() {
        let (_root, roots) = machine("none [mq-deadline] bfq\n");
        let held = hold(&roots, Path::new("/dev/sda1"), "noop").unwrap();
        assert_eq!((held.before(), held.now()), ("mq-deadline", "none"));
        assert_eq!(scheduler(&roots), "none");
        drop(held);
        assert_eq!(scheduler(&roots), "mq-deadline");
    }

    #[test]
    fn an_unknown_scheduler_changes_nothing_and_the_choices_are_told() {
        let (_root, roots) = machine("none [mq-deadline]\n");
        check(&roots, Path::new("/dev/sda"), "none").unwrap();
        assert_eq!(scheduler(&roots), "none [mq-deadline]\n", "it was only to be looked at");
        assert!(check(&roots, Path::new("/dev/sda"), "cfq").is_err());
        let error = hold(&roots, Path::new("/dev/sda"), "cfq").unwrap_err().to_string();
        assert_eq!(error, "sda: has no scheduler cfq; choose from none, mq-deadline");
        assert_eq!(scheduler(&roots), "none [mq-deadline]\n");
        let error = hold(&roots, Path::new("/dev/nothing"), "none").unwrap_err();
        assert!(matches!(error, SchedulerError::None { .. }), "{error}");
    }
}

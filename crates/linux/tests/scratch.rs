//! The test file: really written, out of the page cache, and always removed.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use block::{Bytes, Environment, Payload, Stack};
use common::{Loop, Mounted, filesystem_is_known, has_means, skip};
use drivescope_linux::environment::RealEnvironment;
use drivescope_linux::scratch::{self, ScratchError, ScratchFile};
use drivescope_linux::signals;
use drivescope_linux::sysfs::Roots;

/// Content that depends on its offset.
struct Numbers;

impl Payload for Numbers {
    fn fill(&mut self, offset: Bytes, buffer: &mut [u8]) {
        for (at, byte) in buffer.iter_mut().enumerate() {
            *byte = number(offset.0 + at as u64);
        }
    }
}

fn number(at: u64) -> u8 {
    (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

fn create(dir: &Path, size: Bytes, id: &str) -> Result<ScratchFile, ScratchError> {
    ScratchFile::create(dir, size, id, &mut Numbers, &mut |_, _| {}, &AtomicBool::new(false))
}

fn names(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "lost+found").collect()
}

fn cached_bytes(file: &File) -> Bytes {
    let target = Some(file.try_clone().unwrap());
    let mut environment = RealEnvironment::new(Roots::default(), Stack::default(), target);
    environment.snapshot().page_cache.unwrap().cached_bytes
}

fn check_whole(scratch: &ScratchFile, size: Bytes) {
    let extents = scratch.extents();
    assert_eq!(extents.unknown, None);
    assert_eq!(extents.written_bytes, size, "{extents:?}");
    assert_eq!(cached_bytes(scratch.file()), Bytes::ZERO, "nothing is left in the page cache");
    let meta = fs::metadata(scratch.path()).unwrap();
    assert_eq!(meta.mode() & 0o777, 0o600);
    let content = fs::read(scratch.path()).unwrap();
    assert_eq!(content.len() as u64, size.0);
    let wrong = content.iter().enumerate().find(|(at, byte)| **byte != number(*at as u64));
    assert_eq!(wrong, None, "every byte is where the payload put it");
}

/// A size that ends in the middle of a block, on filesystems with and without direct I/O.
#[test]
fn a_test_file_is_whole_uncached_and_gone_afterwards() {
    let size = Bytes((9 << 20) + 4096 + 77);
    for fstype in ["ext4", "xfs", "btrfs"] {
        if !has_means(&["losetup", &format!("mkfs.{fstype}")]) || !filesystem_is_known(fstype) {
            skip(fstype);
            continue;
        }
        let device = Loop::new(512 << 20, true);
        device.mkfs(fstype);
        let mounted = Mounted::new(fstype, device.dev(), "");
        let mut told = Vec::new();
        let scratch = ScratchFile::create(
            mounted.path(),
            size,
            "run-1",
            &mut Numbers,
            &mut |done, total| told.push((done, total)),
            &AtomicBool::new(false),
        )
        .unwrap();
        assert_eq!(names(mounted.path()), [".drivescope-run-1.scratch"]);
        check_whole(&scratch, size);
        assert!(scratch.written_directly(), "{fstype}");
        assert_eq!(told.first(), Some(&(Bytes::ZERO, size)));
        assert_eq!(told.last(), Some(&(size, size)));
        assert!(told.is_sorted());
        assert!(scratch::leftovers(mounted.path()).is_empty(), "its owner lives");
        drop(scratch);
        assert!(names(mounted.path()).is_empty());
    }
}

/// Without direct I/O the fallback has to leave the cache as clean.
#[test]
fn where_direct_io_is_only_pretended_the_file_is_whole_all_the_same() {
    if !has_means(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let device = Loop::new(128 << 20, true);
    // ext4 with journaled data takes the flag and goes through the page cache all the same.
    common::run("mkfs.ext4", &["-q", "-F", "-b", "1024", device.dev()]);
    let mounted = Mounted::new("ext4", device.dev(), "data=journal");
    let size = Bytes((5 << 20) + 512);
    let scratch = create(mounted.path(), size, "j").unwrap();
    check_whole(&scratch, size);
}

#[test]
fn a_full_filesystem_is_refused_before_and_survived_in_the_middle() {
    if !has_means(&["mount"]) {
        return;
    }
    let mounted = Mounted::new("tmpfs", "tmpfs", "size=100m");
    let error = create(mounted.path(), Bytes::mib(40), "a").unwrap_err();
    let ScratchError::TooSmall { needed, available, reserve, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!((*needed, *available, *reserve), (Bytes::mib(40), Bytes::mib(100), Bytes::mib(64)));
    let text = error.to_string();
    for word in ["40 MiB", "100 MiB", "64 MiB", "--size", mounted.path().to_str().unwrap()] {
        assert!(text.contains(word), "{word} in {text}");
    }
    // Someone else takes the space while the file is written.
    let path = mounted.path().to_owned();
    let mut filler = None;
    let result = ScratchFile::create(
        &path,
        Bytes::mib(30),
        "b",
        &mut Numbers,
        &mut |done, _| {
            if done == Bytes::mib(8) {
                let file = File::create(path.join("other")).unwrap();
                rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 88 << 20)
                    .unwrap();
                filler = Some(file);
            }
        },
        &AtomicBool::new(false),
    );
    let error = result.unwrap_err();
    assert!(
        matches!(error, ScratchError::Full { written, .. } if written >= Bytes::mib(8)),
        "{error}"
    );
    assert_eq!(names(&path), ["other"]);
}

#[test]
fn cancelling_stops_at_the_next_chunk_and_removes_the_file() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let cancel = AtomicBool::new(false);
    let mut last = Bytes::ZERO;
    let result = ScratchFile::create(
        dir.path(),
        Bytes::mib(64),
        "c",
        &mut Numbers,
        &mut |done, _| {
            last = done;
            cancel.store(done >= Bytes::mib(8), Ordering::Relaxed);
        },
        &cancel,
    );
    assert!(matches!(result, Err(ScratchError::Cancelled)));
    assert_eq!(last, Bytes::mib(8));
    assert!(names(dir.path()).is_empty());
}

// Breaks when a file of gigabytes stays without a word, as on a filesystem that turned read-only meanwhile.
#[test]
fn what_cannot_be_removed_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let gone = create(dir.path(), Bytes::mib(1), "gone").unwrap();
    fs::remove_file(gone.path()).unwrap();
    gone.remove().unwrap();

    let stays = create(dir.path(), Bytes::mib(1), "stays").unwrap();
    let path = stays.path().to_owned();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    stays.remove().unwrap_err();
    assert!(path.exists());

    create(dir.path(), Bytes::mib(1), "removed").unwrap().remove().unwrap();
    assert_eq!(names(dir.path()), [".drivescope-stays.scratch"]);
}

#[test]
fn wrong_use_says_what_is_wrong() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let say = |path: &Path, size, id| create(path, size, id).unwrap_err().to_string();
    assert!(say(&dir.path().join("no"), Bytes(1), "a").contains("No such file"));
    assert!(say(&file, Bytes(1), "a").contains("not a directory"));
    assert!(say(dir.path(), Bytes(0), "a").contains("no bytes"));
    assert!(say(dir.path(), Bytes(1), "../a").contains("run id"));
    assert!(say(Path::new("/proc"), Bytes(1), "a").contains("/proc"));
    let alive = create(dir.path(), Bytes(4096), "twice").unwrap();
    assert!(say(dir.path(), Bytes(1), "twice").contains("exists already"));
    assert!(alive.path().exists(), "the failed second one did not remove the first");
}

/// Files left by a killed run are found, and only those.
#[test]
fn leftovers_are_files_whose_owner_died() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let at = |name: &str| dir.path().join(name);
    let fake = |name: &str, mode: u32| {
        fs::write(at(name), vec![1; 5000]).unwrap();
        fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let has_headers = |name: &str, id: &str| {
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(at(name), scratch::HEADER, id.as_bytes(), flags).is_ok()
    };
    fake(".drivescope-dead.scratch", 0o600);
    if !has_headers(".drivescope-dead.scratch", "dead") {
        return skip("needs extended attributes in /var/tmp");
    }
    // Files that no run of this user made, by mode, name, or owner.
    fake(".drivescope-open.scratch", 0o644);
    fake(".drivescope-my notes.scratch", 0o600);
    fake(".drivescope-.scratch", 0o600);
    if rustix::process::geteuid().is_root() {
        fake(".drivescope-theirs.scratch", 0o600);
        std::os::unix::fs::chown(at(".drivescope-theirs.scratch"), Some(12_345), None).unwrap();
    }
    fs::write(at("precious.scratch"), "mine").unwrap();
    fs::create_dir(at(".drivescope-dir.scratch")).unwrap();
    std::os::unix::fs::symlink(at("precious.scratch"), at(".drivescope-link.scratch")).unwrap();
    let alive = create(dir.path(), Bytes(4096), "alive").unwrap();

    let found = scratch::leftovers(dir.path());
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].path, at(".drivescope-dead.scratch"));
    assert_eq!(found[0].size, Bytes(5000));
    let mtime = fs::metadata(&found[0].path).unwrap().mtime();
    assert_eq!(found[0].modified.0 / 1_000_000_000, i128::from(mtime));

    // A file without a header, or with that of another, is listed and not removed.
    fake(".drivescope-notes.scratch", 0o600);
    fake(".drivescope-copy.scratch", 0o600);
    assert!(has_headers(".drivescope-copy.scratch", "dead"));
    let others: Vec<_> =
        scratch::leftovers(dir.path()).into_iter().filter(|it| !it.is_ours).collect();
    let names: Vec<_> = others.iter().map(|other| other.path.clone()).collect();
    assert_eq!(names, [at(".drivescope-copy.scratch"), at(".drivescope-notes.scratch")]);
    for other in others {
        assert_eq!(other.remove().unwrap_err().kind(), std::io::ErrorKind::InvalidData);
        assert!(other.path.exists());
    }

    assert!(found[0].is_ours);
    found[0].remove().unwrap();
    assert!(!at(".drivescope-dead.scratch").exists());
    // Another run took the name meanwhile.
    let reborn = create(dir.path(), Bytes(4096), "dead").unwrap();
    assert_eq!(found[0].remove().unwrap_err().kind(), std::io::ErrorKind::ResourceBusy);
    assert!(reborn.path().exists() && alive.path().exists());
}

/// Between making a file and locking it, another run may take it for a leftover and remove it. A run
/// must not go on with a file that has no name: it could not be opened for the measurement.
#[test]
fn a_file_removed_before_it_was_locked_is_made_again() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                for leftover in scratch::leftovers(dir.path()) {
                    let _ = leftover.remove();
                }
            }
        });
        for round in 0..2000 {
            let made = create(dir.path(), Bytes(512), &format!("race-{round}"));
            let still_there = made.as_ref().is_ok_and(|scratch| scratch.path().exists());
            if !still_there {
                stop.store(true, Ordering::Relaxed);
                panic!("round {round}: {made:?}");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(names(dir.path()).is_empty());
}

const CHILD: &str = "DRIVESCOPE_TEST_CHILD_DIR";

/// Not a test of its own: what the test below starts, kills and interrupts.
#[test]
fn child_that_measures_for_ever() {
    let Some(dir) = std::env::var_os(CHILD) else { return };
    let cancel = Arc::new(AtomicBool::new(false));
    signals::start().unwrap();
    let _orderly = signals::orderly(&cancel);
    let scratch = create(dir.as_ref(), Bytes::mib(1), "child").unwrap();
    println!("ready");
    while !cancel.load(Ordering::Relaxed) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    println!("cancelled");
    if Path::new(&dir).join("stubborn").exists() {
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
    drop(scratch);
    std::process::exit(7);
}

fn child(dir: &Path) -> (std::process::Child, impl FnMut(&str)) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "scratch::child_that_measures_for_ever", "--nocapture"])
        .env(CHILD, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    (child, move |word: &str| assert!(lines.any(|line| line.unwrap().ends_with(word))))
}

fn signal(child: &std::process::Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}

#[test]
fn a_first_signal_asks_a_second_one_ends_and_no_file_stays() {
    use rustix::process::Signal;
    for first in [Signal::INT, Signal::TERM, Signal::HUP] {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let (mut running, mut wait_for) = child(dir.path());
        wait_for("ready");
        assert_eq!(names(dir.path()), [".drivescope-child.scratch"]);
        signal(&running, first);
        assert_eq!(running.wait().unwrap().code(), Some(7), "it wound up on its own");
        assert!(names(dir.path()).is_empty());
    }
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::write(dir.path().join("stubborn"), "").unwrap();
    let (mut running, mut wait_for) = child(dir.path());
    wait_for("ready");
    signal(&running, Signal::INT);
    wait_for("cancelled");
    // `timeout` and scripts pass on what the whole group got: that is one wish.
    signal(&running, Signal::INT);
    std::thread::sleep(std::time::Duration::from_millis(600));
    assert!(running.try_wait().unwrap().is_none(), "two signals at once ended it");
    signal(&running, Signal::INT);
    assert_eq!(running.wait().unwrap().code(), Some(130));
    assert_eq!(names(dir.path()), ["stubborn"]);
}

#[test]
fn after_kill_the_next_run_finds_and_removes_what_was_left() {
    let dir = tempfile::tempdir_in("/var/tmp").unwrap();
    let (mut running, mut wait_for) = child(dir.path());
    wait_for("ready");
    assert!(scratch::leftovers(dir.path()).is_empty(), "its owner lives");
    signal(&running, rustix::process::Signal::KILL);
    running.wait().unwrap();
    let found = scratch::leftovers(dir.path());
    assert_eq!(found.len(), 1);
    found[0].remove().unwrap();
    assert!(names(dir.path()).is_empty());
}

//! Ways in which a run ends early: Ctrl-C, `kill -9`, a device that goes, a filesystem that fills. No
//! file is left where a process can help it, and what was measured before is kept and marked.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use common::recorded::lines_in;
use common::storage::{Loop, Mounted, has_means};
use common::{
    Alive, Ran, assert_reached, mark, mark_command, names, runs_dir, scratch_dir, tests, wait_for,
    wait_for_test_file,
};
use rustix::process::{Pid, Signal, kill_process};

/// More runs than any test waits for.
const ENDLESS: [&str; 4] = ["--size=16MiB", "--tests=RND4KQ1T1", "--read-only", "--runs=100000"];

/// Signals that end a program unless it catches them.
const ENDING: [Signal; 9] = [
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::XCPU,
    Signal::VTALARM,
];

fn start(dir: &Path, args: &[&str]) -> Alive {
    Alive::start(&mut mark_command(dir, args))
}

fn signal(alive: &mut Alive, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(alive.child().id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

fn end(alive: Alive) -> Ran {
    alive.end()
}

/// Number of journal lines of this test's runs.
fn recorded() -> u64 {
    lines_in(&runs_dir())
}

/// Waits until some of the short runs are recorded beyond those `before`: their duration depends on the machine.
fn let_it_measure(before: u64) {
    wait_for("some runs", || (recorded() >= before + 8).then_some(()));
}

#[test]
fn ctrl_c_while_the_test_file_is_written_leaves_nothing() {
    let dir = scratch_dir();
    for name in ENDING {
        let mut child = start(dir.path(), &["--size=2GiB"]);
        wait_for_test_file(dir.path(), 1);
        signal(&mut child, name);
        end(child).fails(130, &["stopped while the test file was written"]);
        assert!(names(dir.path()).is_empty(), "{:?}", names(dir.path()));
    }
}

#[test]
fn ctrl_c_while_measuring_keeps_what_was_measured_and_says_that_it_is_not_all() {
    let dir = scratch_dir();
    let before = recorded();
    let mut child = start(dir.path(), &ENDLESS);
    wait_for_test_file(dir.path(), 16 << 20);
    let_it_measure(before);
    signal(&mut child, Signal::INT);
    let body = end(child).exits(130).body();
    assert_eq!(body["interrupted"], true);
    let codes: Vec<&str> =
        body["caveats"].as_array().unwrap().iter().map(|c| c["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"incomplete"), "{codes:?}");
    let runs = tests(&body)[0]["runs"].as_array().unwrap().len();
    assert!((1..100_000).contains(&runs), "{runs} runs");
    assert!(names(dir.path()).is_empty());
}

// Breaks when a record does not show years later why its run ended.
#[test]
fn the_record_names_the_signal_that_ended_the_run() {
    let dir = scratch_dir();
    let before = recorded();
    let mut child = start(dir.path(), &ENDLESS);
    let_it_measure(before);
    signal(&mut child, Signal::QUIT);
    let ran = end(child).exits(130).says(&["stopped by SIGQUIT"]);
    let id = ran.json()["envelope"]["run_id"].as_str().unwrap().to_owned();
    let journal = fs::read_to_string(runs_dir().join(id).join("journal.jsonl")).unwrap();
    assert!(journal.contains(r#""SIGQUIT""#), "{}", journal.lines().last().unwrap());
    assert!(names(dir.path()).is_empty());
}

#[test]
fn the_page_of_an_interrupted_mark_says_so() {
    let dir = scratch_dir();
    let mut command = common::drivescope(["mark", "--no-progress"]);
    let mut child = Alive::start(command.arg(dir.path()).args(ENDLESS));
    wait_for_test_file(dir.path(), 16 << 20);
    signal(&mut child, Signal::INT);
    let ran = end(child).exits(130);
    assert!(ran.stdout.contains("Stopped after 0 of 100000 runs."), "{}", ran.stdout);
    assert!(names(dir.path()).is_empty());
}

/// The second one may come before the first has been answered: it must not leave the file either.
#[test]
fn ctrl_c_twice_leaves_nothing() {
    let dir = scratch_dir();
    for args in [&["--size=2GiB"][..], &ENDLESS] {
        let mut child = start(dir.path(), args);
        wait_for_test_file(dir.path(), 1);
        signal(&mut child, Signal::INT);
        std::thread::sleep(Duration::from_micros(300));
        signal(&mut child, Signal::INT);
        let ran = end(child).exits(130);
        assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
        assert!(names(dir.path()).is_empty());
    }
}

/// A killed run leaves a file of the requested size, of unknown owner.
#[test]
fn a_killed_run_is_told_of_by_the_next_and_cleaned_up_when_asked() {
    let dir = scratch_dir();
    let mut child = start(dir.path(), &ENDLESS);
    let left = wait_for_test_file(dir.path(), 16 << 20);
    signal(&mut child, Signal::KILL);
    assert_eq!(end(child).code, None, "killed");
    assert!(left.exists());
    let name = left.file_name().unwrap().to_str().unwrap();
    let short = ["--size=4MiB", "--tests=RND4KQ1T1", "--read-only"];
    // The kernel frees what a dead process held, its lock too, a moment after it is reported dead.
    wait_for("the lock of the dead to go", || {
        let file = File::open(&left).unwrap();
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).ok()
    });
    let told = mark(dir.path(), &short).exits(0).says(&[name, "16 MiB", "--remove-leftovers"]);
    assert!(!told.stderr.contains("removed "), "{}", told.stderr);
    assert!(left.exists(), "not removed unasked");
    let args = [&short[..], &["--remove-leftovers"]].concat();
    mark(dir.path(), &args).exits(0).says(&["removed", name]);
    assert!(names(dir.path()).is_empty());
    assert_eq!(mark(dir.path(), &short).exits(0).said(), "", "nothing is left to tell of");
}

#[test]
fn a_run_that_is_alive_is_not_taken_for_a_leftover() {
    let dir = scratch_dir();
    let first =
        start(dir.path(), &["--size=16MiB", "--tests=RND4KQ1T1", "--read-only", "--runs=30"]);
    let file = wait_for_test_file(dir.path(), 1);
    let args = ["--size=16MiB", "--tests=RND4KQ1T1", "--remove-leftovers"];
    let second = mark(dir.path(), &args).exits(0);
    assert_eq!(second.said(), "");
    assert_reached(&second.body());
    assert!(file.exists(), "the first run's file was taken away");
    let body = end(first).exits(0).body();
    assert_reached(&body);
    assert_eq!(tests(&body)[0]["runs"].as_array().unwrap().len(), 30);
    assert!(names(dir.path()).is_empty());
}

/// A USB stick that is pulled out. A loop device whose file is cut short fails its reads alike.
#[test]
fn a_device_that_goes_ends_the_run_and_keeps_what_was_measured() {
    if !has_means(&["losetup"]) {
        return;
    }
    for engine in ["io_uring", "libaio", "psync"] {
        let device = Loop::new(32 << 20, true);
        let args = [&ENDLESS[1..], &["--engine", engine]].concat();
        let before = recorded();
        let child = start(&device.path, &args);
        let_it_measure(before);
        File::options().write(true).open(&device.image).unwrap().set_len(0).unwrap();
        let ran = end(child).exits(2).says(&["error:", device.dev(), "read", "in run"]);
        let body = ran.body();
        assert_eq!(body["interrupted"], true);
        assert!(!tests(&body)[0]["runs"].as_array().unwrap().is_empty(), "{engine}");
        let caveats = body["caveats"].to_string();
        assert!(caveats.contains("incomplete"), "{caveats}");
    }
}

/// Bytes that anyone may still take.
fn available(dir: &Path) -> u64 {
    let fs = rustix::fs::statvfs(dir).unwrap();
    fs.f_bavail * fs.f_frsize
}

#[test]
fn a_filesystem_without_room_is_refused_before_anything_is_written() {
    if !has_means(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let device = Loop::new(128 << 20, true);
    device.mkfs("ext4");
    let mounted = Mounted::new("ext4", device.dev(), "");
    let path = mounted.path().to_str().unwrap();
    let before = available(mounted.path());
    let size = format!("--size={}B", before);
    mark(path, &[&size]).fails(2, &[path, "does not fit", "--size"]);
    assert_eq!(available(mounted.path()), before);
    assert_eq!(names(mounted.path()), ["lost+found"]);
}

#[test]
fn a_filesystem_that_fills_up_meanwhile_gets_its_space_back() {
    if !has_means(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let dir = scratch_dir();
    let image = dir.path().join("image");
    File::create(&image).unwrap().set_len(4 << 30).unwrap();
    let device = Loop::on(dir, &image, &["--direct-io=on"]);
    device.mkfs("ext4");
    let mounted = Mounted::new("ext4", device.dev(), "");
    let path = mounted.path().to_str().unwrap();
    let child = start(mounted.path(), &["--size=3GiB"]);
    wait_for_test_file(mounted.path(), 1);
    let greedy = File::create(mounted.path().join("greedy")).unwrap();
    let (mut taken, mut step) = (0, 1u64 << 30);
    while step >= 4096 {
        match rustix::fs::fallocate(&greedy, rustix::fs::FallocateFlags::empty(), taken, step) {
            Ok(()) => taken += step,
            Err(_) => step /= 2,
        }
    }
    end(child).fails(2, &[path, "no space left after", "the test file was removed"]);
    assert_eq!(names(mounted.path()), ["greedy", "lost+found"]);
    drop(greedy);
    fs::remove_file(mounted.path().join("greedy")).unwrap();
}

//! Kernel state left by a recorder: none, however it ended.
//!
//! In a program of its own: the tests count what the process has set up in the kernel, and clean up after dead
//! recorders.

#![allow(clippy::unwrap_used, reason = "these are tests")]

mod common;
#[path = "common/tracer_kit.rs"]
mod tracer_kit;

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drivescope_linux::sysfs::Roots;
use drivescope_linux::tracer::{
    self, Backend, Collector, Options, Subject, TracerError, TracerRoots,
};

use common::Loop;
use rustix::fs::{FlockOperation, flock};
use tracer_kit::{INSTANCES, can_trace, only_tracer};

/// The device that a child of these tests records.
const CHILD: &str = "DRIVESCOPE_TEST_RECORDS";
/// Its back end, where that is the machine's only tracer, and the directory of its notes.
const RUN: &str = "DRIVESCOPE_TEST_NOTES";

/// Instances that process `pid` has made.
fn instances(pid: u32) -> Vec<PathBuf> {
    let ours = format!("drivescope-{pid}-");
    let all = fs::read_dir(INSTANCES).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&ours)).collect()
}

/// One of these tests at a time: what one leaves behind, the others would clean up.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A process that is killed and cleaned up after, whatever becomes of the test.
struct Recording {
    child: Child,
    roots: TracerRoots,
}

impl Recording {
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        tracer::clean_up(&self.roots);
    }
}

/// A process that records `device` until it is killed; with the tracer `blk` when there is a directory for notes.
fn recording(device: &Loop, run: Option<&Path>) -> Recording {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "in_a_child_records_until_it_is_killed", "--nocapture"]);
    command.env(CHILD, device.dev()).stdout(Stdio::piped());
    if let Some(run) = run {
        command.env(RUN, run);
    }
    let child = command.spawn().unwrap();
    let roots = run.map_or_else(TracerRoots::default, |run| only_one(run).roots);
    let mut recording = Recording { child, roots };
    let mut lines = BufReader::new(recording.child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("recording")), "the child records nothing");
    recording
}

fn start(path: &Path) -> tracer::Tracer<Collector> {
    start_with(path, &Options::default()).unwrap()
}

fn start_with(path: &Path, options: &Options) -> Result<tracer::Tracer<Collector>, TracerError> {
    let subject = Subject::find(&Roots::default(), path).unwrap();
    tracer::start(&[subject], options, Collector::new(1000))
}

/// The tracer of which the machine has one, noted in `run`.
fn only_one(run: &Path) -> Options {
    let roots = TracerRoots { run: run.to_owned(), ..TracerRoots::default() };
    Options { backend: Some(Backend::BlkTracer), buffer: None, roots }
}

#[test]
fn in_a_child_records_until_it_is_killed() {
    let Some(device) = std::env::var_os(CHILD) else { return };
    let options = std::env::var_os(RUN).map(|run| only_one(Path::new(&run)));
    let options = options.unwrap_or_default();
    let busy = |error: &TracerError| error.to_string().contains("busy");
    let _tracer = loop {
        match start_with(Path::new(&device), &options) {
            Err(error) if busy(&error) => std::thread::sleep(Duration::from_millis(50)),
            started => break started.unwrap_or_else(|error| panic!("{error}")),
        }
    };
    println!("recording");
    loop {
        std::thread::park();
    }
}

// Breaks when the next run takes a living recorder's instance away, or leaves a dead one's, whose events would still
// cost time though no process reads them.
#[test]
fn the_next_run_removes_what_a_killed_one_has_left_and_nothing_else() {
    if !can_trace() {
        return;
    }
    let _alone = alone();
    let device = Loop::new(4 << 20, true);
    let mut child = recording(&device, None);
    let left = instances(child.child.id());
    assert_eq!(left.len(), 1);
    let stranger = PathBuf::from(INSTANCES).join(format!("drivescope-test-{}", std::process::id()));
    fs::create_dir(&stranger).unwrap();
    tracer::clean_up(&TracerRoots::default());
    assert!(left[0].exists(), "it lives");
    // Commands of other tests clean up as well, but not while this test holds the lock.
    let cleaning = File::open(INSTANCES).unwrap();
    flock(&cleaning, FlockOperation::LockExclusive).unwrap();
    child.kill();
    assert_eq!(
        fs::read_to_string(left[0].join("tracing_on")).unwrap().trim(),
        "1",
        "it was left on"
    );
    let enabled = fs::read_to_string(left[0].join("events/block/block_rq_issue/enable")).unwrap();
    assert_eq!(enabled.trim(), "1");
    drop(cleaning);
    start(&device.path).stop();
    let gone = !left[0].exists();
    let stranger_stays = stranger.exists();
    let _ = fs::remove_dir(&stranger);
    assert!(gone, "{} was left", left[0].display());
    assert!(stranger_stays, "what was not ours was removed");
}

#[test]
fn a_recording_that_is_stopped_or_dropped_leaves_nothing() {
    if !can_trace() {
        return;
    }
    let _alone = alone();
    let device = Loop::new(4 << 20, true);
    let tracer = start(&device.path);
    assert_eq!(instances(std::process::id()).len(), 1);
    tracer.stop();
    assert!(instances(std::process::id()).is_empty());
    let tracer = start(&device.path);
    assert_eq!(instances(std::process::id()).len(), 1);
    drop(tracer);
    assert!(instances(std::process::id()).is_empty());
}

// Breaks when the machine's only tracer stays taken by a dead process: it could not be used until the next boot.
#[test]
fn the_only_tracer_of_the_machine_is_freed_by_the_next_run() {
    if !can_trace() {
        return;
    }
    let _only = only_tracer();
    let read = |path: &str| fs::read_to_string(path).unwrap().trim().to_owned();
    let current = || read("/sys/kernel/tracing/current_tracer");
    let _alone = alone();
    let device = Loop::new(4 << 20, true);
    let run = tempfile::tempdir().unwrap();
    let enable = format!("/sys/block/{}/trace/enable", device.name());
    let mut child = recording(&device, Some(run.path()));
    let roots = only_one(run.path()).roots;
    let freed = |removed: &[String]| removed.iter().any(|what| what == "the tracer blk");
    assert!(!freed(&tracer::clean_up(&roots)), "it lives");
    assert_eq!((current().as_str(), read(&enable).as_str()), ("blk", "1"));
    child.kill();
    assert_eq!((current().as_str(), read(&enable).as_str()), ("blk", "1"), "it was left on");
    // Somebody with other notes has left nothing, and touches nothing.
    let other = tempfile::tempdir().unwrap();
    assert!(!freed(&tracer::clean_up(&only_one(other.path()).roots)));
    assert_eq!(current(), "blk");
    let removed = tracer::clean_up(&roots);
    assert_eq!((current().as_str(), read(&enable).as_str()), ("nop", "0"), "it stays on");
    assert!(freed(&removed), "{removed:?}");
    assert_eq!(fs::read_dir(run.path()).unwrap().count(), 0);
}

//! What is left of a recorder in the kernel: nothing, however it ended.

#![allow(clippy::unwrap_used, reason = "these are tests")]

mod common;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use drivescope_linux::sysfs::Roots;
use drivescope_linux::tracer::{self, Collector, Options, Subject, TracerRoots};

use common::{Loop, has_means, skip};

/// The device that a child of these tests records.
const CHILD: &str = "DRIVESCOPE_TEST_RECORDS";
const INSTANCES: &str = "/sys/kernel/tracing/instances";

/// True when this machine can be traced; says what is missing otherwise.
fn can_trace() -> bool {
    if !has_means(&["losetup"]) {
        return false;
    }
    if !Path::new(INSTANCES).is_dir() {
        skip("needs /sys/kernel/tracing/instances");
        return false;
    }
    true
}

/// Instances that process `pid` has made.
fn instances(pid: u32) -> Vec<PathBuf> {
    let ours = format!("drivescope-{pid}-");
    let all = fs::read_dir(INSTANCES).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&ours)).collect()
}

/// A process that records `device` until it is killed.
fn recording(device: &Loop) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "in_a_child_records_until_it_is_killed", "--nocapture"])
        .env(CHILD, device.dev())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("recording")), "the child records nothing");
    child
}

fn start(path: &Path) -> tracer::Tracer<Collector> {
    let subject = Subject::find(&Roots::default(), path).unwrap();
    tracer::start(&[subject], &Options::default(), Collector::new(1000)).unwrap()
}

#[test]
fn in_a_child_records_until_it_is_killed() {
    let Some(device) = std::env::var_os(CHILD) else { return };
    let _tracer = start(Path::new(&device));
    println!("recording");
    loop {
        std::thread::park();
    }
}

// Breaks when the next run takes a living recorder's instance away, or leaves a dead one's, whose events would go on
// costing time with nobody to read them.
#[test]
fn the_next_run_removes_what_a_killed_one_has_left_and_nothing_else() {
    if !can_trace() {
        return;
    }
    let device = Loop::new(4 << 20, true);
    let mut child = recording(&device);
    let left = instances(child.id());
    assert_eq!(left.len(), 1);
    let stranger = PathBuf::from(INSTANCES).join(format!("drivescope-test-{}", std::process::id()));
    fs::create_dir(&stranger).unwrap();
    assert!(tracer::clean_up(&TracerRoots::default()).is_empty(), "it lives");
    assert!(left[0].exists());
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        fs::read_to_string(left[0].join("tracing_on")).unwrap().trim(),
        "1",
        "it was left on"
    );
    let enabled = fs::read_to_string(left[0].join("events/block/block_rq_issue/enable")).unwrap();
    assert_eq!(enabled.trim(), "1");
    let (_, recorded) = start(&device.path).stop();
    let gone = !left[0].exists();
    let stranger_stays = stranger.exists();
    let _ = fs::remove_dir(&stranger);
    assert!(gone, "{} was left", left[0].display());
    assert!(stranger_stays, "what was not ours was removed");
    let name = left[0].file_name().unwrap().to_str().unwrap().to_owned();
    assert!(recorded.removed.contains(&name), "{:?} does not tell {name}", recorded.removed);
}

#[test]
fn a_recording_that_is_stopped_or_dropped_leaves_nothing() {
    if !can_trace() {
        return;
    }
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

//! `trace record`: what it keeps is what was issued, and it is kept however the recording ends.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::storage::{Loop, Mounted, has_means, skip};
use common::{Alive, Ran, drivescope, names, run, scratch_dir, wait_for};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use trace::container::Reader;
use trace::{Io, Kind, Source as _, TraceInfo};

/// True when this machine can be traced; says what is missing otherwise.
fn can_trace() -> bool {
    if !has_means(&["losetup", "dd"]) {
        return false;
    }
    let there = Path::new("/sys/kernel/tracing/instances").is_dir();
    if !there {
        skip("needs /sys/kernel/tracing/instances");
    }
    there
}

/// A device of one test's own, and where its recordings go.
struct Setup {
    device: Loop,
    dir: TempDir,
    /// A recording that is not there yet.
    file: PathBuf,
}

impl Setup {
    /// None where this machine cannot be traced, which is said.
    fn new(bytes: u64) -> Option<Setup> {
        can_trace().then(|| {
            let dir = scratch_dir();
            Setup { device: Loop::new(bytes, true), file: dir.path().join("a.parquet"), dir }
        })
    }

    fn file(&self) -> &str {
        self.file.to_str().unwrap()
    }
}

fn read(path: &Path) -> (Vec<Io>, TraceInfo) {
    let mut reader = Reader::open(path).unwrap();
    let mut ios = Vec::new();
    loop {
        let known = ios.len();
        reader.next(&mut ios).unwrap();
        if ios.len() == known {
            return (ios, reader.info().clone());
        }
    }
}

fn dd(count: u32, device: &Loop) -> Vec<String> {
    let (input, count) = (format!("if={}", device.dev()), format!("count={count}"));
    ["dd", &input, "of=/dev/null", "bs=64k", &count, "iflag=direct", "status=none"]
        .map(str::to_owned)
        .to_vec()
}

fn record(args: &[&str], command: &[String]) -> Ran {
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    run([&["trace", "record"], args, &["--"], &command].concat())
}

// Breaks when an I/O of the command is missing in the file, or has other addresses, times or names there.
#[test]
fn what_a_command_does_is_in_the_file() {
    let Some(setup) = Setup::new(8 << 20) else { return };
    let Setup { device, dir, file } = &setup;
    let ran = record(&["--json", device.dev(), "-o", setup.file()], &dd(100, device)).exits(0);
    let body = ran.body();
    assert_eq!((body["ios"].as_u64(), body["recorder"]["lost"].as_u64()), (Some(100), Some(0)));
    assert_eq!((body["unfinished"].as_u64(), body["strays"].as_u64()), (Some(0), Some(0)));
    assert_eq!(body["recorder"]["backend"], "tracepoints");
    assert_eq!(body["command"]["status"].as_i64(), Some(0));
    assert_eq!(body["file_bytes"].as_u64(), Some(file.metadata().unwrap().len()));
    let (ios, info) = read(file);
    assert_eq!(ios.len(), 100);
    for (n, io) in ios.iter().enumerate() {
        assert_eq!((io.kind, io.offset.0, io.length.0), (Kind::Read, n as u64 * 65536, 65536));
        let stages = [io.allocated, io.issued, io.completed];
        assert!(stages.iter().all(|stage| stage.known()) && stages.is_sorted(), "{io:?}");
        assert_eq!(info.processes[&io.pid], "dd");
    }
    assert_eq!(info.source, "block tracepoints");
    assert_eq!(info.spaces.len(), 1);
    assert_eq!(info.spaces[0].name, device.name());
    assert_eq!(info.spaces[0].capacity_bytes.unwrap().0, 8 << 20);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let age = now.as_nanos() as i64 - info.origin_unix_ns.unwrap();
    assert!((0..120_000_000_000).contains(&age), "recorded {age} ns ago");
    assert_eq!(names(dir.path()), ["a.parquet"], "something else was left");
}

// Breaks when the failure of the command is swallowed, or takes the recording with it.
#[test]
fn a_command_that_fails_is_told_and_recorded() {
    let Some(setup) = Setup::new(8 << 20) else { return };
    let Setup { device, dir, file } = &setup;
    let script = format!("{}; echo said; exit 3", dd(7, device).join(" "));
    let command = ["sh".to_owned(), "-c".to_owned(), script];
    let args = [device.dev(), "-o", setup.file()];
    record(&args, &command).exits(1).prints(&["said", "status 3", "the command failed"]);
    assert_eq!(read(file).0.len(), 7);
    record(&args, &command).exits(2).says(&["exists", "--force"]);
    let again = record(&[&args[..], &["--force", "--json"]].concat(), &command).exits(1);
    assert_eq!(again.body()["command"]["status"].as_i64(), Some(3));
    again.says(&["said"]);
    let none = record(&[&args[..], &["--force"]].concat(), &["/no/such/program".to_owned()]);
    none.fails(2, &["/no/such/program", "cannot be started"]);
    assert_eq!(read(file).0.len(), 7, "a recording that was not made has replaced another");
    assert_eq!(names(dir.path()), ["a.parquet"]);
}

/// A recording without a command, once it is going on.
fn recording(setup: &Setup) -> Alive {
    let args = ["trace", "record", setup.device.dev(), "-o", setup.file(), "--json"];
    let mut alive = Alive::start(&mut drivescope(args));
    let instance = format!("drivescope-{}-", alive.child().id());
    wait_for("a recording", || {
        let all = std::fs::read_dir("/sys/kernel/tracing/instances").unwrap();
        let ours =
            |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(&instance);
        let dir = all.map(|entry| entry.unwrap().path()).find(ours)?;
        let on = std::fs::read_to_string(dir.join("tracing_on")).ok()?;
        let enabled =
            std::fs::read_to_string(dir.join("events/block/block_rq_issue/enable")).ok()?;
        (on.trim() == "1" && enabled.trim() == "1").then_some(())
    });
    alive
}

fn signal(alive: &mut Alive, signal: Signal) {
    let pid = Pid::from_raw(alive.child().id().cast_signed()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Kills a recording, which leaves its instance behind; its process.
fn killed(setup: &Setup) -> u32 {
    let mut alive = recording(setup);
    let pid = alive.child().id();
    // Other tests' commands clean up as well, unless another process holds this lock.
    let cleaning = File::open("/sys/kernel/tracing/instances").unwrap();
    flock(&cleaning, FlockOperation::LockExclusive).unwrap();
    signal(&mut alive, Signal::KILL);
    alive.end();
    assert_eq!(instances_of(pid).len(), 1, "there is nothing to clean up");
    pid
}

fn instances_of(pid: u32) -> Vec<String> {
    let all = names(Path::new("/sys/kernel/tracing/instances"));
    all.into_iter().filter(|name| name.starts_with(&format!("drivescope-{pid}-"))).collect()
}

// Breaks when Ctrl-C throws the recording away: without a command and a time it is the only way to end it.
#[test]
fn ctrl_c_ends_a_recording_and_keeps_it() {
    let Some(setup) = Setup::new(8 << 20) else { return };
    let mut alive = recording(&setup);
    let pid = alive.child().id();
    let words = dd(20, &setup.device);
    assert!(Command::new(&words[0]).args(&words[1..]).status().unwrap().success());
    signal(&mut alive, Signal::INT);
    let ran = alive.end().exits(0);
    assert_eq!(ran.body()["ios"].as_u64(), Some(20));
    assert_eq!(read(&setup.file).0.len(), 20);
    assert!(instances_of(pid).is_empty(), "the kernel records on");
}

// Breaks when a recording that was killed leaves a file that looks whole, or a tracer that stays on.
#[test]
fn a_recording_that_was_killed_leaves_no_file_and_the_next_cleans_up() {
    let Some(setup) = Setup::new(8 << 20) else { return };
    let pid = killed(&setup);
    assert!(!setup.file.exists());
    record(&[setup.device.dev(), "-o", setup.file()], &dd(5, &setup.device)).exits(0);
    assert!(instances_of(pid).is_empty(), "the dead one's tracer goes on");
}

// Breaks when a recording that was killed costs every I/O of the machine time until somebody records again.
#[test]
fn whatever_touches_devices_cleans_up_after_a_recording_that_was_killed() {
    let Some(setup) = Setup::new(8 << 20) else { return };
    let quick = ["mark", "null:", "--tests=RND4KQ1T1", "--runs=1", "--duration=5ms"];
    // One device, for others may be recorded meanwhile.
    for line in [
        &["devices", setup.device.dev()][..],
        &quick,
        &["diskspd", "-h"],
        &["trace", "analyze", "no-file"],
    ] {
        let pid = killed(&setup);
        let mut said = String::new();
        // One that meets another which cleans up leaves it to that.
        wait_for("an end of it", || {
            let ran = run(line);
            said += &ran.stderr;
            instances_of(pid).is_empty().then_some(())
        });
        let own = format!("removed drivescope-{pid}-");
        let lines = said.lines().filter(|line| line.contains(&own)).count();
        assert!(lines <= 1, "{line:?}: said more than once: {said}");
    }
}

// Breaks when a directory is refused, or is taken for another device than the one under it.
#[test]
fn a_directory_stands_for_the_device_under_it() {
    if !has_means(&["mkfs.ext4", "mount"]) {
        return;
    }
    let Some(setup) = Setup::new(32 << 20) else { return };
    let device = &setup.device;
    device.mkfs("ext4");
    let mounted = Mounted::new("ext4", device.dev(), "");
    let target = mounted.path().join("file");
    let write = format!("of={}", target.display());
    let words = ["dd", "if=/dev/zero", &write, "bs=1M", "count=2", "conv=fsync", "status=none"];
    let point = mounted.path().to_str().unwrap();
    let args = ["--json", point, device.dev(), "-o", setup.file()];
    let ran = record(&args, &words.map(str::to_owned)).exits(0);
    let ran = ran.says(&["lies on ext4 on", device.dev()]);
    let devices = ran.body()["devices"].as_array().unwrap().clone();
    assert_eq!(devices.len(), 1, "one device was named twice, and is recorded once");
    let (ios, _) = read(&setup.file);
    let written: u64 = ios.iter().filter(|io| io.kind == Kind::Write).map(|io| io.length.0).sum();
    assert!(written >= 2 << 20, "{written} bytes were written");
    let inside = mounted.path().join("b.parquet");
    let own = run(["trace", "record", point, "--duration=50ms", "-o", inside.to_str().unwrap()]);
    own.exits(0).says(&["which is recorded"]);
}

// Breaks when two devices of one recording are mixed up.
#[test]
fn two_devices_are_two_spaces() {
    let Some(setup) = Setup::new(8 << 20) else { return };
    let (one, two) = (&setup.device, Loop::new(8 << 20, true));
    let script = format!("{}; {}", dd(9, &two).join(" "), dd(4, one).join(" "));
    let command = ["sh".to_owned(), "-c".to_owned(), script];
    record(&[one.dev(), two.dev(), "-o", setup.file()], &command).exits(0);
    let (ios, info) = read(&setup.file);
    let count = |name: &str| {
        let named = |io: &&Io| info.spaces[io.space as usize].name == name;
        ios.iter().filter(named).count()
    };
    assert_eq!((count(one.name()), count(two.name()), ios.len()), (4, 9, 13));
}

#[test]
fn what_cannot_be_recorded_is_said_with_the_reason() {
    run(["trace", "record", "/dev/null"]).fails(2, &["/dev/null", "name a block device"]);
    run(["trace", "record", "/no/such/device"]).fails(2, &["/no/such/device"]);
    run(["trace", "record"]).exits(2).says(&["DEVICE"]);
    run(["trace", "record", "/proc/self/status"]).fails(2, &["no one block device is known"]);
}

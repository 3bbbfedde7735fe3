//! Waiting: deadlines, early completions, signals, and drives that are dropped with I/O in flight.
//!
//! A device that takes its time is made of a loop device and the kernel's own throttle (cgroup
//! `blkio`), into which only this test's threads are put.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use block::{Bytes, Drive, Nanos, Op, Request, Target};
use drivescope_linux::drive::{Aio, Engine, Psync, Uring};
use drivescope_linux::target::OpenOptions;

use crate::common::has_its_own_process;
use crate::drive_kit::*;

const BLKIO: &str = "/sys/fs/cgroup/blkio";
const READS: u64 = 6;

/// A cgroup in which a device serves few reads a second; removed when dropped.
struct Throttle(PathBuf);

impl Throttle {
    /// `None`, with the reason printed, where the machine has no such throttle or we may not use it.
    fn new(device: &Path, reads_per_s: u64) -> Option<Throttle> {
        if !Path::new(BLKIO).join("blkio.throttle.read_iops_device").exists()
            && !Path::new(BLKIO).join("tasks").exists()
        {
            skipped("no blkio cgroup (version 1) is mounted");
            return None;
        }
        let thread = rustix::thread::gettid().as_raw_nonzero();
        let group = Throttle(Path::new(BLKIO).join(format!("drives-{thread}")));
        fs::create_dir(&group.0).expect("root makes cgroups");
        let limit = group.0.join("blkio.throttle.read_iops_device");
        if !limit.exists() {
            skipped("this kernel does not throttle block I/O");
            return None;
        }
        let number = fs::metadata(device).unwrap().rdev();
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        fs::write(limit, format!("{major}:{minor} {reads_per_s}")).unwrap();
        fs::write(group.0.join("tasks"), thread.to_string()).unwrap();
        Some(group)
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let thread = rustix::thread::gettid().as_raw_nonzero();
        let _ = fs::write(Path::new(BLKIO).join("tasks"), thread.to_string());
        let _ = fs::remove_dir(&self.0);
    }
}

/// Does `work` on a thread that had no drive before: what the kernel does after a drive was closed would interrupt it.
fn alone(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| scope.spawn(work).join()).unwrap();
}

/// A device of four reads a second, for the calling thread.
fn slow_device(name: &str) -> Option<(LoopDevice, Throttle)> {
    let device = LoopDevice::new(name, Bytes::mib(1))?;
    let throttle = Throttle::new(&device.path, 4)?;
    Some((device, throttle))
}

fn reads() -> Vec<Request> {
    let place = |slot| Request { slot, ..request(Op::Read, u64::from(slot) * 4096, 4096) };
    (0..READS as u16).map(place).collect()
}

// A wait that overstays its deadline delays the next request of an open-loop plan; one that returns
// before anything happened makes the loop spin.
#[test]
fn a_wait_ends_at_its_deadline_and_at_a_completion_before_it() {
    fn check<E: Engine>(path: &Path) {
        let mut target = open::<E>(path, OpenOptions::default());
        let mut drives = target.open(&setup(READS as u16, 4096, None)).unwrap();
        let drive = &mut drives[0];
        drive.attach().unwrap();
        drive.submit(&reads()).unwrap();
        let (mut done, mut empty_waits) = (Vec::new(), 0);
        while done.len() < READS as usize {
            let before = done.len();
            let until = drive.now() + Nanos::millis(40);
            let now = drive.wait_until(until, &mut done).unwrap();
            if done.len() == before {
                assert!(now >= until, "{}: back before time, with nothing", E::KIND);
                empty_waits += 1;
            }
            assert!(now.since(until) < Nanos::secs(1), "{}: late by {}", E::KIND, now.since(until));
        }
        // Six reads at four a second take over a second: about 25 waits of 40 ms.
        assert!(empty_waits >= 5, "{}: {empty_waits} waits reached their deadline", E::KIND);
        let slowest = done.iter().map(|c| c.completed.since(c.issued)).max().unwrap();
        assert!(slowest > Nanos::millis(500), "{}: the throttle's delay is not seen", E::KIND);
        assert!(done.iter().all(|c| c.outcome.0 == 4096));
        // And the other way round: a far deadline does not delay a completion.
        drive.submit(&reads()[..1]).unwrap();
        let (start, mut done) = (drive.now(), Vec::new());
        let now = drive.wait_until(start + Nanos::secs(60), &mut done).unwrap();
        assert!(done.len() == 1 && now.since(start) < Nanos::secs(20));
    }
    fn slowly<E: Engine>(name: &str) {
        alone(|| {
            let Some((device, _throttle)) = slow_device(name) else { return };
            check::<E>(&device.path);
        });
    }
    slowly::<Uring>("deadline");
    slowly::<Aio>("deadline");
}

// psync cannot be interrupted, but it must serve one request a call, so that its caller sees time pass.
#[test]
fn psync_serves_one_request_a_call_even_when_late() {
    let file = Scratch::new("one-a-call", Bytes::mib(1));
    let mut target = open::<Psync>(file.path(), OpenOptions::default());
    let mut drives = target.open(&setup(READS as u16, 4096, None)).unwrap();
    drives[0].attach().unwrap();
    drives[0].submit(&reads()).unwrap();
    let mut done = Vec::new();
    for served in 1..=READS as usize {
        drives[0].wait_until(block::Time::ZERO, &mut done).unwrap();
        assert_eq!(done.len(), served);
    }
    let slots: Vec<_> = done.iter().map(|c| u64::from(c.slot)).collect();
    assert_eq!(slots, (0..READS).collect::<Vec<_>>(), "in order");
}

// With nothing to wait for, a drive sleeps; it must neither spin nor hang.
#[test]
fn an_idle_drive_sleeps_until_the_deadline() {
    fn check<E: Engine>(path: &Path) {
        let mut target = open::<E>(path, OpenOptions::default());
        let mut drives = target.open(&setup(1, 4096, None)).unwrap();
        drives[0].attach().unwrap();
        let cpu = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let (before, start) = (cpu(), drives[0].now());
        let mut done = Vec::new();
        let now = drives[0].wait_until(start + Nanos::millis(100), &mut done).unwrap();
        assert!(done.is_empty() && now.since(start) >= Nanos::millis(100), "{}", E::KIND);
        let spent = (cpu().tv_sec - before.tv_sec) * 1_000_000_000 + cpu().tv_nsec - before.tv_nsec;
        assert!(spent < 50_000_000, "{}: {spent} ns of CPU to sleep 100 ms", E::KIND);
        let now = drives[0].wait_until(start, &mut done).unwrap();
        assert!(now >= start && done.is_empty(), "{}: a deadline in the past", E::KIND);
    }
    let file = Scratch::new("idle", Bytes(4096));
    each_engine!(check, file.path());
}

// A thread that waits sees Ctrl-C only if a signal ends the wait, and that must not look like a failure.
#[test]
fn a_signal_ends_a_wait_without_an_error() {
    fn check<E: Engine>(path: &Path) {
        let mut target = open::<E>(path, OpenOptions::default());
        let mut drives = target.open(&setup(READS as u16, 4096, None)).unwrap();
        let drive = &mut drives[0];
        drive.attach().unwrap();
        drive.submit(&reads()).unwrap();
        let (mut done, mut cut_short) = (Vec::new(), false);
        let waiter = rustix::thread::gettid();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Relaxed) {
                    std::thread::sleep(Duration::from_millis(20));
                    signal(waiter);
                }
            });
            while done.len() < READS as usize {
                let (before, until) = (done.len(), drive.now() + Nanos::secs(30));
                let now = drive.wait_until(until, &mut done).unwrap();
                cut_short |= done.len() == before && now < until;
            }
            stop.store(true, Relaxed);
        });
        assert!(cut_short, "{}: no wait was ended by a signal", E::KIND);
        assert!(done.iter().all(|c| c.outcome.0 == 4096), "{}", E::KIND);
    }
    fn slowly<E: Engine>(name: &str) {
        alone(|| {
            let Some((device, _throttle)) = slow_device(name) else { return };
            check::<E>(&device.path);
        });
    }
    ignore_signals();
    slowly::<Uring>("signal");
    slowly::<Aio>("signal");
}

// The kernel takes a ring apart after it was closed, and for that interrupts the thread that had it as a signal would.
// A wait that ends this way must not be taken for a drive that does not answer; and nothing may be lost by it.
#[test]
fn closed_rings_may_end_a_wait_of_another_drive_and_no_more() {
    const RINGS: u32 = 20;
    let Some((device, _throttle)) = slow_device("closed-rings") else { return };
    let quick = Scratch::new("closed-rings-quick", Bytes::mib(1));
    let mut target = open::<Aio>(&device.path, OpenOptions::default());
    let mut drives = target.open(&setup(READS as u16, 4096, None)).unwrap();
    let drive = &mut drives[0];
    drive.attach().unwrap();
    drive.submit(&reads()).unwrap();
    // Several, since the kernel may be done with one before the wait begins.
    let mut rings = open::<Uring>(quick.path(), OpenOptions::default());
    for _ in 0..RINGS {
        run(&mut rings, 6, &reads(), None, |_, _, _| {});
    }
    let (mut done, mut early) = (Vec::new(), 0);
    while done.len() < READS as usize {
        let (before, until) = (done.len(), drive.now() + Nanos::secs(60));
        let now = drive.wait_until(until, &mut done).unwrap();
        assert!(done.len() > before || now < until, "60 s without a completion");
        early += u32::from(done.len() == before);
    }
    println!("{early} waits ended with nothing");
    assert!(early <= RINGS, "{early} waits ended with nothing");
    assert!(done.iter().all(|c| c.outcome.0 == 4096));
}

/// Gives `SIGUSR1` a handler that does nothing; without one it would end the process.
#[expect(unsafe_code, reason = "installing a signal handler")]
fn ignore_signals() {
    extern "C" fn nothing(_: libc::c_int) {}
    let handler: extern "C" fn(libc::c_int) = nothing;
    // SAFETY: the handler touches nothing, so it may run at any moment.
    let before = unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
    assert_ne!(before, libc::SIG_ERR);
}

/// Sends `SIGUSR1` to one thread of this process.
#[expect(unsafe_code, reason = "a signal to a thread")]
fn signal(thread: rustix::thread::Pid) {
    let (process, thread) = (std::process::id(), thread.as_raw_nonzero().get());
    // SAFETY: tgkill takes three numbers; when the thread has ended it fails, which does no harm.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1) };
}

// Dropping a drive must wait for the kernel: it would write into memory that is no longer ours.
#[test]
fn a_drive_dropped_with_reads_in_flight_waits_for_them() {
    fn check<E: Engine>(path: &Path) {
        let mut target = open::<E>(path, OpenOptions::default());
        let mut drives = target.open(&setup(READS as u16, 4096, None)).unwrap();
        drives[0].attach().unwrap();
        drives[0].submit(&reads()).unwrap();
        let mut done = Vec::new();
        let now = drives[0].now();
        drives[0].wait_until(now, &mut done).unwrap();
        let (start, left) = (Instant::now(), READS - done.len() as u64);
        drop(drives);
        assert!(left >= 3, "{}: the throttle held back only {left}", E::KIND);
        let waited = start.elapsed();
        assert!(waited > Duration::from_millis(300), "{}: dropped after {waited:?}", E::KIND);
        assert!(waited < Duration::from_secs(20), "{}: dropped after {waited:?}", E::KIND);
    }
    let Some((device, _throttle)) = slow_device("dropped") else { return };
    check::<Uring>(&device.path);
    check::<Aio>(&device.path);
}

// A ring cannot be drained by a thread that is not its own; its buffers must then outlive it.
#[test]
fn a_drive_dropped_by_another_thread_does_not_hang_or_fault() {
    fn check<E: Engine>(device: &LoopDevice) {
        let mut target = open::<E>(&device.path, OpenOptions::default());
        let mut drives = target.open(&setup(READS as u16, 4096, None)).unwrap();
        let drive = &mut drives[0];
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let Some(_throttle) = Throttle::new(&device.path, 4) else { return };
                drive.attach().unwrap();
                drive.submit(&reads()).unwrap();
                let now = drive.now();
                drive.wait_until(now, &mut Vec::new()).unwrap();
            });
        });
        let start = Instant::now();
        drop(drives);
        assert!(start.elapsed() < Duration::from_secs(20), "{}", E::KIND);
        // The target is as good as before.
        let counts = run(&mut target, 4, &reads(), None, |_, _, _| {});
        assert_eq!((counts.bytes, counts.errors), (READS * 4096, 0), "{}", E::KIND);
    }
    let Some(device) = LoopDevice::new("foreign-drop", Bytes::mib(1)) else { return };
    each_engine!(check, &device);
}

// Many drives after each other on one thread, as a run of many steps makes them: each must give back
// its descriptors, its context and its memory.
#[test]
fn hundreds_of_steps_leave_nothing_behind() {
    let name = "drives_waiting::hundreds_of_steps_leave_nothing_behind";
    if !has_its_own_process(name) {
        return;
    }
    fn check<E: Engine>(path: &Path) {
        let mut target = open::<E>(path, OpenOptions::default());
        let resident = || -> u64 {
            let status = fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
        let mut first = None;
        for step in 0..300 {
            let counts = run(&mut target, 6, &reads(), None, |_, _, _| {});
            assert_eq!(counts.bytes, READS * 4096, "{} step {step}", E::KIND);
            if step == 50 {
                first = Some((resident(), descriptors()));
            }
        }
        let (resident_before, descriptors_before) = first.unwrap();
        // 250 leaked steps would hold 6 MiB of buffers and 250 rings.
        assert!(resident() < resident_before + 5_000, "{}: memory grows", E::KIND);
        assert!(descriptors() < descriptors_before + 100, "{}: descriptors stay open", E::KIND);
    }
    let file = Scratch::new("steps", Bytes::mib(1));
    each_engine!(check, file.path());
}

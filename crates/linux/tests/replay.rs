//! Replays on real devices: each request once, in order, on time, in bounded memory.
//!
//! In a program of its own: it is timed, and the memory of the whole process is looked at.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use block::{Bytes, Nanos, Op, Target, Waiting};
use drivescope_linux::drive::{Aio, Engine, Psync, Uring};
use drivescope_linux::environment::RealEnvironment;
use drivescope_linux::stack;
use drivescope_linux::sysfs::Roots;
use drivescope_linux::target::{NullTarget, OpenOptions};
use engine::replay::{Ended, Feed, FeedError, Planned, Reason, Replayed, Setup, replay};
use workload::plan::Content;

#[path = "common/drive_kit.rs"]
mod kit;
use kit::*;

#[path = "common/step_kit.rs"]
mod step_kit;
use step_kit::Bare;

const SIZE: Bytes = Bytes::mib(16);

/// Hands out a plan.
struct Plan(std::vec::IntoIter<Planned>);

impl Feed for Plan {
    fn fill(&mut self, most: usize, out: &mut Vec<Planned>) -> Result<(), FeedError> {
        out.extend(self.0.by_ref().take(most));
        Ok(())
    }
}

/// Reads of 4 KiB, one each `gap`, everywhere.
fn timed(count: u64, gap: Nanos) -> Vec<Planned> {
    let read = |i: u64| Planned {
        at: Nanos(i * gap.0),
        room: Planned::ALL_ROOM,
        weight: 1,
        op: Op::Read,
        fua: false,
        offset: Bytes(i * 7919 % (SIZE.0 / 4096) * 4096),
        len: Bytes::kib(4),
    };
    (0..count).map(read).collect()
}

fn run<T: Target>(target: &mut T, plan: &[Planned], setup: &Setup) -> (Ended, Vec<Replayed>) {
    let (never, mut seen) = (AtomicBool::new(false), Vec::new());
    let mut sink = |batch: &[Replayed]| seen.extend_from_slice(batch);
    let mut feed = Plan(Vec::from(plan).into_iter());
    let ended = replay(target, &mut Bare::default(), &mut feed, setup, &never, &mut sink).unwrap();
    seen.sort_by_key(|r| r.seq);
    (ended, seen)
}

/// Checks invariants of a replay that ran to its end.
fn check(ended: &Ended, seen: &[Replayed], plan: &[Planned]) {
    assert_eq!((ended.reason, ended.issued), (Reason::Complete, plan.len() as u64));
    assert!(seen.iter().map(|r| r.seq).eq(0..plan.len() as u64), "each request once");
    for (record, planned) in seen.iter().zip(plan) {
        assert_eq!(record.planned, *planned);
        assert!(planned.at <= record.ready, "{record:?}");
        assert!(record.ready <= record.issued && record.issued <= record.completed, "{record:?}");
        assert_eq!(record.outcome.bytes(), Ok(planned.len), "{record:?}");
    }
    let last = seen.iter().map(|r| r.completed).max().unwrap();
    assert_eq!(ended.elapsed, last);
}

// A request lost or doubled, or issued before its time, is another load than the one that was recorded.
#[test]
fn each_request_is_issued_once_and_never_before_its_time() {
    fn with<E: Engine>(path: &Path) {
        for waiting in [Waiting::Sleep, Waiting::SleepThenSpin, Waiting::Spin] {
            for submitters in [1, 3] {
                let setup = Setup { submitters, waiting, slots: 64, ..Setup::default() };
                let plan = timed(600, Nanos::micros(100));
                let (ended, seen) =
                    run(&mut open::<E>(path, OpenOptions::default()), &plan, &setup);
                check(&ended, &seen, &plan);
                let by = |s: u16| seen.iter().filter(move |r| r.submitter == s);
                for submitter in 0..submitters {
                    assert!(by(submitter).count() > 0, "{} has an idle submitter", E::KIND);
                    let own = by(submitter).map(|r| r.issued);
                    assert!(own.is_sorted(), "each submitter issues in the order of the feed");
                }
            }
        }
    }
    let Some(device) = LoopDevice::new("replay", SIZE) else { return };
    with::<Uring>(&device.path);
    with::<Aio>(&device.path);
    with::<Psync>(&device.path);
}

// Were waiting relative to what was before, each delay would be added to all that follows: after 3,000 requests by some
// microseconds each, none would be within a millisecond of its time again.
#[test]
fn what_was_late_delays_nothing_that_follows() {
    let Some(device) = LoopDevice::new("replay-drift", SIZE) else { return };
    let plan = timed(4_000, Nanos::micros(200));
    let mut soonest = Vec::new();
    // On a busy machine the thread may be without a CPU for most of it.
    let on_time = (0..10).any(|_| {
        let (ended, seen) =
            run(&mut open::<Uring>(&device.path, OpenOptions::default()), &plan, &Setup::default());
        check(&ended, &seen, &plan);
        soonest.extend(seen[3_000..].iter().map(|r| r.issued - r.planned.at).min());
        soonest.last().is_some_and(|&late| late < Nanos::micros(200))
    });
    assert!(on_time, "in the last quarter: {soonest:?}");
}

// Slots that are too few must show, and must not lose anything.
#[test]
fn with_too_few_slots_lag_is_told_and_no_request_is_lost() {
    let Some(device) = LoopDevice::new("replay-lag", SIZE) else { return };
    // A million a second, through two slots.
    let plan = timed(3_000, Nanos::micros(1));
    let setup = Setup { slots: 2, ..Setup::default() };
    let (ended, seen) =
        run(&mut open::<Uring>(&device.path, OpenOptions::default()), &plan, &setup);
    check(&ended, &seen, &plan);
    let lacked = seen.iter().filter(|r| r.no_slot).count();
    assert!(lacked > 2_000, "only {lacked} lacked a slot");
    let last = seen.last().unwrap();
    assert!(last.no_slot && last.ready > last.planned.at + Nanos::millis(1), "{last:?}");
}

// Room is what all submitters have in common: were it counted by each of them, the load would be theirs times as high.
#[test]
fn room_is_kept_by_all_submitters_together_and_in_order() {
    let Some(device) = LoopDevice::new("replay-room", SIZE) else { return };
    for submitters in [1, 3] {
        let mut plan = timed(2_000, Nanos::ZERO);
        plan.iter_mut().enumerate().for_each(|(i, p)| {
            p.weight = 1 + i as u64 % 3;
            p.room = 2 + i as u64 % 5;
        });
        let setup = Setup { submitters, slots: 16, ..Setup::default() };
        let (ended, seen) =
            run(&mut open::<Uring>(&device.path, OpenOptions::default()), &plan, &setup);
        check(&ended, &seen, &plan);
        assert!(seen.is_sorted_by_key(|r| r.ready), "in the order of the feed");
        for (index, record) in seen.iter().enumerate() {
            // Those whose completion was seen just as this one was issued may be counted either way.
            let out = seen[..index].iter().filter(|r| r.completed > record.issued);
            let weight: u64 = out.map(|r| r.planned.weight).sum();
            assert!(weight <= record.planned.room, "{weight} out before {record:?}");
        }
    }
}

// Traces have requests of all sizes, and slots for thousands of them must not take the memory of a thousand of the
// largest; nor may a write's content be that of another.
#[test]
fn requests_of_all_sizes_share_a_small_memory() {
    let Some(device) = LoopDevice::new("replay-sizes", SIZE) else { return };
    fn with<E: Engine>(path: &Path) {
        let mut plan = timed(600, Nanos::micros(20));
        let (mut offset, mut large) = (0, 0);
        for (i, request) in plan.iter_mut().enumerate() {
            let len = [4096, 512, 262_144, 65_536, 20_480][i % 5];
            request.len = Bytes(len);
            request.offset = Bytes(offset % (SIZE.0 - (1 << 20)));
            request.op = if i % 3 == 0 { Op::Write } else { Op::Read };
            offset += len;
            large += u64::from(len == 262_144);
        }
        let setup = Setup {
            slots: 1024,
            block_bytes_max: Bytes::kib(256),
            buffer_bytes_max: Bytes::mib(1),
            content: Some(Content::default()),
            ..Setup::default()
        };
        let resident = || -> u64 {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        let before = resident();
        let (ended, seen) = run(&mut open::<E>(path, writable()), &plan, &setup);
        check(&ended, &seen, &plan);
        assert!(large > 100);
        // 256 MiB would it be if each slot had its own; other tests of this file take some, too.
        let grown = (resident() - before) / 1024;
        assert!(grown < 100, "{}: {grown} MiB more", E::KIND);
    }
    with::<Uring>(&device.path);
    with::<Aio>(&device.path);
    with::<Psync>(&device.path);
}

#[test]
fn failures_are_told_and_counted_up_to_what_may_be() {
    let Some(device) = LoopDevice::new("replay-errors", SIZE) else { return };
    let mut plan = timed(500, Nanos::micros(100));
    // Beyond the end.
    plan[100].offset = Bytes(SIZE.0 + 4096);
    plan[200].offset = Bytes(SIZE.0 + 8192);
    for (errors_max, reason) in [(2, Reason::Complete), (1, Reason::Errors)] {
        let setup = Setup { errors_max, ..Setup::default() };
        let (ended, seen) =
            run(&mut open::<Uring>(&device.path, OpenOptions::default()), &plan, &setup);
        assert_eq!((ended.reason, ended.errors), (reason, 2));
        assert_eq!(ended.failure.unwrap().offset, plan[100].offset);
        assert_eq!(seen.len() as u64, ended.issued);
        assert_eq!(seen.len() == 500, reason == Reason::Complete);
        let failed = seen.iter().filter(|r| r.outcome.bytes() != Ok(Bytes::kib(4)));
        assert!(failed.map(|r| r.seq).eq([100, 200]));
    }
}

#[test]
fn a_replay_can_be_cancelled() {
    let Some(device) = LoopDevice::new("replay-cancel", SIZE) else { return };
    for submitters in [1, 2] {
        // It would take an hour.
        let plan = timed(360_000, Nanos::millis(10));
        let (cancel, mut seen) = (AtomicBool::new(false), 0);
        let mut sink = |batch: &[Replayed]| {
            seen += batch.len() as u64;
            cancel.store(true, Ordering::Relaxed);
        };
        let mut target = open::<Uring>(&device.path, OpenOptions::default());
        let (setup, mut feed) = (Setup { submitters, ..Setup::default() }, Plan(plan.into_iter()));
        let ended =
            replay(&mut target, &mut Bare::default(), &mut feed, &setup, &cancel, &mut sink);
        let ended = ended.unwrap();
        assert_eq!((ended.reason, ended.issued), (Reason::Cancelled, seen));
        assert!(seen > 0 && ended.elapsed < Nanos::secs(30), "{}", ended.elapsed);
    }
}

/// Takes its time.
struct Slow(Plan);

impl Feed for Slow {
    fn fill(&mut self, _: usize, out: &mut Vec<Planned>) -> Result<(), FeedError> {
        std::thread::sleep(std::time::Duration::from_millis(5));
        self.0.fill(100, out)
    }
}

// A replayer that cannot read its trace fast enough must not pass for a slow drive.
#[test]
fn a_feed_that_is_too_slow_is_told_from_a_drive_that_is() {
    let plan = timed(100_000, Nanos(500));
    let (never, setup) = (AtomicBool::new(false), Setup { slots: 8, ..Setup::default() });
    let starved = |feed: &mut dyn Feed| {
        let mut target = NullTarget::default();
        let mut seen = 0;
        let mut sink = |batch: &[Replayed]| seen += batch.len();
        let ended =
            replay(&mut target, &mut Bare::default(), feed, &setup, &never, &mut sink).unwrap();
        assert_eq!((seen, ended.reason), (100_000, Reason::Complete));
        ended.starved
    };
    // Two thirds of the plan are read ahead before the replay begins.
    let slow = starved(&mut Slow(Plan(plan.clone().into_iter())));
    assert!(slow > Nanos::millis(500), "{slow}");
    let fast = starved(&mut Plan(plan.into_iter()));
    assert!(fast < slow, "{fast} and {slow}");
}

// A wait for a CPU must be reported, or the drive would be blamed.
#[test]
fn the_wait_for_a_cpu_is_counted_around_a_replay() {
    let Some(device) = LoopDevice::new("replay-cpu", SIZE) else { return };
    let roots = Roots::default();
    let stack = stack::resolve(&roots, &device.path).unwrap();
    let mut environment = RealEnvironment::new(roots, stack, None);
    let plan = timed(300, Nanos::micros(500));
    let mut feed = Plan(plan.into_iter());
    let mut target = open::<Uring>(&device.path, OpenOptions::default());
    let never = AtomicBool::new(false);
    // Four busy submitters for each CPU.
    let submitters = 4 * std::thread::available_parallelism().map_or(1, usize::from) as u16;
    let setup = Setup { submitters, slots: 8, waiting: Waiting::Spin, ..Setup::default() };
    let mut sink = |_: &[Replayed]| {};
    let ended = replay(&mut target, &mut environment, &mut feed, &setup, &never, &mut sink);
    let ended = ended.unwrap();
    let Some((before, after)) = ended.before.run_delay_ns.zip(ended.after.run_delay_ns) else {
        skipped("this kernel does not count the time that threads wait for a CPU");
        return;
    };
    // Three quarters of the plan's 150 ms they could not all have had a CPU.
    let waited = after - before;
    assert!(waited > Nanos::millis(150), "{waited} of {submitters} submitters");
    assert!(ended.after.devices[0].reads > ended.before.devices[0].reads);
}

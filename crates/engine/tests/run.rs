//! The loop on a drive whose answers are known.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

mod metronome;

use std::sync::atomic::{AtomicBool, Ordering};

use block::{Bytes, Errno, Event, Nanos, NullSink, Op, Outcome, RunSink};
use engine::{Control, FailureKind, Samples, run_step, run_step_apart};
use metronome::{Metronome, Nowhere};
use proptest::collection::vec;
use proptest::prelude::*;
use workload::plan::{
    Address, Arrival, Content, Cursors, Gaps, OpShare, Phase, Region, Share, Step, Stop,
};

use drivescope_engine as engine;

fn phase(name: &str, measured: bool, depth: u16, stop: Stop) -> Phase {
    Phase {
        name: name.to_owned(),
        measured,
        block: Bytes::kib(4),
        address: Address::Sequential { share: Share::Partition },
        stop,
        arrival: Arrival::ClosedLoop { depth },
        ops: vec![OpShare { op: Op::Read, fua: false, percent: 100 }],
        region: None,
        blocks: Vec::new(),
    }
}

fn after(span: Nanos) -> Stop {
    Stop { after: Some(span), ..Stop::default() }
}

fn ios(count: u64) -> Stop {
    Stop { ios: Some(count), ..Stop::default() }
}

fn step(submitters: u16, phases: Vec<Phase>) -> Step {
    Step { name: "step".to_owned(), submitters, order: None, engine: None, phases }
}

fn run_with(
    drive: &mut Metronome,
    step: &Step,
    control: Control<'_>,
    sink: &mut dyn RunSink,
) -> Samples {
    let region = Region { offset: Bytes::ZERO, length: Bytes::mib(64) };
    let seeded = (region, Content::default(), 7);
    run_step(drive, &mut Nowhere::default(), step, seeded, control, sink).unwrap()
}

fn run(drive: &mut Metronome, step: &Step) -> Samples {
    let never = AtomicBool::new(false);
    let control = Control { cancel: &never, trace_cap: 100_000 };
    run_with(drive, step, control, &mut NullSink)
}

#[test]
fn a_window_counts_what_completed_inside_it() {
    // 4 servers of 100 µs serve 40 000 I/Os a second, whatever the depth beyond 4.
    let mut drive = Metronome::new(4, Nanos::micros(100));
    let warm_up = phase("warm-up", false, 8, after(Nanos::millis(10)));
    let measure = phase("measure", true, 8, after(Nanos::millis(100)));
    let samples = run(&mut drive, &step(2, vec![warm_up, measure]));
    let [warm_up, measured] = samples.phases.as_slice() else { panic!("two phases") };
    assert_eq!((warm_up.began, warm_up.window), (Nanos(0), Nanos::millis(10)));
    assert_eq!((measured.began, measured.window), (Nanos::millis(10), Nanos::millis(100)));
    // A window holds its first instant and not its last: what completes at 10 ms is measured.
    assert_eq!(warm_up.ios(), 4 * 99);
    assert_eq!(measured.ios(), 4000, "no gap and no double count at the seam");
    assert_eq!(measured.bytes(), Bytes(4000 * 4096));
    assert_eq!(measured.series.ios.iter().sum::<u64>(), 4000);
    // 16 outstanding on 4 servers: each waits for three others, 400 µs in all.
    assert!((measured.achieved_depth() - 16.0).abs() < 0.1, "{}", measured.achieved_depth());
    assert_eq!(measured.latency().percentile(50.0), Some(400_000));
    // The 16 that were out at the end are drained, and counted among the totals.
    assert_eq!(samples.totals.ios, 4 * 1099 + 16);
    assert_eq!(samples.totals.ios, drive.taken.len() as u64, "every request was answered");
    assert!(warm_up.latency().is_empty(), "latencies of a warm-up are not kept");
}

// Breaks when a phase that is put off ends within a slice of its series: the I/Os after the last whole slice are in the
// run's figures and in no row of its series.
#[test]
fn a_phase_that_is_put_off_is_whole_slices_long() {
    let mut drive = Metronome::new(1, Nanos::millis(2));
    let stop = Stop { at_least_ios: Some(64), ..after(Nanos::millis(100)) };
    let samples = run(&mut drive, &step(1, vec![phase("measure", true, 1, stop)]));
    let measured = &samples.phases[0];
    assert!(measured.ios() >= 64 && measured.window > Nanos::millis(100), "{measured:?}");
    assert_eq!(measured.window.0 % measured.series.slice.0, 0);
    assert_eq!(measured.series.ios.iter().sum::<u64>(), measured.ios());
}

// Breaks when the I/Os that are out as a window ends are left out of its depth: of a drive that needs longer for an I/O
// than the window lasts, they are all there is.
#[test]
fn depth_counts_what_completes_later() {
    for latency in [3, 30, 300] {
        let mut drive = Metronome::new(4, Nanos::millis(latency));
        let phases = vec![
            phase("warm-up", false, 4, after(Nanos::millis(10))),
            phase("measure", true, 4, after(Nanos::millis(50))),
        ];
        let samples = run(&mut drive, &step(1, phases));
        for seen in &samples.phases {
            assert!((seen.achieved_depth() - 4.0).abs() < 1e-9, "{latency} ms: {seen:?}");
        }
    }
}

#[test]
fn phases_follow_each_other_without_a_gap() {
    let mut drive = Metronome::new(1, Nanos::micros(100));
    let phases = vec![
        phase("a", true, 1, ios(10)),
        phase("b", true, 1, after(Nanos::millis(1))),
        phase("c", true, 1, ios(5)),
    ];
    let samples = run(&mut drive, &step(1, phases));
    let edges: Vec<_> = samples.phases.iter().map(|p| (p.began, p.window, p.ios())).collect();
    let ms = Nanos::millis(1);
    assert_eq!(edges[0], (Nanos(0), ms, 10));
    // The one that completes with the window's last instant belongs to what follows.
    assert_eq!(edges[1], (ms, ms, 9));
    assert_eq!(edges[2].0, ms + ms);
    // A gap would show as a request issued later than its predecessor completed.
    for pair in samples.trace.windows(2) {
        assert_eq!(pair[1].issued, pair[0].completed);
    }
}

#[test]
fn a_sequential_cursor_goes_on_from_phase_to_phase() {
    let mut drive = Metronome::new(1, Nanos::micros(10));
    let phases = vec![phase("warm-up", false, 3, ios(100)), phase("measure", true, 3, ios(200))];
    run(&mut drive, &step(1, phases));
    let offsets: Vec<u64> = drive.taken.iter().map(|r| r.offset.0).collect();
    for pair in offsets.windows(2) {
        assert_eq!(pair[1], (pair[0] + 4096) % (64 << 20), "a block was skipped or repeated");
    }
}

// Breaks when the emulation of a tester's defect loses it, or gets another: each slot goes on from what completed there,
// over the seam between phases too.
#[test]
fn cursors_by_slot_read_each_block_as_often_as_the_queue_is_deep() {
    let mut drive = Metronome::new(4, Nanos::micros(100));
    let by_slot = |name, measured, stop| Phase {
        address: Address::Strided {
            stride: Bytes::kib(4),
            apart: Bytes::ZERO,
            cursors: Cursors::Slot,
        },
        ..phase(name, measured, 4, stop)
    };
    let phases = vec![by_slot("warm-up", false, ios(40)), by_slot("measure", true, ios(400))];
    let samples = run(&mut drive, &step(1, phases));
    let mut visits = vec![0; 200];
    samples.trace.iter().for_each(|s| visits[(s.offset.0 / 4096) as usize] += 1);
    let touched = visits.iter().filter(|n| **n > 0).count();
    assert_eq!(samples.trace.len(), 440);
    assert_eq!(touched, 113, "440 reads by four cursors that began side by side");
    assert!(visits[3..110].iter().all(|n| *n == 4), "{visits:?}");
    assert_eq!(samples.audit.blocks_touched, 113);
}

// Breaks when the I/O of one submitter is reported for another, or does not add up to that of all.
#[test]
fn submitters_apart_add_up_to_all_of_them() {
    let mut drive = Metronome::new(4, Nanos::micros(100));
    let never = AtomicBool::new(false);
    let control = Control { cancel: &never, trace_cap: 100_000 };
    let step = step(3, vec![phase("measure", true, 2, after(Nanos::millis(20)))]);
    let region = Region { offset: Bytes::ZERO, length: Bytes::mib(64) };
    let seeded = (region, Content::default(), 7);
    let around = &mut Nowhere::default();
    let ran = run_step_apart(&mut drive, around, &step, seeded, control, &mut NullSink);
    let (samples, apart) = ran.unwrap();
    assert_eq!(apart.len(), 3);
    let window = samples.phases[0].window;
    for (id, phases) in apart.iter().enumerate() {
        let inside = |s: &&engine::Sample| usize::from(s.submitter) == id && s.completed < window;
        let seen = samples.trace.iter().filter(inside).count() as u64;
        assert_eq!(phases[0].ios(), seen, "submitter {id}");
    }
    let sum: u64 = apart.iter().map(|phases| phases[0].ios()).sum();
    assert_eq!(sum, samples.phases[0].ios());
    let mut merged = apart[0][0].latency();
    apart[1..].iter().for_each(|phases| merged.merge(&phases[0].latency()));
    assert_eq!(merged, samples.phases[0].latency());
}

#[test]
fn fewer_ios_than_submitters_end_all_the_same() {
    let mut drive = Metronome::new(4, Nanos::micros(10));
    let phases = vec![phase("few", true, 2, ios(3)), phase("more", true, 2, ios(8))];
    let samples = run(&mut drive, &step(4, phases));
    assert_eq!(samples.totals.ios, 11);
}

#[test]
fn timed_latency_counts_from_the_intended_time() {
    // One server of 1 ms is offered an I/O every 0.5 ms: each waits half a millisecond longer.
    let mut drive = Metronome::new(1, Nanos::millis(1));
    let mut timed = phase("timed", true, 1, ios(20));
    timed.arrival = Arrival::Timed { depth: 1, per_s: 2000.0, gaps: Gaps::Constant };
    let samples = run(&mut drive, &step(1, vec![timed]));
    let measured = &samples.phases[0];
    assert_eq!(measured.latency().max(), Some(1_000_000 + 19 * 500_000));
    assert_eq!(measured.lag().max, Nanos(0), "the wait for a slot is the drive's doing");
    let issued: Vec<_> = samples.trace.iter().map(|s| s.issued).collect();
    assert_eq!(issued[..3], [Nanos(0), Nanos::millis(1), Nanos::millis(2)]);
}

#[test]
fn timed_requests_wait_for_their_time() {
    let mut drive = Metronome::new(4, Nanos::micros(10));
    let mut timed = phase("timed", true, 4, ios(10));
    timed.arrival = Arrival::Timed { depth: 4, per_s: 1000.0, gaps: Gaps::Constant };
    let samples = run(&mut drive, &step(1, vec![timed]));
    let issued: Vec<_> = samples.trace.iter().map(|s| s.issued).collect();
    let meant: Vec<_> = (0..10).map(Nanos::millis).collect();
    assert_eq!(issued, meant);
    assert_eq!(samples.phases[0].lag().max, Nanos(0));
}

#[test]
fn a_failed_io_ends_the_run_and_is_told() {
    for (outcome, kind) in [
        (Outcome(-5), FailureKind::Error(Errno::IO)),
        (Outcome(1024), FailureKind::Short(Bytes(1024))),
    ] {
        let mut drive = Metronome::new(2, Nanos::micros(10));
        drive.fails = Some((100, outcome));
        let samples = run(&mut drive, &step(2, vec![phase("p", true, 4, after(Nanos::secs(1)))]));
        let failure = samples.failure.expect("the failure is kept");
        assert_eq!((failure.kind, failure.offset), (kind, drive.taken[100].offset));
        assert!(drive.taken.len() < 120, "nothing more is issued after a failure");
        assert_eq!(samples.totals.ios + 1, drive.taken.len() as u64, "what was out is drained");
    }
}

#[test]
fn cancelling_keeps_what_was_seen() {
    struct Cancels<'a>(&'a AtomicBool, u32);
    impl RunSink for Cancels<'_> {
        fn event(&mut self, event: &Event) {
            if matches!(event, Event::Interval { .. }) {
                self.1 += 1;
                self.0.store(true, Ordering::Relaxed);
            }
        }
    }
    let cancel = AtomicBool::new(false);
    let mut drive = Metronome::new(1, Nanos::millis(1));
    let mut sink = Cancels(&cancel, 0);
    let control = Control { cancel: &cancel, trace_cap: 0 };
    let endless = step(1, vec![phase("p", true, 1, after(Nanos::secs(360_000)))]);
    let samples = run_with(&mut drive, &endless, control, &mut sink);
    assert!(samples.interrupted && samples.totals.ios > 0 && sink.1 > 0);
    assert_eq!(samples.totals.ios, samples.phases[0].ios());
}

#[test]
fn intervals_add_up_to_everything() {
    #[derive(Default)]
    struct Sums(u64, Bytes, Nanos);
    impl RunSink for Sums {
        fn event(&mut self, event: &Event) {
            if let Event::Interval { ios, bytes, length, .. } = event {
                self.0 += ios;
                self.1 += *bytes;
                self.2 += *length;
            }
        }
    }
    let never = AtomicBool::new(false);
    let mut drive = Metronome::new(3, Nanos::micros(700));
    let mut sums = Sums::default();
    let control = Control { cancel: &never, trace_cap: 10 };
    let load = step(3, vec![phase("p", true, 2, after(Nanos::secs(1)))]);
    let samples = run_with(&mut drive, &load, control, &mut sums);
    assert_eq!((sums.0, sums.1), (samples.totals.ios, samples.totals.read));
    assert_eq!(sums.2, samples.elapsed);
    assert_eq!(samples.trace.len() as u64 + samples.trace_dropped, samples.totals.ios);
}

#[test]
fn a_shared_cursor_is_walked_by_all_in_turns() {
    let mut drive = Metronome::new(4, Nanos::micros(10));
    let mut load = phase("p", true, 1, ios(64));
    load.address = Address::Sequential { share: Share::Cursor };
    run(&mut drive, &step(4, vec![load]));
    let offsets: Vec<u64> = drive.taken.iter().map(|r| r.offset.0).collect();
    for pair in offsets.windows(2) {
        assert_eq!(pair[1], (pair[0] + 4096) % (64 << 20), "the device sees one stream");
    }
}

#[test]
fn small_ios_that_overtake_large_ones_do_not_use_up_their_phase() {
    // The reads are answered while the last writes are still out; counted towards the writes' bytes,
    // they would end that phase early and leave their own without an end.
    let mut drive = Metronome::new(8, Nanos::micros(10));
    let mut fill = phase("fill", true, 4, Stop { bytes: Some(Bytes::mib(2)), ..Stop::default() });
    fill.block = Bytes::kib(64);
    let mut read = phase("read", true, 8, ios(500));
    read.address = Address::Random;
    for submitters in [1, 2, 3] {
        let samples = run(&mut drive, &step(submitters, vec![fill.clone(), read.clone()]));
        assert_eq!(samples.totals.ios, 32 + u64::from(32 % submitters != 0) + 500);
        assert_eq!(samples.phases.len(), 2);
        assert_eq!(samples.phases.iter().map(|p| p.ios()).sum::<u64>(), samples.totals.ios);
    }
}

proptest! {
    /// If it failed, a plan that passes its checks could keep the engine busy for ever.
    #[test]
    fn every_plan_ends(
        phases in vec((0..4u8, 1..40u64, 1..9u16, 0..3u8, any::<bool>()), 1..5),
        submitters in 1..5u16,
        servers in 1..6usize,
    ) {
        let phases = phases.into_iter().enumerate().map(|(index, (kind, size, depth, limit, random))| {
            let stop = match limit {
                0 => after(Nanos::micros(size * 37)),
                1 => ios(size),
                _ => Stop { bytes: Some(Bytes::kib(size * 7)), ..Stop::default() },
            };
            let mut phase = phase(&index.to_string(), index % 2 == 0, depth, stop);
            phase.block = Bytes::kib(4 << (size % 4));
            if random {
                phase.address = Address::Random;
            }
            if kind == 1 {
                phase.arrival = Arrival::Timed { depth, per_s: 20_000.0, gaps: Gaps::Exponential };
            }
            if kind == 2 && limit != 2 {
                phase.ops = vec![OpShare { op: Op::Flush, fua: false, percent: 100 }];
            }
            phase
        });
        let step = step(submitters, phases.collect());
        let mut drive = Metronome::new(servers, Nanos::micros(50));
        let samples = run(&mut drive, &step);
        prop_assert_eq!(samples.totals.ios, drive.taken.len() as u64);
        prop_assert_eq!(samples.phases.len(), step.phases.len());
    }
}

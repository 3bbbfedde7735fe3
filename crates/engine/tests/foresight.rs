//! Writes that are announced to a drive before they come.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

mod metronome;

use std::sync::atomic::AtomicBool;

use block::{Bytes, Nanos, NullSink, Op, Request};
use drivescope_engine::{Control, run_step};
use metronome::{Metronome, Nowhere};
use workload::plan::{Address, Arrival, Content, OpShare, Phase, Region, Share, Step, Stop};

fn ops(writes: u8) -> Vec<OpShare> {
    let share = |op, percent| OpShare { op, fua: false, percent };
    [share(Op::Write, writes), share(Op::Read, 100 - writes)]
        .into_iter()
        .filter(|share| share.percent > 0)
        .collect()
}

fn phase(depth: u16, writes: u8, share: Share, stop: Stop) -> Phase {
    Phase {
        name: "phase".to_owned(),
        measured: true,
        block: Bytes::kib(4),
        address: Address::Sequential { share },
        stop,
        arrival: Arrival::ClosedLoop { depth },
        ops: ops(writes),
        region: None,
        blocks: Vec::new(),
    }
}

fn ios(count: u64) -> Stop {
    Stop { ios: Some(count), ..Stop::default() }
}

/// A drive after it has served `phases`.
fn served(submitters: u16, phases: Vec<Phase>) -> Metronome {
    // One at a time: of those that are handed over together only the first can be foreseen.
    let mut drive = Metronome::new(1, Nanos::micros(100));
    let step = Step { name: "step".to_owned(), submitters, order: None, engine: None, phases };
    let region = Region { offset: Bytes::ZERO, length: Bytes::mib(64) };
    let seeded = (region, Content::default(), 7);
    let cancel = AtomicBool::new(false);
    let control = Control { cancel: &cancel, trace_cap: 0 };
    let samples =
        run_step(&mut drive, &mut Nowhere::default(), &step, seeded, control, &mut NullSink);
    assert_eq!(samples.unwrap().failure, None);
    drive
}

/// All that a foreseen write says of the one that comes.
fn content(request: &Request) -> (Op, bool, u16, Bytes, Bytes) {
    (request.op, request.fua, request.submitter, request.offset, request.len)
}

/// The first write after `taken` requests.
fn next_write(drive: &Metronome, taken: usize) -> Option<Request> {
    drive.taken[taken..].iter().find(|r| r.op == Op::Write).copied()
}

// A hint that is wrong has content made in vain, and one that is missing has the drive wait for content:
// either shows as a drive that writes slower than it can.
#[test]
fn each_write_is_foreseen_before_it_comes_and_no_other() {
    for (depth, writes) in [(1, 100), (1, 50), (4, 100), (3, 30)] {
        // More than the accesses that are generated ahead at a time.
        let drive = served(1, vec![phase(depth, writes, Share::Partition, ios(300))]);
        for (taken, hint) in &drive.foreseen {
            let next = next_write(&drive, *taken);
            assert_eq!(Some(content(hint)), next.as_ref().map(content), "after {taken}");
        }
        // Each but those that are handed over at once in the beginning, and those that lie behind more reads
        // than are generated ahead.
        let told = |at: &usize| {
            drive
                .foreseen
                .iter()
                .any(|(taken, hint)| taken <= at && content(hint) == content(&drive.taken[*at]))
        };
        let writes_at = (0..300).filter(|&at| drive.taken[at].op == Op::Write);
        let untold: Vec<usize> = writes_at.filter(|at| !told(at)).collect();
        assert!(untold.iter().all(|&at| at < usize::from(depth)), "Q{depth}: {untold:?}");
    }
}

// Content made for a write beyond the end is wasted, and delays the write that comes instead.
#[test]
fn none_is_foreseen_past_the_end_of_its_phase() {
    let bytes = Stop { bytes: Some(Bytes::kib(4 * 5)), ..Stop::default() };
    for count in 1..=8 {
        for stop in [ios(count), bytes] {
            let first = phase(1, 40, Share::Partition, stop);
            let drive = served(1, vec![first, phase(1, 0, Share::Partition, ios(20))]);
            for (taken, hint) in &drive.foreseen {
                let next = next_write(&drive, *taken);
                assert_eq!(Some(content(hint)), next.as_ref().map(content), "after {taken}");
            }
        }
    }
}

// Blocks of a shared cursor are claimed when they are issued: foreseen, one would be claimed by a submitter
// that then issues it late.
#[test]
fn none_is_foreseen_on_a_shared_cursor() {
    let drive = served(1, vec![phase(2, 100, Share::Cursor, ios(200))]);
    assert_eq!(drive.foreseen, []);
}

// With several on one drive, the one that completes an I/O first issues the next write.
#[test]
fn none_is_foreseen_for_several_submitters_on_one_drive() {
    let drive = served(3, vec![phase(2, 100, Share::Partition, ios(200))]);
    assert_eq!(drive.foreseen, []);
}

// If reads were announced to a drive, it would make content for them.
#[test]
fn none_is_foreseen_where_nothing_is_written() {
    let drive = served(1, vec![phase(2, 0, Share::Partition, ios(200))]);
    assert_eq!(drive.foreseen, []);
}

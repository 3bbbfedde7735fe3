//! Replays on a drive whose answers are known, against a simulation that is as plain as can be.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

mod metronome;

use std::sync::atomic::{AtomicBool, Ordering};

use block::{Bytes, Errno, Nanos, Op, Outcome};
use drivescope_engine::replay::{Ended, Feed, FeedError, Planned, Reason, Replayed, Setup, replay};
use drivescope_engine::{EngineError, FailureKind};
use metronome::{Metronome, Nowhere};
use proptest::collection::vec;
use proptest::prelude::*;

/// Hands out `plan` in portions, and then `end`.
struct Plan {
    plan: Vec<Planned>,
    given: usize,
    portion: usize,
    fails: bool,
}

impl Feed for Plan {
    fn fill(&mut self, most: usize, out: &mut Vec<Planned>) -> Result<(), FeedError> {
        let to = self.plan.len().min(self.given + self.portion.min(most));
        out.extend_from_slice(&self.plan[self.given..to]);
        if to == self.given && self.fails {
            return Err("line 7 is torn".into());
        }
        self.given = to;
        Ok(())
    }
}

fn feed(plan: &[Planned]) -> Plan {
    Plan { plan: plan.to_vec(), given: 0, portion: 100, fails: false }
}

fn read(at: u64, room: u64, weight: u64) -> Planned {
    let (offset, len) = (Bytes::ZERO, Bytes::kib(4));
    Planned { at: Nanos(at), room, weight, op: Op::Read, fua: false, offset, len }
}

fn timed(at: u64) -> Planned {
    read(at, Planned::ALL_ROOM, 1)
}

fn run(drive: &mut Metronome, plan: &[Planned], setup: &Setup) -> (Ended, Vec<Replayed>) {
    let (never, mut seen) = (AtomicBool::new(false), Vec::new());
    let mut sink = |batch: &[Replayed]| seen.extend_from_slice(batch);
    let ended =
        replay(drive, &mut Nowhere::default(), &mut feed(plan), setup, &never, &mut sink).unwrap();
    (ended, seen)
}

/// Expected result of a plan: when each request is issued, whether it was late for want of a slot, and when
/// it completes.
fn expected(plan: &[Planned], servers: usize, service: u64, slots: usize) -> Vec<(u64, bool, u64)> {
    let mut busy = vec![0; servers];
    let mut out: Vec<(u64, u64)> = Vec::new();
    let mut answers: Vec<(u64, bool, u64)> = Vec::new();
    let (mut now, mut cleared) = (0, 0);
    for request in plan {
        cleared = cleared.max(request.at.0);
        // The first instants at which it fits the room, and the slots: what is out only grows less.
        let mut instants: Vec<u64> = out.iter().map(|o| o.0).chain([cleared]).collect();
        instants.sort_unstable();
        let out_at = |t: u64| out.iter().filter(move |o| o.0 > t);
        let roomy =
            |&&t: &&u64| t >= cleared && out_at(t).map(|o| o.1).sum::<u64>() <= request.room;
        cleared = *instants.iter().find(roomy).unwrap();
        let slotted = instants.iter().find(|&&t| out_at(t).count() < slots).unwrap();
        now = now.max(cleared).max(*slotted);
        let server = busy.iter_mut().min().unwrap();
        *server = (*server).max(now) + service;
        out.push((*server, request.weight));
        answers.push((now, *slotted > cleared, *server));
    }
    answers
}

fn seen_as(records: &[Replayed]) -> Vec<(u64, bool, u64)> {
    let mut records = records.to_vec();
    records.sort_by_key(|r| r.seq);
    records.iter().map(|r| (r.issued.0, r.no_slot, r.completed.0)).collect()
}

/// Plans of every kind: with times, with room, with both, and with neither.
fn plans() -> impl Strategy<Value = Vec<Planned>> {
    let request = (0u64..300, prop_oneof![Just(Planned::ALL_ROOM), 0u64..12], 1u64..5);
    (vec(request, 1..200), any::<bool>(), any::<bool>()).prop_map(|(steps, times, rooms)| {
        let mut at = 0;
        let plan = steps.into_iter().map(|(gap, room, weight)| {
            at += if times { gap } else { 0 };
            read(at, if rooms { room } else { Planned::ALL_ROOM }, weight)
        });
        plan.collect()
    })
}

proptest! {
    // A replay must do exactly as its plan says, in every mode that a plan can have: otherwise a comparison of two
    // drives would be one of two replays.
    #[test]
    fn a_replay_is_what_its_plan_says(
        plan in plans(),
        servers in 1usize..5,
        service in 1u64..2_000,
        (submitters, slots) in (1u16..4, 1u16..9),
    ) {
        let mut drive = Metronome::new(servers, Nanos(service));
        let setup = Setup { submitters, slots, ..Setup::default() };
        let (ended, seen) = run(&mut drive, &plan, &setup);
        let total = usize::from(submitters) * usize::from(slots);
        let expected = expected(&plan, servers, service, total);
        prop_assert_eq!(seen_as(&seen), expected.as_slice());
        prop_assert_eq!(ended.elapsed.0, expected.iter().map(|e| e.2).max().unwrap());
        prop_assert_eq!((ended.reason, ended.issued), (Reason::Complete, plan.len() as u64));
        prop_assert_eq!((ended.starved, ended.unheard), (Nanos::ZERO, Nanos::ZERO));
        for record in &seen {
            prop_assert_eq!(record.ready, record.issued, "the replayer itself takes no virtual time");
            prop_assert_eq!(record.planned, plan[record.seq as usize]);
        }
        prop_assert!(seen.is_sorted_by_key(|r| r.completed), "told in the order of completion");
    }
}

#[test]
fn a_timed_replay_with_free_slots_is_exact() {
    let plan: Vec<_> = (0..5_000u64).map(|i| timed(i * i % 977 + i * 977)).collect();
    let mut drive = Metronome::new(1, Nanos(900));
    let (ended, seen) = run(&mut drive, &plan, &Setup::default());
    assert_eq!(seen.len(), 5_000);
    assert!(seen.iter().all(|r| r.issued == r.planned.at && !r.no_slot));
    assert_eq!(ended.start.0, 1_000, "on a virtual drive the first instant is now");
}

#[test]
fn a_drive_that_is_too_slow_makes_lag_and_no_request_is_lost() {
    // One a microsecond, of which the drive does half, with 8 slots.
    let plan: Vec<_> = (0..4_000).map(|i| timed(i * 1_000)).collect();
    let mut drive = Metronome::new(1, Nanos(2_000));
    let (ended, seen) = run(&mut drive, &plan, &Setup { slots: 8, ..Setup::default() });
    assert_eq!((ended.issued, ended.errors, seen.len()), (4_000, 0, 4_000));
    let last = seen.iter().max_by_key(|r| r.seq).unwrap();
    assert!(last.no_slot);
    // The schedule is not stretched: lateness is measured from the time in the plan.
    assert_eq!(last.planned.at, Nanos(3_999_000));
    assert_eq!(last.completed, Nanos(8_000_000));
    assert_eq!(last.issued, Nanos(8_000_000 - 8 * 2_000));
}

#[test]
fn submitters_share_the_requests_in_turn() {
    let plan: Vec<_> = (0..300).map(timed).collect();
    let mut drive = Metronome::new(300, Nanos(5));
    let (_, seen) = run(&mut drive, &plan, &Setup { submitters: 3, ..Setup::default() });
    for record in seen {
        assert_eq!(u64::from(record.submitter), record.seq % 3);
    }
}

#[test]
fn more_failures_than_may_be_end_a_replay_and_fewer_do_not() {
    let plan: Vec<_> = (0..100).map(|i| timed(i * 1_000)).collect();
    for (errors_max, reason, issued) in [(0, Reason::Errors, 41), (1, Reason::Complete, 100)] {
        let mut drive = Metronome::new(1, Nanos(500));
        // Request 40 reads as all others do; only its offset distinguishes it.
        let mut plan = plan.clone();
        plan[40].offset = Bytes::kib(64);
        drive.fails = Some((40, Outcome(-5)));
        let (ended, seen) = run(&mut drive, &plan, &Setup { errors_max, ..Setup::default() });
        assert_eq!((ended.reason, ended.errors, ended.issued), (reason, 1, issued));
        assert_eq!(seen.len() as u64, issued, "what was issued is told");
        let failed = seen.iter().find(|r| r.seq == 40).unwrap();
        assert_eq!(failed.outcome, Outcome(-5));
        let failure = ended.failure.unwrap();
        assert_eq!(failure.offset, Bytes::kib(64));
        assert_eq!(failure.kind, FailureKind::Error(Errno::IO));
    }
    let mut drive = Metronome::new(1, Nanos(500));
    drive.fails = Some((0, Outcome(512)));
    let (ended, _) = run(&mut drive, &plan[..1], &Setup { errors_max: 9, ..Setup::default() });
    assert_eq!(ended.failure.unwrap().kind, FailureKind::Short(Bytes(512)));
}

#[test]
fn a_replay_that_is_cancelled_waits_for_what_is_outstanding() {
    let plan: Vec<_> = (0..1_000_000).map(|i| timed(i * 1_000)).collect();
    let (cancel, mut seen) = (AtomicBool::new(false), 0);
    let mut sink = |batch: &[Replayed]| {
        seen += batch.len() as u64;
        cancel.store(true, Ordering::Relaxed);
    };
    let mut drive = Metronome::new(4, Nanos(3_500));
    let (mut around, mut feed) = (Nowhere::default(), feed(&plan));
    let ended =
        replay(&mut drive, &mut around, &mut feed, &Setup::default(), &cancel, &mut sink).unwrap();
    assert_eq!(ended.reason, Reason::Cancelled);
    assert!(ended.issued < 1_000_000 && ended.issued == seen, "{} of {seen}", ended.issued);
}

#[test]
fn a_feed_that_fails_ends_the_replay_when_the_rest_is_done() {
    let plan: Vec<_> = (0..250).map(|i| timed(i * 1_000)).collect();
    let mut drive = Metronome::new(1, Nanos(100));
    let (never, mut seen) = (AtomicBool::new(false), 0);
    let mut sink = |batch: &[Replayed]| seen += batch.len();
    let (mut around, mut feed) = (Nowhere::default(), Plan { fails: true, ..feed(&plan) });
    let error = replay(&mut drive, &mut around, &mut feed, &Setup::default(), &never, &mut sink)
        .unwrap_err();
    assert!(matches!(&error, EngineError::Feed(_)));
    assert!(error.to_string().contains("line 7 is torn"), "{error}");
    assert_eq!(seen, 250);
}

#[test]
fn an_empty_feed_is_a_replay_of_nothing() {
    let (ended, seen) = run(&mut Metronome::new(1, Nanos(100)), &[], &Setup::default());
    assert_eq!((ended.reason, ended.issued, ended.elapsed), (Reason::Complete, 0, Nanos::ZERO));
    assert!(seen.is_empty());
}

// A write that is not foreseen is made when it is due, and late by that.
#[test]
fn the_next_write_is_foreseen() {
    let write = |at| Planned { op: Op::Write, ..timed(at) };
    let plan = [timed(0), write(1_000), write(2_000), timed(3_000), write(4_000)];
    let mut drive = Metronome::new(1, Nanos(100));
    let setup = Setup { content: Some(workload::plan::Content::default()), ..Setup::default() };
    run(&mut drive, &plan, &setup);
    let mut foreseen: Vec<usize> = drive.foreseen.iter().map(|(taken, _)| *taken).collect();
    foreseen.dedup();
    assert_eq!(foreseen, [1, 2, 4]);
}

//! Replays made by hand, of which everything is known: lateness, drift, order, errors.

use block::{Bytes, DriveInfo, DriveKind, Errno, Nanos, Outcome, Snapshot, Time};
use drivescope_trace::replay::{Body, Count, Judge, Limit, Mode, Options, Plan, Survey};
use drivescope_trace::{InMemory, Io, Kind, Source, Stamp, TraceInfo};
use engine::replay::{Ended, Planned, Reason, Replayed};
use workload::rng::Rng;

const COUNT: u64 = 20_000;
const GAP: u64 = 1_000_000;
const Q2C: u64 = 300_000;

fn drive() -> DriveInfo {
    DriveInfo {
        name: "by hand".to_owned(),
        kind: DriveKind::Virtual,
        model: None,
        serial: None,
        capacity_bytes: Bytes::gib(8),
        logical_block_bytes: Bytes(512),
        physical_block_bytes: Bytes(4096),
        rotational: None,
        write_cache: None,
        cache_bytes: None,
        link_bytes_per_s: None,
    }
}

fn ended(issued: u64) -> Ended {
    Ended {
        reason: Reason::Complete,
        start: Time::ZERO,
        elapsed: Nanos::ZERO,
        issued,
        errors: 0,
        failure: None,
        starved: Nanos::ZERO,
        unheard: Nanos::ZERO,
        before: Snapshot::default(),
        after: Snapshot::default(),
    }
}

/// One request each millisecond, of which `change` makes what it wants, judged in the order that `order` gives them.
fn judged(
    mode: Mode,
    mut change: impl FnMut(&mut Replayed),
    order: impl FnOnce(&mut Vec<Replayed>),
) -> Body {
    let ios: Vec<Io> = (0..COUNT)
        .map(|i| {
            let mut io = Io::arriving(Nanos(i * GAP), Kind::Read, Bytes(i << 12), Bytes(4096));
            io.completed = Stamp::at(Nanos(i * GAP + Q2C));
            io
        })
        .collect();
    let source = InMemory::new(TraceInfo::default(), ios);
    let survey = Survey::of(&mut source.clone(), Nanos::ZERO, None).unwrap();
    let plan = Plan::new(survey, &drive(), Options { mode, ..Options::default() }, false).unwrap();
    let open = move || Ok(Box::new(source.clone()) as Box<dyn Source>);
    let mut stream = plan.stream(Box::new(open), None).unwrap();
    let mut planned: Vec<Planned> = Vec::new();
    while {
        let before = planned.len();
        stream.next(1000, &mut planned).unwrap();
        planned.len() > before
    } {}
    let (counts, original) = stream.finish();
    let mut all: Vec<Replayed> = (0..)
        .zip(&planned)
        .map(|(seq, planned)| {
            let at = Nanos(seq * GAP);
            let completed = Nanos(at.0 + Q2C);
            let outcome = Outcome(4096);
            let planned = *planned;
            Replayed {
                seq,
                submitter: 0,
                planned,
                ready: at,
                no_slot: false,
                issued: at,
                completed,
                outcome,
            }
        })
        .collect();
    all.iter_mut().for_each(&mut change);
    order(&mut all);
    let mut judge = Judge::new(&plan, None);
    all.chunks(64).for_each(|batch| judge.see(batch));
    judge.finish(counts, &original, &ended(COUNT))
}

fn late(one: &mut Replayed, by: u64) {
    one.issued.0 += by;
    one.completed.0 += by;
}

#[test]
fn who_is_late_with_time_room_and_slot_is_the_limit() {
    // Lateness at or below the tolerance, or of fewer than one in a hundred, changes no 99th percentile.
    let of = |every: u64, by: u64| {
        judged(Mode::Timed, |one| late(one, if one.seq % every == 0 { by } else { 0 }), |_| {})
    };
    for (every, by, verdict) in [
        (20, 5_000_000, Limit::ReplayerLimited),
        (90, 310_000, Limit::ReplayerLimited),
        (110, 5_000_000, Limit::Faithful),
        (2, 280_000, Limit::Faithful),
    ] {
        let body = of(every, by);
        assert_eq!(body.fidelity.verdict, verdict, "{every} {by}: {}", body.fidelity.reason);
        let lates = if by > Q2C { COUNT.div_ceil(every) } else { 0 };
        assert_eq!(body.fidelity.late, lates, "{every} {by}");
    }
}

#[test]
fn a_drift_is_told_by_its_slope() {
    let mut rng = Rng::for_path(1, &[]);
    let body = judged(
        Mode::Timed,
        |one| late(one, one.planned.at.0 / 20_000 + (rng.exponential() * 2e4) as u64),
        |_| {},
    );
    let drift = body.fidelity.drift.unwrap();
    assert!(drift.low.unwrap() > 45.0 && drift.high.unwrap() < 55.0, "{drift:?}");
    assert!((body.fidelity.drift_ppm.unwrap() - 50.0).abs() < 2.0);
}

#[test]
fn waiting_for_slots_is_the_drives() {
    let body = judged(
        Mode::Timed,
        |one| {
            if one.seq % 10 == 0 {
                one.no_slot = true;
                one.ready.0 += 2_000_000;
                late(one, 2_000_000);
            }
        },
        |_| {},
    );
    assert_eq!(body.fidelity.verdict, Limit::DriveLimited, "{}", body.fidelity.reason);
    assert_eq!((body.fidelity.no_slot, body.fidelity.own_error_ns.max), (COUNT / 10, 0));
}

#[test]
fn the_order_in_which_things_are_told_changes_nothing() {
    // Several submitters report in batches; a judge that took requests as they come would see them reordered.
    let change = |one: &mut Replayed| late(one, one.seq * 7919 % 90_000);
    let straight = judged(Mode::Timed, change, |_| {});
    let shuffled = judged(Mode::Timed, change, |all| {
        let mut rng = Rng::for_path(4, &[]);
        all.chunks_mut(500).for_each(|chunk| rng.shuffle(chunk));
    });
    assert_eq!(straight, shuffled);
    assert_eq!(straight.fidelity.reordered, 0);
    let swapped =
        |one: &mut Replayed| late(one, if one.seq.is_multiple_of(100) { GAP + 5000 } else { 0 });
    assert_eq!(judged(Mode::Timed, swapped, |_| {}).fidelity.reordered, COUNT / 100);
}

#[test]
fn a_depth_that_is_not_held_is_told() {
    let mode = Mode::Outstanding(Count::Ios);
    let held = judged(mode, |_| {}, |_| {});
    assert_eq!(held.fidelity.verdict, Limit::Faithful);
    // Each could have gone 60 µs before it went: 6% of the time.
    let slack = judged(mode, |one| late(one, 60_000), |_| {});
    assert_eq!(slack.fidelity.verdict, Limit::ReplayerLimited, "{}", slack.fidelity.reason);
    let share = slack.fidelity.depth_held.unwrap().late_share;
    assert!((share - 0.06).abs() < 1e-3, "{share}");
}

#[test]
fn errors_are_counted_by_their_kind() {
    let body = judged(
        Mode::Timed,
        |one| match one.seq % 1000 {
            0 => one.outcome = Outcome(-Errno::IO.0),
            1 => one.outcome = Outcome(512),
            _ => {}
        },
        |_| {},
    );
    assert_eq!(body.errors_by_kind.get(&Errno::IO.to_string()), Some(&(COUNT / 1000)));
    assert_eq!(body.errors_by_kind.get("short"), Some(&(COUNT / 1000)));
    assert!(body.run.caveats.iter().any(|caveat| caveat.code == "failed_ios"));
    assert_eq!(body.planned.reads, COUNT);
}

#[test]
fn a_body_is_read_back_as_it_was_written() {
    // Records are loaded from JSON; a name that two parts of the body share would lose one of them.
    let body = judged(Mode::Timed, |_| {}, |_| {});
    let text = serde_json::to_string(&body).unwrap();
    let again: Body = serde_json::from_str(&text).unwrap();
    assert_eq!(again, body);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    for name in
        ["requests", "reads", "bytes_read", "completion_s", "q2c_sum_s", "phases", "queue_depth"]
    {
        assert!(!value[name].is_null(), "{name}");
    }
    assert_eq!(value["fidelity"]["verdict"], "faithful");
    for name in ["p50", "p99", "p999", "max"] {
        assert!(value["fidelity"]["issue_error_ns"][name].is_number(), "{name}");
    }
}

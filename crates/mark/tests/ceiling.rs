//! The tester's own limit, on a drive whose speed is known.
#![allow(clippy::unwrap_used, reason = "these are tests")]

#[path = "../../engine/tests/metronome/mod.rs"]
mod metronome;

use std::sync::atomic::AtomicBool;

use block::Nanos;
use drivescope_mark::{
    Around, Ceiling, Direction, Earlier, Engines, NoKeeper, Options, ceiling, execute, look_again,
};
use engine::{Control, IoPath};
use metronome::{Metronome, Nowhere};
use workload::plan::{Plan, Stop};

fn plan(test: &str) -> Plan {
    Options {
        tests: vec![test.parse().unwrap()],
        directions: vec![Direction::Write],
        duration: Nanos::secs(1),
        warm_up: Nanos::millis(5),
        pause: Nanos::ZERO,
        runs: 1,
        seed: 11,
        ..Options::default()
    }
    .plan()
}

fn measured(plan: &Plan, drive: &mut Metronome, cancel: bool) -> Option<Ceiling> {
    let cancel = AtomicBool::new(cancel);
    let control = Control { cancel: &cancel, trace_cap: 0 };
    let null: (&mut dyn IoPath, bool) = (drive, true);
    ceiling(&plan.steps[0], plan, null, &mut Nowhere::default(), control).unwrap()
}

// Counted by slices of 10 ms, I/Os of milliseconds give a limit that is rounding, and those of more none at
// all: every drive would be refuted, or driven at more than the tester can do.
#[test]
fn it_is_the_speed_of_what_it_is_measured_on_however_long_an_io_takes() {
    let micros = [10, 150, 700, 3_000, 40_000, 200_000, 2_000_000];
    for (test, servers) in [("SEQ1MQ1T1", 1), ("SEQ1MQ8T1", 1), ("RND4KQ8T2", 3)] {
        let plan = plan(test);
        for service in micros.map(Nanos::micros) {
            let mut drive = Metronome::new(servers, service);
            let found = measured(&plan, &mut drive, false).unwrap();
            let wanted = servers as f64 * 1e9 / service.0 as f64;
            let off = found.iops / wanted - 1.0;
            // At an edge one I/O in 64, and in a short run the last ones do not keep all servers busy.
            let last = if servers > 1 { -0.2 } else { -0.001 };
            assert!((last..0.03).contains(&off), "{test}, {service}: {} for {wanted}", found.iops);
            assert!(found.through_kernel);
        }
    }
}

// A minute before the first run of a mark of large blocks would be noticed.
#[test]
fn it_takes_no_longer_than_it_must() {
    let plan = plan("SEQ1MQ1T1");
    for (service, most) in
        [(Nanos::micros(10), 61), (Nanos::millis(3), 360), (Nanos::millis(40), 440)]
    {
        let mut drive = Metronome::new(1, service);
        let began = block::Target::now(&drive);
        measured(&plan, &mut drive, false);
        let took = block::Target::now(&drive).since(began);
        assert!(took <= Nanos::millis(most), "{took} for I/Os of {service}");
    }
}

// Zero would be a limit that every drive exceeds.
#[test]
fn there_is_none_where_nothing_completed_or_nothing_is_measured() {
    let mut plan = plan("RND4KQ1T1");
    assert_eq!(measured(&plan, &mut Metronome::new(1, Nanos::micros(10)), true), None);
    plan.steps[0].phases.iter_mut().for_each(|phase| phase.measured = false);
    assert_eq!(measured(&plan, &mut Metronome::new(1, Nanos::micros(10)), false), None);
}

// Phases are weighed alike, whatever they stop by in the plan.
#[test]
fn of_several_phases_it_is_the_mean() {
    let mut plan = plan("RND4KQ1T1");
    let phase = plan.steps[0].phases.iter().find(|p| p.measured).unwrap().clone();
    let stop = Stop { ios: Some(3), ..Stop::default() };
    let deeper = workload::plan::Arrival::ClosedLoop { depth: 4 };
    plan.steps[0].phases.push(workload::plan::Phase { stop, arrival: deeper, ..phase });
    let found = measured(&plan, &mut Metronome::new(4, Nanos::micros(100)), false).unwrap();
    assert!((found.iops / 25_000.0 - 1.0).abs() < 0.02, "{}", found.iops);
}

// A limit that was measured while the machine did something else refutes every drive that is faster than that moment; and
// where the drive is far from it, each mark would take longer for nothing.
#[test]
fn a_limit_that_the_drive_comes_near_to_is_measured_twice_and_the_better_counts() {
    let plan = plan("RND4KQ1T1");
    let again = |first_iops: f64, second_iops: f64| {
        let cancel = AtomicBool::new(false);
        let control = Control { cancel: &cancel, trace_cap: 0 };
        let first = [Some(Ceiling { iops: first_iops, through_kernel: true })];
        let around = Around {
            engines: Engines::default(),
            ceilings: &first,
            earlier: Earlier::default(),
            control,
            keeper: &mut NoKeeper,
            needs_more: drivescope_mark::needs_more,
        };
        let mut drive = Metronome::new(1, Nanos::micros(100));
        let mut done = execute(&plan, &mut drive, &mut Nowhere::default(), around).unwrap();
        let mut looks = 0;
        let look = |_: &_| {
            looks += 1;
            Ok::<_, ()>(Some(Ceiling { iops: second_iops, through_kernel: true }))
        };
        look_again(&plan, &mut done, look).unwrap();
        (looks, done.tests[0].ceiling.unwrap().iops)
    };
    // The drive does 10,000 a second.
    assert_eq!(again(11_000.0, 90_000.0), (1, 90_000.0));
    assert_eq!(again(11_000.0, 9_000.0), (1, 11_000.0));
    assert_eq!(again(90_000.0, 500_000.0), (0, 90_000.0));
}

//! The end of the data decides: later evidence withdraws an acceptance, and too little of it is inconclusive.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at what is missing")]

mod common;

use common::Draw;
use drivescope_stats::steady::{Detector, Judgement, Prior, Span, Start, State, Verdict};

const RANGE: u64 = 1 << 34;

/// Judgements after each hundredth of a drive write, of a drive filled in order with 10% over-provisioning, whose rate is a function
/// of the drive writes since its free space was used up.
fn play(seed: u64, noise: f64, fills: f64, rate: impl Fn(f64) -> f64) -> Vec<Judgement> {
    let prior = Prior { over_provisioning: Some(0.1), ..Prior::new(RANGE, Start::SequentialFill) };
    let mut detector = Detector::new(prior).unwrap();
    let mut draw = Draw::new(seed);
    let mut judged: Vec<Judgement> = (0..((fills + 0.1) * 100.0) as usize)
        .map(|at| {
            let t = (at as f64 + 0.5) / 100.0 - 0.1;
            let value = if t < 0.0 { 3e5 } else { 1e5 * rate(t) * (1.0 + noise * draw.normal()) };
            let bytes_written = RANGE / 100;
            detector.push(&Span {
                bytes_written,
                duration_ns: (bytes_written as f64 / 4096.0 / value * 1e9) as u64,
                value,
                amplification: None,
                disturbed: false,
                idle_ns: 0,
            });
            detector.judgement().clone()
        })
        .collect();
    detector.conclude();
    judged.push(detector.judgement().clone());
    judged
}

/// The last judgement.
fn end(seed: u64, noise: f64, fills: f64, rate: impl Fn(f64) -> f64) -> Judgement {
    play(seed, noise, fills, rate).pop().unwrap()
}

// The worst that this program can say: steady, where the file itself shows that it is not.
#[test]
fn later_evidence_withdraws_an_acceptance() {
    let step = |t: f64| if t < 8.0 { 1.0 } else { 0.94 };
    let drift = |t: f64| 1.0 - 0.03 * (t - 5.0).max(0.0);
    let cap = |t: f64| if t < 9.0 { 1.0 } else { 0.5 };
    for (rate, fills, state) in [
        (&step as &dyn Fn(f64) -> f64, 8.7, State::Stepped),
        (&drift, 10.0, State::Drifting),
        (&cap, 10.0, State::Throttled),
    ] {
        for seed in 0..10 {
            let judged = play(seed, 0.01, fills, rate);
            assert_eq!(judged[480].state, State::Steady, "{:?}", judged[480]);
            let last = judged.last().unwrap();
            assert_eq!((last.state, last.verdict), (state, Verdict::NotYet), "{seed}: {last:?}");
            assert!(last.reason.contains("withdrawn"), "{}", last.reason);
        }
    }
}

// A wave that stops is a change as well, whatever the drive does after it.
#[test]
fn a_wave_that_stops_is_not_steady() {
    for since in [1.0, 2.5, 4.0] {
        let fills = 9.0 + since;
        let rate = |t: f64| {
            if t < 9.0 { 1.0 + 0.2 * (t * std::f64::consts::TAU).sin() } else { 0.6 }
        };
        let judged = play(3, 0.01, fills, rate);
        assert_eq!(judged[880].state, State::Periodic, "{:?}", judged[880]);
        assert_ne!(judged.last().unwrap().verdict, Verdict::Yes, "{since}");
    }
}

// The state of the end has the end's value, and the plateau before is history.
#[test]
fn a_new_level_is_accepted_when_it_has_lasted() {
    for seed in 0..10 {
        let last = end(seed, 0.02, 11.0, |t| if t < 5.0 { 1.0 } else { 0.9 });
        assert_eq!(last.state, State::Steady, "{last:?}");
        let (value, earlier) = (last.value.unwrap(), last.earlier.unwrap());
        assert!((value.low..=value.high).contains(&9e4) || (value.mean / 9e4 - 1.0).abs() < 0.01);
        assert!((earlier.mean / 1e5 - 1.0).abs() < 0.01, "{earlier:?}");
        assert!(last.reason.contains("before, until 5."), "{}", last.reason);
    }
}

// Drives that are at rest and were written too little are not called unsteady.
#[test]
fn too_little_is_inconclusive_and_says_what_is_missing() {
    let mut refuted = 0;
    for seed in 0..100 {
        let fills = 0.3 + 0.02 * seed as f64;
        let last = end(seed, 0.15, fills, |_| 1.0);
        refuted += u32::from(last.state.is_against());
        if last.verdict != Verdict::Yes && !last.state.is_against() {
            let missing = last.missing.expect(&last.reason);
            assert!(missing.contains("drive write") || missing.contains("values"), "{missing}");
        }
    }
    assert!(refuted <= 5, "{refuted} of 100");
}

#[test]
fn gradual_changes_over_a_few_drive_writes_are_refused() {
    for tau in [2.0, 4.0, 8.0, 12.0] {
        for seed in 0..5 {
            let rate = move |t: f64| 1.0 + 0.4 * (-t / tau).exp();
            let judged = play(seed, 0.03, tau, rate);
            assert!(judged.iter().all(|judged| judged.verdict != Verdict::Yes), "{tau} {seed}");
        }
    }
}

#[test]
fn bounds_hold_the_level_of_the_last_drive_write() {
    let (mut held, mut all) = (0, 0);
    for seed in 0..100 {
        let last = end(seed, 0.05, 4.0, |_| 1.0);
        let Some(level) = last.end else { continue };
        all += 1;
        held += u32::from((level.low..=level.high).contains(&1e5));
        assert!(level.high / level.low < 1.06, "{level:?}");
    }
    assert!(all >= 95 && held >= 93, "{held} of {all}");
}

// Two levels, back and forth, at no interval that comes round.
#[test]
fn a_telegraph_has_its_own_word() {
    let turns = [1.1, 1.9, 4.3, 5.2, 6.0, 8.4];
    let rate = |t: f64| if turns.iter().filter(|at| **at < t).count() % 2 == 0 { 1.0 } else { 0.7 };
    let last = end(1, 0.01, 9.5, rate);
    assert_eq!(last.state, State::Telegraph, "{last:?}");
    let [low, high] = last.range.unwrap();
    assert!((low / 7e4 - 1.0).abs() < 0.05 && (high / 1e5 - 1.0).abs() < 0.05);
}

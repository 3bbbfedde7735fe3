//! The detector of steady state on drives that are made up of theory: what it must never take for steady, and what it
//! must. Drives that are simulated in all their parts are scored by `scripts/validate steady`.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at what is missing")]

mod common;

use common::Draw;
use drivescope_stats::steady::theory::{amplification_fifo, unwritten_share};
use drivescope_stats::steady::{Detector, Judgement, Prior, Span, Start, State, Verdict};

const RANGE: u64 = 1 << 34;
const PLATEAU: f64 = 100_000.0;

/// A drive that is written uniformly at random.
#[derive(Clone, Copy)]
struct Drive {
    op: f64,
    start: Start,
    /// Standard deviation of a hundredth of a fill.
    noise: f64,
    tells: bool,
    /// Rate that the link does not exceed, of the plateau.
    link: f64,
}

const QUIET: Drive = Drive { op: 0.28, start: Start::Purged, noise: 0.01, tells: false, link: 1.0 };

impl Drive {
    fn amplification(&self, fills: f64) -> f64 {
        let (free, written) = match self.start {
            Start::SequentialFill => (self.op, 1.0),
            _ => (1.0 + self.op, 1.0 - unwritten_share(fills)),
        };
        if fills < free {
            return 1.0;
        }
        // Dies do not fall off in the same instant.
        let onset = ((fills - free) / 0.05).min(1.0);
        let amplification = amplification_fifo((1.0 + self.op) / written - 1.0).unwrap();
        1.0 + onset * (amplification - 1.0)
    }

    fn steady_rate(&self) -> f64 {
        PLATEAU * (1.0 / amplification_fifo(self.op).unwrap()).min(self.link)
    }

    /// Writes up to `fills` in spans of `span_fills`, until the verdict is in; says the judgement and the fills.
    fn judge(&self, prior: Prior, span_fills: f64, fills: f64, seed: u64) -> (Judgement, f64) {
        let mut draw = Draw::new(seed);
        let mut detector = Detector::new(prior).unwrap();
        let mut at = 0.0;
        while at < fills && detector.judgement().verdict == Verdict::NotYet {
            let middle = at + span_fills / 2.0;
            let waf = self.amplification(middle);
            let noise = self.noise * (0.01 / span_fills).sqrt() * draw.normal();
            let value = PLATEAU * (1.0 / waf).min(self.link) * (1.0 + noise.clamp(-0.5, 0.5));
            detector.push(&span(span_fills, value, self.tells.then_some(waf)));
            at += span_fills;
        }
        (detector.judgement().clone(), at)
    }
}

fn span(fills: f64, value: f64, amplification: Option<f64>) -> Span {
    let bytes_written = (fills * RANGE as f64) as u64;
    Span {
        bytes_written,
        duration_ns: (bytes_written as f64 / 4096.0 / value * 1e9) as u64,
        value,
        amplification,
        disturbed: false,
        idle_ns: 0,
    }
}

fn prior(start: Start) -> Prior {
    Prior::new(RANGE, start)
}

/// Pushes a rate that is a function of fills, in hundredths of one; the judgement after each.
fn play(prior: Prior, fills: f64, rate: impl Fn(f64) -> f64) -> Vec<Judgement> {
    let mut detector = Detector::new(prior).unwrap();
    let count = (fills * 100.0) as usize;
    (0..count)
        .map(|at| {
            detector.push(&span(0.01, rate((at as f64 + 0.5) / 100.0), None));
            detector.judgement().clone()
        })
        .collect()
}

// The trap of every rule that counts time: a drive is never flatter than while it has free space.
#[test]
fn a_fresh_plateau_is_never_accepted() {
    for op in [0.07, 0.28, 0.40, 0.90] {
        for span_fills in [0.001, 0.02, 0.1, 0.5] {
            for (start, tells) in [
                (Start::Purged, false),
                (Start::Purged, true),
                (Start::Unknown, false),
                (Start::SequentialFill, false),
            ] {
                let drive = Drive { op, start, tells, ..QUIET };
                let free = if start == Start::SequentialFill { op } else { 1.0 + op };
                let (judged, _) = drive.judge(prior(start), span_fills, free, 1);
                assert_eq!(judged.verdict, Verdict::NotYet, "{op} {span_fills}: {judged:?}");
                assert_ne!(judged.state, State::Steady);
            }
        }
    }
}

#[test]
fn accepted_values_are_those_of_the_long_run() {
    for op in [0.07, 0.12, 0.28, 0.40] {
        for start in [Start::Purged, Start::SequentialFill] {
            for tells in [false, true] {
                for span_fills in [0.002, 0.03, 0.25] {
                    let drive = Drive { op, start, tells, ..QUIET };
                    let (judged, at) = drive.judge(prior(start), span_fills, 30.0, 2);
                    let what = format!("{op} {start:?} {tells} {span_fills} {at}: {judged:?}");
                    assert_eq!(judged.state, State::Steady, "{what}");
                    let value = judged.value.unwrap();
                    assert!((value.mean / drive.steady_rate() - 1.0).abs() < 0.05, "{what}");
                    let inside = value.low..=value.high;
                    assert!(inside.contains(&drive.steady_rate()), "{what}");
                }
            }
        }
    }
}

// A rise that lasts ten fills must not be taken at the third: neighbours meet the margins long before the end does.
#[test]
fn a_slow_rise_of_amplification_is_waited_for() {
    let drive = Drive { op: 0.07, ..QUIET };
    let (judged, at) = drive.judge(prior(Start::Purged), 0.01, 30.0, 3);
    assert_eq!(judged.state, State::Steady);
    // After 5.4 fills half fills are within 5% of the end, and still fall. A gradual change asks for three quarters of its length
    // at rest, and for a slope that moves nothing over six fills.
    assert!((5.4..10.6).contains(&at), "{at}");
}

// A medium without a cliff must not be made to write for ever.
#[test]
fn drives_without_a_cliff_are_believed_soon() {
    let flat = |prior: Prior, tells: Option<f64>| {
        let mut draw = Draw::new(5);
        let mut detector = Detector::new(prior).unwrap();
        let mut at = 0;
        while detector.judgement().verdict == Verdict::NotYet && at < 2_000 {
            detector.push(&span(0.01, PLATEAU * (1.0 + 0.01 * draw.normal()), tells));
            at += 1;
        }
        assert_eq!(detector.judgement().state, State::Steady);
        f64::from(at) / 100.0
    };
    let in_place = Prior { in_place: true, ..prior(Start::Unknown) };
    assert!(flat(in_place, None) <= 1.1);
    assert!(flat(prior(Start::SequentialFill), None) <= 1.4);
    // The drive reports that it moves nothing, after more writes than any log could take.
    assert!(flat(prior(Start::Purged), Some(1.0)) <= 2.4);
    let told = Prior { over_provisioning: Some(0.28), ..prior(Start::Purged) };
    assert!(flat(told, Some(1.0)) <= 1.8);
}

// A slow link shows the host a flat rate while the drive inside is still on its way.
#[test]
fn a_drive_behind_a_slow_link_is_judged_by_its_own_counters() {
    let drive = Drive { op: 0.07, link: 0.16, tells: true, ..QUIET };
    let (judged, at) = drive.judge(prior(Start::Purged), 0.01, 30.0, 6);
    assert_eq!(judged.state, State::Steady);
    let value = judged.value.unwrap();
    assert!((value.mean / drive.steady_rate() - 1.0).abs() < 0.05, "{at}: {judged:?}");
}

#[test]
fn what_comes_round_is_periodic() {
    let tooth = |t: f64| PLATEAU * (0.3 + 0.4 * t.fract());
    let judged = play(prior(Start::SequentialFill), 16.0, tooth).pop().unwrap();
    assert_eq!((judged.state, judged.verdict), (State::Periodic, Verdict::Yes), "{judged:?}");
    let period = judged.period_bytes.unwrap() as f64 / RANGE as f64;
    assert!((period - 1.0).abs() < 0.06, "{period}");
    // Bytes over time: the harmonic mean over bytes.
    let true_mean = PLATEAU * 0.4 / (0.7_f64 / 0.3).ln();
    let value = judged.value.unwrap();
    assert!((value.mean / true_mean - 1.0).abs() < 0.02, "{value:?} {true_mean}");
}

#[test]
fn what_falls_without_end_is_never_steady() {
    let judged = play(prior(Start::Purged), 17.0, |t| PLATEAU * (-0.1 * t).exp());
    assert!(judged.iter().all(|judged| judged.verdict != Verdict::Yes));
    let last = judged.last().unwrap();
    assert_eq!((last.state, last.verdict), (State::NeverSteady, Verdict::No), "{last:?}");
    assert_eq!(last.value, None);
}

// The load on which fio's rule was seen to be fooled: 4,000 IOPS that fall in a line to nothing within 2,000 seconds.
// Whatever share of the writes a drive holds, and wherever the window of a rule begins, none of it is steady.
#[test]
fn a_fall_in_a_line_to_nothing_is_never_steady() {
    let iops = |second: u64| 4_000.0 * (1.0 - second as f64 / 2_000.0);
    for from in [0, 200, 1_000] {
        let bytes = |second: u64| (iops(second) * 4096.0) as u64;
        let all: u64 = (from..2_000).map(bytes).sum();
        for parts in [1, 2, 4, 8] {
            for start in [Start::Purged, Start::SequentialFill, Start::Unknown] {
                let mut detector = Detector::new(Prior::new(all / parts, start)).unwrap();
                for second in from..2_000 {
                    detector.push(&Span {
                        bytes_written: bytes(second),
                        duration_ns: 1_000_000_000,
                        value: iops(second),
                        amplification: None,
                        disturbed: false,
                        idle_ns: 0,
                    });
                    let verdict = detector.judgement().verdict;
                    assert_ne!(verdict, Verdict::Yes, "{from} 1/{parts} {start:?} {second}");
                }
            }
        }
    }
}

// Heat holds a drive at half its rate, flat: that is the heat's steady state, not the drive's.
#[test]
fn a_drive_that_is_held_up_is_not_judged() {
    let mut detector = Detector::new(prior(Start::SequentialFill)).unwrap();
    for _ in 0..300 {
        detector.push(&Span { disturbed: true, ..span(0.01, PLATEAU / 2.0, None) });
        assert_eq!(detector.judgement().state, State::Throttled);
    }
    let mut fills = 0.0;
    while detector.judgement().verdict == Verdict::NotYet {
        detector.push(&span(0.01, PLATEAU, None));
        fills += 0.01;
    }
    // Nothing of what was before may be in the value.
    assert!(fills >= 0.99, "{fills}");
    let judged = detector.judgement();
    assert_eq!(judged.state, State::Steady);
    assert!((judged.value.unwrap().mean / PLATEAU - 1.0).abs() < 1e-9);
}

// A pause lets a drive recover; what was found before it says nothing of what comes after.
#[test]
fn a_window_does_not_reach_across_a_pause() {
    let mut detector = Detector::new(prior(Start::SequentialFill)).unwrap();
    for at in 0..199 {
        let idle_ns = if at == 120 { 60_000_000_000 } else { 0 };
        detector.push(&Span { idle_ns, ..span(0.01, PLATEAU, None) });
    }
    assert_eq!(detector.judgement().verdict, Verdict::NotYet);
}

#[test]
fn a_state_that_is_left_is_not_kept() {
    let judged =
        play(prior(Start::SequentialFill), 7.1, |t| if t < 4.0 { PLATEAU } else { PLATEAU / 2.0 });
    assert_eq!(judged[390].state, State::Steady);
    assert!(judged[460..500].iter().all(|judged| judged.verdict == Verdict::NotYet));
    let last = judged.last().unwrap();
    assert!((last.value.unwrap().mean / PLATEAU - 0.5).abs() < 0.01, "{last:?}");
}

#[test]
fn nonsense_is_no_panic() {
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(Detector::new(Prior { margin: bad, ..prior(Start::Purged) }).is_none());
        let known = Prior { over_provisioning: Some(bad), ..prior(Start::Purged) };
        assert!(Detector::new(known).is_none());
    }
    assert!(Detector::new(Prior::new(0, Start::Purged)).is_none());
    let mut draw = Draw::new(9);
    for _ in 0..200 {
        let start = [Start::Purged, Start::SequentialFill, Start::Unknown];
        let range_bytes = 1 + (draw.uniform() * 1e6) as u64;
        let chosen = start[(draw.uniform() * 3.0) as usize];
        let mut detector = Detector::new(Prior::new(range_bytes, chosen)).unwrap();
        for _ in 0..300 {
            let odd = [0.0, -5.0, f64::NAN, f64::INFINITY, 1e-300, 1e300, 1.0, 2.0];
            let amplification = odd[(draw.uniform() * 8.0) as usize];
            detector.push(&Span {
                bytes_written: (draw.uniform() * 2e5) as u64,
                duration_ns: (draw.uniform() * 3.0) as u64,
                value: odd[(draw.uniform() * 8.0) as usize],
                amplification: (draw.uniform() < 0.5).then_some(amplification),
                disturbed: draw.uniform() < 0.02,
                idle_ns: u64::from(draw.uniform() < 0.02),
            });
            let judged = detector.judgement();
            assert_eq!(judged.value.is_some(), judged.verdict == Verdict::Yes, "{judged:?}");
        }
    }
}

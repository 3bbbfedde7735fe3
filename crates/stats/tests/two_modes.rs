//! How often two modes are claimed, rightly and wrongly. Run with `--nocapture` for the figures.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at what is missing")]

mod common;

use common::{Draw, two_speed_drive};
use drivescope_stats::modes::{RESAMPLES, two_modes_against};
use drivescope_stats::*;

#[derive(Default, Debug)]
struct Tally {
    one: usize,
    two: usize,
    undecided: usize,
}

fn tally(n: usize, trials: usize, seed: u64, sample: impl Fn(&mut Draw) -> Vec<f64>) -> Tally {
    let null = DipNull::simulate(n, RESAMPLES, seed).unwrap();
    let mut draw = Draw::new(seed ^ 0xd1b5);
    let mut tally = Tally::default();
    for _ in 0..trials {
        match two_modes_against(&sample(&mut draw), &null).unwrap().modes {
            Modes::One => tally.one += 1,
            Modes::Two { .. } => tally.two += 1,
            Modes::Undecided => tally.undecided += 1,
        }
    }
    tally
}

#[test]
fn one_mode_is_seldom_taken_for_two() {
    const TRIALS: usize = 1500;
    type Shape = (&'static str, fn(&mut Draw) -> f64);
    let shapes: [Shape; 7] = [
        ("normal", Draw::normal),
        ("lognormal, sigma 0.5", |draw| (0.5 * draw.normal()).exp()),
        ("lognormal, sigma 1", |draw| draw.normal().exp()),
        ("uniform", Draw::uniform),
        ("exponential", |draw| -draw.uniform().ln()),
        // A tight mode at the end of a long even tail: the hardest case for the gap.
        ("spike and tail", |draw| {
            if draw.uniform() < 0.5 { draw.uniform() } else { draw.between(0.999, 1.0) }
        }),
        ("t with 3 degrees of freedom", |draw| {
            let chi: f64 = (0..3).map(|_| draw.normal().powi(2)).sum();
            draw.normal() / (chi / 3.0).sqrt()
        }),
    ];
    for (name, shape) in shapes {
        for n in [6, 10, 20, 50, 100] {
            let tally = tally(n, TRIALS, n as u64, |draw| draw.sample(n, shape));
            let bound = proportion_interval(tally.two, TRIALS, 0.9).unwrap();
            println!("{name}, n = {n}: {tally:?}, at most {:.2}%", 100.0 * bound.high);
            // 95% bound of the rate of false alarms.
            assert!(bound.high <= 0.05, "{name}, n = {n}: {tally:?}");
        }
    }
}

#[test]
fn a_drive_with_two_speeds_is_found_out() {
    const TRIALS: usize = 400;
    // 21 is one session of the source, 105 all five. Count of runs, share at the low speed, and how often it has to be found at least.
    let cases = [
        (21, 0.2, 0.0),
        (40, 0.2, 0.0),
        (105, 0.2, 0.75),
        (150, 0.2, 0.95),
        (21, 0.35, 0.0),
        (105, 0.35, 0.98),
    ];
    for (n, share, least) in cases {
        let tally = tally(n, TRIALS, 40 + n as u64, |draw| two_speed_drive(draw, n, share));
        let bound = proportion_interval(tally.two, TRIALS, 0.9).unwrap();
        println!(
            "n = {n}, {:.0}% low: {tally:?}, found in {:.0}% at least",
            100.0 * share,
            100.0 * bound.low
        );
        assert!(bound.low >= least, "n = {n}, share {share}: {tally:?}");
    }
}

#[test]
fn halves_far_apart_are_found_from_few_runs() {
    for (n, least) in [(6, 0.2), (8, 0.2), (10, 0.4), (20, 0.85)] {
        let tally = tally(n, 400, 60 + n as u64, |draw| {
            draw.sample(n, |draw| {
                let center = if draw.uniform() < 0.5 { 100.0 } else { 120.0 };
                center + 2.0 * draw.normal()
            })
        });
        let bound = proportion_interval(tally.two, 400, 0.9).unwrap();
        println!("n = {n}, halves ten deviations apart: {tally:?}");
        assert!(bound.low >= least, "n = {n}: {tally:?}");
    }
}

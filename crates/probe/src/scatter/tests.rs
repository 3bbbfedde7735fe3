//! The parts of the inference, on numbers of which it is known what they are made of.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use workload::rng::Rng;

use super::bands::{Answer, Question, judge};
use super::evidence::Part;
use super::mixture::{Datum, divide};
use super::picture::{Series, periods};
use super::spots::{Level, Noise, Spot, median_of};
use super::{turns, whole};

const GRAIN: u64 = 16 << 10;

/// Normal noise, nearly: the sum of twelve uniform draws.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

/// Levels of `windows` windows of `places` places: what `kind` says of (window, place), with an error of a place.
fn levels(
    windows: usize,
    places: usize,
    error: f64,
    seed: u64,
    kind: impl Fn(usize, usize) -> f64,
) -> Vec<Datum> {
    let mut rng = Rng::for_path(seed, &[1]);
    let mut data = Vec::new();
    for window in 0..windows {
        for place in 0..places {
            let mean = kind(window, place) + error * normal(&mut rng);
            let level = Level { mean, error, n: 64 };
            let offset = ((window as u64) << 30) + place as u64 * GRAIN;
            data.push(Datum { level, window, offset });
        }
    }
    data
}

fn question<'a>(data: &'a [Datum], planes: &'a [u64], turns: Option<u64>) -> Question<'a> {
    Question { data, planes, turns, noise_known: true, closest: 6_000.0 }
}

fn answer(data: &[Datum], planes: &[u64], turns: Option<u64>) -> Answer {
    judge(&question(data, planes, turns)).unwrap().answer
}

// Breaks when the noise is taken from what differs from place to place, or from the few reads that take ten times as
// long: every threshold is in its units.
#[test]
fn noise_is_what_repeats_differ_by() {
    let mut rng = Rng::for_path(3, &[]);
    let spot = |at: u64, rng: &mut Rng| {
        let mut spot = Spot::new(at, 4096);
        for read in 0..100 {
            let spike = if (read + at) % 50 == 7 { 5e6 } else { 0.0 };
            spot.times
                .push(500_000.0 + 40_000.0 * (at % 2) as f64 + 10_000.0 * normal(rng) + spike);
        }
        spot
    };
    let spots: Vec<Spot> = (0..50).map(|at| spot(at, &mut rng)).collect();
    let noise = Noise::of(spots.iter()).unwrap();
    assert!((noise.sigma / 10_000.0 - 1.0).abs() < 0.1, "{noise:?}");
    for spot in &spots {
        let level = spot.level(noise).unwrap();
        let expected = 500_000.0 + 40_000.0 * (spot.offset % 2) as f64;
        assert!((level.mean - expected).abs() < 4.5 * level.error, "{level:?}");
        assert!(level.n >= 97, "{level:?}");
    }
    assert_eq!(median_of(&mut [4.0, 1.0, 3.0, 2.0]), 2.5);
    assert_eq!(median_of(&mut [3.0, 1.0, 2.0]), 2.0);
}

// Breaks when the division into runs is not the best one: fits would begin elsewhere.
#[test]
fn the_division_is_the_best_of_all() {
    let mut rng = Rng::for_path(5, &[]);
    for _ in 0..50 {
        let mut values: Vec<f64> = (0..9).map(|_| rng.below(100) as f64).collect();
        values.sort_unstable_by(f64::total_cmp);
        let cost = |from: usize, to: usize| {
            let mean = values[from..to].iter().sum::<f64>() / (to - from) as f64;
            values[from..to].iter().map(|x| (x - mean).powi(2)).sum::<f64>()
        };
        let mut best = f64::INFINITY;
        for a in 1..8 {
            for b in a + 1..9 {
                best = best.min(cost(0, a) + cost(a, b) + cost(b, 9));
            }
        }
        let found = divide(&values, 3).unwrap();
        let sum: f64 = found.iter().map(|run| cost(run.start, run.end)).sum();
        assert!((sum - best).abs() < 1e-9, "{values:?}: {found:?}");
        assert_eq!((found[0].start, found[2].end), (0, 9));
    }
    assert!(divide(&[1.0], 2).is_none());
}

// Breaks when planes, which the address determines, pass for kinds of pages where groups are not known, or when kinds
// that begin differently from region to region pass for planes.
#[test]
fn planes_are_no_kinds() {
    let planes = [GRAIN, 2 * GRAIN];
    let plane = |_, place: usize| 800_000.0 + 30_000.0 * (place % 2) as f64;
    let said = answer(&levels(8, 16, 3_000.0, 1, plane), &planes, None);
    assert!(matches!(said, Answer::Open(_, false)), "{said:?}");
    let kinds = |window: usize, place| 800_000.0 + 30_000.0 * ((place + window / 3) % 2) as f64;
    let said = answer(&levels(8, 16, 3_000.0, 2, kinds), &planes, None);
    assert!(matches!(said, Answer::Bands(2, _)), "{said:?}");
    // Both at once: four levels, two of which depend on the address.
    let both = |window, place| kinds(window, place / 2) + 20_000.0 * (place % 2) as f64;
    let said = answer(&levels(8, 32, 2_000.0, 3, both), &planes, None);
    assert!(matches!(said, Answer::Bands(2, _)), "{said:?}");
}

// Breaks when zones, windows that lie apart as a whole, pass for bands.
#[test]
fn zones_are_no_bands() {
    let zone = |window: usize, _| 800_000.0 + if window > 3 { 100_000.0 } else { 0.0 };
    let said = answer(&levels(6, 16, 3_000.0, 4, zone), &[], Some(GRAIN));
    assert!(matches!(said, Answer::Open(..)), "{said:?}");
    // And bands inside zones are counted once.
    let both = |window, place: usize| zone(window, 0) + 40_000.0 * (place % 2) as f64;
    let said = answer(&levels(6, 16, 3_000.0, 5, both), &[], Some(GRAIN));
    assert!(matches!(said, Answer::Bands(2, _)), "{said:?}");
}

// Breaks when levels that are spread evenly, or one band with a long tail, are cut into bands.
#[test]
fn a_spread_is_no_bands() {
    for seed in 0..20 {
        let mut rng = Rng::for_path(seed, &[9]);
        let spread: Vec<f64> = (0..96).map(|_| 60_000.0 * rng.unit()).collect();
        let said =
            answer(&levels(6, 16, 3_000.0, seed, |w, p| 8e5 + spread[w * 16 + p]), &[], None);
        assert!(matches!(said, Answer::Open(..)), "even, seed {seed}: {said:?}");
        let tail: Vec<f64> = (0..96).map(|_| 15_000.0 * rng.exponential()).collect();
        let said = answer(&levels(6, 16, 3_000.0, seed, |w, p| 8e5 + tail[w * 16 + p]), &[], None);
        assert!(matches!(said, Answer::Open(..)), "tail, seed {seed}: {said:?}");
    }
}

// Breaks when levels in turns are not found below the error of a place, or are found in noise alone or where places are
// in no order.
#[test]
fn turns_tell_below_the_error_of_a_place() {
    let mut told = 0;
    for seed in 0..40 {
        let start = |window: usize| (window * 7 + seed as usize) % 4;
        let pairs = |window, place| {
            800_000.0 + 30_000.0 * f64::from(u8::from((place + start(window)) % 4 > 1))
        };
        let said = answer(&levels(6, 16, 15_000.0, seed, pairs), &[], Some(GRAIN));
        assert!(
            matches!(said, Answer::Bands(2, _) | Answer::Open(_, true)),
            "seed {seed}: {said:?}"
        );
        told += u32::from(matches!(said, Answer::Bands(..)));
        let noise = answer(&levels(6, 16, 15_000.0, seed, |_, _| 800_000.0), &[], Some(GRAIN));
        assert!(!matches!(noise, Answer::Bands(..)), "noise, seed {seed}: {noise:?}");
    }
    // Half as far apart again as the error of a place: a mixture alone finds none of them.
    assert!(told >= 30, "{told} of 40");
    let orders = turns::fit(&levels(6, 16, 1_000.0, 1, |_, p| 5e4 * (p % 3) as f64), GRAIN);
    let best = orders.iter().min_by(|a, b| a.bic.total_cmp(&b.bic)).unwrap();
    assert_eq!((best.levels.len(), best.run), (3, 1));
}

// Breaks when only powers of two are looked for, when a period's multiples are named too, or when noise has one.
#[test]
fn periods_of_any_length_are_named() {
    let series = |data| Series { part: Part::Window, data, step: GRAIN, base: 8e5 };
    let six = |_, place: usize| 30_000.0 * (place / 2 % 3) as f64;
    let found = periods(&series(levels(6, 48, 8_000.0, 1, six)));
    assert_eq!(found.iter().map(|p| p.bytes / GRAIN).collect::<Vec<_>>(), [6], "{found:?}");
    for seed in 0..20 {
        let found = periods(&series(levels(6, 48, 8_000.0, seed, |_, _| 0.0)));
        assert!(found.is_empty(), "seed {seed}: {found:?}");
    }
}

// Breaks when a zone in the middle is lost, or when kinds of pages that alternate at random give zones.
#[test]
fn zones_anywhere_are_found_and_kinds_make_none() {
    for seed in 0..20 {
        let mut rng = Rng::for_path(seed, &[4]);
        let kinds: Vec<f64> = (0..512).map(|_| 45_000.0 * rng.below(2) as f64).collect();
        let none = levels(1, 512, 8_000.0, seed, |_, p| 6e5 + kinds[p]);
        assert!(whole::zones(&none, 6e5, 0, 512 * GRAIN).is_empty(), "seed {seed}");
        let inside = |p: usize| if (200..300).contains(&p) { 60_000.0 } else { 0.0 };
        let zone = levels(1, 512, 8_000.0, seed, |_, p| 6e5 + kinds[p] + inside(p));
        let found = whole::zones(&zone, 6e5, 0, 512 * GRAIN);
        assert_eq!(found.len(), 1, "seed {seed}: {found:?}");
        let (from, to) = (found[0].offset / GRAIN, (found[0].offset + found[0].length) / GRAIN);
        assert!(from.abs_diff(200) <= 6 && to.abs_diff(300) <= 6, "seed {seed}: {from} to {to}");
    }
}

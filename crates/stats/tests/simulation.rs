//! Claims about how often an answer is right, counted. Each bound is exact (Clopper and Pearson), each
//! seed fixed. Run with `--nocapture` for the figures.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at what is missing")]

mod common;

use common::{Draw, two_speed_drive};
use drivescope_stats::*;

/// The bound that a rate is below or above with 99.5 % confidence.
fn bounds(hits: usize, n: usize) -> (f64, f64) {
    let interval = proportion_interval(hits, n, 0.99).unwrap();
    (interval.low, interval.high)
}

fn covers(interval: &OrderInterval, truth: f64) -> bool {
    interval.low <= truth && truth <= interval.high
}

/// Name, one run, the true median, and the half width to stop at, in percent.
type Shape = (&'static str, fn(&mut Draw) -> f64, f64, f64);

/// Shapes of repeated runs with their true medians.
const SHAPES: [Shape; 4] = [
    ("normal, CV 3 %", |draw| 100.0 + 3.0 * draw.normal(), 100.0, 2.0),
    ("lognormal, sigma 0.1", |draw| 100.0 * (0.1 * draw.normal()).exp(), 100.0, 5.0),
    (
        "exponential above a floor",
        |draw| 90.0 - 5.0 * draw.uniform().ln(),
        90.0 + 5.0 * std::f64::consts::LN_2,
        3.0,
    ),
    // Three tenths of all are between 160 and the median, of eight tenths in that mode.
    ("two modes, 20 % low", |draw| two_speed_drive(draw, 1, 0.2)[0], 160.0 + 15.0 * 0.375, 2.5),
];

#[test]
fn the_interval_at_stopping_covers_however_often_it_was_looked() {
    const TRIALS: usize = 3000;
    const RUNS_MAX: usize = 100;
    for (index, (name, shape, truth, percent)) in SHAPES.into_iter().enumerate() {
        let rule = StopRule::new(percent, 0.95);
        let mut draw = Draw::new(100 + index as u64);
        let (mut covered, mut stopped, mut runs_in_all) = (0, 0, 0);
        for _ in 0..TRIALS {
            let xs = draw.sample(RUNS_MAX, shape);
            let met = (1..=RUNS_MAX).find_map(|n| match rule.decide(&xs[..n]) {
                Decision::Met { interval, runs } => Some((interval, runs)),
                Decision::Continue { .. } => None,
            });
            stopped += usize::from(met.is_some());
            let (interval, runs) =
                met.unwrap_or_else(|| (rule.final_interval(&xs).unwrap(), RUNS_MAX));
            covered += usize::from(covers(&interval, truth));
            runs_in_all += runs;
        }
        let (low, _) = bounds(covered, TRIALS);
        println!(
            "{name}: covered {covered} of {TRIALS} (at least {:.2} %), stopped {stopped} times, \
             mean runs {:.1}",
            100.0 * low,
            runs_in_all as f64 / TRIALS as f64,
        );
        assert!(low >= 0.95, "{name}: {covered} of {TRIALS}");
        assert!(stopped > TRIALS / 10, "{name}: the rule was hardly put to use");
    }
}

/// What the rule is there to replace: stop as soon as the plain interval is narrow.
fn naive_stop(xs: &[f64], percent: f64) -> OrderInterval {
    let narrow = |n: &usize| {
        let interval = median_interval(&xs[..*n], 0.95).unwrap();
        let middle = median(&xs[..*n]).unwrap();
        (interval.high - middle).max(middle - interval.low) <= percent / 100.0 * middle
    };
    let n = (6..=xs.len()).find(narrow).unwrap_or(xs.len());
    median_interval(&xs[..n], 0.95).unwrap()
}

#[test]
fn looking_after_each_run_at_the_plain_interval_falls_short() {
    // The control: were this to cover too, the test above would prove nothing.
    let mut draw = Draw::new(77);
    let covered = (0..4000)
        .filter(|_| {
            let xs = draw.sample(100, |draw| 100.0 + 5.0 * draw.normal());
            covers(&naive_stop(&xs, 2.0), 100.0)
        })
        .count();
    let (_, high) = bounds(covered, 4000);
    println!("naive: {covered} of 4000 (at most {:.2} %)", 100.0 * high);
    assert!(high < 0.95, "{covered}");
}

#[test]
fn medians_and_quantiles_cover_as_promised() {
    const TRIALS: usize = 4000;
    for (index, (name, shape, truth, _)) in SHAPES.into_iter().enumerate() {
        for n in [6, 15, 40] {
            let mut draw = Draw::new(200 + index as u64);
            let mut promised = 0.0;
            let mut covered = 0;
            for _ in 0..TRIALS {
                let interval = median_interval(&draw.sample(n, shape), 0.95).unwrap();
                promised = interval.coverage;
                covered += usize::from(covers(&interval, truth));
            }
            let (low, high) = bounds(covered, TRIALS);
            assert!(low <= promised && promised <= high, "{name}, n = {n}: {covered}, {promised}");
        }
    }
}

/// Runs that resemble their neighbours.
fn correlated(draw: &mut Draw, n: usize, phi: f64) -> Vec<f64> {
    let mut state = draw.normal();
    draw.sample(n, |draw| {
        state = phi * state + (1.0 - phi * phi).sqrt() * draw.normal();
        100.0 + state
    })
}

#[test]
fn correlated_runs_widen_the_interval_and_independent_ones_do_not() {
    const TRIALS: usize = 2000;
    let quantity = |xs: &[f64]| median_quantity(xs, 0.95, Unit::MbPerS, Better::Higher).unwrap();
    for n in [6, 9, 20, 60] {
        let mut draw = Draw::new(300 + n as u64);
        let alarms = (0..TRIALS)
            .filter(|_| {
                let xs = draw.sample(n, Draw::normal);
                quantity(&xs).n_effective < n as f64
            })
            .count();
        let (low, _) = bounds(alarms, TRIALS);
        println!("n = {n}: {alarms} of {TRIALS} independent series taken for correlated");
        assert!(low <= 0.012, "{alarms}");
    }
    for (phi, n) in [(0.5, 60), (0.8, 60), (0.8, 200)] {
        let mut draw = Draw::new(400 + n as u64);
        let (mut plain, mut widened, mut withheld) = (0, 0, 0);
        for _ in 0..TRIALS {
            let xs = correlated(&mut draw, n, phi);
            plain += usize::from(covers(&median_interval(&xs, 0.95).unwrap(), 100.0));
            match (quantity(&xs).low, quantity(&xs).high) {
                (Some(low), Some(high)) => widened += usize::from(low <= 100.0 && 100.0 <= high),
                _ => withheld += 1,
            }
        }
        let given = TRIALS - withheld;
        println!(
            "phi = {phi}, n = {n}: the plain interval covers {:.1} %, the widened one {:.1} % of \
             {given}, withheld {withheld}",
            100.0 * plain as f64 / TRIALS as f64,
            100.0 * widened as f64 / given as f64,
        );
        // Short of 95 %, since the correlation is estimated too; far better than not to look.
        assert!(bounds(plain, TRIALS).1 < 0.88);
        assert!(bounds(widened, given).0 > 0.85, "phi = {phi}: {widened} of {given}");
    }
}

#[test]
fn the_estimate_of_runs_needed_is_of_the_right_size() {
    // Normal, CV 3 %, ± 1 %. What is needed is the count at which half of all samples are narrow
    // enough; it is looked for with samples of that count, not with a formula.
    let run = |draw: &mut Draw| 100.0 + 3.0 * draw.normal();
    let mut draw = Draw::new(500);
    let mut narrow = |n: usize| {
        let enough = |xs: &[f64]| runs_needed(xs, 1.0, 0.95) == Some(n);
        (0..400).filter(|_| enough(&draw.sample(n, run))).count()
    };
    let needed = (30..300).step_by(5).find(|&n| narrow(n) >= 200).unwrap() as f64;
    for n in [6, 10, 20] {
        let mut draw = Draw::new(510 + n as u64);
        let estimates: Vec<f64> = (0..1000)
            .filter_map(|_| runs_needed(&draw.sample(n, run), 1.0, 0.95))
            .map(|runs| runs as f64)
            .collect();
        let at = |p: f64| quantile(&estimates, p).unwrap();
        println!(
            "needed {needed}; from {n} runs: {:.0}, quartiles {:.0} to {:.0}",
            at(0.5),
            at(0.25),
            at(0.75)
        );
        let ratio = at(0.5) / needed;
        assert!((0.8..1.25).contains(&ratio), "from {n} runs: {ratio}");
        // As documented: to a factor of two or three from few runs.
        assert!(at(0.1) > needed / 4.0 && at(0.9) < needed * 4.0);
    }
}

#[test]
fn paired_ratios_cover_and_decide_rightly() {
    const TRIALS: usize = 2000;
    let mut draw = Draw::new(600);
    let (mut covered, mut symmetric, mut agrees, mut differs) = (0, 0, 0, 0);
    for _ in 0..TRIALS {
        // What both share within a round is far more than what sets them apart.
        let b = draw.sample(15, |draw| 500.0 * (0.3 * draw.normal()).exp());
        let a: Vec<f64> = b.iter().map(|b| b * 1.02 * (0.04 * draw.normal()).exp()).collect();
        let ratio = paired_ratio(&a, &b, 0.9).unwrap();
        let holds = |low: Option<f64>, high: Option<f64>| {
            usize::from(low.unwrap() <= 1.02 && 1.02 <= high.unwrap())
        };
        covered += holds(ratio.low, ratio.high);
        symmetric += holds(ratio.hodges_lehmann.low, ratio.hodges_lehmann.high);
        agrees += usize::from(equivalence(&ratio, 0.07) == Agreement::Agrees);
        differs += usize::from(equivalence(&ratio, 0.001) == Agreement::Differs);
    }
    println!("covered {covered}, Hodges-Lehmann {symmetric}, agrees {agrees} of {TRIALS}");
    assert!(bounds(covered, TRIALS).0 >= 0.9);
    assert!(bounds(symmetric, TRIALS).1 >= 0.9 && bounds(symmetric, TRIALS).0 >= 0.87);
    assert!(agrees > TRIALS / 2, "{agrees}");
    assert!(differs < TRIALS, "{differs}");
}

#[test]
fn at_the_margin_agreement_is_claimed_in_one_of_twenty_at_most() {
    const TRIALS: usize = 3000;
    let mut draw = Draw::new(700);
    let agrees = (0..TRIALS)
        .filter(|_| {
            let b = draw.sample(15, |draw| draw.between(400.0, 600.0));
            let a: Vec<f64> = b.iter().map(|b| b * 1.07 * (0.02 * draw.normal()).exp()).collect();
            equivalence(&paired_ratio(&a, &b, 0.9).unwrap(), 0.07) == Agreement::Agrees
        })
        .count();
    println!("agreement claimed at the margin: {agrees} of {TRIALS}");
    assert!(bounds(agrees, TRIALS).1 <= 0.05, "{agrees}");
}

#[test]
fn the_trend_test_keeps_its_level() {
    const TRIALS: usize = 4000;
    for n in [6, 10, 30] {
        let mut draw = Draw::new(800 + n as u64);
        let alarms = (0..TRIALS)
            .filter(|_| {
                let xs = draw.sample(n, |draw| 100.0 * (0.2 * draw.normal()).exp());
                drift(&xs, 0.95).unwrap().p_value <= 0.05
            })
            .count();
        println!("n = {n}: {alarms} of {TRIALS} still series taken for drifting");
        assert!(bounds(alarms, TRIALS).0 <= 0.05, "{alarms}");
    }
}

#[test]
fn bca_misses_more_evenly_than_percentiles_on_skewed_data() {
    const TRIALS: usize = 1000;
    let mean = |xs: &[f64]| xs.iter().sum::<f64>() / xs.len() as f64;
    let missed = |kind| {
        let mut draw = Draw::new(900);
        let (mut low, mut high) = (0, 0);
        for _ in 0..TRIALS {
            let xs = draw.sample(25, |draw| -draw.uniform().ln());
            let interval = bootstrap(&xs, mean, 0.95, 800, draw.seed(), kind).unwrap();
            low += usize::from(interval.high < 1.0);
            high += usize::from(interval.low > 1.0);
        }
        (low, high)
    };
    let (percentile, bca) = (missed(BootstrapKind::Percentile), missed(BootstrapKind::Bca));
    println!("of {TRIALS}, too low and too high: percentile {percentile:?}, BCa {bca:?}");
    assert!(bca.0 - bca.1 < percentile.0 - percentile.1);
    // As documented: short of 95 % with few values, but not by far.
    let covered = bounds(TRIALS - bca.0 - bca.1, TRIALS);
    assert!(covered.0 > 0.87 && covered.1 < 0.96, "{covered:?}");
}

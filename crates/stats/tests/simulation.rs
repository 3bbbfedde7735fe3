//! Claims about how often an answer is right, counted. Each bound is exact (Clopper and Pearson), each
//! seed fixed. Run with `--nocapture` for the figures.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at what is missing")]

mod common;

use common::{Draw, two_speed_drive};
use drivescope_stats::*;

/// The bound that a rate is below or above with 99.5% confidence.
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
    ("normal, CV 3%", |draw| 100.0 + 3.0 * draw.normal(), 100.0, 2.0),
    ("lognormal, sigma 0.1", |draw| 100.0 * (0.1 * draw.normal()).exp(), 100.0, 5.0),
    (
        "exponential above a floor",
        |draw| 90.0 - 5.0 * draw.uniform().ln(),
        90.0 + 5.0 * std::f64::consts::LN_2,
        3.0,
    ),
    // Three tenths of all are between 160 and the median, of eight tenths in that mode.
    ("two modes, 20% low", |draw| two_speed_drive(draw, 1, 0.2)[0], 160.0 + 15.0 * 0.375, 2.5),
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
            "{name}: covered {covered} of {TRIALS} (at least {:.2}%), stopped {stopped} times, \
             mean runs {:.1}",
            100.0 * low,
            runs_in_all as f64 / TRIALS as f64,
        );
        assert!(low >= 0.95, "{name}: {covered} of {TRIALS}");
        assert!(stopped > TRIALS / 10, "{name}: the rule was hardly put to use");
    }
}

/// The rule's naive alternative: stop as soon as the plain interval is narrow.
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
    println!("naive: {covered} of 4000 (at most {:.2}%)", 100.0 * high);
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
            "phi = {phi}, n = {n}: the plain interval covers {:.1}%, the widened one {:.1}% of \
             {given}, withheld {withheld}",
            100.0 * plain as f64 / TRIALS as f64,
            100.0 * widened as f64 / given as f64,
        );
        // Short of 95%, since the correlation is estimated too; far better than not to look.
        assert!(bounds(plain, TRIALS).1 < 0.88);
        assert!(bounds(widened, given).0 > 0.85, "phi = {phi}: {widened} of {given}");
    }
}

#[test]
fn the_estimate_of_runs_needed_is_of_the_right_size() {
    // Normal, CV 3%, ± 1%. What is needed is the count at which half of all samples are narrow
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
        // The variation that both share within a round is far greater than their difference.
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

/// Two drives of one kind, `n` runs of each: what is drawn for either, and what both share at a time.
type Pair = (&'static str, Design, fn(&mut Draw, usize) -> [Vec<f64>; 2]);

/// A drive in one of two modes now and then, as one of the three disks of the known fourteen thousand runs wrote.
fn two_modes_of_writing(draw: &mut Draw) -> f64 {
    let low = draw.uniform() < 0.3;
    if low { draw.between(120.0, 150.0) } else { draw.between(160.0, 175.0) }
}

const ALIKE: [Pair; 7] = [
    ("independent, CV 3%", Design::Separate, |draw, n| {
        [(); 2].map(|()| draw.sample(n, |draw| 100.0 + 3.0 * draw.normal()))
    }),
    ("correlated 0.5", Design::Separate, |draw, n| {
        [(); 2].map(|()| correlated(draw, n, 0.5).iter().map(|x| 3.0 * x - 200.0).collect())
    }),
    ("both slower by 10% in the end", Design::Separate, |draw, n| {
        [(); 2].map(|()| {
            let mut run = 0.0;
            draw.sample(n, |draw| {
                run += 1.0;
                100.0 + 3.0 * draw.normal() - 10.0 * run / n as f64
            })
        })
    }),
    ("two modes", Design::Separate, |draw, n| {
        [(); 2].map(|()| draw.sample(n, two_modes_of_writing))
    }),
    ("independent, in blocks", Design::Blocks, |draw, n| {
        [(); 2].map(|()| draw.sample(n, |draw| 100.0 + 3.0 * draw.normal()))
    }),
    ("correlated 0.5 in time, in blocks of random order", Design::Blocks, |draw, n| {
        let turns = correlated(draw, 2 * n, 0.5);
        let mut pair = [Vec::new(), Vec::new()];
        for block in turns.chunks(2) {
            let first = usize::from(draw.uniform() < 0.5);
            pair[first].push(3.0 * block[0] - 200.0);
            pair[1 - first].push(3.0 * block[1] - 200.0);
        }
        pair
    }),
    ("slower by 20% in the end, in blocks", Design::Blocks, |draw, n| {
        let mut pair = [Vec::new(), Vec::new()];
        for block in 0..n {
            let slower = 20.0 * block as f64 / n as f64;
            pair.iter_mut().for_each(|one| one.push(100.0 - slower + 3.0 * draw.normal()));
        }
        pair
    }),
];

fn said(pair: &[Vec<f64>; 2], design: Design) -> Outcome {
    let contrast = Contrast::new(&pair[0], &pair[1], design).unwrap();
    judge(&[contrast], 0.95, 0.02)[0].outcome
}

#[test]
fn drives_that_are_alike_are_seldom_told_apart() {
    const TRIALS: usize = 1000;
    for (index, (name, design, draw_pair)) in ALIKE.into_iter().enumerate() {
        let mut draw = Draw::new(800 + index as u64);
        let differ = (0..TRIALS)
            .map(|_| said(&draw_pair(&mut draw, 12), design))
            .filter(|outcome| matches!(outcome, Outcome::Higher | Outcome::Lower))
            .count();
        println!("{name}: {differ} of {TRIALS} told apart");
        // 1 in 20, and what 1,000 draws may add to it with a probability of one in a thousand.
        assert!(differ <= 73, "{name}: {differ}");
    }
}

#[test]
fn five_percent_are_found_in_sixteen_runs() {
    const TRIALS: usize = 3000;
    for (index, (name, design, draw_pair)) in [ALIKE[0], ALIKE[4]].into_iter().enumerate() {
        let mut draw = Draw::new(900 + index as u64);
        let found = (0..TRIALS)
            .map(|_| {
                let [a, b] = draw_pair(&mut draw, 16);
                said(&[a.iter().map(|a| 1.05 * a).collect(), b], design)
            })
            .filter(|outcome| *outcome == Outcome::Higher)
            .count();
        println!("{name}: {found} of {TRIALS} found");
        let low = proportion_interval(found, TRIALS, 0.95).unwrap().low;
        assert!(low >= 0.85, "{name}: {found}, at least {low:.3}");
    }
}

/// The interval beside a verdict and the p-value from which it is drawn are of one mind, also where neighbours resemble each
/// other.
#[test]
fn a_verdict_and_its_interval_agree() {
    let mut draw = Draw::new(940);
    let (mut differ, mut stretched) = (0, 0);
    for trial in 0..1200 {
        let xs = correlated(&mut draw, 12, 0.5);
        let shifted: Vec<f64> = xs.iter().map(|x| x * draw.between(0.99, 1.05)).collect();
        let other = correlated(&mut draw, 12, 0.5);
        let design = if trial % 2 == 0 { Design::Separate } else { Design::Blocks };
        let contrast = Contrast::new(&shifted, &other, design).unwrap();
        stretched += usize::from(contrast.stretch() > 1.0);
        // A verdict has less error than the interval beside it.
        let strict = contrast.estimate(1.0 - ERROR_MAX);
        let judged = &judge(&[contrast], 0.95, 1e-6)[0];
        let told = matches!(judged.outcome, Outcome::Higher | Outcome::Lower);
        let is_apart = |of: RatioEstimate| of.low.unwrap() > 1.0 || of.high.unwrap() < 1.0;
        assert!(told == is_apart(strict) || judged.withheld.is_some(), "{judged:?}");
        assert!(is_apart(judged.ratio) || !told, "{judged:?}");
        differ += usize::from(told);
    }
    assert!((100..1100).contains(&differ), "{differ}: both answers have to come");
    assert!(stretched > 300, "{stretched}: correlated runs have to come");
}

#[test]
fn many_tests_together_raise_no_more_alarms_than_one() {
    const TRIALS: usize = 400;
    let mut draw = Draw::new(950);
    let alarms = (0..TRIALS)
        .filter(|_| {
            let contrast = |draw: &mut Draw| {
                let [a, b] = (ALIKE[0].2)(draw, 12);
                Contrast::new(&a, &b, Design::Separate).unwrap()
            };
            let contrasts: Vec<Contrast> = (0..8).map(|_| contrast(&mut draw)).collect();
            let judged = judge(&contrasts, 0.95, 0.0001);
            judged.iter().any(|j| matches!(j.outcome, Outcome::Higher | Outcome::Lower))
        })
        .count();
    println!("{alarms} of {TRIALS} families of eight raised an alarm");
    assert!(bounds(alarms, TRIALS).0 <= 0.05, "{alarms}");
}

#[test]
fn a_drift_that_is_larger_than_the_difference_forbids_an_answer() {
    let noise = [0.3, -0.4, 0.1, -0.2, 0.4, -0.1, 0.2, -0.3, 0.0, 0.35, -0.15, 0.25];
    let falling: Vec<f64> =
        noise.iter().enumerate().map(|(i, x)| 100.0 - 1.5 * i as f64 + x).collect();
    let level: Vec<f64> = noise.iter().map(|x| 97.0 + x).collect();
    let contrast = Contrast::new(&falling, &level, Design::Separate).unwrap();
    assert!(contrast.drift_beyond().is_some_and(|ratio| (0.8..0.9).contains(&ratio)));
    let judged = &judge(&[contrast], 0.95, 0.02)[0];
    assert_eq!((judged.outcome, judged.runs_to_decide), (Outcome::Undecided, None));
    // Within the margin it is none: both are what they are, within 2%.
    let slight: Vec<f64> =
        noise.iter().enumerate().map(|(i, x)| 97.0 + 0.04 * i as f64 + 0.1 * x).collect();
    let steady: Vec<f64> = noise.iter().rev().map(|x| 97.2 + 0.1 * x).collect();
    let contrast = Contrast::new(&slight, &steady, Design::Separate).unwrap();
    assert!(contrast.drift_beyond().is_some(), "{contrast:?}");
    assert_eq!(judge(&[contrast], 0.95, 0.02)[0].outcome, Outcome::Equivalent);
    // It does not matter when they are far apart; and in blocks, where both fall alike, there is none.
    let far: Vec<f64> = level.iter().map(|x| x / 2.0).collect();
    assert_eq!(said(&[falling.clone(), far], Design::Separate), Outcome::Higher);
    let twin: Vec<f64> = falling.iter().zip(noise.iter().rev()).map(|(x, e)| x + e).collect();
    assert_eq!(said(&[falling, twin], Design::Blocks), Outcome::Equivalent);
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
    // As documented: short of 95% with few values, but not by far.
    let covered = bounds(TRIALS - bca.0 - bca.1, TRIALS);
    assert!(covered.0 > 0.87 && covered.1 < 0.96, "{covered:?}");
}

#[test]
fn the_bound_on_a_change_of_level_covers_it() {
    const TRIALS: usize = 4000;
    for (n, change, seed) in [(6, 0.0, 900), (6, 0.08, 901), (8, -0.05, 902), (20, 0.03, 903)] {
        let mut draw = Draw::new(seed);
        let covered = (0..TRIALS)
            .filter(|_| {
                let step = change / (n - 1) as f64;
                let middle = (n - 1) as f64 / 2.0;
                let xs: Vec<f64> = (0..n)
                    .map(|run| {
                        100.0 * (1.0 + step * (f64::from(run) - middle)) + 3.0 * draw.normal()
                    })
                    .collect();
                let bound = level_change(&xs, 0.95).unwrap();
                (bound.low..=bound.high).contains(&change)
            })
            .count();
        let (low, high) = bounds(covered, TRIALS);
        println!("{n} runs, change {change}: covered {covered} of {TRIALS}");
        assert!(low <= 0.95 && high >= 0.94, "{n} runs, change {change}: {covered} of {TRIALS}");
    }
}

#[test]
fn a_change_of_level_is_that_of_the_line() {
    let bound = level_change(&[95.0, 97.0, 99.0, 101.0, 103.0, 105.0], 0.95).unwrap();
    assert!(
        (bound.change - 0.1).abs() < 1e-12 && (bound.high - bound.low).abs() < 1e-9,
        "{bound:?}"
    );
    let step = level_change(&[100.0, 100.0, 100.0, 50.0, 50.0, 50.0], 0.95).unwrap();
    assert!(step.low < -0.6 && step.change < -0.5, "{step:?}");
    assert_eq!(level_change(&[1.0, 2.0, 3.0], 0.95), None);
    assert_eq!(level_change(&[0.0; 8], 0.95), None);
    assert_eq!(level_change(&[1.0; 8], 1.0), None);
}

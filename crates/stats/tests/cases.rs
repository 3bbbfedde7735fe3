//! Single cases that say what a function is for.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at what is missing")]

use drivescope_stats::*;

fn ramp(n: usize) -> Vec<f64> {
    (1..=n).map(|i| 1000.0 + i as f64).collect()
}

#[test]
fn five_runs_have_no_interval_and_six_have_minimum_to_maximum() {
    let runs = [171.0, 168.0, 170.5, 172.0, 169.0, 170.0];
    let five = median_quantity(&runs[..5], 0.95, Unit::MbPerS, Better::Higher).unwrap();
    assert_eq!((five.value, five.low, five.high, five.n), (170.5, None, None, 5));
    let six = median_quantity(&runs, 0.95, Unit::MbPerS, Better::Higher).unwrap();
    assert_eq!((six.low, six.high, six.n_effective), (Some(168.0), Some(172.0), 6.0));
    assert_eq!(median_interval(&runs, 0.95).unwrap().coverage, 1.0 - 2.0 / 64.0);
}

#[test]
fn runs_that_drift_steadily_have_no_interval() {
    // Their median is a matter of when one stopped; six such runs are not six.
    let runs = [180.0, 178.0, 176.1, 174.0, 172.2, 170.0, 168.0, 166.1];
    let quantity = median_quantity(&runs, 0.95, Unit::MbPerS, Better::Higher).unwrap();
    assert!(quantity.n_effective < 5.0, "{quantity:?}");
    assert_eq!((quantity.low, quantity.high), (None, None));
    let drift = drift(&runs, 0.95).unwrap();
    assert!(drift.p_value < 0.001 && drift.high.unwrap() < 0.0, "{drift:?}");
    assert!((drift.total_percent + 8.0).abs() < 0.5, "{drift:?}");
}

#[test]
fn equal_runs_are_certain() {
    // A virtual drive without noise gives these; none of the tests may divide by zero.
    let runs = [150.0; 24];
    let quantity = median_quantity(&runs, 0.95, Unit::MbPerS, Better::Higher).unwrap();
    assert_eq!(
        (quantity.low, quantity.high, quantity.n_effective),
        (Some(150.0), Some(150.0), 24.0)
    );
    assert_eq!(runs_needed(&runs, 1.0, 0.95), Some(24));
    assert_eq!(two_modes(&runs, 1).unwrap().modes, Modes::One);
    assert_eq!(drift(&runs, 0.95).unwrap().p_value, 1.0);
    assert_eq!(coefficient_of_variation(&runs), Some(0.0));
    for cost in [Cost::Mean, Cost::MeanAndVariance] {
        assert_eq!(pelt(&runs, cost, Penalty::Bic, 2).unwrap().segments.len(), 1);
    }
    assert!(matches!(StopRule::new(2.0, 0.95).decide(&runs[..8]), Decision::Met { .. }));
}

#[test]
fn runs_needed_knows_its_limits() {
    let runs = [100.0, 104.0, 97.0, 101.0, 99.0, 103.0, 98.0];
    assert_eq!(runs_needed(&runs[..5], 2.0, 0.95), None, "too few to tell");
    assert_eq!(runs_needed(&runs, 5.0, 0.95), Some(7), "enough already");
    let (two, one) = (runs_needed(&runs, 2.0, 0.95), runs_needed(&runs, 1.0, 0.95));
    assert!(one.unwrap() > 3 * two.unwrap(), "half the width takes four times the runs");
    assert_eq!(runs_needed(&runs, 0.0, 0.95), None);
    assert_eq!(runs_needed(&[-1.0, 1.0, -2.0, 2.0, -3.0, 3.0], 1.0, 0.95), None, "median of zero");
}

#[test]
fn the_looks_together_spend_what_they_may_and_no_more() {
    // All 2^18 ways in which 18 runs can fall below or above the median, against the ranks of the
    // looks at 8, 12 and 18 runs. Were the walk counted wrongly, coverage would be off for everyone.
    let rule = StopRule::new(1e6, 0.95);
    let looks: Vec<(usize, usize)> = rule
        .looks()
        .take_while(|runs| *runs <= 18)
        .map(|runs| match rule.decide(&ramp(runs)) {
            Decision::Met { interval, .. } => (runs, interval.lower_rank),
            other => panic!("{runs}: {other:?}"),
        })
        .collect();
    assert_eq!(looks.iter().map(|look| look.0).collect::<Vec<_>>(), [8, 12, 18]);
    let missed = |ranks: &[(usize, usize)]| {
        let outside = |path: u32, &(runs, rank): &(usize, usize)| {
            let below = (path & ((1 << runs) - 1)).count_ones() as usize;
            below < rank || runs - below < rank
        };
        let paths = (0..1_u32 << 18).filter(|&path| ranks.iter().any(|look| outside(path, look)));
        paths.count() as f64 / f64::from(1 << 18)
    };
    for last in 0..looks.len() {
        let may = 0.05 * (1.0 - 2.0_f64.powf(-((last + 1) as f64) / 4.0));
        let mut ranks = looks[..=last].to_vec();
        assert!(missed(&ranks) <= may, "{ranks:?}: {} of {may}", missed(&ranks));
        ranks[last].1 += 1;
        assert!(missed(&ranks) > may, "a narrower interval would do at {ranks:?}");
    }
    // The last word after 18 runs: looks before it, and then all of the 5%.
    let last = rule.final_interval(&ramp(18)).unwrap().lower_rank;
    let mut ranks = looks.clone();
    ranks[2].1 = last;
    assert!(missed(&ranks) <= 0.05);
    ranks[2].1 = last + 1;
    assert!(missed(&ranks) > 0.05);
}

#[test]
fn between_looks_nothing_is_decided() {
    let rule = StopRule::new(2.0, 0.95);
    let looks: Vec<usize> = rule.looks().collect();
    for n in 0..100 {
        let met = matches!(rule.decide(&vec![100.0; n]), Decision::Met { .. });
        assert_eq!(met, looks.contains(&n), "{n} runs");
    }
    // Not a rule at all.
    for rule in [StopRule::new(-1.0, 0.95), StopRule::new(2.0, 1.0), StopRule::new(f64::NAN, 0.95)]
    {
        assert!(matches!(rule.decide(&ramp(8)), Decision::Continue { .. }));
    }
}

#[test]
fn the_stop_rule_tells_at_which_look_it_expects_to_end() {
    let rule = StopRule::new(1.0, 0.95);
    let runs = [100.0, 102.0, 99.0, 101.0, 98.0, 103.0, 100.5, 99.5];
    let Decision::Continue { estimated_runs_needed: Some(runs_needed) } = rule.decide(&runs) else {
        panic!("{:?}", rule.decide(&runs));
    };
    assert!(rule.looks().any(|look| look == runs_needed) && runs_needed > 8);
    assert_eq!(rule.decide(&runs[..4]), Decision::Continue { estimated_runs_needed: None });
}

#[test]
fn two_speeds_are_named_with_their_share() {
    let runs: Vec<f64> =
        (0..30).map(|i| if i % 3 == 0 { 140.0 } else { 168.0 } + f64::from(i) / 10.0).collect();
    let test = two_modes(&runs, 1).unwrap();
    let Modes::Two { low_center, high_center, share_high, separation } = test.modes else {
        panic!("{test:?}");
    };
    assert!((low_center - 141.35).abs() < 1e-9 && (high_center - 169.5).abs() < 0.2, "{test:?}");
    assert!((share_high - 2.0 / 3.0).abs() < 1e-9 && separation > 20.0);
}

#[test]
fn rounding_is_not_taken_for_modes() {
    // Rates to two digits, as CrystalDiskMark prints them: one mode, many ties.
    let rounded: Vec<f64> = (0..60).map(|i| 0.59 + 0.01 * f64::from(i % 2)).collect();
    assert_eq!(two_modes(&rounded, 1).unwrap().modes, Modes::One);
    // And two exact speeds are two.
    let exact: Vec<f64> = (0..60).map(|i| if i % 2 == 0 { 100.0 } else { 150.0 }).collect();
    assert!(matches!(two_modes(&exact, 1).unwrap().modes, Modes::Two { .. }));
}

#[test]
fn a_cache_that_ends_is_a_change() {
    // Fast until the cache is full, then slow: what a sequential write of a whole drive looks like.
    let xs: Vec<f64> = (0..200)
        .map(|i: u32| if i < 70 { 2000.0 } else { 450.0 } + f64::from(i * 37 % 23) * 4.0)
        .collect();
    for cost in [Cost::Mean, Cost::MeanAndVariance] {
        for penalty in [Penalty::Bic, Penalty::Mbic] {
            let found = pelt(&xs, cost, penalty, 3).unwrap();
            assert_eq!(found.changes().collect::<Vec<_>>(), [70], "{cost:?}, {penalty:?}");
            assert!((found.segments[1].mean - 494.0).abs() < 5.0);
        }
    }
    // Without noise too, where most neighbours are equal.
    let clean: Vec<f64> = (0..50).map(|i| if i < 20 { 5.0 } else { 3.0 }).collect();
    let found = pelt(&clean, Cost::Mean, Penalty::Bic, 1).unwrap();
    assert_eq!(found.changes().collect::<Vec<_>>(), [20]);
}

#[test]
fn margins_are_reciprocal() {
    let interval = |low: f64, high: f64| RatioInterval {
        ratio: 1.0,
        low: Some(low),
        high: Some(high),
        confidence: 0.9,
        n: 15,
        hodges_lehmann: RatioEstimate { ratio: 1.0, low: None, high: None },
    };
    let judge = |low, high| equivalence(&interval(low, high), 0.07);
    assert_eq!(judge(0.95, 1.05), Agreement::Agrees);
    assert_eq!(judge(0.9, 1.0), Agreement::Undecided);
    assert_eq!(judge(0.93, 1.0), Agreement::Undecided, "below 1 / 1.07");
    assert_eq!(judge(1.08, 1.2), Agreement::Differs);
    assert_eq!(judge(0.8, 0.93), Agreement::Differs);
    assert_eq!(judge(0.8, 1.2), Agreement::Undecided);
}

#[test]
fn percentiles_of_a_histogram_take_the_nearest_rank() {
    let mut histogram = LatencyHistogram::new();
    assert_eq!((histogram.percentile(50.0), histogram.max(), histogram.mean()), (None, None, None));
    (1..=1000).for_each(|ns| histogram.record(ns));
    // 99.9 / 100 * 1000 is more than 999 in binary.
    assert_eq!(histogram.percentile(99.9), Some(999));
    assert_eq!((histogram.percentile(0.0), histogram.percentile(100.0)), (Some(1), Some(1000)));
    assert_eq!((histogram.percentile(-1.0), histogram.percentile(f64::NAN)), (None, None));
    assert_eq!(histogram.mean(), Some(500.5));
    histogram.record(u64::MAX);
    assert_eq!((histogram.saturated(), histogram.max()), (1, Some(u64::MAX)));
    histogram.clear();
    assert!(histogram == LatencyHistogram::new());
}

// Breaks when the program asks for a number of runs of which no order, however extreme, is rare enough.
#[test]
fn the_fewest_runs_that_decide_grow_with_the_tests_that_are_judged_together() {
    let fewest = |design: Design| [1, 2, 4, 8, 24].map(|tests| design.fewest_runs(tests));
    assert_eq!(fewest(Design::Blocks), [7, 8, 9, 10, 12]);
    assert_eq!(fewest(Design::Separate), [5, 5, 6, 6, 7]);
    assert_eq!(Design::Blocks.fewest_runs(0), 7);
    let twice = |n: usize, design: Design| {
        let slow: Vec<f64> = (0..n).map(|run| 100.0 + run as f64 / 100.0).collect();
        let fast: Vec<f64> = slow.iter().rev().map(|rate| 2.0 * rate).collect();
        let contrast = Contrast::new(&slow, &fast, design).unwrap();
        judge(&vec![contrast; 8], 0.95, 0.02)
    };
    for design in [Design::Blocks, Design::Separate] {
        let fewest = design.fewest_runs(8);
        let before = twice(fewest - 1, design);
        assert!(before.iter().all(|test| test.runs_to_decide == Some(fewest)), "{before:?}");
        assert!(twice(fewest, design).iter().all(|test| test.outcome == Outcome::Lower));
    }
}

#[test]
fn one_io_more_or_less_tells_no_two_apart() {
    // Each of 12 runs moved 15 requests here and 14 there: certain, and no more than what a count leaves open.
    let runs = |ios: f64| vec![ios; 12];
    let found = |ios: (f64, f64), design: Design| {
        let contrast = Contrast::new(&runs(ios.0), &runs(ios.1), design).unwrap();
        judge(&[contrast.of_counts(ios)], 0.95, 0.02).remove(0)
    };
    for design in [Design::Blocks, Design::Separate] {
        let few = found((15.0, 14.0), design);
        assert_eq!((few.outcome, few.runs_to_decide), (Outcome::Undecided, None), "{few:?}");
        assert!(few.ratio.low.unwrap() < 1.0 && few.p_value == 1.0, "{few:?}");
        let same = found((14.0, 14.0), design);
        assert_eq!((same.outcome, same.runs_to_decide), (Outcome::Undecided, None), "{same:?}");
        assert_eq!(found((1500.0, 1400.0), design).outcome, Outcome::Higher);
        assert_eq!(found((1400.0, 1500.0), design).outcome, Outcome::Lower);
        assert_eq!(found((1400.0, 1400.0), design).outcome, Outcome::Equivalent);
        assert_eq!(found((28.0, 14.0), design).outcome, Outcome::Higher);
    }
}

#[test]
fn counts_leave_the_p_value_with_its_interval() {
    let (a, b) =
        ([31.0, 33.0, 32.0, 34.0, 32.5, 33.5, 31.5], [30.0, 31.5, 29.5, 31.0, 30.5, 30.2, 29.2]);
    let exact = Contrast::new(&a, &b, Design::Separate).unwrap();
    let counted = exact.clone().of_counts((32.5, 28.5));
    assert!(exact.p_value() < 0.05 && counted.p_value() > 0.05, "{exact:?} {counted:?}");
    let (exact, counted) = (exact.estimate(0.95), counted.estimate(0.95));
    assert!(exact.low.unwrap() > 1.0 && counted.low.unwrap() < 1.0, "{exact:?} {counted:?}");
    let widened = exact.low.unwrap() / counted.low.unwrap();
    assert!((widened - (1.0 + 1.0 / 32.5) * (1.0 + 1.0 / 28.5)).abs() < 1e-9, "{widened}");
}

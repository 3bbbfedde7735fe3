//! Properties that hold for every input.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at what is missing")]

use drivescope_stats::ess::{
    autocorrelation, batch_means, effective_runs, effective_sample_size, independence_p,
};
use drivescope_stats::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Any value at all, NaN and infinities among them.
fn anything() -> impl Strategy<Value = Vec<f64>> {
    vec(
        prop_oneof![
            8 => any::<f64>(),
            4 => -1e3..1e3_f64,
            1 => Just(0.0),
            1 => Just(f64::NAN),
            1 => Just(f64::INFINITY),
        ],
        0..24,
    )
}

/// Rates with ties now and then.
fn rates(len: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    vec(prop_oneof![4 => 50.0..200.0_f64, 1 => (5_u8..9).prop_map(|x| f64::from(x) * 20.0)], len)
}

/// Stretches of different levels, with noise.
fn stretches() -> impl Strategy<Value = Vec<f64>> {
    let stretch = (1_usize..12, -3_i8..4).prop_flat_map(|(len, level)| {
        vec((-1.0..1.0_f64).prop_map(move |noise| f64::from(level) * 2.0 + noise), len)
    });
    vec(stretch, 1..5).prop_map(|stretches| stretches.concat())
}

/// Failing inputs are kept beside this file, and tried first from then on.
fn config(cases: u32) -> ProptestConfig {
    let beside = FileFailurePersistence::WithSource("proptest-regressions");
    ProptestConfig { cases, failure_persistence: Some(Box::new(beside)), ..Default::default() }
}

proptest! {
    #![proptest_config(config(60))]

    /// A panic would take a run of hours with it.
    #[test]
    fn nothing_panics(xs in anything(), ys in anything(), p in any::<f64>(), confidence in any::<f64>()) {
        let mean = |xs: &[f64]| xs.iter().sum::<f64>() / xs.len() as f64;
        for confidence in [0.95, confidence] {
            let _ = median_quantity(&xs, confidence, Unit::Iops, Better::Higher);
            let _ = median_interval(&xs, confidence);
            let _ = runs_needed(&xs, p, confidence);
            for kind in [BootstrapKind::Percentile, BootstrapKind::Bca] {
                let _ = bootstrap(&xs, mean, confidence, 100, 1, kind);
            }
            let _ = (drift(&xs, confidence), theil_sen(&xs, confidence), level_change(&xs, confidence));
            if let Some(ratio) = paired_ratio(&xs, &ys, confidence) {
                let _ = equivalence(&ratio, p);
            }
            let rule = StopRule::new(p, confidence);
            let _ = (rule.decide(&xs), rule.final_interval(&xs));
        }
        let _ = (proportion_interval(xs.len(), 12, p), quantile(&xs, p));
        let _ = (median_absolute_deviation(&xs), tukey_fences(&xs));
        let _ = (coefficient_of_variation(&xs), range_over_mean(&xs));
        let _ = (independence_p(&xs), autocorrelation(&xs, 30), batch_means(&xs, 0));
        let _ = mann_kendall(&xs);
        if let Some(null) = DipNull::simulate(xs.len(), 20, 1) {
            let _ = modes::two_modes_against(&xs, &null);
        }
        for cost in [Cost::Mean, Cost::MeanAndVariance, Cost::MeanKnownScale(p)] {
            let _ = pelt(&xs, cost, Penalty::Mbic, 2);
            let _ = pelt(&xs, cost, Penalty::PerChange(p), 0);
        }
    }
}

proptest! {
    #![proptest_config(config(250))]

    /// A number made of NaN would be printed as if it had been measured.
    #[test]
    fn what_is_not_a_number_has_no_statistic(mut xs in rates(1..20), at in any::<prop::sample::Index>()) {
        let place = at.index(xs.len());
        xs[place] = f64::NAN;
        prop_assert_eq!(median(&xs), None);
        prop_assert_eq!(median_quantity(&xs, 0.95, Unit::Ns, Better::Lower), None);
        prop_assert_eq!(coefficient_of_variation(&xs), None);
        prop_assert_eq!(range_over_mean(&xs), None);
        prop_assert_eq!(drift(&xs, 0.95), None);
        prop_assert_eq!(two_modes(&xs, 1), None);
        prop_assert_eq!(paired_ratio(&xs, &xs, 0.95), None);
        prop_assert_eq!(effective_runs(&xs), None);
        prop_assert_eq!(pelt(&xs, Cost::Mean, Penalty::Bic, 1), None);
    }

    /// The order of independent runs and the unit must not matter to the median's interval.
    #[test]
    fn the_median_follows_unit_and_forgets_order(xs in rates(6..40), factor in 0.001..1000.0_f64) {
        let ours = median_interval(&xs, 0.95).unwrap();
        let middle = median(&xs).unwrap();
        prop_assert!(ours.low <= middle && middle <= ours.high && ours.coverage >= 0.95);
        let mut other: Vec<f64> = xs.iter().map(|x| x * factor).collect();
        other.reverse();
        let scaled = median_interval(&other, 0.95).unwrap();
        prop_assert_eq!((scaled.low, scaled.high), (ours.low * factor, ours.high * factor));
    }

    /// The quantity promises nothing for few runs, and no more independent runs than there are.
    #[test]
    fn quantities_keep_their_bounds(xs in rates(1..40)) {
        let quantity = median_quantity(&xs, 0.95, Unit::MbPerS, Better::Higher).unwrap();
        prop_assert_eq!(quantity.n, xs.len());
        prop_assert!(quantity.n_effective >= 1.0 && quantity.n_effective <= xs.len() as f64);
        prop_assert_eq!(quantity.low.is_some(), quantity.high.is_some());
        prop_assert_eq!(quantity.low.is_some(), quantity.n_effective >= 6.0);
        if let (Some(low), Some(high)) = (quantity.low, quantity.high) {
            let plain = median_interval(&xs, 0.95).unwrap();
            prop_assert!(low <= plain.low && high >= plain.high);
        }
        let worth = effective_sample_size(&xs).unwrap();
        prop_assert!(worth >= 1.0 && worth <= xs.len() as f64);
    }

    /// A count greater than needed makes users repeat runs for nothing.
    #[test]
    fn runs_needed_is_the_least_count(xs in rates(6..20), percent in 3.0..20.0_f64) {
        let Some(ours) = runs_needed(&xs, percent, 0.95) else { return Ok(()) };
        prop_assume!(ours <= 600);
        let middle = median(&xs).unwrap();
        let reach = |n: usize| {
            let rank = median_interval(&vec![1.0; n], 0.95).unwrap().lower_rank as f64;
            -statrs::function::erf::erfc_inv(2.0 - 2.0 * (rank - 0.375) / (n as f64 + 0.25))
        };
        let now = median_interval(&xs, 0.95).unwrap();
        let width = (now.high - middle).max(middle - now.low) / middle * 100.0;
        let enough = |n: &usize| width * reach(*n) / reach(xs.len()) <= percent * (1.0 + 1e-9);
        prop_assert_eq!((xs.len()..=600).find(enough), Some(ours));
    }

    /// Clopper and Pearson's interval holds its proportion and mirrors its complement.
    #[test]
    fn proportions_mirror(n in 1_usize..5000, share in 0.0..=1.0_f64) {
        let successes = ((n as f64) * share) as usize;
        let ours = proportion_interval(successes, n, 0.95).unwrap();
        prop_assert!(0.0 <= ours.low && ours.low <= ours.value);
        prop_assert!(ours.value <= ours.high && ours.high <= 1.0);
        let mirrored = proportion_interval(n - successes, n, 0.95).unwrap();
        prop_assert!((ours.low - (1.0 - mirrored.high)).abs() < 1e-9);
    }

    /// The same seed gives the same bits, or records could not be checked.
    #[test]
    fn resampling_repeats(xs in rates(6..30), seed in any::<u64>()) {
        let mean = |xs: &[f64]| xs.iter().sum::<f64>() / xs.len() as f64;
        let draw = || bootstrap(&xs, mean, 0.9, 400, seed, BootstrapKind::Percentile);
        prop_assert_eq!(draw(), draw());
        let mut other = xs.clone();
        other.reverse();
        let again = DipNull::simulate(xs.len(), 50, seed).unwrap();
        let one = modes::two_modes_against(&xs, &again);
        let two = modes::two_modes_against(&other, &DipNull::simulate(xs.len(), 50, seed).unwrap());
        prop_assert_eq!(one, two, "nor may the order of runs matter");
    }

    /// Reversing time reverses the drift.
    #[test]
    fn drift_has_a_direction(xs in rates(3..30)) {
        let there = drift(&xs, 0.95).unwrap();
        let back = drift(&xs.iter().rev().copied().collect::<Vec<_>>(), 0.95).unwrap();
        prop_assert!((there.percent_per_run + back.percent_per_run).abs() < 1e-9);
        prop_assert!((there.p_value - back.p_value).abs() < 1e-12);
        if let (Some(low), Some(high)) = (there.low, back.high) {
            prop_assert!((low + high).abs() < 1e-9);
            prop_assert!(low <= there.percent_per_run);
        }
    }

    /// A verdict that hung on which side is called a would be none.
    #[test]
    fn comparison_does_not_depend_on_who_is_first(
        pairs in vec((50.0..200.0_f64, 50.0..200.0_f64), 1..30),
        margin in 0.01..0.5_f64,
    ) {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let (ours, swapped) =
            (paired_ratio(&a, &b, 0.9).unwrap(), paired_ratio(&b, &a, 0.9).unwrap());
        prop_assert!((ours.ratio * swapped.ratio - 1.0).abs() < 1e-9);
        prop_assert_eq!(equivalence(&ours, margin), equivalence(&swapped, margin));
        prop_assert_eq!(ours.low.is_some(), a.len() >= 5);
        prop_assert_eq!(equivalence(&paired_ratio(&a, &a, 0.9).unwrap(), margin) == Agreement::Agrees, a.len() >= 5);
    }

    /// Splitting a stream over histograms must not change what it says.
    #[test]
    fn histograms_merge(all in vec(0_u64..8_000_000_000_000, 1..200), cut in any::<prop::sample::Index>()) {
        let fill = |values: &[u64]| {
            let mut histogram = LatencyHistogram::new();
            values.iter().for_each(|&ns| histogram.record(ns));
            histogram
        };
        let (first, second) = all.split_at(cut.index(all.len()));
        let mut merged = fill(first);
        merged.merge(&fill(second));
        prop_assert!(merged == fill(&all));
        let mut ordered = all.clone();
        ordered.sort_unstable();
        prop_assert_eq!(merged.count(), all.len() as u64);
        prop_assert_eq!(merged.min(), ordered.first().copied());
        prop_assert_eq!(merged.max(), ordered.last().copied());
        let sum: u128 = all.iter().map(|&ns| u128::from(ns)).sum();
        prop_assert!((merged.mean().unwrap() / (sum as f64 / all.len() as f64) - 1.0).abs() < 1e-12 || sum == 0);
        let hour = histogram::HIGHEST_NS;
        prop_assert_eq!(merged.saturated(), all.iter().filter(|&&ns| ns > hour).count() as u64);
        for percent in [0.0, 1.0, 50.0, 99.0, 99.9, 100.0] {
            let rank = ((percent / 100.0 * all.len() as f64).ceil() as usize).clamp(1, all.len());
            // Beyond an hour all are one bin.
            let exact = ordered[rank - 1].min(hour).max(ordered[0]) as f64;
            let ours = merged.percentile(percent).unwrap() as f64;
            // One bin is 0.1% wide at most.
            prop_assert!(ours >= exact && ours <= exact * 1.001 + 1.0, "{percent}%: {ours}, {exact}");
        }
        let mut again = LatencyHistogram::new();
        merged.iter().for_each(|(ns, count)| again.record_n(ns, count));
        prop_assert_eq!(again.iter().collect::<Vec<_>>(), merged.iter().collect::<Vec<_>>());
    }
}

proptest! {
    #![proptest_config(config(4000))]

    /// Pruning must leave out nothing that is best, whatever the cost, penalty and least length.
    #[test]
    fn pruned_search_finds_what_full_search_finds(
        xs in stretches(),
        min_len in 2_usize..9,
        kind in 0..3,
        gain in 0.0..12.0_f64,
    ) {
        prop_assume!(xs.len() >= min_len);
        let penalty = [Penalty::PerChange(gain), Penalty::Bic, Penalty::Mbic][kind as usize];
        for cost in [Cost::MeanKnownScale(0.6), Cost::MeanAndVariance] {
            let ours = pelt(&xs, cost, penalty, min_len).unwrap();
            let least = full_search(&xs, cost, penalty, min_len);
            prop_assert!((ours.cost - least).abs() < 1e-6 * least.abs().max(1.0),
                "{:?}: {} against {least}", cost, ours.cost);
            prop_assert_eq!(ours.segments[0].start, 0);
            prop_assert_eq!(ours.segments.last().unwrap().end, xs.len());
            for pair in ours.segments.windows(2) {
                prop_assert_eq!(pair[0].end, pair[1].start);
            }
            prop_assert!(ours.segments.iter().all(|s| s.end - s.start >= min_len));
        }
    }
}

/// The least cost over all segmentations, every beginning tried for every end, each cost from its
/// definition.
fn full_search(xs: &[f64], cost: Cost, penalty: Penalty, min_len: usize) -> f64 {
    let n = xs.len();
    let log_n = (n as f64).ln();
    let parameters = if cost == Cost::MeanAndVariance { 2.0 } else { 1.0 };
    let (per_change, by_length) = match penalty {
        Penalty::PerChange(gain) => (gain, 0.0),
        Penalty::Bic => ((parameters + 1.0) * log_n, 0.0),
        Penalty::Mbic => ((parameters + 2.0) * log_n, 1.0),
    };
    let squares = |xs: &[f64]| {
        let mean = xs.iter().sum::<f64>() / xs.len() as f64;
        xs.iter().map(|x| (x - mean).powi(2)).sum::<f64>()
    };
    let all = Some(squares(xs) / n as f64).filter(|all| *all > 0.0).unwrap_or(1.0);
    let of_segment = |xs: &[f64]| {
        let length = xs.len() as f64;
        let fit = match cost {
            Cost::MeanKnownScale(scale) => squares(xs) / scale.powi(2),
            _ => {
                let variance = (squares(xs) / length).max(1e-6 * all);
                length * (std::f64::consts::TAU * variance).ln() + squares(xs) / variance
            }
        };
        fit + by_length * (length / n as f64).ln()
    };
    let mut best = vec![f64::INFINITY; n + 1];
    best[0] = -per_change;
    for end in min_len..=n {
        for start in 0..=end - min_len {
            best[end] = best[end].min(best[start] + per_change + of_segment(&xs[start..end]));
        }
    }
    best[n]
}

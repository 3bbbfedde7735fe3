//! Against values of SciPy, NumPy, pymannkendall, diptest and ruptures, and enumerations, that
//! `tests/fixtures/make.py` wrote. What fails here computes something else than its name says.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at what is missing")]

mod common;

use common::{cases, close, count, fixture, number, numbers};
use drivescope_stats::ess::{autocorrelation, independence_p};
use drivescope_stats::modes::dip;
use drivescope_stats::*;
use serde_json::Value;

fn ramp(n: usize) -> Vec<f64> {
    (1..=n).map(|i| i as f64).collect()
}

#[test]
fn ranks_of_the_median_are_those_of_the_binomial_distribution() {
    for case in cases(&fixture("interval"), "median_ranks") {
        let (n, confidence) = (count(case, "n"), number(case, "confidence"));
        let ours = median_interval(&ramp(n), confidence);
        let rank = case["lower_rank"].as_u64().map(|rank| rank as usize);
        assert_eq!(ours.map(|i| i.lower_rank), rank, "n = {n}, {confidence}");
        if let Some(ours) = ours {
            assert_eq!(ours.upper_rank, n + 1 - ours.lower_rank);
            assert_eq!((ours.low, ours.high), (ours.lower_rank as f64, ours.upper_rank as f64));
            close(ours.coverage, number(case, "coverage"), 1e-8, &format!("coverage, n = {n}"));
        }
    }
}

#[test]
fn proportions_have_the_bounds_of_clopper_and_pearson() {
    for case in cases(&fixture("interval"), "proportions") {
        let (successes, n) = (count(case, "successes"), count(case, "n"));
        let ours = proportion_interval(successes, n, number(case, "confidence")).unwrap();
        assert!((ours.low - number(case, "low")).abs() < 1e-9, "{case}: {ours:?}");
        assert!((ours.high - number(case, "high")).abs() < 1e-9, "{case}: {ours:?}");
    }
}

#[test]
fn the_bootstrap_agrees_with_another_stream_of_random_numbers() {
    let mean = |xs: &[f64]| xs.iter().sum::<f64>() / xs.len() as f64;
    let deviation = |xs: &[f64]| {
        let center = mean(xs);
        (xs.iter().map(|x| (x - center).powi(2)).sum::<f64>() / (xs.len() - 1) as f64).sqrt()
    };
    for case in cases(&fixture("interval"), "bootstrap") {
        let xs = numbers(case, "xs");
        let kind = match case["kind"].as_str() {
            Some("BCa") => BootstrapKind::Bca,
            _ => BootstrapKind::Percentile,
        };
        let ours = if case["statistic"] == "mean" {
            bootstrap(&xs, mean, 0.95, 20_000, 3, kind)
        } else {
            bootstrap(&xs, deviation, 0.95, 20_000, 3, kind)
        };
        let ours = ours.unwrap();
        // The ends of 20,000 resamples vary by about 2% of the standard error. The two kinds are
        // farther apart than that, so a mix-up would show.
        let error = number(case, "standard_error");
        close(ours.standard_error, error, 0.03, "standard error");
        assert!((ours.low - number(case, "low")).abs() < 0.08 * error, "{case}: {ours:?}");
        assert!((ours.high - number(case, "high")).abs() < 0.08 * error, "{case}: {ours:?}");
    }
}

#[test]
fn spreads_agree() {
    for case in cases(&fixture("spread"), "cases") {
        let xs = numbers(case, "xs");
        close(median(&xs).unwrap(), number(case, "median"), 1e-12, "median");
        close(coefficient_of_variation(&xs).unwrap(), number(case, "cv"), 1e-11, "cv");
        close(range_over_mean(&xs).unwrap(), number(case, "range_over_mean"), 1e-11, "R / Avg");
        close(median_absolute_deviation(&xs).unwrap(), number(case, "mad"), 1e-11, "MAD");
        for pair in case["quantiles"].as_array().unwrap() {
            let (p, reference) = (pair[0].as_f64().unwrap(), pair[1].as_f64().unwrap());
            close(quantile(&xs, p).unwrap(), reference, 1e-11, "quantile");
        }
        let fences = numbers(case, "fences");
        let ours = tukey_fences(&xs).unwrap();
        let ours = [ours.outer_low, ours.inner_low, ours.inner_high, ours.outer_high];
        for (ours, reference) in ours.into_iter().zip(&fences) {
            close(ours, *reference, 1e-9, "fence");
        }
    }
}

#[test]
fn correlations_agree() {
    for case in cases(&fixture("ess"), "cases") {
        let xs = numbers(case, "xs");
        let reference = numbers(case, "autocorrelation");
        let ours = autocorrelation(&xs, reference.len() - 1).unwrap();
        for (ours, reference) in ours.iter().zip(&reference) {
            assert!((ours - reference).abs() < 1e-10, "{case}");
        }
        close(effective_sample_size(&xs).unwrap(), number(case, "ess"), 1e-9, "ess");
        close(independence_p(&xs).unwrap(), number(case, "independence_p"), 1e-7, "independence");
    }
}

#[test]
fn the_beta_approximation_is_good_from_nine_values_on() {
    // All 362,880 orders of nine, against the approximation that begins there. A p-value near 1%
    // decides whether runs count as correlated.
    for case in cases(&fixture("ess"), "nine") {
        let exact = number(case, "p");
        let ours = independence_p(&numbers(case, "order")).unwrap();
        assert!((ours - exact).abs() < 0.003 + 0.05 * exact, "exact {exact}, ours {ours}");
    }
}

#[test]
fn trends_agree() {
    for case in cases(&fixture("drift"), "cases") {
        let xs = numbers(case, "xs");
        let ours = mann_kendall(&xs).unwrap();
        assert_eq!(ours.score, case["score"].as_i64().unwrap());
        close(ours.variance, number(case, "variance"), 1e-12, "variance");
        assert_eq!(ours.exact, case["exact"].as_bool().unwrap(), "{case}");
        // SciPy and pymannkendall subtract from one, and so are right to 1e-15 only.
        let p = number(case, "p");
        assert!((ours.p_value - p).abs() < 1e-14 + 1e-8 * p, "{case}: {ours:?}");
        slope_agrees(case, &xs);
    }
}

/// SciPy takes the normal approximation for the ranks at any count and rounds to the nearest; ours are
/// exact or rounded outwards. So the ends may differ by a few ranks, and ours lie outside or on them
/// when both are normal.
fn slope_agrees(case: &Value, xs: &[f64]) {
    let ours = theil_sen(xs, 0.95).unwrap();
    assert!((ours.slope - number(case, "slope")).abs() < 1e-9, "{case}");
    let (Some(low), Some(high)) = (ours.low, ours.high) else {
        assert!(xs.len() < 6, "{case}");
        return;
    };
    assert!(low <= ours.slope && ours.slope <= high);
    let (their_low, their_high) = (number(case, "scipy_low"), number(case, "scipy_high"));
    if !case["exact"].as_bool().unwrap() {
        assert!(low <= their_low + 1e-9 && high >= their_high - 1e-9, "{case}: {ours:?}");
    }
    if xs.len() >= 20 {
        close(high - low, their_high - their_low, 0.06, "width");
    }
}

#[test]
fn ranks_of_slopes_are_exact_in_small_samples() {
    for case in cases(&fixture("drift"), "slope_ranks") {
        let (n, rank) = (count(case, "n"), count(case, "rank"));
        // Squares have the distinct pairwise slopes i + j.
        let xs: Vec<f64> = (0..n).map(|i| (i * i) as f64).collect();
        let mut slopes: Vec<f64> =
            (0..n).flat_map(|j| (0..j).map(move |i| (i + j) as f64)).collect();
        slopes.sort_by(f64::total_cmp);
        let ours = theil_sen(&xs, 0.95).unwrap();
        assert_eq!(ours.low, (rank > 0).then(|| slopes[rank - 1]), "n = {n}");
        assert_eq!(ours.high, (rank > 0).then(|| slopes[slopes.len() - rank]), "n = {n}");
    }
}

#[test]
fn dips_agree() {
    for case in cases(&fixture("modes"), "cases") {
        close(dip(&numbers(case, "xs")).unwrap(), number(case, "dip"), 1e-9, &case.to_string());
    }
}

#[test]
fn quantiles_of_the_uniform_dip_agree() {
    for case in cases(&fixture("modes"), "uniform_quantiles") {
        let null = DipNull::simulate(count(case, "n"), 4000, 5).unwrap();
        // Standard error of the p-value: 0.0034 at 5%, 0.0016 at 1%.
        let (five, one) = (null.p_value(number(case, "p05")), null.p_value(number(case, "p01")));
        assert!((five - 0.05).abs() < 0.012, "{case}: {five}");
        assert!((one - 0.01).abs() < 0.006, "{case}: {one}");
    }
}

#[test]
fn changes_are_those_of_dynamic_programming() {
    for case in cases(&fixture("changepoint"), "cases") {
        let (xs, penalty) = (numbers(case, "xs"), number(case, "penalty"));
        let (cost, penalty) = (Cost::MeanKnownScale(1.0), Penalty::PerChange(penalty));
        let ours = pelt(&xs, cost, penalty, count(case, "min_len")).unwrap();
        close(ours.cost, number(case, "cost"), 1e-9, "cost");
        let reference = numbers(case, "changes");
        assert_eq!(ours.changes().map(|i| i as f64).collect::<Vec<_>>(), reference);
        if count(case, "min_len") == 1 {
            assert_eq!(numbers(case, "ruptures_pelt"), reference);
        }
    }
}

#[test]
fn paired_ratios_agree() {
    for case in cases(&fixture("compare"), "cases") {
        let confidence = number(case, "confidence");
        let ours = paired_ratio(&numbers(case, "a"), &numbers(case, "b"), confidence).unwrap();
        close(ours.ratio, number(case, "median"), 1e-12, "median");
        let theirs = ours.hodges_lehmann;
        close(theirs.ratio, number(case, "hodges_lehmann"), 1e-12, "Hodges-Lehmann");
        if case["enumerated"] == true {
            for (end, name) in [(theirs.low, "hl_low"), (theirs.high, "hl_high")] {
                match (end, case[name].as_f64()) {
                    (Some(end), Some(reference)) => close(end, reference, 1e-12, name),
                    (end, reference) => assert_eq!(end, reference, "{case}"),
                }
            }
        }
    }
}

#[test]
fn contrasts_have_the_p_values_of_the_tests_that_they_invert() {
    for case in cases(&fixture("contrast"), "cases") {
        let (a, b) = (numbers(case, "a"), numbers(case, "b"));
        let separate = Contrast::new(&a, &b, Design::Separate).unwrap();
        assert_eq!(separate.stretch(), 1.0, "neighbours do not resemble each other here");
        close(separate.ratio(), number(case, "ratio"), 1e-12, "Hodges-Lehmann");
        close(separate.p_value(), number(case, "p_separate"), 1e-9, "Mann-Whitney");
        assert!((separate.dominance() - number(case, "cliffs_delta")).abs() < 1e-12);
        if case["a_paired"].is_array() {
            let paired = numbers(case, "a_paired");
            let blocks = Contrast::new(&paired, &b, Design::Blocks).unwrap();
            assert_eq!(blocks.stretch(), 1.0);
            close(blocks.p_value(), number(case, "p_blocks"), 1e-9, "Wilcoxon");
        }
    }
}

#[test]
fn holm_adjusts_as_statsmodels_does() {
    let case = &fixture("contrast")["holm"];
    let ours = holm(&numbers(case, "p_values"));
    let reference = numbers(case, "adjusted");
    assert_eq!(ours.len(), reference.len());
    for (ours, reference) in ours.into_iter().zip(reference) {
        close(ours, reference, 1e-12, "Holm");
    }
    assert!(holm(&[]).is_empty());
}

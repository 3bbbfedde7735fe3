//! Rules of steady state, theory and percentiles against SciPy and NumPy, by `tests/fixtures/make.py`. What fails here
//! computes something else than its name says.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop at what is missing")]

mod common;

use common::{cases, close, count, fixture, number, numbers};
use drivescope_stats::LatencyHistogram;
use drivescope_stats::steady::fio::{Criterion, Limit, Replica, Settings, Version};
use drivescope_stats::steady::{snia, theory};

#[test]
fn amplification_is_that_of_lamberts_function() {
    for case in cases(&fixture("steady"), "theory") {
        let op = number(case, "op");
        let fifo = number(case, "fifo");
        close(theory::amplification_fifo(op).unwrap(), fifo, 1e-9, "first in, first out");
        close(theory::over_provisioning_of(fifo).unwrap(), op, 1e-9, "and back");
        for pair in case["greedy"].as_array().unwrap() {
            let (n, greedy) = (pair[0].as_f64().unwrap(), pair[1].as_f64().unwrap());
            let ours = theory::amplification_greedy(op, n).unwrap();
            close(ours, greedy, 1e-9, &format!("greedy, {op}, {n}"));
        }
    }
}

#[test]
fn windows_of_five_rounds_are_those_of_a_fitted_line() {
    for case in cases(&fixture("steady"), "windows") {
        let ours = snia::Window::of(&numbers(case, "xs"), count(case, "last")).unwrap();
        close(ours.average, number(case, "average"), 1e-12, "average");
        close(ours.range, number(case, "range"), 1e-12, "range");
        close(ours.slope_per_round, number(case, "slope"), 1e-8, "slope");
        close(ours.intercept, number(case, "intercept"), 1e-8, "intercept");
        assert_eq!(Some(ours.passes), case["passes"].as_bool(), "{case}");
    }
}

// The last of forty windows, so that the sums have rolled on.
#[test]
fn slopes_of_fio_are_those_of_exact_and_of_wrapping_arithmetic() {
    for case in cases(&fixture("steady"), "fio") {
        let n = count(case, "n");
        let last = |version| {
            let limit = Limit::Absolute(0.0);
            let settings = Settings::new(version, Criterion::BwSlope, limit, n as u32);
            let mut replica = Replica::new(settings).unwrap();
            let checks = numbers(case, "xs").into_iter().map(|y| replica.push(y as u64));
            checks.last().flatten().unwrap()
        };
        let (exact, wrapped) = (last(Version::V3_33), last(Version::V3_42));
        close(exact.slope_per_sample.unwrap(), number(case, "slope"), 1e-6, "64 bits");
        close(wrapped.slope_per_sample.unwrap(), number(case, "slope_int"), 1e-6, "32 bits");
        assert_eq!(exact.mean as usize, count(case, "mean"));
    }
}

#[test]
fn percentiles_lie_between_the_ranks_of_the_binomial_distribution() {
    for case in cases(&fixture("steady"), "ranks") {
        let n = count(case, "n") as u64;
        // Latencies below 2,048 have bins of their own: ranks are counted from the top, where they decide.
        let base = n.saturating_sub(1_500);
        let mut histogram = LatencyHistogram::new();
        histogram.record_n(1, base);
        (base + 1..=n).for_each(|rank| histogram.record(rank - base));
        let (percent, confidence) = (number(case, "percent"), number(case, "confidence"));
        let ours = histogram.percentile_interval(percent, confidence).unwrap();
        let latency = |rank: u64| rank.saturating_sub(base).max(1);
        assert_eq!(ours.low_ns, case["low"].as_u64().map(latency), "{case}");
        assert_eq!(ours.high_ns, case["high"].as_u64().map(latency), "{case}");
    }
}

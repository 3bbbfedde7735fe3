//! Ratios of percentiles of latency.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stats::compare::percentile_ratio_factor;
use stats::histogram::LatencyBins;
use stats::{Contrast, Design};

use crate::body::CONFIDENCE;
use crate::body::{Body, Latency, Test};

pub use stats::compare::LatencyRuns;

/// The latencies of each counted run of a mark, by its position in the order of execution.
pub type RunLatencies = BTreeMap<u32, LatencyBins>;

/// Ratios of percentiles of merged latencies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyRatio {
    /// Median.
    pub p50: PercentileRatio,
    /// 99th percentile.
    pub p99: PercentileRatio,
    /// 99.9th percentile.
    pub p999: PercentileRatio,
}

/// The ratio of a percentile with its interval at the confidence of the comparison, which holds for this ratio alone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PercentileRatio {
    /// The percentile of one to that of the other.
    pub ratio: f64,
    /// Lower end; null when there is none.
    pub low: Option<f64>,
    /// Upper end; null when there is none.
    pub high: Option<f64>,
    /// Why there is none; null when there is one.
    pub no_interval: Option<NoInterval>,
}

/// Why the ratio of a percentile has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoInterval {
    /// Fewer than 6 runs of a side.
    FewRuns,
    /// Fewer than 10 latencies of a side beyond the percentile.
    FewLatencies,
    /// The latencies of a side's runs were not kept: a printed document has only the figures shown.
    NotKept,
}

/// The latencies of a test's runs, in the order made; `None` where they were not kept.
pub(super) fn of_test(
    body: &Body,
    test: usize,
    kept: Option<&RunLatencies>,
) -> Option<LatencyRuns> {
    let positions =
        body.setup.order.get(test).filter(|_| body.setup.order.len() == body.tests.len())?;
    let runs: Option<Vec<&LatencyBins>> =
        positions.iter().map(|position| kept?.get(position)).collect();
    Some(LatencyRuns::new(&runs?))
}

/// A test of one side, and what was kept of its latencies.
pub(super) type Side<'a> = (&'a Test, Option<&'a LatencyRuns>);

/// The ratios of `a` to `b`; `None` where a percentile of either is zero.
pub(super) fn ratio(
    (a, a_runs): Side<'_>,
    (b, b_runs): Side<'_>,
    design: Design,
    contrast: &Contrast,
) -> Option<LatencyRatio> {
    let percentile = |percent: f64, of: fn(&Latency) -> u64| {
        let (a_ns, b_ns) = (of(&a.latency_ns), of(&b.latency_ns));
        let ratio = (a_ns > 0 && b_ns > 0).then(|| a_ns as f64 / b_ns as f64)?;
        // Runs that resemble the one before do so in both, throughput and latency.
        let factor = a_runs.zip(b_runs).map(|sides| {
            percentile_ratio_factor(sides, percent, design, CONFIDENCE, contrast.stretch())
        });
        let no_interval = match factor {
            Some(Ok(_)) => None,
            Some(Err(stats::compare::NoInterval::FewRuns)) => Some(NoInterval::FewRuns),
            Some(Err(stats::compare::NoInterval::FewLatencies)) => Some(NoInterval::FewLatencies),
            None => Some(NoInterval::NotKept),
        };
        let factor = factor.and_then(Result::ok);
        Some(PercentileRatio {
            ratio,
            low: factor.map(|factor| ratio / factor),
            high: factor.map(|factor| ratio * factor),
            no_interval,
        })
    };
    Some(LatencyRatio {
        p50: percentile(50.0, |latency| latency.p50)?,
        p99: percentile(99.0, |latency| latency.p99)?,
        p999: percentile(99.9, |latency| latency.p999)?,
    })
}

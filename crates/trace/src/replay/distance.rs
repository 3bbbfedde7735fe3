//! How far two distributions of latencies lie from each other.

use serde::{Deserialize, Serialize};
use stats::LatencyHistogram;

/// How far the latencies of a replay lie from the original's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distance {
    /// Kolmogorov and Smirnov's: the greatest difference of the two shares at or below a latency, 0 to 1.
    pub ks: f64,
    /// Wasserstein's of order 1: by how much latencies would have to be moved on average, in nanoseconds.
    pub wasserstein_ns: f64,
    /// Median over the original's.
    pub p50_ratio: Option<f64>,
    /// 99th percentile over the original's.
    pub p99_ratio: Option<f64>,
    /// 99.9th percentile over the original's.
    pub p999_ratio: Option<f64>,
}

/// The distance of `replay` from `original`, to the 0.1% that histograms keep; `None` when one of them is empty.
pub(super) fn distance(replay: &LatencyHistogram, original: &LatencyHistogram) -> Option<Distance> {
    if replay.is_empty() || original.is_empty() {
        return None;
    }
    let bins = |h: &LatencyHistogram, sign: f64| {
        let share = sign / h.count() as f64;
        h.iter().map(|(ns, count)| (ns, share * count as f64)).collect::<Vec<_>>()
    };
    let mut steps = bins(replay, 1.0);
    steps.extend(bins(original, -1.0));
    steps.sort_unstable_by_key(|(ns, _)| *ns);
    let (mut gap, mut ks, mut moved) = (0.0_f64, 0.0_f64, 0.0);
    for (index, (ns, step)) in steps.iter().enumerate() {
        gap += step;
        let next = steps.get(index + 1).map_or(*ns, |(next, _)| *next);
        // Steps of one bin belong together: between them the shares are not what they are at the latency.
        if next > *ns {
            ks = ks.max(gap.abs());
            moved += gap.abs() * (next - ns) as f64;
        }
    }
    let ratio = |percent| {
        let (a, b) = (replay.percentile(percent)?, original.percentile(percent)?);
        (b > 0).then(|| a as f64 / b as f64)
    };
    Some(Distance {
        ks,
        wasserstein_ns: moved,
        p50_ratio: ratio(50.0),
        p99_ratio: ratio(99.0),
        p999_ratio: ratio(99.9),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        values.into_iter().for_each(|ns| histogram.record(ns));
        histogram
    }

    #[test]
    fn a_shift_is_the_distance_and_its_share_the_other() {
        // By definition: all moved by 1,000 ns, and none of the one below the greatest of the other.
        let far = distance(&of([2000; 10]), &of([1000; 5])).unwrap();
        assert!(
            (far.ks - 1.0).abs() < 1e-12 && (far.wasserstein_ns / 1000.0 - 1.0).abs() < 2e-3,
            "{far:?}"
        );
        assert!((far.p50_ratio.unwrap() - 2.0).abs() < 4e-3);
        // One in ten moved by 1,000.
        let near = distance(
            &of([1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 2000]),
            &of([1000]),
        )
        .unwrap();
        assert!(
            (near.ks - 0.1).abs() < 1e-9 && (near.wasserstein_ns / 100.0 - 1.0).abs() < 2e-3,
            "{near:?}"
        );
    }

    #[test]
    fn the_same_is_no_distance_and_nothing_has_none() {
        let same = distance(&of(1..5000), &of(1..5000)).unwrap();
        assert_eq!((same.ks, same.wasserstein_ns, same.p99_ratio), (0.0, 0.0, Some(1.0)));
        assert_eq!(distance(&of([]), &of([1])), None);
    }
}

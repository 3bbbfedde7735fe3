//! Percentiles that say how well they are known.

use super::LatencyHistogram;
use crate::interval::last_rank;
use crate::{binomial, sample};
use serde::{Deserialize, Serialize};

/// Chance that is taken for a percentile that lies above everything that was seen.
const UNSEEN: f64 = 0.05;

/// A percentile with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Percentile {
    /// The percentage asked for.
    pub percent: f64,
    /// The value, as of [`LatencyHistogram::percentile`], in nanoseconds.
    pub value_ns: u64,
    /// Lower end, in nanoseconds.
    pub low_ns: Option<u64>,
    /// Upper end, in nanoseconds; `None` when even the greatest latency is not surely above the percentile.
    pub high_ns: Option<u64>,
    /// Confidence asked for, half of the error on each side.
    pub confidence: f64,
    /// Latencies.
    pub n: u64,
}

impl LatencyHistogram {
    /// Latencies that it takes to see beyond the percentile with 95%: ln 0.05 / ln p, which is 300,000 for
    /// 99.999%. `None` when `percent` is not within (0, 100).
    pub fn count_needed(percent: f64) -> Option<u64> {
        let above = 1.0 - percent / 100.0;
        (above > 0.0 && above < 1.0).then(|| (UNSEEN.ln() / (-above).ln_1p()).ceil() as u64)
    }

    /// A percentile between two order statistics, whose ranks come from the binomial distribution: each end errs with
    /// at most half of 1 - `confidence`, for independent latencies. Those of one drive depend on each other; merge
    /// runs, or take the interval for the least that it could be.
    ///
    /// `None` when there are fewer latencies than [`LatencyHistogram::count_needed`]: the greatest of too few says
    /// nothing of a percentile beyond it, and a number in its place would be taken for one. Also when `percent` is not
    /// within (0, 100) or `confidence` not within (0, 1).
    pub fn percentile_interval(&self, percent: f64, confidence: f64) -> Option<Percentile> {
        let needed = LatencyHistogram::count_needed(percent)?;
        if self.count() < needed || !sample::valid_confidence(confidence) {
            return None;
        }
        let n = usize::try_from(self.count()).ok()?;
        let (p, tail) = (percent / 100.0, (1.0 - confidence) / 2.0);
        // Below rank k lie fewer than k: the k-th least is above the percentile with P(X < k).
        let below = |rank: usize| binomial::cdf(rank - 1, n, p) <= tail;
        let above = |rank: usize| binomial::survival(rank, n, p) <= tail;
        let low = last_rank(n, below).map(|rank| self.at_rank(rank as u64));
        let high = first(n, above).map(|rank| self.at_rank(rank as u64));
        Some(Percentile {
            percent,
            value_ns: self.percentile(percent)?,
            low_ns: low,
            high_ns: high,
            confidence,
            n: self.count(),
        })
    }

    /// The latency of a rank from 1 on, to 0.1%.
    fn at_rank(&self, rank: u64) -> u64 {
        let value = self.bins.value_at_quantile((rank as f64 - 0.5) / self.count() as f64);
        value.clamp(self.min_ns, self.max_ns)
    }
}

/// The least rank up to `n` for which `holds`, which turns from false to true once.
fn first(n: usize, holds: impl Fn(usize) -> bool) -> Option<usize> {
    let rank = last_rank(n, |rank| !holds(rank)).map_or(1, |rank| rank + 1);
    (rank <= n).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn histogram(latencies: impl IntoIterator<Item = u64>) -> LatencyHistogram {
        let mut histogram = LatencyHistogram::new();
        latencies.into_iter().for_each(|ns| histogram.record(ns));
        histogram
    }

    // A p99.999 of a thousand reads is their greatest, and would be printed as if it were known.
    #[test]
    fn too_few_latencies_give_no_number() {
        let needed = |percent| LatencyHistogram::count_needed(percent);
        assert_eq!(needed(99.999), Some(299_572));
        assert_eq!((needed(50.0), needed(99.0)), (Some(5), Some(299)));
        assert_eq!((needed(100.0), needed(0.0), needed(f64::NAN)), (None, None, None));
        let few = histogram(1..=298);
        assert_eq!(few.percentile_interval(99.0, 0.95), None);
        let enough = histogram(1..=299).percentile_interval(99.0, 0.95).unwrap();
        // The bound that is shown errs with 2.5%, which takes more than the number does.
        assert_eq!((enough.value_ns, enough.high_ns), (297, None));
        assert!(histogram(1..=299).percentile_interval(99.0, 0.90).unwrap().high_ns.is_some());
        assert_eq!(LatencyHistogram::new().percentile_interval(50.0, 0.95), None);
    }

    #[test]
    fn intervals_cover_as_often_as_they_say() {
        let mut stream = Stream::new(4);
        let mut covered = 0;
        for _ in 0..500 {
            let drawn = histogram((0..2_000).map(|_| 1 + stream.below(1_000_000) as u64));
            let found = drawn.percentile_interval(99.0, 0.95).unwrap();
            let (low, high) = (found.low_ns.unwrap(), found.high_ns.unwrap());
            covered += u32::from((low..=high).contains(&990_000));
        }
        // At least 95% of 500; four standard deviations are 20.
        assert!(covered >= 455, "{covered}");
    }

    // fio's histogram ends at 17 s; a drive that hangs for a minute hangs for a minute.
    #[test]
    fn a_minute_is_a_minute() {
        let hanging = histogram((0..1_000).map(|i| if i < 500 { 60_000_000_000 } else { 1_000 }));
        let p99 = hanging.percentile_interval(99.0, 0.95).unwrap();
        assert_eq!((p99.value_ns, p99.high_ns), (60_000_000_000, Some(60_000_000_000)));
    }

    #[test]
    fn a_billion_latencies_are_no_burden() {
        let mut many = LatencyHistogram::new();
        many.record_n(1_000, 999_000_000);
        many.record_n(2_000, 1_000_000);
        let found = many.percentile_interval(99.9, 0.95).unwrap();
        assert_eq!((found.low_ns, found.high_ns.map(|ns| ns / 100)), (Some(1_000), Some(20)));
    }
}

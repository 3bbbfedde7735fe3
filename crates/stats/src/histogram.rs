//! Latencies in bounded memory.

mod bins;
mod encoded;
mod percentile;

pub use bins::LatencyBins;
pub use percentile::Percentile;

use hdrhistogram::Histogram;

/// Latencies above this are counted in the last bin: one hour, in nanoseconds.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

/// A mergeable histogram of latencies in nanoseconds: 1 ns to one hour with three significant decimal
/// digits, 264 KiB, with exact count, sum, least and greatest beside the bins.
///
/// Nothing is allocated after [`LatencyHistogram::new`], and no call can fail. Compare percentiles of
/// merged histograms; averages of percentiles mean nothing.
#[derive(Clone, Debug)]
pub struct LatencyHistogram {
    bins: Histogram<u64>,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
    saturated: u64,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        LatencyHistogram::new()
    }
}

impl LatencyHistogram {
    /// An empty histogram with all its memory.
    #[expect(clippy::expect_used, reason = "the bounds are constants within those of hdrhistogram")]
    pub fn new() -> LatencyHistogram {
        let bins = Histogram::new_with_bounds(1, HIGHEST_NS, 3).expect("1 <= low, 2 low <= high");
        LatencyHistogram { bins, sum_ns: 0, min_ns: u64::MAX, max_ns: 0, saturated: 0 }
    }

    /// Counts one latency. One above [`HIGHEST_NS`] falls into the last bin and is counted by
    /// [`LatencyHistogram::saturated`]; sum and greatest stay exact.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.record_n(ns, 1);
    }

    /// Counts the same latency `count` times, as when reading back what [`LatencyHistogram::iter`]
    /// gave; the sum is then exact to a bin's width.
    #[inline]
    pub fn record_n(&mut self, ns: u64, count: u64) {
        if count == 0 {
            return;
        }
        self.bins.saturating_record_n(ns.min(HIGHEST_NS), count);
        self.sum_ns = self.sum_ns.saturating_add(u128::from(ns) * u128::from(count));
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        if ns > HIGHEST_NS {
            self.saturated = self.saturated.saturating_add(count);
        }
    }

    /// Adds everything that `other` counted.
    #[expect(clippy::expect_used, reason = "all histograms of this type have the same bounds")]
    pub fn merge(&mut self, other: &LatencyHistogram) {
        self.bins.add(&other.bins).expect("same bounds");
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.saturated = self.saturated.saturating_add(other.saturated);
    }

    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.bins.reset();
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
        self.saturated = 0;
    }

    /// Latencies counted.
    pub fn count(&self) -> u64 {
        self.bins.len()
    }

    /// True when nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Latencies above [`HIGHEST_NS`]. When not zero, percentiles that lie among them are too low.
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// The least, exact, in nanoseconds. `None` when empty.
    pub fn min(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.min_ns)
    }

    /// The greatest, exact, in nanoseconds. `None` when empty.
    pub fn max(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.max_ns)
    }

    /// The mean of the exact sum, in nanoseconds. `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (!self.is_empty()).then(|| self.sum_ns as f64 / self.count() as f64)
    }

    /// The least latency, to 0.1%, that at least `percent` of all do not exceed (nearest rank);
    /// `percent` from 0 to 100. The greatest of its bin, but never beyond the exact minimum and
    /// maximum, in nanoseconds. `None` when empty or `percent` is out of range.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        if self.is_empty() || !(0.0..=100.0).contains(&percent) {
            return None;
        }
        // The rank is settled here: 99.9 / 100 * 1000 is a little more than 999 in binary, and would
        // be rounded up to the next rank. Then the middle of that rank is asked for.
        let count = self.count() as f64;
        let rank = (percent * count / 100.0 * (1.0 - 1e-12)).ceil().max(1.0);
        let value = self.bins.value_at_quantile((rank - 0.5) / count);
        Some(value.clamp(self.min_ns, self.max_ns))
    }

    /// Non-empty bins in ascending order: the greatest latency of the bin in nanoseconds, and its
    /// count.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.bins.iter_recorded().map(|bin| (bin.value_iterated_to(), bin.count_at_value()))
    }
}

/// Equal when bins and exact figures are.
impl PartialEq for LatencyHistogram {
    fn eq(&self, other: &Self) -> bool {
        (self.sum_ns, self.min_ns, self.max_ns, self.saturated)
            == (other.sum_ns, other.min_ns, other.max_ns, other.saturated)
            && self.bins == other.bins
    }
}

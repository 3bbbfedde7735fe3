//! The latencies of a run in the memory that they need.

use super::LatencyHistogram;

/// The bins of a [`LatencyHistogram`] that are not empty. Of hundreds of runs the histograms themselves would fill the
/// memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LatencyBins(Vec<(u64, u64)>);

impl From<&LatencyHistogram> for LatencyBins {
    fn from(histogram: &LatencyHistogram) -> LatencyBins {
        LatencyBins(histogram.iter().collect())
    }
}

impl LatencyBins {
    /// Greatest latency of each bin, in nanoseconds, and its count, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }
}

//! Results of other tools, in figures that can become a run comparable with our own.

use block::Nanos;
use stats::LatencyHistogram;

pub use super::joined::joined;

/// Options that the tool was given, as far as its file reports them; the others are `None`, and never a default that
/// the file does not report either.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// The target, as the tool was given it.
    pub target: Option<String>,
    /// How I/O was issued, such as `libaio`.
    pub engine: Option<String>,
    /// Whether the page cache was to be bypassed.
    pub direct: Option<bool>,
    /// Whether each write had to be durable before it completed.
    pub durable: Option<bool>,
    /// Whether addresses were drawn, or else one after the other.
    pub random: Option<bool>,
    /// Outstanding I/Os of a thread.
    pub depth: Option<u16>,
    /// Threads, of all targets together.
    pub threads: Option<u16>,
    /// Share of reads in percent, where both were issued.
    pub reads_percent: Option<u8>,
    /// Measured time.
    pub duration: Option<Nanos>,
    /// Load before it.
    pub warm_up: Option<Nanos>,
    /// Seed of the random addresses, if runs with the same seed draw the same ones.
    pub seed: Option<u64>,
    /// How often the whole was to be gone through.
    pub loops: Option<u64>,
    /// True when the result is one of several threads of a job, which ran at the same time.
    pub is_one_of_threads: bool,
}

/// One direction of one result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Its direction.
    pub way: Way,
    /// Bytes that were moved.
    pub bytes: Option<u64>,
    /// I/Os that completed.
    pub ios: Option<u64>,
    /// How long that took.
    pub duration_ns: Option<u64>,
    /// Bytes a second, as the tool says.
    pub bytes_per_s: f64,
    /// I/Os a second, as the tool says.
    pub iops: Option<f64>,
    /// Mean time that it took to issue an I/O, in nanoseconds.
    pub submission_ns: Option<f64>,
    /// From issue to completion.
    pub latency: ToldLatency,
}

/// Direction of the I/Os of a [`Measured`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Way {
    /// From the drive.
    #[default]
    Read,
    /// To the drive.
    Write,
    /// Both, where the tool does not keep them apart.
    Both,
}

/// Latencies that a tool reports, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToldLatency {
    /// Arithmetic mean.
    pub mean_ns: Option<f64>,
    /// The shortest.
    pub min_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
    /// Percent and value, in ascending order.
    pub percentiles: Vec<(f64, u64)>,
    /// All of them, where they can be counted: then percentiles of several runs can be made of it.
    pub histogram: Option<LatencyHistogram>,
}

impl ToldLatency {
    /// The value of the percentile `percent`, if the tool reported it.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let told = self.percentiles.iter().find(|(told, _)| (told - percent).abs() < 1e-6);
        told.map(|(_, ns)| *ns)
    }

    /// Both as one, as far as they can be: percentiles of two cannot be made of their percentiles. `counts` are the
    /// I/Os of each.
    fn and(&self, other: &ToldLatency, counts: (Option<u64>, Option<u64>)) -> ToldLatency {
        let histogram = self.histogram.clone().zip(other.histogram.as_ref());
        let both = |a: Option<u64>, b: Option<u64>, of: fn(u64, u64) -> u64| {
            a.zip(b).map(|(a, b)| of(a, b))
        };
        ToldLatency {
            mean_ns: mean_of_both(counts, self.mean_ns.zip(other.mean_ns)),
            min_ns: both(self.min_ns, other.min_ns, u64::min),
            max_ns: both(self.max_ns, other.max_ns, u64::max),
            percentiles: Vec::new(),
            histogram: histogram.map(|(mut ours, theirs)| {
                ours.merge(theirs);
                ours
            }),
        }
    }
}

/// The mean of all I/Os of two, from the count and the mean of each; `None` when one of these is missing.
fn mean_of_both(counts: (Option<u64>, Option<u64>), means: Option<(f64, f64)>) -> Option<f64> {
    let (a, b) = (counts.0? as f64, counts.1? as f64);
    let (x, y) = means?;
    (a + b > 0.0).then(|| (a * x + b * y) / (a + b))
}

impl Measured {
    /// Both as what one run did: of threads, or of reads and writes. Rates add up; the longer time is that of both.
    #[must_use]
    pub fn and(&self, other: &Measured) -> Measured {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        let counts = (self.ios, other.ios);
        Measured {
            way: if self.way == other.way { self.way } else { Way::Both },
            bytes: sum(self.bytes, other.bytes),
            ios: sum(self.ios, other.ios),
            duration_ns: self.duration_ns.max(other.duration_ns),
            bytes_per_s: self.bytes_per_s + other.bytes_per_s,
            iops: self.iops.zip(other.iops).map(|(a, b)| a + b),
            submission_ns: mean_of_both(counts, self.submission_ns.zip(other.submission_ns)),
            latency: self.latency.and(&other.latency, counts),
        }
    }

    /// All of `measured` as what one run did; none when nothing was moved.
    pub fn of_all(measured: &[Measured]) -> Option<Measured> {
        let (first, rest) = measured.split_first()?;
        Some(rest.iter().fold(first.clone(), |sum, one| sum.and(one)))
    }
}

/// A histogram of bins that are named by a latency in nanoseconds, with the exact shortest and longest where they are
/// known. None when it would be empty.
pub(super) fn histogram(
    bins: impl IntoIterator<Item = (u64, u64)>,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
) -> Option<LatencyHistogram> {
    let mut bins: Vec<(u64, u64)> = bins.into_iter().filter(|(_, count)| *count > 0).collect();
    bins.sort_unstable();
    let mut histogram = LatencyHistogram::new();
    // Each end replaces one I/O of the bin at that end, so that counts stay as they are.
    let end = |at: Option<&mut (u64, u64)>, ns: Option<u64>, histogram: &mut LatencyHistogram| {
        let is_of =
            |bin: u64, ns: u64| stats::fio_bins::index_of(ns) == stats::fio_bins::index_of(bin);
        if let (Some((bin, count)), Some(ns)) = (at, ns)
            && *count > 0
            && (is_of(*bin, ns) || ns > *bin)
        {
            *count -= 1;
            histogram.record(ns);
        }
    };
    end(bins.last_mut(), max_ns, &mut histogram);
    let is_first = |bin: &(u64, u64)| {
        min_ns.is_some_and(|ns| stats::fio_bins::index_of(ns) == stats::fio_bins::index_of(bin.0))
    };
    end(bins.first_mut().filter(|bin| is_first(bin)), min_ns, &mut histogram);
    // The middle of a bin may lie beyond the longest that it holds.
    let (least, most) = (min_ns.unwrap_or(0), max_ns.unwrap_or(u64::MAX));
    for (ns, count) in bins {
        histogram.record_n(ns.min(most).max(least.min(most)), count);
    }
    (!histogram.is_empty()).then_some(histogram)
}

#[cfg(test)]
mod tests {
    use super::*;

    // A histogram whose count is not that of the bins would give other percentiles after each import.
    #[test]
    fn ends_are_exact_and_counts_stay() {
        let found = histogram([(14_656, 3), (33_536, 2)], Some(14_612), Some(33_400)).unwrap();
        assert_eq!((found.count(), found.min(), found.max()), (5, Some(14_612), Some(33_400)));
        let one = histogram([(100, 1)], Some(100), Some(100)).unwrap();
        assert_eq!((one.count(), one.min(), one.max()), (1, Some(100), Some(100)));
        assert!(histogram([(5, 0)], None, None).is_none());
    }

    // Percentiles that were averaged, or taken from one of two, are percentiles of nothing.
    #[test]
    fn percentiles_of_two_are_not_made_of_their_percentiles() {
        let latency = |mean| ToldLatency {
            mean_ns: Some(mean),
            percentiles: vec![(99.0, 5)],
            ..ToldLatency::default()
        };
        let one = |ios, mean| Measured {
            ios: Some(ios),
            iops: Some(10.0),
            bytes_per_s: 1.0,
            latency: latency(mean),
            ..Measured::default()
        };
        let both = one(1, 100.0).and(&one(3, 200.0));
        assert_eq!((both.ios, both.iops, both.bytes_per_s), (Some(4), Some(20.0), 2.0));
        assert_eq!(both.latency.mean_ns, Some(175.0));
        assert!(both.latency.percentiles.is_empty() && both.latency.histogram.is_none());
    }
}

//! A distribution of whole numbers in little memory: what a histogram of one process among hundreds can afford.

use serde::{Deserialize, Serialize};

/// Bins to an octave, as a power of two: a bin is at most 1/256 of its value wide.
const FINE: u32 = 8;
/// Bins to an octave.
const BINS: usize = 1 << FINE;
/// Octaves above the numbers that are counted one by one.
const OCTAVES: usize = 64 - FINE as usize;

/// Exact count, sum, least and greatest of numbers, and their percentiles to 0.4%.
///
/// Numbers below 256 have a bin each. Above, every octave has 256 bins of the same width, and their memory (2 KiB) is
/// taken when its first number comes: latencies of one kind span a few octaves. [`stats::LatencyHistogram`] is finer,
/// but takes 264 KiB whatever it holds, and an analysis has ten phases for each of hundreds of processes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    n: u64,
    sum: u128,
    min: u64,
    max: u64,
    octaves: Vec<Option<Box<[u64; BINS]>>>,
}

/// Figures of a distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many.
    pub n: u64,
    /// The least, exact, in nanoseconds.
    pub min_ns: u64,
    /// The mean of the exact sum, in nanoseconds.
    pub mean_ns: f64,
    /// The greatest, exact, in nanoseconds.
    pub max_ns: u64,
    /// The median, to 0.4%, in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile, to 0.4%, in nanoseconds.
    pub p99_ns: u64,
    /// 99.9th percentile, to 0.4%, in nanoseconds.
    pub p999_ns: u64,
}

impl Histogram {
    /// Counts a number.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts a number `times` over.
    #[inline]
    pub fn record_n(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        if self.n == 0 {
            self.min = value;
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.n += times;
        self.sum += u128::from(value) * u128::from(times);
        let (octave, bin) = place(value);
        match self.octaves.get_mut(octave) {
            Some(Some(bins)) => bins[bin] += times,
            _ => self.open(octave)[bin] += times,
        }
    }

    #[cold]
    fn open(&mut self, octave: usize) -> &mut [u64; BINS] {
        if self.octaves.len() <= octave {
            self.octaves.resize(octave + 1, None);
        }
        self.octaves[octave].get_or_insert_with(|| Box::new([0; BINS]))
    }

    /// Counts all that `other` has counted.
    pub fn merge(&mut self, other: &Histogram) {
        if other.n == 0 {
            return;
        }
        self.min = if self.n == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.n += other.n;
        self.sum += other.sum;
        for (octave, theirs) in other.octaves.iter().enumerate() {
            let Some(theirs) = theirs else { continue };
            if self.octaves.get(octave).is_none_or(Option::is_none) {
                self.open(octave);
            }
            if let Some(Some(bins)) = self.octaves.get_mut(octave) {
                bins.iter_mut().zip(theirs.iter()).for_each(|(bin, times)| *bin += times);
            }
        }
    }

    /// How many were counted.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Their exact sum.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The least; 0 of none.
    pub fn min(&self) -> u64 {
        self.min
    }

    /// The greatest; 0 of none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The mean; 0 of none.
    pub fn mean(&self) -> f64 {
        if self.n == 0 { 0.0 } else { self.sum as f64 / self.n as f64 }
    }

    /// The least number that at least `per_mille` of a thousand do not exceed (nearest rank): the middle of its bin,
    /// which lies within 0.2% of it, but never beyond the exact least and greatest. 0 of none.
    pub fn percentile(&self, per_mille: u64) -> u64 {
        // In whole numbers: 99.9% of 1,000 in binary fractions is a little more than 999.
        let rank = (u128::from(self.n) * u128::from(per_mille)).div_ceil(1000).max(1);
        let mut seen = 0;
        for (octave, bins) in self.octaves.iter().enumerate() {
            for (bin, times) in bins.iter().flat_map(|bins| bins.iter().enumerate()) {
                seen += u128::from(*times);
                if seen >= rank {
                    return middle(octave, bin).clamp(self.min, self.max);
                }
            }
        }
        self.max
    }

    /// All of it as times; `None` of none.
    pub fn spread(&self) -> Option<Spread> {
        (self.n > 0).then(|| Spread {
            n: self.n,
            min_ns: self.min,
            mean_ns: self.mean(),
            max_ns: self.max,
            p50_ns: self.percentile(500),
            p99_ns: self.percentile(990),
            p999_ns: self.percentile(999),
        })
    }
}

/// Octave and bin of a number. Octave 0 holds what is below 256, octave `o` what is below 256 · 2^o.
#[inline]
fn place(value: u64) -> (usize, usize) {
    let bits = 64 - value.leading_zeros();
    let octave = bits.saturating_sub(FINE) as usize;
    if octave == 0 {
        return (0, value as usize);
    }
    debug_assert!(octave <= OCTAVES);
    // The leading bit is known, the next eight name the bin.
    let bin = if octave == 1 { value - BINS as u64 } else { (value >> (octave - 1)) - BINS as u64 };
    (octave, bin as usize)
}

/// The middle of a bin, rounded down.
fn middle(octave: usize, bin: usize) -> u64 {
    if octave == 0 {
        return bin as u64;
    }
    let width = 1u64 << (octave - 1);
    (BINS as u64 + bin as u64) * width + (width - 1) / 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_numbers_are_exact_and_none_is_lost_at_the_ends() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.spread(), None);
        for value in 0..=511 {
            histogram.record(value);
        }
        // Bins of the first octave above 256 are one wide too.
        assert_eq!((histogram.percentile(0), histogram.percentile(500)), (0, 255));
        assert_eq!((histogram.percentile(999), histogram.percentile(1000)), (511, 511));
        histogram.record_n(u64::MAX, 512);
        assert_eq!((histogram.n(), histogram.max()), (1024, u64::MAX));
        assert!(histogram.percentile(501) > u64::MAX - u64::MAX / 256);
        assert_eq!(histogram.sum(), 511 * 256 + u128::from(u64::MAX) * 512);
    }

    #[test]
    fn ranks_are_the_nearest_in_whole_numbers() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|value| histogram.record(value * 1_000_000));
        let near = |found: u64, exact: u64| found.abs_diff(exact) * 500 <= exact;
        assert!(near(histogram.percentile(999), 999_000_000), "{}", histogram.percentile(999));
        assert!(near(histogram.percentile(990), 990_000_000), "{}", histogram.percentile(990));
        assert!(near(histogram.percentile(500), 500_000_000), "{}", histogram.percentile(500));
    }

    proptest! {
        // Breaks when a bin does not hold the number that was put into it, or parts do not make the whole.
        #[test]
        fn percentiles_are_within_their_resolution(
            mut values in proptest::collection::vec((0u32..64).prop_flat_map(|bits| 0..=u64::MAX >> bits), 1..300),
            cut in 0usize..300,
            per_mille in 0u64..=1000,
        ) {
            let cut = cut.min(values.len());
            let (mut left, mut right) = (Histogram::default(), Histogram::default());
            values[..cut].iter().for_each(|v| left.record(*v));
            values[cut..].iter().for_each(|v| right.record(*v));
            left.merge(&right);
            values.sort_unstable();
            let rank = (values.len() * per_mille as usize).div_ceil(1000).max(1);
            let exact = values[rank - 1];
            let found = left.percentile(per_mille);
            prop_assert!(found.abs_diff(exact) <= exact / 256, "{found} for {exact}");
            prop_assert_eq!(left.n(), values.len() as u64);
            prop_assert_eq!((left.min(), left.max()), (values[0], values[values.len() - 1]));
            prop_assert_eq!(left.sum(), values.iter().map(|v| u128::from(*v)).sum::<u128>());
        }
    }
}

//! Counts of values in bins that widen with the values, in constant memory.

use serde::{Deserialize, Serialize};

/// Counts of whole numbers: each below `2^SUB` by itself, and `2^SUB` bins of equal width from each power of two to
/// the next. A value is known to 1 part in `2^SUB`.
///
/// Memory: `8 * (65 - SUB) * 2^SUB` bytes, 30 KiB for a `SUB` of 6. `stats::LatencyHistogram` is finer (0.1%), ends
/// at an hour and takes 264 KiB; this is for bytes, blocks, and wherever there are many of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bins<const SUB: u32> {
    counts: Box<[u64]>,
    total: u64,
}

impl<const SUB: u32> Default for Bins<SUB> {
    fn default() -> Self {
        Bins::new()
    }
}

impl<const SUB: u32> Bins<SUB> {
    /// How many bins there are.
    pub const LEN: usize = ((65 - SUB) as usize) << SUB;

    /// No values.
    pub fn new() -> Bins<SUB> {
        Bins { counts: vec![0; Self::LEN].into_boxed_slice(), total: 0 }
    }

    /// The bin of a value.
    #[inline]
    pub const fn index(value: u64) -> usize {
        if value < 1 << SUB {
            return value as usize;
        }
        let octave = 63 - value.leading_zeros();
        let within = (value >> (octave - SUB)) & ((1 << SUB) - 1);
        (((octave - SUB + 1) as usize) << SUB) | within as usize
    }

    /// The least value of a bin.
    pub const fn low(bin: usize) -> u64 {
        let (row, within) = (bin >> SUB, (bin & ((1 << SUB) - 1)) as u64);
        if row == 0 { within } else { ((1 << SUB) + within) << (row - 1) }
    }

    /// The greatest value of a bin.
    pub const fn high(bin: usize) -> u64 {
        if bin + 1 >= Self::LEN { u64::MAX } else { Self::low(bin + 1) - 1 }
    }

    /// Counts a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.add_n(value, 1);
    }

    /// Counts a value `count` times.
    #[inline]
    pub fn add_n(&mut self, value: u64, count: u64) {
        self.counts[Self::index(value)] += count;
        self.total += count;
    }

    /// Adds all that `other` counted.
    pub fn merge(&mut self, other: &Bins<SUB>) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.total += other.total;
    }

    /// Values counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Bins that are not empty, ascending: number and count.
    pub fn filled(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.counts.iter().copied().enumerate().filter(|(_, count)| *count > 0)
    }

    /// The greatest value of the bin in which the value of nearest rank lies; `None` when empty. `share` from 0 to 1.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let values = self.filled().map(|(bin, count)| (Self::high(bin), count));
        quantile(values, self.total, share)
    }
}

/// The value of nearest rank among `total` values given ascending with their counts: the least that at least `share`
/// of all do not exceed. `None` when there are none.
pub fn quantile(
    ascending: impl Iterator<Item = (u64, u64)>,
    total: u64,
    share: f64,
) -> Option<u64> {
    // 0.999 * 1000 is a little more than 999 in binary, and would be rounded up to the next rank.
    let rank = ((share * total as f64) * (1.0 - 1e-12)).ceil().max(1.0) as u64;
    let mut seen = 0;
    ascending
        .into_iter()
        .find(|(_, count)| {
            seen += count;
            seen >= rank
        })
        .map(|(value, _)| value)
}

/// How many values lie from a power of two to below the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Power {
    /// The least value that is counted here: 0 or a power of two.
    pub from: u64,
    /// How many.
    pub count: u64,
}

/// Counts by power of two: 65 numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Powers([u64; 65]);

impl Default for Powers {
    fn default() -> Self {
        Powers([0; 65])
    }
}

impl Powers {
    /// Counts a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.add_n(value, 1);
    }

    /// Counts a value `count` times.
    #[inline]
    pub fn add_n(&mut self, value: u64, count: u64) {
        self.0[(64 - value.leading_zeros()) as usize] += count;
    }

    /// Adds all that `other` counted.
    pub fn merge(&mut self, other: &Powers) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Counts by power of two, ascending, without the empty ones.
    pub fn list(&self) -> Vec<Power> {
        let from = |row: usize| if row == 0 { 0 } else { 1 << (row - 1) };
        let all = self.0.iter().enumerate().map(|(row, &count)| Power { from: from(row), count });
        all.filter(|power| power.count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If it failed, percentiles would be those of other values than were counted.
    #[test]
    fn every_value_lies_in_its_bin_and_bins_touch() {
        let mut values: Vec<u64> = (0..5_000).collect();
        values.extend((0..64).flat_map(|bit| [(1 << bit) - 1, 1 << bit, (1 << bit) + 1]));
        values.push(u64::MAX);
        for value in values {
            let bin = Bins::<4>::index(value);
            assert!(bin < Bins::<4>::LEN, "{value}");
            assert!(Bins::<4>::low(bin) <= value && value <= Bins::<4>::high(bin), "{value}");
            let width = Bins::<4>::high(bin) - Bins::<4>::low(bin);
            assert!(width <= value / 16, "{value}: a bin of {width}");
        }
        let touch = |bin: &usize| Bins::<4>::high(*bin) + 1 == Bins::<4>::low(bin + 1);
        assert_eq!((0..Bins::<4>::LEN - 1).filter(touch).count(), Bins::<4>::LEN - 1);
        assert_eq!(Bins::<4>::high(Bins::<4>::LEN - 1), u64::MAX);
    }

    #[test]
    fn ranks_are_the_nearest() {
        let mut bins = Bins::<6>::new();
        (1..=50).for_each(|value| bins.add(value));
        let quantiles = [0.0, 0.02, 0.021, 0.5, 0.98, 1.0].map(|share| bins.quantile(share));
        assert_eq!(quantiles, [1, 1, 2, 25, 49, 50].map(Some));
        assert_eq!(Bins::<6>::new().quantile(0.5), None);
    }

    #[test]
    fn powers_are_counted_by_their_lower_end() {
        let mut powers = Powers::default();
        [0, 1, 2, 3, 4, 7, 8, u64::MAX].into_iter().for_each(|value| powers.add(value));
        let list: Vec<(u64, u64)> = powers.list().iter().map(|p| (p.from, p.count)).collect();
        assert_eq!(list, [(0, 1), (1, 1), (2, 2), (4, 2), (8, 1), (1 << 63, 1)]);
    }
}

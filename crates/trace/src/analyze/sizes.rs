//! How long I/Os are.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::bins::{Bins, Powers, quantile};
use crate::{Io, Kind};

/// Sizes that are listed, the most frequent of all.
pub const COMMON: usize = 16;
/// Whole sectors up to this many have a counter each: sizes to 2 MiB, which is beyond what drives take at once.
const SECTORS: usize = 4096;
const SECTOR: u64 = 512;
/// Most other sizes that have a counter each.
const ODD_MAX: usize = 4096;

/// A size that is common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommonSize {
    /// The size.
    pub bytes: u64,
    /// I/Os of exactly this size.
    pub ios: u64,
    /// Share of all.
    pub share: f64,
}

/// Sizes from a power of two to below the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeRange {
    /// The least size that is counted here: 0 or a power of two.
    pub from_bytes: u64,
    /// I/Os of these sizes.
    pub ios: u64,
    /// Of them, those whose size is not among the common ones.
    pub uncommon_ios: u64,
}

/// How long I/Os of one kind are. Sizes are `None` when there is no I/O.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named as they are")]
pub struct SizeTable {
    pub ios: u64,
    /// Sum; stops at the greatest number.
    pub bytes: u64,
    pub min_bytes: Option<u64>,
    pub mean_bytes: Option<f64>,
    pub max_bytes: Option<u64>,
    pub p01_bytes: Option<u64>,
    pub p10_bytes: Option<u64>,
    pub p25_bytes: Option<u64>,
    pub p50_bytes: Option<u64>,
    pub p75_bytes: Option<u64>,
    pub p90_bytes: Option<u64>,
    pub p99_bytes: Option<u64>,
    pub p999_bytes: Option<u64>,
    /// How many different sizes were counted separately.
    pub distinct: u64,
    /// I/Os whose size was not counted separately, because there were too many different ones before. Zero: all is
    /// exact. Their sizes are known to 1 part in 64, rounded up.
    pub lumped_ios: u64,
    /// The most frequent sizes, the most frequent first.
    pub common: Vec<CommonSize>,
    /// All sizes, ascending.
    pub ranges: Vec<SizeRange>,
}

/// How long I/Os are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizesBody {
    /// Reads and writes.
    pub transfers: SizeTable,
    /// Reads.
    pub reads: SizeTable,
    /// Writes.
    pub writes: SizeTable,
    /// Discards, and zeroes written without transfer.
    pub discards: SizeTable,
}

/// Counts sizes. Memory: at most 0.7 MiB.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    reads: Table,
    writes: Table,
    discards: Table,
}

impl Sizes {
    /// Nothing seen.
    pub fn new() -> Sizes {
        Sizes::default()
    }

    /// Counts an I/O.
    #[inline]
    pub fn see(&mut self, io: &Io) {
        match io.kind {
            Kind::Read => self.reads.add(io.length.0),
            Kind::Write => self.writes.add(io.length.0),
            Kind::Discard | Kind::WriteZeroes => self.discards.add(io.length.0),
            Kind::Flush | Kind::Zone | Kind::Other => {}
        }
    }

    /// Returns the result.
    pub fn finish(&self) -> SizesBody {
        let mut transfers = self.reads.clone();
        transfers.merge(&self.writes);
        SizesBody {
            transfers: transfers.finish(),
            reads: self.reads.finish(),
            writes: self.writes.finish(),
            discards: self.discards.finish(),
        }
    }
}

#[derive(Clone, Debug)]
struct Table {
    /// By whole sectors.
    sectors: Box<[u64]>,
    /// By exact size, of those that are not there.
    odd: HashMap<u64, u64>,
    /// Sizes that found no room in either.
    lumped: Bins<6>,
    bytes: u128,
    min: u64,
    max: u64,
}

impl Default for Table {
    fn default() -> Table {
        let sectors = vec![0; SECTORS + 1].into_boxed_slice();
        let (odd, lumped) = (HashMap::new(), Bins::new());
        Table { sectors, odd, lumped, bytes: 0, min: u64::MAX, max: 0 }
    }
}

impl Table {
    #[inline]
    fn add(&mut self, size: u64) {
        self.bytes += u128::from(size);
        self.min = self.min.min(size);
        self.max = self.max.max(size);
        match self.sectors.get_mut((size / SECTOR) as usize) {
            Some(count) if size.is_multiple_of(SECTOR) => *count += 1,
            _ => self.add_odd(size, 1),
        }
    }

    #[cold]
    fn add_odd(&mut self, size: u64, count: u64) {
        if self.odd.len() < ODD_MAX {
            *self.odd.entry(size).or_insert(0) += count;
        } else if let Some(known) = self.odd.get_mut(&size) {
            *known += count;
        } else {
            self.lumped.add_n(size, count);
        }
    }

    fn merge(&mut self, other: &Table) {
        self.sectors.iter_mut().zip(&other.sectors).for_each(|(mine, theirs)| *mine += theirs);
        let mut odd: Vec<(u64, u64)> = other.odd.iter().map(|(size, ios)| (*size, *ios)).collect();
        // If there is not room for all, the most frequent get it; never by the order of a hash.
        odd.sort_unstable_by_key(|(size, ios)| (std::cmp::Reverse(*ios), *size));
        odd.into_iter().for_each(|(size, ios)| self.add_odd(size, ios));
        self.lumped.merge(&other.lumped);
        self.bytes += other.bytes;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Sizes that were counted separately, with their I/Os, ascending.
    fn exact(&self) -> Vec<(u64, u64)> {
        let sectors = (0..).zip(&self.sectors).map(|(sectors, ios)| (sectors * SECTOR, *ios));
        let odd = self.odd.iter().map(|(size, ios)| (*size, *ios));
        let mut all: Vec<(u64, u64)> = sectors.filter(|(_, ios)| *ios > 0).chain(odd).collect();
        all.sort_unstable();
        all
    }

    fn finish(&self) -> SizeTable {
        let exact = self.exact();
        let mut common = exact.clone();
        common.sort_unstable_by_key(|(size, ios)| (std::cmp::Reverse(*ios), *size));
        common.truncate(COMMON);
        let mut all = exact.clone();
        all.extend(self.lumped.filled().map(|(bin, ios)| (Bins::<6>::high(bin), ios)));
        all.sort_unstable();
        let ios: u64 = all.iter().map(|(_, ios)| ios).sum();
        let q = |share: f64| quantile(all.iter().copied(), ios, share).map(|q| q.min(self.max));
        SizeTable {
            ios,
            bytes: u64::try_from(self.bytes).unwrap_or(u64::MAX),
            min_bytes: (ios > 0).then_some(self.min),
            mean_bytes: (ios > 0).then(|| self.bytes as f64 / ios as f64),
            max_bytes: (ios > 0).then_some(self.max),
            p01_bytes: q(0.01),
            p10_bytes: q(0.10),
            p25_bytes: q(0.25),
            p50_bytes: q(0.50),
            p75_bytes: q(0.75),
            p90_bytes: q(0.90),
            p99_bytes: q(0.99),
            p999_bytes: q(0.999),
            distinct: exact.len() as u64,
            lumped_ios: self.lumped.total(),
            ranges: ranges(&all, &common),
            common: common
                .iter()
                .map(|&(bytes, n)| CommonSize { bytes, ios: n, share: n as f64 / ios as f64 })
                .collect(),
        }
    }
}

fn ranges(all: &[(u64, u64)], common: &[(u64, u64)]) -> Vec<SizeRange> {
    let counted = |sizes: &[(u64, u64)]| {
        let mut powers = Powers::default();
        sizes.iter().for_each(|&(size, ios)| powers.add_n(size, ios));
        powers.list()
    };
    let listed = counted(common);
    let range = |range: super::bins::Power| {
        let known = listed.iter().find(|other| other.from == range.from);
        let known = known.map_or(0, |other| other.count);
        SizeRange { from_bytes: range.from, ios: range.count, uncommon_ios: range.count - known }
    };
    counted(all).into_iter().map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Bytes, Nanos};

    fn seen(sizes: impl IntoIterator<Item = (Kind, u64)>) -> SizesBody {
        let mut lens = Sizes::new();
        for (kind, size) in sizes {
            lens.see(&Io::arriving(Nanos::ZERO, kind, Bytes::ZERO, Bytes(size)));
        }
        lens.finish()
    }

    /// If it failed, the size that a drive should be tuned for would be another one.
    #[test]
    fn common_sizes_are_exact_and_the_rest_is_in_powers_of_two() {
        let mut sizes = vec![(Kind::Read, 4096); 700];
        sizes.extend(vec![(Kind::Write, 16384); 200]);
        // Twenty sizes more, of which some are not whole sectors and some are above all counters.
        sizes.extend((0..20).map(|i| (Kind::Write, 5_000_000 + 100 * i)));
        sizes.extend([(Kind::Flush, 0), (Kind::Discard, 1 << 40), (Kind::Read, 0)]);
        let body = seen(sizes);
        let all = &body.transfers;
        assert_eq!((all.ios, all.distinct, all.lumped_ios), (921, 23, 0));
        assert_eq!((all.common[0].bytes, all.common[0].ios), (4096, 700));
        assert_eq!((all.common[1].bytes, all.common[1].ios), (16384, 200));
        assert_eq!(all.common.len(), COMMON);
        let ranges: Vec<_> =
            all.ranges.iter().map(|r| (r.from_bytes, r.ios, r.uncommon_ios)).collect();
        assert_eq!(ranges, [(0, 1, 0), (4096, 700, 0), (16384, 200, 0), (1 << 22, 20, 7)]);
        assert_eq!((all.p50_bytes, all.p90_bytes), (Some(4096), Some(16384)));
        assert_eq!((all.p99_bytes, all.max_bytes), (Some(5_001_000), Some(5_001_900)));
        assert_eq!((all.min_bytes, body.reads.ios, body.writes.ios), (Some(0), 701, 220));
        assert_eq!(body.discards.max_bytes, Some(1 << 40));
        assert_eq!(seen([]).transfers, SizeTable::default());
    }

    /// If it failed, a file of nonsense would fill the memory, or percentiles would forget what did not fit.
    #[test]
    fn countless_sizes_are_lumped_and_still_ranked() {
        let body = seen((0..40_000).map(|i| (Kind::Read, 10_000_001 + 1000 * i)));
        let reads = &body.reads;
        assert_eq!((reads.ios, reads.distinct), (40_000, ODD_MAX as u64));
        assert_eq!(reads.lumped_ios, 40_000 - ODD_MAX as u64);
        let median = reads.p50_bytes.unwrap() as f64;
        let exact = 10_000_001.0 + 1000.0 * 19_999.0;
        assert!(median >= exact && median < exact * (1.0 + 1.0 / 64.0), "{median} for {exact}");
        assert_eq!(reads.ranges.iter().map(|range| range.ios).sum::<u64>(), 40_000);
        assert_eq!(reads.max_bytes, Some(10_000_001 + 1000 * 39_999));
        assert!(reads.p999_bytes <= reads.max_bytes);
    }
}

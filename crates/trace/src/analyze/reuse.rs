//! How soon data is accessed again, and what a cache of any size would make of it.

use serde::{Deserialize, Serialize};
use workload::distance::StackDistances;

use super::bins::Bins;
use super::blocks::{BLOCK, BLOCK_SHIFT, key, salt};
use super::reach::reach;
use crate::{Io, Kind};

/// Most different blocks that are followed, unless it is said otherwise: 256 MiB of data.
pub const BLOCKS_MAX: usize = 1 << 16;
/// Caches of fewer blocks of the sample than this are not reported: the few hottest blocks decide about them, and most
/// of these are not in it.
const LEAST: u64 = 16;
/// Points of the curve between a size of cache and its double.
const POINTS: u64 = 4;

/// Distances are recorded to 1 part in 32; sizes of caches lie at ends of these bins.
type Distances = Bins<5>;

/// Miss ratio of a cache of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MissRatio {
    /// Size of the cache.
    pub cache_bytes: u64,
    /// Share of all block accesses that it does not hold.
    pub miss_ratio: f64,
    /// Share of block reads that it does not hold; `None` where nothing is read. Writes fill it, too.
    pub read_miss_ratio: Option<f64>,
}

/// How soon data is accessed again. Distances are `None` where nothing is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReuseBody {
    /// [`BLOCK`]: what is counted are accesses of blocks of this size.
    pub block_bytes: u64,
    /// Block accesses.
    pub accesses: u64,
    /// Of these, reads.
    pub reads: u64,
    /// Accesses of blocks that had not been accessed before: what no cache can hold. Estimated where not `exact`.
    pub first_accesses: u64,
    /// Of these, reads.
    pub first_reads: u64,
    /// Different blocks, in bytes. Estimated where not `exact`.
    pub footprint_bytes: u64,
    /// True when all blocks were followed to the end.
    pub exact: bool,
    /// Share of the blocks that was followed in the end: 1 or a half, a quarter, …
    pub rate: f64,
    /// Blocks followed in the end.
    pub sampled_blocks: u64,
    /// No more than this are miss ratios off, on average over the curve: 2 over the square root of the blocks followed;
    /// 0 where `exact`. Where the curve falls steeply, single ones are off by more.
    pub error: f64,
    /// The smallest cache that is reported; no distance below it is reported either.
    pub least_bytes: u64,
    /// Bytes of other blocks accessed between two accesses of a block: at most this for a tenth of all repeated
    /// accesses.
    pub p10_bytes: Option<u64>,
    /// Of a half.
    pub p50_bytes: Option<u64>,
    /// Of nine tenths.
    pub p90_bytes: Option<u64>,
    /// Miss ratio of an LRU cache by its size, up to the size beyond which a larger one is not better.
    pub curve: Vec<MissRatio>,
}

/// Follows blocks from access to access.
///
/// All blocks are followed, and distances are exact, until there are more than the limit. From then on a block is
/// followed if the lowest bits of its key are zero, one more whenever there are too many again; a distance among those
/// followed is then multiplied by the number of blocks to one followed, and counts as that many accesses (SHARDS with a
/// fixed size: Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC construction with SHARDS", FAST 2015). Accesses
/// that the sample has too few or too many of, since a few blocks get a large part, are added at distance 0 or taken
/// from it (SHARDS-adj of the same paper).
///
/// Memory: 50 KiB, and 40 to 80 bytes for each block followed: at most 5.5 MiB for 65,536.
#[derive(Clone, Debug)]
pub struct Reuse {
    limit: usize,
    /// How many bits must be zero.
    bits: u32,
    stack: StackDistances,
    reads: Side,
    writes: Side,
}

/// Accesses of one direction.
#[derive(Clone, Debug, Default)]
struct Side {
    accesses: u64,
    /// First accesses among those followed, each counted for all that it represents.
    first: u64,
    distances: Distances,
}

impl Default for Reuse {
    fn default() -> Self {
        Reuse::new()
    }
}

impl Reuse {
    /// Nothing seen, with room for [`BLOCKS_MAX`] blocks.
    pub fn new() -> Reuse {
        Reuse::with_blocks(BLOCKS_MAX)
    }

    /// Nothing seen. Exact for traces of up to `blocks` different blocks (of 4 KiB), each of which takes 40 to 80
    /// bytes. At least 1,024.
    pub fn with_blocks(blocks: usize) -> Reuse {
        Reuse {
            limit: blocks.max(1 << 10),
            bits: 0,
            stack: StackDistances::new(),
            reads: Side::default(),
            writes: Side::default(),
        }
    }

    /// Notes a transfer.
    #[inline]
    pub fn see(&mut self, io: &Io) {
        let Some((first, last)) = reach(io) else { return };
        let (first, last) = (first >> BLOCK_SHIFT, last >> BLOCK_SHIFT);
        let salt = salt(io.space);
        let side = if io.kind == Kind::Write { &mut self.writes } else { &mut self.reads };
        side.accesses += last - first + 1;
        for block in first..=last {
            let key = key(salt, block);
            if key.trailing_zeros() < self.bits {
                continue;
            }
            match self.stack.access(key) {
                Some(distance) => {
                    side.distances.add_n(distance.saturating_mul(1 << self.bits), 1 << self.bits);
                }
                None => {
                    side.first += 1 << self.bits;
                    while self.stack.len() > self.limit {
                        self.bits += 1;
                        let bits = self.bits;
                        self.stack.retain(|key| key.trailing_zeros() >= bits);
                    }
                }
            }
        }
    }

    /// Returns the result.
    pub fn finish(&self) -> ReuseBody {
        let mut all = self.writes.clone();
        all.accesses += self.reads.accesses;
        all.first += self.reads.first;
        all.distances.merge(&self.reads.distances);
        let bytes = |blocks: u64| blocks.saturating_mul(BLOCK);
        let exact = self.bits == 0;
        let least = self.least();
        let least_distance = if exact { 0 } else { least };
        let quantile = |share: f64| all.quantile(share).map(|q| bytes(q.max(least_distance)));
        ReuseBody {
            block_bytes: BLOCK,
            accesses: all.accesses,
            reads: self.reads.accesses,
            first_accesses: all.first.min(all.accesses),
            first_reads: self.reads.first.min(self.reads.accesses),
            footprint_bytes: bytes((self.stack.len() as u64) << self.bits),
            exact,
            rate: libm::exp2(-f64::from(self.bits)),
            sampled_blocks: self.stack.len() as u64,
            error: if exact { 0.0 } else { 2.0 / libm::sqrt(self.stack.len().max(1) as f64) },
            least_bytes: bytes(least),
            p10_bytes: quantile(0.1),
            p50_bytes: quantile(0.5),
            p90_bytes: quantile(0.9),
            curve: self.curve(&all),
        }
    }

    /// The smallest cache that is reported, in blocks.
    fn least(&self) -> u64 {
        if self.bits == 0 { 1 } else { LEAST << self.bits }
    }

    fn curve(&self, all: &Side) -> Vec<MissRatio> {
        let Some((farthest, _)) = all.distances.filled().last() else { return Vec::new() };
        let enough = Distances::high(farthest);
        let (all, reads) = (Hits::of(all), Hits::of(&self.reads));
        let mut curve = Vec::new();
        let mut base = self.least();
        'sizes: loop {
            for quarter in 0..POINTS {
                // The first sizes are whole blocks: 1, 2, 3, 4, 5, …
                let blocks = base + base * quarter / POINTS;
                if quarter > 0 && blocks == base + base * (quarter - 1) / POINTS {
                    continue;
                }
                curve.extend(all.misses(blocks).map(|miss_ratio| MissRatio {
                    cache_bytes: blocks.saturating_mul(BLOCK),
                    miss_ratio,
                    read_miss_ratio: reads.misses(blocks),
                }));
                if blocks > enough || blocks >= u64::MAX / 4 {
                    break 'sizes;
                }
            }
            base *= 2;
        }
        curve
    }
}

impl Side {
    /// Accesses at distance 0 that the sample has too few of.
    fn missing(&self) -> i128 {
        i128::from(self.accesses) - i128::from(self.first) - i128::from(self.distances.total())
    }

    /// Of the distances of repeated accesses, the missing ones among them.
    fn quantile(&self, share: f64) -> Option<u64> {
        let again = i128::from(self.distances.total()) + self.missing();
        let rank = (share * again.max(0) as f64).ceil().max(1.0) as i128;
        let mut seen = self.missing();
        if seen >= rank {
            return Some(0);
        }
        let mut last = None;
        for (bin, count) in self.distances.filled() {
            seen += i128::from(count);
            last = Some(Distances::high(bin));
            if seen >= rank {
                break;
            }
        }
        last
    }
}

/// How many accesses have at most a distance.
struct Hits {
    accesses: u64,
    /// Greatest distance, and the count of all up to it.
    upto: Vec<(u64, i128)>,
    missing: i128,
}

impl Hits {
    fn of(side: &Side) -> Hits {
        let mut sum = side.missing();
        let upto = side.distances.filled().map(|(bin, count)| {
            sum += i128::from(count);
            (Distances::high(bin), sum)
        });
        Hits { accesses: side.accesses, upto: upto.collect(), missing: side.missing() }
    }

    /// Share of accesses that a cache of `blocks` blocks does not hold: those at this distance or farther.
    fn misses(&self, blocks: u64) -> Option<f64> {
        let within = self.upto.partition_point(|(high, _)| *high < blocks);
        let hits = if within == 0 { self.missing } else { self.upto[within - 1].1 };
        let hits = hits.clamp(0, i128::from(self.accesses)) as f64;
        (self.accesses > 0).then(|| 1.0 - hits / self.accesses as f64)
    }
}

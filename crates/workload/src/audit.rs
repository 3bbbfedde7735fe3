//! Audit of issued I/O: unique against total bytes, coverage, alignment and reuse distance.
//!
//! Block-layer counters agree with a tester that reads each block eight times from the drive's own
//! cache; only the addresses show it. Each submitter keeps an [`Audit`]; [`Audit::merge`] makes of them
//! the [`AuditSummary`] on which *pattern* is judged.

mod reuse;

use block::{Bytes, Op, Time};
use serde::{Deserialize, Serialize};

pub use reuse::Reuse;

use crate::plan::Region;
use crate::rng::mix;
use reuse::Log;

/// Most blocks whose bitmap is exact: 2 MiB of bits. Larger regions are counted by hash.
const BITMAP_BITS_LOG2: u32 = 24;

/// Keeps account of the transfers of one submitter. Memory is bounded (at most 2.4 MiB) and taken in
/// [`Audit::new`].
#[derive(Debug)]
pub struct Audit {
    /// Offset of block 0.
    base: u64,
    block: u64,
    /// log2 of the block, where it is a power of two.
    shift: Option<u32>,
    /// Whole blocks in the region.
    slots: u64,
    /// One bit per block, or per low bits of a block's hash.
    bits: Box<[u64]>,
    hashed: bool,
    /// Blocks that were new when they were touched; a little low where `hashed`.
    fresh: u64,
    /// Block transfers inside the region.
    touches: u64,
    accesses: u64,
    total: u64,
    outside: u64,
    /// Block indices ORed together.
    index_bits: u64,
    /// True when some access did not consist of whole blocks.
    ragged: bool,
    log: Log,
}

impl Audit {
    /// Account of one submitter's accesses to `region` (absolute, what
    /// [`Plan::fit`](crate::plan::Plan::fit) returned) in units of `block`: the block size of the
    /// phase, or one that divides those of all phases.
    pub fn new(region: Region, block: Bytes) -> Audit {
        let slots = region.length.0.checked_div(block.0).unwrap_or(0);
        let hashed = slots > 1 << BITMAP_BITS_LOG2;
        let bits = if hashed { 1 << BITMAP_BITS_LOG2 } else { slots };
        Audit {
            base: region.offset.0,
            block: block.0,
            shift: block.0.is_power_of_two().then(|| block.0.trailing_zeros()),
            slots,
            bits: vec![0; bits.div_ceil(64) as usize].into_boxed_slice(),
            hashed,
            fresh: 0,
            touches: 0,
            accesses: 0,
            total: 0,
            outside: 0,
            index_bits: 0,
            ragged: false,
            log: Log::new(),
        }
    }

    /// Takes note of one completed access that was issued at `issued`. Reads and writes count, and
    /// both as transfers alike, since either leaves the block in a cache; flushes and discards
    /// transfer nothing. Nothing is allocated.
    #[inline]
    pub fn note(&mut self, op: Op, offset: Bytes, len: Bytes, issued: Time) {
        if !matches!(op, Op::Read | Op::Write) || len == Bytes::ZERO {
            return;
        }
        self.accesses += 1;
        self.total += len.0;
        let from = offset.0.wrapping_sub(self.base);
        let (slot, rest) = match self.shift {
            Some(shift) => (from >> shift, from & (self.block - 1)),
            None => (
                from.checked_div(self.block).unwrap_or(0),
                from.checked_rem(self.block).unwrap_or(1),
            ),
        };
        if len.0 == self.block && rest == 0 && slot < self.slots {
            self.touch(slot, issued);
        } else {
            self.note_other(offset, len, issued);
        }
    }

    /// An access of several blocks, of parts of blocks, or outside the region.
    #[cold]
    fn note_other(&mut self, offset: Bytes, len: Bytes, issued: Time) {
        let end = self.base + self.slots * self.block;
        let (from, to) = (offset.0.max(self.base), offset.0.saturating_add(len.0).min(end));
        self.outside += len.0 - to.saturating_sub(from).min(len.0);
        if from >= to {
            return;
        }
        let (from, to) = (from - self.base, to - self.base);
        self.ragged |= from % self.block != 0 || to % self.block != 0;
        for slot in from / self.block..to.div_ceil(self.block) {
            self.touch(slot, issued);
        }
    }

    #[inline]
    fn touch(&mut self, slot: u64, issued: Time) {
        let hash = mix(slot);
        let index = if self.hashed { hash & ((1 << BITMAP_BITS_LOG2) - 1) } else { slot };
        let mask = 1 << (index % 64);
        let mut fresh = false;
        if let Some(word) = self.bits.get_mut((index / 64) as usize) {
            fresh = *word & mask == 0;
            *word |= mask;
        }
        self.fresh += u64::from(fresh);
        self.touches += 1;
        self.index_bits |= slot;
        self.log.note(slot, hash, fresh, issued);
    }

    /// The account of all submitters of a run together; with none, of nothing.
    ///
    /// # Panics
    /// When the accounts are not of one region and block size.
    pub fn merge(audits: Vec<Audit>) -> AuditSummary {
        let mut audits = audits.into_iter();
        let Some(mut all) = audits.next() else {
            return AuditSummary::default();
        };
        let mut within = all.touches.saturating_sub(all.unique());
        let mut unique_sum = all.unique();
        let mut logs = vec![std::mem::take(&mut all.log)];
        for other in audits {
            assert_eq!(
                (all.base, all.block, all.slots),
                (other.base, other.block, other.slots),
                "accounts of different regions or block sizes cannot be merged"
            );
            within += other.touches.saturating_sub(other.unique());
            unique_sum += other.unique();
            for (mine, theirs) in all.bits.iter_mut().zip(&other.bits) {
                *mine |= theirs;
            }
            all.touches += other.touches;
            all.accesses += other.accesses;
            all.total += other.total;
            all.outside += other.outside;
            all.index_bits |= other.index_bits;
            all.ragged |= other.ragged;
            logs.push(other.log);
        }
        let unique = all.unique();
        let exact = !all.hashed && !all.ragged;
        AuditSummary {
            block: Bytes(all.block),
            slots: all.slots,
            accesses: all.accesses,
            total_bytes: Bytes(all.total),
            unique_bytes: Bytes(unique.saturating_mul(all.block)),
            exact,
            blocks_touched: unique,
            coverage: if all.slots == 0 { 0.0 } else { unique as f64 / all.slots as f64 },
            repeated_within_bytes: Bytes(within.saturating_mul(all.block)),
            repeated_across_bytes: Bytes(
                unique_sum.saturating_sub(unique).saturating_mul(all.block),
            ),
            outside_bytes: Bytes(all.outside),
            alignment: (all.index_bits != 0).then(|| {
                Bytes(all.block.saturating_mul(1 << all.index_bits.trailing_zeros().min(62)))
            }),
            reuse: Reuse::of(logs, Bytes(all.block), exact),
        }
    }

    /// Different blocks touched: counted, or estimated by linear counting (Whang, Vander-Zanden and
    /// Taylor, 1990) as `m ln(m / z)` where `z` of `m` bits are zero.
    fn unique(&self) -> u64 {
        let ones: u64 = self.bits.iter().map(|word| u64::from(word.count_ones())).sum();
        if !self.hashed {
            return ones;
        }
        let m = (1u64 << BITMAP_BITS_LOG2) as f64;
        let zeros = (m - ones as f64).max(0.5);
        ((m * libm::log(m / zeros) + 0.5) as u64).min(self.slots).min(self.touches)
    }
}

/// Account of the I/O that the submitters of a run issued together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AuditSummary {
    /// Unit of the account.
    pub block: Bytes,
    /// Whole blocks in the region.
    pub slots: u64,
    /// Reads and writes.
    pub accesses: u64,
    /// Bytes that they transferred.
    pub total_bytes: Bytes,
    /// Bytes at different addresses among them, in whole blocks.
    pub unique_bytes: Bytes,
    /// True when `unique_bytes` and what derives from it are counted. Above 2^24 blocks they are
    /// estimated, with a standard error below 0.1% up to 80 million different blocks
    /// (`sqrt(m (e^t - t - 1)) / (t m)`, `m` = 2^24, `t` = different blocks / `m`), and not at all
    /// above some 250 million. False too when some access was not of whole blocks.
    pub exact: bool,
    /// Different blocks.
    pub blocks_touched: u64,
    /// Share of the region's blocks that were touched, 0 to 1.
    pub coverage: f64,
    /// Bytes that a submitter transferred again after having done so itself.
    pub repeated_within_bytes: Bytes,
    /// Bytes whose first transfer by some submitter was not the first by any: each submitter's unique
    /// bytes added up, less `unique_bytes`. Total = unique + within + across, where `exact`.
    pub repeated_across_bytes: Bytes,
    /// Bytes outside the region's whole blocks. Anything above zero is a defect of the generator.
    pub outside_bytes: Bytes,
    /// The largest power of two times the block size that divides every offset, from the region's
    /// beginning; the block size itself when all is well. `None` when no block but the first was
    /// touched.
    pub alignment: Option<Bytes>,
    /// How soon data were transferred again.
    pub reuse: Reuse,
}

impl AuditSummary {
    /// Share of the transferred bytes, 0 to 1, that an LRU cache of this size would have served or
    /// absorbed, had it been empty at first. An estimate where [`Reuse::exact`] is false.
    pub fn share_within(&self, cache: Bytes) -> f64 {
        self.reuse.share_within(cache, self.block)
    }
}

/// Mean and standard deviation of the count of different blocks among `draws` uniform and independent
/// draws from `slots` blocks: what [`AuditSummary::blocks_touched`] of a random pattern is held
/// against.
///
/// Mean `N (1 - (1 - 1/N)^n)`; variance by the usual large-`N` form `N e^-t (1 - (1 + t) e^-t)` with
/// `t = n / N` (Feller, "An Introduction to Probability Theory", vol. 1, IV.2).
pub fn uniform_unique(slots: u64, draws: u64) -> (f64, f64) {
    if slots == 0 || draws == 0 {
        return (0.0, 0.0);
    }
    if slots == 1 {
        return (1.0, 0.0);
    }
    let (n, t) = (slots as f64, draws as f64 / slots as f64);
    let mean = -n * libm::expm1(draws as f64 * libm::log1p(-1.0 / n));
    let empty = libm::exp(-t);
    (mean, libm::sqrt((n * empty * (1.0 - (1.0 + t) * empty)).max(0.0)))
}

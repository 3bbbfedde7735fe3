//! Reuse distances from bounded logs.
//!
//! Blocks are sampled by hash, so that of a sampled block every access is kept: a stack distance in
//! the sample, divided by the sampling rate, is one of the whole (SHARDS: Waldspurger et al.,
//! "Efficient MRC Construction with SHARDS", FAST 2015). Rejected: a tree per submitter, kept up to
//! date in the hot loop, which costs a hundred times as much and cannot see what two submitters share.

use std::collections::HashSet;

use block::{Bytes, Time};
use serde::{Deserialize, Serialize};

use crate::distance::StackDistances;
use crate::rng::mix;

/// Entries at which a log makes room.
const FULL: usize = 1 << 14;
/// Room for what comes in while it does.
const CAPACITY: usize = FULL + FULL / 2;
/// Entries looked at per access while making room: faster than entries come in, and no pause.
const COMPACT_STEP: usize = 4;
/// Sampled blocks below which the rate is not halved any more.
const DISTINCT_MIN: usize = 1 << 10;
/// Most entries of a merged log.
const MERGED_MAX: usize = 1 << 20;
/// Sampling limit at rate 1.
const ALL: u64 = 1 << 63;
/// Marks a block's first access in [`Entry::slot`]. Blocks are at least one byte, so that no index
/// reaches this bit but in regions of 8 EiB.
const FIRST: u64 = 1 << 63;

#[derive(Clone, Copy, Debug)]
struct Entry {
    issued: Time,
    slot: u64,
}

fn sampled(hash: u64, limit: u64) -> bool {
    hash >> 1 < limit
}

/// A submitter's sample of its accesses.
#[derive(Debug)]
pub(super) struct Log {
    entries: Vec<Entry>,
    /// Hashes below twice this are in the sample.
    limit: u64,
    /// Different blocks in the sample.
    distinct: usize,
    /// While making room: next entry to look at, and where it goes. Entries in between are void.
    compacting: Option<(usize, usize)>,
    /// Accesses noted, in the sample or not, until the log was closed.
    seen: u64,
    /// True when nothing more is taken: halving the rate would leave too few blocks.
    closed: bool,
}

impl Default for Log {
    /// A log that takes nothing.
    fn default() -> Log {
        Log {
            entries: Vec::new(),
            limit: ALL,
            distinct: 0,
            compacting: None,
            seen: 0,
            closed: true,
        }
    }
}

impl Log {
    pub fn new() -> Log {
        // Written once, so that its pages are there before the first access.
        let mut entries = vec![Entry { issued: Time::NEVER, slot: u64::MAX }; CAPACITY];
        entries.clear();
        Log { entries, limit: ALL, distinct: 0, compacting: None, seen: 0, closed: false }
    }

    #[inline]
    pub fn note(&mut self, slot: u64, hash: u64, fresh: bool, issued: Time) {
        if !self.closed {
            self.seen += 1;
            if sampled(hash, self.limit) {
                self.push(Entry { issued, slot: if fresh { slot | FIRST } else { slot } });
            }
        }
        if self.compacting.is_some() {
            self.compact(COMPACT_STEP);
        }
    }

    fn push(&mut self, entry: Entry) {
        if self.entries.len() >= FULL && self.compacting.is_none() {
            if self.distinct < 2 * DISTINCT_MIN {
                self.closed = true;
                return;
            }
            self.limit /= 2;
            self.distinct = 0;
            self.compacting = Some((0, 0));
            if !sampled(mix(entry.slot & !FIRST), self.limit) {
                return;
            }
        }
        if self.entries.len() == CAPACITY {
            // A few blocks get nearly all accesses, and halving the rate did not drop them.
            self.closed = true;
            return;
        }
        if self.compacting.is_none() {
            self.distinct += usize::from(entry.slot & FIRST != 0);
        }
        self.entries.push(entry);
    }

    #[inline(never)]
    fn compact(&mut self, steps: usize) {
        let Some((mut from, mut to)) = self.compacting else { return };
        for _ in 0..steps {
            let Some(entry) = self.entries.get(from).copied() else {
                self.entries.truncate(to);
                self.compacting = None;
                return;
            };
            from += 1;
            if sampled(mix(entry.slot & !FIRST), self.limit) {
                self.distinct += usize::from(entry.slot & FIRST != 0);
                self.entries[to] = entry;
                to += 1;
            }
        }
        self.compacting = Some((from, to));
    }
}

/// How soon blocks were transferred again: LRU stack distances, that is, the bytes of other distinct
/// data transferred in between, over all submitters in the order of issue.
///
/// Exact for runs of up to 16,384 transfers per submitter (and 2^20 in all). Longer runs are sampled
/// by block, and `rate` says at which share; a distance is then a multiple of `block / rate`, and
/// shares have a standard error of about 1 over the square root of the sampled different blocks,
/// which are 1,024 or more: 3%. A run that goes on and on over fewer blocks than that is not sampled;
/// its first part is taken for the whole (`cut_short`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reuse {
    /// Transfers in the sample.
    pub sampled: u64,
    /// Of these, transfers of a block that had been transferred before.
    pub again: u64,
    /// Share of the blocks that were sampled, 1 or a half, a quarter, …
    pub rate: f64,
    /// True when nothing is estimated.
    pub exact: bool,
    /// True when only the first part of the run was looked at.
    pub cut_short: bool,
    /// Transfers at distance 0 that quantiles and shares take as added to the sample, or as taken
    /// from it when negative: where a few blocks get a large part of all transfers, a sample of blocks
    /// has far too few of these transfers or far too many, and how many are missing is known from the
    /// count of all (SHARDS-adj of the same paper). Zero unless they are off by more than 4 times
    /// what chance does to blocks that are accessed equally often.
    pub correction: i64,
    /// The distance that 1% of the transfers of known blocks stay within.
    pub p01: Option<Bytes>,
    /// The distance that 10% stay within.
    pub p10: Option<Bytes>,
    /// The distance that half stay within.
    pub p50: Option<Bytes>,
    /// Distances of the transfers in `again`, ascending, in bytes, each with how many of them are above
    /// the one before and not above it. Exact up to [`STEPS_MAX`] different distances, and groups of
    /// neighbours at the greatest of each group beyond that, so that a record of it stays small.
    distances: Vec<(u64, u64)>,
}

/// Most distances kept: shares are then off by less than 0.1%.
const STEPS_MAX: usize = 1 << 10;

impl Reuse {
    pub(super) fn of(logs: Vec<Log>, block: Bytes, exact: bool) -> Reuse {
        let sample = Sample::of(logs);
        let (mut distances, distinct) = stack_distances(&sample.entries);
        let scale = ALL / sample.limit.max(1);
        for distance in &mut distances {
            *distance = distance.saturating_mul(scale).saturating_mul(block.0);
        }
        distances.sort_unstable();
        let mut reuse = Reuse {
            sampled: sample.entries.len() as u64,
            again: distances.len() as u64,
            rate: sample.limit as f64 / ALL as f64,
            exact: exact && sample.limit == ALL && !sample.cut_short,
            cut_short: sample.cut_short,
            correction: sample.correction(distinct),
            distances: steps(&distances),
            ..Reuse::default()
        };
        let quantile = |percent| quantile(&distances, reuse.correction, percent);
        (reuse.p01, reuse.p10, reuse.p50) = (quantile(1), quantile(10), quantile(50));
        reuse
    }

    pub(super) fn share_within(&self, cache: Bytes, block: Bytes) -> f64 {
        let Some(room) = cache.0.checked_sub(block.0) else { return 0.0 };
        let within = self.distances.partition_point(|(distance, _)| *distance <= room);
        let hits: u64 = self.distances[..within].iter().map(|(_, count)| count).sum();
        let hits = i64::try_from(hits).unwrap_or(i64::MAX);
        let all = self.sampled as i64 + self.correction;
        if all <= 0 { 0.0 } else { (hits + self.correction).max(0) as f64 / all as f64 }
    }
}

/// Returns the distance within which `percent` of the ascending `distances` stay, when `correction` more lie at zero.
fn quantile(distances: &[u64], correction: i64, percent: i64) -> Option<Bytes> {
    let count = distances.len() as i64 + correction;
    if count <= 0 {
        return None;
    }
    let index = (count * percent + 99) / 100 - 1 - correction;
    // Below the first distance lie those that the correction added.
    let distance = usize::try_from(index).map_or(Some(&0), |index| distances.get(index));
    distance.map(|bytes| Bytes(*bytes))
}

/// The ascending `distances` with their counts, in at most [`STEPS_MAX`] steps. A step ends where the
/// distance changes, so that what is not above a step's distance is counted exactly.
fn steps(distances: &[u64]) -> Vec<(u64, u64)> {
    let different = distances.chunk_by(|a, b| a == b).count();
    let least = if different <= STEPS_MAX { 1 } else { distances.len().div_ceil(STEPS_MAX) };
    let mut steps: Vec<(u64, u64)> = Vec::with_capacity(different.min(STEPS_MAX));
    for same in distances.chunk_by(|a, b| a == b) {
        let (distance, count) = (same[0], same.len() as u64);
        match steps.last_mut() {
            Some(last) if last.1 < least as u64 => *last = (distance, last.1 + count),
            _ => steps.push((distance, count)),
        }
    }
    steps
}

/// The samples of all submitters at the lowest rate of any, in the order of issue, up to where the
/// first of them was closed.
struct Sample {
    entries: Vec<Entry>,
    limit: u64,
    cut_short: bool,
    /// Accesses, in the sample or not, that it represents.
    seen: f64,
}

impl Sample {
    fn of(mut logs: Vec<Log>) -> Sample {
        let (mut limit, mut horizon) = (ALL, Time::NEVER);
        for log in &mut logs {
            log.compact(usize::MAX);
            limit = limit.min(log.limit);
            if log.closed {
                let last = log.entries.iter().map(|e| e.issued).max();
                horizon = horizon.min(last.unwrap_or(Time::ZERO));
            }
        }
        let (mut entries, mut seen) = (Vec::new(), 0.0);
        for mut log in logs {
            let before = log.entries.len().max(1) as f64;
            log.entries.retain(|e| e.issued <= horizon);
            seen += log.seen as f64 * log.entries.len() as f64 / before;
            entries.append(&mut log.entries);
        }
        for entry in &mut entries {
            entry.slot &= !FIRST;
        }
        let mut sample = Sample { entries, limit, cut_short: horizon != Time::NEVER, seen };
        sample.thin(limit);
        sample.bound();
        sample
    }

    fn thin(&mut self, limit: u64) {
        self.limit = limit;
        self.entries.retain(|e| sampled(mix(e.slot), limit));
    }

    /// Brings it to [`MERGED_MAX`] and in the order of issue: where instants are equal, by submitter
    /// and then in the order noted.
    fn bound(&mut self) {
        while self.entries.len() > MERGED_MAX {
            let distinct: HashSet<u64> = self.entries.iter().map(|e| e.slot).collect();
            if distinct.len() < 2 * DISTINCT_MIN {
                break;
            }
            self.thin(self.limit / 2);
        }
        self.entries.sort_by_key(|e| e.issued);
        if self.entries.len() > MERGED_MAX {
            self.cut_short = true;
            self.seen *= MERGED_MAX as f64 / self.entries.len() as f64;
            self.entries.truncate(MERGED_MAX);
        }
    }

    /// See [`Reuse::correction`].
    fn correction(&self, distinct: usize) -> i64 {
        let sampled = self.entries.len() as f64;
        let missing = self.seen * self.limit as f64 / ALL as f64 - sampled;
        let chance = sampled / libm::sqrt(distinct.max(1) as f64);
        if self.limit == ALL || libm::fabs(missing) <= 4.0 * chance { 0 } else { missing as i64 }
    }
}

/// For each access of a block seen before, the count of other blocks accessed since; and the count of different blocks.
fn stack_distances(entries: &[Entry]) -> (Vec<u64>, usize) {
    let mut stack = StackDistances::new();
    let distances = entries.iter().filter_map(|entry| stack.access(entry.slot)).collect();
    (distances, stack.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record holds these instead of the distances: were a share read from them another, a run that
    /// is gone on with would be judged by other figures than one that was not interrupted.
    #[test]
    fn steps_keep_what_shares_are_read_from() {
        assert_eq!(steps(&[]), []);
        assert_eq!(steps(&[0, 0, 7, 9, 9, 9]), [(0, 2), (7, 1), (9, 3)]);
        let distances: Vec<u64> = (0..100_000u64).map(|i| i / 3 * 5).collect();
        let few = steps(&distances);
        assert!(few.len() <= STEPS_MAX, "{} steps", few.len());
        assert_eq!(few.iter().map(|(_, count)| count).sum::<u64>(), 100_000);
        assert_eq!(few.last().unwrap().0, 99_999 / 3 * 5);
        let reuse = Reuse { sampled: 100_000, distances: few, ..Reuse::default() };
        for room in [0, 5, 1_000, 83_333, 200_000] {
            let exact = distances.partition_point(|d| *d <= room) as f64 / 1e5;
            let told = reuse.share_within(Bytes(room + 1), Bytes(1));
            assert!(told <= exact && exact - told < 0.001, "{room}: {told} for {exact}");
        }
    }

    #[test]
    fn a_summary_is_read_back_as_it_was() {
        let mut audit = crate::audit::Audit::new(
            crate::plan::Region { offset: Bytes::ZERO, length: Bytes(1 << 20) },
            Bytes(512),
        );
        for i in 0..9_000u64 {
            let offset = Bytes(mix(i) % 2048 * 512);
            audit.note(block::Op::Read, offset, Bytes(512), Time(i));
        }
        let summary = crate::audit::Audit::merge(vec![audit]);
        let text = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<crate::audit::AuditSummary>(&text).unwrap(), summary);
    }
}

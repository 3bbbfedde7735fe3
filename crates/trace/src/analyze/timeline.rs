//! Load, latency and queue depth over time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use super::bins::{Bins, quantile};
use crate::series::{Join, Series};
use crate::{Io, Kind};

/// Most slices. A slice begins as 1.024 µs and doubles whenever there would be more.
pub const SLICES_MAX: usize = 512;
const FIRST_NS: u64 = 1 << 10;
/// Most I/Os that are followed while outstanding.
const OUTSTANDING_MAX: usize = 1 << 20;

/// Latencies are recorded to 1 part in 16.
type Fine = Bins<4>;
/// Bins up to this latency, which is 69 s; longer ones are in the last.
const LONGEST_NS: u64 = (1 << 36) - 1;
const BINS: usize = Fine::index(LONGEST_NS) + 1;

/// Latencies of the I/Os that arrived in a slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SliceLatency {
    /// I/Os of which it is known.
    pub n: u64,
    /// Their mean.
    pub mean_ns: f64,
    /// Half of them are not above; to 1 part in 16, rounded up.
    pub p50_ns: u64,
    /// 99% are not above.
    pub p99_ns: u64,
    /// The longest, exactly.
    pub max_ns: u64,
}

/// One slice of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Reads that arrived.
    pub reads: u64,
    /// Writes that arrived.
    pub writes: u64,
    /// Other I/Os that arrived.
    pub others: u64,
    /// Bytes of the reads.
    pub bytes_read: u64,
    /// Bytes of the writes.
    pub bytes_written: u64,
    /// I/Os that completed.
    pub completed: u64,
    /// Mean of outstanding I/Os (Q to C), weighted by time; `None` where no completions are known.
    pub depth_mean: Option<f64>,
    /// Most I/Os outstanding at once.
    pub depth_max: Option<u64>,
    /// From arrival to completion.
    pub q2c: Option<SliceLatency>,
    /// From issue to completion.
    pub d2c: Option<SliceLatency>,
}

/// Load over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimelineBody {
    /// Length of a slice.
    pub slice_ns: u64,
    /// Until when: the last arrival or completion. The last slice ends there.
    pub until_ns: u64,
    /// From the first arrival on, without gaps.
    pub slices: Vec<Slice>,
    /// I/Os whose completion is not known; the depth does not include them.
    pub unknown_ios: u64,
    /// I/Os that were not followed, since a million were outstanding.
    pub unfollowed_ios: u64,
}

/// Watches load over time. Memory: 2.3 MiB, and 8 bytes for each I/O outstanding at once, at most 8 MiB.
#[derive(Clone, Debug)]
pub struct Timeline {
    slices: Series<Cell>,
    /// Completions to come.
    outstanding: BinaryHeap<Reverse<u64>>,
    /// Until when depth has been counted.
    now: u64,
    last: u64,
    unknown: u64,
    unfollowed: u64,
    followed: bool,
}

#[derive(Clone, Debug, Default)]
struct Cell {
    /// Reads, writes, others.
    ios: [u64; 3],
    bytes: [u64; 2],
    completed: u64,
    /// Depth times nanoseconds.
    area: u128,
    deepest: u64,
    q2c: Latencies,
    d2c: Latencies,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline::new()
    }
}

impl Timeline {
    /// Nothing seen.
    pub fn new() -> Timeline {
        Timeline {
            slices: Series::new(0, FIRST_NS, SLICES_MAX),
            outstanding: BinaryHeap::new(),
            now: 0,
            last: 0,
            unknown: 0,
            unfollowed: 0,
            followed: false,
        }
    }

    /// Watches an I/O.
    #[inline]
    pub fn see(&mut self, io: &Io) {
        let at = io.arrival.0.max(self.last);
        self.last = at;
        self.complete_until(at);
        self.pass(at);
        let followed = self.follow(io);
        let depth = self.outstanding.len() as u64;
        let cell = self.slices.cell(at);
        match io.kind {
            Kind::Read | Kind::Write => {
                let direction = io.kind as usize;
                cell.ios[direction] += 1;
                cell.bytes[direction] = cell.bytes[direction].saturating_add(io.length.0);
            }
            _ => cell.ios[2] += 1,
        }
        if followed {
            cell.deepest = cell.deepest.max(depth);
        }
        if let Some(q2c) = io.q2c() {
            cell.q2c.add(q2c.0);
        }
        if let Some(d2c) = io.d2c() {
            cell.d2c.add(d2c.0);
        }
    }

    /// Follows an I/O until its completion, where that is known.
    #[inline]
    fn follow(&mut self, io: &Io) -> bool {
        match io.completed.get() {
            None => self.unknown += 1,
            Some(_) if self.outstanding.len() == OUTSTANDING_MAX => self.unfollowed += 1,
            Some(over) => {
                self.outstanding.push(Reverse(over.0.max(self.now)));
                self.followed = true;
                return true;
            }
        }
        false
    }

    #[inline]
    fn complete_until(&mut self, at: u64) {
        while let Some(Reverse(over)) = self.outstanding.peek().copied() {
            if over > at {
                return;
            }
            self.pass(over);
            self.outstanding.pop();
            self.slices.cell(over).completed += 1;
        }
    }

    /// Lets time pass at the depth that there is.
    #[inline]
    fn pass(&mut self, to: u64) {
        let depth = self.outstanding.len() as u64;
        if depth > 0 {
            self.slices.spread(self.now, to, |cell, part| {
                cell.area += u128::from(depth) * u128::from(part);
                cell.deepest = cell.deepest.max(depth);
            });
        }
        self.now = self.now.max(to);
    }

    /// Returns the result, until the last completion.
    pub fn finish(mut self) -> TimelineBody {
        self.complete_until(u64::MAX);
        let until = self.now.max(self.last);
        let slice = self.slices.step();
        let slices = self.slices.cells().iter().zip(0..).map(|(cell, index)| {
            // Not the series' own lengths, in which the instant of the end is a nanosecond long.
            let length = slice.min(until.saturating_sub(slice.saturating_mul(index))).max(1);
            cell.finish(length, self.followed)
        });
        TimelineBody {
            slice_ns: slice,
            until_ns: until,
            slices: slices.collect(),
            unknown_ios: self.unknown,
            unfollowed_ios: self.unfollowed,
        }
    }
}

impl Join for Cell {
    fn join(&mut self, behind: Cell) {
        self.ios.iter_mut().zip(behind.ios).for_each(|(mine, theirs)| *mine += theirs);
        let bytes = self.bytes.iter_mut().zip(behind.bytes);
        bytes.for_each(|(mine, theirs)| *mine = mine.saturating_add(theirs));
        self.completed += behind.completed;
        self.area += behind.area;
        self.deepest = self.deepest.max(behind.deepest);
        self.q2c.merge(behind.q2c);
        self.d2c.merge(behind.d2c);
    }
}

impl Cell {
    fn finish(&self, length: u64, followed: bool) -> Slice {
        Slice {
            reads: self.ios[0],
            writes: self.ios[1],
            others: self.ios[2],
            bytes_read: self.bytes[0],
            bytes_written: self.bytes[1],
            completed: self.completed,
            depth_mean: followed.then(|| self.area as f64 / length as f64),
            depth_max: followed.then_some(self.deepest),
            q2c: self.q2c.finish(),
            d2c: self.d2c.finish(),
        }
    }
}

/// Latencies of a slice. Without bins until there is one: most traces have arrivals only, or no issue times.
#[derive(Clone, Debug, Default)]
struct Latencies {
    bins: Vec<u32>,
    n: u64,
    sum: u128,
    max: u64,
}

impl Latencies {
    #[inline]
    fn add(&mut self, ns: u64) {
        if self.bins.is_empty() {
            self.bins = vec![0; BINS];
        }
        let bin = &mut self.bins[Fine::index(ns.min(LONGEST_NS))];
        *bin = bin.saturating_add(1);
        self.n += 1;
        self.sum += u128::from(ns);
        self.max = self.max.max(ns);
    }

    fn merge(&mut self, other: Latencies) {
        if self.bins.is_empty() {
            *self = other;
            return;
        }
        let bins = self.bins.iter_mut().zip(&other.bins);
        bins.for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
        self.n += other.n;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    fn finish(&self) -> Option<SliceLatency> {
        let bins = self.bins.iter().enumerate();
        let bins = bins.map(|(bin, count)| (Fine::high(bin), u64::from(*count)));
        let q = |share: f64| quantile(bins.clone(), self.n, share).unwrap_or(self.max);
        (self.n > 0).then(|| SliceLatency {
            n: self.n,
            mean_ns: self.sum as f64 / self.n as f64,
            p50_ns: q(0.5).min(self.max),
            p99_ns: q(0.99).min(self.max),
            max_ns: self.max,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stamp;
    use block::{Bytes, Nanos};
    use proptest::prelude::*;

    fn io(at: u64, issued: Option<u64>, over: Option<u64>) -> Io {
        let stamp = |at: Option<u64>| at.map_or(Stamp::NONE, |at| Stamp::at(Nanos(at)));
        Io {
            issued: stamp(issued),
            completed: stamp(over),
            ..Io::arriving(Nanos(at), Kind::Write, Bytes::ZERO, Bytes(4096))
        }
    }

    fn seen(ios: &[Io]) -> TimelineBody {
        let mut lens = Timeline::new();
        ios.iter().for_each(|io| lens.see(io));
        lens.finish()
    }

    #[test]
    fn slices_double_and_lose_nothing() {
        let ios: Vec<Io> = (0..5000u64).map(|i| io(i * 1_000_000, None, None)).collect();
        let body = seen(&ios);
        assert_eq!(body.slice_ns, 1 << 24);
        assert_eq!(body.slices.len(), (4_999_000_000 >> 24) + 1);
        assert_eq!(body.slices.iter().map(|slice| slice.writes).sum::<u64>(), 5000);
        assert_eq!(body.slices.iter().map(|slice| slice.bytes_written).sum::<u64>(), 5000 * 4096);
        assert!(body.slices.iter().all(|slice| slice.depth_mean.is_none() && slice.q2c.is_none()));
        assert_eq!(body.unknown_ios, 5000);
        assert_eq!(seen(&[]).slices, []);
    }

    /// If it failed, a claim of 500 years would take the memory or the time of as many slices.
    #[test]
    fn a_completion_at_the_end_of_all_time_is_only_a_long_slice() {
        let body = seen(&[io(0, None, Some(u64::MAX - 1)), io(5, Some(7), Some(9))]);
        assert!(body.slices.len() <= SLICES_MAX);
        assert_eq!(body.slices[0].depth_max, Some(2));
        assert_eq!(body.slices.iter().map(|slice| slice.completed).sum::<u64>(), 2);
        assert!(body.slices.iter().all(|slice| (slice.depth_mean.unwrap() - 1.0).abs() < 1e-6));
    }

    proptest! {
        /// Against sums over all I/Os, slice by slice. If it failed, the depth drawn would be another's.
        #[test]
        fn depth_and_latency_are_those_of_the_definitions(
            steps in prop::collection::vec((0..40_000u64, 0..9_000u64, 0..200_000u64), 1..300)
        ) {
            let mut at = 0;
            let ios: Vec<Io> = steps
                .iter()
                .map(|&(gap, wait, service)| {
                    at += gap;
                    io(at, Some(at + wait), Some(at + wait + service))
                })
                .collect();
            let body = seen(&ios);
            let over = |io: &Io| io.completed.get().unwrap().0;
            let until = ios.iter().map(over).max().unwrap();
            prop_assert_eq!(body.until_ns, until.max(at));
            for (index, slice) in body.slices.iter().enumerate() {
                let from = index as u64 * body.slice_ns;
                let to = (from + body.slice_ns).min(body.until_ns.max(from + 1));
                let overlap = |io: &Io| over(io).min(to).saturating_sub(io.arrival.0.max(from));
                let area: u64 = ios.iter().map(overlap).sum();
                let mean = area as f64 / (to - from) as f64;
                prop_assert!((slice.depth_mean.unwrap() - mean).abs() < 1e-9 * mean.max(1.0));
                let here: Vec<&Io> =
                    ios.iter().filter(|io| io.arrival.0 / body.slice_ns == index as u64).collect();
                prop_assert_eq!(slice.writes, here.len() as u64);
                let deepest = deepest(&ios, from, to);
                prop_assert_eq!(slice.depth_max, Some(deepest));
                let mut q2c: Vec<u64> = here.iter().map(|io| io.q2c().unwrap().0).collect();
                q2c.sort_unstable();
                if let Some(told) = slice.q2c {
                    prop_assert_eq!((told.n, told.max_ns), (here.len() as u64, q2c[q2c.len() - 1]));
                    let half = q2c[q2c.len().div_ceil(2) - 1];
                    prop_assert!(told.p50_ns >= half && told.p50_ns <= half + half / 16);
                }
            }
        }
    }

    /// Most outstanding at once in `from..to`: at its beginning, or when one arrives.
    fn deepest(ios: &[Io], from: u64, to: u64) -> u64 {
        let over = |io: &Io| io.completed.get().unwrap().0;
        let at = |instant: u64, upto: usize| {
            ios[..upto].iter().filter(|io| io.arrival.0 <= instant && over(io) > instant).count()
        };
        let carried = ios.iter().filter(|io| io.arrival.0 < from && over(io) > from).count();
        let arriving = (0..ios.len()).filter(|i| (from..to).contains(&ios[*i].arrival.0));
        // The one that arrives counts even if it is over at once.
        let arriving = arriving.map(|i| at(ios[i].arrival.0, i) + 1).max().unwrap_or(0);
        carried.max(arriving) as u64
    }
}

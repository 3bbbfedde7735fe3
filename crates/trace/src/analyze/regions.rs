//! Hot parts of the address space.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use workload::rng::Mixed;

use super::mix::SPACES_MAX;
use super::reach::{Touches, reach};
use crate::{Io, Kind};

/// Most regions. They begin as 1 MiB and double whenever there would be more.
pub const REGIONS_MAX: usize = 1 << 13;
const FIRST_SHIFT: u32 = 20;
/// Regions that are listed.
const LISTED: usize = 10;
/// Shares of the regions, in percent, whose share of the I/Os is reported.
const HOTTEST: [u32; 4] = [1, 5, 10, 20];
/// From this share of I/Os on, a region belongs to one direction.
const MOSTLY: f64 = 0.9;

/// A region and what it gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Its address space.
    pub space: u32,
    /// Its offset.
    pub offset_bytes: u64,
    /// Reads that begin in it.
    pub reads: u64,
    /// Writes that begin in it.
    pub writes: u64,
    /// Bytes read from it.
    pub bytes_read: u64,
    /// Bytes written to it.
    pub bytes_written: u64,
}

/// Share of the hottest regions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hottest {
    /// Percentage of the regions touched, the hottest first.
    pub percent: u32,
    /// How many that are, rounded up.
    pub regions: u64,
    /// Share of the I/Os that begin in them.
    pub ios_share: f64,
}

/// How uneven the regions are for some I/Os.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Unevenness {
    /// I/Os.
    pub ios: u64,
    /// Regions that they touch.
    pub regions: u64,
    /// Shares of the hottest of these; empty when there are no I/Os.
    pub hottest: Vec<Hottest>,
    /// The hottest, the hottest first.
    pub list: Vec<Region>,
}

/// Regions of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// How many.
    pub regions: u64,
    /// Reads and writes that begin in them.
    pub ios: u64,
}

/// Hot parts of the address space.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RegionsBody {
    /// Length of a region.
    pub region_bytes: u64,
    /// For reads and writes together.
    pub all: Unevenness,
    /// For reads.
    pub reads: Unevenness,
    /// For writes.
    pub writes: Unevenness,
    /// Regions of which nine tenths of the I/Os or more are reads.
    pub mostly_read: Class,
    /// Regions of which nine tenths or more are writes.
    pub mostly_written: Class,
    /// All others.
    pub mixed: Class,
    /// Share of writes that begin in the tenth of the regions read that is read most; `None` without either.
    pub writes_in_read_hottest: Option<f64>,
    /// Reads and writes in address spaces beyond the first 4,096, which are not judged.
    pub unjudged_ios: u64,
}

/// Counts by region. Memory: at most 1 MiB.
#[derive(Clone, Debug)]
pub struct Regions {
    shift: u32,
    places: HashMap<(u32, u64), usize, Mixed>,
    counts: Vec<Touches>,
    /// Region of the last access.
    last: Option<((u32, u64), usize)>,
    unjudged: u64,
}

impl Default for Regions {
    fn default() -> Self {
        Regions::new()
    }
}

impl Regions {
    /// Nothing seen.
    pub fn new() -> Regions {
        let (places, counts) = (HashMap::default(), Vec::new());
        Regions { shift: FIRST_SHIFT, places, counts, last: None, unjudged: 0 }
    }

    /// Counts a transfer.
    #[inline]
    pub fn see(&mut self, io: &Io) {
        let Some((first, last)) = reach(io) else { return };
        if io.space as usize >= SPACES_MAX {
            self.unjudged += 1;
            return;
        }
        let direction = usize::from(io.kind == Kind::Write);
        let place = self.place(io.space, first);
        self.counts[place].ios[direction] += 1;
        let mut from = first;
        loop {
            let place = self.place(io.space, from);
            let end = (from | ((1 << self.shift) - 1)).min(last);
            self.counts[place].add_bytes(direction, end - from + 1);
            if end == last {
                return;
            }
            from = end + 1;
        }
    }

    /// Returns the index of the counts of an address's region. Regions may be longer afterwards.
    #[inline]
    fn place(&mut self, space: u32, at: u64) -> usize {
        let region = (space, at >> self.shift);
        if let Some((_, place)) = self.last.filter(|(last, _)| *last == region) {
            return place;
        }
        let next = self.counts.len();
        let place = *self.places.entry(region).or_insert(next);
        if place == next {
            self.counts.push(Touches::default());
            if self.counts.len() > REGIONS_MAX {
                self.coarsen();
                return self.place(space, at);
            }
        }
        self.last = Some((region, place));
        place
    }

    /// Joins regions two by two until there is room. There always is: each space has two in the end, at the most.
    #[cold]
    fn coarsen(&mut self) {
        self.last = None;
        while self.counts.len() > REGIONS_MAX {
            self.shift += 1;
            let counts = std::mem::take(&mut self.counts);
            for ((space, index), place) in std::mem::take(&mut self.places) {
                let next = self.counts.len();
                let joined = *self.places.entry((space, index / 2)).or_insert(next);
                if joined == next {
                    self.counts.push(Touches::default());
                }
                self.counts[joined].merge(&counts[place]);
            }
        }
    }

    /// Returns the result.
    pub fn finish(&self) -> RegionsBody {
        let mut regions: Vec<Region> =
            self.places.iter().map(|(&place, &count)| self.region(place, count)).collect();
        // The order of a hash map is arbitrary.
        regions.sort_unstable_by_key(|region| (region.space, region.offset_bytes));
        let (all, reads, writes) =
            (|r: &Region| r.reads + r.writes, |r: &Region| r.reads, |r: &Region| r.writes);
        let read_share = |r: &Region| r.reads as f64 / all(r).max(1) as f64;
        let class = |is: &dyn Fn(f64) -> bool| {
            let some = regions.iter().filter(|r| all(r) > 0 && is(read_share(r)));
            some.fold(Class::default(), |class, r| Class {
                regions: class.regions + 1,
                ios: class.ios + all(r),
            })
        };
        RegionsBody {
            region_bytes: 1 << self.shift,
            mostly_read: class(&|share| share >= MOSTLY),
            mostly_written: class(&|share| share <= 1.0 - MOSTLY),
            mixed: class(&|share| share > 1.0 - MOSTLY && share < MOSTLY),
            writes_in_read_hottest: writes_in_read_hottest(&regions),
            all: unevenness(&regions, &all),
            reads: unevenness(&regions, &reads),
            writes: unevenness(&regions, &writes),
            unjudged_ios: self.unjudged,
        }
    }

    fn region(&self, (space, index): (u32, u64), place: usize) -> Region {
        let count = &self.counts[place];
        Region {
            space,
            offset_bytes: index << self.shift,
            reads: count.ios[0],
            writes: count.ios[1],
            bytes_read: count.bytes[0],
            bytes_written: count.bytes[1],
        }
    }
}

/// The regions that have any of the I/Os, the hottest first; equal ones by address.
fn sorted(regions: &[Region], of: &dyn Fn(&Region) -> u64) -> Vec<Region> {
    let mut hot: Vec<Region> = regions.iter().copied().filter(|region| of(region) > 0).collect();
    hot.sort_by_key(|region| std::cmp::Reverse(of(region)));
    hot
}

fn unevenness(regions: &[Region], of: &dyn Fn(&Region) -> u64) -> Unevenness {
    let mut list = sorted(regions, of);
    let ios: u64 = list.iter().map(of).sum();
    let count = list.len();
    let hottest = HOTTEST.iter().map(|&percent| {
        let regions = (count * percent as usize).div_ceil(100);
        let part: u64 = list[..regions].iter().map(of).sum();
        Hottest { percent, regions: regions as u64, ios_share: part as f64 / ios as f64 }
    });
    let hottest = if ios == 0 { Vec::new() } else { hottest.collect() };
    list.truncate(LISTED);
    Unevenness { ios, regions: count as u64, hottest, list }
}

fn writes_in_read_hottest(regions: &[Region]) -> Option<f64> {
    let read = sorted(regions, &|region| region.reads);
    let hottest = read.len().div_ceil(10);
    let writes: u64 = regions.iter().map(|region| region.writes).sum();
    let there: u64 = read[..hottest].iter().map(|region| region.writes).sum();
    (writes > 0 && hottest > 0).then(|| there as f64 / writes as f64)
}

//! Places that a scatter reads.

use block::Bytes;
use workload::plan::Region;
use workload::rng::Rng;

use super::options::Options;
use super::spots::Spot;
use crate::finding::Name;
use crate::known::Known;

const MIB: u64 = 1 << 20;

/// A read of a window is so long at most: longer ones take more time and no more from the cells' array, and those that
/// reach over two pages mix their kinds. Flash with smaller pages is not made.
const FINE_BYTES: u64 = 2048;

/// Distance of places where groups of pages are not known: no page is smaller on anything sold in this century.
const GRAIN_BYTES: u64 = 4096;

/// Pages that are tried where planes may differ: the places of one lie on one plane.
const PAGES: [u64; 5] = [2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10];

/// Beyond the beginning by this much, no zone for file allocation tables reaches.
const ZONES_END: u64 = 64 * MIB;

/// Places at the region's beginning that are compared with the windows.
const FIRST_PLACES: usize = 32;

/// The places, as far as what is known decides.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Places {
    /// First byte of the region that a group can begin at, and one beyond its last.
    pub(super) from: u64,
    pub(super) to: u64,
    /// Distance and length of reads at the beginning.
    pub(super) block: u64,
    pub(super) len: u64,
    /// Count of them.
    pub(super) count: u64,
    /// Distance and length of the reads in windows.
    pub(super) grain: u64,
    pub(super) fine: u64,
    /// Windows, and places in each.
    pub(super) windows: u64,
    pub(super) window_places: u64,
    /// True when each place is a group of pages.
    pub(super) groups_known: bool,
    /// Pages that may lie on different planes; empty where all places lie on the same.
    pub(super) planes: Vec<u64>,
}

impl Places {
    /// None when the region has not room enough for one window.
    pub(super) fn new(
        region: Region,
        logical: Bytes,
        known: &Known,
        options: &Options,
    ) -> Option<Places> {
        let logical = logical.0.max(512);
        let usable = |bytes: &u64| *bytes >= logical && bytes.is_multiple_of(logical);
        let group = known.value(Name::MultiPlanePage).filter(usable);
        let page = known.value(Name::Page).filter(usable);
        // Of a class the least: steps of a greater one would pass over kinds of pages.
        let class = || known.finding(Name::MultiPlanePage)?.one_of.first().copied();
        let least = class().filter(usable).map(|least| least.min(GRAIN_BYTES).max(logical));
        let grain = group.or(page).or(least).unwrap_or(GRAIN_BYTES.max(logical));
        let planes = match (group, page) {
            (Some(_), _) => Vec::new(),
            (None, Some(page)) => vec![page],
            (None, None) => PAGES.into_iter().filter(|page| page.is_multiple_of(grain)).collect(),
        };
        let block = options.block.map(|block| block.0).filter(usable);
        let block = block.or(group).unwrap_or((16 << 10_u64).max(grain));
        let from = region.offset.0.next_multiple_of(grain);
        let to = region.offset.0 + region.length.0;
        let len = block * options.span.max(1);
        let room = to.saturating_sub(from).saturating_sub(len) / block;
        // A window of 4 KiB places has to reach over groups of all kinds, whatever their size.
        let (windows, window_places) = if group.is_some() { (6, 16) } else { (8, 64) };
        let enough = to.saturating_sub(from) >= window_places * grain * 2;
        enough.then(|| Places {
            from,
            to,
            block,
            len,
            count: (1_u64 << options.order.clamp(1, 16)).min(room + 1),
            grain,
            fine: grain.min(FINE_BYTES.max(logical)),
            windows,
            window_places,
            groups_known: group.is_some(),
            planes,
        })
    }

    /// Reads one after the other from the beginning.
    pub(super) fn beginning(&self) -> Vec<Spot> {
        (0..self.count).map(|at| Spot::new(self.from + at * self.block, self.len)).collect()
    }

    /// One read in each of `count` even parts of the region.
    pub(super) fn whole(&self, count: u64, rng: &mut Rng) -> Vec<Spot> {
        let room = (self.to - self.from) / self.grain;
        let count = count.min(room);
        let place = |at: u64| {
            let (first, last) = (room * at / count, (room * (at + 1) / count).max(1));
            let offset = first + rng.below((last - first).max(1));
            Spot::new(self.from + offset * self.grain, self.fine)
        };
        (0..count).map(place).collect()
    }

    /// A run of `count` places from `from`.
    pub(super) fn run(&self, from: u64, count: u64) -> Vec<Spot> {
        let end = |at: &u64| from + at * self.grain + self.fine <= self.to;
        let places = (0..count).take_while(end);
        places.map(|at| Spot::new(from + at * self.grain, self.fine)).collect()
    }

    /// Places drawn from the first MiB. In even steps they might all be of one kind.
    pub(super) fn first(&self, rng: &mut Rng) -> Vec<Spot> {
        let mut spots = self.run(self.from, MIB.div_ceil(self.grain));
        rng.shuffle(&mut spots);
        spots.truncate(FIRST_PLACES);
        spots.sort_unstable_by_key(|spot| spot.offset);
        spots
    }

    /// First bytes of the windows: spread over the region beyond where zones at the beginning end, one in each even
    /// part of it. They begin at multiples of their size where there is room, so that a window rarely reaches into another
    /// unit; or `anywhere`. Rejected: whole MiB, at which all may show the same of some kinds of pages.
    pub(super) fn window_begins(&self, anywhere: bool, rng: &mut Rng) -> Vec<u64> {
        let (span, bytes) = (self.to - self.from, self.window_places * self.grain);
        let first = self.from + ZONES_END.min(span / 4);
        let room = self.to - first;
        let step = if !anywhere && room >= self.windows * 4 * (bytes + MIB) {
            bytes.next_power_of_two().min(MIB).max(self.grain)
        } else {
            self.grain
        };
        let steps = (room - bytes.min(room)) / step;
        let windows = self.windows.min(steps.max(1));
        let begin = |at: u64| {
            let (low, high) = (steps * at / windows, steps * (at + 1) / windows);
            (first + (low + rng.below((high - low).max(1))) * step) / self.grain * self.grain
        };
        (0..windows).map(begin).collect()
    }
}

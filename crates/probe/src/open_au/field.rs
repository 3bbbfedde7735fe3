//! Erase blocks far apart, to be written alone and in turn with others.
//!
//! Everything is measured in pairs: the time of a write in turn with writes elsewhere, less the time of a write of
//! the same size to the same place with nothing between it and its neighbour. So the kinds of pages, whose
//! programming times differ by a factor of up to six, cancel, and what is left is what the change of blocks costs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use workload::plan::Region;
use workload::rng::Rng;

use super::table::Order;
use crate::desk::{Desk, Halt};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Distance that is a whole number of erase blocks of 2^k and 3 x 2^k bytes up to 48 MiB, and no less than one.
const SAFE: u64 = 48 * MIB;
/// The least erase block that has places for writes of two sizes.
const LEAST: u64 = 64 * KIB;
/// Places in one erase block that are used, at most: more show no more.
const SLOTS_MAX: u64 = 12;
/// Bytes left out at the beginning of a drive, where a zone for file allocation tables may be: a place in it would
/// count as an erase block that is never closed.
const SKIP: u64 = 192 * MIB;

/// Erase blocks far apart, in random order.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    starts: Vec<u64>,
    /// Bytes of each that are used.
    span: u64,
    spacing: u64,
    /// Writes at random go back by one place: where the erase block is not known, a place farther off may be in another.
    near: bool,
    /// How many take part so far: the first of `starts`.
    part: usize,
    /// Index of the block whose turn is next.
    next: usize,
    /// Times of writes alone, by size, block and slot.
    alone: BTreeMap<u64, Vec<Vec<f64>>>,
}

/// One visit to an erase block: a write in order, or two that go back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Visit {
    /// Time that its writes took beyond writing alone, in nanoseconds.
    pub(crate) excess: f64,
    /// Time of the same writes alone.
    pub(crate) alone: f64,
    /// Time per write.
    pub(crate) each: f64,
}

/// Summary of visits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Excess {
    /// Count of visits.
    pub visits: u64,
    /// Time that a visit took longer than its writes alone, in nanoseconds: mean of the middle half.
    pub excess_ns: f64,
    /// Its standard error, in nanoseconds.
    pub error_ns: f64,
    /// Share of the visits that took longer by more than half of that: nearly all where each costs a merge.
    pub share: f64,
    /// Time of a visit's writes alone, likewise.
    pub alone_ns: f64,
    /// Time of one write, likewise.
    pub each_ns: f64,
}

impl Excess {
    /// The robust summary of `visits`; `None` if it is empty.
    pub(crate) fn of(visits: &[Visit]) -> Option<Excess> {
        let all = |part: fn(&Visit) -> f64| visits.iter().map(part).collect::<Vec<f64>>();
        let (excess_ns, error_ns) = midmean(&all(|visit| visit.excess))?;
        let longer = visits.iter().filter(|visit| visit.excess > excess_ns / 2.0).count();
        Some(Excess {
            visits: visits.len() as u64,
            share: longer as f64 / visits.len() as f64,
            excess_ns,
            error_ns,
            alone_ns: midmean(&all(|visit| visit.alone))?.0,
            each_ns: midmean(&all(|visit| visit.each))?.0,
        })
    }
}

/// Mean of the middle half, and its standard error from the winsorised variance (Tukey and McLaughlin 1963, with a
/// quarter trimmed at each end). Rejected: the median, which jumps between the two kinds of pages where they take
/// turns; and the mean, which a single erase moves.
pub(crate) fn midmean(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (count, cut) = (sorted.len(), sorted.len() / 4);
    let middle = sorted.get(cut..count - cut).filter(|middle| !middle.is_empty())?;
    let kept = middle.len() as f64;
    let mean = middle.iter().sum::<f64>() / kept;
    let drawn_in = |value: &f64| value.clamp(middle[0], middle[middle.len() - 1]);
    let winsorised: Vec<f64> = sorted.iter().map(drawn_in).collect();
    let centre = winsorised.iter().sum::<f64>() / count as f64;
    let squares: f64 = winsorised.iter().map(|value| (value - centre).powi(2)).sum();
    let error = (squares / (count.max(2) - 1) as f64 * count as f64).sqrt() / kept;
    Some((mean, error))
}

impl Field {
    /// A field in `region`, of erase blocks of `unit` bytes when that is known; null when it would have less than
    /// three. `want` blocks are enough; with fewer than that they lie closer together, down to side by side.
    pub(crate) fn plan(
        region: Region,
        unit: Option<u64>,
        want: u64,
        rng: &mut Rng,
    ) -> Option<Field> {
        let (from, end) = (region.offset.0, region.offset.0 + region.length.0);
        let step = unit.unwrap_or(SAFE);
        // A zone of two of the largest erase blocks must not hide among the others.
        let skip = SKIP.max(4 * unit.unwrap_or(0)).min(from + region.length.0 / 4).max(from);
        let first = skip.div_ceil(step) * step;
        let fits = end.saturating_sub(first) / step;
        // flashbench's distance is 12 erase blocks; where the region is small, less.
        let apart = (fits / want).clamp(1, if unit.is_some() { 12 } else { 2 });
        let count = fits.div_ceil(apart);
        let span = unit.map_or(MIB, |unit| unit.min(3 * MIB));
        let large_enough = span >= LEAST;
        let mut starts: Vec<u64> = (0..count.min(4096)).map(|n| first + n * apart * step).collect();
        starts.retain(|start| start + span <= end);
        rng.shuffle(&mut starts);
        let field = |starts: Vec<u64>| Field {
            starts,
            span,
            spacing: apart * step,
            near: unit.is_none(),
            part: 0,
            next: 0,
            alone: BTreeMap::new(),
        };
        (large_enough && starts.len() >= 3).then(|| field(starts))
    }

    /// Offset of the first block.
    pub(crate) fn from(&self) -> u64 {
        self.starts.iter().copied().min().unwrap_or(0)
    }

    /// Offsets of the blocks, in random order.
    pub(crate) fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// Distance of neighbours, in bytes.
    pub(crate) fn spacing(&self) -> u64 {
        self.spacing
    }

    /// True where the erase block is not known: what is used of one may reach into the next.
    pub(crate) fn may_run_on(&self) -> bool {
        self.near
    }

    /// The most blocks that can take turns, so that enough others were written since each was written last.
    pub(crate) fn turns_max(&self) -> u32 {
        u32::try_from(self.starts.len() * 2 / 3).unwrap_or(u32::MAX)
    }

    /// Places in a block for writes of `len` bytes. One is left out: a block that is written as a whole costs no
    /// merge when it is closed.
    pub(crate) fn slots(&self, len: u64) -> usize {
        (self.span / len).saturating_sub(1).min(SLOTS_MAX) as usize
    }

    /// Two sizes of writes to compare: `small`, or less where blocks have no room for it, and four times that where
    /// they have room, twice else.
    pub(crate) fn sizes(&self, small: u64) -> (u64, u64) {
        let mut small = small;
        while self.slots(2 * small) < 4 && small > 4 * KIB {
            small /= 2;
        }
        let large = if self.slots(4 * small) >= 7 { 4 * small } else { 2 * small };
        (small, large)
    }

    /// Takes the next `count` blocks in turn, and has them and what is compared with them written alone before.
    pub(crate) fn take(
        &mut self,
        desk: &mut Desk<'_>,
        count: usize,
        len: u64,
    ) -> Result<Vec<usize>, Halt> {
        let part = (2 * count).max(self.part).clamp(24.min(self.starts.len()), self.starts.len());
        self.part = part;
        self.write_alone(desk, len)?;
        let taken = (0..count).map(|n| (self.next + n) % part).collect();
        self.next = (self.next + count) % part;
        Ok(taken)
    }

    /// Writes each block alone that was not yet with writes of `len`, from its beginning on.
    fn write_alone(&mut self, desk: &mut Desk<'_>, len: u64) -> Result<(), Halt> {
        let (slots, part) = (self.slots(len), self.part);
        let known = self.alone.entry(len).or_default();
        for unit in known.len()..part {
            let start = self.starts[unit];
            let places: Vec<(u64, u64)> =
                (0..slots as u64).map(|slot| (start + slot * len, len)).collect();
            let samples = desk.write(&format!("{} KiB alone", len / KIB), &places)?;
            known.push(samples.iter().map(elapsed).collect());
        }
        Ok(())
    }

    /// Writes `units` in turn until `enough` says so or the slots are used up, and hands each visit to `visits`; the
    /// first of each block is not counted, since it also closes what was open before. `also` is written in each
    /// turn beside them, and counts as a block that is not timed.
    pub(crate) fn turns(
        &self,
        desk: &mut Desk<'_>,
        turn: &Turn<'_>,
        visits: &mut Vec<Visit>,
        enough: &dyn Fn(&[Visit]) -> bool,
    ) -> Result<(), Halt> {
        let Turn { units, order, len, also } = *turn;
        let route = route(order, self.slots(len), self.near);
        let part =
            format!("{} KiB {order:?} {}", len / KIB, units.len() + usize::from(also.is_some()));
        for (number, slots) in route.iter().enumerate() {
            let place = |unit: usize, slot: usize| (self.starts[unit] + slot as u64 * len, len);
            let mut places: Vec<(u64, u64)> = also.map(|at| (at, len)).into_iter().collect();
            let lead = places.len();
            let writes = units.iter().flat_map(|unit| slots.iter().map(|slot| place(*unit, *slot)));
            places.extend(writes);
            let times: Vec<f64> = desk.write(&part, &places)?.iter().map(elapsed).collect();
            if number > 0 {
                visits.extend(self.pair(len, units, slots, &times[lead..]));
                if enough(visits) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Reads the places of `turn`, in its order and then one after the other, and returns what a visit took longer in
    /// turn, in nanoseconds. In turn first: what a cache keeps of that makes the second pass faster and the answer
    /// larger.
    ///
    /// # Errors
    /// A [`Halt`].
    pub(crate) fn reads_in_turn(&self, desk: &mut Desk<'_>, turn: &Turn<'_>) -> Result<f64, Halt> {
        let Turn { units, order, len, .. } = *turn;
        let place = |unit: usize, slot: usize| (self.starts[unit] + slot as u64 * len, len);
        let slots = self.slots(len);
        let route = route(order, slots, self.near);
        let rounds = route.iter().flat_map(|some| units.iter().map(move |unit| (*unit, some)));
        let in_turn: Vec<(u64, u64)> = rounds
            .flat_map(|(unit, some)| some.iter().map(move |slot| place(unit, *slot)))
            .collect();
        let times: Vec<f64> = desk.read("in turn", &in_turn)?.iter().map(elapsed).collect();
        let took: BTreeMap<u64, f64> = in_turn.iter().map(|place| place.0).zip(times).collect();
        let mut more = Vec::new();
        for unit in units {
            let places: Vec<(u64, u64)> = (0..slots).map(|slot| place(*unit, slot)).collect();
            let alone: Vec<f64> = desk.read("alone", &places)?.iter().map(elapsed).collect();
            // The first of each block is a move from the one before.
            for some in route.iter().skip(1) {
                let longer = |slot: &usize| Some(took.get(&places[*slot].0)? - alone[*slot]);
                more.push(some.iter().filter_map(longer).sum());
            }
        }
        Ok(midmean(&more).map_or(0.0, |(mean, _)| mean))
    }

    /// Sets the times of one round beside those alone.
    fn pair(&self, len: u64, units: &[usize], slots: &[usize], times: &[f64]) -> Vec<Visit> {
        let mut times = times.iter();
        let mut visits = Vec::with_capacity(units.len());
        for unit in units {
            let own: f64 = times.by_ref().take(slots.len()).sum();
            let known = self.alone.get(&len).and_then(|units| units.get(*unit));
            let alone =
                known.map(|known| slots.iter().filter_map(|slot| known.get(*slot)).sum::<f64>());
            let Some(alone) = alone else { continue };
            visits.push(Visit { excess: own - alone, alone, each: own / slots.len() as f64 });
        }
        visits
    }

    /// Places for reads: `count` of 4 KiB within one block, and as many in different ones.
    pub(crate) fn near_and_far(&self, count: u64, rng: &mut Rng) -> [Vec<(u64, u64)>; 2] {
        let mut inside = |start: u64| (start + rng.below(self.span / 4096) * 4096, 4096);
        let near = (0..count).map(|_| inside(self.starts[0])).collect();
        let far = |n: u64| self.starts[n as usize % self.starts.len()];
        [near, (0..count).map(|n| inside(far(n))).collect()]
    }
}

/// Blocks that take turns, and how they are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn<'a> {
    /// Blocks, as [`Field::take`] gave them.
    pub(crate) units: &'a [usize],
    pub(crate) order: Order,
    /// Size of a write.
    pub(crate) len: u64,
    /// Another place that takes part, always the same.
    pub(crate) also: Option<u64>,
}

/// The visits to a block, each with its slots: one after the other; or in pairs, of which the second goes back by half
/// of what is used, and the next goes on beyond it. So each pair is out of order exactly once, whatever became of
/// the block before. Rejected: slots in random order, as flashbench has them. Of those about half are not out of
/// order after the block was closed, so a limit is passed only now and then, and with a limit of none some pairs
/// cost one merge and some two.
fn route(order: Order, slots: usize, near: bool) -> Vec<Vec<usize>> {
    match order {
        Order::Random if near => (0..slots / 2).map(|pair| vec![2 * pair + 1, 2 * pair]).collect(),
        Order::Linear => (0..slots).map(|slot| vec![slot]).collect(),
        Order::Random => (0..slots / 2).map(|slot| vec![slots / 2 + slot, slot]).collect(),
    }
}

/// Time of an I/O.
pub(crate) fn elapsed(sample: &engine::Sample) -> f64 {
    sample.completed.0.saturating_sub(sample.issued.0) as f64
}

//! Finds the end of a zone that begins with the region.

use workload::rng::Rng;

use super::mixture::Datum;
use super::places::Places;
use super::profile::Profile;
use super::spots::{Noise, Spot, read_rounds};
use crate::desk::{Desk, Halt};

const MIB: u64 = 1 << 20;

/// A group of pages that is rarely smaller, where groups are not known.
const GROUP_LIKELY: u64 = 8 << 10;

/// A run of places is in the zone or not at odds of e^12 (160,000 to 1): some twenty runs are asked one after the
/// other, and one wrong answer leads all later ones astray.
const ODDS: f64 = 12.0;

/// Places of a run, and of one where a band of the rest lies at the zone's own level: the other bands decide.
const RUN_PLACES: usize = 12;
const RUN_PLACES_ALIKE: usize = 28;

/// Groups that a run reaches over. Its places are drawn from them: in even steps they might all be of one kind.
const RUN_GROUPS: u64 = 32;

/// Groups on each side of a likely end that are read one by one.
const NEAR: u64 = 10;

/// Runs that are read together, between the last place known to be in the zone and the first known not to be.
const SECTIONS: u64 = 8;

/// Reads of a place, at most.
const READS_MAX: usize = 4096;

/// The edge counts as found exactly when all other places for it together are less likely than this.
const DOUBT_MAX: f64 = 0.01;

/// End of the zone, in bytes of the region's drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Edge {
    /// Most likely, least and greatest end.
    pub(super) at: u64,
    pub(super) low: u64,
    pub(super) high: u64,
    /// Probability of the most likely one.
    pub(super) confidence: f64,
}

/// The edge if it was found, with the places around it.
pub(super) type Found = (Option<Edge>, Vec<Spot>);

/// Finds the end of a zone.
pub(super) struct Search<'a> {
    pub(super) places: &'a Places,
    pub(super) zone: &'a Profile,
    pub(super) rest: &'a Profile,
    pub(super) noise: Noise,
    /// Reads of a place to begin with.
    pub(super) reads: usize,
    /// Bytes at whose multiples a zone ends more likely than elsewhere, beside powers of two.
    pub(super) unit: Option<u64>,
    /// Neighbouring places of one kind, on average: together they show no more about their region than one. 1 where
    /// places are groups of pages and kinds take turns.
    pub(super) alike: f64,
}

/// Position of a run relative to the end of the zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Zone,
    Rest,
    /// The zone ends inside it.
    Both,
    Open,
}

impl Search<'_> {
    /// The edge, with the places that were read last; no edge when time was over or the reads do not decide.
    ///
    /// # Errors
    /// Any [`Halt`] except a limit.
    pub(super) fn run(&self, desk: &mut Desk<'_>, rng: &mut Rng) -> Result<Found, Halt> {
        let Some((mut low, mut high)) = self.ladder(desk, rng)? else {
            return Ok((None, Vec::new()));
        };
        let mut tried = Vec::new();
        while high - low > 2 * self.width() {
            if let Some(end) = self.round_end(low, high).filter(|end| !tried.contains(end)) {
                let near = NEAR * self.places.grain;
                let found = self.place(desk, rng, end.saturating_sub(near).max(low), end + near)?;
                if found.0.is_some() {
                    return Ok(found);
                }
                tried.push(end);
            }
            let begins = self.between(low, high);
            let Some(sides) = self.ask(desk, rng, &begins)? else { return Ok((None, Vec::new())) };
            let before = (low, high);
            (low, high) = self.narrowed(low, high, &begins, &sides);
            if before == (low, high) {
                break;
            }
        }
        self.place(desk, rng, low, high)
    }

    /// Bytes that a run reaches over.
    fn width(&self) -> u64 {
        RUN_GROUPS * self.places.grain.max(GROUP_LIKELY)
    }

    /// The only end at a whole MiB that is left, if so.
    fn round_end(&self, low: u64, high: u64) -> Option<u64> {
        let first = (low + 1).next_multiple_of(MIB.max(self.places.grain));
        let last = high.saturating_sub(self.width());
        (first <= last && first + MIB > last).then_some(first)
    }

    /// Starts of the next runs between the last place in the zone and the first known to be outside: at whole MiB as
    /// long as there are several.
    fn between(&self, low: u64, high: u64) -> Vec<u64> {
        let whole = MIB.max(self.places.grain);
        let unit = if high - low >= 3 * whole { whole } else { self.places.grain };
        let steps = (high - low) / unit;
        let at = |section: u64| (low + steps * section / SECTIONS * unit) / unit * unit;
        let mut begins: Vec<u64> = (1..SECTIONS).map(at).collect();
        begins.retain(|begin| *begin > low && *begin < high);
        begins.dedup();
        begins
    }

    /// Range left between `low` and `high` when runs are known to lie on these sides.
    fn narrowed(&self, mut low: u64, mut high: u64, begins: &[u64], sides: &[Side]) -> (u64, u64) {
        let end = sides.iter().position(|side| *side != Side::Zone).unwrap_or(sides.len());
        if let Some(last) = end.checked_sub(1) {
            low = begins[last];
        }
        if let Some(begin) = begins.get(end) {
            if sides[end] == Side::Both {
                low = *begin;
            }
            // A run that holds the end of the zone may still be more like the rest.
            high = (begin + self.width()).min(high);
        }
        (low, high)
    }

    /// Runs at 1, 2, 4 … MiB: the last in the zone, and the end of the first that is not.
    fn ladder(&self, desk: &mut Desk<'_>, rng: &mut Rng) -> Result<Option<(u64, u64)>, Halt> {
        let begin = |power: u32| self.places.from + (MIB.max(self.places.grain) << power);
        let room = |at: &u64| at + self.width() <= self.places.to;
        let begins: Vec<u64> = (0..20).map(begin).take_while(room).collect();
        // Zones for file allocation tables are small: the first rungs are enough in most cases.
        for count in [7, 20] {
            let rungs = &begins[..count.min(begins.len())];
            let Some(sides) = self.ask(desk, rng, rungs)? else { return Ok(None) };
            if sides.iter().any(|side| *side != Side::Zone) {
                return Ok(Some(self.narrowed(self.places.from, self.places.to, rungs, &sides)));
            }
        }
        Ok(None)
    }

    /// Places of a run from `begin` on, drawn from its groups.
    fn places_of(&self, begin: u64, rng: &mut Rng) -> Vec<Spot> {
        let mut spots = self.places.run(begin, self.width() / self.places.grain);
        rng.shuffle(&mut spots);
        spots.truncate(if self.zone.is_near(self.rest) { RUN_PLACES_ALIKE } else { RUN_PLACES });
        spots.sort_unstable_by_key(|spot| spot.offset);
        spots
    }

    /// Reads runs until each is known to be on one side, or all that matters is; none when time is over before.
    fn ask(
        &self,
        desk: &mut Desk<'_>,
        rng: &mut Rng,
        begins: &[u64],
    ) -> Result<Option<Vec<Side>>, Halt> {
        let mut runs: Vec<Vec<Spot>> =
            begins.iter().map(|begin| self.places_of(*begin, rng)).collect();
        let mut sides = vec![Side::Open; runs.len()];
        let (mut rounds, mut reads) = (self.reads.clamp(2, 64), 0);
        loop {
            let open = runs.iter_mut().zip(&sides).filter(|(_, side)| **side == Side::Open);
            let mut sets: Vec<&mut Vec<Spot>> = open.map(|(run, _)| run).collect();
            let apart = 2 * self.places.grain;
            let all = read_rounds(desk, "edge", &mut sets, rounds, apart, rng)?;
            reads += rounds;
            rounds = reads.div_ceil(2);
            sides = runs.iter().map(|run| self.side(run)).collect();
            // Runs beyond the first one outside the zone add nothing.
            let end = sides.iter().position(|side| matches!(side, Side::Rest | Side::Both));
            let end = end.map_or(sides.len(), |end| end + 1);
            if !sides[..end].contains(&Side::Open) {
                sides.truncate(end);
                return Ok(Some(sides));
            }
            if !all || reads >= READS_MAX {
                return Ok(None);
            }
        }
    }

    fn levels(&self, spots: &[Spot]) -> Vec<Datum> {
        let datum = |spot: &Spot| {
            let level = spot.level(self.noise)?;
            Some(Datum { level, window: 0, offset: spot.offset })
        };
        spots.iter().filter_map(datum).collect()
    }

    fn side(&self, run: &[Spot]) -> Side {
        let levels = self.levels(run);
        let (zone, rest) = (self.zone.log_likelihood(&levels), self.rest.log_likelihood(&levels));
        let split = (1..levels.len()).map(|at| {
            self.zone.log_likelihood(&levels[..at]) + self.rest.log_likelihood(&levels[at..])
        });
        let both = split.fold(f64::NEG_INFINITY, f64::max);
        // A run whose first places are in the zone is at least no run beyond it, and the other way round: so one of
        // the two sides may be said of a run in which the end is hidden.
        if both - zone.max(rest) > ODDS {
            Side::Both
        } else if zone - rest > ODDS {
            Side::Zone
        } else if rest - zone > ODDS {
            Side::Rest
        } else {
            Side::Open
        }
    }

    /// The edge between `low` and `high`, when it is there: the places before it are of the zone.
    fn place(
        &self,
        desk: &mut Desk<'_>,
        rng: &mut Rng,
        low: u64,
        high: u64,
    ) -> Result<Found, Halt> {
        let mut spots = self.places.run(low, (high - low) / self.places.grain);
        let (mut rounds, mut reads) = (self.reads.clamp(4, 64), 0);
        loop {
            let apart = 2 * self.places.grain;
            let all = read_rounds(desk, "edge", &mut [&mut spots], rounds, apart, rng)?;
            reads += rounds;
            rounds = reads.div_ceil(2);
            let edge = self.likeliest(&spots);
            let sure = edge.is_none_or(|edge| edge.confidence > 1.0 - DOUBT_MAX);
            if sure || !all || reads >= READS_MAX.min(16 * self.reads.max(4)) {
                return Ok((edge, spots));
            }
        }
    }

    /// The edge by Bayes: before place j all are of the zone, from j on of the rest. Before any read, an edge at a
    /// multiple of a large power of two or of the erase block is the likelier the larger it is: zones are made of
    /// whole blocks. None when all places are most likely on one side.
    fn likeliest(&self, spots: &[Spot]) -> Option<Edge> {
        let read = self.levels(spots);
        let log = |at: usize| {
            let (zone, rest) = read.split_at(at);
            (self.zone.log_likelihood(zone) + self.rest.log_likelihood(rest)) / self.alike
        };
        let candidates: Vec<(u64, f64)> = (1..read.len())
            .map(|at| (read[at].offset, log(at) + self.prior(read[at].offset)))
            .collect();
        // Before the first and behind the last is elsewhere.
        let elsewhere = log(0).max(log(read.len()));
        if candidates.iter().all(|(_, log)| *log < elsewhere) {
            return None;
        }
        let largest = candidates.iter().map(|(_, log)| *log).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = candidates.iter().map(|(_, log)| (log - largest).exp()).sum();
        let odds = |log: f64| (log - largest).exp() / sum;
        let (at, log) = candidates.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let possible = candidates.iter().filter(|(_, log)| odds(*log) > DOUBT_MAX / 10.0);
        let (low, high) =
            possible.fold((at, at), |(low, high), (at, _)| (low.min(*at), high.max(*at)));
        Some(Edge { at, low, high, confidence: odds(log) })
    }

    /// Logarithm of what an end at `offset` is likely before any read, beside one at any group.
    fn prior(&self, offset: u64) -> f64 {
        let round = 1_u64 << offset.trailing_zeros().min(MIB.trailing_zeros());
        let whole = self.unit.is_some_and(|unit| unit > 0 && offset.is_multiple_of(unit));
        let bytes = if whole { MIB.max(round) } else { round };
        (bytes as f64 / self.places.grain as f64).max(1.0).ln()
    }
}

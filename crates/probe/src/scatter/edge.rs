//! Where a zone that begins with the region ends.

use workload::rng::Rng;

use super::mixture::Datum;
use super::places::Places;
use super::profile::Profile;
use super::spots::{Noise, Spot, read_rounds};
use crate::desk::{Desk, Halt};

const MIB: u64 = 1 << 20;

/// A run of places is in the zone or not at odds of e^12 (160,000 to 1): some twenty runs are asked one after the
/// other, and one wrong answer leads all later ones astray.
const ODDS: f64 = 12.0;

/// Places in a run: groups of two kinds that take turns two by two are in it three times.
const RUN_PLACES: u64 = 12;

/// Runs that are read together, between the last place known to be in the zone and the first known not to be.
const SECTIONS: u64 = 8;

/// Reads of a place, at most.
const READS_MAX: usize = 4096;

/// The edge counts as found exactly when all other places for it together are less likely than this.
const DOUBT_MAX: f64 = 0.01;

/// Where the zone ends, in bytes of the region's drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Edge {
    /// Most likely, least and greatest end.
    pub(super) at: u64,
    pub(super) low: u64,
    pub(super) high: u64,
    /// Probability of the most likely one.
    pub(super) confidence: f64,
}

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
}

/// What is known of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Zone,
    Rest,
    /// The zone ends inside it.
    Both,
    Open,
}

impl Search<'_> {
    /// The edge, with the places that were read last; no edge when time was over or the reads do not tell.
    ///
    /// # Errors
    /// [`Halt`] that is no limit.
    pub(super) fn run(
        &self,
        desk: &mut Desk<'_>,
        rng: &mut Rng,
    ) -> Result<(Option<Edge>, Vec<Spot>), Halt> {
        let Some((mut low, mut high)) = self.ladder(desk, rng)? else {
            return Ok((None, Vec::new()));
        };
        let width = RUN_PLACES * self.places.grain;
        while high - low > 2 * width {
            let (from, to) = (low, high);
            let step = |at: u64| {
                let offset = (to - from) / self.places.grain * at / SECTIONS * self.places.grain;
                from + offset
            };
            let mut begins: Vec<u64> =
                (1..SECTIONS).map(step).filter(|at| *at > from && *at < to).collect();
            begins.dedup();
            let Some(sides) = self.ask(desk, rng, &begins)? else { return Ok((None, Vec::new())) };
            let end = sides.iter().position(|side| *side != Side::Zone).unwrap_or(sides.len());
            if let Some(last) = end.checked_sub(1) {
                low = begins[last];
            }
            if let Some(begin) = begins.get(end) {
                if sides[end] == Side::Both {
                    low = *begin;
                }
                // A run that holds the end of the zone may still be more like the rest.
                high = (begin + width).min(high);
            }
            if high - low >= to - from {
                break;
            }
        }
        self.place(desk, rng, low, high)
    }

    /// Runs at 1, 2, 4 … MiB: the last in the zone and, before any other, the first that is not, with its own width.
    fn ladder(&self, desk: &mut Desk<'_>, rng: &mut Rng) -> Result<Option<(u64, u64)>, Halt> {
        let width = RUN_PLACES * self.places.grain;
        let begin = |power: u32| self.places.from + (MIB.max(self.places.grain) << power);
        let begins: Vec<u64> =
            (0..20).map(begin).take_while(|at| at + width <= self.places.to).collect();
        // Zones for file allocation tables are small: the first rungs alone tell most often.
        for count in [8, 20] {
            let rungs = &begins[..count.min(begins.len())];
            let Some(sides) = self.ask(desk, rng, rungs)? else { return Ok(None) };
            if let Some(end) = sides.iter().position(|side| *side != Side::Zone) {
                let both = sides[end] == Side::Both;
                let last = if both { Some(end) } else { end.checked_sub(1) };
                let low = last.map_or(self.places.from, |last| rungs[last]);
                return Ok(Some((low, rungs[end] + width)));
            }
        }
        Ok(None)
    }

    /// Reads runs until each is known to be on one side; none when time is over before.
    fn ask(
        &self,
        desk: &mut Desk<'_>,
        rng: &mut Rng,
        begins: &[u64],
    ) -> Result<Option<Vec<Side>>, Halt> {
        let runs = begins.iter().map(|begin| self.places.run(*begin, RUN_PLACES));
        let mut runs: Vec<Vec<Spot>> = runs.collect();
        let (mut rounds, mut reads) = (self.reads.clamp(2, 64), 0);
        loop {
            let open = runs.iter_mut().filter(|run| self.side(run) == Side::Open);
            let mut sets: Vec<&mut Vec<Spot>> = open.collect();
            if sets.is_empty() {
                return Ok(Some(runs.iter().map(|run| self.side(run)).collect()));
            }
            let apart = 2 * self.places.grain;
            let all = read_rounds(desk, "edge", &mut sets, rounds, apart, rng)?;
            reads += rounds;
            rounds = reads.div_ceil(2);
            let open = runs.iter().any(|run| self.side(run) == Side::Open);
            if open && (!all || reads >= READS_MAX) {
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

    /// The most likely place of the edge between `low`, which is in the zone, and `high`.
    fn place(
        &self,
        desk: &mut Desk<'_>,
        rng: &mut Rng,
        low: u64,
        high: u64,
    ) -> Result<(Option<Edge>, Vec<Spot>), Halt> {
        let count = (high - low) / self.places.grain + 4;
        let mut spots = self.places.run(low, count);
        let (mut rounds, mut reads) = (self.reads.max(4), 0);
        loop {
            let apart = 2 * self.places.grain;
            let all = read_rounds(desk, "edge", &mut [&mut spots], rounds, apart, rng)?;
            reads += rounds;
            rounds = reads.div_ceil(2);
            let edge = self.likeliest(&spots);
            let sure = edge.is_some_and(|edge| edge.confidence > 1.0 - DOUBT_MAX);
            if sure || !all || reads >= READS_MAX.min(16 * self.reads.max(4)) {
                return Ok((edge, spots));
            }
        }
    }

    /// The edge by Bayes: before place j all are of the zone, from j on of the rest. Before any read, an edge at a
    /// multiple of a large power of two or of the erase block is the likelier the larger it is: zones are made of
    /// whole blocks.
    fn likeliest(&self, spots: &[Spot]) -> Option<Edge> {
        let read = self.levels(spots);
        let (mut log, mut candidates) = (0.0, Vec::with_capacity(read.len()));
        for datum in &read {
            candidates.push((datum.offset, log + self.prior(datum.offset)));
            log += self.zone.log_likelihood_of(datum) - self.rest.log_likelihood_of(datum);
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

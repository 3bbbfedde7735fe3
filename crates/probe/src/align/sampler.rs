//! Reads of the probe: blocks before, across and after boundaries, at fresh places and in an order without a pattern.

use engine::Sample;
use workload::rng::Rng;

use super::class::{Class, GROUP_LOG2_MAX, Places};
use super::estimate::{self, Estimate, fenced_mean, lower_quartile};
use super::row::Row;
use crate::desk::{Desk, Halt};

/// Powers of two up to which boundaries are looked at.
const LOG2_MAX: u32 = 27;
/// Classes with factor 3 begin here: below erase blocks they show nothing that those with factor 1 do not.
const LOG2_OF_THREES: u32 = 17;
/// Least number of boundaries in a class: times differ from place to place.
const PLACES_MIN: u64 = 4;
/// Least number of triples that show the speed of a script.
const USUAL_MIN: usize = 20;
/// Most visits to a boundary, on average over its class.
const VISITS_MAX: u64 = 8;

/// Times of the three reads at one boundary, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Triple {
    pub(super) pre: f64,
    pub(super) on: f64,
    pub(super) post: f64,
    /// The boundary that was crossed.
    pub(super) at: u64,
    /// Usual time of reads before and after the boundaries of the same script; 0 where these are too few.
    pub(super) script: f64,
}

impl Triple {
    /// on - share x (pre + post).
    pub(super) fn cost(&self, share: f64) -> f64 {
        self.on - share * (self.pre + self.post)
    }
}

/// A class with all that was seen of it.
#[derive(Clone, Debug)]
pub(super) struct Bin {
    pub(super) class: Class,
    places: Places,
    /// Boundaries that may be visited: those of `places` where the drive was written.
    count: u64,
    triples: Vec<Triple>,
}

impl Bin {
    /// Triples that may still be asked for without returning to the same boundaries over and over.
    pub(super) fn room(&self) -> usize {
        let most = self.count.saturating_mul(VISITS_MAX);
        usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(self.triples.len())
    }
}

/// The samples of one block size.
#[derive(Clone, Debug)]
pub(super) struct Sampler {
    pub(super) block: u64,
    pub(super) bins: Vec<Bin>,
    /// Triples at boundaries that were named, of any class.
    named: Vec<Triple>,
    ground: Ground,
}

/// Range that may be read, its empty parts, and whether the drive caches reads.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ground {
    /// First byte, and one beyond the last.
    pub(super) from: u64,
    pub(super) to: u64,
    /// Ranges in it that were never written.
    pub(super) empty: Vec<(u64, u64)>,
    /// A read leaves nothing behind that would make a later one of the same bytes faster. Where it does, the block
    /// across a boundary is read at another boundary than those before and after, which it would overlap.
    pub(super) forgets: bool,
}

impl Ground {
    fn is_written(&self, at: u64) -> bool {
        !self.empty.iter().any(|&(from, to)| (from..to).contains(&at))
    }

    /// The part of it that was written, 0 to 1.
    pub(super) fn written_share(&self) -> f64 {
        let empty: u64 = self.empty.iter().map(|(from, to)| to - from).sum();
        1.0 - empty as f64 / (self.to - self.from).max(1) as f64
    }
}

impl Sampler {
    /// All classes of boundaries on `ground`, for reads of `block` bytes.
    pub(super) fn new(block: u64, ground: &Ground) -> Sampler {
        let first = block.ilog2();
        let ones = (first..=LOG2_MAX).map(|log2| Class { log2, factor: 1 });
        let threes = (first.max(LOG2_OF_THREES)..LOG2_MAX).map(|log2| Class { log2, factor: 3 });
        let bin = |class| {
            let places = Places::new(class, ground.from, ground.to, block)?;
            let count = (places.count() as f64 * ground.written_share()) as u64;
            (count >= PLACES_MIN).then_some(Bin { class, places, count, triples: Vec::new() })
        };
        let bins = ones.chain(threes).filter_map(bin).collect();
        Sampler { block, bins, named: Vec::new(), ground: ground.clone() }
    }

    /// A boundary that may be read at.
    fn draw(&self, bin: usize, rng: &mut Rng) -> Option<u64> {
        let draws = (0..64).filter_map(|_| self.bins[bin].places.draw(rng));
        draws.into_iter().find(|at| self.ground.is_written(*at))
    }

    /// Asks for `wanted` (index of a bin, triples), in one script.
    pub(super) fn ask(
        &mut self,
        desk: &mut Desk<'_>,
        rng: &mut Rng,
        wanted: &[(usize, usize)],
    ) -> Result<(), Halt> {
        let mut asked = Vec::new();
        for &(bin, count) in wanted {
            for _ in 0..count.min(self.bins[bin].room()) {
                let Some(at) = self.draw(bin, rng) else { continue };
                let across = if self.ground.forgets { Some(at) } else { self.draw(bin, rng) };
                asked.extend(across.map(|across| (bin, [at, across, at])));
            }
        }
        let places: Vec<[u64; 3]> = asked.iter().map(|(_, places)| *places).collect();
        let triples = self.issue(desk, rng, &places)?;
        for ((bin, _), triple) in asked.iter().zip(triples) {
            self.bins[*bin].triples.push(triple);
        }
        Ok(())
    }

    /// Asks about the boundaries `named`, as far as the drive was written there.
    pub(super) fn ask_named(
        &mut self,
        desk: &mut Desk<'_>,
        rng: &mut Rng,
        mut named: Vec<u64>,
    ) -> Result<(), Halt> {
        let (from, to) = (self.ground.from + self.block, self.ground.to - self.block);
        named.retain(|at| {
            (from..to).contains(at) && at.is_multiple_of(self.block) && self.ground.is_written(*at)
        });
        rng.shuffle(&mut named);
        for part in named.chunks(200) {
            let places: Vec<[u64; 3]> = part.iter().map(|at| [*at; 3]).collect();
            let triples = self.issue(desk, rng, &places)?;
            self.named.extend(triples);
        }
        Ok(())
    }

    /// All triples at boundaries of at least 2^`log2`, from what bins hold and from what was named.
    pub(super) fn from(&self, log2: u32) -> impl Iterator<Item = &Triple> {
        let binned = self.bins.iter().flat_map(|bin| &bin.triples);
        binned.chain(&self.named).filter(move |triple| triple.at.trailing_zeros() >= log2)
    }

    /// True when a read leaves nothing behind that would make a later one faster.
    pub(super) fn forgets(&self) -> bool {
        self.ground.forgets
    }

    /// Range that may be read: its first byte, and one beyond the last.
    pub(super) fn range(&self) -> (u64, u64) {
        (self.ground.from, self.ground.to)
    }

    /// Reads before, across and after: each at its own of three boundaries.
    fn issue(
        &self,
        desk: &mut Desk<'_>,
        rng: &mut Rng,
        places: &[[u64; 3]],
    ) -> Result<Vec<Triple>, Halt> {
        let order = order(places.len(), rng);
        let half = self.block / 2;
        let reads: Vec<(u64, u64)> = order
            .iter()
            .map(|&(index, role)| (places[index][role] - [2, 1, 0][role] * half, self.block))
            .collect();
        let samples = desk.read(&format!("{} B blocks", self.block), &reads)?;
        let mut triples: Vec<Triple> =
            places.iter().map(|[_, at, _]| Triple { at: *at, ..Triple::default() }).collect();
        for (&(index, role), sample) in order.iter().zip(&samples) {
            let triple = &mut triples[index];
            *[&mut triple.pre, &mut triple.on, &mut triple.post][role] = took(sample);
        }
        let script = usual(&triples);
        triples.iter_mut().for_each(|triple| triple.script = script);
        Ok(triples)
    }

    /// A row for each class with enough samples.
    pub(super) fn rows(&self) -> Vec<Row> {
        self.bins.iter().filter_map(row).collect()
    }

    /// Triples of the class with the fewest, of those that may be asked more.
    pub(super) fn least(&self) -> usize {
        let open = self.bins.iter().filter(|bin| bin.room() > 0);
        open.map(|bin| bin.triples.len()).min().unwrap_or(0)
    }

    /// Reads so far.
    pub(super) fn reads(&self) -> usize {
        let binned: usize = self.bins.iter().map(|bin| bin.triples.len()).sum();
        3 * (binned + self.named.len())
    }
}

/// Usual time of reads before and after boundaries, of those that lie between groups of pages: the same planes are read at
/// all of these. 0 where they are too few.
fn usual(triples: &[Triple]) -> f64 {
    let of = triples.iter().filter(|triple| triple.at.trailing_zeros() >= GROUP_LOG2_MAX);
    let times: Vec<f64> = of.map(|triple| (triple.pre + triple.post) / 2.0).collect();
    if times.len() < USUAL_MIN {
        return 0.0;
    }
    crate::open_au::midmean(&times).map_or(0.0, |(mean, _)| mean)
}

/// How long a read took, in nanoseconds.
pub(super) fn took(sample: &Sample) -> f64 {
    (sample.completed.0 - sample.issued.0) as f64
}

/// Order of visits to `count` triples, as (triple, read): each triple once in each of three rounds, its reads in an
/// order of their own. So neighbours in place are far apart in time, and the effect of the first visit to a place on
/// later ones falls on pre, on and post alike.
fn order(count: usize, rng: &mut Rng) -> Vec<(usize, usize)> {
    let mut roles: Vec<[usize; 3]> = vec![[0, 1, 2]; count];
    roles.iter_mut().for_each(|roles| rng.shuffle(roles));
    let mut order: Vec<(usize, usize)> = Vec::with_capacity(3 * count);
    for round in [0, 1, 2] {
        let mut visits: Vec<usize> = (0..count).collect();
        rng.shuffle(&mut visits);
        // Between two rounds a triple could follow itself.
        if count > 1 && order.last().is_some_and(|&(last, _)| last == visits[0]) {
            visits.swap(0, count - 1);
        }
        let visit = |index: usize| (index, roles[index][round]);
        order.extend(visits.into_iter().map(visit));
    }
    order
}

fn row(bin: &Bin) -> Option<Row> {
    type Mean = fn(&mut [f64]) -> Option<Estimate>;
    let by = |mean: Mean, of: fn(&Triple) -> f64| -> Option<Estimate> {
        let mut values: Vec<f64> = bin.triples.iter().map(of).collect();
        let estimate = mean(&mut values)?;
        // A spread from few samples is itself uncertain: as wide as Student's t.
        let error_ns = estimate.error_ns * (1.0 + 2.5 / values.len() as f64);
        Some(Estimate { error_ns, ..estimate })
    };
    let over = |of: fn(&Triple) -> f64| by(fenced_mean, of);
    if bin.triples.len() < estimate::COUNT_MIN {
        return None;
    }
    Some(Row {
        class: bin.class,
        align_bytes: bin.class.align(),
        places: bin.count.min(bin.triples.len() as u64),
        pre_ns: over(|t| t.pre)?.value_ns,
        on_ns: over(|t| t.on)?.value_ns,
        post_ns: over(|t| t.post)?.value_ns,
        diff: over(|t| t.on - (t.pre + t.post) / 2.0)?,
        excess: over(|t| t.on - (t.pre + t.post))?,
        lower: by(lower_quartile, |t| t.on - (t.pre + t.post))?,
        beyond: over(|t| t.on - t.pre.max(t.post))?,
        sides: over(|t| t.pre - t.post)?,
    })
}

//! Access times over the addresses: bands of kinds of pages, zones that are kept in another way, periods.

mod bands;
mod edge;
mod evidence;
mod mixture;
mod picture;
mod places;
mod profile;
mod published;
mod say;
mod spots;
#[cfg(test)]
mod tests;
mod turns;
mod whole;
mod zones;

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use workload::rng::Rng;

pub use evidence::{Band, Evidence, Part, Period, Point, Stretch, Window, Zone};
pub use published::infer;

use self::bands::{Answer, DISTANCE_MIN, Judged, Question};
use self::edge::{Edge, Search};
use self::mixture::Datum;
use self::places::Places;
use self::spots::{Noise, Spot, read_rounds};
use self::zones::Beginning;
use crate::desk::{Desk, Halt};
use crate::finding::{Name, Outcome};
use crate::known::Known;

/// First element of the paths of this probe's random numbers.
const PURPOSE: u64 = 0x5ca7;

/// Places spread over the whole region.
const WHOLE_PLACES: u64 = 512;

/// Largest write that makes places hold data.
const WRITTEN: u64 = 256 << 10;

/// Reads that differ by less than this share take as long as before.
const AS_BEFORE: f64 = 0.005;

/// Of the reads of places so many may lie far from what their place takes otherwise: spikes do.
const ASTRAY_MAX: f64 = 0.06;

/// Most reads of a place in a window.
const READS_MAX: usize = 2048;

/// What a scatter is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// 2^order places are read from the beginning on, 8 to 16 as in flashbench.
    pub order: u32,
    /// Length of a read there, in blocks.
    pub span: u64,
    /// Distance of places there; a group of pages, or 16 KiB where that is not known, when absent.
    pub block: Option<Bytes>,
    /// Reads of each place there.
    pub count: u32,
    /// How long it may take, on the drive's clock.
    pub limit: Nanos,
}

impl Default for Options {
    /// 1,024 places of a block, each read 4 times, in 60 s at most.
    fn default() -> Options {
        Options { order: 10, span: 1, block: None, count: 4, limit: Nanos::secs(60) }
    }
}

/// Reads the region's places, and says how many bands their times lie in and which zones are unlike the rest.
///
/// # Errors
/// [`Halt`] that is no limit; at a limit it judges what it has.
pub fn probe(
    desk: &mut Desk<'_>,
    known: &Known,
    options: &Options,
) -> Result<Outcome<Evidence>, Halt> {
    let region = desk.region();
    let logical = desk.info().logical_block_bytes;
    let Some(places) = Places::new(region, logical, known, options) else {
        return Ok(say::too_small());
    };
    let unit = known.value(Name::EraseBlock);
    desk.within(options.limit, |desk| {
        let mut state = State::new(desk, places);
        // Where reads show boundaries, they read cells. Sizes that were given, or that writes have shown, say nothing of
        // that.
        let by_reads = |name| known.given(name).is_none() && known.scale(name).is_some();
        state.holds_data =
            !desk.may_write() && (by_reads(Name::EraseBlock) || by_reads(Name::MultiPlanePage));
        let share = |percent| spots::share(options.limit, percent);
        desk.within(share(20), |desk| state.read_overview(desk, options.count))?;
        desk.within(share(55), |desk| state.read_windows(desk))?;
        if state.shows_one_band() && !state.holds_data {
            desk.within(share(75), |desk| state.confirm(desk))?;
        }
        state.find_edge(desk, unit)?;
        Ok(say::outcome(&state))
    })
}

/// What was read so far, and what it came to.
struct State {
    places: Places,
    rng: Rng,
    overview: [Vec<Spot>; 2],
    windows: Vec<Spot>,
    /// Places in the region's first MiB.
    first: Vec<Spot>,
    judged: Option<Judged>,
    beginning: Option<Beginning>,
    edge: Option<Edge>,
    /// Places around the edge.
    around: Vec<Spot>,
    /// True when what was read is known to hold data.
    holds_data: bool,
}

impl State {
    fn new(desk: &Desk<'_>, places: Places) -> State {
        let mut rng = desk.rng(&[PURPOSE]);
        let run = |begin: &u64| places.run(*begin, places.window_places);
        let windows = places.window_begins(false, &mut rng).iter().flat_map(run).collect();
        let first = places.first(&mut rng);
        let overview = [places.beginning(), places.whole(WHOLE_PLACES, &mut rng)];
        let (judged, beginning, edge, around) = (None, None, None, Vec::new());
        let holds_data = false;
        State { places, rng, overview, windows, first, judged, beginning, edge, around, holds_data }
    }

    fn shows_one_band(&self) -> bool {
        self.judged.as_ref().is_some_and(|judged| matches!(judged.answer, Answer::One(..)))
    }

    /// Reads other windows, which begin anywhere, since at even distances all may show the same of some kinds of pages;
    /// and writes them first where it may, since what was never written is read in one time, whatever kinds there are.
    fn confirm(&mut self, desk: &mut Desk<'_>) -> Result<(), Halt> {
        if !desk.may_write() {
            return Ok(());
        }
        let before = self.noise().map(|noise| noise.base);
        let (judged, beginning) = (self.judged.clone(), self.beginning.take());
        let begins = self.places.window_begins(true, &mut self.rng);
        let run = |begin: &u64| self.places.run(*begin, self.places.window_places);
        self.windows = begins.iter().flat_map(run).collect();
        self.read_written(desk)?;
        let after = self.noise().map(|noise| noise.base);
        let alike = before.zip(after).is_some_and(|(a, b)| (a - b).abs() < AS_BEFORE * a);
        let counted = self.judged.as_ref().is_some_and(|j| matches!(j.answer, Answer::Bands(..)));
        if alike && !counted {
            // It held data all along: what showed then is as good.
            (self.judged, self.beginning) = (judged, beginning);
            return Ok(());
        }
        // What lies between was perhaps never written: only a zone that showed before is one.
        let zone = beginning.filter(|zone| matches!(zone, Beginning::Zone(_)));
        self.beginning = Some(zone.unwrap_or(Beginning::Open(false)));
        Ok(())
    }

    /// Writes the places of the windows and reads them again.
    fn read_written(&mut self, desk: &mut Desk<'_>) -> Result<(), Halt> {
        let grain = self.places.grain;
        let mut places: Vec<(u64, u64)> = Vec::new();
        for spot in self.windows.iter().chain(&self.first) {
            match places.last_mut() {
                Some((at, len)) if *at + *len == spot.offset && *len < WRITTEN => *len += grain,
                _ => places.push((spot.offset, grain)),
            }
        }
        places.retain(|(at, len)| at + len <= self.places.to);
        match desk.write("windows to be read", &places) {
            Err(halt) if halt.is_limit() => {
                self.holds_data = false;
                return Ok(());
            }
            done => done?,
        };
        self.windows.iter_mut().chain(&mut self.first).for_each(|spot| spot.times.clear());
        (self.judged, self.beginning) = (None, None);
        self.holds_data = true;
        self.read_windows(desk)
    }

    /// Each place at the beginning and over the whole region a few times: the picture.
    fn read_overview(&mut self, desk: &mut Desk<'_>, count: u32) -> Result<(), Halt> {
        let [beginning, whole] = &mut self.overview;
        let (rounds, apart) = (count.max(1) as usize, 2 * self.places.len);
        read_rounds(desk, "overview", &mut [beginning, whole], rounds, apart, &mut self.rng)?;
        Ok(())
    }

    /// The windows again and again, twice as often each time, until their bands are counted and the beginning is
    /// known to be like the rest or not.
    fn read_windows(&mut self, desk: &mut Desk<'_>) -> Result<(), Halt> {
        let (mut rounds, mut reads) = (8, 0);
        while reads < READS_MAX {
            let mut sets = [&mut self.windows, &mut self.first];
            let apart = 2 * self.places.grain;
            let all = read_rounds(desk, "windows", &mut sets, rounds, apart, &mut self.rng)?;
            reads += rounds;
            rounds = reads;
            if self.judge() || !all {
                break;
            }
        }
        Ok(())
    }

    fn noise(&self) -> Option<Noise> {
        Noise::of(self.windows.iter().chain(&self.first))
    }

    /// Judges what was read; true when more reads would change nothing.
    fn judge(&mut self) -> bool {
        let Some(noise) = self.noise() else { return false };
        let data = self.data(&self.windows, noise, self.places.grain);
        let mut first = self.data(&self.first, noise, self.places.grain);
        first.iter_mut().for_each(|datum| datum.window = 0);
        let question = Question {
            data: &data,
            planes: &self.places.planes,
            turns: self.places.groups_known.then_some(self.places.grain),
            noise_known: true,
            closest: DISTANCE_MIN * noise.base,
        };
        self.judged = bands::judge(&question);
        if spots::astray(self.windows.iter().chain(&self.first), noise) > ASTRAY_MAX
            && let Some(judged) = &mut self.judged
        {
            let why = "reads of one place take now one time and now another: heat or other work";
            judged.answer = Answer::Open(why.to_owned(), false);
        }
        let compare = |judged| zones::compare(&first, judged, noise.base, self.places.groups_known);
        self.beginning = self.judged.as_ref().and_then(compare);
        let bands =
            self.judged.as_ref().is_some_and(|j| !matches!(j.answer, Answer::Open(_, true)));
        let beginning =
            self.beginning.as_ref().is_some_and(|b| !matches!(b, Beginning::Open(true)));
        bands && beginning
    }

    fn find_edge(&mut self, desk: &mut Desk<'_>, unit: Option<u64>) -> Result<(), Halt> {
        let (Some(Beginning::Zone(other)), Some(noise)) = (&self.beginning, self.noise()) else {
            return Ok(());
        };
        let reads = self.first.iter().map(|spot| spot.times.len()).max().unwrap_or(0);
        let (zone, rest, places) = (&other.zone, &other.rest, &self.places);
        let alike = self.alike(noise);
        let search = Search { places, zone, rest, noise, reads, unit, alike };
        (self.edge, self.around) = search.run(desk, &mut self.rng)?;
        Ok(())
    }

    /// Neighbouring places of one band, on average over the windows.
    fn alike(&self, noise: Noise) -> f64 {
        let Some(judged) = self.judged.as_ref().filter(|_| !self.places.groups_known) else {
            return 1.0;
        };
        let data = self.data(&self.windows, noise, self.places.grain);
        let bands: Vec<(usize, usize)> =
            data.iter().map(|datum| (datum.window, judged.fit.band(datum).0)).collect();
        let runs = bands.chunk_by(|a, b| a == b).count().max(1);
        // With one band, nothing tells how many places a page has.
        if judged.fit.centers.len() > 1 { bands.len() as f64 / runs as f64 } else { 1.0 }
    }

    /// The levels of places in windows: a place that does not follow the one before by `step` begins a window.
    fn data(&self, spots: &[Spot], noise: Noise, step: u64) -> Vec<Datum> {
        let (mut window, mut next) = (0, None);
        let mut data = Vec::with_capacity(spots.len());
        for spot in spots {
            window += usize::from(next.is_some_and(|next| next != spot.offset));
            next = Some(spot.offset + step);
            let level = spot.level(noise);
            data.extend(level.map(|level| Datum { level, window, offset: spot.offset }));
        }
        data
    }
}

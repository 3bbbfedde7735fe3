//! State of a scatter: its reads so far, and their results.

use workload::rng::Rng;

use super::bands::{self, Answer, DISTANCE_MIN, Judged, Question};
use super::edge::{Edge, Search};
use super::mixture::Datum;
use super::places::Places;
use super::spots::{self, Noise, Spot, read_rounds};
use super::zones::{self, Beginning};
use crate::desk::{Desk, Halt};

/// First element of the paths of this probe's random numbers.
const PURPOSE: u64 = 0x5ca7;

/// Places spread over the whole region.
const WHOLE_PLACES: u64 = 512;

/// Largest write that makes places hold data.
const WRITTEN: u64 = 256 << 10;

/// Reads that differ by less than this share take as long as before.
const AS_BEFORE: f64 = 0.005;

/// Greatest share of reads that may lie far from the usual time of their place, as spikes do.
const ASTRAY_MAX: f64 = 0.06;

/// Most reads of a place in a window.
const READS_MAX: usize = 2048;

/// Reads so far, and their results.
pub(super) struct State {
    pub(super) places: Places,
    pub(super) rng: Rng,
    pub(super) overview: [Vec<Spot>; 2],
    pub(super) windows: Vec<Spot>,
    /// Places in the region's first MiB.
    pub(super) first: Vec<Spot>,
    pub(super) judged: Option<Judged>,
    pub(super) beginning: Option<Beginning>,
    pub(super) edge: Option<Edge>,
    /// Places around the edge.
    pub(super) around: Vec<Spot>,
    /// True when what was read is known to hold data.
    pub(super) holds_data: bool,
}

impl State {
    pub(super) fn new(desk: &Desk<'_>, places: Places) -> State {
        let mut rng = desk.rng(&[PURPOSE]);
        let run = |begin: &u64| places.run(*begin, places.window_places);
        let windows = places.window_begins(false, &mut rng).iter().flat_map(run).collect();
        let first = places.first(&mut rng);
        let overview = [places.beginning(), places.whole(WHOLE_PLACES, &mut rng)];
        let (judged, beginning, edge, around) = (None, None, None, Vec::new());
        let holds_data = false;
        State { places, rng, overview, windows, first, judged, beginning, edge, around, holds_data }
    }

    pub(super) fn shows_one_band(&self) -> bool {
        self.judged.as_ref().is_some_and(|judged| matches!(judged.answer, Answer::One(..)))
    }

    /// Reads other windows, which begin anywhere, since at even distances all may show the same of some kinds of pages;
    /// and writes them first where it may, since what was never written is read in one time, whatever kinds there are.
    pub(super) fn confirm(&mut self, desk: &mut Desk<'_>) -> Result<(), Halt> {
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
        // The places between were perhaps never written: only a zone that showed before is one.
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
    pub(super) fn read_overview(&mut self, desk: &mut Desk<'_>, count: u32) -> Result<(), Halt> {
        let [beginning, whole] = &mut self.overview;
        let (rounds, apart) = (count.max(1) as usize, 2 * self.places.len);
        read_rounds(desk, "overview", &mut [beginning, whole], rounds, apart, &mut self.rng)?;
        Ok(())
    }

    /// The windows again and again, twice as often each time, until their bands are counted and the beginning is
    /// known to be like the rest or not.
    pub(super) fn read_windows(&mut self, desk: &mut Desk<'_>) -> Result<(), Halt> {
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

    pub(super) fn noise(&self) -> Option<Noise> {
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

    pub(super) fn find_edge(&mut self, desk: &mut Desk<'_>, unit: Option<u64>) -> Result<(), Halt> {
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
        // With one band, the number of places in a page is not known.
        if judged.fit.centers.len() > 1 { bands.len() as f64 / runs as f64 } else { 1.0 }
    }

    /// The levels of places in windows: a place that does not follow the one before by `step` begins a window.
    pub(super) fn data(&self, spots: &[Spot], noise: Noise, step: u64) -> Vec<Datum> {
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

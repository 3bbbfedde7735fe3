//! Access times over the addresses: bands of kinds of pages, zones that are kept in another way, periods.

mod bands;
mod evidence;
mod mixture;
mod places;
mod spots;

use block::{Bytes, Nanos};
use workload::rng::Rng;

pub use evidence::{Band, Evidence, Part, Period, Point, Stretch, Window, Zone};

use self::bands::{Answer, Judged, Question};
use self::mixture::Datum;
use self::places::Places;
use self::spots::{Noise, Spot, read_rounds};
use crate::desk::{Desk, Halt};
use crate::finding::{Finding, Name, Outcome};
use crate::known::Known;

/// First element of the paths of this probe's random numbers.
const PURPOSE: u64 = 0x5ca7;

/// Places spread over the whole region.
const WHOLE_PLACES: u64 = 512;

/// Most reads of a place in a window.
const READS_MAX: usize = 2048;

/// What a scatter is to do.
#[derive(Clone, Debug, PartialEq)]
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
        return Ok(too_small());
    };
    let limit = options.limit;
    desk.within(limit, |desk| {
        let mut state = State::new(desk, places);
        desk.within(spots::share(limit, 20), |desk| state.read_overview(desk, options.count))?;
        desk.within(spots::share(limit, 50), |desk| state.read_windows(desk))?;
        Ok(state.outcome())
    })
}

/// What was read so far.
struct State {
    places: Places,
    rng: Rng,
    beginning: Vec<Spot>,
    whole: Vec<Spot>,
    windows: Vec<Spot>,
    judged: Option<Judged>,
}

impl State {
    fn new(desk: &Desk<'_>, places: Places) -> State {
        let mut rng = desk.rng(&[PURPOSE]);
        let begins = places.window_begins(&mut rng);
        let windows =
            begins.iter().flat_map(|begin| places.run(*begin, places.window_places)).collect();
        let (beginning, whole) = (places.beginning(), places.whole(WHOLE_PLACES, &mut rng));
        State { places, rng, beginning, whole, windows, judged: None }
    }

    /// Each place at the beginning and over the whole region a few times: the picture.
    fn read_overview(&mut self, desk: &mut Desk<'_>, count: u32) -> Result<(), Halt> {
        let mut sets = [&mut self.beginning, &mut self.whole];
        let apart = 2 * self.places.len;
        read_rounds(desk, "overview", &mut sets, count.max(1) as usize, apart, &mut self.rng)?;
        Ok(())
    }

    /// The windows again and again, twice as often each time, until their bands are counted.
    fn read_windows(&mut self, desk: &mut Desk<'_>) -> Result<(), Halt> {
        let mut rounds = 8;
        let mut reads = 0;
        while reads < READS_MAX {
            let mut sets = [&mut self.windows];
            let apart = 2 * self.places.grain;
            let all = read_rounds(desk, "windows", &mut sets, rounds, apart, &mut self.rng)?;
            reads += rounds;
            rounds = reads;
            self.judged = self.judge();
            let open =
                self.judged.as_ref().is_none_or(|j| matches!(j.answer, Answer::Open(_, true)));
            if !all || !open {
                break;
            }
        }
        Ok(())
    }

    fn noise(&self) -> Option<Noise> {
        Noise::of(self.windows.iter())
    }

    fn judge(&self) -> Option<Judged> {
        let noise = self.noise()?;
        let data = data(&self.windows, noise, self.places.window_places, self.places.grain);
        let question = Question { data: &data, base: noise.base, planes: &self.places.planes };
        bands::judge(&question)
    }

    fn outcome(self) -> Outcome<Evidence> {
        let finding = bands_finding(self.judged.as_ref());
        let mut evidence = Evidence {
            block_bytes: self.places.block,
            read_bytes: self.places.len,
            groups_known: self.places.groups_known,
            noise_ns: self.noise().map(|noise| noise.sigma),
            ..Evidence::default()
        };
        let sets = [
            (Part::Beginning, &self.beginning),
            (Part::Whole, &self.whole),
            (Part::Window, &self.windows),
        ];
        for (part, spots) in sets {
            let noise = Noise::of(spots.iter());
            evidence.points.extend(spots.iter().filter_map(|spot| point(part, spot, noise)));
        }
        if let Some(judged) = &self.judged {
            let bands = judged.fit.centers.iter().zip(&judged.fit.shares);
            evidence.bands = bands.map(|(&center_ns, &share)| Band { center_ns, share }).collect();
        }
        Outcome { findings: vec![finding], evidence, caveats: Vec::new() }
    }
}

fn data(spots: &[Spot], noise: Noise, _places: u64, grain: u64) -> Vec<Datum> {
    let mut window = 0;
    let mut before: Option<u64> = None;
    let mut data = Vec::with_capacity(spots.len());
    for spot in spots {
        if before.is_some_and(|before| before + grain != spot.offset) {
            window += 1;
        }
        before = Some(spot.offset);
        if let Some(level) = spot.level(noise) {
            data.push(Datum { level, window, offset: spot.offset });
        }
    }
    data
}

fn point(part: Part, spot: &Spot, noise: Option<Noise>) -> Option<Point> {
    if spot.times.is_empty() {
        return None;
    }
    let level = noise.and_then(|noise| spot.level(noise));
    Some(Point {
        part,
        offset: spot.offset,
        len: spot.len,
        n: spot.times.len() as u64,
        min_ns: spot.min() as u64,
        median_ns: spot.median() as u64,
        mean_ns: level.map_or(spot.median(), |level| level.mean),
        band: None,
        zone: None,
    })
}

fn bands_finding(judged: Option<&Judged>) -> Finding {
    let name = Name::CellBands;
    match judged.map(|judged| &judged.answer) {
        None => Finding::unknown(name, "no place was read often enough"),
        Some(Answer::Open(why, _)) => Finding::unknown(name, why.clone()),
        Some(Answer::One(confidence, _)) => Finding::none(
            name,
            *confidence,
            "one band: one bit a cell, or a drive whose reads do not tell",
        ),
        Some(Answer::Bands(count, confidence)) => Finding::found(
            name,
            *count as u64,
            *confidence,
            format!(
                "reads of neighbouring places lie in {count} bands, which {}",
                hypothesis(*count)
            ),
        ),
    }
}

fn hypothesis(count: usize) -> &'static str {
    match count {
        2 => "MLC",
        3 => "TLC",
        _ => "QLC",
    }
}

fn too_small() -> Outcome<Evidence> {
    let why = "the region is too small";
    let names = [Name::CellBands, Name::SlowZone, Name::FatZone];
    let findings = names.map(|name| Finding::unknown(name, why)).to_vec();
    Outcome { findings, evidence: Evidence::default(), caveats: Vec::new() }
}

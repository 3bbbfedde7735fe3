//! From what was read to findings and evidence.

use stats::Caveat;
use stats::remedy::Run;

use super::bands::{Answer, Judged};
use super::evidence::{Band, Evidence, Part, Point, Window, Zone};
use super::mixture::Datum;
use super::picture::{self, Series};
use super::spots::{Level, Noise, Spot, median_of};
use super::state::State;
use super::whole;
use super::zones::{Beginning, Other};
use crate::finding::{Finding, Name, Outcome};

/// Zones for file allocation tables are no longer than this.
const FAT_MAX: u64 = 64 << 20;

/// And a whole multiple of this.
const FAT_UNIT: u64 = 1 << 20;

/// Probability that the length of a zone has to have before it is named.
const EXACT_MIN: f64 = 0.95;

/// If the likeliest length is less probable than this, only a range is reported.
const LENGTH_MIN: f64 = 0.9;

/// Reads alone cannot see a zone that is kept in another way and read in the same time.
const READS_ALONE: f64 = 0.97;

/// A place belongs to a band when that is so likely.
const BAND_MIN: f64 = 0.9;

/// Reads of one place that differ by more than this share of their time are not about the place: arms that move and
/// disks that turn.
const NOISE_MAX: f64 = 0.25;

/// Of the places, more than half were answered in less than this share of the time when they were read again.
const AGAIN_FASTER: f64 = 0.6;

/// Everything that is said.
pub(super) fn outcome(state: &State) -> Outcome<Evidence> {
    let evidence = evidence(state);
    let again = from_memory(&state.windows);
    let mut findings = vec![
        cell_bands(state.judged.as_ref(), state.holds_data),
        slow_zone(state, &evidence.zones),
        fat_zone(state, &evidence.zones),
    ];
    let mut caveats = Vec::new();
    if again {
        caveats.push(memory_caveat());
        let why = "places that are read again are answered from a memory, and not by the medium";
        findings = findings.iter().map(|found| Finding::unknown(found.name, why)).collect();
    }
    Outcome { findings, evidence, caveats }
}

/// True when the first read of most places took much longer than all later ones.
fn from_memory(spots: &[Spot]) -> bool {
    let faster = |spot: &&Spot| {
        let later = spot.times.get(1..).unwrap_or(&[]);
        let first = spot.times.first().copied().unwrap_or(0.0);
        later.len() > 2 && median_of(&mut later.to_vec()) < AGAIN_FASTER * first
    };
    2 * spots.iter().filter(faster).count() > spots.len()
}

fn memory_caveat() -> Caveat {
    Caveat::new(
        "read_again_from_memory",
        "target",
        "most places took much longer when they were read for the first time",
        Run::LargerRegion,
    )
}

/// When the region is smaller than a probe by reads takes.
pub(super) fn too_small() -> Outcome<Evidence> {
    let names = [Name::CellBands, Name::SlowZone, Name::FatZone];
    let findings = names.map(|name| Finding::unknown(name, "the region is too small")).to_vec();
    Outcome { findings, evidence: Evidence::default(), caveats: Vec::new() }
}

fn evidence(state: &State) -> Evidence {
    let places = &state.places;
    let zones = zones(state);
    let cut = zones.first().filter(|zone| zone.offset == places.from).map(|z| z.offset + z.length);
    let beginning = Part::Beginning;
    let series = [
        series(state, beginning, &state.overview[0], places.block),
        series(state, Part::Window, &state.windows, places.grain),
    ];
    let several = |judged: &&Judged| matches!(judged.answer, Answer::Bands(..));
    let told = state.judged.as_ref().filter(several);
    let mut windows = Vec::new();
    for series in series.iter().flatten() {
        let data = series.data.clone();
        let data = if series.part == beginning { picture::in_windows(data, cut) } else { data };
        let series = Series { data, ..series.clone() };
        windows.extend(picture::windows(&series, true, told.map(|judged| &judged.fit)));
    }
    let count = state.judged.as_ref().and_then(|judged| match judged.answer {
        Answer::Bands(count, _) => Some(count),
        Answer::One(..) => Some(1),
        Answer::Open(..) => None,
    });
    Evidence {
        block_bytes: places.block,
        read_bytes: places.len,
        groups_known: places.groups_known,
        noise_ns: state.noise().map(|noise| noise.sigma),
        points: points(state, &zones, &windows),
        stretches: picture::stretches(&windows),
        windows,
        bands: state.judged.as_ref().filter(|_| count.is_some()).map(bands).unwrap_or_default(),
        hypothesis: count.and_then(hypothesis).map(str::to_owned),
        periods: series[1].as_ref().map(picture::periods).unwrap_or_default(),
        zones,
    }
}

/// The levels of the places of a part.
fn series(state: &State, part: Part, spots: &[Spot], step: u64) -> Option<Series> {
    let noise = Noise::of(spots.iter())?;
    Some(Series { part, data: state.data(spots, noise, step), step, base: noise.base })
}

/// The zone that the region begins with, and those that the places over the whole region show.
fn zones(state: &State) -> Vec<Zone> {
    let mut zones: Vec<Zone> = first_zone(state).into_iter().collect();
    let places = &state.places;
    let Some(series) = series(state, Part::Whole, &state.overview[1], places.grain) else {
        return zones;
    };
    let noise = Noise::of(state.overview[1].iter());
    if noise.is_none_or(|noise| noise.sigma > NOISE_MAX * noise.base) {
        return zones;
    }
    let found = whole::zones(&series.data, series.base, places.from, places.to);
    let known = zones.first().map_or(places.from, |zone| zone.offset + zone.length);
    zones.extend(found.into_iter().filter(|zone| zone.offset >= known));
    zones
}

/// Every place, with its band and zone.
fn points(state: &State, zones: &[Zone], windows: &[Window]) -> Vec<Point> {
    let parts = [
        (Part::Beginning, &state.overview[0]),
        (Part::Whole, &state.overview[1]),
        (Part::Window, &state.first),
        (Part::Window, &state.windows),
        (Part::Edge, &state.around),
    ];
    let inside = |offset: u64| {
        let zone = zones.iter().position(|z| (z.offset..z.offset + z.length).contains(&offset));
        zone.and_then(|zone| u32::try_from(zone).ok())
    };
    let mut points = Vec::new();
    for (part, spots) in parts {
        let noise = Noise::of(spots.iter());
        for spot in spots {
            let zone = inside(spot.offset);
            let Some(mut point) = point(part, spot, noise) else { continue };
            point.zone = zone;
            let level = noise.and_then(|noise| spot.level(noise));
            point.band = level.and_then(|level| match part {
                Part::Beginning => by_window(windows, spot.offset, level.mean),
                _ if zone.is_none() => by_fit(state.judged.as_ref()?, spot.offset, level),
                _ => None,
            });
            points.push(point);
        }
    }
    points.sort_by_key(|point| (point.part, point.offset));
    points
}

/// The band of its window that a level is nearest to, where bands were distinguished.
fn by_window(windows: &[Window], offset: u64, level: f64) -> Option<u32> {
    let mut own = windows.iter().filter(|w| w.part == Part::Beginning);
    let window = own.find(|w| (w.from..w.to).contains(&offset) && w.count.is_some())?;
    let away = |band: &Band| (band.center_ns - level).abs();
    let bands = (0_u32..).zip(&window.bands);
    bands.min_by(|a, b| away(a.1).total_cmp(&away(b.1))).map(|(band, _)| band)
}

/// The band of the windows that a place most likely belongs to.
fn by_fit(judged: &Judged, offset: u64, level: Level) -> Option<u32> {
    let (band, odds) = judged.fit.band(&Datum { level, window: usize::MAX, offset });
    let told = matches!(judged.answer, Answer::Bands(..) | Answer::One(..)) && odds > BAND_MIN;
    u32::try_from(band).ok().filter(|_| told)
}

fn bands(judged: &Judged) -> Vec<Band> {
    let bands = judged.fit.centers.iter().zip(&judged.fit.shares);
    bands.map(|(&center_ns, &share)| Band { center_ns, share }).collect()
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

fn cell_bands(judged: Option<&Judged>, holds_data: bool) -> Finding {
    let name = Name::CellBands;
    match judged.map(|judged| &judged.answer) {
        None => Finding::unknown(name, "no place was read often enough"),
        Some(Answer::Open(why, _)) => Finding::unknown(name, why.clone()),
        Some(Answer::One(..)) if !holds_data => Finding::unknown(
            name,
            "one band: one bit a cell, or a drive whose reads do not show it, as of what was never written; nothing was \
             written here",
        ),
        Some(Answer::One(confidence, _)) => {
            let why = "one band: one bit a cell, or a drive whose reads do not show it";
            Finding::none(name, *confidence, why)
        }
        Some(Answer::Bands(count, confidence)) => {
            let kind = hypothesis(*count).unwrap_or("more bits a cell than are sold");
            let why = format!(
                "reads of neighbouring places lie in {count} bands, which speaks for {kind}"
            );
            Finding::found(name, *count as u64, *confidence, why)
        }
    }
}

/// The kind of cells with this count of bands.
pub(super) fn hypothesis(count: usize) -> Option<&'static str> {
    ["SLC", "MLC", "TLC", "QLC"].get(count.checked_sub(1)?).copied()
}

/// The zone that the region begins with.
fn first_zone(state: &State) -> Option<Zone> {
    let (Some(Beginning::Zone(other)), Some(edge)) = (&state.beginning, state.edge) else {
        return None;
    };
    let from = state.places.from;
    Some(Zone {
        offset: from,
        length: edge.at - from,
        length_min: edge.low - from,
        length_max: edge.high - from,
        slower_ns: other.slower,
        bands: u32::try_from(other.zone.fit().shape.bands).ok(),
        confidence: other.confidence * edge.confidence,
    })
}

/// The zone that is reported first: the one that the region begins with, or else the one whose reads differ most.
fn strongest(from: u64, zones: &[Zone]) -> Option<&Zone> {
    let first = zones.iter().find(|zone| zone.offset == from);
    first.or_else(|| zones.iter().max_by(|a, b| a.slower_ns.abs().total_cmp(&b.slower_ns.abs())))
}

fn slow_zone(state: &State, zones: &[Zone]) -> Finding {
    let name = Name::SlowZone;
    match (&state.beginning, strongest(state.places.from, zones)) {
        (_, Some(zone)) if zone.confidence < LENGTH_MIN => {
            let (low, high) = (zone.length_min, zone.length_max);
            let why = format!("a zone from byte {} is {low} to {high} bytes long", zone.offset);
            Finding::unknown(name, why)
        }
        (_, Some(zone)) => {
            let why = format!(
                "reads from byte {} to {} {}",
                zone.offset,
                zone.offset + zone.length,
                how(zone)
            );
            Finding::found(name, zone.length, zone.confidence, why)
                .between(zone.length_min, zone.length_max)
        }
        (Some(Beginning::Zone(_)), None) => Finding::unknown(
            name,
            "reads at the beginning are unlike the rest, and where that ends was not found",
        ),
        (Some(Beginning::Same(_)), None) => {
            Finding::none(name, READS_ALONE, "reads take as long everywhere, as far as was looked")
        }
        (None | Some(Beginning::Open(_)), None) => {
            Finding::unknown(name, "the noise of reads leaves it open")
        }
    }
}

fn fat_zone(state: &State, zones: &[Zone]) -> Finding {
    let name = Name::FatZone;
    let other = match &state.beginning {
        Some(Beginning::Zone(other)) => other,
        Some(Beginning::Same(_)) => {
            return Finding::unknown(
                name,
                "reads at the beginning are like those elsewhere; a zone that only writes show is not excluded",
            );
        }
        None | Some(Beginning::Open(_)) => {
            return Finding::unknown(
                name,
                "the noise of reads leaves open whether the beginning is like the rest",
            );
        }
    };
    let Some(zone) = zones.first() else {
        return Finding::unknown(
            name,
            "reads at the beginning are unlike the rest, and where that ends was not found",
        );
    };
    if zone.confidence < EXACT_MIN {
        return Finding::unknown(name, "where the zone ends is not clear to the byte");
    }
    if zone.length > FAT_MAX || !zone.length.is_multiple_of(FAT_UNIT) || zone.offset != 0 {
        return Finding::unknown(
            name,
            "reads at the beginning are unlike the rest, and not as such a zone's are",
        );
    }
    // Places that were never written are read sooner, and earlier probes wrote elsewhere.
    if other.slower < 0.0 && !state.holds_data {
        return Finding::unknown(
            name,
            "reads at the beginning are faster than elsewhere, as of what was never written",
        );
    }
    if unwritten(other, state.judged.as_ref()) {
        return Finding::unknown(name, "the rest reads as if it had never been written");
    }
    let why = format!("reads from byte 0 to {} {}", zone.length, how(zone));
    Finding::found(name, zone.length, zone.confidence * READS_ALONE, why)
}

/// Bands at the beginning and none elsewhere, where reads are faster: there is nothing to be read.
fn unwritten(other: &Other, judged: Option<&Judged>) -> bool {
    let rest = judged.is_some_and(|judged| matches!(judged.answer, Answer::One(..)));
    rest && other.zone.fit().shape.bands > 1 && other.slower > 0.0
}

pub(super) fn how(zone: &Zone) -> String {
    let us = zone.slower_ns.abs() / 1000.0;
    let word = if zone.slower_ns < 0.0 { "less" } else { "longer" };
    format!("take {us:.0} µs {word} than elsewhere")
}

//! From what was read to findings and evidence.

use super::State;
use super::bands::{Answer, Judged};
use super::evidence::{Band, Evidence, Part, Point, Zone};
use super::spots::{Noise, Spot};
use super::zones::{Beginning, Other};
use crate::finding::{Finding, Name, Outcome};

/// Zones for file allocation tables are no longer than this.
const FAT_MAX: u64 = 64 << 20;

/// And a whole multiple of this.
const FAT_UNIT: u64 = 1 << 20;

/// Probability that the length of a zone has to have before it is named.
const EXACT_MIN: f64 = 0.95;

/// Reads alone cannot see a zone that is kept in another way and read in the same time.
const READS_ALONE: f64 = 0.97;

/// Everything that is said.
pub(super) fn outcome(state: &State) -> Outcome<Evidence> {
    let zones: Vec<Zone> = first_zone(state).into_iter().collect();
    let findings =
        vec![cell_bands(state.judged.as_ref()), slow_zone(state, &zones), fat_zone(state, &zones)];
    Outcome { findings, evidence: evidence(state, zones), caveats: Vec::new() }
}

/// When the region is smaller than a probe by reads takes.
pub(super) fn too_small() -> Outcome<Evidence> {
    let names = [Name::CellBands, Name::SlowZone, Name::FatZone];
    let findings = names.map(|name| Finding::unknown(name, "the region is too small")).to_vec();
    Outcome { findings, evidence: Evidence::default(), caveats: Vec::new() }
}

fn evidence(state: &State, zones: Vec<Zone>) -> Evidence {
    let places = &state.places;
    let [beginning, whole] = &state.overview;
    let parts = [
        (Part::Beginning, beginning),
        (Part::Whole, whole),
        (Part::Window, &state.first),
        (Part::Window, &state.windows),
        (Part::Edge, &state.around),
    ];
    let mut points = Vec::new();
    for (part, spots) in parts {
        let noise = Noise::of(spots.iter());
        points.extend(spots.iter().filter_map(|spot| point(part, spot, noise)));
    }
    points.sort_by_key(|point| (point.part, point.offset));
    Evidence {
        block_bytes: places.block,
        read_bytes: places.len,
        groups_known: places.groups_known,
        noise_ns: state.noise().map(|noise| noise.sigma),
        points,
        bands: state.judged.as_ref().map(|judged| bands(judged)).unwrap_or_default(),
        hypothesis: None,
        zones,
        ..Evidence::default()
    }
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

fn cell_bands(judged: Option<&Judged>) -> Finding {
    let name = Name::CellBands;
    match judged.map(|judged| &judged.answer) {
        None => Finding::unknown(name, "no place was read often enough"),
        Some(Answer::Open(why, _)) => Finding::unknown(name, why.clone()),
        Some(Answer::One(confidence, _)) => {
            let why = "one band: one bit a cell, or a drive whose reads do not tell";
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

/// The kind of cells with so many bands.
fn hypothesis(count: usize) -> Option<&'static str> {
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

fn slow_zone(state: &State, zones: &[Zone]) -> Finding {
    let name = Name::SlowZone;
    match (&state.beginning, zones.first()) {
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
            return Finding::none(
                name,
                READS_ALONE,
                "reads at the beginning are like those elsewhere",
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

fn how(zone: &Zone) -> String {
    let us = zone.slower_ns.abs() / 1000.0;
    let word = if zone.slower_ns < 0.0 { "less" } else { "longer" };
    format!("take {us:.0} us {word} than elsewhere")
}

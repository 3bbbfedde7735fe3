//! Scatter plots that others made: one time for each place, without repeats, by the same inference.

use super::bands::{Answer, DISTANCE_MIN, Question, judge};
use super::evidence::{Band, Evidence, Part, Point, Stretch, Zone};
use super::mixture::Datum;
use super::picture::{self, Series};
use super::say::{how, hypothesis};
use super::spots::median_of;
use super::whole;
use crate::finding::{Finding, Name, Outcome};

/// Error of a time whose noise is not known, as a share of it: far below what bands differ by, so that all spread is
/// taken for the spread of a band.
const ERROR: f64 = 2e-4;

/// Zones are looked for in at most this many means of neighbours: the work grows with the square.
const ZONE_PLACES_MAX: usize = 4096;

/// Fewer places than this say nothing.
const PLACES_MIN: usize = 64;

/// A count of bands that not all windows show is named when this many consecutive windows show it.
const WINDOWS_MIN: u64 = 3;

/// Judges a scatter of one time for each place, as flashbench writes it: the least of some reads, in `min_ns`. Order
/// and part of the points do not matter; what they say of bands and zones is replaced.
pub fn infer(points: &[Point]) -> Outcome<Evidence> {
    let mut points = points.to_vec();
    points.sort_by_key(|point| point.offset);
    points.dedup_by_key(|point| point.offset);
    if points.len() < PLACES_MIN {
        let why = "there are too few places";
        let names = [Name::CellBands, Name::SlowZone];
        let findings = names.map(|name| Finding::unknown(name, why)).to_vec();
        return Outcome { findings, evidence: Evidence::default(), caveats: Vec::new() };
    }
    let steps = points.windows(2).map(|pair| pair[1].offset - pair[0].offset);
    let step = steps.min().unwrap_or(1);
    let base = median_of(&mut points.iter().map(|point| point.min_ns as f64).collect::<Vec<_>>());
    let datum = |point: &Point| {
        let level = picture::single(point.min_ns as f64, ERROR * base);
        Datum { level, window: 0, offset: point.offset }
    };
    let data: Vec<Datum> = points.iter().map(datum).collect();
    let zones = zones(&data, base, step);
    let part = Part::Beginning;
    let evidence = evidence(points, zones, Series { part, data, step, base });
    let findings = vec![cell_bands(&evidence, base), slow_zone(&evidence)];
    Outcome { findings, evidence, caveats: Vec::new() }
}

fn evidence(mut points: Vec<Point>, zones: Vec<Zone>, series: Series) -> Evidence {
    let step = series.step;
    let of = |offset: u64| {
        let inside = zones.iter().position(|z| (z.offset..z.offset + z.length).contains(&offset));
        inside.and_then(|zone| u32::try_from(zone).ok())
    };
    let first = zones.first().map(|zone| zone.offset + zone.length);
    // Reads that overlap lie across groups in every way, and their times in more bands than there are kinds.
    let len = points.first().map_or(0, |point| point.len).max(series.step);
    let apart = series.data.iter().filter(|datum| datum.offset.is_multiple_of(len)).copied();
    let data = picture::in_windows(apart.collect(), first);
    let series = Series { data, step: len, ..series };
    let windows = picture::windows(&series, false, None);
    for point in &mut points {
        point.zone = of(point.offset);
        let window = windows.iter().find(|w| (w.from..w.to).contains(&point.offset));
        let told = window.filter(|w| w.count.is_some() && point.offset.is_multiple_of(len));
        let away = |band: &Band| (band.center_ns - point.min_ns as f64).abs();
        let nearest = |bands: &[Band]| {
            let bands = (0_u32..).zip(bands);
            bands.min_by(|a, b| away(a.1).total_cmp(&away(b.1))).map(|(band, _)| band)
        };
        point.band = told.and_then(|window| nearest(&window.bands));
    }
    let outside: Vec<Datum> =
        series.data.iter().filter(|datum| of(datum.offset).is_none()).copied().collect();
    let all = Question {
        data: &renumbered(&outside),
        planes: &[],
        turns: None,
        noise_known: false,
        closest: DISTANCE_MIN * series.base,
    };
    let judged = judge(&all);
    let count = judged.as_ref().and_then(|judged| match judged.answer {
        Answer::Bands(count, _) => Some(count),
        _ => None,
    });
    let centers = judged.iter().flat_map(|j| j.fit.centers.iter().zip(&j.fit.shares));
    Evidence {
        block_bytes: step,
        read_bytes: points.first().map_or(0, |point| point.len),
        bands: centers.map(|(&center_ns, &share)| Band { center_ns, share }).collect(),
        hypothesis: count.and_then(hypothesis).map(str::to_owned),
        stretches: picture::stretches(&windows),
        periods: picture::periods(&series),
        points,
        windows,
        zones,
        ..Evidence::default()
    }
}

/// Windows numbered without gaps.
fn renumbered(data: &[Datum]) -> Vec<Datum> {
    let runs = data.chunk_by(|a, b| a.window == b.window).enumerate();
    runs.flat_map(|(window, run)| run.iter().map(move |datum| Datum { window, ..*datum })).collect()
}

fn zones(data: &[Datum], base: f64, step: u64) -> Vec<Zone> {
    let (Some(first), Some(last)) = (data.first(), data.last()) else { return Vec::new() };
    let size = data.len().div_ceil(ZONE_PLACES_MAX);
    let mean = |run: &[Datum]| {
        let sum: f64 = run.iter().map(|datum| datum.level.mean).sum();
        Datum { level: picture::single(sum / run.len() as f64, ERROR * base), ..run[0] }
    };
    let means: Vec<Datum> = data.chunks(size).map(mean).collect();
    whole::zones(&means, base, first.offset, last.offset + step)
}

fn cell_bands(evidence: &Evidence, base: f64) -> Finding {
    let name = Name::CellBands;
    let speaks = |count: usize| format!("speaks for {}", hypothesis(count).unwrap_or("no cells"));
    if evidence.hypothesis.is_some() {
        let count = evidence.bands.len();
        let why = format!("times lie in {count} bands in most windows, which {}", speaks(count));
        return Finding::found(name, count as u64, 0.95, why);
    }
    let several = |stretch: &&Stretch| stretch.count > 1 && stretch.windows >= WINDOWS_MIN;
    if let Some(most) = evidence.stretches.iter().filter(several).max_by_key(|s| s.count) {
        let place = format!("from byte {} to {}", most.from, most.to);
        let why = format!(
            "times lie in {} bands {place}, which {}",
            most.count,
            speaks(most.count as usize)
        );
        return Finding::found(name, u64::from(most.count), 0.9, why);
    }
    let one = |count: Option<u32>| count == Some(1);
    if base > 0.0 && evidence.windows.iter().all(|window| one(window.count)) {
        // The text does not say whether the drive held data, and a read may reach over pages of all kinds.
        return Finding::unknown(
            name,
            "times lie in one band everywhere, as they do where nothing was written too",
        );
    }
    Finding::unknown(name, "times without repeats: what is noise and what is a band is not clear")
}

fn slow_zone(evidence: &Evidence) -> Finding {
    let name = Name::SlowZone;
    let strongest = evidence.zones.iter().max_by(|a, b| {
        let weight = |zone: &Zone| (zone.offset == 0, zone.slower_ns.abs());
        weight(a).partial_cmp(&weight(b)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let Some(zone) = strongest else {
        return Finding::none(
            name,
            0.9,
            "times are alike over all places, as far as one time each shows",
        );
    };
    let why =
        format!("reads from byte {} to {} {}", zone.offset, zone.offset + zone.length, how(zone));
    let (low, high) = (zone.length_min, zone.length_max);
    Finding::found(name, zone.length, zone.confidence, why).between(low, high)
}

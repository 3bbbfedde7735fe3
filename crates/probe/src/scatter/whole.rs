//! Zones anywhere: changes of the mean along places that are spread over the whole region.

use stats::{Cost, Penalty, Segment, pelt};

use super::evidence::Zone;
use super::mixture::Datum;
use super::spots::median_of;

/// Least number of places in a zone: a few slow ones are not a zone.
const PLACES_MIN: usize = 8;

/// Its mean differs by this many standard errors, and by this share of a read's time.
const ERRORS: f64 = 6.0;
const SHIFT_MIN: f64 = 0.01;

/// If there are more zones than this, none is reported: levels differ all over.
const ZONES_MAX: usize = 6;

/// Zones whose mean differs from the rest, by offset. `to` is one beyond the last byte of the region.
///
/// Changes by PELT. The scale of the noise is the spread of all levels, so that kinds of pages, which differ from
/// place to place, are noise; it is too large where there are zones, which costs power and makes none. The rest is
/// the segment of the middle place when places are ordered by the means of their segments.
pub(super) fn zones(data: &[Datum], base: f64, from: u64, to: u64) -> Vec<Zone> {
    let levels: Vec<f64> = trimmed(data);
    let middle = median_of(&mut levels.clone());
    let square = levels.iter().map(|x| (x - middle).powi(2)).sum::<f64>() / levels.len() as f64;
    let deviation = square.sqrt();
    let Some(found) = pelt(&levels, Cost::MeanKnownScale(deviation), Penalty::Mbic, PLACES_MIN)
    else {
        return Vec::new();
    };
    let rest = rest_of(&found.segments);
    let mut zones = Vec::new();
    for segment in &found.segments {
        let places = segment.end - segment.start;
        let (shift, error) = (segment.mean - rest, deviation / (places as f64).sqrt());
        let small = shift.abs() < ERRORS * error || shift.abs() < SHIFT_MIN * base;
        if small || 2 * places > levels.len() {
            continue;
        }
        let at = |index: usize| data.get(index).map(|datum| datum.offset);
        let before = segment.start.checked_sub(1).and_then(at).unwrap_or(from);
        let begin = if segment.start == 0 { from } else { at(segment.start).unwrap_or(from) };
        let last = at(segment.end - 1).unwrap_or(begin);
        let end = at(segment.end).unwrap_or(to);
        zones.push(Zone {
            offset: begin,
            length: end - begin,
            length_min: last - begin,
            length_max: end - before,
            slower_ns: shift,
            bands: None,
            confidence: 0.95,
        });
    }
    if zones.len() > ZONES_MAX { Vec::new() } else { zones }
}

/// The median of the segments' means, each as often as it has places.
fn rest_of(segments: &[Segment]) -> f64 {
    let mut means: Vec<f64> = segments
        .iter()
        .flat_map(|segment| std::iter::repeat_n(segment.mean, segment.end - segment.start))
        .collect();
    median_of(&mut means)
}

/// Levels with the few far outliers moved to the edge of the others: one spike is not a zone.
fn trimmed(data: &[Datum]) -> Vec<f64> {
    let levels: Vec<f64> = data.iter().map(|datum| datum.level.mean).collect();
    let Some(fences) = stats::tukey_fences(&levels) else { return levels };
    levels.iter().map(|x| x.clamp(fences.outer_low, fences.outer_high)).collect()
}

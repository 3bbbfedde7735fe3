//! The micro sign that was lost on the way: `308s` for `308µs`.
//!
//! Times of a row are tied together by diff = on − (pre + post) / 2, and signs are lost in all of a text or nowhere.
//! A second look is given to figures in seconds of three significant digits at most, for flashbench prints four.

use super::figure::{Time, TimeUnit};
use super::note::NoteKind;
use super::rows::RawAlign;

/// Gives every figure that was printed in microseconds, and lost the sign, its unit back. Returns a note.
pub(super) fn settle(rows: &mut [RawAlign]) -> Option<NoteKind> {
    let has_sign = rows.iter().flat_map(figures).any(|time| time.unit == Some(TimeUnit::Us));
    let count: u32 = rows.iter_mut().map(|row| settle_row(row, has_sign)).sum();
    (count > 0).then_some(NoteKind::LostMicro { figures: count, all_lost: !has_sign })
}

fn figures(row: &RawAlign) -> impl Iterator<Item = &Time> {
    row.times.iter().chain(&row.diff)
}

/// True when a figure in seconds could have been printed in microseconds.
fn is_suspect(time: &Time) -> bool {
    let size = time.number.value().abs();
    time.unit == Some(TimeUnit::S) && time.number.digits <= 3 && (1.0..=1000.0).contains(&size)
}

/// How many figures of the row were changed.
fn settle_row(row: &mut RawAlign, has_sign: bool) -> u32 {
    let suspects: Vec<usize> =
        figures(row).enumerate().filter(|(_, time)| is_suspect(time)).map(|(at, _)| at).collect();
    if suspects.is_empty() {
        return 0;
    }
    // Each suspect in either reading: at most 16 rows to choose from.
    let readings = (0..1u32 << suspects.len()).map(|mask| {
        let lost = suspects.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1);
        let reading = with_micro(row, lost.map(|(_, at)| *at));
        let misfit = misfit(&reading);
        let changed = mask.count_ones();
        // If signs survive elsewhere, seconds are seconds unless the row says otherwise.
        let odd = if has_sign { changed } else { 4 - changed };
        ((misfit > 1.0, odd, misfit), changed, reading)
    });
    let best = readings
        .min_by(|(a, _, _), (b, _, _)| a.0.cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.total_cmp(&b.2)));
    match best {
        Some((_, changed, reading)) => {
            *row = reading;
            changed
        }
        None => 0,
    }
}

fn with_micro(row: &RawAlign, lost: impl Iterator<Item = usize>) -> RawAlign {
    let mut row = row.clone();
    for at in lost {
        if let Some(time) = row.times.iter_mut().chain(&mut row.diff).nth(at) {
            time.unit = Some(TimeUnit::Us);
        }
    }
    row
}

/// How far the row's diff lies from what the other three make, in units of what rounding explains; 0 when it cannot
/// be read.
fn misfit(row: &RawAlign) -> f64 {
    let ns = |time: &Time| time.unit.map(|unit| (time.ns_as(unit), time.step_as(unit)));
    let [Some(pre), Some(on), Some(post)] = row.times.each_ref().map(ns) else { return 0.0 };
    let Some(diff) = row.diff.as_ref().filter(|diff| !diff.cut).and_then(ns) else { return 0.0 };
    let off = diff.0 - (on.0 - (pre.0 + post.0) / 2.0);
    off.abs() / (on.1 / 2.0 + (pre.1 + post.1) / 4.0 + diff.1 / 2.0 + 1.0)
}

//! Stretches of a series between changes of its level.

use crate::changepoint::{Cost, Penalty, pelt};
use crate::{ess, sample};

/// Length of a block whose mean is looked at, in drive writes.
const BLOCK_FILLS: f64 = 0.25;
/// Half drive writes whose own spread bounds the noise, at least, and what it is taken times.
const HALVES_MIN: usize = 12;
const HALVES_TIMES: f64 = 1.5;
/// Drive writes beyond which noise is not alike.
const LAG_FILLS: f64 = 0.12;
/// Most that neighbours are taken to be alike for noise: what is more so wanders.
const ALIKE_MAX: f64 = 0.7;
/// Least noise that is supposed, as a share of the level: what is printed is rounded.
const NOISE_MIN: f64 = 5e-4;

/// A stretch without a change, in values of the series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Segment {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) mean: f64,
}

/// All stretches, in order.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    pub(super) stretches: Vec<Segment>,
    /// Standard deviation of independent values that are worth as much as one of the series, in units of the series.
    pub(super) noise: f64,
    /// The same by what lies close together: without slow changes, which it does not see.
    pub(super) quick_noise: f64,
}

/// Cuts `values`, each `value_fills` drive writes long, where their level changes by `material` (a share) or more.
pub(super) fn segments(values: &[f64], value_fills: f64, material: f64) -> Option<Segments> {
    let length = ((BLOCK_FILLS / value_fills).round() as usize).max(1);
    let count = values.len() / length;
    if count < 2 {
        return None;
    }
    // Values that do not fill a block are dropped at the beginning: the end counts.
    let skipped = values.len() - count * length;
    // By medians a stall makes no change, however long it is.
    let median = |part: &[f64]| sample::sorted(part).map(|part| sample::median_of_sorted(&part));
    let blocks: Vec<f64> = values[skipped..].chunks_exact(length).filter_map(median).collect();
    let level = sample::median_of_sorted(&sample::sorted(&blocks)?);
    let quick = quick_noise(values, value_fills);
    let first = quick.max(NOISE_MIN * level);
    let cut = |noise: f64| -> Option<Vec<Segment>> {
        let scale = (noise / (length as f64).sqrt()).max(NOISE_MIN * level);
        let penalty = Penalty::PerChange((6.0 * (count as f64).ln()).max(16.0));
        let cut = pelt(&blocks, Cost::MeanKnownScale(scale), penalty, 2.min(count))?;
        let place = |block: usize| if block == 0 { 0 } else { skipped + block * length };
        let stretch = |segment: &crate::changepoint::Segment| {
            let (start, end) = (place(segment.start), skipped + segment.end * length);
            Segment { start, end, mean: sample::mean(&values[start..end]) }
        };
        let merged = merged(values, cut.segments.iter().map(stretch).collect(), material);
        let refined = refined(values, merged, length);
        Some(self::refined(values, self::merged(values, refined, material), length))
    };
    let stretches = cut(first)?;
    // Once more with the noise about those levels.
    let second = noise(values, &stretches, length, value_fills).max(first);
    let stretches = cut(second)?;
    let last = stretches.last()?;
    // The noise of the end is that of the end, unless there is too little of it.
    let enough = last.end - last.start >= (8 * length).max(24);
    let of_last = [Segment { start: 0, end: last.end - last.start, ..*last }];
    let third = if enough {
        noise(&values[last.start..], &of_last, length, value_fills)
    } else {
        noise(values, &stretches, length, value_fills)
    };
    // Ups and downs within a half drive write are worth less noise than their steps look like.
    let halves: Vec<f64> =
        values[last.start..last.end].rchunks_exact(2 * length).map(sample::mean).collect();
    let third = match sample::standard_deviation(&halves) {
        Some(spread) if halves.len() >= HALVES_MIN => {
            third.min(HALVES_TIMES * spread * ((2 * length) as f64).sqrt())
        }
        _ => third,
    };
    let quick_noise = quick_noise(&values[last.start..], value_fills).max(NOISE_MIN * level);
    Some(Segments { stretches, noise: third.max(NOISE_MIN * level), quick_noise })
}

/// Standard deviation of independent values that are worth as much as one of these, from the differences of values that are
/// [`LAG_FILLS`] and of those that are one apart.
fn quick_noise(values: &[f64], value_fills: f64) -> f64 {
    let longest = values.len().saturating_sub(1).max(1);
    let lag = ((LAG_FILLS / value_fills).round() as usize).clamp(1, longest);
    let (near, far) = (spread(values, 1), spread(values, lag));
    let alike = if far > 0.0 { (1.0 - (near / far).powi(2)).clamp(0.0, ALIKE_MAX) } else { 0.0 };
    far.max(near) * ((1.0 + alike) / (1.0 - alike)).sqrt()
}

/// Standard deviation by the differences of values that are `lag` apart.
pub(super) fn spread(values: &[f64], lag: usize) -> f64 {
    let steps: Vec<f64> = values.windows(lag + 1).map(|part| (part[lag] - part[0]).abs()).collect();
    sample::sorted(&steps).map_or(0.0, |ordered| 1.05 * sample::median_of_sorted(&ordered))
}

/// Joins neighbours that are less than `material` apart, the nearest first.
fn merged(values: &[f64], mut stretches: Vec<Segment>, material: f64) -> Vec<Segment> {
    loop {
        let apart = |at: usize| (stretches[at + 1].mean / stretches[at].mean - 1.0).abs();
        let nearest =
            (0..stretches.len().saturating_sub(1)).min_by(|a, b| apart(*a).total_cmp(&apart(*b)));
        let Some(at) = nearest.filter(|at| apart(*at) < material) else { return stretches };
        let next = stretches.remove(at + 1);
        let start = stretches[at].start;
        stretches[at] =
            Segment { start, end: next.end, mean: sample::mean(&values[start..next.end]) };
    }
}

/// Moves the boundaries from those of blocks to those of values; a value that is from both sides of a change belongs to neither.
fn refined(values: &[f64], mut stretches: Vec<Segment>, length: usize) -> Vec<Segment> {
    for at in 1..stretches.len() {
        let (before, after) = (stretches[at - 1], stretches[at]);
        let (low, high) =
            (before.end.saturating_sub(length), (after.start + length).min(values.len()));
        if low <= before.start || high >= after.end {
            continue;
        }
        let square = |value: f64, mean: f64| (value - mean).powi(2);
        // The squares to each side, for a boundary at the beginning of the window.
        let mut sum: f64 = values[low..high].iter().map(|x| square(*x, after.mean)).sum();
        let (mut best, mut place) = (sum, low);
        for (index, x) in values[low..high].iter().enumerate() {
            sum += square(*x, before.mean) - square(*x, after.mean);
            if sum < best {
                (best, place) = (sum, low + index + 1);
            }
        }
        let step = (after.mean - before.mean).abs();
        let mixed = |at: usize| (values[at] - after.mean).abs() > 0.25 * step;
        let start = if place + 1 < high && mixed(place) { place + 1 } else { place };
        stretches[at - 1].end = place;
        stretches[at].start = start;
        for one in &mut stretches[at - 1..=at] {
            one.mean = sample::mean(&values[one.start..one.end]);
        }
    }
    stretches
}

/// Standard deviation of independent values that are worth as much as one of these, about the lines through
/// `stretches`. The greater of two estimates: from the autocorrelation of values, which is too small
/// for what lasts, and from the differences of neighbouring blocks, which is too small for what alternates.
fn noise(values: &[f64], stretches: &[Segment], length: usize, value_fills: f64) -> f64 {
    let whole = ((1.0 / value_fills).round() as usize).max(8);
    let mut residuals = Vec::with_capacity(values.len());
    let mut add = |part: &[f64]| {
        let mean = sample::mean(part);
        // Drift is not noise.
        let middle = (part.len() as f64 - 1.0) / 2.0;
        let squares: f64 = (0..part.len()).map(|at| (at as f64 - middle).powi(2)).sum();
        let products: f64 =
            part.iter().enumerate().map(|(at, value)| (at as f64 - middle) * (value - mean)).sum();
        let slope = if part.len() > whole { products / squares } else { 0.0 };
        let off = |(at, value): (usize, &f64)| value - mean - slope * (at as f64 - middle);
        residuals.extend(part.iter().enumerate().map(off));
    };
    stretches.iter().for_each(|stretch| add(&values[stretch.start..stretch.end]));
    let variance = residuals.iter().map(|r| r * r).sum::<f64>() / residuals.len().max(1) as f64;
    let n = residuals.len() as f64;
    let effective = ess::effective_sample_size(&residuals).unwrap_or(n).max(1.0);
    let by_values = (variance * n / effective).sqrt();
    let blocks = ess::batch_means(values, length);
    let steps: Vec<f64> = blocks.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let by_blocks = sample::sorted(&steps).map_or(0.0, |ordered| {
        1.4826 * sample::median_of_sorted(&ordered) / 2.0_f64.sqrt() * (length as f64).sqrt()
    });
    // Of few blocks the median of their steps says little.
    if steps.len() < 6 { by_values } else { by_values.max(0.9 * by_blocks) }
}

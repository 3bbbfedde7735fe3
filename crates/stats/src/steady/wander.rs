//! Does the level of a stretch wander? A mean with an error supposes values about one level that are independent beyond a
//! short while; this is the check that they are.

use crate::sample;

/// Drive writes of a block whose level is looked at, and how many blocks there have to be.
const BLOCK_FILLS: f64 = 0.5;
const BLOCKS_MIN: usize = 6;
/// Drive writes before the end that count.
const RECENT_FILLS: f64 = 12.0;
/// Spread of the blocks from which on a level surely wanders, and how many times that of noise it has to be.
const WANDERS: f64 = 0.016;
const WANDERS_TIMES: f64 = 2.5;
/// The same of one that may wander. A wave of ± 1% is below it, whatever its length, and so is the collection of simulated drives.
const MAY: f64 = 0.009;
const MAY_TIMES: f64 = 1.25;
/// Whole drive writes that there have to be for theirs to count.
const WHOLE_MIN: usize = 4;
/// The same, by steps between eighths of a drive write, which noise that lasts makes smaller.
const MAY_EIGHTHS_TIMES: f64 = 1.75;
/// Spread that a stretch after a change may have, and the drive writes after which it may have more: the change may have been one
/// of many.
const AFTER_CHANGE: f64 = 0.0085;
const AFTER_CHANGE_FILLS: f64 = 6.0;
/// Drive writes of a long stretch, in which a level that leads away would have done so, and the same of it.
const LONG_FILLS: f64 = 8.5;
const MAY_LONG: f64 = 0.01;
const MAY_LONG_TIMES: f64 = 1.45;

/// Spreads of half drive writes, as shares of the level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wander {
    /// Standard deviation that was seen: the lesser of that of means and that of medians, since a stall moves a mean, and no median.
    pub(super) spread: f64,
    /// The one that noise explains, by what lies close together.
    pub(super) explained: f64,
    /// The same, by the steps between quarters of a drive write, and between eighths.
    by_quarters: f64,
    by_eighths: f64,
    /// Standard deviation of whole drive writes, where there are enough.
    of_whole: f64,
    fills: f64,
}

impl Wander {
    /// Looks at the end of `costs`, each about `cell_fills` drive writes long; `noise` is the standard deviation of one by what
    /// lies close together, as a share of `level`. `None` for fewer than six half drive writes.
    pub(super) fn of(costs: &[f64], cell_fills: f64, level: f64, noise: f64) -> Option<Wander> {
        let cells = |fills: f64| ((fills / cell_fills).round() as usize).clamp(1, costs.len());
        let half = cells(BLOCK_FILLS);
        let recent = &costs[costs.len() - cells(RECENT_FILLS)..];
        if recent.len() / half < BLOCKS_MIN {
            return None;
        }
        let median =
            |part: &[f64]| sample::sorted(part).map(|part| sample::median_of_sorted(&part));
        let of = |levels: &[f64]| Some(sample::standard_deviation(levels)? / level);
        let spread = |length: usize| {
            let medians: Vec<f64> = recent.rchunks_exact(length).filter_map(median).collect();
            let means: Vec<f64> = recent.rchunks_exact(length).map(sample::mean).collect();
            Some((of(&means)?.min(of(&medians)?), means.len()))
        };
        let by_steps = |fills: f64| by_steps(recent, cells(fills), half) / level;
        Some(Wander {
            spread: spread(half)?.0,
            explained: noise / (half as f64).sqrt(),
            by_quarters: by_steps(0.25),
            by_eighths: by_steps(0.125),
            of_whole: spread(2 * half)
                .map_or(0.0, |(spread, n)| if n < WHOLE_MIN { 0.0 } else { spread }),
            fills: costs.len() as f64 * cell_fills,
        })
    }

    /// The level wanders, whatever the noise is.
    pub(super) fn is_certain(&self) -> bool {
        self.spread > WANDERS && self.spread > WANDERS_TIMES * self.explained
    }

    /// Spread of half or whole drive writes that is beyond what a level that does not wander has, and what that is.
    pub(super) fn exceeds(&self, is_after_change: bool) -> Option<Excess> {
        // In a long stretch its own noise says more than the steps between short blocks.
        let (by_noise, allowed) = if self.fills > LONG_FILLS {
            let by_noise = MAY_LONG_TIMES * self.explained;
            (by_noise, by_noise.max(MAY_LONG))
        } else {
            let by_noise = MAY_TIMES * self.explained.min(self.by_quarters);
            (by_noise, by_noise.min(MAY_EIGHTHS_TIMES * self.by_eighths).max(MAY))
        };
        let is_recent = is_after_change && self.fills < AFTER_CHANGE_FILLS;
        let halves = if is_recent { allowed.min(AFTER_CHANGE) } else { allowed };
        let whole = (by_noise / 2.0_f64.sqrt()).max(MAY);
        let of_halves = Excess { of: "half drive writes", spread: self.spread, allowed: halves };
        let of_whole = Excess { of: "drive writes", spread: self.of_whole, allowed: whole };
        [of_halves, of_whole].into_iter().find(|excess| excess.spread > excess.allowed)
    }
}

/// A spread beyond what noise explains, as shares of the level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Excess {
    pub(super) of: &'static str,
    pub(super) spread: f64,
    pub(super) allowed: f64,
}

/// Standard deviation of the means of `length` values, were all independent, by the steps between means of `block` values.
fn by_steps(values: &[f64], block: usize, length: usize) -> f64 {
    let means: Vec<f64> = values.rchunks_exact(block).map(sample::mean).collect();
    let squares: Vec<f64> = means.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).collect();
    if squares.is_empty() {
        return f64::INFINITY;
    }
    (sample::mean(&squares) / 2.0 * block as f64 / length as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{normal, rng::Stream};

    const CELL: f64 = 1.0 / 32.0;

    /// Costs of 8 drive writes about 1, whose level walks by `step` a root of a drive write.
    fn costs(seed: u64, noise: f64, step: f64) -> Vec<f64> {
        let mut stream = Stream::new(seed);
        let mut draw = || normal::quantile(stream.open01());
        let mut level = 1.0;
        (0..256)
            .map(|_| {
                level += step * CELL.sqrt() * draw();
                level + noise * draw()
            })
            .collect()
    }

    // A mean of values that wander has an error that no count of them makes smaller.
    #[test]
    fn a_level_that_walks_is_seen_and_noise_is_not() {
        let count = |noise: f64, step: f64| {
            let seen = |seed: &u64| {
                let wander = Wander::of(&costs(*seed, noise, step), CELL, 1.0, noise).unwrap();
                wander.exceeds(false).is_some()
            };
            (0..200).filter(seen).count()
        };
        // Of much noise a quarter is doubted: it looks like a level that walks by as much.
        for (noise, most) in [(0.002, 4), (0.02, 8), (0.05, 60)] {
            assert!(count(noise, 0.0) <= most, "{noise}: {}", count(noise, 0.0));
        }
        for noise in [0.002, 0.02] {
            assert!(count(noise, 0.03) >= 180, "{noise}: {}", count(noise, 0.03));
        }
    }

    #[test]
    fn a_slight_wave_does_not_wander() {
        for period in [0.3, 0.7, 1.3, 2.0] {
            let wave = |at: usize| (at as f64 * CELL / period * std::f64::consts::TAU).sin();
            let costs: Vec<f64> = (0..256).map(|at| 1.0 + 0.01 * wave(at)).collect();
            let wander = Wander::of(&costs, CELL, 1.0, 0.001).unwrap();
            assert_eq!(wander.exceeds(true), None, "{period}: {wander:?}");
        }
    }

    #[test]
    fn few_values_say_nothing() {
        assert_eq!(Wander::of(&costs(1, 0.01, 0.0)[..90], CELL, 1.0, 0.01), None);
    }
}

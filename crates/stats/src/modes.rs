//! One mode or two?

mod dip;

pub use dip::{DipNull, dip};

use crate::sample;
use serde::Serialize;

/// Two modes are claimed at this p-value or below.
pub const ALPHA: f64 = 0.05;

/// And when they lie this many common standard deviations apart. Halves of one mode reach 2.7
/// (normal) or 3.5 (uniform).
pub const SEPARATION_MIN: f64 = 4.0;

/// Draws of the null distribution in [`two_modes`].
pub const RESAMPLES: usize = 2000;

/// Below this count the absence of two modes is not claimed.
pub const ONE_MODE_MIN: usize = 20;

/// How many modes a sample has.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Modes {
    /// No sign of a second mode, in a sample in which two well separated ones of like share would
    /// have shown.
    One,
    /// Two groups with a gap between.
    Two {
        /// Median of the lower group.
        low_center: f64,
        /// Median of the upper group.
        high_center: f64,
        /// Share of the values in the upper group.
        share_high: f64,
        /// Distance of the groups' means over the root mean square of their standard deviations;
        /// `None` when both are single points, where it has no bound.
        separation: Option<f64>,
    },
    /// Neither is shown.
    Undecided,
}

/// The answer of [`two_modes`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ModeTest {
    /// The answer.
    pub modes: Modes,
    /// Hartigan's dip.
    pub dip: f64,
    /// Its p-value against the uniform distribution, in steps of 1 / (draws + 1).
    pub p_value: f64,
    /// Values.
    pub n: usize,
}

/// Tests whether `xs` has two modes, with a null distribution drawn from `seed`; see
/// [`two_modes_against`].
pub fn two_modes(xs: &[f64], seed: u64) -> Option<ModeTest> {
    two_modes_against(xs, &DipNull::simulate(xs.len(), RESAMPLES, seed)?)
}

/// Tests whether `xs` has two modes.
///
/// They are claimed when the dip (Hartigan and Hartigan, Annals of Statistics 13, 1985) is
/// significant, which asks whether any distribution with one mode fits, *and* the best division into two
/// groups separates them by [`SEPARATION_MIN`]. The dip is compared with that of uniform samples, the
/// hardest case of one mode, so that for peaked distributions false alarms are far rarer than
/// [`ALPHA`]. The division is that with the least squares within groups, of which none has less
/// than two values or 5 %.
///
/// It says [`Modes::One`] only with [`ONE_MODE_MIN`] values, no significance and no separation; two
/// modes with shares as unequal as 4 : 1 take about 40 values to be seen. With six to ten values only
/// halves that lie far apart are found.
///
/// Equal values would pass for modes of their own. They are spread evenly over the least
/// difference between distinct values, as if they had been rounded, but never over more than 2 % of
/// the median.
///
/// `None` for empty input, NaN or an infinity, or when `null` was drawn for another count.
pub fn two_modes_against(xs: &[f64], null: &DipNull) -> Option<ModeTest> {
    let ordered = sample::sorted(xs)?;
    let n = ordered.len();
    if null.n() != n {
        return None;
    }
    if ordered[0] == ordered[n - 1] {
        let modes = if n >= ONE_MODE_MIN { Modes::One } else { Modes::Undecided };
        return Some(ModeTest { modes, dip: 0.5 / n as f64, p_value: 1.0, n });
    }
    let dip = dip::dip_of_sorted(&spread_ties(&ordered));
    let p_value = null.p_value(dip);
    let split = best_split(&ordered);
    let separated = split.as_ref().is_some_and(|split| split.separation >= SEPARATION_MIN);
    let modes = match split {
        Some(split) if separated && p_value <= ALPHA => Modes::Two {
            low_center: sample::median_of_sorted(&ordered[..split.at]),
            high_center: sample::median_of_sorted(&ordered[split.at..]),
            share_high: (n - split.at) as f64 / n as f64,
            separation: Some(split.separation).filter(|s| s.is_finite()),
        },
        _ if separated || p_value <= ALPHA || n < ONE_MODE_MIN => Modes::Undecided,
        _ => Modes::One,
    };
    Some(ModeTest { modes, dip, p_value, n })
}

/// Spreads equal values evenly over the least difference between distinct ones.
fn spread_ties(ordered: &[f64]) -> Vec<f64> {
    let steps = ordered.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0.0);
    let least = steps.fold(f64::INFINITY, f64::min);
    let most = 0.02 * sample::median_of_sorted(ordered).abs();
    let width = if most > 0.0 { least.min(most) } else { least };
    let mut spread = Vec::with_capacity(ordered.len());
    for group in ordered.chunk_by(|a, b| a == b) {
        let share = |index: usize| (index as f64 + 0.5) / group.len() as f64 - 0.5;
        spread.extend(group.iter().enumerate().map(|(index, x)| x + width * share(index)));
    }
    spread
}

/// A division of an ordered sample.
struct Split {
    /// Count of values in the lower group.
    at: usize,
    separation: f64,
}

/// The division with the least sum of squares within the groups.
fn best_split(ordered: &[f64]) -> Option<Split> {
    let n = ordered.len();
    let fewest = n.div_ceil(20).max(2);
    let total: f64 = ordered.iter().sum();
    let mut below = 0.0;
    let mut best: Option<(usize, f64)> = None;
    for at in 1..n {
        below += ordered[at - 1];
        if at < fewest || n - at < fewest {
            continue;
        }
        // Least squares within means greatest squares between.
        let apart = (total - below) / (n - at) as f64 - below / at as f64;
        let between = apart * apart * at as f64 * (n - at) as f64;
        if best.is_none_or(|(_, most)| between > most) {
            best = Some((at, between));
        }
    }
    let (at, _) = best?;
    let (low, high) = ordered.split_at(at);
    let apart = sample::mean(high) - sample::mean(low);
    let within = (sample::standard_deviation(low)?.powi(2)
        + sample::standard_deviation(high)?.powi(2))
        / 2.0;
    Some(Split { at, separation: apart / within.sqrt() })
}

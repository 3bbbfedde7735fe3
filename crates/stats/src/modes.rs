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

/// Share of [`ALPHA`] that the dip may spend; the gap has the rest.
///
/// Not half, for two reasons. The gap sees more of what drives do. And uniform samples are the dip's
/// hardest case in large samples only: in small ones, a tight mode at one end of a long even tail is
/// rejected more than twice as often as it should be.
pub const DIP_PORTION: f64 = 0.2;

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
        /// Distance of the groups' means over the root mean square of their standard deviations.
        separation: f64,
    },
    /// Neither is shown.
    Undecided,
}

/// The answer of [`two_modes`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ModeTest {
    /// The answer.
    pub modes: Modes,
    /// How likely a distribution with one mode gives such a sample: the lesser of the two below, each
    /// over its portion, since either may reject.
    pub p_value: f64,
    /// Hartigan's dip.
    pub dip: f64,
    /// Its p-value against the uniform distribution, in steps of 1 / (draws + 1).
    pub dip_p_value: f64,
    /// p-value of the emptiest gap; 1 when no group on either side would be large enough.
    pub gap_p_value: f64,
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
/// They are claimed when no distribution with one mode explains the sample ([`ModeTest::p_value`] at
/// most [`ALPHA`]) *and* a division into two groups, of which none has less than two values or 5%,
/// separates them by [`SEPARATION_MIN`]. One mode can be refuted in two ways:
///
/// - by the dip (Hartigan and Hartigan, Annals of Statistics 13, 1985), compared with that of uniform
///   samples. It sees modes that overlap, when the sample is large, but hardly a small second mode,
///   since a long tail fits that almost as well;
/// - by a gap. With the mode to its right, the density rises through the k values left of a gap and
///   the gap itself, so the gap is no longer than one of k uniform spacings, and at least a share f of
///   gap and group together with probability (1 - f)^(k - 1); with the mode to its left, mirrored. The
///   greater of the two holds wherever the mode is, and in the hardest case these are independent
///   uniform numbers over the gaps, so that the least of m has the p-value 1 - (1 - p)^m.
///
/// The gap holds for every distribution with one mode, however skewed or long its tails; on the dip see
/// [`DIP_PORTION`]. Values are supposed to be independent; use it on runs. [`Modes::One`] is said only
/// with [`ONE_MODE_MIN`] values, no significance and no separation.
///
/// Counted in `tests/two_modes.rs`: false alarms below 1% on normal, lognormal, exponential and t
/// samples, 1 to 2% on uniform ones, 3.5% on a spike with an even tail. Halves ten deviations apart
/// are found in a quarter of samples of 6 and in nine of ten of 20. A drive with 80% of its runs at
/// 160 to 175 MB/s and 20% at 130 to 150 is found out in 2% of samples of 21 (*undecided* in 85%),
/// in five of six of 105, and nearly always from 150.
///
/// Equal values would pass for modes of their own. They are spread evenly over the least
/// difference between distinct values, as if they had been rounded, but never over more than 2% of
/// the median.
///
/// `None` for empty input, NaN or an infinity, or when `null` was drawn for another count.
pub fn two_modes_against(xs: &[f64], null: &DipNull) -> Option<ModeTest> {
    let ordered = sample::sorted(xs)?;
    let n = ordered.len();
    if null.n() != n {
        return None;
    }
    let enough = n >= ONE_MODE_MIN;
    if ordered[0] == ordered[n - 1] {
        let modes = if enough { Modes::One } else { Modes::Undecided };
        let dip = 0.5 / n as f64;
        return Some(ModeTest { modes, p_value: 1.0, dip, dip_p_value: 1.0, gap_p_value: 1.0, n });
    }
    let spread = spread_ties(&ordered);
    let dip = dip::dip_of_sorted(&spread);
    let dip_p_value = null.p_value(dip);
    let gap = emptiest_gap(&spread);
    let gap_p_value = gap.map_or(1.0, |gap| gap.p_value);
    let p_value = (dip_p_value / DIP_PORTION).min(gap_p_value / (1.0 - DIP_PORTION)).min(1.0);
    let split = match gap {
        Some(gap) if p_value * (1.0 - DIP_PORTION) >= gap_p_value => Split::at(&spread, gap.at),
        _ => best_split(&spread),
    };
    let separated = split.as_ref().is_some_and(|split| split.separation >= SEPARATION_MIN);
    let modes = match split {
        Some(split) if separated && p_value <= ALPHA => split.modes(&ordered),
        _ if separated || p_value <= ALPHA || !enough => Modes::Undecided,
        _ => Modes::One,
    };
    Some(ModeTest { modes, p_value, dip, dip_p_value, gap_p_value, n })
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

/// The least count of values in a group: two, or 5%.
fn group_min(n: usize) -> usize {
    n.div_ceil(20).max(2)
}

/// A gap that one mode explains badly.
#[derive(Clone, Copy)]
struct Gap {
    /// Count of values below it.
    at: usize,
    p_value: f64,
}

/// The gap with the least p-value, corrected for having looked at all; see [`two_modes_against`].
fn emptiest_gap(ordered: &[f64]) -> Option<Gap> {
    let n = ordered.len();
    let fewest = group_min(n);
    let places = fewest..=n.checked_sub(fewest)?;
    let looked_at = places.clone().count() as f64;
    let by_chance = |at: usize| {
        let gap = ordered[at] - ordered[at - 1];
        // (1 - f)^(k - 1) of a group of k values and this extent.
        let side = |extent: f64, k: usize| (extent / (extent + gap)).powf((k - 1) as f64);
        let low = side(ordered[at - 1] - ordered[0], at);
        let high = side(ordered[n - 1] - ordered[at], n - at);
        low.max(high)
    };
    let least = places.map(|at| (at, by_chance(at))).min_by(|a, b| a.1.total_cmp(&b.1))?;
    // 1 - (1 - p)^m without cancellation.
    Some(Gap { at: least.0, p_value: -(looked_at * (-least.1).ln_1p()).exp_m1() })
}

/// A division of an ordered sample.
struct Split {
    /// Count of values in the lower group.
    at: usize,
    separation: f64,
}

impl Split {
    fn at(ordered: &[f64], at: usize) -> Option<Split> {
        let (low, high) = ordered.split_at(at);
        let apart = sample::mean(high) - sample::mean(low);
        let within = (sample::standard_deviation(low)?.powi(2)
            + sample::standard_deviation(high)?.powi(2))
            / 2.0;
        Some(Split { at, separation: apart / within.sqrt() })
    }

    fn modes(&self, ordered: &[f64]) -> Modes {
        let (low, high) = ordered.split_at(self.at);
        Modes::Two {
            low_center: sample::median_of_sorted(low),
            high_center: sample::median_of_sorted(high),
            share_high: high.len() as f64 / ordered.len() as f64,
            separation: self.separation,
        }
    }
}

/// The division with the least sum of squares within the groups.
fn best_split(ordered: &[f64]) -> Option<Split> {
    let n = ordered.len();
    let fewest = group_min(n);
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
    Split::at(ordered, best?.0)
}

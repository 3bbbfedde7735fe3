//! Intervals between two order statistics. How often they cover is a matter of counting heads and
//! tails, whatever the distribution.

use crate::{binomial, normal, sample};
use serde::Serialize;

/// Room for rounding when an exact probability is compared with the one asked for.
const ROUNDING: f64 = 1e-12;

/// An interval from one order statistic to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OrderInterval {
    /// The value at `lower_rank`.
    pub low: f64,
    /// The value at `upper_rank`.
    pub high: f64,
    /// Rank of the lower end in ascending order; the least value has rank 1.
    pub lower_rank: usize,
    /// Rank of the upper end in ascending order.
    pub upper_rank: usize,
    /// Exact probability that such an interval covers, for independent observations of a continuous
    /// distribution; a lower bound where values can tie. At least the confidence asked for.
    pub coverage: f64,
}

/// The median; of an even count, the mean of the middle two. `None` when `xs` is empty or holds NaN or
/// an infinity.
pub fn median(xs: &[f64]) -> Option<f64> {
    sample::sorted(xs).map(|ordered| sample::median_of_sorted(&ordered))
}

/// The narrowest interval for the median between the k-th least and the k-th greatest value that
/// covers with at least `confidence`.
///
/// Assumes independent observations and nothing else: the interval misses when fewer than k of n fall
/// on one side of the median, so the coverage is 1 - 2 P(Bin(n, 1/2) < k) (David and Nagaraja, Order
/// Statistics, section 7.1).
///
/// `None` when even minimum to maximum covers with less than `confidence` (n < 6 at 95%), when `xs`
/// is empty or holds NaN or an infinity, or `confidence` is not within (0, 1).
pub fn median_interval(xs: &[f64], confidence: f64) -> Option<OrderInterval> {
    if !sample::valid_confidence(confidence) {
        return None;
    }
    let ordered = sample::sorted(xs)?;
    let lower_rank = ranks_for_error(ordered.len(), 1.0 - confidence)?;
    Some(symmetric(&ordered, lower_rank))
}

/// Estimates how many runs in all would bring the interval of the median within ±`half_width_percent`
/// of it on both sides.
///
/// With w the longer side of [`median_interval`] of the n runs at hand, in percent of the median, and
/// k(m) the lower rank that it takes with m runs, the estimate is the least m with
///
/// w · z(m) / z(n) <= `half_width_percent`, where z(m) = Φ⁻¹(1 - (k(m) - 0.375) / (m + 0.25)).
///
/// z(m) is Blom's approximation to where that order statistic lies in a normal sample, so that the
/// step from minimum and maximum (n = 6) to inner ranks is not taken for noise; for large m it falls
/// as 1/sqrt(m). It supposes that the distribution is roughly normal about its median; with two modes
/// of like share the interval does not shrink so. Being made of two order statistics, it is rough:
/// where 90 runs were needed (normal, CV 3%, ±1%), half of the estimates from 6 runs lay between 51
/// and 136.
///
/// The answer is n itself when n runs are enough, and never less. Above 1,000 it is a count from which
/// fewer by one would not do, though a still smaller one might: ranks are whole, and z(m) wobbles.
///
/// `None` when n runs give no interval (fewer than 6 at 95%), the median is zero,
/// `half_width_percent` is not positive, or more than 10^8 runs would be needed.
pub fn runs_needed(xs: &[f64], half_width_percent: f64, confidence: f64) -> Option<usize> {
    let interval = median_interval(xs, confidence)?;
    let width = half_width(&interval, median(xs)?)?;
    if half_width_percent.is_nan() || half_width_percent <= 0.0 {
        return None;
    }
    if width <= half_width_percent {
        return Some(xs.len());
    }
    let wanted = shape(xs.len(), interval.lower_rank) * half_width_percent / width;
    let enough = |m: usize| {
        ranks_for_error(m, 1.0 - confidence).is_some_and(|rank| shape(m, rank) <= wanted)
    };
    // Ranks are whole, so that z(m) falls with a wobble: halving steps alone would pass over the least
    // count. Where that is cheap, all are tried.
    const ALL_TRIED: usize = 1000;
    const MOST: usize = 100_000_000;
    if let Some(least) = (xs.len() + 1..=ALL_TRIED).find(|&m| enough(m)) {
        return Some(least);
    }
    let mut short = xs.len().max(ALL_TRIED);
    let mut long = short * 2;
    while !enough(long) {
        if long >= MOST {
            return None;
        }
        (short, long) = (long, long * 2);
    }
    while long - short > 1 {
        let middle = short + (long - short) / 2;
        if enough(middle) { long = middle } else { short = middle }
    }
    Some(long)
}

/// The greatest rank k for which k-th least to k-th greatest of n misses the median with probability
/// `error` at most; `None` when there is none.
pub(crate) fn ranks_for_error(n: usize, error: f64) -> Option<usize> {
    last_rank(n / 2, |rank| 2.0 * binomial::cdf(rank - 1, n, 0.5) <= error + ROUNDING)
}

/// The last of the ranks 1..=`most` that passes, when all that pass come first.
pub(crate) fn last_rank(most: usize, passes: impl Fn(usize) -> bool) -> Option<usize> {
    let (mut good, mut bad) = (0, most + 1);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if passes(middle) { good = middle } else { bad = middle }
    }
    (good > 0).then_some(good)
}

/// Upper end of the interval from rank k in a normal sample of n, in standard deviations (Blom
/// 1958).
pub(crate) fn shape(n: usize, lower_rank: usize) -> f64 {
    normal::quantile(1.0 - (lower_rank as f64 - 0.375) / (n as f64 + 0.25))
}

/// The longer side of an interval of the median, in percent of the median; `None` at a median of zero.
pub(crate) fn half_width(interval: &OrderInterval, median: f64) -> Option<f64> {
    let longer = (interval.high - median).max(median - interval.low);
    let percent = longer / median.abs() * 100.0;
    percent.is_finite().then_some(percent)
}

/// True when both sides of the interval are within ±`percent` of the median.
pub(crate) fn within_percent(interval: &OrderInterval, median: f64, percent: f64) -> bool {
    half_width(interval, median).is_some_and(|width| width <= percent)
}

/// The interval from rank k to rank n + 1 - k, with its exact coverage.
pub(crate) fn symmetric(ordered: &[f64], lower_rank: usize) -> OrderInterval {
    let n = ordered.len();
    let upper_rank = n + 1 - lower_rank;
    OrderInterval {
        low: ordered[lower_rank - 1],
        high: ordered[upper_rank - 1],
        lower_rank,
        upper_rank,
        coverage: 1.0 - 2.0 * binomial::cdf(lower_rank - 1, n, 0.5),
    }
}

/// Ends of the median's interval when n observations are worth `n_effective` independent ones: the
/// quantile levels that `n_effective` observations would reach to, rounded outwards.
pub(crate) fn widened_interval(
    ordered: &[f64],
    n_effective: f64,
    confidence: f64,
) -> Option<(f64, f64)> {
    let n = ordered.len();
    let worth = (n_effective.floor() as usize).clamp(1, n);
    let rank = ranks_for_error(worth, 1.0 - confidence)?;
    let scaled = (rank * (n + 1)) / (worth + 1);
    let interval = symmetric(ordered, scaled.max(1));
    Some((interval.low, interval.high))
}

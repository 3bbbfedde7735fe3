//! The bootstrap, for statistics that order statistics cannot bound: means, ratios, spreads.

use crate::rng::Stream;
use crate::{normal, sample};
use serde::Serialize;

/// How the interval is read off the resampled statistic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BootstrapKind {
    /// Its quantiles as they are (Efron 1979). First-order correct.
    Percentile,
    /// Quantiles corrected for bias and for a spread that changes with the value (Efron, JASA 82,
    /// 1987). Second-order correct; the acceleration comes from leaving one out at a time.
    Bca,
}

/// A statistic with its bootstrap interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BootstrapInterval {
    /// The statistic of the sample itself.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Standard deviation of the resampled statistic.
    pub standard_error: f64,
}

/// A bootstrap interval of `statistic`, from `resamples` draws with replacement.
///
/// The coverage holds for large samples only, and no count of resamples can mend that: for the mean of
/// 25 exponential values, 903 of 1,000 percentile intervals and 917 BCa intervals of 95% covered. Prefer
/// [`super::median_interval`] for the median, which is exact. The
/// draws come from xoshiro256++ of `seed`; 2,000 or more are wanted for 95%.
///
/// `None` when `xs` has fewer than two values or holds NaN or an infinity, `confidence` is not within
/// (0, 1), `resamples` is less than 40 / (1 - confidence), the statistic is not finite on the sample
/// or on a resample, or, for [`BootstrapKind::Bca`], all resamples lie on one side of the value.
pub fn bootstrap(
    xs: &[f64],
    statistic: impl Fn(&[f64]) -> f64,
    confidence: f64,
    resamples: usize,
    seed: u64,
    kind: BootstrapKind,
) -> Option<BootstrapInterval> {
    let too_few = (resamples as f64) < 40.0 / (1.0 - confidence) - 1e-6;
    if xs.len() < 2 || !sample::usable(xs) || !sample::valid_confidence(confidence) || too_few {
        return None;
    }
    let value = Some(statistic(xs)).filter(|value| value.is_finite())?;
    let mut stream = Stream::new(seed);
    let mut drawn = vec![0.0; xs.len()];
    let mut replicates = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        drawn.fill_with(|| xs[stream.below(xs.len())]);
        replicates.push(statistic(&drawn));
    }
    let standard_error = sample::standard_deviation(&replicates)?;
    let ordered = sample::sorted(&replicates)?;
    let tail = (1.0 - confidence) / 2.0;
    let (lower, upper) = match kind {
        BootstrapKind::Percentile => (tail, 1.0 - tail),
        BootstrapKind::Bca => corrected_levels(xs, &statistic, &ordered, value, tail)?,
    };
    Some(BootstrapInterval {
        value,
        low: sample::quantile_of_sorted(&ordered, lower),
        high: sample::quantile_of_sorted(&ordered, upper),
        standard_error,
    })
}

/// The two levels at which BCa reads the resampled statistic.
fn corrected_levels(
    xs: &[f64],
    statistic: &impl Fn(&[f64]) -> f64,
    ordered: &[f64],
    value: f64,
    tail: f64,
) -> Option<(f64, f64)> {
    // A statistic that can tie with the sample's own, such as a median, counts those by half.
    let below = ordered.partition_point(|&x| x < value);
    let up_to = ordered.partition_point(|&x| x <= value);
    if below == 0 && up_to == ordered.len() {
        return Some((tail, 1.0 - tail));
    }
    let bias = normal::quantile((below + up_to) as f64 / (2 * ordered.len()) as f64);
    let acceleration = acceleration(xs, statistic)?;
    let level = |z: f64| normal::cdf(bias + (bias + z) / (1.0 - acceleration * (bias + z)));
    let (lower, upper) = (level(normal::quantile(tail)), level(normal::quantile(1.0 - tail)));
    (bias.is_finite() && lower.is_finite() && lower < upper).then_some((lower, upper))
}

/// How fast the spread of the statistic changes with its value: a sixth of the skewness of the
/// leave-one-out values.
fn acceleration(xs: &[f64], statistic: &impl Fn(&[f64]) -> f64) -> Option<f64> {
    let mut rest = xs[1..].to_vec();
    let mut left_out = Vec::with_capacity(xs.len());
    for index in 0..xs.len() {
        left_out.push(statistic(&rest));
        if index < rest.len() {
            rest[index] = xs[index];
        }
    }
    if !sample::usable(&left_out) {
        return None;
    }
    let center = sample::mean(&left_out);
    let squares: f64 = left_out.iter().map(|x| (center - x).powi(2)).sum();
    let cubes: f64 = left_out.iter().map(|x| (center - x).powi(3)).sum();
    Some(if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 })
}

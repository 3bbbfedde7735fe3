//! How far values lie from each other.

use crate::{normal, sample};
use serde::Serialize;

/// Standard deviation (with n - 1) over the absolute mean, as a ratio. `None` for fewer than two
/// values, a mean of zero, NaN or an infinity.
pub fn coefficient_of_variation(xs: &[f64]) -> Option<f64> {
    if !sample::usable(xs) {
        return None;
    }
    let ratio = sample::standard_deviation(xs)? / sample::mean(xs).abs();
    ratio.is_finite().then_some(ratio)
}

/// A standard deviation with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DeviationInterval {
    /// The standard deviation, with n - 1.
    pub deviation: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The standard deviation with the interval of Bonett (Computational Statistics & Data Analysis 50, 2006), which allows for
/// tails that are longer or shorter than those of normal data by the sample's own kurtosis about its trimmed mean. Of
/// logarithms it is that of the coefficient of variation, nearly.
///
/// `None` for fewer than 5 values, NaN or an infinity, or a confidence that is not within (0, 1).
pub fn deviation_interval(xs: &[f64], confidence: f64) -> Option<DeviationInterval> {
    let ordered = sample::sorted(xs).filter(|ordered| ordered.len() >= 5)?;
    if !sample::valid_confidence(confidence) {
        return None;
    }
    let n = ordered.len() as f64;
    let deviation = sample::standard_deviation(&ordered)?;
    if deviation == 0.0 || ordered[0] == ordered[ordered.len() - 1] {
        return Some(DeviationInterval { deviation: 0.0, low: 0.0, high: 0.0 });
    }
    let trimmed = ((n / (2.0 * (n - 4.0).sqrt())) as usize).min((ordered.len() - 1) / 2);
    let middle = sample::mean(&ordered[trimmed..ordered.len() - trimmed]);
    let fourth: f64 = ordered.iter().map(|x| (x - middle).powi(4)).sum();
    let squares = sample::sum_of_squares(&ordered, sample::mean(&ordered));
    let kurtosis = n * fourth / (squares * squares);
    let z = normal::quantile(0.5 + confidence / 2.0);
    let widening = n / (n - z);
    let error = widening * ((kurtosis - (n - 3.0) / n) / (n - 1.0)).max(0.0).sqrt();
    let end = |sign: f64| deviation * (widening.sqrt() * (sign * z * error / 2.0).exp());
    Some(DeviationInterval { deviation, low: end(-1.0), high: end(1.0) })
}

/// (maximum - minimum) / |mean|, as a ratio: the "R / Avg." of process charts.
///
/// It grows with the count of values (for normal data by d2(n): 2.3 standard deviations at n = 5, 3.7
/// at 20) and one outlier owns it, so it compares only samples of like size; the coefficient of
/// variation is the better judge. `None` for empty input, a mean of zero, NaN or an infinity.
pub fn range_over_mean(xs: &[f64]) -> Option<f64> {
    let ordered = sample::sorted(xs)?;
    let ratio = (ordered[ordered.len() - 1] - ordered[0]) / sample::mean(xs).abs();
    ratio.is_finite().then_some(ratio)
}

/// Median of the absolute deviations from the median, unscaled: times 1.4826 it estimates the standard
/// deviation of normal data. `None` for empty input, NaN or an infinity.
pub fn median_absolute_deviation(xs: &[f64]) -> Option<f64> {
    let center = sample::median_of_sorted(&sample::sorted(xs)?);
    let deviations: Vec<f64> = xs.iter().map(|x| (x - center).abs()).collect();
    sample::sorted(&deviations).map(|ordered| sample::median_of_sorted(&ordered))
}

/// The `p`-quantile, 0 <= p <= 1, linear between order statistics (type 7 of Hyndman and Fan, the
/// default of R and NumPy). `None` for empty input, NaN or an infinity, or another p.
pub fn quantile(xs: &[f64], p: f64) -> Option<f64> {
    let ordered = sample::sorted(xs)?;
    (0.0..=1.0).contains(&p).then(|| sample::quantile_of_sorted(&ordered, p))
}

/// Tukey's fences: the quartiles, and 1.5 and 3 interquartile ranges beyond them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fences {
    /// Below is at least a mild outlier.
    pub inner_low: f64,
    /// Above is at least a mild outlier.
    pub inner_high: f64,
    /// Below is a severe outlier.
    pub outer_low: f64,
    /// Above is a severe outlier.
    pub outer_high: f64,
}

/// Tukey's fences (Exploratory Data Analysis, 1977) with quartiles as of [`quantile`]. `None` for
/// fewer than four values, NaN or an infinity.
pub fn tukey_fences(xs: &[f64]) -> Option<Fences> {
    let ordered = sample::sorted(xs).filter(|ordered| ordered.len() >= 4)?;
    let (q1, q3) =
        (sample::quantile_of_sorted(&ordered, 0.25), sample::quantile_of_sorted(&ordered, 0.75));
    let range = q3 - q1;
    Some(Fences {
        inner_low: q1 - 1.5 * range,
        inner_high: q3 + 1.5 * range,
        outer_low: q1 - 3.0 * range,
        outer_high: q3 + 3.0 * range,
    })
}

//! Is a window steady? Not "no slope was found", which a short or noisy window always passes, but: whatever the
//! slope may be, what it leads to is within the margin.

use crate::{ess, sample};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Trend of a window, by a line through it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rest {
    /// Mean of the window.
    pub mean: f64,
    /// Least-squares slope for each fill, as a share of the mean.
    pub slope_per_fill: f64,
    /// Standard error of that slope, for correlated noise.
    pub slope_error: f64,
    /// Standard error of the mean, as a share of it, likewise.
    pub mean_error: f64,
    /// Half width of the interval of where the series ends, as a share of the mean.
    pub half_width: f64,
    /// Values.
    pub n: usize,
    /// Independent ones that the noise about the line is worth.
    pub n_effective: f64,
}

impl Rest {
    /// Most that the mean may be off from where the series ends, as a share of the mean.
    pub fn bound(&self) -> f64 {
        self.slope_per_fill.abs() + self.half_width
    }

    /// Interval of where the series ends, as shares of the mean.
    pub fn ends(&self) -> [f64; 2] {
        let end = 1.0 + self.slope_per_fill;
        [end - self.half_width, end + self.half_width]
    }

    /// Best estimate of the end, as a share of the mean: the line's, drawn towards the mean by as much as the slope is
    /// uncertain. A slope of many standard errors is believed, one that noise would give is not; either alone would be worse,
    /// the mean where a drive still comes down, and the line where it does not.
    pub fn estimate(&self) -> f64 {
        let (slope, error) = (self.slope_per_fill, self.slope_error);
        if slope == 0.0 {
            return 1.0;
        }
        1.0 + slope * slope.powi(2) / (slope.powi(2) + error.powi(2))
    }
}

/// Looks at equally spaced values over `fills` capacities written, with two one-sided errors of `error` each.
///
/// A drive's memory of how it began fades as addresses are rewritten: of those that a state consists of,
/// e^-t are left after t fills of uniform random writes, whatever the policy of its collection. A series that
/// goes to its end m like e^-t has a slope of (m - y) a fill at each point: so the distance from the window's mean to the
/// end is the slope times one fill, and the estimate of the end is mean + slope x 1 fill. In ordinary least squares
/// mean and slope are independent, and so the variances add up. Noise about the line is counted as
/// [`ess::effective_sample_size`] of it, with Student's t of that many degrees of freedom less two.
///
/// `None` for fewer than eight values, for noise that is worth fewer than four, values that are not finite, or a mean
/// that is not positive.
pub fn rest(values: &[f64], fills: f64, error: f64) -> Option<Rest> {
    let n = values.len();
    let sane = n >= 8 && fills > 0.0 && error > 0.0 && error < 0.5;
    if !sane || !sample::usable(values) {
        return None;
    }
    let mean = sample::mean(values);
    if mean.is_nan() || mean <= 0.0 {
        return None;
    }
    let step = fills / n as f64;
    let middle = (n - 1) as f64 / 2.0;
    let place = |at: usize| (at as f64 - middle) * step;
    let (mut products, mut squares) = (0.0, 0.0);
    for (at, value) in values.iter().enumerate() {
        products += place(at) * (value - mean);
        squares += place(at).powi(2);
    }
    let slope = products / squares;
    let residuals: Vec<f64> =
        values.iter().enumerate().map(|(at, value)| value - mean - slope * place(at)).collect();
    let n_effective = ess::effective_sample_size(&residuals)?;
    if n_effective < 4.0 {
        return None;
    }
    let noise: f64 = residuals.iter().map(|r| r * r).sum::<f64>() / (n - 2) as f64;
    // Correlated noise is worth fewer values, of the mean as of the slope.
    let inflation = n as f64 / n_effective;
    let (of_mean, of_slope) = (noise * inflation / n as f64, noise * inflation / squares);
    let t = StudentsT::new(0.0, 1.0, n_effective - 2.0).ok()?.inverse_cdf(1.0 - error);
    Some(Rest {
        mean,
        slope_per_fill: slope / mean,
        slope_error: of_slope.sqrt() / mean,
        mean_error: of_mean.sqrt() / mean,
        half_width: t * (of_mean + of_slope).sqrt() / mean,
        n,
        n_effective,
    })
}

/// Means of all stretches of `length` consecutive values, as the least and the greatest. `None` when there is none.
pub fn extremes(values: &[f64], length: usize) -> Option<(f64, f64)> {
    if length == 0 {
        return None;
    }
    let means = values.windows(length).map(sample::mean);
    means.fold(None, |ends, mean| match ends {
        None => Some((mean, mean)),
        Some((least, greatest)) => Some((f64::min(least, mean), f64::max(greatest, mean))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{normal, rng::Stream};

    fn noise(seed: u64) -> impl FnMut() -> f64 {
        let mut stream = Stream::new(seed);
        move || normal::quantile(stream.open01())
    }

    // The end of a series that fades like e^-t is predicted: the bound must hold the true distance, and the estimate
    // come near it.
    #[test]
    fn a_fading_series_is_told_its_end() {
        let cells = 64;
        for left in [0.2, 0.1, 0.05, 0.02] {
            let values: Vec<f64> = (0..cells)
                .map(|at| 100.0 * (1.0 + left * (-(f64::from(at) + 0.5) / 32.0).exp()))
                .collect();
            let rest = rest(&values, 2.0, 0.05).unwrap();
            let distance = 100.0 / rest.mean - 1.0;
            assert!(rest.bound() >= distance.abs(), "{left}: {rest:?} {distance}");
            assert!((rest.slope_per_fill / distance - 1.0).abs() < 0.1, "{left}: {rest:?}");
            assert!((rest.estimate() - 1.0 - distance).abs() < 0.1 * distance.abs(), "{left}");
        }
    }

    // Of noise alone the mean is the better estimate, and the line's end the worse: believed without regard to its error it
    // would add an error of its own. The reported end lies in the interval, whatever the slope.
    #[test]
    fn a_slope_of_noise_is_not_believed() {
        let (mut of_estimate, mut of_line) = (0.0, 0.0);
        for seed in 0..200 {
            let mut draw = noise(seed);
            let values: Vec<f64> = (0..40).map(|_| 100.0 + 3.0 * draw()).collect();
            let rest = rest(&values, 1.25, 0.01).unwrap();
            let [low, high] = rest.ends();
            assert!(low < rest.estimate() && rest.estimate() < high, "{rest:?}");
            of_estimate += (rest.mean * rest.estimate() - 100.0).powi(2);
            of_line += (rest.mean * (1.0 + rest.slope_per_fill) - 100.0).powi(2);
        }
        assert!(of_estimate < 0.8 * of_line, "{of_estimate} {of_line}");
    }

    // The interval is for noise that lasts: values that resemble their neighbours must not count as many.
    #[test]
    fn intervals_hold_under_correlated_noise() {
        let (mut missed, trials) = (0, 400);
        for seed in 0..trials {
            let mut draw = noise(seed);
            let mut last = 0.0;
            let values: Vec<f64> = (0..96)
                .map(|_| {
                    last = 0.6 * last + draw();
                    100.0 + last
                })
                .collect();
            let rest = rest(&values, 3.0, 0.05).unwrap();
            let end = rest.mean * (1.0 + rest.slope_per_fill);
            missed += u32::from((end - 100.0).abs() > rest.half_width * rest.mean);
        }
        // Two errors of 5% would be 40. Of so short a series the correlation is estimated too small, which doubles them;
        // as if independent it would be 160 and more.
        assert!(missed < 100, "{missed} of {trials}");
    }

    #[test]
    fn what_cannot_be_told_is_not() {
        assert_eq!(rest(&[], 1.0, 0.05), None);
        assert_eq!(rest(&[1.0; 7], 1.0, 0.05), None);
        assert_eq!(rest(&[f64::NAN; 20], 1.0, 0.05), None);
        assert_eq!(rest(&[0.0; 20], 1.0, 0.05), None);
        let flat = rest(&[5.0; 20], 1.0, 0.05).unwrap();
        assert_eq!((flat.mean, flat.bound(), flat.estimate()), (5.0, 0.0, 1.0));
        assert_eq!(extremes(&[1.0, 3.0, 8.0], 2), Some((2.0, 5.5)));
        assert_eq!(extremes(&[1.0], 2), None);
        assert_eq!(extremes(&[1.0], 0), None);
    }
}

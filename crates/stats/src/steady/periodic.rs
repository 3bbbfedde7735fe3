//! Up and down without end: a drive that collects in waves, or a load that comes round again.

use super::window;
use crate::{ess, sample};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Whole periods that must have been seen.
const PERIODS_MIN: usize = 3;
/// Least values of a period.
const VALUES_MIN: usize = 8;
/// Least correlation of what is a period apart. Below half, less than half of the variance comes round again.
const CORRELATION_MIN: f64 = 0.5;
/// Least standard deviation that is not mere rounding, as a share.
const VARIES: f64 = 1e-9;

/// A wave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wave {
    /// Its length, in values.
    pub(super) length: usize,
    /// Values, at the end of the series, that are whole periods.
    pub(super) values: usize,
    /// Correlation of what is a period apart.
    pub(super) correlation: f64,
    /// Mean of the whole periods.
    pub(super) mean: f64,
    /// Half width of its interval, as a share of it.
    pub(super) half_width: f64,
    /// Half fills leave the margin in each period; else they stay within it all the time.
    pub(super) leaves: bool,
}

/// Finds a wave whose means over `half_fill` values leave the margin in each period, or never do, while the means of whole
/// periods stay within it: what comes round must come round to the same level. `error` is that of each end of the
/// interval. `None` when there is none, fewer than three periods of it, or when its length is known to fewer than eight
/// values: rounded to a whole one, its mean would be that of another stretch.
pub(super) fn wave(values: &[f64], half_fill: usize, margin: f64, error: f64) -> Option<Wave> {
    if !sample::usable(values) {
        return None;
    }
    let longest = values.len() / PERIODS_MIN;
    let correlations: Vec<f64> = (0..=longest).map(|lag| correlation(values, lag)).collect();
    // Lag 0 and its neighbours do not count as a period: one begins beyond the first lag without correlation.
    let first = correlations.iter().position(|rho| *rho <= 0.0).filter(|lag| *lag > 0)?;
    let best = correlations[first..].iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if best < CORRELATION_MIN {
        return None;
    }
    // Multiples of a period correlate as well as it does: the shortest is the period.
    let is_peak = |lag: &usize| {
        let at = correlations[*lag];
        let around = &correlations[lag - 1..=lag + 1];
        at >= 0.9 * best && around.iter().all(|other| at >= *other)
    };
    // The last lag is none: what comes after it may be higher.
    let length = (first..longest).find(is_peak)?;
    let count = values.len() / length;
    let whole = &values[values.len() - count * length..];
    let periods = ess::batch_means(whole, length);
    let mean = sample::mean(&periods);
    let off = |level: f64| (level / mean - 1.0).abs();
    if count < PERIODS_MIN
        || length < VALUES_MIN
        || periods.iter().any(|level| off(*level) > margin)
    {
        return None;
    }
    // A single excursion from the margin is an event, not a wave.
    let leaves = |from: usize| {
        // Half fills that begin in the period; of the last one, those that still fit.
        let stretch = (length + half_fill).min(whole.len());
        let from = from.min(whole.len() - stretch);
        let (least, greatest) = window::extremes(&whole[from..from + stretch], half_fill)?;
        Some(off(least) > margin || off(greatest) > margin)
    };
    let left = (0..count).filter(|period| leaves(period * length).unwrap_or(true)).count();
    if left > 0 && left < count {
        return None;
    }
    let t = StudentsT::new(0.0, 1.0, (count - 1) as f64).ok()?.inverse_cdf(1.0 - error);
    let spread = sample::standard_deviation(&periods)? / mean;
    let half_width = t * spread / (count as f64).sqrt();
    Some(Wave {
        length,
        values: whole.len(),
        correlation: correlations[length],
        mean,
        half_width,
        leaves: left > 0,
    })
}

/// Correlation of what is `lag` apart, each part about its own mean: exactly one for what comes round exactly, where the
/// usual estimate of the autocorrelation falls off with the lag. Zero when nothing varies: the rounding of a mean does not
/// count as variation, and would correlate perfectly.
fn correlation(values: &[f64], lag: usize) -> f64 {
    let (early, late) = (&values[..values.len() - lag], &values[lag..]);
    let means = (sample::mean(early), sample::mean(late));
    let varies = |part: &[f64], mean: f64| {
        sample::sum_of_squares(part, mean) > part.len() as f64 * (VARIES * mean).powi(2)
    };
    if !varies(early, means.0) || !varies(late, means.1) {
        return 0.0;
    }
    let products: f64 = early.iter().zip(late).map(|(a, b)| (a - means.0) * (b - means.1)).sum();
    let squares = sample::sum_of_squares(early, means.0) * sample::sum_of_squares(late, means.1);
    Some(products / squares.sqrt()).filter(|rho| rho.is_finite()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use std::f64::consts::TAU;

    fn series(n: usize, mut at: impl FnMut(f64) -> f64) -> Vec<f64> {
        (0..n).map(|i| at(i as f64)).collect()
    }

    #[test]
    fn waves_and_teeth_are_found_with_their_length() {
        let mut stream = Stream::new(1);
        let mut noisy = |level: f64| level * (1.0 + 0.02 * (stream.open01() - 0.5));
        let sine = series(128, |i| noisy(100.0 + 20.0 * (TAU * i / 32.0).sin()));
        let teeth = series(160, |i| noisy(100.0 + (i % 40.0)));
        for (values, length) in [(sine, 32_usize), (teeth, 40)] {
            let wave = wave(&values, 16, 0.05, 0.05).unwrap();
            assert!(wave.length.abs_diff(length) <= 1, "{wave:?}");
            assert!(wave.values >= 3 * wave.length && wave.half_width < 0.05, "{wave:?}");
            assert!(wave.leaves);
        }
    }

    // A wave that half fills average out leaves a drive steady, and so does one within the margin.
    #[test]
    fn a_wave_that_half_fills_do_not_see_leaves_nothing() {
        let flutter = series(128, |i| 100.0 + 20.0 * (TAU * i / 8.0).sin());
        let slight = series(160, |i| 100.0 + 4.0 * (TAU * i / 40.0).sin());
        for values in [flutter, slight] {
            assert!(!wave(&values, 16, 0.05, 0.05).unwrap().leaves);
        }
    }

    // A fall, a single dip and noise are not periodic: calling them so would end a
    // measurement that has to go on.
    #[test]
    fn what_does_not_come_round_is_no_wave() {
        let mut stream = Stream::new(2);
        let fall = series(128, |i| 100.0 * (-i / 200.0).exp() + 5.0 * (i / 3.0).sin());
        let dip = series(128, |i| if (40.0..50.0).contains(&i) { 30.0 } else { 100.0 });
        let noise = series(128, |_| 100.0 * (0.5 + stream.open01()));
        // A third has no exact form: the mean of parts of equal values is off by rounding.
        let equal = [1.0, 1.0 / 3.0, 1.0 / 51_234_567.0].map(|value| vec![value; 67]);
        for values in [fall, dip, noise, vec![], vec![f64::NAN; 9]].into_iter().chain(equal) {
            assert_eq!(wave(&values, 16, 0.05, 0.05), None);
        }
    }
}

//! Means that a few commands which took ten times as long do not move, with their errors.

use serde::{Deserialize, Serialize};

/// Fewer values than this have no error that means anything.
pub(super) const COUNT_MIN: usize = 6;

/// Values are left out that lie further beyond the tenth or the ninetieth percentile than this many times the distance
/// between the two: of a normal distribution, beyond 5.1 standard deviations.
const FENCE: f64 = 1.5;

/// An estimated mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The mean, in nanoseconds.
    pub value_ns: f64,
    /// Its standard error, in nanoseconds.
    pub error_ns: f64,
}

/// Median of `values`, which are reordered; 0 of none.
pub(super) fn median(values: &mut [f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let (middle, odd) = (values.len() / 2, values.len() % 2 == 1);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if odd {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (lower + upper) / 2.0
}

/// Lower quartile of `values`, which are reordered, with its standard error, from the distance between the quantiles
/// that lie a standard error of the rank to either side. `None` below [`COUNT_MIN`] values.
pub(super) fn lower_quartile(values: &mut [f64]) -> Option<Estimate> {
    if values.len() < COUNT_MIN {
        return None;
    }
    let last = values.len() - 1;
    let count = values.len() as f64;
    let rank = |share: f64| ((count - 1.0) * share).round().clamp(0.0, last as f64) as usize;
    let wide = (0.25 * 0.75 / count).sqrt();
    let mut at = |share: f64| *values.select_nth_unstable_by(rank(share), f64::total_cmp).1;
    let (low, value_ns, high) = (at(0.25 - wide), at(0.25), at(0.25 + wide));
    Some(Estimate { value_ns, error_ns: (high - low) / 2.0 })
}

/// Mean of `values`, which are reordered, within the fences, and its standard error. `None` below [`COUNT_MIN`]
/// values.
///
/// The times of pages of two or three kinds lie in as many bands, in shares that differ from class to class, and
/// only their mean is the same in all. So what is robust in the usual way misleads here. Rejected: the median, which
/// jumps from band to band; Huber's estimate, which leans to the band in the middle, by more than its error; fences
/// by the median absolute deviation, which throws out the smaller of two bands. A band of a tenth of the samples is
/// within the fences wherever it lies, and a share of up to a tenth of wild values does not widen them.
pub(super) fn fenced_mean(values: &mut [f64]) -> Option<Estimate> {
    if values.len() < COUNT_MIN {
        return None;
    }
    let tenth = values.len() / 10;
    let last = values.len() - 1;
    let low = *values.select_nth_unstable_by(tenth, f64::total_cmp).1;
    let high = *values.select_nth_unstable_by(last - tenth, f64::total_cmp).1;
    let beyond = FENCE * (high - low);
    let fences = low - beyond..=high + beyond;
    let kept = || values.iter().filter(|value| fences.contains(value));
    let count = kept().count() as f64;
    let mean = kept().sum::<f64>() / count;
    let squares: f64 = kept().map(|value| (value - mean).powi(2)).sum();
    let error_ns = (squares / (count - 1.0) / count).sqrt();
    Some(Estimate { value_ns: mean, error_ns })
}

#[cfg(test)]
mod tests {
    use workload::rng::Rng;

    use super::*;

    /// Two bands of unequal size with a little noise, and spikes of ten times the time in three of a hundred.
    fn bands(count: u64, spikes: bool) -> Vec<f64> {
        let mut rng = Rng::for_path(count, &[1]);
        (0..count)
            .map(|_| {
                let band = if rng.unit() < 0.35 { 45.0 } else { 0.0 };
                let spike = if spikes && rng.unit() < 0.03 { 5000.0 } else { 0.0 };
                band + 4.0 * rng.unit() + spike
            })
            .collect()
    }

    // Breaks when the mean of two bands leans to the larger one, or spikes move it: the first makes pages of the
    // wrong size on cards that are read without noise, the second on all.
    #[test]
    fn bands_stay_and_spikes_go() {
        let expected = 0.35 * 45.0 + 2.0;
        for count in [40, 400, 4000] {
            for spikes in [false, true] {
                let estimate = fenced_mean(&mut bands(count, spikes)).unwrap();
                let off = (estimate.value_ns - expected).abs();
                assert!(off < 3.5 * estimate.error_ns, "{count} {spikes}: {estimate:?}");
                let error = (0.35 * 0.65f64).sqrt() * 45.0 / (count as f64).sqrt();
                assert!((estimate.error_ns / error - 1.0).abs() < 0.35, "{count}: {estimate:?}");
            }
        }
        assert_eq!(fenced_mean(&mut [1.0; 5]), None);
    }

    #[test]
    fn the_lower_quartile_has_its_error() {
        let mut outside = 0;
        for seed in 0..200 {
            let mut rng = Rng::for_path(seed, &[2]);
            let mut values: Vec<f64> = (0..300).map(|_| rng.unit()).collect();
            let estimate = lower_quartile(&mut values).unwrap();
            outside += u32::from((estimate.value_ns - 0.25).abs() > 2.0 * estimate.error_ns);
        }
        // One in twenty of 200 would be 10.
        assert!((2..35).contains(&outside), "{outside}");
        assert_eq!(median(&mut [3.0, 1.0, 2.0, 10.0]), 2.5);
        assert_eq!(median(&mut []), 0.0);
    }
}

//! Means that a few commands which took ten times as long do not move, with their errors.

use serde::{Deserialize, Serialize};

/// Beyond how many standard deviations a sample counts as if it lay there. Of a normal distribution 95 % lie
/// within, and the estimate has 97 % of the mean's efficiency (Huber 1964, k = 2.0).
const CLIP: f64 = 2.0;

/// Median absolute deviation of a normal distribution with standard deviation 1, inverted.
const NORMAL_MAD: f64 = 1.482_602_218_505_602;

/// Fewer values than this have no error that means anything.
pub(super) const COUNT_MIN: usize = 6;

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

/// Standard deviation of the body of `values`, by their median absolute deviation about `centre`.
pub(super) fn spread(values: &[f64], centre: f64) -> f64 {
    let mut deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let mad = NORMAL_MAD * median(&mut deviations);
    if mad > 0.0 {
        return mad;
    }
    // More than half are the same, as where a clock ticks in steps: what the others say is what there is.
    let mean = deviations.iter().sum::<f64>() / deviations.len().max(1) as f64;
    mean * 1.253_314_137
}

/// Huber's estimate of location, with the spread of the body as its scale and the standard error of M-estimates
/// (Huber, "Robust Statistics", 1981, 6.6). `None` below [`COUNT_MIN`] values.
///
/// Rejected: the mean, which one spiked read in a hundred moves by a tenth of a read's time; the median, which
/// needs half as many samples again, and jumps where kinds of pages make two bands of times.
pub(super) fn huber(values: &[f64]) -> Option<Estimate> {
    if values.len() < COUNT_MIN {
        return None;
    }
    let mut location = median(&mut values.to_vec());
    let scale = spread(values, location);
    if scale <= 0.0 {
        return Some(Estimate { value_ns: location, error_ns: 0.0 });
    }
    let clip = CLIP * scale;
    for _ in 0..30 {
        let (sum, inside) = moments(values, location, clip, |psi| psi);
        let step = sum / inside.max(1.0);
        location += step;
        if step.abs() < 1e-4 * scale {
            break;
        }
    }
    let (squares, inside) = moments(values, location, clip, |psi| psi * psi);
    let count = values.len() as f64;
    let small = count / (count - 1.0);
    let error_ns = (squares * small).sqrt() / inside.max(1.0);
    Some(Estimate { value_ns: location, error_ns })
}

/// Sum of `of` over the clipped deviations, and how many are not clipped.
fn moments(values: &[f64], location: f64, clip: f64, of: impl Fn(f64) -> f64) -> (f64, f64) {
    values.iter().fold((0.0, 0.0), |(sum, inside), value| {
        let deviation = value - location;
        let counts = if deviation.abs() <= clip { 1.0 } else { 0.0 };
        (sum + of(deviation.clamp(-clip, clip)), inside + counts)
    })
}

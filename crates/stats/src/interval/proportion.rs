//! Exact intervals for a proportion.

use crate::{binomial, sample};
use serde::Serialize;

/// A proportion with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ProportionInterval {
    /// Successes per trial.
    pub value: f64,
    /// Lower end, 0 when there was no success.
    pub low: f64,
    /// Upper end, 1 when there was no failure.
    pub high: f64,
}

/// The interval of Clopper and Pearson (Biometrika 26, 1934): all proportions p for which neither
/// `successes` or more nor `successes` or fewer of `n` is less likely than (1 - confidence) / 2. Covers
/// with at least `confidence`, whatever the proportion. One end alone is a bound of confidence
/// 1 - (1 - confidence) / 2: for a one-sided bound of 95%, ask for 90%.
///
/// `None` when `n` is zero, `successes` is more than `n`, or `confidence` is not within (0, 1).
pub fn proportion_interval(
    successes: usize,
    n: usize,
    confidence: f64,
) -> Option<ProportionInterval> {
    if n == 0 || successes > n || !sample::valid_confidence(confidence) {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    let low =
        if successes == 0 { 0.0 } else { root(|p| binomial::survival(successes, n, p) >= tail) };
    let high = if successes == n { 1.0 } else { root(|p| binomial::cdf(successes, n, p) < tail) };
    Some(ProportionInterval { value: successes as f64 / n as f64, low, high })
}

/// The p at which `passed` turns from false to true, by halving until it can be halved no more.
/// Chosen over an inverse of the beta function for certainty: halving cannot diverge.
fn root(passed: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return high;
        }
        if passed(middle) {
            high = middle
        } else {
            low = middle
        }
        if high - low <= high * 1e-15 {
            return high;
        }
    }
}

//! The standard normal distribution.

use statrs::function::erf::{erfc, erfc_inv};
use std::f64::consts::SQRT_2;

/// P(Z <= z).
pub(crate) fn cdf(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// P(Z > z), precise in the upper tail.
pub(crate) fn survival(z: f64) -> f64 {
    0.5 * erfc(z / SQRT_2)
}

/// The z with P(Z <= z) = p, for 0 < p < 1; infinite at the ends.
pub(crate) fn quantile(p: f64) -> f64 {
    -SQRT_2 * erfc_inv(2.0 * p)
}

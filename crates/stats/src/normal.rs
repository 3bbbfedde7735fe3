//! The standard normal distribution, to about 1e-11: statrs' erfc is off by 1.1e-12 at 0.975.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_scipy() {
        // scipy.stats.norm 1.17; intervals and p-values would be off by as much as this is.
        let quantiles = [
            (0.975, 1.959963984540054),
            (0.5, 0.0),
            (0.001, -3.090232306167813),
            (1e-10, -6.361340902404056),
        ];
        for (p, z) in quantiles {
            assert!((quantile(p) - z).abs() < 1e-9, "{p}: {}", quantile(p));
            assert!((cdf(z) - p).abs() < 1e-11, "{z}: {}", cdf(z));
        }
        assert!((survival(6.0) / 9.865876450376946e-10 - 1.0).abs() < 1e-9, "{}", survival(6.0));
    }
}

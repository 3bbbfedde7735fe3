//! The noise of virtual drives: small, drawn from a seed, and frozen.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A stream of noise. Xoshiro256++ (Blackman and Vigna), its state filled from the seed by SplitMix64.
///
/// Integers only: a distribution computed with a platform's `ln` or `exp` could differ in its last
/// bit from machine to machine, and with it every later event.
#[derive(Clone, Debug)]
pub(crate) struct Noise(Xoshiro256PlusPlus);

impl Noise {
    /// The stream of `seed`.
    pub(crate) fn new(seed: u64) -> Noise {
        Noise(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Uniform over `0..bound`; zero when `bound` is zero. The high half of a 64 x 64 bit product,
    /// whose bias of at most `bound / 2^64` is of no account for noise.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.0.next_u64()) * u128::from(bound);
        (product >> 64) as u64
    }

    /// Symmetric about zero within `±half_width`, nearly normal: the mean of four uniform draws
    /// (Irwin–Hall), standard deviation `half_width / sqrt(12)`.
    pub(crate) fn bell(&mut self, half_width: u64) -> i64 {
        let sum: u64 = (0..4).map(|_| self.below(2 * half_width + 1)).sum();
        (sum / 4) as i64 - half_width as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The seed is part of a run's record: another stream under the same seed would make every
    // record of a virtual drive irreproducible.
    #[test]
    fn the_stream_of_a_seed_is_frozen() {
        let mut noise = Noise::new(7);
        let drawn: Vec<u64> = (0..4).map(|_| noise.below(1_000_000_000)).collect();
        assert_eq!(drawn, [55360436, 172115854, 717576128, 427209819]);
        let bells: Vec<i64> = (0..4).map(|_| noise.bell(60_000)).collect();
        assert_eq!(bells, [14493, -19746, -16836, -22587]);
    }

    #[test]
    fn a_bell_stays_within_its_width_and_about_zero() {
        let mut noise = Noise::new(1);
        let draws: Vec<i64> = (0..40_000).map(|_| noise.bell(12_000)).collect();
        assert!(draws.iter().all(|d| d.abs() <= 12_000));
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<i64>() as f64 / n;
        let sd = (draws.iter().map(|d| (*d as f64 - mean).powi(2)).sum::<f64>() / n).sqrt();
        // Standard error of the mean is 17; of the standard deviation, expected 3464, about 12.
        assert!(mean.abs() < 90.0, "{mean}");
        assert!((sd - 3464.0).abs() < 80.0, "{sd}");
        assert_eq!(noise.bell(0), 0);
        assert_eq!(noise.below(0), 0);
    }
}

//! Comparison of two groups of runs that were not made side by side.

use serde::{Deserialize, Serialize};

use super::RatioEstimate;
use crate::{normal, sample};

/// Up to this product of counts the distribution of U is exact.
const EXACT_PRODUCT_MAX: usize = 2_500;

/// Groups with more pairs of runs than this are refused: all ratios are held in memory.
const PRODUCT_MAX: usize = 4_000_000;

/// What an unpaired comparison found: a / b.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnpairedRatio {
    /// Median of all ratios of a run of a to a run of b (Hodges and Lehmann 1963), with the interval
    /// that inverts the test of Mann and Whitney.
    pub estimate: RatioEstimate,
    /// Confidence asked for.
    pub confidence: f64,
    /// Runs of a.
    pub n_a: usize,
    /// Runs of b.
    pub n_b: usize,
}

/// Compares two groups on a logarithmic scale: by how much one must be stretched to lie on the other.
/// The interval supposes that runs are independent and that the groups differ in place, not in shape;
/// it supposes nothing of that shape. At 95 % it takes 4 runs on each side (or 3 and 5); with fewer it
/// is absent.
///
/// `None` when a group is empty, when there are more than four million pairs of runs, when a value is not positive and finite, or `confidence` is not within (0, 1).
pub fn unpaired_ratio(a: &[f64], b: &[f64], confidence: f64) -> Option<UnpairedRatio> {
    let positive = |xs: &[f64]| xs.iter().all(|x| x.is_finite() && *x > 0.0);
    let comparable = a.len().saturating_mul(b.len()) <= PRODUCT_MAX;
    if !comparable || !positive(a) || !positive(b) || !sample::valid_confidence(confidence) {
        return None;
    }
    let shifts: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| a.ln() - b.ln())).collect();
    let shifts = sample::sorted(&shifts)?;
    let ends = rank_sum(a.len(), b.len(), (1.0 - confidence) / 2.0)
        .map(|rank| (shifts[rank - 1].exp(), shifts[shifts.len() - rank].exp()));
    let estimate = RatioEstimate {
        ratio: sample::median_of_sorted(&shifts).exp(),
        low: ends.map(|(low, _)| low),
        high: ends.map(|(_, high)| high),
    };
    Some(UnpairedRatio { estimate, confidence, n_a: a.len(), n_b: b.len() })
}

/// The greatest k with P(U < k) <= `tail` for Mann and Whitney's U of groups of `m` and `n`: the rank
/// of the lower end among all differences. `None` when there is none.
fn rank_sum(m: usize, n: usize, tail: f64) -> Option<usize> {
    if m * n > EXACT_PRODUCT_MAX {
        let (m, n) = (m as f64, n as f64);
        let deviation = (m * n * (m + n + 1.0) / 12.0).sqrt();
        let rank = m * n / 2.0 + 0.5 + normal::quantile(tail) * deviation;
        return (rank >= 1.0).then_some(rank as usize);
    }
    let mut below = 0.0;
    let fits = |p: &&f64| {
        below += **p;
        below <= tail + 1e-12
    };
    let probabilities = rank_sum_probabilities(m, n);
    let rank = probabilities.iter().take_while(fits).count();
    (rank > 0 && 2 * rank <= probabilities.len()).then_some(rank)
}

/// P(U = u) for u from 0 to m n, from the generating function: the Gaussian binomial coefficient
/// `prod (1 - q^(n+i)) / (1 - q^i)` for i from 1 to m, scaled so that its coefficients add up to 1.
fn rank_sum_probabilities(m: usize, n: usize) -> Vec<f64> {
    let mut ways = vec![0.0; m * n + 1];
    ways[0] = 1.0;
    for i in 1..=m {
        for u in (n + i..ways.len()).rev() {
            ways[u] -= ways[u - n - i];
        }
        for u in i..ways.len() {
            ways[u] += ways[u - i];
        }
        // All ways so far, (n + i choose i), grow by this factor; divided out, nothing overflows.
        let factor = (n + i) as f64 / i as f64;
        ways.iter_mut().for_each(|w| *w /= factor);
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of U over all ways to lay `m` and `n` things in a row.
    fn by_hand(m: usize, n: usize) -> Vec<f64> {
        let mut counts = vec![0u64; m * n + 1];
        for row in 0u32..1 << (m + n) {
            if row.count_ones() as usize != m {
                continue;
            }
            let (mut u, mut seen) = (0, 0);
            for place in 0..m + n {
                match row >> place & 1 {
                    1 => u += seen,
                    _ => seen += 1,
                }
            }
            counts[u] += 1;
        }
        let all: u64 = counts.iter().sum();
        counts.into_iter().map(|c| c as f64 / all as f64).collect()
    }

    #[test]
    fn probabilities_are_those_of_all_arrangements() {
        for (m, n) in [(1, 1), (2, 5), (5, 2), (4, 4), (6, 6), (7, 5)] {
            let (ours, hand) = (rank_sum_probabilities(m, n), by_hand(m, n));
            let worst = ours.iter().zip(&hand).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-12, "{m}, {n}: {worst}");
        }
        let sum: f64 = rank_sum_probabilities(50, 50).iter().sum();
        assert!((sum - 1.0).abs() < 1e-6, "{sum}");
    }

    /// Two-sided critical values at 5 % as tables of the U test print them (k is one more).
    #[test]
    fn ranks_are_those_of_the_tables() {
        let table = [(4, 4, 0), (5, 5, 2), (6, 6, 5), (6, 8, 8), (8, 8, 13), (10, 10, 23)];
        for (m, n, critical) in table {
            assert_eq!(rank_sum(m, n, 0.025), Some(critical + 1), "{m}, {n}");
        }
        assert_eq!(rank_sum(20, 20, 0.025), Some(128));
        assert_eq!(rank_sum(3, 3, 0.025), None);
        assert_eq!(rank_sum(3, 5, 0.025), Some(1));
        // Where the exact distribution ends, the approximation goes on: one rank apart at most.
        let (exact, normal) = (rank_sum(50, 50, 0.025).unwrap(), rank_sum(50, 51, 0.025).unwrap());
        assert!(normal > exact && normal - exact < 30, "{exact} {normal}");
    }

    #[test]
    fn a_stretch_is_found_and_swapping_gives_the_reciprocal() {
        let b = [100.0, 103.0, 99.0, 101.5, 98.0, 102.0, 100.5, 97.5];
        let a: Vec<f64> = b.iter().rev().map(|x| x * 1.25).collect();
        let found = unpaired_ratio(&a, &b, 0.95).unwrap();
        assert!((found.estimate.ratio - 1.25).abs() < 0.005, "{found:?}");
        let (low, high) = (found.estimate.low.unwrap(), found.estimate.high.unwrap());
        assert!(low > 1.2 && high < 1.3 && low < 1.25 && high > 1.25, "{found:?}");
        let swapped = unpaired_ratio(&b, &a, 0.95).unwrap().estimate;
        assert!((swapped.low.unwrap() - 1.0 / high).abs() < 1e-12);
        assert!(unpaired_ratio(&a[..3], &b[..3], 0.95).unwrap().estimate.low.is_none());
        assert!(unpaired_ratio(&[], &b, 0.95).is_none());
        assert!(unpaired_ratio(&[0.0], &b, 0.95).is_none());
    }
}

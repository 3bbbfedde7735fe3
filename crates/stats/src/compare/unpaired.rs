//! Mann and Whitney's U, for groups of runs that were not made side by side.

use crate::{normal, sample};

/// Up to this product of counts the distribution of U is exact.
const EXACT_PRODUCT_MAX: usize = 2_500;

/// Groups with more pairs of runs than this are refused: all ratios are held in memory.
const PRODUCT_MAX: usize = 4_000_000;

/// All differences of a value of `a` to one of `b`, in ascending order; `None` when there are none, or too many.
pub(super) fn shifts(a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
    if a.len().saturating_mul(b.len()) > PRODUCT_MAX {
        return None;
    }
    let shifts: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| a - b)).collect();
    sample::sorted(&shifts)
}

/// P(U <= u) for Mann and Whitney's U of groups of `m` and `n`, exact as far as [`rank_sum`] is.
pub(super) fn rank_sum_tail(m: usize, n: usize, u: usize) -> f64 {
    if m * n > EXACT_PRODUCT_MAX {
        let (m, n) = (m as f64, n as f64);
        let deviation = (m * n * (m + n + 1.0) / 12.0).sqrt();
        return normal::cdf((u as f64 + 0.5 - m * n / 2.0) / deviation);
    }
    rank_sum_probabilities(m, n).iter().take(u + 1).sum()
}

/// The greatest k with P(U < k) <= `tail` for Mann and Whitney's U of groups of `m` and `n`: the rank
/// of the lower end among all differences. `None` when there is none.
pub(super) fn rank_sum(m: usize, n: usize, tail: f64) -> Option<usize> {
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
    use crate::{Contrast, Design};

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

    /// Two-sided critical values at 5% as tables of the U test print them (k is one more).
    #[test]
    fn ranks_are_those_of_the_tables() {
        let table = [(4, 4, 0), (5, 5, 2), (6, 6, 5), (6, 8, 8), (8, 8, 13), (10, 10, 23)];
        for (m, n, critical) in table {
            assert_eq!(rank_sum(m, n, 0.025), Some(critical + 1), "{m}, {n}");
        }
        assert_eq!(rank_sum(20, 20, 0.025), Some(128));
        assert_eq!(rank_sum(3, 3, 0.025), None);
        assert_eq!(rank_sum(3, 5, 0.025), Some(1));
        // Past the end of the exact distribution the approximation is used: one rank apart at most.
        let (exact, normal) = (rank_sum(50, 50, 0.025).unwrap(), rank_sum(50, 51, 0.025).unwrap());
        assert!(normal > exact && normal - exact < 30, "{exact} {normal}");
    }

    #[test]
    fn a_stretch_is_found_and_swapping_gives_the_reciprocal() {
        let b = [100.0, 103.0, 99.0, 101.5, 98.0, 102.0, 100.5, 97.5];
        let a: Vec<f64> = b.iter().rev().map(|x| x * 1.25).collect();
        let of = |a: &[f64], b: &[f64]| Contrast::new(a, b, Design::Separate);
        let found = of(&a, &b).unwrap().estimate(0.95);
        assert!((found.ratio - 1.25).abs() < 0.005, "{found:?}");
        let (low, high) = (found.low.unwrap(), found.high.unwrap());
        assert!(low > 1.2 && high < 1.3 && low < 1.25 && high > 1.25, "{found:?}");
        let swapped = of(&b, &a).unwrap().estimate(0.95);
        assert!((swapped.low.unwrap() - 1.0 / high).abs() < 1e-12);
        assert!(of(&a[..3], &b[..3]).unwrap().estimate(0.95).low.is_none());
        assert!(of(&[], &b).is_none());
        assert!(of(&[0.0], &b).is_none());
    }
}

//! Did the values go from one level to another while they were measured, and when?

use serde::Serialize;

use crate::rng::Stream;
use crate::sample;

/// Fewest values before and after a shift: one alone is an outlier.
const SIDE_MIN: usize = 2;
/// Orders drawn to see what chance makes.
const ORDERS: usize = 999;

/// The most likely place of a lasting shift.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Shift {
    /// Index of the first value after it.
    pub at: usize,
    /// Median of the values before.
    pub before: f64,
    /// Median of those after.
    pub after: f64,
    /// How likely values in no order have a place that divides them at least as well, in steps of 0.001.
    pub p_value: f64,
}

/// The place that divides `xs` best into an earlier and a later part, with the probability that chance does as well: by the
/// greatest sum of squares between the parts' means, among 999 orders of the same values that `seed` draws (a permutation
/// test, which supposes no distribution).
///
/// `None` for fewer than six values, for values that are all alike, NaN or an infinity.
pub fn shift(xs: &[f64], seed: u64) -> Option<Shift> {
    let ordered = sample::sorted(xs).filter(|ordered| ordered.len() >= 6)?;
    if ordered[0] == ordered[ordered.len() - 1] {
        return None;
    }
    let mean = sample::mean(xs);
    let mut values: Vec<f64> = xs.iter().map(|x| x - mean).collect();
    let (at, apart) = best(&values);
    let mut stream = Stream::new(seed);
    // Sums in another order may differ by rounding.
    let least = apart * (1.0 - 1e-12);
    let mut as_good = 0;
    for _ in 0..ORDERS {
        for last in (1..values.len()).rev() {
            values.swap(last, stream.below(last + 1));
        }
        as_good += usize::from(best(&values).1 >= least);
    }
    let median = |part: &[f64]| sample::sorted(part).map(|part| sample::median_of_sorted(&part));
    Some(Shift {
        at,
        before: median(&xs[..at])?,
        after: median(&xs[at..])?,
        p_value: (as_good + 1) as f64 / (ORDERS + 1) as f64,
    })
}

/// The best division of values about their mean, and its sum of squares.
fn best(values: &[f64]) -> (usize, f64) {
    let n = values.len();
    let mut sum = 0.0;
    let mut best = (SIDE_MIN, 0.0);
    for (before, value) in values.iter().enumerate() {
        if before >= SIDE_MIN && n - before >= SIDE_MIN {
            let apart = sum * sum * n as f64 / (before * (n - before)) as f64;
            if apart > best.1 {
                best = (before, apart);
            }
        }
        sum += value;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shift_is_found_where_it_is_and_one_outlier_is_none() {
        let mut xs: Vec<f64> = (0..12).map(|i| 100.0 + f64::from(i % 3)).collect();
        xs[7..].iter_mut().for_each(|x| *x -= 20.0);
        let found = shift(&xs, 1).unwrap();
        assert_eq!((found.at, found.before, found.after), (7, 101.0, 81.0));
        assert!(found.p_value <= 0.01, "{found:?}");
        let mut once: Vec<f64> = (0..12).map(|i| 100.0 + f64::from(i * 7 % 5)).collect();
        once[5] = 50.0;
        assert!(shift(&once, 1).unwrap().p_value > 0.05);
        assert_eq!(shift(&[5.0; 10], 1), None);
        assert_eq!(shift(&[1.0, 1.0, 1.0, 2.0, 2.0], 1), None);
        assert_eq!(shift(&[1.0, 1.0, f64::NAN, 2.0, 2.0, 2.0], 1), None);
    }
}

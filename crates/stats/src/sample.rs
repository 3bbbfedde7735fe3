//! First step of every statistic here: checking that a sample is usable, and sorting it.

/// The sample in ascending order; `None` when it is empty or holds NaN or an infinity.
pub(crate) fn sorted(xs: &[f64]) -> Option<Vec<f64>> {
    if !usable(xs) {
        return None;
    }
    let mut ordered = xs.to_vec();
    ordered.sort_unstable_by(f64::total_cmp);
    Some(ordered)
}

/// True when there is at least one value and all are finite.
pub(crate) fn usable(xs: &[f64]) -> bool {
    !xs.is_empty() && xs.iter().all(|x| x.is_finite())
}

/// True when `confidence` is a probability for which an interval means something.
pub(crate) fn valid_confidence(confidence: f64) -> bool {
    confidence > 0.0 && confidence < 1.0
}

/// Mean of a usable sample.
pub(crate) fn mean(xs: &[f64]) -> f64 {
    xs.iter().sum::<f64>() / xs.len() as f64
}

/// Sum of squared deviations from `center`.
pub(crate) fn sum_of_squares(xs: &[f64], center: f64) -> f64 {
    xs.iter().map(|x| (x - center).powi(2)).sum()
}

/// Standard deviation with n - 1; `None` for fewer than two values.
pub(crate) fn standard_deviation(xs: &[f64]) -> Option<f64> {
    (xs.len() >= 2).then(|| (sum_of_squares(xs, mean(xs)) / (xs.len() - 1) as f64).sqrt())
}

/// Median of an ordered, usable sample.
pub(crate) fn median_of_sorted(ordered: &[f64]) -> f64 {
    let half = ordered.len() / 2;
    if ordered.len() % 2 == 1 {
        ordered[half]
    } else {
        // Halved first, so that two huge values do not overflow.
        ordered[half - 1] / 2.0 + ordered[half] / 2.0
    }
}

/// Quantile of an ordered, usable sample, linear between order statistics (type 7 of Hyndman and
/// Fan 1996, the default of R and NumPy). `p` is clamped to 0..1.
pub(crate) fn quantile_of_sorted(ordered: &[f64], p: f64) -> f64 {
    let position = p.clamp(0.0, 1.0) * (ordered.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(ordered.len() - 1);
    ordered[below] + (position - below as f64) * (ordered[above] - ordered[below])
}

/// Ranks from 1, ties sharing the mean of theirs.
pub(crate) fn midranks(xs: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..xs.len()).collect();
    order.sort_unstable_by(|&a, &b| xs[a].total_cmp(&xs[b]));
    let mut ranks = vec![0.0; xs.len()];
    let mut start = 0;
    while start < order.len() {
        let mut end = start + 1;
        while end < order.len() && xs[order[end]] == xs[order[start]] {
            end += 1;
        }
        // Mean of the ranks start+1 ..= end.
        let rank = (start + 1 + end) as f64 / 2.0;
        for &index in &order[start..end] {
            ranks[index] = rank;
        }
        start = end;
    }
    ranks
}

/// Sizes of the groups of equal values, for corrections for ties. Groups of one are left out.
pub(crate) fn tie_groups(ordered: &[f64]) -> Vec<usize> {
    ordered.chunk_by(|a, b| a == b).map(<[f64]>::len).filter(|&size| size > 1).collect()
}

/// Calls `visit` with every order of `values`, which is left in some order (Heap's method).
/// The count of calls is n!; callers keep n at 8 or below.
pub(crate) fn each_permutation(values: &mut [f64], visit: &mut impl FnMut(&[f64])) {
    let mut counters = vec![0_usize; values.len()];
    visit(values);
    let mut depth = 1;
    while depth < values.len() {
        if counters[depth] < depth {
            let other = if depth % 2 == 0 { 0 } else { counters[depth] };
            values.swap(other, depth);
            visit(values);
            counters[depth] += 1;
            depth = 1;
        } else {
            counters[depth] = 0;
            depth += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_order_is_visited_once() {
        // An exact p-value would be wrong if an order were missed or counted twice.
        let mut seen = BTreeSet::new();
        let mut calls = 0;
        each_permutation(&mut [1.0, 2.0, 3.0, 4.0, 5.0], &mut |order| {
            calls += 1;
            seen.insert(order.iter().map(|x| *x as u8).collect::<Vec<_>>());
        });
        assert_eq!((calls, seen.len()), (120, 120));
    }

    #[test]
    fn ties_share_their_ranks() {
        assert_eq!(midranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert_eq!(tie_groups(&[1.0, 2.0, 2.0, 3.0, 3.0, 3.0]), [2, 3]);
    }
}

//! Comparisons of what was measured: side by side (pairs), or one after the other.

mod contrast;
mod outcome;
mod percentiles;
mod ranks;
mod unpaired;

use crate::interval::ranks_for_error;
use crate::{normal, sample};
use serde::{Deserialize, Serialize};

pub use contrast::{Contrast, Design, ERROR_MAX};
pub(crate) use outcome::open;
pub use outcome::{Judged, Outcome, Withheld, holm, judge};
pub use percentiles::{LatencyRuns, NoInterval, percentile_ratio_factor};
pub use ranks::{RankInterval, rank_intervals};

/// More pairs than this are refused: all pairwise means are held in memory.
pub const PAIRS_MAX: usize = 4096;

/// Up to this count of pairs the signed-rank distribution is exact.
const EXACT_PAIRS_MAX: usize = 60;

/// A ratio with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatioEstimate {
    /// The estimate.
    pub ratio: f64,
    /// Lower end; `None` when there are too few pairs.
    pub low: Option<f64>,
    /// Upper end; `None` when there are too few pairs.
    pub high: Option<f64>,
}

/// Result of a paired comparison: a / b.
///
/// The headline (`ratio`, `low`, `high`) is the geometric median of the pairs' ratios between two
/// order statistics. It supposes that pairs are independent and nothing more, so it stays right when
/// ratios are skewed or have two modes, as those of drives do. Hodges and Lehmann's estimate is
/// given beside it: it uses the data better (narrower by about a fifth on normal data), but holds
/// only when log ratios lie symmetrically about their middle. When the two differ, the ratios are
/// skewed, and the headline is the one to believe.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RatioInterval {
    /// Median of the ratios; of an even count, the geometric mean of the middle two.
    pub ratio: f64,
    /// Lower end; `None` when there are too few pairs (fewer than 5 at 90%, 6 at 95%).
    pub low: Option<f64>,
    /// Upper end; `None` when there are too few pairs.
    pub high: Option<f64>,
    /// Confidence asked for.
    pub confidence: f64,
    /// Pairs.
    pub n: usize,
    /// The median of all pairwise means of log ratios, with the interval of Wilcoxon's signed-rank
    /// test (Hodges and Lehmann 1963).
    pub hodges_lehmann: RatioEstimate,
}

/// Compares `a[i]` with `b[i]`, measured side by side, on a logarithmic scale, so that swapping them
/// gives the reciprocal.
///
/// `None` when the slices are empty, differ in length or exceed [`PAIRS_MAX`], when a value is not
/// positive and finite, or `confidence` is not within (0, 1).
pub fn paired_ratio(a: &[f64], b: &[f64], confidence: f64) -> Option<RatioInterval> {
    let positive = |xs: &[f64]| xs.iter().all(|x| x.is_finite() && *x > 0.0);
    let comparable = a.len() == b.len() && a.len() <= PAIRS_MAX && positive(a) && positive(b);
    if !comparable || !sample::valid_confidence(confidence) {
        return None;
    }
    // A difference of logarithms, not the logarithm of a quotient, which could overflow.
    let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| a.ln() - b.ln()).collect();
    let ordered = sample::sorted(&logs)?;
    let n = ordered.len();
    let ends = ranks_for_error(n, 1.0 - confidence)
        .map(|rank| (ordered[rank - 1].exp(), ordered[n - rank].exp()));
    Some(RatioInterval {
        ratio: sample::median_of_sorted(&ordered).exp(),
        low: ends.map(|(low, _)| low),
        high: ends.map(|(_, high)| high),
        confidence,
        n,
        hodges_lehmann: hodges_lehmann(&ordered, confidence),
    })
}

/// Hodges and Lehmann's estimate of the middle of `logs`, as a ratio.
fn hodges_lehmann(logs: &[f64], confidence: f64) -> RatioEstimate {
    let means = walsh_averages(logs);
    let ends = signed_rank(logs.len(), (1.0 - confidence) / 2.0)
        .map(|rank| (means[rank - 1].exp(), means[means.len() - rank].exp()));
    RatioEstimate {
        ratio: sample::median_of_sorted(&means).exp(),
        low: ends.map(|(low, _)| low),
        high: ends.map(|(_, high)| high),
    }
}

/// The means of all pairs of values, each with itself among them, in ascending order.
fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    let mut means = Vec::with_capacity(n * (n + 1) / 2);
    for (index, first) in values.iter().enumerate() {
        means.extend(values[index..].iter().map(|second| (first + second) / 2.0));
    }
    means.sort_unstable_by(f64::total_cmp);
    means
}

/// The greatest k with P(W < k) <= `tail` for Wilcoxon's signed-rank statistic W of n: the rank of
/// the lower end among the pairwise means. `None` when there is none.
fn signed_rank(n: usize, tail: f64) -> Option<usize> {
    if n > EXACT_PAIRS_MAX {
        let n = n as f64;
        let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        let rank = n * (n + 1.0) / 4.0 + 0.5 + normal::quantile(tail) * deviation;
        return (rank >= 1.0).then_some(rank as usize);
    }
    let probability = signed_rank_probabilities(n);
    let mut below = 0.0;
    let fits = |p: &&f64| {
        below += **p;
        below <= tail + 1e-12
    };
    let rank = probability.iter().take_while(fits).count();
    (rank > 0 && 2 * rank <= probability.len()).then_some(rank)
}

/// P(W <= w) for Wilcoxon's signed-rank statistic of n, exact up to the same count as [`signed_rank`].
fn signed_rank_tail(n: usize, w: usize) -> f64 {
    if n > EXACT_PAIRS_MAX {
        let n = n as f64;
        let deviation = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
        return normal::cdf((w as f64 + 0.5 - n * (n + 1.0) / 4.0) / deviation);
    }
    signed_rank_probabilities(n).iter().take(w + 1).sum()
}

/// P(W = w) for w from 0 to n (n + 1) / 2.
fn signed_rank_probabilities(n: usize) -> Vec<f64> {
    // Each rank 1..=n is in the sum or not, with the same probability.
    let mut probability = vec![1.0];
    for rank in 1..=n {
        let shorter = probability.len();
        probability.resize(shorter + rank, 0.0);
        for sum in (0..probability.len()).rev() {
            let without = if sum < shorter { probability[sum] } else { 0.0 };
            let with = if sum >= rank { probability[sum - rank] } else { 0.0 };
            probability[sum] = (without + with) / 2.0;
        }
    }
    probability
}

/// Relation of an interval to a margin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Agreement {
    /// The entire interval is within the margin.
    Agrees,
    /// The entire interval is outside the margin, on one side.
    Differs,
    /// Neither; more pairs would be needed.
    Undecided,
}

/// Judges the headline interval against ratios from 1 / (1 + `margin`) to 1 + `margin` (0.07 for
/// ± 7%, which is 0.935 to 1.07). The lower end is the reciprocal of the upper one, not 1 - margin,
/// so that the answer does not depend on which of the two was called a.
///
/// With an interval of confidence 1 - 2α, *agrees* is the two one-sided tests procedure at level α
/// (Schuirmann 1987): 90% gives 5%. Undecided when there is no interval or `margin` is not positive
/// and finite.
pub fn equivalence(interval: &RatioInterval, margin: f64) -> Agreement {
    agreement((interval.low, interval.high), margin)
}

/// As [`equivalence`], of any interval of a ratio.
pub fn agreement((low, high): (Option<f64>, Option<f64>), margin: f64) -> Agreement {
    let (Some(low), Some(high)) = (low, high) else {
        return Agreement::Undecided;
    };
    if !(margin > 0.0 && margin.is_finite()) {
        return Agreement::Undecided;
    }
    let (least, greatest) = (1.0 / (1.0 + margin), 1.0 + margin);
    if low >= least && high <= greatest {
        Agreement::Agrees
    } else if high < least || low > greatest {
        Agreement::Differs
    } else {
        Agreement::Undecided
    }
}

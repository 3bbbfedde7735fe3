//! Does the value move as runs go by?

use crate::{ess, normal, sample};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// More values than this are refused: all pairwise slopes are held in memory. Shorten a long series
/// with [`crate::ess::batch_means`], which also takes care of its correlation.
pub const VALUES_MAX: usize = 4096;

/// Up to this count the distribution of Kendall's score is exact where there are no ties.
const EXACT_MAX: usize = 60;

/// Up to this count it is exact with ties too, by going through all orders.
const EXACT_TIES_MAX: usize = 8;

/// A robust slope with its interval, in units of the values per step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slope {
    /// Median of all pairwise slopes.
    pub slope: f64,
    /// Lower end; `None` when there are too few values.
    pub low: Option<f64>,
    /// Upper end; `None` when there are too few values.
    pub high: Option<f64>,
}

/// Slope over the index by Theil and Sen: the median of (x_j - x_i) / (j - i), with Sen's interval
/// (JASA 63, 1968), whose rank comes from the distribution of Kendall's score: exact up to 60 values
/// without ties, else normal with the variance corrected for ties, rounded outwards.
///
/// Tolerates 29% of outliers. The interval supposes independent noise about the line. `None` for fewer
/// than two or more than [`VALUES_MAX`] values, NaN or an infinity, or a confidence that is not within
/// (0, 1).
pub fn theil_sen(xs: &[f64], confidence: f64) -> Option<Slope> {
    let countable = (2..=VALUES_MAX).contains(&xs.len());
    if !countable || !sample::usable(xs) || !sample::valid_confidence(confidence) {
        return None;
    }
    let mut slopes = Vec::with_capacity(xs.len() * (xs.len() - 1) / 2);
    for (index, first) in xs.iter().enumerate() {
        let later = xs[index + 1..].iter().zip(1_u32..);
        slopes.extend(later.map(|(second, steps)| (second - first) / f64::from(steps)));
    }
    slopes.sort_unstable_by(f64::total_cmp);
    let rank = slope_rank(xs, (1.0 - confidence) / 2.0);
    Some(Slope {
        slope: sample::median_of_sorted(&slopes),
        low: rank.map(|rank| slopes[rank - 1]),
        high: rank.map(|rank| slopes[slopes.len() - rank]),
    })
}

/// Rank of the lower end among the pairwise slopes.
fn slope_rank(xs: &[f64], tail: f64) -> Option<usize> {
    let n = xs.len();
    let pairs = n * (n - 1) / 2;
    let ties = sample::tie_groups(&sample::sorted(xs)?);
    let rank = if ties.is_empty() && n <= EXACT_MAX {
        let mut below = 0.0;
        let fits = |p: &&f64| {
            below += **p;
            below <= tail + 1e-12
        };
        inversions(n).iter().take_while(fits).count()
    } else {
        let reach = -normal::quantile(tail) * score_variance(n, &ties).sqrt();
        ((pairs as f64 - reach) / 2.0).max(0.0) as usize
    };
    (rank > 0 && 2 * rank <= pairs).then_some(rank)
}

/// The test of Mann and Kendall for a monotone trend.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MannKendall {
    /// Kendall's score: pairs that rise less pairs that fall.
    pub score: i64,
    /// Its variance without a trend, corrected for ties.
    pub variance: f64,
    /// Two-sided p-value.
    pub p_value: f64,
    /// True when the p-value is exact.
    pub exact: bool,
}

/// Tests for a monotone trend (Mann 1945, Kendall 1975). Exact up to 60 values without ties and up to
/// 8 with them; else normal, with continuity correction and the variance corrected for ties.
///
/// Supposes independence otherwise: a series that is merely correlated passes for a trend too often.
/// Use it on runs, or on batch means. `None` for fewer than three or more than [`VALUES_MAX`] values,
/// NaN or an infinity.
pub fn mann_kendall(xs: &[f64]) -> Option<MannKendall> {
    if !(3..=VALUES_MAX).contains(&xs.len()) {
        return None;
    }
    let ties = sample::tie_groups(&sample::sorted(xs)?);
    let (n, score) = (xs.len(), score(xs));
    let variance = score_variance(n, &ties);
    let (p_value, exact) = if ties.is_empty() && n <= EXACT_MAX {
        let fewest = (n * (n - 1) / 2 - score.unsigned_abs() as usize) / 2;
        let tail: f64 = inversions(n)[..=fewest].iter().sum();
        ((2.0 * tail).min(1.0), true)
    } else if n <= EXACT_TIES_MAX {
        (permutation_p(xs, score), true)
    } else if score == 0 {
        (1.0, false)
    } else {
        let z = (score.abs() - 1) as f64 / variance.sqrt();
        (2.0 * normal::survival(z), false)
    };
    Some(MannKendall { score, variance, p_value, exact })
}

/// Pairs that rise less pairs that fall.
fn score(xs: &[f64]) -> i64 {
    let later = |index: usize, first: &f64| -> i64 {
        xs[index + 1..].iter().map(|x| i64::from(x > first) - i64::from(x < first)).sum()
    };
    xs.iter().enumerate().map(|(index, first)| later(index, first)).sum()
}

/// Variance of the score when all orders are equally likely.
fn score_variance(n: usize, ties: &[usize]) -> f64 {
    let term = |count: usize| {
        let count = count as f64;
        count * (count - 1.0) * (2.0 * count + 5.0)
    };
    (term(n) - ties.iter().map(|&size| term(size)).sum::<f64>()) / 18.0
}

/// Share of all orders whose score is at least as far from zero.
fn permutation_p(xs: &[f64], observed: i64) -> f64 {
    let (mut as_far, mut all) = (0_u32, 0_u32);
    sample::each_permutation(&mut xs.to_vec(), &mut |order| {
        all += 1;
        as_far += u32::from(score(order).abs() >= observed.abs());
    });
    f64::from(as_far) / f64::from(all)
}

/// Probability of each count of inversions in a random order of n.
fn inversions(n: usize) -> Vec<f64> {
    let mut probability = vec![1.0];
    for size in 2..=n {
        // The new greatest element adds 0 to size - 1 inversions, each equally likely.
        let mut next = vec![0.0; probability.len() + size - 1];
        for (count, p) in probability.iter().enumerate() {
            for added in &mut next[count..count + size] {
                *added += p / size as f64;
            }
        }
        probability = next;
    }
    probability
}

/// How a series of runs moves, relative to its median.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Drift {
    /// Slope of [`theil_sen`] in percent of the median per run.
    pub percent_per_run: f64,
    /// Lower end of its interval; `None` when there are too few runs.
    pub low: Option<f64>,
    /// Upper end of its interval; `None` when there are too few runs.
    pub high: Option<f64>,
    /// From the first to the last run along that slope, in percent of the median.
    pub total_percent: f64,
    /// Two-sided p-value of [`mann_kendall`].
    pub p_value: f64,
    /// Confidence asked for.
    pub confidence: f64,
    /// Runs.
    pub n: usize,
}

/// Summarises how runs move as they go by. A slope that is not significant is not a proof of rest: for
/// that, the interval times n - 1 has to be inside what would matter.
///
/// `None` for fewer than three or more than [`VALUES_MAX`] values, a median of zero, NaN or an
/// infinity, or a confidence that is not within (0, 1).
pub fn drift(xs: &[f64], confidence: f64) -> Option<Drift> {
    let trend = mann_kendall(xs)?;
    let slope = theil_sen(xs, confidence)?;
    let percent = 100.0 / sample::median_of_sorted(&sample::sorted(xs)?).abs();
    let percent_per_run = Some(slope.slope * percent).filter(|x| x.is_finite())?;
    Some(Drift {
        percent_per_run,
        low: slope.low.map(|low| low * percent),
        high: slope.high.map(|high| high * percent),
        total_percent: percent_per_run * (xs.len() - 1) as f64,
        p_value: trend.p_value,
        confidence,
        n: xs.len(),
    })
}

/// Change of the level from the first run to the last, along the line of least squares, as shares of the mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LevelChange {
    /// Estimate.
    pub change: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of its interval.
    pub high: f64,
}

/// Bounds how far the level can have moved over the runs: Student's interval of the least-squares slope, times n - 1. Runs that
/// resemble their neighbours count for as many as [`ess::effective_runs`] says of what the line leaves over.
///
/// Supposes noise that is about normal; a step widens the interval, since the line does not fit it. `None` for fewer than
/// four values, a mean that is not positive, NaN or an infinity, or a confidence that is not within (0, 1).
pub fn level_change(xs: &[f64], confidence: f64) -> Option<LevelChange> {
    if xs.len() < 4 || !sample::usable(xs) || !sample::valid_confidence(confidence) {
        return None;
    }
    let (n, mean) = (xs.len() as f64, sample::mean(xs));
    if mean <= 0.0 {
        return None;
    }
    let offset = |index: usize| index as f64 - (n - 1.0) / 2.0;
    let about = (n * n - 1.0) * n / 12.0;
    let slope = xs.iter().enumerate().map(|(i, x)| offset(i) * x).sum::<f64>() / about;
    let rest: Vec<f64> = xs.iter().enumerate().map(|(i, x)| x - mean - slope * offset(i)).collect();
    let variance = rest.iter().map(|e| e * e).sum::<f64>() / (n - 2.0);
    let dependence = n / ess::effective_runs(&rest)?.clamp(1.0, n);
    let error = (variance / about * dependence).sqrt();
    let t = StudentsT::new(0.0, 1.0, n - 2.0).ok()?.inverse_cdf((1.0 + confidence) / 2.0);
    let share = |slope: f64| slope * (n - 1.0) / mean;
    Some(LevelChange {
        change: share(slope),
        low: share(slope - t * error),
        high: share(slope + t * error),
    })
}

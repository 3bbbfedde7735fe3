//! The difference between two groups of runs, however they were made, and what can be said of it.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{PAIRS_MAX, RatioEstimate, signed_rank, signed_rank_tail, unpaired};
use crate::{drift, normal, sample};

/// How two groups of runs were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// In blocks, each with a run of either in random order: `a[i]` and `b[i]` are of one block. What changes with time
    /// falls on both alike.
    Blocks,
    /// Each by itself. What changed between the two is part of what is found.
    Separate,
}

impl Design {
    /// The fewest runs of each at which one of so many tests, judged `together` by Holm's procedure, can be told apart with
    /// 95 % confidence: the p-value of the most extreme order, times their count, is 5 % then.
    pub fn fewest_runs(self, together: usize) -> usize {
        let together = together.max(1) as f64;
        // Of n blocks all 2^n signs are as likely; of two groups of n, all choices of n out of 2n.
        let (mut n, mut p) = (1.0_f64, 1.0_f64);
        while p * together > 0.05 {
            n += 1.0;
            p = match self {
                Design::Blocks => p / 2.0,
                Design::Separate => p * n / (2.0 * (2.0 * n - 1.0)),
            };
        }
        n as usize
    }
}

/// Runs that resemble the one before are worth fewer. Of how many is told by the correlation of neighbours, which a
/// dozen of runs shows poorly: it is estimated without its bias, lowered by this much, and counted more than it would be
/// if it were known ([`UNCERTAIN`] for a square root). Both were chosen on series of 6 to 30 values, so that correlated runs
/// raise few false alarms and independent ones lose little; how many and how little is scored by `scripts/validate
/// compare`, which also tells what would be without.
const LOWERED: f64 = 0.05;
const UNCERTAIN: f64 = 0.85;

/// Below this probability of none, a trend within a group is one.
const TREND_P: f64 = 0.002;

/// Two groups of runs, `a` to `b`, on a logarithmic scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    design: Design,
    n: (usize, usize),
    /// In ascending order: all differences of a run of one to a run of the other, or all pairwise means of the blocks'
    /// differences.
    shifts: Vec<f64>,
    middle: f64,
    stretch: f64,
    /// Standard error of the middle, as normal noise would have it, stretched.
    error: f64,
    trend: f64,
    dominance: f64,
    grain: f64,
}

impl Contrast {
    /// Of the groups' values in the order measured.
    ///
    /// `None` when a group is empty, when blocks are not whole (`a` and `b` differ in length), when there are more than
    /// 4,096 blocks or four million pairs of runs, or when a value is not positive and finite.
    pub fn new(a: &[f64], b: &[f64], design: Design) -> Option<Contrast> {
        let positive = |xs: &[f64]| xs.iter().all(|x| x.is_finite() && *x > 0.0);
        if a.is_empty() || b.is_empty() || !positive(a) || !positive(b) {
            return None;
        }
        let logs = |xs: &[f64]| xs.iter().map(|x| x.ln()).collect::<Vec<f64>>();
        let (a, b) = (logs(a), logs(b));
        match design {
            Design::Blocks => Contrast::of_blocks(&a, &b),
            Design::Separate => Contrast::of_separate(&a, &b),
        }
    }

    fn of_blocks(a: &[f64], b: &[f64]) -> Option<Contrast> {
        if a.len() != b.len() || a.len() > PAIRS_MAX {
            return None;
        }
        let apart: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
        let shifts = super::walsh_averages(&apart);
        // The order within a block is random, which leaves little to correct.
        let n = apart.len();
        let stretch = of_dependence(lag_one(&[&apart]), n as f64, 0.5);
        let deviation = sample::standard_deviation(&apart).unwrap_or(0.0);
        Some(Contrast {
            design: Design::Blocks,
            n: (n, n),
            middle: sample::median_of_sorted(&shifts),
            shifts,
            stretch,
            error: stretch * deviation / (n as f64).sqrt(),
            trend: trend(&apart),
            dominance: balance(&apart),
            grain: 0.0,
        })
    }

    fn of_separate(a: &[f64], b: &[f64]) -> Option<Contrast> {
        let shifts = unpaired::shifts(a, b)?;
        let (m, n) = (a.len() as f64, b.len() as f64);
        let groups = 2.0;
        let correlation = lag_one(&[a, b]);
        // The mean that is taken off each group pulls the estimate down by about (1 + 3 ρ) / n.
        let unbiased = ((m + n) * correlation + groups) / (m + n - 3.0 * groups).max(2.0 * groups);
        let stretch = of_dependence(unbiased - LOWERED, m.min(n), UNCERTAIN);
        let variance = |xs: &[f64]| sample::standard_deviation(xs).map_or(0.0, |sd| sd * sd);
        let trends = [trend(a), trend(b)];
        Some(Contrast {
            design: Design::Separate,
            n: (a.len(), b.len()),
            middle: sample::median_of_sorted(&shifts),
            dominance: balance(&shifts),
            shifts,
            stretch,
            error: stretch * (variance(a) / m + variance(b) / n).sqrt(),
            trend: if trends[0].abs() > trends[1].abs() { trends[0] } else { trends[1] },
            grain: 0.0,
        })
    }

    /// The same for runs of which it is known that none resembles the one before more than any other: nothing is stretched.
    pub fn of_independent(self) -> Contrast {
        Contrast { error: self.error / self.stretch, stretch: 1.0, ..self }
    }

    /// The same for values that count something within a window, of which a run of `a` has about `counts.0` and one of `b`
    /// `counts.1`. A count tells its rate to one more or less, and runs that all come out the same do not tell it better:
    /// the interval is widened by one of each, and what lies within is told neither apart nor alike.
    pub fn of_counts(self, counts: (f64, f64)) -> Contrast {
        let one_of = |count: f64| if count > 0.0 { (1.0 / count).ln_1p() } else { 0.0 };
        Contrast { grain: one_of(counts.0) + one_of(counts.1), ..self }
    }

    /// Hodges and Lehmann's estimate of a / b.
    pub fn ratio(&self) -> f64 {
        self.middle.exp()
    }

    /// What the interval of independent runs was widened by, as a factor; 1 where neighbours do not resemble each other.
    pub fn stretch(&self) -> f64 {
        self.stretch
    }

    /// Cliff's delta: how often a run of a beats one of b, less how often it loses, from -1 to 1; of blocks, within each.
    pub fn dominance(&self) -> f64 {
        self.dominance
    }

    /// The ratio with the interval that inverts Wilcoxon's signed-rank test (blocks) or Mann and Whitney's, stretched on
    /// the logarithmic scale; without ends where there are too few runs for one.
    pub fn estimate(&self, confidence: f64) -> RatioEstimate {
        let ends = self.interval(confidence);
        RatioEstimate {
            ratio: self.ratio(),
            low: ends.map(|ends| ends.0.exp()),
            high: ends.map(|ends| ends.1.exp()),
        }
    }

    /// The same on the logarithmic scale.
    fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        if !sample::valid_confidence(confidence) {
            return None;
        }
        let tail = (1.0 - confidence) / 2.0;
        let rank = match self.design {
            Design::Blocks => signed_rank(self.n.0, tail),
            Design::Separate => unpaired::rank_sum(self.n.0, self.n.1, tail),
        }?;
        let ends = (self.shifts[rank - 1], self.shifts[self.shifts.len() - rank]);
        Some((self.stretched(ends.0) - self.grain, self.stretched(ends.1) + self.grain))
    }

    /// Two-sided p-value of no difference: the least error at which the interval excludes it, with the same stretch.
    /// Differences of exactly zero speak against one.
    pub fn p_value(&self) -> f64 {
        let against = |wrong: &dyn Fn(f64) -> bool| {
            self.shifts.iter().filter(|shift| wrong(self.stretched(**shift))).count()
        };
        let least =
            against(&|shift| shift <= self.grain).min(against(&|shift| shift >= -self.grain));
        let tail = match self.design {
            Design::Blocks => signed_rank_tail(self.n.0, least),
            Design::Separate => unpaired::rank_sum_tail(self.n.0, self.n.1, least),
        };
        (2.0 * tail).min(1.0)
    }

    fn stretched(&self, shift: f64) -> f64 {
        self.middle + (shift - self.middle) * self.stretch
    }

    /// Degrees of freedom of the spread.
    fn degrees(&self) -> f64 {
        let runs = match self.design {
            Design::Blocks => self.n.0.saturating_sub(1),
            Design::Separate => (self.n.0 + self.n.1).saturating_sub(2),
        };
        runs as f64
    }

    /// How far the values of a group, or the blocks' differences, moved from the first run to the last, as a ratio, where
    /// a trend is beyond doubt (Mann and Kendall, p < 0.002) and takes them further than the two are apart: what is found
    /// then depends on when one looks.
    pub fn drift_beyond(&self) -> Option<f64> {
        (self.trend.abs() > self.middle.abs()).then(|| self.trend.exp())
    }

    /// Runs of each that would decide, in all: with 80 % probability, if the two are as far apart as it looks now, their
    /// interval excludes no difference, as one of so many tests that are open `together`, or lies within `margin` (0.02 for
    /// 2 %), whichever takes fewer. At most a million; `None` where no number of runs would, because a run counts too little ([`Contrast::of_counts`]).
    ///
    /// How far runs spread is known as poorly as there are runs: what it is at most, with 80 % confidence, is counted with.
    pub fn runs_to_decide(&self, margin: f64, together: usize) -> Option<usize> {
        let apart = self.middle.abs();
        let (beyond, within) = (apart - self.grain, margin.ln_1p() - apart - self.grain);
        if self.grain > 0.0 && beyond <= 0.0 && within <= 0.0 {
            return None;
        }
        let error = self.error * spread_at_most(self.degrees());
        let errors =
            |room: f64, per: f64| if room > 0.0 { per * error / room } else { f64::INFINITY };
        let quantile = |tests: usize| normal::quantile(1.0 - 0.025 / tests.max(1) as f64);
        let to_differ = TO_DIFFER + quantile(together) - quantile(1);
        let now = self.n.0.min(self.n.1);
        let needed = |fold: f64, fewest: usize| {
            let needed = (now as f64 * fold * fold).ceil().clamp(0.0, RUNS_MAX) as usize;
            needed.max(now + 1).max(fewest)
        };
        let differ = needed(errors(beyond, to_differ), self.design.fewest_runs(together));
        let agree = needed(errors(within, TO_AGREE), self.design.fewest_runs(1));
        Some(differ.min(agree))
    }
}

/// The upper end of the one-sided 80 % interval of a standard deviation of normal noise, over its estimate.
fn spread_at_most(degrees: f64) -> f64 {
    let Ok(chi) = ChiSquared::new(degrees) else { return 1.0 };
    (degrees / chi.inverse_cdf(0.2)).sqrt()
}

/// Standard errors to no difference at which its 95 % interval excludes it in 80 % of cases: 1.960 + 0.842.
const TO_DIFFER: f64 = 2.80;
/// Standard errors to each end of the margin at which the 90 % interval of no difference lies within it in 80 % of cases:
/// 1.645 + 1.282.
const TO_AGREE: f64 = 2.93;
const RUNS_MAX: f64 = 1e6;

/// Values above zero less those below, as a share of all.
fn balance(values: &[f64]) -> f64 {
    let count = |is_it: fn(&&f64) -> bool| values.iter().filter(is_it).count() as f64;
    (count(|x| **x > 0.0) - count(|x| **x < 0.0)) / values.len() as f64
}

/// Correlation of neighbours within groups, pooled, each about its own mean; 0 where nothing varies.
fn lag_one(groups: &[&[f64]]) -> f64 {
    let (mut together, mut alone) = (0.0, 0.0);
    for group in groups {
        let mean = sample::mean(group);
        together += group.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        alone += sample::sum_of_squares(group, mean);
    }
    if alone > 0.0 { together / alone } else { 0.0 }
}

/// `((1 + ρ) / (1 - ρ))^power`, from 1 to n^power, where n runs are worth one: with a power of one half, what a correlation
/// of neighbours multiplies the standard error of a mean by.
fn of_dependence(correlation: f64, runs: f64, power: f64) -> f64 {
    let fold = if correlation < 1.0 { (1.0 + correlation) / (1.0 - correlation) } else { runs };
    fold.clamp(1.0, runs.max(1.0)).powf(power)
}

/// How far a trend takes the values from the first to the last; 0 where none is beyond doubt.
fn trend(values: &[f64]) -> f64 {
    let is_trend = drift::mann_kendall(values).is_some_and(|test| test.p_value < TREND_P);
    let slope = drift::theil_sen(values, 0.95).filter(|_| is_trend);
    slope.map_or(0.0, |slope| slope.slope * (values.len() - 1) as f64)
}

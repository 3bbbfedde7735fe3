//! The difference between two groups of runs, however they were made, and what can be said of it.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::{PAIRS_MAX, RatioEstimate, signed_rank, signed_rank_tail, unpaired};
use crate::{drift, ess, normal, sample};

/// Most error of *higher* and *lower*, of all tests that are judged together. It is less than that of the 95% intervals
/// beside them, so that what is left of it covers runs that are not quite as independent as they look.
pub const ERROR_MAX: f64 = 0.02;

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
    /// Least count of runs of each side at which a difference can be significant when `together` tests are judged by Holm's
    /// procedure: the p-value of the most extreme order, times `together`, is at most [`ERROR_MAX`] then.
    pub fn fewest_runs(self, together: usize) -> usize {
        self.fewest(together, ERROR_MAX)
    }

    fn fewest(self, together: usize, error: f64) -> usize {
        let together = together.max(1) as f64;
        // Of n blocks all 2^n signs are as likely; of two groups of n, all choices of n out of 2n.
        let (mut n, mut p) = (1.0_f64, 1.0_f64);
        while p * together > error {
            n += 1.0;
            p = match self {
                Design::Blocks => p / 2.0,
                Design::Separate => p * n / (2.0 * (2.0 * n - 1.0)),
            };
        }
        n as usize
    }
}

/// Runs that resemble the one before are worth fewer. The correlation of neighbours says how many, and a dozen runs show
/// it poorly: it is estimated without its bias, lowered by this much, and counted more than it would be
/// if it were known ([`UNCERTAIN`] for a square root). Both were chosen on series of 6 to 30 values, so that correlated runs
/// raise few false alarms and independent ones lose little; how many and how little is scored by `scripts/validate
/// compare`, which also shows the result without them.
const LOWERED: f64 = 0.05;
const UNCERTAIN: f64 = 0.85;

/// Below this probability of none, a trend within a group is one: the least that six runs can have is 0.003.
const TREND_P: f64 = 0.01;

/// Below this probability of independent blocks, their differences wander: the difference itself went up and down while it
/// was measured. Of two tests of it the smaller probability counts, so that about 7% of independent series pass for one.
const WANDERS_P: f64 = 0.05;

/// Standard deviations beyond which a difference counts although the blocks wander: they are worth about one observation with
/// twice their spread.
const FAR: f64 = 4.0;

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
    /// How far the trends of both groups take their values, together.
    moved: f64,
    wanders: bool,
    /// Standard deviation of the difference of one run to another.
    deviation: f64,
    dominance: f64,
    grain: f64,
    /// How far apart two sessions of one drive may be.
    sessions: f64,
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
        let trend = trend(&apart);
        Some(Contrast {
            design: Design::Blocks,
            n: (n, n),
            middle: sample::median_of_sorted(&shifts),
            shifts,
            stretch,
            error: stretch * deviation / (n as f64).sqrt(),
            trend,
            moved: trend.abs(),
            wanders: wanders(&apart),
            deviation,
            dominance: balance(&apart),
            grain: 0.0,
            sessions: 0.0,
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
            moved: trends[0].abs() + trends[1].abs(),
            wanders: false,
            deviation: (variance(a) + variance(b)).sqrt(),
            grain: 0.0,
            sessions: 0.0,
        })
    }

    /// The same for runs of which it is known that none resembles the one before more than any other: nothing is stretched.
    pub fn of_independent(self) -> Contrast {
        Contrast { error: self.error / self.stretch, stretch: 1.0, ..self }
    }

    /// The same for values that count something within a window, of which a run of `a` has about `counts.0` and one of `b`
    /// `counts.1`. A count is accurate to ±1, and equal runs do not make it more accurate: the interval is widened by one
    /// of each, and a ratio within that is neither a difference nor an equivalence.
    pub fn of_counts(self, counts: (f64, f64)) -> Contrast {
        let one_of = |count: f64| if count > 0.0 { (1.0 / count).ln_1p() } else { 0.0 };
        Contrast { grain: one_of(counts.0) + one_of(counts.1), ..self }
    }

    /// The same for groups that were measured in a session of their own each, where two sessions of one drive may differ by
    /// `share` (0.25 for 25%): only what lies beyond it is a difference of the drives. In blocks there is nothing to add,
    /// for whatever a session does falls on both.
    ///
    /// The share is an assumption. Runs of one session cannot show how far another one would be from it.
    pub fn of_sessions(self, share: f64) -> Contrast {
        let is_apart = self.design == Design::Separate && share > 0.0;
        Contrast { sessions: if is_apart { share.ln_1p() } else { 0.0 }, ..self }
    }

    /// Hodges and Lehmann's estimate of a / b.
    pub fn ratio(&self) -> f64 {
        self.middle.exp()
    }

    /// Factor by which the interval of independent runs was widened; 1 where neighbours do not resemble each other.
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
        self.p_beyond(self.grain)
    }

    /// Two-sided p-value of no difference beyond what two sessions may differ by ([`Contrast::of_sessions`]).
    pub fn p_of_drives(&self) -> f64 {
        self.p_beyond(self.grain + self.sessions)
    }

    fn p_beyond(&self, within: f64) -> f64 {
        let against = |wrong: &dyn Fn(f64) -> bool| {
            self.shifts.iter().filter(|shift| wrong(self.stretched(**shift))).count()
        };
        let least = against(&|shift| shift <= within).min(against(&|shift| shift >= -within));
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
    /// there is a trend (Mann and Kendall, p < 0.01) and takes them further than the two are apart: what is found then
    /// depends on when one looks. The trends of two groups count together: a drift that went on from one to the other put
    /// as much between them.
    pub fn drift_beyond(&self) -> Option<f64> {
        (self.moved > self.middle.abs()).then(|| self.trend.exp())
    }

    /// True where the differences of neighbouring blocks resemble each other and the two are not far beyond the spread of
    /// these: what is found then holds for the time of the measurement and not beyond it.
    pub fn wanders(&self) -> bool {
        self.wanders && self.middle.abs() < FAR * self.deviation
    }

    /// Runs of each that would decide, in all: with 80% probability, if the two are as far apart as it looks now, their
    /// interval excludes no difference, as one of `together` open tests with that `error` in all, or lies
    /// within `margin` (0.02 for 2%), whichever takes fewer. At most a million; `None` where no number of runs would, because
    /// a run counts too little ([`Contrast::of_counts`]) or sessions differ by as much ([`Contrast::of_sessions`]).
    ///
    /// How far runs spread is known as poorly as there are runs: what it is at most, with 80% confidence, is counted with.
    pub fn runs_to_decide(&self, margin: f64, together: usize, error: f64) -> Option<usize> {
        let room = (self.middle.abs() - self.sessions, margin.ln_1p() - self.middle.abs());
        let now = self.n.0.min(self.n.1);
        let deviation = self.error * (now as f64).sqrt();
        let is_limited = self.grain + self.sessions > 0.0;
        let needed = self.needed(self.design, room, deviation, (together, error), is_limited);
        needed.map(|needed| needed.max(now + 1))
    }

    /// Blocks that would decide for groups that were measured each by itself, as [`Contrast::runs_to_decide`] counts them but
    /// for a difference that is smaller than the one found by 1.28 standard errors, or half of it at least: a difference
    /// that looks large by chance would ask for too few. `None` of blocks, and where a run counts too little.
    pub fn blocks_to_decide(&self, margin: f64, together: usize, error: f64) -> Option<usize> {
        let apart = self.middle.abs();
        let least = (apart - CAUTIOUS * self.error).max(apart / 2.0);
        let room = (least, margin.ln_1p() - apart);
        let is_limited = self.grain > 0.0;
        let blocks =
            || self.needed(Design::Blocks, room, self.deviation, (together, error), is_limited);
        (self.design == Design::Separate).then(blocks).flatten()
    }

    /// Runs of a `design` that differ or agree, with this room for either beside what counts leave open, where one run has
    /// this `deviation`.
    fn needed(
        &self,
        design: Design,
        (beyond, within): (f64, f64),
        deviation: f64,
        (together, error): (usize, f64),
        is_limited: bool,
    ) -> Option<usize> {
        let (beyond, within) = (beyond - self.grain, within - self.grain);
        if is_limited && beyond <= 0.0 && within <= 0.0 {
            return None;
        }
        let deviation = deviation * spread_at_most(self.degrees());
        let power = if design == Design::Blocks { OF_BLOCKS } else { OF_GROUPS };
        let to_differ = normal::quantile(1.0 - error / 2.0 / together.max(1) as f64) + power;
        let runs = |room: f64, errors: f64| {
            let runs = if room > 0.0 { (errors * deviation / room).powi(2) } else { RUNS_MAX };
            runs.ceil().clamp(0.0, RUNS_MAX) as usize
        };
        let differ = runs(beyond, to_differ).max(design.fewest(together, error));
        Some(differ.min(runs(within, TO_AGREE).max(design.fewest(1, error))))
    }
}

/// The upper end of the one-sided 80% interval of a standard deviation of normal noise, over its estimate.
fn spread_at_most(degrees: f64) -> f64 {
    let Ok(chi) = ChiSquared::new(degrees) else { return 1.0 };
    (degrees / chi.inverse_cdf(0.2)).sqrt()
}

/// Standard errors beyond the end of an interval that excludes no difference in 80% of cases.
const OF_GROUPS: f64 = 0.842;
/// The same in 87% of cases: of blocks up to 7% are withheld because they seem to wander, which leaves 80%.
const OF_BLOCKS: f64 = 1.126;
/// Standard errors that a difference found is taken to be too large by: nine of ten are so by less.
const CAUTIOUS: f64 = 1.28;
/// Standard errors to each end of the margin at which the 90% interval of no difference lies within it in 80% of cases:
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

/// True where neighbours resemble each other more than independent values do, by their ranks (Bartels) or by the values
/// (von Neumann).
fn wanders(values: &[f64]) -> bool {
    let n = values.len() as f64;
    let squares = sample::sum_of_squares(values, sample::mean(values));
    let steps: f64 = values.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    // The ratio is 2 on average, with this variance.
    let deviation = (4.0 * (n - 2.0) / (n * n - 1.0)).sqrt();
    let least = 2.0 + normal::quantile(WANDERS_P) * deviation;
    let by_rank = ess::independence_p(values);
    by_rank.is_some_and(|p| p < WANDERS_P || squares > 0.0 && steps / squares < least)
}

/// How far a trend takes the values from the first to the last; 0 where none is beyond doubt.
fn trend(values: &[f64]) -> f64 {
    let is_trend = drift::mann_kendall(values).is_some_and(|test| test.p_value < TREND_P);
    let slope = drift::theil_sen(values, 0.95).filter(|_| is_trend);
    slope.map_or(0.0, |slope| slope.slope * (values.len() - 1) as f64)
}

//! When to stop repeating, without fooling oneself by looking often.
//!
//! Stopping as soon as the 95% interval is narrow, after a look at each run, stops too often when it
//! is narrow by chance; it then misses the median more often than 5% of the time. Here, looks are
//! made at fixed counts of runs, and the 5% are spent on them in portions.

use crate::interval::{self, OrderInterval};
use crate::sample;
use serde::Serialize;

/// The counts of runs at which it is decided: 8, and then half more each time, rounded up.
pub const LOOKS: [usize; 14] = [8, 12, 18, 27, 41, 62, 93, 140, 210, 315, 473, 710, 1065, 1598];

/// Repeat until the interval of the median is within ±r % of it.
///
/// The interval at each look is [`interval::median_interval`]'s, at a rank chosen so that the
/// probability of missing the median at *any* look up to the k-th is at most
/// (1 - confidence) (1 - 2^(-k/4)): alpha spending (Lan and DeMets, Biometrika 70, 1983). A sixth is
/// spent at the first look, half by the fourth (27 runs), so that few runs can settle it and any count
/// of looks stays within what was promised.
///
/// The probabilities are exact for independent runs of any continuous distribution (and lower bounds
/// with ties): the count of runs below the true median is a walk of fair coin tosses, an interval
/// misses when the walk is outside its ranks, and the walks that never were are followed one by one.
/// Bonferroni's sum of the looks' errors was rejected, since neighbouring looks err together and it
/// would pay twice.
#[derive(Clone, Debug)]
pub struct StopRule {
    half_width_percent: f64,
    confidence: f64,
    looks: Vec<Look>,
}

/// One scheduled look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    runs: usize,
    /// Rank of the lower end; `None` when there is not enough to spend for any interval.
    lower_rank: Option<usize>,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "decision")]
pub enum Decision {
    /// The interval is narrow enough; stop.
    Met {
        /// Covers the median with the confidence asked for, however often it was looked. Its
        /// `coverage` is that of a single look, and higher.
        interval: OrderInterval,
        /// Runs that it was decided on.
        runs: usize,
    },
    /// Not yet, or not a look.
    Continue {
        /// The look, in runs in all, at which the interval is expected to be narrow enough; `None`
        /// when there are too few runs to estimate it, or it is beyond the last look. An estimate, see
        /// [`interval::runs_needed`].
        estimated_runs_needed: Option<usize>,
    },
}

impl StopRule {
    /// A rule for an interval of `confidence` within ±`half_width_percent` of the median. It is
    /// never met when `half_width_percent` is not positive or `confidence` not within (0, 1).
    pub fn new(half_width_percent: f64, confidence: f64) -> StopRule {
        let looks =
            if sample::valid_confidence(confidence) { schedule(1.0 - confidence) } else { vec![] };
        StopRule { half_width_percent, confidence, looks }
    }

    /// Decides on all runs so far, in the order in which they were made. May be called after each run:
    /// between two looks the answer is always [`Decision::Continue`]. `xs` that holds NaN or an
    /// infinity is never enough.
    pub fn decide(&self, xs: &[f64]) -> Decision {
        if let Some(interval) = self.interval_at_look(xs)
            && let Some(median) = interval::median(xs)
            && interval::within_percent(&interval, median, self.half_width_percent)
        {
            return Decision::Met { interval, runs: xs.len() };
        }
        Decision::Continue { estimated_runs_needed: self.estimate(xs) }
    }

    /// The interval to show when repeating ends for a reason that is not in the values, such as a
    /// spent budget of time: narrower than at a look, because all that was left is spent at once. It
    /// covers with the confidence asked for provided that it is the last word on these runs.
    ///
    /// `None` when there are too few runs, `xs` holds NaN or an infinity, or the confidence was not
    /// within (0, 1).
    pub fn final_interval(&self, xs: &[f64]) -> Option<OrderInterval> {
        let ordered = sample::sorted(xs)?;
        if !sample::valid_confidence(self.confidence) {
            return None;
        }
        let mut walk = Walk::new();
        for look in self.looks.iter().take_while(|look| look.runs < xs.len()) {
            walk.advance(look.runs);
            if let Some(rank) = look.lower_rank {
                walk.drop_outside(rank);
            }
        }
        walk.advance(xs.len());
        let rank = walk.rank_within(1.0 - self.confidence)?;
        Some(interval::symmetric(&ordered, rank))
    }

    /// The counts of runs at which it is decided; between them, looking costs nothing and decides
    /// nothing.
    pub fn looks(&self) -> impl Iterator<Item = usize> + '_ {
        self.looks.iter().map(|look| look.runs)
    }

    fn interval_at_look(&self, xs: &[f64]) -> Option<OrderInterval> {
        let look = self.looks.iter().find(|look| look.runs == xs.len())?;
        let ordered = sample::sorted(xs)?;
        Some(interval::symmetric(&ordered, look.lower_rank?))
    }

    /// The first look at which the width seen now, carried over as by [`interval::runs_needed`], is
    /// small enough.
    fn estimate(&self, xs: &[f64]) -> Option<usize> {
        let now = interval::median_interval(xs, self.confidence)?;
        let width = interval::half_width(&now, interval::median(xs)?)?;
        let unit = width / interval::shape(xs.len(), now.lower_rank);
        let enough = |look: &&Look| {
            look.lower_rank.is_some_and(|rank| {
                interval::shape(look.runs, rank) * unit <= self.half_width_percent
            })
        };
        self.looks.iter().filter(|look| look.runs > xs.len()).find(enough).map(|look| look.runs)
    }
}

/// Ranks for all looks so that all together miss with probability `error` at most.
fn schedule(error: f64) -> Vec<Look> {
    let mut walk = Walk::new();
    LOOKS
        .iter()
        .enumerate()
        .map(|(index, &runs)| {
            walk.advance(runs);
            let portion = 1.0 - 2.0_f64.powf(-((index + 1) as f64) / 4.0);
            let lower_rank = walk.rank_within(error * portion);
            if let Some(rank) = lower_rank {
                walk.drop_outside(rank);
            }
            Look { runs, lower_rank }
        })
        .collect()
}

/// The counts of runs below the true median that are possible without any look having missed it, with
/// their probabilities.
struct Walk {
    runs: usize,
    /// Probability of each count from 0 to `runs`.
    alive: Vec<f64>,
    /// Probability that a look has missed.
    missed: f64,
}

impl Walk {
    fn new() -> Walk {
        Walk { runs: 0, alive: vec![1.0], missed: 0.0 }
    }

    /// Continues to `runs`; each further run is below the median or not, with the same probability.
    fn advance(&mut self, runs: usize) {
        while self.runs < runs {
            self.alive.push(0.0);
            for count in (1..self.alive.len()).rev() {
                self.alive[count] = (self.alive[count] + self.alive[count - 1]) / 2.0;
            }
            self.alive[0] /= 2.0;
            self.runs += 1;
        }
    }

    /// The greatest rank whose interval, if looked at now, keeps the probability that any look missed
    /// within `error`.
    fn rank_within(&self, error: f64) -> Option<usize> {
        let mut outside = self.missed;
        let mut rank = 0;
        // The interval from rank k misses when fewer than k values are below the median, or above.
        for count in 0..self.runs / 2 {
            outside += self.alive[count] + self.alive[self.runs - count];
            if outside > error {
                break;
            }
            rank = count + 1;
        }
        (rank > 0).then_some(rank)
    }

    /// Counts as missed what lies outside the interval from `rank`.
    fn drop_outside(&mut self, rank: usize) {
        for count in 0..rank {
            for end in [count, self.runs - count] {
                self.missed += self.alive[end];
                self.alive[end] = 0.0;
            }
        }
    }
}

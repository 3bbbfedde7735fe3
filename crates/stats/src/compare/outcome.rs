//! Verdict of a contrast, alone or among many.

use serde::{Deserialize, Serialize};

use super::{Agreement, Contrast, ERROR_MAX, RatioEstimate, agreement};

/// Verdict on one of two, compared with the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The interval lies above no difference.
    Higher,
    /// It lies below.
    Lower,
    /// It lies within the margin.
    Equivalent,
    /// None of these.
    Undecided,
}

/// Why the outcome stays undecided though the runs alone would show a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Withheld {
    /// The values moved further than the two are apart.
    Drift,
    /// The difference itself went up and down while it was measured.
    Wandering,
    /// Two sessions of one drive may differ by as much.
    Sessions,
}

/// A contrast and what is said of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The verdict.
    pub outcome: Outcome,
    /// a / b with the interval of this test alone.
    pub ratio: RatioEstimate,
    /// Two-sided, of this test alone.
    pub p_value: f64,
    /// The same by Holm's procedure over all tests judged together.
    pub p_holm: f64,
    /// Runs of each at which it would be decided; `None` where it is, where the values
    /// moved too far ([`Judged::drift`]), or where runs count so little that more of them would not help.
    pub runs_to_decide: Option<usize>,
    /// How far the values moved while they were measured, as a ratio, where that forbids an answer: further than the two
    /// are apart, and out of the margin where they would be equivalent.
    pub drift: Option<f64>,
    /// Why the verdict is withheld; `None` where it is not.
    #[serde(default)]
    pub withheld: Option<Withheld>,
    /// Blocks at which two that were measured each by itself would be decided; `None` where they are.
    #[serde(default)]
    pub blocks_to_decide: Option<usize>,
}

/// Judges contrasts together: the probability that any of them is called different though none is, is at most
/// [`ERROR_MAX`], or 1 - `confidence` where that is less (Holm 1979). *Equivalent* is the two one-sided tests procedure at
/// 1 - `confidence` (Schuirmann 1987) and takes precedence: less than the `margin` (0.02 for 2%) does not count as a
/// difference.
///
/// A difference that the runs alone would show is withheld where sessions differ by as much, or where the blocks wander.
pub fn judge(contrasts: &[Contrast], confidence: f64, margin: f64) -> Vec<Judged> {
    let error = 1.0 - confidence;
    let least = error.min(ERROR_MAX);
    let p_values: Vec<f64> = contrasts.iter().map(Contrast::p_value).collect();
    let of_drives: Vec<f64> = contrasts.iter().map(Contrast::p_of_drives).collect();
    let (adjusted, of_drives) = (holm(&p_values), holm(&of_drives));
    let open = open(&of_drives, least);
    let judged = |(index, contrast): (usize, &Contrast)| {
        let ratio = contrast.estimate(confidence);
        let narrow = contrast.estimate(1.0 - 2.0 * error);
        let agrees = agreement((narrow.low, narrow.high), margin) == Agreement::Agrees;
        // A drift below the margin did not move the values out of it either.
        let matters = |drift: &f64| !agrees || drift.ln().abs() > margin.ln_1p();
        let drift = contrast.drift_beyond().filter(matters);
        let differs = !agrees && adjusted[index] <= least;
        let withheld = match drift {
            Some(_) => Some(Withheld::Drift),
            None if differs && of_drives[index] > least => Some(Withheld::Sessions),
            None if differs && contrast.wanders() => Some(Withheld::Wandering),
            None => None,
        };
        // The p-value is the least error at which the interval excludes no difference.
        let outcome = match (withheld, agrees, differs) {
            (Some(_), _, _) | (None, false, false) => Outcome::Undecided,
            (None, true, _) => Outcome::Equivalent,
            (None, false, true) if ratio.ratio > 1.0 => Outcome::Higher,
            (None, false, true) => Outcome::Lower,
        };
        let is_open = outcome == Outcome::Undecided && drift.is_none();
        let runs = contrast.runs_to_decide(margin, open, least);
        let blocks = contrast.blocks_to_decide(margin, open, least);
        Judged {
            outcome,
            ratio,
            p_value: p_values[index],
            p_holm: adjusted[index],
            runs_to_decide: runs.filter(|_| is_open && withheld.is_none()),
            drift,
            withheld,
            blocks_to_decide: blocks.filter(|_| is_open),
        }
    };
    contrasts.iter().enumerate().map(judged).collect()
}

/// How many of the tests are still open: more runs leave Holm's procedure with the others decided first.
pub(crate) fn open(adjusted: &[f64], error: f64) -> usize {
    adjusted.iter().filter(|p| **p > error).count()
}

/// p-values of tests that are judged together: the least times their count, the next times one less, and so on, none
/// below its predecessor (Holm, Scandinavian Journal of Statistics 6, 1979).
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p_values.len()];
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut least = 0.0_f64;
    for (step, index) in order.into_iter().enumerate() {
        let weighed = p_values[index] * (p_values.len() - step) as f64;
        least = least.max(weighed).min(1.0);
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;
    use crate::{Design, normal};

    fn noise(stream: &mut Stream) -> f64 {
        normal::quantile(stream.open01())
    }

    /// Runs about `level(run)` with a spread of `cv`.
    fn runs(stream: &mut Stream, count: usize, cv: f64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..count).map(|run| level(run) * (cv * noise(stream)).exp()).collect()
    }

    fn judged(a: &[f64], b: &[f64], design: Design, sessions: f64) -> Judged {
        let contrast = Contrast::new(a, b, design).unwrap().of_sessions(sessions);
        judge(&[contrast], 0.95, 0.02).remove(0)
    }

    // Breaks when an offset between two sessions passes for a difference of the drives, when a large difference is withheld
    // with the small ones, or when blocks, which have no such offset, are held to it.
    #[test]
    fn a_difference_that_sessions_can_make_is_withheld() {
        let mut stream = Stream::new(31);
        let of = |stream: &mut Stream, level: f64| runs(stream, 12, 0.005, |_| level);
        let (a, near, far) =
            (of(&mut stream, 100.0), of(&mut stream, 105.0), of(&mut stream, 140.0));
        let found = judged(&near, &a, Design::Separate, 0.25);
        assert_eq!((found.outcome, found.withheld), (Outcome::Undecided, Some(Withheld::Sessions)));
        assert_eq!(found.runs_to_decide, None, "no count of runs decides");
        assert_eq!(found.blocks_to_decide, Some(Design::Blocks.fewest_runs(1)));
        assert_eq!(judged(&near, &a, Design::Separate, 0.02).outcome, Outcome::Higher);
        assert_eq!(judged(&far, &a, Design::Separate, 0.25).outcome, Outcome::Higher);
        assert_eq!(judged(&a, &far, Design::Separate, 0.25).outcome, Outcome::Lower);
        let blocks = judged(&near, &a, Design::Blocks, 0.25);
        assert_eq!((blocks.outcome, blocks.blocks_to_decide), (Outcome::Higher, None));
    }

    // Breaks when a drift that goes on from one side to the other is counted for one side alone.
    #[test]
    fn trends_of_both_sides_count_together() {
        let mut stream = Stream::new(32);
        let falling = |from: usize| move |run: usize| 100.0 - 0.25 * (from + run) as f64;
        let first = runs(&mut stream, 12, 0.002, falling(0));
        let second = runs(&mut stream, 12, 0.002, falling(12));
        let found = judged(&second, &first, Design::Separate, 0.0);
        assert_eq!((found.outcome, found.withheld), (Outcome::Undecided, Some(Withheld::Drift)));
    }

    // Breaks when a difference that goes up and down is given as one of the drives, or when one far beyond that is withheld.
    #[test]
    fn blocks_that_wander_decide_only_what_lies_far_beyond() {
        let mut stream = Stream::new(33);
        let walk: Vec<f64> = (0..24)
            .scan(0.0, |at, _| {
                *at = 0.9 * *at + 0.01 * noise(&mut stream);
                Some(*at)
            })
            .collect();
        let times = |level: f64| walk.iter().map(|at| level * at.exp()).collect::<Vec<f64>>();
        let other = vec![100.0; 24];
        let near = Contrast::new(&times(100.0), &other, Design::Blocks).unwrap();
        assert!(near.wanders() && near.p_value() < ERROR_MAX, "{near:?}");
        let found = judged(&times(100.0), &other, Design::Blocks, 0.0);
        assert_eq!(found.withheld, Some(Withheld::Wandering), "{found:?}");
        assert_eq!(found.outcome, Outcome::Undecided);
        assert_eq!(judged(&times(150.0), &other, Design::Blocks, 0.0).outcome, Outcome::Higher);
    }

    // Breaks when an effect that both sides share in time, a drift or the offset of a session, makes them differ.
    #[test]
    fn what_both_sides_share_tells_none_apart() {
        const PAIRS: usize = 400;
        let mut stream = Stream::new(34);
        let (mut apart, mut blocks, mut alone) = (0, 0, 0);
        let is_told = |found: &Judged| matches!(found.outcome, Outcome::Higher | Outcome::Lower);
        for _ in 0..PAIRS {
            let all = runs(&mut stream, 24, 0.01, |run| 100.0 - 0.125 * run as f64);
            let offset = 1.0 + 0.03 * noise(&mut stream);
            let second: Vec<f64> = all[12..].iter().map(|run| offset * run).collect();
            apart += usize::from(is_told(&judged(&second, &all[..12], Design::Separate, 0.25)));
            alone += usize::from(is_told(&judged(&second, &all[..12], Design::Separate, 0.0)));
            let mut pair = [Vec::new(), Vec::new()];
            for block in all.chunks_exact(2) {
                let first = usize::from(stream.open01() < 0.5);
                pair[first].push(block[0]);
                pair[1 - first].push(block[1]);
            }
            blocks += usize::from(is_told(&judged(&pair[0], &pair[1], Design::Blocks, 0.25)));
        }
        assert_eq!(apart, 0);
        assert!(alone > PAIRS / 3, "{alone}: without the assumption they are told apart");
        // More than 19 of 400 come with 2% once in two thousand.
        assert!(blocks <= 19, "{blocks}");
    }
}

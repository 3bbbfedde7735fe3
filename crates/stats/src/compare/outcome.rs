//! What a contrast says, alone or among many.

use serde::{Deserialize, Serialize};

use super::{Agreement, Contrast, RatioEstimate, agreement};

/// What is said of one of two, beside the other.
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

/// A contrast and what is said of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// What it says.
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
}

/// Judges contrasts together: the probability that any of them is called different though none is, is at most
/// 1 - `confidence` (Holm 1979). *Equivalent* is the two one-sided tests procedure at 1 - `confidence` (Schuirmann 1987) and
/// takes precedence: what differs by less than the `margin` (0.02 for 2 %) is no difference.
pub fn judge(contrasts: &[Contrast], confidence: f64, margin: f64) -> Vec<Judged> {
    let error = 1.0 - confidence;
    let p_values: Vec<f64> = contrasts.iter().map(Contrast::p_value).collect();
    let adjusted = holm(&p_values);
    let open = open(&adjusted, error);
    let judged = |(index, contrast): (usize, &Contrast)| {
        let ratio = contrast.estimate(confidence);
        let narrow = contrast.estimate(1.0 - 2.0 * error);
        let agrees = agreement((narrow.low, narrow.high), margin) == Agreement::Agrees;
        // What moved by less than the margin moved out of it neither.
        let matters = |drift: &f64| !agrees || drift.ln().abs() > margin.ln_1p();
        let drift = contrast.drift_beyond().filter(matters);
        // The p-value is the least error at which the interval excludes no difference.
        let outcome = match (drift, agrees, adjusted[index] <= error) {
            (Some(_), _, _) | (None, false, false) => Outcome::Undecided,
            (None, true, _) => Outcome::Equivalent,
            (None, false, true) if ratio.ratio > 1.0 => Outcome::Higher,
            (None, false, true) => Outcome::Lower,
        };
        let is_open = outcome == Outcome::Undecided && drift.is_none();
        Judged {
            outcome,
            ratio,
            p_value: p_values[index],
            p_holm: adjusted[index],
            runs_to_decide: contrast.runs_to_decide(margin, open).filter(|_| is_open),
            drift,
        }
    };
    contrasts.iter().enumerate().map(judged).collect()
}

/// How many of the tests are not yet told apart: more runs leave Holm's procedure with the others decided first.
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

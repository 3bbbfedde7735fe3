//! A mark and its repetition, compared.
//!
//! The two were made one after the other, perhaps months apart, so nothing pairs their runs: the groups
//! are compared as such ([`stats::Contrast`]). What changed in between (the drive's state, its
//! age, the place of the test file) counts as a difference; that is what a repetition is asked for.
//! Runs that resemble their neighbours widen the interval.

use block::DriveKind;
use serde::{Deserialize, Serialize};
use stats::{Agreement, Contrast, Design, RatioEstimate, agreement};

use crate::body::CONFIDENCE;
use crate::body::{Body, Test};

/// Result of a repetition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    /// True when both bodies are the same to the last bit.
    pub identical: bool,
    /// True on a virtual drive, where they must be.
    pub must_be_identical: bool,
    /// Share of the original that a median may be off and still agree, in percent.
    pub margin_percent: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// By test of the original.
    pub tests: Vec<RepeatedTest>,
}

/// One test, before and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RepeatedTest {
    /// `SEQ1M Q8T1`.
    pub name: String,
    /// `read`, `write`, or `mix70`.
    pub op: String,
    /// Median throughput of the original, in MB/s; absent when it has no counted run.
    pub original_mb_s: Option<f64>,
    /// Median throughput of the repetition, in MB/s; absent when it has no counted run.
    pub repeated_mb_s: Option<f64>,
    /// Runs of each.
    pub runs: (usize, usize),
    /// Independent runs that those of the repetition are worth.
    pub n_effective: f64,
    /// Repetition to original.
    pub ratio: Option<RatioEstimate>,
    /// Outcome of the comparison.
    pub outcome: Outcome,
}

/// Outcome of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The interval of the ratio lies within the margin.
    Agrees,
    /// The repetition is faster, and the interval lies outside the margin.
    Faster,
    /// The repetition is slower, and the interval lies outside the margin.
    Slower,
    /// The interval reaches over an end of the margin, or there are too few runs for one.
    Undecided,
    /// One of the two has no valid number.
    NotComparable,
}

impl Repeat {
    /// True when some number is known to differ, or a virtual drive did not give the same again.
    pub fn differs(&self) -> bool {
        let is_broken = self.must_be_identical && !self.identical;
        is_broken
            || self.tests.iter().any(|t| matches!(t.outcome, Outcome::Faster | Outcome::Slower))
    }
}

/// Compares a mark with its repetition; `margin_percent` such as 2.
pub fn compare(original: &Body, repeated: &Body, margin_percent: f64) -> Repeat {
    // Both are of one plan, so tests correspond by position; the same name may occur twice.
    let again = |index: usize, test: &Test| {
        repeated.tests.get(index).filter(|t| (&t.name, &t.op) == (&test.name, &test.op))
    };
    Repeat {
        identical: original == repeated,
        // A repetition that ended early is not complete yet, and may differ.
        must_be_identical: original.target.kind == DriveKind::Virtual && !repeated.interrupted,
        margin_percent,
        confidence: CONFIDENCE,
        tests: (original.tests.iter().enumerate())
            .map(|(index, test)| repeated_test(test, again(index, test), margin_percent))
            .collect(),
    }
}

/// Of the counted runs; earlier versions recorded 0 where there are none.
fn median(test: &Test) -> Option<f64> {
    test.mb_s.median.filter(|_| !test.runs.is_empty())
}

fn repeated_test(before: &Test, after: Option<&Test>, margin_percent: f64) -> RepeatedTest {
    let rates = |test: &Test| test.runs.iter().map(|r| r.mb_s).collect::<Vec<f64>>();
    let rates = (rates(before), after.map(rates).unwrap_or_default());
    let counts = (after.map_or(0.0, Test::ios_of_a_run), before.ios_of_a_run());
    let contrast = Contrast::new(&rates.1, &rates.0, Design::Separate);
    let contrast = contrast.map(|found| found.of_counts(counts));
    let ratio = contrast.map(|found| found.estimate(CONFIDENCE));
    let stands = before.headline && after.is_some_and(|t| t.headline);
    let same = !rates.0.is_empty() && rates.0 == rates.1;
    let outcome = match ratio {
        None => Outcome::NotComparable,
        Some(_) if !stands => Outcome::NotComparable,
        Some(_) if same => Outcome::Agrees,
        Some(ratio) => match agreement((ratio.low, ratio.high), margin_percent / 100.0) {
            Agreement::Agrees => Outcome::Agrees,
            Agreement::Undecided => Outcome::Undecided,
            Agreement::Differs if ratio.ratio > 1.0 => Outcome::Faster,
            Agreement::Differs => Outcome::Slower,
        },
    };
    RepeatedTest {
        name: before.name.clone(),
        op: before.op.clone(),
        original_mb_s: median(before),
        repeated_mb_s: after.and_then(median),
        runs: (rates.0.len(), rates.1.len()),
        n_effective: after.map_or(0.0, |t| t.mb_s.n_effective),
        ratio,
        outcome,
    }
}

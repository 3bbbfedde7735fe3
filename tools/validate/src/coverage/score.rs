//! Counts right and wrong answers.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;
use stats::{ProportionInterval, median, proportion_interval};

use super::Truth;
use crate::binary::text;

/// Confidence of the bounds of every share.
const CONFIDENCE: f64 = 0.95;
/// Share of intervals that ought to hold the truth.
const COVERAGE: f64 = 0.95;
/// Share of false alarms that is bearable.
const ALARMS: f64 = 0.05;

/// The six proofs, as the body names them.
pub(super) const PROOFS: [&str; 6] =
    ["reached", "pattern", "steady", "repeatable", "unhindered", "undisturbed"];

/// Results of one benchmark run for one test.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) test: String,
    /// MB/s.
    pub(super) median: f64,
    /// 95% interval of the median, MB/s.
    pub(super) interval: Option<(f64, f64)>,
    /// Verdicts, in the order of [`PROOFS`].
    pub(super) proofs: Vec<String>,
    pub(super) two_modes: bool,
}

impl Answer {
    /// The test's name and direction, as caveats name it.
    pub(super) fn name(test: &Value) -> Result<String> {
        Ok(format!("{} {}", text(test, "/name")?, text(test, "/op")?))
    }

    /// A line of the raw figures, from the test on.
    pub(super) fn line(&self) -> String {
        let end = |x: Option<f64>| x.map_or(String::new(), |x| format!("{x:.6}"));
        let letters: Vec<&str> = self.proofs.iter().map(|v| v.get(..1).unwrap_or("")).collect();
        format!(
            "{},{},{:.6},{},{},{}",
            self.test,
            end(self.interval.map(|i| i.0)),
            self.median,
            end(self.interval.map(|i| i.1)),
            letters.join(","),
            u8::from(self.two_modes)
        )
    }

    fn holds(&self, truth: f64) -> bool {
        // Both ends and the truth are medians of rates that come in steps; equal ones may differ in
        // their last bit.
        let slack = 1e-9 * truth;
        self.interval.is_some_and(|(low, high)| low - slack <= truth && truth <= high + slack)
    }

    fn verdict(&self, proof: &str) -> &str {
        let at = PROOFS.iter().position(|p| *p == proof);
        at.and_then(|at| self.proofs.get(at)).map_or("", String::as_str)
    }
}

/// Counts over all seeds for one test under one protocol.
#[derive(Clone, Debug)]
pub(super) struct Score {
    pub(super) protocol: &'static str,
    pub(super) test: String,
    pub(super) truth: Truth,
    pub(super) seeds: usize,
    /// Intervals that hold the median of very many runs.
    pub(super) covers_runs: usize,
    /// Intervals that hold the throughput of a very long run.
    pub(super) covers_long: usize,
    /// Median half width of the intervals, relative to the truth.
    pub(super) half_width: f64,
    pub(super) two_modes: usize,
    /// Refuted, in the order of [`PROOFS`].
    pub(super) refuted: [usize; 6],
    /// Proven, in the order of [`PROOFS`].
    pub(super) proven: [usize; 6],
}

impl Score {
    /// One score a test, in the order in which tests first appear.
    pub(super) fn of<'a>(
        protocol: &'static str,
        truths: &BTreeMap<String, Truth>,
        answers: impl Iterator<Item = &'a Answer>,
    ) -> Vec<Score> {
        let mut by_test: Vec<(&str, Vec<&Answer>)> = Vec::new();
        for answer in answers {
            match by_test.iter_mut().find(|(test, _)| *test == answer.test) {
                Some((_, of_test)) => of_test.push(answer),
                None => by_test.push((&answer.test, vec![answer])),
            }
        }
        let one = |(test, answers): (&str, Vec<&Answer>)| {
            truths.get(test).map(|truth| Score::count(protocol, test, *truth, &answers))
        };
        by_test.into_iter().filter_map(one).collect()
    }

    fn count(protocol: &'static str, test: &str, truth: Truth, answers: &[&Answer]) -> Score {
        let count = |is: &dyn Fn(&Answer) -> bool| answers.iter().filter(|a| is(a)).count();
        let with =
            |verdict: &str| PROOFS.map(|proof| count(&|a: &Answer| a.verdict(proof) == verdict));
        let widths: Vec<f64> = answers
            .iter()
            .filter_map(|a| a.interval)
            .map(|(low, high)| (high - low) / 2.0 / truth.of_runs)
            .collect();
        Score {
            protocol,
            test: test.to_owned(),
            truth,
            seeds: answers.len(),
            covers_runs: count(&|a| a.holds(truth.of_runs)),
            covers_long: count(&|a| a.holds(truth.long_run)),
            half_width: median(&widths).unwrap_or(f64::NAN),
            two_modes: count(&|a| a.two_modes),
            refuted: with("refuted"),
            proven: with("proven"),
        }
    }

    /// The share of `count` with its Clopper–Pearson bounds.
    pub(super) fn share(&self, count: usize) -> Option<ProportionInterval> {
        proportion_interval(count, self.seeds, CONFIDENCE)
    }

    /// True when surely fewer intervals than ought to hold the throughput of a very long run. That is
    /// not a fault of the interval, which is one of short runs, but of taking it for one of a long run.
    pub(super) fn misses_long_run(&self) -> bool {
        self.share(self.covers_long).is_some_and(|share| share.high < COVERAGE)
    }

    /// Lists the criteria that are surely not met: the whole interval of the share is on the wrong side.
    /// Coverage is judged against the median of runs, which is what the interval is of.
    pub(super) fn shortfalls(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.share(self.covers_runs).is_some_and(|share| share.high < COVERAGE) {
            found.push("coverage".to_owned());
        }
        let mut alarms = vec![("two modes".to_owned(), self.two_modes)];
        let refuted = PROOFS.iter().zip(self.refuted);
        alarms.extend(refuted.map(|(proof, count)| (format!("*{proof}* refuted"), count)));
        let surely = |count| self.share(count).is_some_and(|share| share.low > ALARMS);
        found.extend(alarms.into_iter().filter(|(_, count)| surely(*count)).map(|(name, _)| name));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(interval: (f64, f64), steady: &str) -> Answer {
        let proofs = PROOFS.map(|p| if p == "steady" { steady } else { "proven" }.to_owned());
        Answer {
            test: "RND4K Q1T1 read".into(),
            median: 1.0,
            interval: Some(interval),
            proofs: proofs.to_vec(),
            two_modes: false,
        }
    }

    fn score(answers: &[Answer]) -> Score {
        let truth = Truth { of_runs: 1.0, long_run: 1.1 };
        let truths = BTreeMap::from([("RND4K Q1T1 read".to_owned(), truth)]);
        Score::of("quick-6", &truths, answers.iter()).remove(0)
    }

    // A score that counts an end of the interval as outside would report a shortfall for tests whose
    // rates come in steps; one that counts a miss as a hit would hide a real one.
    #[test]
    fn hits_and_misses_are_counted_against_each_truth() {
        let answers = [
            answer((0.9, 1.05), "proven"),
            answer((1.0, 1.2), "proven"),
            answer((1.01, 1.2), "refuted"),
            Answer { interval: None, ..answer((0.0, 0.0), "unprovable") },
        ];
        let score = score(&answers);
        assert_eq!((score.seeds, score.covers_runs, score.covers_long), (4, 2, 2));
        assert_eq!((score.refuted[2], score.proven[2], score.proven[0]), (1, 2, 4));
    }

    #[test]
    fn a_shortfall_is_named_only_when_the_bounds_leave_no_doubt() {
        let of = |hits: usize, alarms: usize| -> Vec<String> {
            let one = |i| {
                let interval = if i < hits { (0.9, 1.1) } else { (1.1, 1.2) };
                answer(interval, if i < alarms { "refuted" } else { "proven" })
            };
            score(&(0..300).map(one).collect::<Vec<_>>()).shortfalls()
        };
        assert!(of(285, 15).is_empty());
        assert!(of(279, 22).is_empty());
        assert_eq!(of(270, 22), ["coverage"]);
        assert_eq!(of(290, 40), ["*steady* refuted"]);
        let off_by_a_tenth = |high| score(&vec![answer((0.9, high), "proven"); 300]);
        assert!(!off_by_a_tenth(1.1).misses_long_run());
        assert!(off_by_a_tenth(1.09).misses_long_run());
        assert!(off_by_a_tenth(1.09).shortfalls().is_empty());
    }

    #[test]
    fn a_line_has_a_cell_for_every_column() {
        let full = answer((0.9, 1.1), "unprovable").line();
        assert_eq!(full, "RND4K Q1T1 read,0.900000,1.000000,1.100000,p,p,u,p,p,p,0");
        let none = Answer { interval: None, ..answer((0.0, 0.0), "proven") }.line();
        assert_eq!(none.matches(',').count(), full.matches(',').count());
    }
}

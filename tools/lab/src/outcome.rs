//! Outcomes of scenarios, and their reports.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::reached::Cell;
use crate::scenario::Scenario;

/// Outcome of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// The behaviour that it verifies.
    pub summary: String,
    /// Why it did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// Faults of the guest, not of a step.
    pub faults: Vec<String>,
    /// Last words of a guest that froze under it before, when it was run once more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frozen: Vec<String>,
    /// Its steps, as far as it came.
    pub steps: Vec<StepOutcome>,
    /// Steps that it has.
    pub steps_wanted: usize,
    /// Its cells: lines in states.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellOutcome>,
    /// Seconds that it took, boot apart.
    pub seconds: f64,
}

/// Outcome of a line in a state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CellOutcome {
    /// Name of the state.
    pub state: String,
    /// Name of the line.
    pub line: String,
    /// Exit status of the line.
    pub exit: i32,
    /// Its faults; the state's step lists them too.
    pub faults: Vec<String>,
    /// SHA-256 of the watched drives before and after.
    pub sha256: BTreeMap<String, [String; 2]>,
    /// Seconds that it took.
    pub seconds: f64,
}

/// Outcome of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepOutcome {
    /// Its name.
    pub name: String,
    /// Its faults.
    pub faults: Vec<String>,
    /// Exit status of its script.
    pub exit: Option<i32>,
    /// Seconds that it took.
    pub seconds: f64,
    /// Its standard output, unless that is a JSON document: then see `json`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stdout: String,
    /// Its standard output, if that is a JSON document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<serde_json::Value>,
    /// Its standard error.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// Verdicts of the proof *reached*, and what they were worth.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reached: Vec<Cell>,
    /// SHA-256 of drives before and after, where it matters.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sha256: BTreeMap<String, [String; 2]>,
}

/// Lines of a step's output that are shown to people, at most.
const TOLD_LINES: usize = 30;

impl Outcome {
    /// Of a scenario that has not begun.
    pub fn of(scenario: &Scenario) -> Outcome {
        Outcome {
            name: scenario.name.clone(),
            summary: scenario.summary.clone(),
            steps_wanted: scenario.steps.len() + scenario.states.len(),
            ..Outcome::default()
        }
    }

    /// Of one that could not begin, which is a fault.
    pub fn unmade(scenario: &Scenario, why: &str) -> Outcome {
        Outcome { faults: vec![why.to_owned()], ..Outcome::of(scenario) }
    }

    /// Nothing was wrong, and it ran to its end.
    pub fn is_green(&self) -> bool {
        self.skipped.is_none()
            && self.faults.is_empty()
            && self.steps.iter().all(|step| step.faults.is_empty())
            && self.steps.len() == self.steps_wanted
    }

    /// Its line, as a test's.
    pub fn line(&self) -> String {
        let word = if self.is_green() || self.skipped.is_some() { "ok" } else { "FAILED" };
        let count =
            format!("{} of {} steps, {:.1} s", self.steps.len(), self.steps_wanted, self.seconds);
        let what = self.skipped.as_ref().map_or(count, |why| format!("skipped: {why}"));
        format!("test lab::{} ... {word} ({what})", self.name)
    }

    /// Lists all faults, for people; empty if there are none.
    pub fn complaint(&self) -> String {
        let mut text = String::new();
        for fault in &self.faults {
            let _ = writeln!(text, "    {fault}");
        }
        for step in self.steps.iter().filter(|step| !step.faults.is_empty()) {
            let _ = writeln!(text, "    step {:?}", step.name);
            step.faults.iter().for_each(|fault| {
                let _ = writeln!(text, "      {fault}");
            });
            let document = step.json.as_ref().map(|json| format!("{json:#}"));
            for (name, output) in
                [("stdout", document.as_ref().unwrap_or(&step.stdout)), ("stderr", &step.stderr)]
            {
                let lines: Vec<&str> = output.lines().collect();
                let from = lines.len().saturating_sub(TOLD_LINES);
                lines[from..].iter().for_each(|line| {
                    let _ = writeln!(text, "      {name}| {line}");
                });
            }
        }
        text
    }
}

/// Passed, failed, skipped.
pub fn counts(outcomes: &[Outcome]) -> (usize, usize, usize) {
    let skipped = outcomes.iter().filter(|o| o.skipped.is_some()).count();
    let passed = outcomes.iter().filter(|o| o.is_green()).count();
    (passed, outcomes.len() - passed - skipped, skipped)
}

/// The table at the end, in the scenarios' order.
pub fn table(outcomes: &[Outcome]) -> String {
    let width = outcomes.iter().map(|o| o.name.len()).max().unwrap_or(0).max("scenario".len());
    let mut text = format!("{:<width$}  steps  cells  seconds  result\n", "scenario");
    for outcome in outcomes {
        let result = match (&outcome.skipped, outcome.is_green()) {
            (Some(why), _) => format!("skipped: {why}"),
            (None, true) if !outcome.frozen.is_empty() => "green, after a guest froze".to_owned(),
            (None, true) => "green".to_owned(),
            (None, false) => "FAILED".to_owned(),
        };
        let _ = writeln!(
            text,
            "{:<width$}  {:>5}  {:>5}  {:>7.1}  {result}",
            outcome.name,
            outcome.steps.len(),
            outcome.cells.len(),
            outcome.seconds
        );
    }
    text
}

/// Returns the results that `scripts/tally.awk` counts, and a line for people.
pub fn summary(outcomes: &[Outcome]) -> String {
    let (passed, failed, skipped) = counts(outcomes);
    let mut text = String::new();
    let unmade = outcomes.iter().filter_map(|o| Some((&o.name, o.skipped.as_ref()?)));
    let unmade: Vec<String> = unmade
        .map(|(name, why)| format!("---- lab::{name} stdout ----\nskipped: {why}\n"))
        .collect();
    if !unmade.is_empty() {
        let _ = writeln!(text, "successes:\n\n{}", unmade.join("\n"));
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    // A skipped test is one that passed and said so.
    let _ = writeln!(
        text,
        "test result: {word}. {} passed; {failed} failed; 0 ignored\n",
        passed + skipped
    );
    let _ = writeln!(text, "{passed} passed, {failed} failed, {skipped} skipped");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &str, faults: &[&str], skipped: Option<&str>) -> Outcome {
        let step = StepOutcome {
            name: "looks".into(),
            faults: faults.iter().map(|f| (*f).to_owned()).collect(),
            stdout: "words\n".into(),
            ..StepOutcome::default()
        };
        Outcome {
            name: name.into(),
            skipped: skipped.map(str::to_owned),
            steps: vec![step],
            steps_wanted: 1,
            seconds: 1.25,
            ..Outcome::default()
        }
    }

    // A failed scenario that counts as passed is worse than none.
    #[test]
    fn each_is_counted_as_what_it_is() {
        let all = [
            outcome("right", &[], None),
            outcome("wrong", &["exit 1, not 0"], None),
            outcome("unmade", &[], Some("mdadm is not installed")),
            Outcome { steps_wanted: 2, ..outcome("broken-off", &[], None) },
            Outcome { faults: vec!["the guest is gone".into()], ..outcome("dead", &[], None) },
        ];
        assert_eq!(counts(&all), (1, 3, 1));
        let text = summary(&all);
        assert!(text.contains("test result: FAILED. 2 passed; 3 failed; 0 ignored"), "{text}");
        assert!(text.contains("---- lab::unmade stdout ----\nskipped: mdadm is not installed\n"));
        assert!(text.ends_with("\n1 passed, 3 failed, 1 skipped\n"), "{text}");
        let table = table(&all);
        assert!(table.contains("right           1      0      1.2  green"), "{table}");
        assert!(table.contains("broken-off      1      0      1.2  FAILED"), "{table}");
        assert_eq!(all[1].line(), "test lab::wrong ... FAILED (1 of 1 steps, 1.2 s)");
        let complaint = all[1].complaint();
        assert!(complaint.contains("exit 1, not 0") && complaint.contains("stdout| words"));
        assert_eq!(all[0].complaint(), "");
    }
}

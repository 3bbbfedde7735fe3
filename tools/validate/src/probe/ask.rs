//! A drive asked by the chain of probes, as `drivescope probe` asks it.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ::probe::chain::{self, Around, Earlier};
use ::probe::plan::SCHEMA;
use ::probe::{Finding, Halt, Name, NoKeeper, Plan, Spent, Task};
use anyhow::{Context as _, Result};
use block::{Bytes, Layout, Nanos};
use engine::{Bench, TargetBench};

use super::drive::Subject;

/// Time limit of a probe run: the default of `--time-budget`.
pub const TIME: Nanos = Nanos::secs(30 * 60);
/// Write limit of a probe run: the default of `--write-budget`.
pub const WRITES: Bytes = Bytes::gib(16);

/// Questions about a drive.
#[derive(Clone, Debug)]
pub struct Questions {
    /// The probes, each at its defaults.
    pub tasks: Vec<Task>,
    /// Properties whose truth is handed to the probes.
    pub given: Vec<Name>,
    /// Root of the probes' randomness.
    pub seed: u64,
    /// True when the drive may be overwritten.
    pub may_write: bool,
}

/// Answers about a drive.
#[derive(Clone, Debug)]
pub struct Said {
    /// The answers.
    pub findings: Vec<Finding>,
    /// Reason for an early end, other than a limit.
    pub halted: Option<String>,
    /// Resources of the drive that it used.
    pub spent: Spent,
    /// Wall-clock time that it took.
    pub wall: Duration,
}

impl Said {
    /// The finding for `name`.
    pub fn of(&self, name: Name) -> Finding {
        let said = self.findings.iter().find(|finding| finding.name == name);
        said.cloned().unwrap_or_else(|| Finding::unknown(name, "nobody was asked"))
    }
}

/// The probes of the chain that it takes to answer what is wanted, in their order.
pub fn tasks(wanted: &[Name]) -> Vec<Task> {
    let mut wanted = wanted.to_vec();
    let mut kept = Vec::new();
    for task in Task::chain().into_iter().rev() {
        let (answers, needs) = answers_and_needs(&task);
        if answers.iter().any(|name| wanted.contains(name)) {
            wanted.extend(needs);
            kept.push(task);
        }
    }
    kept.reverse();
    kept
}

/// Properties that a probe may answer, and those that it uses of earlier answers.
fn answers_and_needs(task: &Task) -> (&'static [Name], &'static [Name]) {
    match task {
        // The erase block by writes, where reads do not show it.
        Task::OpenAu(_) => (
            &[Name::OpenAuLinear, Name::OpenAuRandom, Name::EraseBlock],
            &[Name::EraseBlock, Name::MultiPlanePage],
        ),
        Task::Fat => (&[Name::FatZone], &[Name::EraseBlock, Name::OpenAuLinear]),
        Task::Scatter(_) => {
            (&[Name::CellBands, Name::FatZone, Name::SlowZone], &[Name::MultiPlanePage])
        }
        other => (other.answers(), &[]),
    }
}

/// Asks the drive on `bench`.
///
/// # Errors
/// When the questions do not fit it.
pub fn ask(
    bench: &mut dyn Bench,
    questions: &Questions,
    given: BTreeMap<Name, u64>,
) -> Result<Said> {
    let begun = Instant::now();
    let plan = Plan {
        schema: SCHEMA.to_owned(),
        seed: questions.seed,
        time_budget_ns: TIME,
        write_budget_bytes: WRITES,
        may_write: questions.may_write,
        region: None,
        given,
        tasks: questions.tasks.clone(),
    };
    let mut keeper = NoKeeper;
    let around = Around {
        earlier: Earlier::default(),
        engine: "validate",
        claims: &[],
        classes: &[],
        write_flags: "--write --consent WORD",
        layout: &Layout::default,
        recorder: &mut keeper,
    };
    let (body, halt) = chain::run(bench, &plan, around)?;
    let halted = halt.as_ref().map(Halt::to_string);
    Ok(Said { findings: body.findings, halted, spent: body.spent, wall: begun.elapsed() })
}

/// Asks a virtual drive.
///
/// # Errors
/// When it cannot be opened.
pub fn ask_virtual(subject: &Subject, questions: &Questions) -> Result<Said> {
    let mut target = subject.open()?;
    let mut environment = target.environment();
    let truth = |name: &Name| Some((*name, subject.truth(*name)?));
    let given = questions.given.iter().filter_map(truth).collect();
    let going = AtomicBool::new(false);
    let mut bench = TargetBench::new(&mut target, &mut environment, &going);
    ask(&mut bench, questions, given).with_context(|| subject.spec.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a probe is asked without what it builds on, or all are asked where one was wanted.
    #[test]
    fn what_is_wanted_brings_what_it_needs() {
        let words =
            |wanted: &[Name]| -> Vec<&str> { tasks(wanted).iter().map(Task::word).collect() };
        assert_eq!(words(&[Name::Page]), ["align"]);
        assert_eq!(words(&[Name::EraseBlock]), ["align", "open-au"]);
        assert_eq!(words(&[Name::CellBands]), ["align", "scatter"]);
        assert_eq!(words(&super::super::drive::SCORED), ["align", "open-au", "fat", "scatter"]);
        assert!(words(&[Name::RealCapacity]).is_empty());
    }
}

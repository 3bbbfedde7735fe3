//! Results of the tests of a benchmark so far: judged after each run by the code that judges them at the end.

use std::collections::BTreeMap;

use block::{DriveInfo, Extents, Stack};
use mark::findings::{self, Context};
use mark::{Executed, body::Test};
use report::Item;
use stats::Verdict;
use workload::plan::Plan;

/// Everything that judging needs.
pub struct Watch {
    /// The plan.
    pub plan: Plan,
    /// The target.
    pub info: DriveInfo,
    /// Layers under the target.
    pub stack: Stack,
    /// Layout of the measured part of the target's file.
    pub extents: Option<Extents>,
    /// True when this run made the target's file and wrote all of it.
    pub own_file: bool,
    /// The engine.
    pub engine: String,
    /// True when the page cache is to be bypassed.
    pub direct: bool,
    /// True when each write has to be durable.
    pub durable: bool,
    /// True when a file is written in place.
    pub in_place: bool,
    /// CPUs that the submitters can run on.
    pub cpus: usize,
    /// True when completions are asked for over and over.
    pub polling: bool,
    /// Whether each test has all proofs, by step.
    pub proven: BTreeMap<usize, bool>,
}

impl Watch {
    /// Facts after a run of the step with this index, in lines.
    pub fn facts(&mut self, so_far: &Executed, step: usize) -> Vec<Item> {
        let context = Context {
            info: &self.info,
            stack: &self.stack,
            extents: self.extents.clone(),
            engine: &self.engine,
            direct: self.direct,
            durable: self.durable,
            cpus: self.cpus,
            polling: self.polling,
            extents_after: None,
            own_file: self.own_file,
            // Asked when all runs are over.
            cache: None,
            in_place: self.in_place,
        };
        let test = findings::so_far(&self.plan, so_far, step, &context);
        let is_proven = |test: &Test| {
            test.proofs.named().iter().all(|(_, proof)| proof.verdict == Verdict::Proven)
        };
        self.proven.extend(test.as_ref().map(|test| (step, is_proven(test))));
        let whole = self.proven.values().filter(|proven| **proven).count();
        let tests = self.plan.steps.len();
        let last = so_far.tests.get(step).and_then(|test| test.runs.last());
        let celsius = last.and_then(|run| run.after.temperature_c);
        let written = so_far.written.iter().map(|(_, bytes)| *bytes).sum();
        let test = test.map(|test| live::page::of_test(&test, whole, tests));
        test.into_iter().flatten().chain(live::page::of_run(written, celsius)).collect()
    }
}

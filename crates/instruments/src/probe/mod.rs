//! Probes on an open drive: `cost` foresees what they take, `open` opens one with what it says of itself, `run` is a probe run as the runner sees it, `restore`
//! puts back what a killed one had overwritten.

mod cost;
mod open;
mod restore;
mod run;

use bench::originals;
use probe::{Plan, Task};
use record::{Run, State};

pub use cost::{Limits, cost};
pub use open::{Opened, Work, in_directory, must_write, takes_directory, will_write, with_bench};
pub use restore::restore;
pub use run::ProbeRun;

/// Message about data that a killed probe run may have left on the drive: a trial of capacity writes back what it found when it
/// ends.
pub fn left_behind(run: &Run) -> Option<String> {
    let plan = Plan::from_toml(&run.plan).ok()?;
    let is_trial = |task: &Task| matches!(task, Task::Capacity(options) if options.keeps);
    let is_under_way = plan.tasks.get(run.steps.len()).is_some_and(is_trial);
    let is_killed = run.state == State::Running && plan.may_write && is_under_way;
    if !is_killed {
        return None;
    }
    let left = originals::pending(run.dir.parent()).into_iter().find(|left| left.run_id == run.id);
    if let Some(left) = left {
        return Some(originals::in_words(&left, &left.target));
    }
    // A run that saves its originals has either overwritten nothing yet or restored everything.
    let is_saved = run.setup["originals"].is_string();
    let lost = "it was killed while it tried the capacity: what it had overwritten until then was not written back, and \
                holds its marks now";
    (!is_saved).then(|| lost.to_owned())
}

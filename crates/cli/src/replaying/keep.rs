//! The record of a replay or of several: begun before the first request, so that what was written is in the list whatever
//! becomes of it.

use std::path::Path;

use anyhow::{Context as _, Result};
use drives::TargetSpec;
use record::{Envelope, Run, State};
use serde_json::{Value, json};
use trace::replay::Options;

use super::play::Start;
use crate::args::KeepArgs;
use crate::keeping::{Beginning, Keeping};
use crate::recording;

/// What a record is of.
#[derive(Clone, Copy)]
pub struct Record<'a> {
    /// Which verb made it.
    pub verb: &'a str,
    /// The trace's file, as the user named it.
    pub trace: &'a Path,
    /// The drives, as the user named them.
    pub targets: &'a [&'a TargetSpec],
    /// Root of all randomness.
    pub seed: u64,
    /// How many replays it is of.
    pub steps: u32,
    /// What goes on when the record cannot.
    pub what: &'static str,
}

impl Record<'_> {
    /// Begins it with the first replay; completes `envelope`.
    ///
    /// # Errors
    /// When it cannot be kept where the user wants it.
    pub fn begin(
        &self,
        keep: &KeepArgs,
        start: Start<'_>,
        envelope: &mut Envelope,
    ) -> Result<Keeping> {
        let targets: Vec<&str> = self.targets.iter().map(|target| target.as_str()).collect();
        let mut setup = json!({
            "verb": self.verb, "trace": self.trace, "target": targets.join(" "),
            "drive": recording::words(start.identity), "seed": self.seed,
        });
        if targets.len() > 1 {
            setup["targets"] = json!(targets);
        }
        if let Some((set, before)) = start.scheduler {
            setup[SCHEDULER] = json!({ "set": set, "before": before });
        }
        let beginning = Beginning {
            plan: toml_of(&start.plan.options)?,
            setup,
            steps: Some(self.steps),
            drives: &[start.identity],
        };
        let mut keeping = Keeping::begin(keep, envelope, beginning, self.what)?;
        // The first request follows at once: something may be written to the drive.
        keeping.note("begun", &Value::Null);
        Ok(keeping)
    }
}

/// In the setup, the scheduler that was set for the first drive.
const SCHEDULER: &str = "scheduler";

/// The scheduler that a killed replay may have left on its drive, and how to put back the one before.
pub fn left_behind(run: &Run) -> Option<String> {
    let told = |name: &str| run.setup[SCHEDULER][name].as_str();
    let (set, before) = (told("set")?, told("before")?);
    let target = run.setup["targets"][0].as_str().or_else(|| run.setup["target"].as_str())?;
    let device = Path::new(target).file_name()?.to_string_lossy();
    let is_killed = run.state == State::Running && set != before;
    is_killed.then(|| {
        format!(
            "it was killed before it had put back the I/O scheduler of {target} ({before}; it set {set}): echo {before} > \
             /sys/block/{device}/queue/scheduler"
        )
    })
}

/// What was asked for, as text.
fn toml_of(options: &Options) -> Result<String> {
    toml::to_string_pretty(options).context("the plan has no text form")
}

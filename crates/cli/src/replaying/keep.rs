//! The record of a replay or of several: begun before the first request, so that what was written is in the list whatever
//! becomes of it.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use drives::TargetSpec;
use record::{Run, RunId, SamplesFormat, State};
use runner::instrument::{self, Instrument, Resumption, Running};
use runner::place::Keep;
use runner::recorder::Beginning;
use serde_json::{Value, json};
use trace::replay::Options;

use super::play::Start;

/// A replay, or a comparison of several, as the runner sees it.
pub struct Replaying<'a> {
    /// Form of its document.
    pub schema: &'static str,
    /// The activity that continues without a record.
    pub noun: &'static str,
    /// Verb as the user typed it.
    pub verb: &'static str,
    /// The trace's file, as the user named it.
    pub trace: &'a Path,
    /// The drives, as the user named them.
    pub targets: Vec<&'a TargetSpec>,
    /// Name of the run.
    pub run_id: RunId,
    /// Root of all randomness.
    pub seed: u64,
    /// Number of replays.
    pub steps: u32,
}

impl Replaying<'_> {
    /// Begins the record with the first replay; `parts` are runs that were made for it before.
    ///
    /// # Errors
    /// When it cannot be kept where the user wants it.
    pub fn begin(&self, keep: &Keep, start: Start<'_>, parts: &[RunId]) -> Result<Running> {
        let mut first = First { replaying: self, start };
        let mut running = instrument::open(&mut first, keep, self.run_id.clone(), None)?;
        running.envelope.parts = parts.to_vec();
        // The first request follows at once: something may be written to the drive.
        running.recorder.note("begun", &Value::Null);
        Ok(running)
    }
}

/// The first replay, about to begin: its drive is the one of the record.
struct First<'a> {
    replaying: &'a Replaying<'a>,
    start: Start<'a>,
}

impl Instrument for First<'_> {
    type Step = Value;

    fn schema(&self) -> &'static str {
        self.replaying.schema
    }

    fn noun(&self) -> &'static str {
        self.replaying.noun
    }

    fn beginning(&self) -> Result<Beginning> {
        let Replaying { verb, trace, targets, seed, steps, .. } = self.replaying;
        let Start { plan, identity, scheduler } = self.start;
        let targets: Vec<&str> = targets.iter().map(|target| target.as_str()).collect();
        let mut setup = json!({
            "verb": verb, "trace": trace, "target": targets.join(" "),
            "drive": runner::recorder::drive_words(identity), "seed": seed,
        });
        if targets.len() > 1 {
            setup["targets"] = json!(targets);
        }
        if let Some((set, before)) = scheduler {
            setup[SCHEDULER] = json!({ "set": set, "before": before });
        }
        Ok(Beginning {
            plan: toml_of(&plan.options)?,
            setup,
            steps: Some(*steps),
            drive: Some(identity.clone()),
            samples: Some(SamplesFormat::Parquet),
        })
    }

    fn resume(&mut self, run: &Run, _: Vec<Value>) -> Result<Resumption> {
        bail!("{}: a replay is not resumed; replay the trace again", run.id)
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

//! Record of a run of replays: begun before the first request, so that a run that has written is always recorded.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use drives::TargetSpec;
use record::{Run, RunId, SamplesFormat, State};
use runner::instrument::{self, Instrument, Resumption, Running};
use runner::place::Keep;
use runner::recorder::{Beginning, drive_words};
use serde_json::{Value, json};

use crate::replay::Prepared;
use crate::replayer::Replayer;

/// A run of one replay or of several.
pub struct ReplayRun<'a> {
    /// Form of its document.
    pub schema: &'static str,
    /// The activity that continues without a record.
    pub noun: &'static str,
    /// Verb as the user typed it.
    pub verb: &'static str,
    /// Its replays.
    pub replayer: &'a Replayer,
    /// The drives, as the user named them.
    pub targets: Vec<&'a TargetSpec>,
    /// Name of the run.
    pub run_id: RunId,
    /// Number of replays.
    pub steps: u32,
}

impl ReplayRun<'_> {
    /// Begins the record with the first replay; `parts` are runs that were made for it before.
    ///
    /// # Errors
    /// When it cannot be kept where the user wants it.
    pub fn begin(&self, keep: &Keep, prepared: Prepared<'_>, parts: &[RunId]) -> Result<Running> {
        let mut first = FirstReplay { run: self, prepared };
        let mut running = instrument::open(&mut first, keep, self.run_id.clone(), None)?;
        running.envelope.parts = parts.to_vec();
        // The first request follows at once: something may be written to the drive.
        running.recorder.note("begun", &Value::Null);
        Ok(running)
    }
}

/// The first replay of a run, about to begin: its drive is the one of the record.
struct FirstReplay<'a> {
    run: &'a ReplayRun<'a>,
    prepared: Prepared<'a>,
}

impl Instrument for FirstReplay<'_> {
    type Step = Value;

    fn schema(&self) -> &'static str {
        self.run.schema
    }

    fn noun(&self) -> &'static str {
        self.run.noun
    }

    fn beginning(&self) -> Result<Beginning> {
        let ReplayRun { verb, replayer, targets, steps, .. } = self.run;
        let Prepared { plan, identity, scheduler } = self.prepared;
        let targets: Vec<&str> = targets.iter().map(|target| target.as_str()).collect();
        let mut setup = json!({
            "verb": verb, "trace": replayer.trace.path(), "target": targets.join(" "),
            "drive": drive_words(identity), "seed": replayer.settings.seed,
        });
        if targets.len() > 1 {
            setup["targets"] = json!(targets);
        }
        if let Some((set, before)) = scheduler {
            setup[SCHEDULER] = json!({ "set": set, "before": before });
        }
        Ok(Beginning {
            plan: toml::to_string_pretty(&plan.options).context("the plan has no text form")?,
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
    let name = |name: &str| run.setup[SCHEDULER][name].as_str();
    let (set, before) = (name("set")?, name("before")?);
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

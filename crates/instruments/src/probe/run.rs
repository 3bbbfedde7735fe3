//! A probing as the runner sees it: a step for each probe, with every single I/O beside it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use block::{DriveKind, Event, Layout, RunSink};
use engine::{Bench, Sample};
use linux::sysfs::Roots;
use live::Progress;
use probe::capacity::Kept;
use probe::chain::{self, Around, Done, Earlier, Recorder as ProbeRecorder};
use probe::{Body, Halt, Keeper, Plan, ProbeName};
use record::{Run, RunId, SampleRow, SamplesFormat, State, Summary};
use runner::instrument::{Instrument, Measure, Outcome, Resumption};
use runner::recorder::{Beginning, Recorder, drive_words};
use serde_json::json;

use super::open::Opened;
use crate::sample_row;
use bench::originals::Saving;

/// Probes on an open drive.
pub struct ProbeRun<'a> {
    /// The drive.
    pub bench: &'a mut dyn Bench,
    /// Facts about it.
    pub opened: &'a Opened,
    /// The probes, with their budgets.
    pub plan: Plan,
    /// Verb as the user typed it.
    pub verb: &'a str,
    /// The seed that a virtual drive's own noise took from the user's.
    pub drive_seed: Option<u64>,
    /// Directory in which data is saved that is overwritten and put back.
    pub saved_in: Option<PathBuf>,
    /// Form of the single I/Os.
    pub samples: SamplesFormat,
    /// Flags by which this drive is written to, for the commands in the result.
    pub write_flags: &'a str,
    /// Taken by the run.
    pub progress: Option<Progress>,
    /// Probes of a recorded run.
    pub earlier: Earlier,
    /// The reason for an early end, beside the user.
    pub halt: Option<Halt>,
}

impl ProbeRun<'_> {
    fn is_virtual(&self) -> bool {
        self.opened.identity.kind == DriveKind::Virtual
    }
}

impl Instrument for ProbeRun<'_> {
    type Step = Done;

    fn schema(&self) -> &'static str {
        documents::instrument::PROBE
    }

    fn noun(&self) -> &'static str {
        "probing"
    }

    fn beginning(&self) -> Result<Beginning> {
        let identity = &self.opened.identity;
        let mut setup = json!({
            "verb": self.verb, "target": identity.name, "drive": drive_words(identity),
            "drive_seed": self.drive_seed,
        });
        if let Some(dir) = &self.saved_in {
            setup["originals"] = dir.to_string_lossy().into();
        }
        Ok(Beginning {
            plan: self.plan.to_toml().context("the plan has no text form")?,
            setup,
            steps: u32::try_from(self.plan.tasks.len()).ok(),
            drive: Some(identity.clone()),
            samples: Some(self.samples),
        })
    }

    fn resume(&mut self, _: &Run, steps: Vec<Done>) -> Result<Resumption> {
        let resumption = Resumption::after(steps.len(), "probe");
        self.earlier = Earlier { done: steps, replay: self.is_virtual() };
        Ok(resumption)
    }
}

impl Measure for ProbeRun<'_> {
    type Body = Body;

    fn measure(&mut self, run_id: &RunId, recorder: &mut Recorder) -> Result<Outcome<Body>> {
        let identity = &self.opened.identity;
        let is_virtual = self.is_virtual();
        let earlier = std::mem::take(&mut self.earlier);
        let mut sink = Sink {
            recorder,
            rows: Vec::new(),
            position: earlier.done.len() as u32,
            progress: self.progress.take().unwrap_or_else(|| Progress::new(false)),
            saving: Saving::new(self.saved_in.take(), run_id, identity)?,
        };
        let around = Around {
            earlier,
            engine: &self.opened.engine,
            claims: &self.opened.claims,
            classes: &self.opened.classes,
            write_flags: self.write_flags,
            layout: &|| match is_virtual {
                true => Layout::default(),
                false => linux::devices::layout(&Roots::default(), Path::new(&identity.name)),
            },
            recorder: &mut sink,
        };
        let (mut body, halt) = chain::run(self.bench, &self.plan, around)?;
        views::remedies::write_for(&mut body.caveats, self.write_flags);
        let state = match (&halt, body.interrupted) {
            (Some(_), _) => State::Broken,
            (None, true) => State::Interrupted,
            (None, false) => State::Finished,
        };
        self.halt = halt;
        Ok(Outcome::new(body, state))
    }

    fn summary(&self, body: &Body) -> Summary {
        Summary {
            verb: self.verb.to_owned(),
            target: body.target.name.clone(),
            drive: views::drive(&body.target, &body.stack),
            headline: views::probe::headline(body),
        }
    }
}

/// Keeps what probes leave, and shows how they go.
struct Sink<'a> {
    recorder: &'a mut Recorder,
    /// I/Os of the probe that is at work.
    rows: Vec<SampleRow>,
    position: u32,
    progress: Progress,
    saving: Saving,
}

impl RunSink for Sink<'_> {
    fn event(&mut self, event: &Event) {
        self.progress.event(event);
    }
}

impl Keeper for Sink<'_> {
    fn samples(&mut self, part: &str, samples: &[Sample]) {
        if self.recorder.keeps() {
            self.rows.extend(samples.iter().map(|sample| sample_row(part, 0, sample)));
        }
    }

    fn secure(&mut self, salt: u64, kept: &Kept) -> Result<(), String> {
        self.saving.secure(salt, kept)
    }

    fn restored(&mut self, is_whole: bool) {
        self.saving.restored(is_whole);
    }
}

impl ProbeRecorder for Sink<'_> {
    fn finished(&mut self, done: &Done) {
        let rows = std::mem::take(&mut self.rows);
        let mut done = done.clone();
        views::remedies::write(&mut done.caveats);
        self.recorder.step(self.position, done.probe.text(ProbeName::as_str), &done, rows);
        self.position += 1;
    }
}

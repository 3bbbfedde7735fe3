//! A purge as the runner sees it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};
use block::{Bytes, DriveIdentity, EngineChoice, EngineKind, Event, Nanos, RunSink as _};
use documents::purge::{Body, SCHEMA};
use drives::TargetSpec;
use linux::purge::{Method, Status, Wishes};
use live::Progress;
use record::{Run, RunId, SamplesFormat, State, Summary};
use runner::envelope::run_id;
use runner::instrument::{self, Ended, Instrument, Measure, Resumption};
use runner::place::Keep;
use runner::recorder::{Beginning, Recorder, drive_words};
use serde_json::{Value, json};

/// Settings of a purge, for any kind of drive.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The drive.
    pub device: TargetSpec,
    /// The method; `None` for the best one that the drive offers.
    pub method: Option<Method>,
    /// Forms of the methods.
    pub wishes: Wishes,
    /// The engine that reads, and writes zeros.
    pub engine: EngineChoice,
    /// True when the purge is planned and not done.
    pub dry_run: bool,
    /// Longest time.
    pub timeout: Option<Nanos>,
    /// Seed of the places that are read back.
    pub seed: u64,
    /// The word of consent.
    pub consent: Option<String>,
    /// Hazards that the user allowed, by name.
    pub allow: Vec<String>,
    /// Other namespaces that may be emptied too.
    pub also: Vec<String>,
    /// Whether and where it is recorded.
    pub keep: Keep,
    /// True when no progress is shown.
    pub is_quiet: bool,
}

impl Settings {
    /// Those of a purge that is a part of something larger, which shows and records it.
    pub fn part(device: &TargetSpec, method: Option<Method>, seed: u64) -> Settings {
        Settings {
            device: device.clone(),
            method,
            wishes: Wishes::default(),
            engine: EngineChoice::Only(EngineKind::Psync),
            dry_run: false,
            timeout: None,
            seed,
            consent: None,
            allow: Vec::new(),
            also: Vec::new(),
            keep: Keep { no_record: true, ..Keep::default() },
            is_quiet: true,
        }
    }
}

/// A purge, for any kind of drive.
pub struct Job<'a> {
    /// Its settings.
    pub settings: &'a Settings,
    /// Set when the user asks for an end.
    pub cancel: Arc<AtomicBool>,
}

/// A purge that was done, or planned.
pub enum PurgeOutcome {
    /// Done, with its record, as far as one is kept.
    Done(Box<Ended<Body>>),
    /// The plan of a dry run.
    Planned(Box<Body>),
}

/// Empties a drive: writes its outcome and caveats to the body.
pub type Empty<'a> = &'a mut dyn FnMut(&mut Body) -> Result<()>;

/// A purge as the runner sees it.
struct Purge<'a> {
    job: &'a Job<'a>,
    identity: &'a DriveIdentity,
    body: Option<Body>,
    empty: Empty<'a>,
}

impl Instrument for Purge<'_> {
    type Step = Value;

    fn schema(&self) -> &'static str {
        SCHEMA
    }

    fn noun(&self) -> &'static str {
        "purge"
    }

    fn beginning(&self) -> Result<Beginning> {
        let drive = drive_words(self.identity);
        let method = self.body.as_ref().map(|body| body.method).context("no method was chosen")?;
        Ok(Beginning {
            plan: format!("# A purge\nmethod = \"{method}\"\nseed = {}\n", self.job.settings.seed),
            setup: json!({ "verb": "purge", "target": self.identity.name, "drive": drive }),
            steps: Some(1),
            drive: Some(self.identity.clone()),
            samples: Some(SamplesFormat::Parquet),
        })
    }

    fn resume(&mut self, run: &Run, _: Vec<Value>) -> Result<Resumption> {
        bail!("{}: a purge is not resumed; purge the drive again", run.id)
    }
}

impl Measure for Purge<'_> {
    type Body = Body;

    fn measure(&mut self, _: &RunId, recorder: &mut Recorder) -> Result<instrument::Outcome<Body>> {
        let mut body = self.body.take().context("no method was chosen")?;
        (self.empty)(&mut body)?;
        views::remedies::write(&mut body.caveats);
        let outcome = body.outcome.as_ref().context("the purge left no outcome")?;
        recorder.step(0, "purge", outcome, Vec::new());
        let state = match outcome.ended.status {
            Status::Done => State::Finished,
            Status::Failed => State::Broken,
            Status::Stopped | Status::Running => State::Interrupted,
        };
        Ok(instrument::Outcome::new(body, state))
    }

    fn summary(&self, body: &Body) -> Summary {
        Summary {
            verb: "purge".to_owned(),
            target: body.target.clone(),
            drive: drive_words(self.identity),
            headline: body.headline(),
        }
    }
}

impl Job<'_> {
    /// Empties the drive `identity` by `empty`, from a record that says so if this process dies.
    ///
    /// # Errors
    /// When it is impossible.
    pub fn done(
        &self,
        identity: &DriveIdentity,
        body: Body,
        empty: Empty<'_>,
    ) -> Result<PurgeOutcome> {
        let mut purge = Purge { job: self, identity, body: Some(body), empty };
        let ended =
            instrument::run(&mut purge, &self.settings.keep, run_id(self.settings.seed), None)?;
        Ok(PurgeOutcome::Done(Box::new(ended)))
    }

    /// A line that shows how far a phase is.
    pub fn progress(&self) -> Progress {
        Progress::new(!self.settings.is_quiet)
    }
}

/// Shows a share of a whole in `bar`.
pub fn show(bar: &mut Progress, what: &str, whole: Bytes, share: f64) {
    let done = Bytes((whole.0 as f64 * share) as u64);
    bar.event(&Event::Preparing { what: what.to_owned(), done_bytes: done, total_bytes: whole });
}

//! A purge as the runner sees it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};
use block::{Bytes, DriveIdentity, Event, RunSink as _};
use documents::purge::{Body, SCHEMA};
use linux::purge::Status;
use live::Progress;
use record::{Run, RunId, SamplesFormat, State, Summary};
use runner::instrument::{self, Ended, Instrument, Measure, Resumption};
use runner::recorder::{Beginning, Recorder};
use serde_json::{Value, json};

use crate::args::PurgeArgs;
use crate::envelope::run_id;
use crate::recording;

/// Settings of a purge, for any kind of drive.
pub struct Job<'a> {
    /// The flags.
    pub args: &'a PurgeArgs,
    /// Seed of the places that are read back.
    pub seed: u64,
    /// Set when the user asks for an end.
    pub cancel: Arc<AtomicBool>,
}

/// A purge that was done, or would be.
pub enum Made {
    /// With its record, as far as one is kept.
    Done(Box<Ended<Body>>),
    /// The plan, for `--dry-run`.
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
        let drive = recording::words(self.identity);
        let method = self.body.as_ref().map(|body| body.method).context("no method was chosen")?;
        Ok(Beginning {
            plan: format!("# A purge\nmethod = \"{method}\"\nseed = {}\n", self.job.seed),
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
            drive: recording::words(self.identity),
            headline: body.headline(),
        }
    }
}

impl Job<'_> {
    /// Empties the drive `identity` by `empty`, from a record that says so if this process dies.
    ///
    /// # Errors
    /// When it is impossible.
    pub fn done(&self, identity: &DriveIdentity, body: Body, empty: Empty<'_>) -> Result<Made> {
        let keep = self.args.output.keep().keep();
        let mut purge = Purge { job: self, identity, body: Some(body), empty };
        let ended = instrument::run(&mut purge, &keep, run_id(self.seed), None)?;
        Ok(Made::Done(Box::new(ended)))
    }

    /// A line that shows how far a phase is.
    pub fn progress(&self) -> Progress {
        Progress::new(!self.args.output.no_progress && !self.args.output.json)
    }
}

/// Shows a share of a whole in `bar`.
pub fn show(bar: &mut Progress, what: &str, whole: Bytes, share: f64) {
    let done = Bytes((whole.0 as f64 * share) as u64);
    bar.event(&Event::Preparing { what: what.to_owned(), done_bytes: done, total_bytes: whole });
}

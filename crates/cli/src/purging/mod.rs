//! One purge from its first note to its exit code: chosen, consented to, done, held against what is read, recorded.

mod caveats;
mod on_drive;
mod real;
mod virtually;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use block::{Bytes, DriveIdentity, EngineChoice, EngineKind, Event, RunSink as _};
use drives::TargetSpec;
use engine::IoPath;
use linux::gate::Permit;
use linux::purge::{Method, Status};
use record::{Document, Envelope, State, Summary};
use report::Style;
use serde_json::json;

use crate::args::PurgeArgs;
use crate::envelope::{SystemClock, envelope};
use crate::exit::Exit;
use crate::keeping::{Beginning, Keeping};
use crate::probing::originals;
use crate::progress::Progress;
use crate::verbs::mark::{run_id, seed_of};
use crate::{opening, recording, talk};

pub use documents::purge::{Body, Device, Outcome, SCHEMA, Told, Verified};

/// What a purge is made with, whatever sort of drive it is.
struct Job<'a> {
    args: &'a PurgeArgs,
    seed: u64,
    cancel: Arc<AtomicBool>,
}

/// A purge that was done, or would be, with its record where one is kept.
struct Made {
    body: Body,
    envelope: Envelope,
    keeping: Option<Keeping>,
    /// The drive in a few words.
    drive: String,
}

/// Purges, records, shows.
///
/// # Errors
/// What makes it impossible; [`crate::exit::Refused`] inside when it is the safety gate that says no.
pub fn run(args: &PurgeArgs) -> Result<Exit> {
    args.check()?;
    let cancel = Arc::new(AtomicBool::new(false));
    let _orderly = linux::signals::orderly(&cancel);
    let others = [("--engine", args.engine.first() != EngineKind::Psync)];
    opening::tell_without_effect(&args.device, EngineChoice::default(), None, &others);
    let job = Job { args, seed: seed_of(args.seed)?, cancel };
    let made = match &args.device {
        TargetSpec::Virtual(spec) => virtually::purge(&job, spec)?,
        // `null:` is refused as every name is that no device has.
        device @ (TargetSpec::Null | TargetSpec::Path(_)) => {
            originals::tell_of(device.as_path());
            real::purge(&job)?
        }
    };
    made.end(&job)
}

/// Looks whether the drive that `args` name can be emptied as a part of something larger, before that is begun.
///
/// # Errors
/// Why it cannot.
pub fn foresee(args: &PurgeArgs) -> Result<()> {
    match &args.device {
        // It holds nothing.
        TargetSpec::Null => Ok(()),
        TargetSpec::Virtual(spec) => {
            let found = virtually::chosen(args, &spec.open()?);
            found.map(drop).with_context(|| format!("{spec}: cannot be purged"))
        }
        TargetSpec::Path(path) => real::chosen(args, path.as_ref()).map(drop),
    }
}

/// Purges a drive that is open already, as a part of something larger: by `permit` where the safety gate gave it, and
/// by discarding through the drive itself otherwise.
///
/// # Errors
/// What makes it impossible.
pub fn held(
    args: &PurgeArgs,
    (target, permit): (&mut dyn IoPath, Option<&Permit>),
    (seed, cancel): (u64, &Arc<AtomicBool>),
) -> Result<(Method, Outcome)> {
    let job = Job { args, seed, cancel: Arc::clone(cancel) };
    let Some(permit) = permit else {
        return Ok((Method::Discard, virtually::held(&job, target)?));
    };
    let body = real::held(&job, permit)?;
    let outcome = body.outcome.context("the purge left no outcome")?;
    Ok((body.method, outcome))
}

impl Job<'_> {
    /// Begins the record of what is going to happen: if this process dies, the record tells that it was at it.
    fn keep(&self, method: Method, identity: &DriveIdentity) -> Result<(Envelope, Keeping)> {
        let mut envelope = envelope(SCHEMA, run_id(self.seed), &SystemClock);
        let drive = recording::words(identity);
        let setup = json!({ "verb": "purge", "target": identity.name, "drive": drive });
        let plan = format!("# A purge\nmethod = \"{method}\"\nseed = {}\n", self.seed);
        let beginning = Beginning { plan, setup, steps: Some(1), drives: &[identity] };
        let keeping = Keeping::begin(&self.args.output.keep(), &mut envelope, beginning, "purge")?;
        Ok((envelope, keeping))
    }

    /// A line that shows how far a phase is.
    fn progress(&self) -> Progress {
        Progress::new(!self.args.output.no_progress && !self.args.output.json)
    }
}

/// Shows a share of a whole in `bar`.
fn show(bar: &mut Progress, what: &str, whole: Bytes, share: f64) {
    let done = Bytes((whole.0 as f64 * share) as u64);
    bar.event(&Event::Preparing { what: what.to_owned(), done_bytes: done, total_bytes: whole });
}

impl Made {
    fn end(self, job: &Job<'_>) -> Result<Exit> {
        let Made { body, envelope, keeping, drive } = self;
        let exit = exit_of(&body, job);
        let document = Document { envelope, body };
        let body = &document.body;
        let recorded = match (keeping, &body.outcome) {
            (Some(mut keeping), Some(outcome)) => {
                keeping.step(0, "purge", outcome, Vec::new());
                let state = match outcome.ended.status {
                    Status::Done => State::Finished,
                    Status::Failed => State::Broken,
                    Status::Stopped | Status::Running => State::Interrupted,
                };
                let summary = Summary {
                    verb: "purge".to_owned(),
                    target: body.target.clone(),
                    drive,
                    headline: body.headline(),
                };
                keeping.close(&document, state, &summary).map(drop)
            }
            _ => Ok(()),
        };
        print(&document, job.args.output.json)?;
        recorded.map(|()| exit)
    }
}

fn exit_of(body: &Body, job: &Job<'_>) -> Exit {
    let is_cancelled = job.cancel.load(std::sync::atomic::Ordering::Relaxed);
    match (body.is_good(), is_cancelled) {
        (true, _) => Exit::Done,
        (false, true) => Exit::Interrupted,
        (false, false) => Exit::No,
    }
}

/// Prints a purge.
///
/// # Errors
/// When it cannot be printed.
pub fn print(document: &Document<Body>, json: bool) -> Result<()> {
    if json {
        return talk::document(document);
    }
    talk::result(&report::render_listing(&views::purge::listing(&document.body), Style::default()))
}

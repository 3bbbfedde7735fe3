//! One purge from its first note to its exit code: chosen, consented to, done, held against what is read, recorded.

mod caveats;
mod job;
mod on_drive;
mod real;
mod virtually;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use bench::opening;
use bench::originals;
use block::{EngineChoice, EngineKind};
use drives::TargetSpec;
use engine::IoPath;
use linux::gate::Permit;
use linux::purge::Method;
use record::Document;
use report::Style;
use runner::recorder::Closed;

use job::{Job, Made};

use crate::args::PurgeArgs;
use crate::envelope::{SystemClock, envelope, run_id, seed_of};
use crate::exit::Exit;
use crate::messages;

pub use documents::purge::{Body, Outcome, SCHEMA};

/// Purges, records, shows.
///
/// # Errors
/// What makes it impossible; [`crate::exit::Refused`] inside when it is the safety gate that says no.
pub fn run(args: &PurgeArgs) -> Result<Exit> {
    args.check()?;
    let cancel = Arc::new(AtomicBool::new(false));
    let _orderly = linux::signals::orderly(&cancel);
    let others = [("--engine", args.engine.first() != EngineKind::Psync)];
    opening::note_without_effect(&args.device, EngineChoice::default(), None, &others);
    let job = Job { args, seed: seed_of(args.seed)?, cancel };
    let made = match &args.device {
        TargetSpec::Virtual(spec) => virtually::purge(&job, spec)?,
        // `null:` is refused as every name is that no device has.
        device @ (TargetSpec::Null | TargetSpec::Path(_)) => {
            originals::note_pending_at(device.as_path());
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

impl Made {
    fn end(self, job: &Job<'_>) -> Result<Exit> {
        let (document, closed) = match self {
            Made::Done(ended) => (ended.document, ended.closed),
            Made::Planned(mut body) => {
                views::remedies::write(&mut body.caveats);
                let envelope = envelope(SCHEMA, run_id(job.seed), &SystemClock);
                (Document { envelope, body: *body }, Closed::default())
            }
        };
        print(&document, job.args.output.json)?;
        closed.whole()?;
        Ok(exit_of(&document.body, job))
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
        return messages::document(document);
    }
    messages::result(&report::render_listing(
        &views::purge::listing(&document.body),
        Style::default(),
    ))
}

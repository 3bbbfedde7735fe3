//! One purge: a method is chosen and consented to, the drive emptied, places read before and afterwards compared, the result
//! recorded.
//!
//! `real` and `virtually` choose and carry out a method, `on_drive` empties and reads a drive through nothing but requests, `job`
//! is a purge as the runner sees it, `caveats` has the doubts that lie in a method itself.

mod caveats;
mod job;
mod on_drive;
mod real;
mod virtually;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use bench::originals;
use documents::purge::Outcome;
use drives::TargetSpec;
use engine::IoPath;
use linux::gate::Permit;
use linux::purge::Method;

use job::Job;
pub use job::{PurgeOutcome, Settings};

/// Purges a drive, or plans it for a dry run.
///
/// # Errors
/// When it is impossible; [`runner::exit::Refused`] inside when the safety gate refuses it.
pub fn run(settings: &Settings, cancel: &Arc<AtomicBool>) -> Result<PurgeOutcome> {
    let job = Job { settings, cancel: Arc::clone(cancel) };
    match &settings.device {
        TargetSpec::Virtual(spec) => virtually::purge(&job, spec),
        // `null:` is refused like any name that no device has.
        device @ (TargetSpec::Null | TargetSpec::Path(_)) => {
            originals::note_pending_at(device.as_path());
            real::purge(&job)
        }
    }
}

/// Checks that a drive can be emptied as a part of something larger, before that is begun.
///
/// # Errors
/// Why it cannot.
pub fn foresee(settings: &Settings) -> Result<()> {
    match &settings.device {
        // It holds nothing.
        TargetSpec::Null => Ok(()),
        TargetSpec::Virtual(spec) => {
            let chosen = virtually::chosen(settings, &spec.open()?);
            chosen.map(drop).with_context(|| format!("{spec}: cannot be purged"))
        }
        TargetSpec::Path(path) => real::chosen(settings, path.as_ref()).map(drop),
    }
}

/// Purges a drive that is open already, as a part of something larger: by `permit` where the safety gate gave it, and
/// by discarding through the drive itself otherwise.
///
/// # Errors
/// When it is impossible.
pub fn purge_open(
    settings: &Settings,
    (target, permit): (&mut dyn IoPath, Option<&Permit>),
    cancel: &Arc<AtomicBool>,
) -> Result<(Method, Outcome)> {
    let job = Job { settings, cancel: Arc::clone(cancel) };
    let Some(permit) = permit else {
        return Ok((Method::Discard, virtually::held(&job, target)?));
    };
    let body = real::held(&job, permit)?;
    let outcome = body.outcome.context("the purge left no outcome")?;
    Ok((body.method, outcome))
}

//! A replay with the kernel's own tracer beside it.

use anyhow::{Context as _, Result, bail};
use documents::replay::Verified;
use drives::TargetSpec;
use linux::sysfs::Roots;
use linux::tracer::{self, Backend, Subject};

use crate::listener::{CHECKED_MAX, Observed};
use crate::replay::Replay;

/// Events that one request makes at most when nothing is split, merged or requeued: Q, G, I, D, C, and a plug.
const EVENTS_EACH: usize = 6;

/// Runs `replay` while the kernel records the requests to the device `target`, and compares both.
///
/// # Errors
/// When the target is not a block device, when nothing can be recorded, and those of `replay`.
pub fn verified(
    target: &TargetSpec,
    replay: impl FnOnce() -> Result<(Replay, Observed)>,
) -> Result<(Replay, Observed, Verified)> {
    if !target.is_real() {
        bail!(
            "{target}: --verify asks the kernel's tracer, which sees block devices; leave it out: in virtual time \
               requests are issued when they are due to the nanosecond"
        );
    }
    let subject = Subject::find(&Roots::default(), target.as_path())?;
    if subject.found.is_some() {
        bail!(
            "{target}: --verify needs a block device as target, for the places in a file are not those on its device"
        );
    }
    let options = tracer::Options { backend: Some(Backend::Tracepoints), ..Default::default() };
    let subjects = [subject];
    let (done, collected, recorded) =
        tracer::record_while(&subjects, &options, CHECKED_MAX * EVENTS_EACH, |_| replay())
            .with_context(|| format!("{target}: --verify"))?;
    let (replay, mut observed) = done?;
    let check = observed.check.take().context("nothing was kept to be verified")?;
    let kernel = check.finish(&collected.events, subjects[0].number, replay.ended.start);
    let verified = Verified {
        recorder: recorded.backend.to_string(),
        lost_events: recorded.lost + collected.left_out,
        kernel,
    };
    Ok((replay, observed, verified))
}

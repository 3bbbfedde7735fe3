//! Observes a replay for all who need its requests: the judge, the kernel's check, the file that it is saved in, progress.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Result, anyhow};
use bench::outputs;
use block::{Bytes, Event, Nanos, RunSink as _};
use engine::replay::Replayed;
use live::{Progress, page};
use trace::TraceError;
use trace::replay::{Body, Check, Judge, Mode};

use crate::replay::{Begin, Observer, Prepared, Replay};
use crate::saved_trace::SavedTrace;

/// Most requests that are compared with the kernel's tracer: some 50 MB.
pub const CHECKED_MAX: usize = 1_000_000;

/// Time between reports of progress.
const REPORT_EVERY: Nanos = Nanos::millis(200);

/// Outputs of a replay beside its result.
#[derive(Clone, Copy, Default)]
pub struct Outputs<'a> {
    /// File of the replay as a trace of its own.
    pub save: Option<&'a Path>,
    /// Requests are kept for the kernel's check.
    pub check: bool,
}

/// Observes one replay.
pub struct Listener<'a> {
    outputs: Outputs<'a>,
    /// Before the first request, so that a replay which is killed has left its record.
    record: Begin<'a>,
    progress: Progress,
    /// Name of the replay on the screen, its position, and the number of replays.
    shown_as: (String, u32, u32),
    judge: Option<Judge>,
    check: Option<Check>,
    saved: Option<SavedTrace>,
    /// The latest due time.
    last_due: Nanos,
    /// Instant of the last report of progress, and requests and bytes since.
    reported: Nanos,
    since: (u64, u64),
    /// Requests, the longest that one was issued after it could be, and those that failed.
    counts: (u64, Nanos, u64),
}

impl<'a> Listener<'a> {
    /// Observes a replay that is shown as `name`, the `position`th (from 0) of `positions`; `record` is called before its
    /// first request.
    pub fn new(
        outputs: Outputs<'a>,
        record: Begin<'a>,
        progress: Progress,
        name: &str,
        (position, positions): (u32, u32),
    ) -> Listener<'a> {
        Listener {
            outputs,
            record,
            progress,
            shown_as: (name.to_owned(), position, positions),
            judge: None,
            check: None,
            saved: None,
            last_due: Nanos::ZERO,
            reported: Nanos::ZERO,
            since: (0, 0),
            counts: (0, Nanos::ZERO, 0),
        }
    }

    /// Observations of `replay`, which is over.
    pub fn finish(self, replay: &Replay) -> Observed {
        let Listener { progress, judge, check, saved, last_due, .. } = self;
        drop(progress);
        let body = judge.map(|judge| judge.finish(replay.counts, &replay.original, &replay.ended));
        let unsaved = saved.and_then(|saved| saved.finish(replay).err()).map(unsaved);
        Observed { body, check, last_due, unsaved }
    }

    fn report_progress(&mut self, replayed: &[Replayed]) {
        for one in replayed {
            self.since.0 += 1;
            self.since.1 += one.planned.len.0;
            self.last_due = self.last_due.max(one.planned.at);
            let (ios, late, failed) = self.counts;
            let late = late.max(Nanos(one.issued.0.saturating_sub(one.ready.0)));
            self.counts = (ios + 1, late, failed + u64::from(one.outcome.bytes().is_err()));
        }
        let Some(at) = replayed.iter().map(|one| one.completed).max() else { return };
        if at.0 >= self.reported.0.saturating_add(REPORT_EVERY.0) {
            let length = Nanos(at.0 - self.reported.0);
            let (ios, bytes) = (self.since.0, Bytes(self.since.1));
            self.progress.event(&Event::Interval { at, length, ios, bytes });
            let (ios, late, failed) = self.counts;
            self.progress.update(|model| model.facts = page::of_replay(ios, late, failed));
            (self.reported, self.since) = (at, (0, 0));
        }
    }
}

impl Observer for Listener<'_> {
    fn begin(&mut self, prepared: Prepared<'_>) -> Result<()> {
        (self.record)(prepared)?;
        let plan = prepared.plan;
        let (step, position, positions) = self.shown_as.clone();
        self.progress.event(&Event::StepStarted {
            position,
            positions,
            step,
            run: 0,
            planned: plan.planned(),
        });
        let mut judge = Judge::new(plan, None);
        if let Some(path) = self.outputs.save {
            let saved = SavedTrace::create(path, plan).map_err(|error| match error {
                TraceError::Io { source, file } if source.kind() == ErrorKind::AlreadyExists => {
                    anyhow!("--save {file}: exists, and nothing is written over; name another file")
                }
                error => unsaved(error),
            })?;
            judge = judge.tapped(saved.tap());
            self.saved = Some(saved);
        }
        self.judge = Some(judge);
        if self.outputs.check {
            let timed = matches!(plan.options.mode, Mode::Timed | Mode::Scaled(_));
            self.check = Some(Check::new(timed, CHECKED_MAX));
        }
        Ok(())
    }

    fn observe(&mut self, replayed: &[Replayed]) {
        if let Some(judge) = &mut self.judge {
            judge.see(replayed);
        }
        if let Some(check) = &mut self.check {
            check.see(replayed);
        }
        self.report_progress(replayed);
    }
}

/// Observations of a replay.
pub struct Observed {
    /// The judge's result; `None` when the replay never began.
    pub body: Option<Body>,
    /// Requests to compare with the kernel's account.
    pub check: Option<Check>,
    /// The last due time.
    pub last_due: Nanos,
    /// Why the replay could not be saved as a trace.
    pub unsaved: Option<anyhow::Error>,
}

/// The error of a file that a replay cannot be saved in.
fn unsaved(error: TraceError) -> anyhow::Error {
    match error {
        TraceError::Io { source, file } => {
            outputs::cannot(Path::new(&file))(source).context("--save")
        }
        error => error.into(),
    }
}

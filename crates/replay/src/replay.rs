//! A replay on one drive: its target, what is known before the first request, and its result.

use std::path::Path;

use anyhow::Result;
use block::{DriveIdentity, DriveInfo, Stack};
use documents::replay::{Drive, ReferenceBody, ReplayBody, Scheduler, Verified};
use drives::TargetSpec;
use engine::replay::{Reason, Replayed};
use record::{State, Summary};
use runner::instrument::{Ended, Outcome, Running};
use serde_json::json;
use trace::replay::{Body, Counts, Original, Plan};

use crate::caveats::caveats;

/// Target of one replay.
#[derive(Clone, Copy)]
pub struct ReplayTarget<'a> {
    /// The drive or file.
    pub target: &'a TargetSpec,
    /// The word of consent for it.
    pub consent: Option<&'a String>,
    /// Seed of a virtual drive's own noise, and of the content of writes.
    pub seed: u64,
}

/// A replay that is about to issue its first request.
#[derive(Clone, Copy)]
pub struct Prepared<'a> {
    /// Requests to issue.
    pub plan: &'a Plan,
    /// Identity of the drive.
    pub identity: &'a DriveIdentity,
    /// The scheduler that was set for it, and the one before.
    pub scheduler: Option<&'a (String, String)>,
}

/// Observes the requests of a replay.
pub trait Observer {
    /// Before the first request.
    ///
    /// # Errors
    /// Errors that make the replay pointless.
    fn begin(&mut self, prepared: Prepared<'_>) -> Result<()>;

    /// A batch of completed requests.
    fn observe(&mut self, replayed: &[Replayed]);
}

/// Called before the first request, to begin the record.
pub type Begin<'a> = &'a mut dyn FnMut(Prepared<'_>) -> Result<()>;

/// A replay that is over.
pub struct Replay {
    /// Requests that were issued.
    pub plan: Plan,
    /// The drive.
    pub info: DriveInfo,
    /// Engine that issued I/O.
    pub engine: String,
    /// Layers under the drive.
    pub stack: Stack,
    /// How it ended.
    pub ended: engine::replay::Ended,
    /// Why it ended early, when I/O errors did that.
    pub broken: Option<anyhow::Error>,
    /// Counts of planned requests and of those left out.
    pub counts: Counts,
    /// The original's own times.
    pub original: Original,
    /// The scheduler that was set for it, and the one before.
    pub scheduler: Option<(String, String)>,
}

impl Replay {
    /// The drive as documents have it.
    pub fn drive(&self) -> Drive {
        let scheduler = self.scheduler.clone();
        Drive {
            target: self.info.clone(),
            engine: self.engine.clone(),
            stack: self.stack.clone(),
            scheduler: scheduler.map(|(set, before)| Scheduler { set, before }),
        }
    }

    /// State of a run of this replay alone.
    pub fn state(&self) -> State {
        match self.ended.reason {
            Reason::Complete => State::Finished,
            Reason::Cancelled => State::Interrupted,
            Reason::Errors => State::Broken,
        }
    }

    /// Ends the record of this replay of the trace `file` on `on`, of which the judge says `body`.
    pub fn close(
        &self,
        (file, on): (&Path, ReplayTarget<'_>),
        mut body: Body,
        (reference, kernel): (Option<ReferenceBody>, Option<Verified>),
        mut running: Running,
    ) -> Ended<ReplayBody> {
        body.run.caveats.extend(caveats(on.target.as_str(), &self.stack));
        views::remedies::write(&mut body.run.caveats);
        let state = self.state();
        // A replay that ended early is not a whole step.
        if state == State::Finished {
            let verdict = body.fidelity.verdict.word();
            running.recorder.step(0, "replay", &json!({ "verdict": verdict }), Vec::new());
        }
        let (file, drive) = (file.to_owned(), self.drive());
        let body = ReplayBody { file, drive, seed: on.seed, reference, replay: body, kernel };
        running.close(Outcome::new(body, state), |document| summary(&document.body))
    }
}

/// The line about a replay in lists of runs.
fn summary(body: &ReplayBody) -> Summary {
    let ReplayBody { drive, .. } = body;
    Summary {
        verb: "trace replay".to_owned(),
        target: drive.target.name.clone(),
        drive: views::drive(&drive.target, &drive.stack),
        headline: views::replay::headline(body),
    }
}

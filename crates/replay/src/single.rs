//! A replay on one drive, as a run.

use std::path::Path;

use anyhow::Result;
use documents::replay::{REPLAY, ReplayBody, Verified};
use drives::TargetSpec;
use live::{Display, Progress};
use record::RunId;
use runner::envelope::run_id;
use runner::place::Keep;

use crate::ending::{EndedEarly, Finished};
use crate::kernel_check::verified;
use crate::listener::{Listener, Observed, Outputs};
use crate::record::ReplayRun;
use crate::reference;
use crate::replay::{Begin, Prepared, Replay, ReplayTarget};
use crate::replayer::Replayer;
use crate::times::ReferenceTimes;

/// A replay on one drive.
pub struct Single<'a> {
    /// The trace, and how it is replayed.
    pub replayer: &'a Replayer,
    /// The drive or file.
    pub target: &'a TargetSpec,
    /// File to save the replay in, as a trace of its own.
    pub save: Option<&'a Path>,
    /// The kernel's tracer checks the times of issue.
    pub verify: bool,
    /// Place of its record.
    pub keep: Keep,
    /// How progress is shown.
    pub display: Display<'a>,
}

impl Single<'_> {
    /// Replays the trace.
    ///
    /// # Errors
    /// Errors that leave no result.
    pub fn run(&self) -> Result<Result<Finished<ReplayBody>, EndedEarly>> {
        let replayer = self.replayer;
        let on = self.on();
        // Before the reference drive is written to: a replay that is refused must not have cost it its data.
        replayer.check(on)?;
        let run_id = run_id(replayer.settings.seed);
        let shown = (&self.keep, self.display.is_quiet);
        let mut referred = match reference::replay(replayer, shown, &run_id)? {
            Ok(referred) => referred,
            Err(early) => return Ok(Err(early)),
        };
        let parts: Vec<RunId> = referred.iter().filter_map(|replay| replay.run.clone()).collect();
        let run = ReplayRun {
            schema: REPLAY,
            noun: "replay",
            verb: "trace replay",
            replayer,
            targets: vec![self.target],
            run_id,
            steps: 1,
        };
        let mut running = None;
        let mut begin = |prepared: Prepared<'_>| {
            running = Some(run.begin(&self.keep, prepared, &parts)?);
            Ok(())
        };
        let times = referred.as_mut().map(|replay| &mut replay.times);
        let (mut replay, observed, kernel) = self.replay(times, &mut begin)?;
        let Some((body, running)) = observed.body.zip(running) else {
            return Ok(Err(EndedEarly::Stopped));
        };
        let broken = replay.broken.take();
        let beside = (referred.map(|replay| replay.body), kernel);
        let ended = replay.close((replayer.trace.path(), on), body, beside, running);
        let finished = Finished::new(ended, replay.state(), broken);
        Ok(Ok(Finished { unsaved: observed.unsaved, ..finished }))
    }

    /// The target. The first word of consent is for the reference drive, where that is a real one.
    fn on(&self) -> ReplayTarget<'_> {
        let settings = &self.replayer.settings;
        let words = &settings.consent;
        let consent = match &settings.reference {
            Some(reference) if reference.target.is_real() => words.last(),
            _ => words.first(),
        };
        ReplayTarget { target: self.target, consent, seed: settings.seed }
    }

    fn replay(
        &self,
        times: Option<&mut ReferenceTimes>,
        begin: Begin<'_>,
    ) -> Result<(Replay, Observed, Option<Verified>)> {
        let outputs = Outputs { save: self.save, check: self.verify };
        let replay = || -> Result<(Replay, Observed)> {
            let progress = Progress::of(&self.display)?.once();
            let mut listener = Listener::new(outputs, begin, progress, "replay", (0, 1));
            let options = &self.replayer.settings.options;
            let replay = self.replayer.replay(self.on(), options, times, &mut listener)?;
            let observed = listener.finish(&replay);
            Ok((replay, observed))
        };
        if self.verify {
            let (replay, observed, kernel) = verified(self.target, replay)?;
            return Ok((replay, observed, Some(kernel)));
        }
        let (replay, observed) = replay()?;
        Ok((replay, observed, None))
    }
}

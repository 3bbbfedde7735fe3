//! The replay on a reference drive, which says how many requests are outstanding when the trace does not: made first, recorded
//! as a run of its own, its times kept in a file without a name.

use std::fs::File;
use std::io::BufWriter;

use anyhow::{Context as _, Result};
use documents::replay::{REPLAY, ReferenceBody};
use engine::replay::Replayed;
use live::Progress;
use record::{RunId, State};
use runner::envelope::run_id;
use runner::place::Keep;
use trace::replay::{Options, ReferenceWriter};

use crate::ending::EndedEarly;
use crate::listener::{Listener, Observed, Outputs};
use crate::record::ReplayRun;
use crate::replay::{Observer, Prepared, Replay, ReplayTarget};
use crate::replayer::Replayer;
use crate::times::ReferenceTimes;

/// A replay on a reference drive.
pub struct ReferenceReplay {
    /// Times of its requests.
    pub times: ReferenceTimes,
    /// Its part in the result.
    pub body: ReferenceBody,
    /// Its run, where it is recorded.
    pub run: Option<RunId>,
}

/// Replays on the reference drive, where the settings name one (`None` where they do not), as a part of the run `whole`.
///
/// # Errors
/// Those of that replay.
pub fn replay(
    replayer: &Replayer,
    (keep, is_quiet): (&Keep, bool),
    whole: &RunId,
) -> Result<Result<Option<ReferenceReplay>, EndedEarly>> {
    let settings = &replayer.settings;
    let Some(reference) = &settings.reference else { return Ok(Ok(None)) };
    let name = &reference.target;
    let run = ReplayRun {
        schema: REPLAY,
        noun: "replay",
        verb: "trace replay",
        replayer,
        targets: vec![name],
        run_id: run_id(settings.seed),
        steps: 1,
    };
    // It is made before the record of the whole is open.
    let part_of = Some(whole.to_string());
    let (keep, mut running) = (Keep { part_of, is_optional: false, ..keep.clone() }, None);
    let mut begin = |prepared: Prepared<'_>| {
        running = Some(run.begin(&keep, prepared, &[])?);
        Ok(())
    };
    let progress = Progress::new(!is_quiet);
    let shown_as = "reference replay";
    let listener = Listener::new(Outputs::default(), &mut begin, progress, shown_as, (0, 1));
    let on = ReplayTarget { target: name, consent: settings.consent.first(), seed: settings.seed };
    let options = settings.reference_options(reference);
    let (times, mut replay, observed) = with_times(replayer, on, &options, listener)
        .with_context(|| format!("--reference {name}"))?;
    let broken = replay.broken.take();
    let mut run = None;
    if let Some((body, running)) = observed.body.zip(running) {
        run = replay
            .close((replayer.trace.path(), on), body, (None, None), running)
            .closed
            .whole()?;
    }
    if let Some(broken) = broken {
        let broken = broken.context(format!("--reference {name}"));
        return Ok(Err(EndedEarly::Broken(broken)));
    }
    if replay.state() == State::Interrupted {
        return Ok(Err(EndedEarly::Stopped));
    }
    let completion_s = replay.ended.elapsed.as_secs_f64();
    let body = ReferenceBody { drive: name.to_string(), factor: reference.factor, completion_s };
    Ok(Ok(Some(ReferenceReplay { times, body, run })))
}

/// Replays the trace by `options` on the reference drive, and keeps the times of issue and completion of each request.
fn with_times(
    replayer: &Replayer,
    on: ReplayTarget<'_>,
    options: &Options,
    listener: Listener<'_>,
) -> Result<(ReferenceTimes, Replay, Observed)> {
    let file =
        tempfile::tempfile().context("cannot make a temporary file for the reference replay")?;
    let kept = file.try_clone().context("cannot keep the temporary file open")?;
    let mut recorder = TimesRecorder {
        listener,
        writer: ReferenceWriter::new(BufWriter::new(file), "the temporary file"),
        failure: None,
    };
    let replay = replayer.replay(on, options, None, &mut recorder)?;
    let TimesRecorder { listener, writer, failure } = recorder;
    let observed = listener.finish(&replay);
    if let Some(failure) = failure {
        return Err(failure.into());
    }
    writer.finish()?;
    Ok((ReferenceTimes::new(kept), replay, observed))
}

/// Records the times of requests, and passes them on.
struct TimesRecorder<'a> {
    listener: Listener<'a>,
    writer: ReferenceWriter<BufWriter<File>>,
    failure: Option<trace::TraceError>,
}

impl Observer for TimesRecorder<'_> {
    fn begin(&mut self, prepared: Prepared<'_>) -> Result<()> {
        self.listener.begin(prepared)
    }

    fn observe(&mut self, replayed: &[Replayed]) {
        self.listener.observe(replayed);
        if self.failure.is_none() {
            self.failure = self.writer.see(replayed).err();
        }
    }
}

//! The replay on a reference drive, which tells what is outstanding when the trace does not: made first, recorded as a run of
//! its own, its times kept in a file without a name.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context as _, Result};
use documents::replay::{REPLAY, ReferenceBody, ReplayBody};
use engine::replay::{Reason, Replayed};
use live::Progress;
use record::RunId;
use runner::place::Keep;
use trace::replay::ReferenceWriter;

use super::around::caveats;
use super::ask;

use super::body::drive_of;
use super::keep::Replaying;
use super::listen::{Ear, Heard, Wanted};
use super::play::{Job, Listener, On, Played, Start};
use super::times::Reference;
use crate::args::KeepArgs;
use crate::envelope::run_id;
use crate::records;

/// A replay on a reference drive.
pub struct Referred {
    /// When each request was issued and done.
    pub times: Reference,
    /// What is told of it.
    pub body: ReferenceBody,
    /// Its run, where it is recorded.
    pub run: Option<RunId>,
    /// True when the user stopped it.
    pub interrupted: bool,
}

/// The replay on the reference drive, where one is asked for; a part of the one that `whole` will be of. What ended early
/// is told how to make it anew.
///
/// # Errors
/// Those of that replay.
pub fn referred(
    job: &Job<'_>,
    trace: &Path,
    (keep, quiet): (&KeepArgs, bool),
    whole: &RunId,
) -> Result<Option<Referred>> {
    let Some(name) = &job.args.reference else { return Ok(None) };
    let keep = KeepArgs { part_of: Some(whole.to_string()), ..keep.clone() };
    let replaying = Replaying {
        schema: REPLAY,
        noun: "replay",
        verb: "trace replay",
        trace,
        targets: vec![name],
        run_id: run_id(job.seed),
        seed: job.seed,
        steps: 1,
    };
    // It is made before the record of the whole is open.
    let (keep, mut running) = (Keep { is_optional: false, ..keep.keep() }, None);
    let mut begin = |start: Start<'_>| {
        running = Some(replaying.begin(&keep, start, &[])?);
        Ok(())
    };
    let progress = Progress::new(!quiet);
    let ear = Ear::new(Wanted::default(), &mut begin, progress, "reference replay", (0, 1));
    let on = On { target: name, consent: job.args.consent.consent.first(), seed: job.seed };
    let (times, mut played, heard) =
        made(job, on, ear).with_context(|| format!("--reference {name}"))?;
    let interrupted = played.ended.reason == Reason::Cancelled;
    let completion_s = played.ended.elapsed.as_secs_f64();
    let broken = played.broken.take();
    let mut run = None;
    if let Some((mut replay, running)) = heard.body.zip(running) {
        replay.run.caveats.extend(caveats(name.as_str(), &played.stack));
        views::remedies::write(&mut replay.run.caveats);
        let (file, drive) = (trace.to_owned(), drive_of(&played));
        let body =
            ReplayBody { file, drive, seed: job.seed, reference: None, replay, kernel: None };
        run = played.close(running, body).closed.whole()?;
    }
    if let Some(broken) = broken {
        records::tell_to_make_anew();
        return Err(broken.context(format!("--reference {name}")));
    }
    if interrupted {
        records::tell_to_make_anew();
    }
    let body = ReferenceBody { drive: name.to_string(), factor: job.args.factor, completion_s };
    Ok(Some(Referred { times, body, run, interrupted }))
}

/// Replays the trace at its own times on the reference drive, and keeps when each request was issued and done.
fn made(job: &Job<'_>, on: On<'_>, ear: Ear<'_>) -> Result<(Reference, Played, Heard)> {
    let options = ask::of_reference(job.args, &job.options);
    let file =
        tempfile::tempfile().context("cannot make a temporary file for the reference replay")?;
    let kept = file.try_clone().context("cannot keep the temporary file open")?;
    let mut keeper = Keeper {
        ear,
        writer: ReferenceWriter::new(BufWriter::new(file), "the temporary file"),
        trouble: None,
    };
    let played = job.play(on, &options, None, &mut keeper)?;
    let Keeper { ear, writer, trouble } = keeper;
    let heard = ear.finish(&played);
    if let Some(trouble) = trouble {
        return Err(trouble.into());
    }
    writer.finish()?;
    Ok((Reference::new(kept), played, heard))
}

/// Keeps the times of requests, and lets the ear have them.
struct Keeper<'a> {
    ear: Ear<'a>,
    writer: ReferenceWriter<BufWriter<File>>,
    trouble: Option<trace::TraceError>,
}

impl Listener for Keeper<'_> {
    fn begin(&mut self, start: Start<'_>) -> Result<()> {
        self.ear.begin(start)
    }

    fn see(&mut self, replayed: &[Replayed]) {
        self.ear.see(replayed);
        if self.trouble.is_none() {
            self.trouble = self.writer.see(replayed).err();
        }
    }
}

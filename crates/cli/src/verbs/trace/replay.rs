//! `drivescope trace replay`.

use anyhow::Result;
use bench::outputs;
use block::quoted;
use engine::replay::Reason;
use live::{Display, Progress};
use record::{Document, RunId};
use runner::instrument::Ended;
use trace::replay::Limit;

use crate::args::TraceReplayArgs;
use crate::envelope::run_id;
use crate::exit::Exit;
use crate::replaying::{
    self, Begin, Ear, Heard, Job, On, Played, REPLAY, Reference, ReplayBody, Replaying, Start,
    Verified, Wanted, drive_of, referred, verified,
};
use crate::{messages, records};

/// Runs the verb.
///
/// # Errors
/// What makes a replay impossible.
pub fn main(args: &TraceReplayArgs) -> Result<Exit> {
    args.live.when(true).check()?;
    args.save.as_deref().map_or(Ok(()), outputs::declare)?;
    let job = Job::new(&args.trace, &args.reading, &args.play)?;
    // Before the reference drive is written to: a replay that is refused must not have cost it its data.
    job.foresee(On { target: &args.target, consent: word(args), seed: job.seed })?;
    let keep = args.record.keep();
    let run_id = run_id(job.seed);
    let mut referred = referred(&job, &args.trace, (&keep, args.no_progress), &run_id)?;
    if referred.as_ref().is_some_and(|referred| referred.interrupted) {
        return Ok(Exit::Interrupted);
    }
    let parts: Vec<RunId> = referred.iter().filter_map(|referred| referred.run.clone()).collect();
    let replaying = Replaying {
        schema: REPLAY,
        noun: "replay",
        verb: "trace replay",
        trace: &args.trace,
        targets: vec![&args.target],
        run_id,
        seed: job.seed,
        steps: 1,
    };
    let (keep, mut running) = (keep.keep(), None);
    let mut on_start = |start: Start<'_>| {
        running = Some(replaying.begin(&keep, start, &parts)?);
        Ok(())
    };
    let times = referred.as_mut().map(|referred| &mut referred.times);
    let (mut played, heard, kernel) = played(args, &job, times, &mut on_start)?;
    let Some((mut replay, running)) = heard.body.zip(running) else {
        return Ok(Exit::Interrupted);
    };
    replay.run.caveats.extend(replaying::caveats(args.target.as_str(), &played.stack));
    views::remedies::write(&mut replay.run.caveats);
    let (file, drive) = (args.trace.clone(), drive_of(&played));
    let reference = referred.map(|referred| referred.body);
    let body = ReplayBody { file, drive, seed: job.seed, reference, replay, kernel };
    let broken = played.broken.take();
    let Ended { document, closed } = played.close(running, body);
    let (is_stopped, is_saved) =
        (played.ended.reason == Reason::Cancelled, heard.unsaved.is_none());
    end(args, (is_stopped, is_saved), &document)?;
    closed.whole()?;
    heard.unsaved.map_or(Ok(()), Err)?;
    if let Some(broken) = broken {
        records::tell_to_make_anew();
        return Err(broken);
    }
    let verdict = document.body.replay.fidelity.verdict;
    Ok(match (played.ended.reason, verdict) {
        (Reason::Cancelled, _) => Exit::Interrupted,
        (_, Limit::ReplayerLimited) => Exit::No,
        (_, Limit::Faithful | Limit::DriveLimited) => Exit::Done,
    })
}

/// The word for the target. The first one is the reference's, where that is a real drive.
fn word(args: &TraceReplayArgs) -> Option<&String> {
    match &args.play.reference {
        Some(reference) if reference.is_real() => args.play.consent.consent.last(),
        _ => args.play.consent.consent.first(),
    }
}

fn played(
    args: &TraceReplayArgs,
    job: &Job<'_>,
    reference: Option<&mut Reference>,
    begin: Begin<'_>,
) -> Result<(Played, Heard, Option<Verified>)> {
    let on = On { target: &args.target, consent: word(args), seed: job.seed };
    let wanted = Wanted { save: args.save.as_deref(), check: args.verify };
    let replay = || -> Result<(Played, Heard)> {
        let progress = Progress::of(&Display {
            live: args.live.when(true),
            is_quiet: args.no_progress,
            verb: "trace replay",
            target: args.target.as_str(),
        })?;
        let mut ear = Ear::new(wanted, begin, progress.once(), "replay", (0, 1));
        let played = job.play(on, &job.options, reference, &mut ear)?;
        let heard = ear.finish(&played);
        Ok((played, heard))
    };
    if args.verify {
        let (played, heard, kernel) = verified(&args.target, replay)?;
        return Ok((played, heard, Some(kernel)));
    }
    let (played, heard) = replay()?;
    Ok((played, heard, None))
}

/// Shows a replay, and what can be done next.
fn end(
    args: &TraceReplayArgs,
    (is_stopped, is_saved): (bool, bool),
    document: &Document<ReplayBody>,
) -> Result<()> {
    show(document, args.json)?;
    if let Some(path) = args.save.as_ref().filter(|_| is_saved) {
        let path = quoted(&path.to_string_lossy());
        messages::note(&format!("kept as a trace: drivescope trace analyze {path}"));
    }
    if is_stopped {
        records::tell_to_make_anew();
    }
    Ok(())
}

/// Prints a replay.
///
/// # Errors
/// When it cannot be printed.
pub fn show(document: &Document<ReplayBody>, json: bool) -> Result<()> {
    if json {
        return messages::document(document);
    }
    let tables = views::replay::tables(&document.body);
    messages::result(&report::render_tables(&tables, report::Style::default()))
}

//! `drivescope trace replay`.

use anyhow::{Context as _, Result};
use engine::replay::Reason;
use record::{Document, Envelope, State, Summary};
use serde_json::json;
use trace::replay::{Limit, Options};

use crate::args::TraceReplayArgs;
use crate::args::line::quoted;
use crate::envelope::{SystemClock, envelope};
use crate::exit::Exit;
use crate::keeping::{Beginning, Keeping};
use crate::live::Showing;
use crate::progress::Progress;
use crate::replaying::{
    self, Begin, Drive, Ear, Heard, Job, On, Played, REPLAY, Reference, ReferenceBody, ReplayBody,
    Start, Verified, Wanted, ask, verified,
};
use crate::verbs::mark::run_id;
use crate::{recording, records, talk, view};

/// Runs the verb.
///
/// # Errors
/// What makes a replay impossible.
pub fn main(args: &TraceReplayArgs) -> Result<Exit> {
    args.live.check()?;
    let job = Job::new(&args.trace, &args.reading, &args.play)?;
    // Before the reference drive is written to: a replay that is refused must not have cost it its data.
    job.foresee(On { name: &args.target, consent: word(args), seed: job.seed })?;
    let (mut times, reference) = reference(&job)?.unzip();
    let mut envelope = envelope(REPLAY, run_id(job.seed), &SystemClock);
    let mut keeping = Keeping::none(WHAT);
    let mut on_start = |start: Start<'_>| {
        keeping = begin(args, job.seed, start, &mut envelope)?;
        Ok(())
    };
    let (played, heard, kernel) = played(args, &job, times.as_mut(), &mut on_start)?;
    let Some(mut replay) = heard.body else { return Ok(Exit::Interrupted) };
    replay.run.caveats.extend(replaying::caveats(&args.target, &played.stack));
    let (file, drive) = (args.trace.clone(), Drive::of(&played));
    let body = ReplayBody { file, drive, seed: job.seed, reference, replay, kernel };
    finish(args, &played, keeping, Document { envelope, body })
}

/// What goes on when its record cannot.
const WHAT: &str = "replay";

/// Begins the record.
fn begin(
    args: &TraceReplayArgs,
    seed: u64,
    start: Start<'_>,
    envelope: &mut Envelope,
) -> Result<Keeping> {
    let beginning = Beginning {
        plan: toml_of(&start.plan.options)?,
        setup: json!({
            "verb": "trace replay", "trace": args.trace, "target": args.target,
            "drive": recording::words(start.identity), "seed": seed,
        }),
        steps: Some(1),
        drives: &[start.identity],
    };
    Keeping::begin(&args.record.keep(), envelope, beginning, WHAT)
}

/// The replay on the reference drive, where one is asked for.
///
/// # Errors
/// Those of that replay.
pub fn reference(job: &Job<'_>) -> Result<Option<(Reference, ReferenceBody)>> {
    let Some(name) = &job.args.reference else { return Ok(None) };
    let on = On { name, consent: job.args.consent.consent.first(), seed: job.seed };
    let (reference, played) =
        Reference::make(job, on).with_context(|| format!("--reference {name}"))?;
    let completion_s = played.ended.elapsed.as_secs_f64();
    let body = ReferenceBody { drive: name.clone(), factor: job.args.factor, completion_s };
    Ok(Some((reference, body)))
}

/// The word for the target. The first one is the reference's, where that is a real drive.
fn word(args: &TraceReplayArgs) -> Option<&String> {
    match &args.play.reference {
        Some(name) if !ask::is_nobodys(name) => args.play.consent.consent.last(),
        _ => args.play.consent.consent.first(),
    }
}

fn played(
    args: &TraceReplayArgs,
    job: &Job<'_>,
    reference: Option<&mut Reference>,
    begin: Begin<'_>,
) -> Result<(Played, Heard, Option<Verified>)> {
    let on = On { name: &args.target, consent: word(args), seed: job.seed };
    let wanted = Wanted { save: args.save.as_deref(), check: args.verify };
    let replay = || -> Result<(Played, Heard)> {
        let progress = Progress::of(&Showing {
            flags: args.live,
            is_quiet: args.no_progress,
            by_default: true,
            verb: "trace replay",
            target: &args.target,
        })?;
        let mut ear = Ear::new(wanted, begin, progress.once(), "replay", (0, 1));
        let played = job.play(on, &job.options, reference, &mut ear)?;
        let heard = ear.finish(&played)?;
        Ok((played, heard))
    };
    if args.verify {
        let (played, heard, kernel) = verified(&args.target, replay)?;
        return Ok((played, heard, Some(kernel)));
    }
    let (played, heard) = replay()?;
    Ok((played, heard, None))
}

/// Records and shows a replay.
fn finish(
    args: &TraceReplayArgs,
    played: &Played,
    mut keeping: Keeping,
    document: Document<ReplayBody>,
) -> Result<Exit> {
    let body = &document.body;
    let cancelled = played.ended.reason == Reason::Cancelled;
    let verdict = body.replay.fidelity.verdict;
    let summary = Summary {
        verb: "trace replay".to_owned(),
        target: played.info.name.clone(),
        drive: view::drive(&played.info, &played.stack),
        headline: view::replay::headline(body),
    };
    // One that was stopped is no whole step.
    if !cancelled {
        keeping.step(0, "replay", &json!({ "verdict": verdict.word() }), Vec::new());
    }
    let state = if cancelled { State::Interrupted } else { State::Finished };
    let recorded = keeping.close(&document, state, &summary);
    show(&document, args.json)?;
    recorded?;
    if let Some(path) = &args.save {
        let path = quoted(&path.to_string_lossy());
        talk::note(&format!("kept as a trace: drivescope trace analyze {path}"));
    }
    if cancelled {
        records::tell_to_make_anew();
    }
    Ok(match (cancelled, verdict) {
        (true, _) => Exit::Interrupted,
        (false, Limit::ReplayerLimited) => Exit::No,
        (false, Limit::Faithful | Limit::DriveLimited) => Exit::Done,
    })
}

/// What was asked for, as text.
///
/// # Errors
/// When it has no text form.
pub fn toml_of(options: &Options) -> Result<String> {
    toml::to_string_pretty(options).context("the plan has no text form")
}

/// Prints a replay.
///
/// # Errors
/// When it cannot be printed.
pub fn show(document: &Document<ReplayBody>, json: bool) -> Result<()> {
    if json {
        return talk::document(document);
    }
    let tables = view::replay::tables(&document.body);
    talk::result(&report::render_tables(&tables, report::Style::default()))
}

//! `drivescope trace compare`.

use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result};
use drives::TargetSpec;
use live::Progress;
use record::{Document, RunId, State, Summary};
use runner::instrument::{Ended, Outcome, Running};
use trace::replay::compare::{Side, Suits, order};
use trace::replay::{Mode, Score, Statement, compare};

use crate::args::TraceCompareArgs;
use crate::envelope::run_id;
use crate::exit::Exit;
use crate::replaying::{
    self, Begin, COMPARE, CompareBody, Ear, Heard, Job, On, Played, Reference, ReferenceBody,
    Replaying, Start, Wanted, drive_of, referred,
};
use crate::{messages, records};

/// Runs the verb.
///
/// # Errors
/// What makes a replay impossible.
pub fn main(args: &TraceCompareArgs) -> Result<Exit> {
    let job = Job::new(&args.trace, &args.reading, &args.play)?;
    // Both before anything is written: a comparison that cannot be made costs neither drive its data.
    for side in [Side::A, Side::B] {
        let (target, consent) = named(args, side);
        job.foresee(On { target, consent, seed: job.seed })?;
    }
    let run_id = run_id(job.seed);
    let keep = (&args.record.keep(), args.no_progress);
    let referred = referred(&job, &args.trace, keep, &run_id)?;
    if referred.as_ref().is_some_and(|referred| referred.interrupted) {
        return Ok(Exit::Interrupted);
    }
    let parts: Vec<RunId> = referred.iter().filter_map(|referred| referred.run.clone()).collect();
    let (times, reference) = referred.map(|referred| (referred.times, referred.body)).unzip();
    Match { args, job: &job, times, reference, rounds: Vec::new() }.run(run_id, &parts)
}

/// A side's drive, and its word. Words are for the real drives, in the order in which they are named.
fn named(args: &TraceCompareArgs, side: Side) -> (&TargetSpec, Option<&String>) {
    let words = &args.play.consent.consent;
    match side {
        Side::A => (&args.a, words.first()),
        Side::B if !args.a.is_real() => (&args.b, words.first()),
        Side::B => (&args.b, words.get(1)),
    }
}

/// Both drives as the user named them.
fn targets(args: &TraceCompareArgs) -> String {
    format!("{} {}", args.a, args.b)
}

/// One comparison.
struct Match<'a> {
    args: &'a TraceCompareArgs,
    job: &'a Job<'a>,
    times: Option<Reference>,
    reference: Option<ReferenceBody>,
    rounds: Vec<Round>,
}

/// One replay of it.
struct Round {
    side: Side,
    score: Score,
    played: Played,
    statement: Statement,
    schedule_s: f64,
}

/// How a replay of it ended.
enum Ending {
    /// All was issued.
    Whole(Box<Round>),
    /// The user wanted to stop in the middle of it.
    Stopped,
    /// I/O errors ended it.
    Broken(anyhow::Error),
}

impl Match<'_> {
    fn run(mut self, run_id: RunId, parts: &[RunId]) -> Result<Exit> {
        let positions = 2 * self.args.rounds;
        let (args, job) = (self.args, self.job);
        let summary = |body: &CompareBody| Summary {
            verb: "trace compare".to_owned(),
            target: targets(args),
            drive: body
                .on
                .iter()
                .map(|on| views::drive(&on.target, &on.stack))
                .collect::<Vec<_>>()
                .join(", "),
            headline: body.compared.reason.clone(),
        };
        let replaying = Replaying {
            schema: COMPARE,
            noun: "comparison",
            verb: "trace compare",
            trace: &args.trace,
            targets: vec![&args.a, &args.b],
            run_id,
            seed: job.seed,
            steps: positions,
        };
        let keep = args.record.keep().keep();
        let (mut running, mut broken) = (None, None);
        for (position, side) in (0..).zip(order(self.args.rounds as usize)) {
            // Before the first request of the first round.
            let mut on_start = |start: Start<'_>| {
                if running.is_none() {
                    running = Some(replaying.begin(&keep, start, parts)?);
                }
                Ok(())
            };
            let round = match self.round(side, (position, positions), &mut on_start)? {
                Ending::Whole(round) => *round,
                Ending::Stopped => break,
                Ending::Broken(why) => {
                    broken = Some(why);
                    break;
                }
            };
            let name = if side == Side::A { "A" } else { "B" };
            if let Some(Running { recorder, .. }) = &mut running {
                recorder.step(position, name, &round.score, Vec::new());
            }
            self.rounds.push(round);
            if self.job.cancel.load(Ordering::Relaxed) {
                break;
            }
        }
        let whole = self.rounds.len() == positions as usize;
        let (Some(running), Some(body)) = (running, self.body()) else {
            messages::note(
                "ended before each drive had a whole round: there is nothing to compare",
            );
            records::tell_to_make_anew();
            return broken.map_or(Ok(Exit::Interrupted), Err);
        };
        let verdict = body.compared.verdict;
        let state = match (whole, &broken) {
            (true, _) => State::Finished,
            (false, Some(_)) => State::Broken,
            (false, None) => State::Interrupted,
        };
        let Ended { document, closed } =
            running.close(Outcome::new(body, state), |document| summary(&document.body));
        show(&document, self.args.json)?;
        closed.whole()?;
        if !whole {
            records::tell_to_make_anew();
        }
        if let Some(broken) = broken {
            return Err(broken);
        }
        Ok(match (whole, verdict) {
            (false, _) => Exit::Interrupted,
            (true, Suits::A | Suits::B) => Exit::Done,
            (true, Suits::Equivalent | Suits::Undecided) => Exit::No,
        })
    }

    /// One replay.
    fn round(&mut self, side: Side, place: (u32, u32), begin: Begin<'_>) -> Result<Ending> {
        let (target, consent) = named(self.args, side);
        // A pair of rounds has one seed, and each pair another.
        let seed = self.job.seed.wrapping_add(u64::from(place.0 / 2));
        let on = On { target, consent, seed };
        let wanted = Wanted { save: None, check: false };
        let (progress, what) = (Progress::new(!self.args.no_progress), target.as_str());
        let mut ear = Ear::new(wanted, begin, progress, what, place);
        let mut played = self.job.play(on, &self.job.options, self.times.as_mut(), &mut ear)?;
        let cancelled = played.ended.reason == engine::replay::Reason::Cancelled;
        let Heard { body, last_due, .. } = ear.finish(&played);
        if let Some(broken) = played.broken.take() {
            return Ok(Ending::Broken(broken));
        }
        let Some(body) = body.filter(|_| !cancelled) else { return Ok(Ending::Stopped) };
        let score = Score::of(&body)
            .with_context(|| format!("{target}: nothing of the trace was issued"))?;
        let statement = body.plan;
        let round = Round { side, score, played, statement, schedule_s: last_due.as_secs_f64() };
        Ok(Ending::Whole(Box::new(round)))
    }

    fn body(&self) -> Option<CompareBody> {
        let of = |side: Side| self.rounds.iter().filter(move |round| round.side == side);
        let scores = |side| of(side).map(|round| round.score).collect::<Vec<_>>();
        let (mut a, mut b) = (scores(Side::A), scores(Side::B));
        let pairs = a.len().min(b.len());
        a.truncate(pairs);
        b.truncate(pairs);
        let first = [of(Side::A).next()?, of(Side::B).next()?];
        let mode = first[0].statement.options.mode;
        let timed = matches!(mode, Mode::Timed | Mode::Scaled(_));
        let schedule_s = timed.then_some(first[0].schedule_s);
        let names = [self.args.a.as_str(), self.args.b.as_str()];
        let mut compared = compare(names, &a, &b, mode, schedule_s);
        for round in first {
            compared
                .caveats
                .extend(replaying::caveats(&round.played.info.name, &round.played.stack));
        }
        views::remedies::write(&mut compared.caveats);
        Some(CompareBody {
            file: self.args.trace.clone(),
            on: first.iter().map(|round| drive_of(&round.played)).collect(),
            plan: first[0].statement.clone(),
            seed: self.job.seed,
            reference: self.reference.clone(),
            compared,
        })
    }
}

/// Prints a comparison.
///
/// # Errors
/// When it cannot be printed.
pub fn show(document: &Document<CompareBody>, json: bool) -> Result<()> {
    if json {
        return messages::document(document);
    }
    let tables = views::replay::compared(&document.body);
    messages::result(&report::render_tables(&tables, report::Style::default()))
}

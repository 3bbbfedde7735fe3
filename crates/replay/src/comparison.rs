//! Two drives compared by the same trace, replayed on them by turns, as a run.

use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result};
use documents::replay::{COMPARE, CompareBody, ReferenceBody};
use drives::TargetSpec;
use live::Progress;
use record::{RunId, State, Summary};
use runner::envelope::run_id;
use runner::instrument::{Outcome, Running};
use runner::messages;
use runner::place::Keep;
use trace::replay::compare::{Side, order};
use trace::replay::{Mode, Score, Statement, compare};

use crate::caveats::caveats;
use crate::ending::{EndedEarly, Finished};
use crate::listener::{Listener, Observed, Outputs};
use crate::record::ReplayRun;
use crate::reference::{self, ReferenceReplay};
use crate::replay::{Begin, Prepared, Replay, ReplayTarget};
use crate::replayer::Replayer;
use crate::times::ReferenceTimes;

/// A comparison of two drives.
pub struct Comparison<'a> {
    /// The trace, and how it is replayed.
    pub replayer: &'a Replayer,
    /// The first drive.
    pub a: &'a TargetSpec,
    /// The second.
    pub b: &'a TargetSpec,
    /// Rounds on each drive.
    pub rounds: u32,
    /// Place of its record.
    pub keep: Keep,
    /// No progress is shown.
    pub is_quiet: bool,
}

/// One replay of a comparison.
struct Round {
    side: Side,
    score: Score,
    replay: Replay,
    statement: Statement,
    schedule_s: f64,
}

impl Comparison<'_> {
    /// Replays the trace on both drives.
    ///
    /// # Errors
    /// Errors that leave no result.
    pub fn run(&self) -> Result<Result<Finished<CompareBody>, EndedEarly>> {
        // Both before anything is written: a comparison that cannot be made costs neither drive its data.
        for side in [Side::A, Side::B] {
            self.replayer.check(self.on(side, 0))?;
        }
        let run_id = run_id(self.replayer.settings.seed);
        match reference::replay(self.replayer, (&self.keep, self.is_quiet), &run_id)? {
            Ok(referred) => self.compare(referred, run_id),
            Err(early) => Ok(Err(early)),
        }
    }

    /// A side's drive, its word of consent, and its seed in this pair of rounds. Words are for the real drives, in the order in
    /// which they are named.
    fn on(&self, side: Side, pair: u32) -> ReplayTarget<'_> {
        let words = &self.replayer.settings.consent;
        let (target, consent) = match side {
            Side::A => (self.a, words.first()),
            Side::B if !self.a.is_real() => (self.b, words.first()),
            Side::B => (self.b, words.get(1)),
        };
        // A pair of rounds has one seed, and each pair another.
        let seed = self.replayer.settings.seed.wrapping_add(u64::from(pair));
        ReplayTarget { target, consent, seed }
    }

    fn compare(
        &self,
        referred: Option<ReferenceReplay>,
        run_id: RunId,
    ) -> Result<Result<Finished<CompareBody>, EndedEarly>> {
        let parts: Vec<RunId> = referred.iter().filter_map(|replay| replay.run.clone()).collect();
        let (mut times, reference) = referred.map(|replay| (replay.times, replay.body)).unzip();
        let positions = 2 * self.rounds;
        let run = ReplayRun {
            schema: COMPARE,
            noun: "comparison",
            verb: "trace compare",
            replayer: self.replayer,
            targets: vec![self.a, self.b],
            run_id,
            steps: positions,
        };
        let (mut running, mut broken) = (None, None);
        let mut rounds = Vec::new();
        for (position, side) in (0..).zip(order(self.rounds as usize)) {
            // Before the first request of the first round.
            let mut begin = |prepared: Prepared<'_>| {
                if running.is_none() {
                    running = Some(run.begin(&self.keep, prepared, &parts)?);
                }
                Ok(())
            };
            let place = (position, positions);
            let round = match self.round(side, place, times.as_mut(), &mut begin)? {
                Ok(round) => round,
                Err(EndedEarly::Stopped) => break,
                Err(EndedEarly::Broken(error)) => {
                    broken = Some(error);
                    break;
                }
            };
            let name = if side == Side::A { "A" } else { "B" };
            if let Some(Running { recorder, .. }) = &mut running {
                recorder.step(position, name, &round.score, Vec::new());
            }
            rounds.push(round);
            if self.replayer.cancel.load(Ordering::Relaxed) {
                break;
            }
        }
        let (Some(running), Some(body)) = (running, self.body(&rounds, reference)) else {
            messages::note(
                "ended before each drive had a whole round: there is nothing to compare",
            );
            let early = broken.map_or(EndedEarly::Stopped, EndedEarly::Broken);
            return Ok(Err(early));
        };
        let state = match (rounds.len() == positions as usize, &broken) {
            (true, _) => State::Finished,
            (false, Some(_)) => State::Broken,
            (false, None) => State::Interrupted,
        };
        let summary = |body: &CompareBody| Summary {
            verb: "trace compare".to_owned(),
            target: format!("{} {}", self.a, self.b),
            drive: body
                .on
                .iter()
                .map(|on| views::drive(&on.target, &on.stack))
                .collect::<Vec<_>>()
                .join(", "),
            headline: body.compared.reason.clone(),
        };
        let ended = running.close(Outcome::new(body, state), |document| summary(&document.body));
        Ok(Ok(Finished::new(ended, state, broken)))
    }

    /// One replay, the `place.0`th (from 0) of `place.1`.
    fn round(
        &self,
        side: Side,
        place: (u32, u32),
        times: Option<&mut ReferenceTimes>,
        begin: Begin<'_>,
    ) -> Result<Result<Round, EndedEarly>> {
        let on = self.on(side, place.0 / 2);
        let (progress, name) = (Progress::new(!self.is_quiet), on.target.as_str());
        let mut listener = Listener::new(Outputs::default(), begin, progress, name, place);
        let options = &self.replayer.settings.options;
        let mut replay = self.replayer.replay(on, options, times, &mut listener)?;
        let Observed { body, last_due, .. } = listener.finish(&replay);
        if let Some(broken) = replay.broken.take() {
            return Ok(Err(EndedEarly::Broken(broken)));
        }
        let is_stopped = replay.state() == State::Interrupted;
        let Some(body) = body.filter(|_| !is_stopped) else {
            return Ok(Err(EndedEarly::Stopped));
        };
        let score = Score::of(&body)
            .with_context(|| format!("{}: nothing of the trace was issued", on.target))?;
        let (statement, schedule_s) = (body.plan, last_due.as_secs_f64());
        Ok(Ok(Round { side, score, replay, statement, schedule_s }))
    }

    /// The result; `None` before each drive had a whole round.
    fn body(&self, rounds: &[Round], reference: Option<ReferenceBody>) -> Option<CompareBody> {
        let of = |side: Side| rounds.iter().filter(move |round| round.side == side);
        let scores = |side| of(side).map(|round| round.score).collect::<Vec<_>>();
        let (mut a, mut b) = (scores(Side::A), scores(Side::B));
        let pairs = a.len().min(b.len());
        a.truncate(pairs);
        b.truncate(pairs);
        let first = [of(Side::A).next()?, of(Side::B).next()?];
        let mode = first[0].statement.options.mode;
        let timed = matches!(mode, Mode::Timed | Mode::Scaled(_));
        let schedule_s = timed.then_some(first[0].schedule_s);
        let names = [self.a.as_str(), self.b.as_str()];
        let mut compared = compare(names, &a, &b, mode, schedule_s);
        for Round { replay, .. } in first {
            compared.caveats.extend(caveats(&replay.info.name, &replay.stack));
        }
        views::remedies::write(&mut compared.caveats);
        Some(CompareBody {
            file: self.replayer.trace.path().to_owned(),
            on: first.iter().map(|round| round.replay.drive()).collect(),
            plan: first[0].statement.clone(),
            seed: self.replayer.settings.seed,
            reference,
            compared,
        })
    }
}

//! What a record is of, as its form tells, and what can still be done with it: the commands that are told to users.

use anyhow::{Result, anyhow, bail};
use record::{RecordError, Run, RunId, RunWriter, Runs, State};

use crate::args::{PlaceArgs, line};
use crate::replaying::{COMPARE, REPLAY};
use crate::{probing, purging, session, surveying, testing};

/// What made a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `mark`, `run`, `sweep`, a side of `compare`, `rerun`.
    Mark,
    /// `probe`.
    Probing,
    /// `survey`.
    Survey,
    /// `pts`.
    Tests,
    /// `purge`.
    Purge,
    /// `trace replay`.
    Replay,
    /// `trace compare`.
    Comparison,
    /// Something that this version does not know.
    Unknown,
}

impl Kind {
    /// What made `run`.
    pub fn of(run: &Run) -> Kind {
        match run.envelope.schema.as_str() {
            session::SCHEMA => Kind::Mark,
            probing::SCHEMA => Kind::Probing,
            surveying::SCHEMA => Kind::Survey,
            testing::SCHEMA => Kind::Tests,
            purging::SCHEMA => Kind::Purge,
            REPLAY => Kind::Replay,
            COMPARE => Kind::Comparison,
            _ => Kind::Unknown,
        }
    }

    /// What it is called, with its article.
    pub fn noun(self) -> &'static str {
        match self {
            Kind::Mark => "a mark",
            Kind::Probing => "a probing",
            Kind::Survey => "a survey",
            Kind::Tests => "a run of pts",
            Kind::Purge => "a purge",
            Kind::Replay => "a replay",
            Kind::Comparison => "a comparison under a trace",
            Kind::Unknown => "of a form that this version does not know",
        }
    }

    /// The verb that goes on with one that has not come to its end.
    fn goes_on_with(self) -> Option<&'static str> {
        match self {
            Kind::Mark => Some("run"),
            Kind::Probing => Some("probe"),
            Kind::Survey => Some("survey"),
            Kind::Tests => Some("pts"),
            Kind::Purge | Kind::Replay | Kind::Comparison | Kind::Unknown => None,
        }
    }
}

/// What can be done next with a run.
pub fn next(run: &Run, place: &PlaceArgs) -> String {
    match run.state {
        State::Finished => how_to_repeat(run, place),
        _ => how_to_go_on(run, place),
    }
}

/// What to do with a run that has not come to its end.
pub fn how_to_go_on(run: &Run, place: &PlaceArgs) -> String {
    match Kind::of(run).goes_on_with() {
        Some(verb) if !run.is_bare() && !fails_again(run) => {
            format!("go on with it: drivescope {verb} --resume {}{}", run.id, place.flag())
        }
        _ => anew(run),
    }
}

/// That a run has no result, and what to do.
pub fn without_result(run: &Run, runs: &Runs, place: &PlaceArgs) -> anyhow::Error {
    let next = match runs.is_live(&run.id) {
        true => "it is being made now".to_owned(),
        false => how_to_go_on(run, place),
    };
    anyhow!("{}: has no result yet; {next}", run.id)
}

/// True of tests that failed before their first part, at the purge: there they would fail again.
fn fails_again(run: &Run) -> bool {
    Kind::of(run) == Kind::Tests && run.state == State::Broken && run.steps.len() < 2
}

/// How to make a finished run again.
fn how_to_repeat(run: &Run, place: &PlaceArgs) -> String {
    match Kind::of(run) {
        Kind::Mark if !run.is_bare() => {
            format!("repeat it: drivescope rerun {}{}", run.id, place.flag())
        }
        _ => anew(run),
    }
}

/// The command that made a run, for one that is made from its beginning.
fn anew(run: &Run) -> String {
    match run.envelope.arguments.as_slice() {
        [] => "measure anew".to_owned(),
        words => format!("to make it anew: drivescope {}", line::command(words)),
    }
}

/// Goes on with the run `id`, which has to be of `wanted`: locks it.
///
/// # Errors
/// When it is of another kind, finished, or as [`Runs::resume`]; what to do instead is told.
pub fn resume(
    runs: &Runs,
    id: &RunId,
    wanted: Kind,
    place: &PlaceArgs,
) -> Result<(RunWriter, Run)> {
    let run = runs.load(id)?;
    let kind = Kind::of(&run);
    let next = next(&run, place);
    if kind != wanted && !run.is_bare() {
        let ended = if run.state == State::Finished { ", and finished" } else { "" };
        bail!("{id}: is {}{ended}; {next}", kind.noun());
    }
    runs.resume(id).map_err(|error| match error {
        RecordError::NotResumable { .. } => anyhow!("{error}; {next}"),
        error => error.into(),
    })
}

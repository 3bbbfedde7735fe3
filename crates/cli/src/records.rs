//! What a record is of, as its form tells, and what can still be done with it: the commands that are told to users.

use std::fs;

use anyhow::{Result, anyhow, bail};
use record::{Envelope, RecordError, Run, RunId, RunWriter, Runs, State};

use crate::args::{Given, PlaceArgs, line, values_of};
use crate::envelope::arguments;
use crate::replaying::{COMPARE, REPLAY};
use crate::{probing, purging, recording, session, surveying, talk, testing};

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
    fn goes_on_with(self, run: &Run) -> Option<&'static str> {
        match self {
            Kind::Mark if run.setup["sweep"].is_object() => Some("sweep"),
            Kind::Mark => Some("run"),
            Kind::Probing => Some("probe"),
            Kind::Survey => Some("survey"),
            Kind::Tests => Some("pts"),
            Kind::Purge | Kind::Replay | Kind::Comparison | Kind::Unknown => None,
        }
    }
}

/// The flag that names the drive anew when it has another name now.
const RENAMED: &str = "device";
/// Flags that name files which a result is written into when it is there.
const FILES: [&str; 3] = ["csv", "plot", "report"];

/// The command by which `verb` goes on with the run `id`, and writes the files that `typed` named, the command that it
/// was made or last gone on with. `wrote` when those files are what that command wrote.
fn resumption(verb: &str, id: &RunId, typed: &[String], wrote: bool, place: &str) -> String {
    let has_something =
        |path: &str| fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() > 0);
    let mut words = vec!["drivescope".to_owned(), verb.to_owned()];
    words.extend(["--resume".to_owned(), id.to_string()]);
    let mut is_there = false;
    for (flag, value) in values_of(typed, &[&[RENAMED][..], &FILES].concat()) {
        is_there |= flag != RENAMED && has_something(&value);
        words.extend([format!("--{flag}"), value]);
    }
    // What it wrote it may write over; what came there since is not its own.
    if is_there && (wrote || typed.iter().any(|word| word == "--force")) {
        words.push("--force".to_owned());
    }
    format!("{}{place}", line::command(&words))
}

/// Tells how to go on with the run `id`, which was stopped: `place` is the flag that leads to it.
pub fn tell_to_go_on(verb: &str, id: &RunId, place: &str) {
    let typed = arguments();
    talk::note(&format!("go on with: {}", resumption(verb, id, &typed, true, place)));
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
    match Kind::of(run).goes_on_with(run) {
        Some(verb) if !run.is_bare() => {
            let again = run.notes.iter().rfind(|(kind, _)| kind == recording::RESUMED);
            let again =
                again.and_then(|(_, now)| serde_json::from_value::<Envelope>(now.clone()).ok());
            let typed = again.map_or_else(|| run.envelope.arguments.clone(), |now| now.arguments);
            let wrote = run.state == State::Interrupted;
            let command = resumption(verb, &run.id, &typed, wrote, &place.flag());
            format!("go on with it: {command}")
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

/// Refuses what was typed beside `--resume` and is none of `allowed`.
///
/// # Errors
/// Names the flag.
pub fn check_beside_resume(given: &Given, allowed: &[&str]) -> Result<()> {
    match given.names().find(|name| !allowed.contains(name)) {
        None => Ok(()),
        Some(flag) => bail!(
            "--{}: a run goes on as its record says; leave it out with --resume, or begin a new run",
            flag.replace('_', "-")
        ),
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

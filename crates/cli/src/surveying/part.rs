//! One part of a survey: the command line of an instrument, given to the parser that users' lines go through, made as
//! a run of its own.

use anyhow::{Context as _, Result, bail};
use block::{Bytes, Nanos};
use record::{Run, RunId};
use runner::recorder::{Closed, document_of};
use survey::Seen;
use survey::parts::{Instrument, Left};

use crate::args::{self, Verb};
use crate::session::{self, Session};
use crate::verbs::{mark, probe};
use crate::{probing, testing};

/// Result of a part.
pub enum Found {
    /// The quick benchmark.
    Mark(Box<::mark::Body>),
    /// One probe or several.
    Probe(Box<::probe::Body>),
    /// Write saturation.
    Wsat(Box<pts::body::Body>),
}

/// A part that was made.
pub struct Made {
    /// Result.
    pub found: Found,
    /// Its run, where it is recorded.
    pub run: Option<RunId>,
    /// True when the user stopped it.
    pub interrupted: bool,
    /// Error that ended it early, if any, other than the user's stop.
    pub broken: Option<String>,
    /// Reason why its record is incomplete.
    pub failure: Option<anyhow::Error>,
}

impl Made {
    /// A part that had finished before.
    pub fn before(found: Found, run: RunId) -> Made {
        Made { found, run: Some(run), interrupted: false, broken: None, failure: None }
    }
}

/// Makes the part that `words` are the command line of, the program's name first.
///
/// # Errors
/// Returns an error if the part is impossible.
pub fn make(words: &[String]) -> Result<Made> {
    let (cli, given) = args::parse(words.iter().map(Into::into).collect())?;
    match &cli.verb {
        Verb::Mark(args) => {
            let made = mark::begin(args, &given, |session: Session<'_>| {
                session.make(&|_| Ok(Vec::new()))
            })?;
            let session::Taken { body, record, broken } = made.take();
            let (run, failure) = recorded(record);
            let broken = broken.map(|broken| broken.to_string());
            let interrupted = body.interrupted && broken.is_none();
            Ok(Made { found: Found::Mark(Box::new(body)), run, interrupted, broken, failure })
        }
        Verb::Probe(args) => {
            let made = probe::make(args, &given)?;
            let Ok(made) = made else { bail!("{}: was only announced", words.join(" ")) };
            let probing::Taken { body, record, broken } = made.take();
            let (run, failure) = recorded(record);
            let broken = broken.map(|halt| halt.to_string());
            let interrupted = body.interrupted && broken.is_none();
            Ok(Made { found: Found::Probe(Box::new(body)), run, interrupted, broken, failure })
        }
        Verb::Pts(args) => {
            let made = testing::make(args, &given)?;
            let body = made.bodies().first().context("no test was begun")?.clone();
            let testing::Made { halt, closed, .. } = made;
            let interrupted = matches!(halt, Some(pts::desk::Halt::Interrupted));
            let broken = halt.filter(|_| !interrupted).map(|halt| halt.to_string());
            let (run, failure) = recorded(closed);
            Ok(Made { found: Found::Wsat(Box::new(body)), run, interrupted, broken, failure })
        }
        _ => bail!("{}: is not a part of a survey", words.join(" ")),
    }
}

/// The run of a part, when its record is whole, and the failure of the record; what the part found counts all the same.
fn recorded(record: Closed) -> (Option<RunId>, Option<anyhow::Error>) {
    match record.whole() {
        Ok(run) => (run, None),
        Err(failure) => (None, Some(failure)),
    }
}

/// Result of a recorded part.
///
/// # Errors
/// Returns an error if its run has not finished, or is not in the form of this version.
pub fn of_run(instrument: Instrument, run: &Run) -> Result<Found> {
    let gone = || format!("{}: has not come to its end", run.id);
    Ok(match instrument {
        Instrument::Mark => {
            Found::Mark(Box::new(document_of(run, session::SCHEMA)?.with_context(gone)?.body))
        }
        Instrument::Wsat => {
            Found::Wsat(Box::new(document_of(run, testing::SCHEMA)?.with_context(gone)?.body))
        }
        _ => Found::Probe(Box::new(document_of(run, probing::SCHEMA)?.with_context(gone)?.body)),
    })
}

impl Found {
    /// Takes what it spent from what is `left`.
    pub fn spend(&self, left: Left) -> Left {
        let (time, bytes) = match self {
            Found::Mark(body) => {
                let runs: u64 = body.tests.iter().map(|test| test.runs.len() as u64).sum();
                let each =
                    body.setup.duration_ns.0 + body.setup.warm_up_ns.0 + body.setup.pause_ns.0;
                let writes = body
                    .tests
                    .iter()
                    .filter(|test| test.direction() != Some(::mark::Direction::Read));
                let bytes = writes.flat_map(|test| &test.runs).map(|run| run.bytes).sum::<u64>();
                // Warming up writes too, and is not counted.
                let warm = body.setup.warm_up_ns.0 as f64 / body.setup.duration_ns.0.max(1) as f64;
                (runs * each, (bytes as f64 * (1.0 + warm)) as u64)
            }
            Found::Probe(body) => (body.spent.elapsed_ns.0, body.spent.written_bytes.0),
            Found::Wsat(body) => (0, body.bytes_written),
        };
        Left {
            time: Nanos(left.time.0.saturating_sub(time)),
            bytes: Bytes(left.bytes.0.saturating_sub(bytes)),
        }
    }

    /// Adds it to what was seen.
    pub fn seen<'a>(&'a self, seen: &mut Seen<'a>) {
        match self {
            Found::Mark(body) => seen.mark = Some(body),
            Found::Probe(body) => seen.probes.push(body),
            Found::Wsat(body) => seen.wsat = Some(body),
        }
    }

    /// Its doubts. What their remedies name are flags of the part's own verb.
    pub fn caveats(&self) -> Vec<stats::Caveat> {
        let (verb, caveats) = match self {
            Found::Mark(body) => ("mark", &body.caveats),
            Found::Probe(body) => ("probe", &body.caveats),
            Found::Wsat(body) => ("pts wsat", &body.caveats),
        };
        views::remedies::with_flags_of(&format!("with drivescope {verb}"), caveats)
    }
}

//! A result that was recorded, or printed by `--json`, as what it is: for those who show it.

use mark::Kept;
use record::{Envelope, Integrity};
use serde_json::Value;

use crate::purge;
use crate::replay::{CompareBody, ReplayBody};

/// A result with all that is known about its making.
pub struct Recorded {
    /// The run, or the file that the document was read from.
    pub name: String,
    /// Subcommand as the user typed it: `mark`.
    pub verb: String,
    /// Target of the run.
    pub target: String,
    /// The result in one line; may be empty.
    pub headline: String,
    /// Host, time and version of the run.
    pub envelope: Envelope,
    /// The result.
    pub found: ResultBody,
    /// The document itself.
    pub document: Value,
    /// State of the record; `None` for a document alone.
    pub record: Option<Record>,
}

/// State of a record.
pub struct Record {
    /// How it ended, in a word.
    pub state: &'static str,
    /// Whether its files are those that were recorded.
    pub integrity: Integrity,
}

/// A result, by the instrument that made it.
pub enum ResultBody {
    /// A mark, with the counted runs of each of its tests where they are recorded.
    Mark(Box<mark::Body>, Vec<TestRuns>),
    /// A sweep, which is a mark of many settings.
    Sweep(Box<mark::sweep::Body>),
    /// A probing.
    Probe(Box<probe::Body>),
    /// A survey: the findings of all instruments together.
    Survey(Box<survey::body::Body>),
    /// A purge.
    Purge(Box<purge::Body>),
    /// Enterprise tests.
    Tests(Vec<pts::body::Body>),
    /// A replay.
    Replay(Box<ReplayBody>),
    /// Drives or runs, compared.
    Comparison(Box<mark::compare::Comparison>),
    /// Drives under one trace.
    Compare(Box<CompareBody>),
    /// An analysis of a trace's load.
    Analysis(Box<trace::analyze::body::Body>),
}

/// The counted runs of a test, in the order made.
#[derive(Default)]
pub struct TestRuns {
    /// Record of each run.
    pub runs: Vec<Kept>,
    /// How long the slices of their series are, in nanoseconds; 0 where none is known.
    pub slice_ns: u64,
}

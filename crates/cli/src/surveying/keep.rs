//! The record of a survey: a step for each part, with the part's run.

use anyhow::{Context as _, Result};
use block::{Bytes, Nanos};
use record::{Run, RunId, Runs};
use serde::{Deserialize, Serialize};
use survey::body::{LeftOut, Part};
use survey::parts::Instrument;

use super::part::{self, Found};

/// Settings of a survey, in the form that is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Name of the target, valid from any directory.
    pub target: String,
    /// Reason for the choice, if the user named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// How I/O is issued.
    pub engine: String,
    /// True when the target might be overwritten.
    pub may_write: bool,
    /// How long all parts may take.
    pub time_budget_ns: Nanos,
    /// How much they may write.
    pub write_budget_bytes: Bytes,
    /// Root seed.
    pub seed: u64,
}

/// Record of one instrument's turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The part, where it was made.
    pub part: Option<Part>,
    /// Its run.
    pub run: Option<RunId>,
    /// Reason for leaving it out, if it was left out.
    pub left_out: Option<LeftOut>,
}

documents::decode!(Kept);

/// A finished turn: its record and its result.
pub struct Turn {
    /// Record.
    pub kept: Kept,
    /// Result, if the part was made.
    pub found: Option<Found>,
}

/// The turns of a recorded survey that are over, with what their runs found.
///
/// # Errors
/// Returns an error if a part's run is missing or not in the form of this version.
pub fn turns(runs: &Runs, id: &RunId, all: Vec<Kept>, order: &[Instrument]) -> Result<Vec<Turn>> {
    let turn = |(kept, instrument): (Kept, &Instrument)| {
        let found = |part: &RunId| {
            let run = runs.load(part);
            let run = run.with_context(|| format!("{id}: its part {}", instrument.word()))?;
            part::of_run(*instrument, &run)
        };
        let found = kept.run.as_ref().map(found).transpose()?;
        Ok(Turn { kept, found })
    };
    all.into_iter().zip(order).map(turn).collect()
}

/// The run of the part that was being made when the survey `whole` was stopped: of the `next` instrument after `turns`. A run
/// that cannot be read cannot be resumed.
///
/// # Errors
/// When the runs cannot be listed.
pub fn begun(runs: &Runs, whole: &RunId, turns: &[Turn], next: Instrument) -> Result<Option<Run>> {
    let verb = next.verb().join(" ");
    let is_kept = |id: &RunId| turns.iter().any(|turn| turn.kept.run.as_ref() == Some(id));
    let parts = runs.parts_of(whole)?.into_iter().filter(|id| !is_kept(id));
    let mut parts = parts.filter_map(|id| runs.load(&id).ok());
    Ok(parts.find(|run| run.setup["verb"] == verb.as_str()))
}

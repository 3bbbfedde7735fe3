//! The record of a survey: a step for each part, with the part's run.

use anyhow::{Context as _, Result, bail};
use block::{Bytes, Nanos};
use documents::instrument;
use record::{Run, RunId, RunWriter, Runs};
use serde::{Deserialize, Serialize};
use survey::body::{LeftOut, Part};
use survey::parts::Instrument;

use crate::args::PlaceArgs;
use crate::recording;
use crate::records;

use super::part::{self, Found};
use super::subject::Subject;

/// What is asked of a survey, in the form that is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The target's name, from wherever it is said.
    pub target: String,
    /// Why it was taken, when the user named none.
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

/// What is kept of one instrument's turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// The part, where it was made.
    pub part: Option<Part>,
    /// Its run.
    pub run: Option<RunId>,
    /// Why it was not made, where it was not.
    pub left_out: Option<LeftOut>,
}

/// A turn that is over: what is kept of it, and what it found.
pub struct Turn {
    /// What is kept.
    pub kept: Kept,
    /// What was found, where the part was made.
    pub found: Option<Found>,
}

/// A recorded survey that goes on; its lock is held.
pub struct Resumed {
    /// Goes on with its record.
    pub writer: RunWriter,
    /// What is recorded.
    pub run: Run,
    /// What was asked.
    pub asked: Asked,
}

/// The recorded survey of this name.
///
/// # Errors
/// When there is none that can go on.
pub fn resumed(runs: &Runs, name: &str, place: &PlaceArgs) -> Result<Resumed> {
    let id = runs.find(name)?;
    let (writer, run) = records::resume(runs, &id, instrument::Instrument::Survey, place)?;
    let asked = toml::from_str(&run.plan).with_context(|| format!("{id}: its plan.toml"))?;
    Ok(Resumed { writer, run, asked })
}

impl Resumed {
    /// The turns that are over, with what their runs found.
    ///
    /// # Errors
    /// When `subject` is another drive than the record's, or a part's run is gone or not in the form of this version.
    pub fn turns(&self, runs: &Runs, subject: &Subject, order: &[Instrument]) -> Result<Vec<Turn>> {
        let id = &self.run.id;
        if let Some(difference) = recording::identity_of(&self.run)?.difference(&subject.identity) {
            bail!(
                "{}: is not the drive of the record: {difference}; connect that one, name where it is now as TARGET, or begin a new survey",
                subject.name
            );
        }
        let mut turns = Vec::new();
        for (step, instrument) in self.run.steps.iter().zip(order) {
            let kept: Kept = serde_json::from_value(step.figures.clone())
                .with_context(|| format!("{id}: its steps are not in the form of this version"))?;
            let found = match &kept.run {
                Some(part) => {
                    let run = runs
                        .load(part)
                        .with_context(|| format!("{id}: its part {}", instrument.word()))?;
                    Some(part::of_run(*instrument, &run)?)
                }
                None => None,
            };
            turns.push(Turn { kept, found });
        }
        Ok(turns)
    }

    /// The run of the part that was being made when the survey was stopped: of the `next` instrument after `turns`. What
    /// cannot be read cannot be gone on with.
    ///
    /// # Errors
    /// When the runs cannot be listed.
    pub fn begun(&self, runs: &Runs, turns: &[Turn], next: Instrument) -> Result<Option<Run>> {
        let verb = next.verb().join(" ");
        let is_kept = |id: &RunId| turns.iter().any(|turn| turn.kept.run.as_ref() == Some(id));
        let parts = runs.parts_of(&self.run.id)?.into_iter().filter(|id| !is_kept(id));
        let mut parts = parts.filter_map(|id| runs.load(&id).ok());
        Ok(parts.find(|run| run.setup["verb"] == verb.as_str()))
    }
}

//! One life of a run, for every instrument.

use anyhow::{Context as _, Result};
use block::DriveIdentity;
use documents::Decode;
use record::{Document, Envelope, Run, RunId, RunWriter, State, Summary};
use serde::Serialize;
use serde_json::Value;

use crate::envelope::{SystemClock, envelope};
use crate::messages;
use crate::place::{Keep, Place};
use crate::recorder::{Beginning, Closed, Noted, Recorder, identity_of};

/// An instrument on an open drive, as the runner sees it: what a record begins with, and what of a record is resumed.
pub trait Instrument {
    /// One recorded step.
    type Step: Decode;

    /// Form of its documents, which is also its row among [`documents::instrument::ALL`].
    fn schema(&self) -> &'static str;

    /// The activity that continues when the record cannot, such as `probing`.
    fn noun(&self) -> &'static str;

    /// Plan, setup and drive of a new record.
    ///
    /// # Errors
    /// When the plan has no text form.
    fn beginning(&self) -> Result<Beginning>;

    /// Takes over the steps of the recorded `run`, which is of the same drive, before anything is written to either.
    ///
    /// # Errors
    /// When it cannot be resumed from them.
    fn resume(&mut self, run: &Run, steps: Vec<Self::Step>) -> Result<Resumption>;

    /// The error when the drive is not that of the record.
    fn another_drive(&self, difference: &AnotherDrive) -> anyhow::Error {
        anyhow::Error::msg(difference.message("as TARGET"))
    }
}

/// An instrument that measures in one go, once its record is open.
pub trait Measure: Instrument {
    /// Its result.
    type Body: Serialize;

    /// Measures, and keeps each step in `recorder` when it is over. `run_id` names what is made beside the record.
    ///
    /// # Errors
    /// What makes it impossible. Then there is no result, and a record without steps is removed.
    fn measure(&mut self, run_id: &RunId, recorder: &mut Recorder) -> Result<Outcome<Self::Body>>;

    /// The line about it in lists of runs.
    fn summary(&self, body: &Self::Body) -> Summary;
}

/// How an instrument resumes.
#[derive(Debug)]
pub struct Resumption {
    /// The steps that are over, in words: `3 probes`.
    pub after: String,
    /// Fields for the note about the resumption.
    pub more: Vec<(&'static str, Value)>,
    /// When that note is written.
    pub noted: Noted,
}

impl Resumption {
    /// After `count` steps of this name, noted before the drive is used again.
    pub fn after(count: usize, step: &str) -> Resumption {
        let after = report::number::counted(count, step);
        Resumption { after, more: Vec::new(), noted: Noted::AtOnce }
    }
}

/// Outcome of an instrument's run.
#[derive(Debug)]
pub struct Outcome<B> {
    /// Its result.
    pub body: B,
    /// How the run ended.
    pub state: State,
    /// Runs that were made as parts of it.
    pub parts: Vec<RunId>,
    /// Notes beside the result, by kind.
    pub notes: Vec<(&'static str, Value)>,
}

impl<B> Outcome<B> {
    /// A result without parts and notes.
    pub fn new(body: B, state: State) -> Outcome<B> {
        Outcome { body, state, parts: Vec::new(), notes: Vec::new() }
    }
}

/// A recorded run that goes on; its lock is held.
pub struct Resumed {
    /// Continues its record.
    pub writer: RunWriter,
    /// The record.
    pub run: Run,
}

/// The recorded steps of a run.
///
/// # Errors
/// When they are not in the form of this version.
pub fn steps_of<S: Decode>(run: &Run) -> Result<Vec<S>> {
    let step = |step: &record::StepEntry| {
        S::decode(step.figures.clone()).with_context(|| {
            format!("{}: step {} is not in the form of this version", run.id, step.position)
        })
    };
    run.steps.iter().map(step).collect()
}

/// The difference of a drive from that of a record.
#[derive(Clone, Debug)]
pub struct AnotherDrive {
    name: String,
    difference: String,
}

impl AnotherDrive {
    /// `None` when `identity` is the drive that was `recorded`.
    pub fn check(recorded: &DriveIdentity, identity: &DriveIdentity) -> Option<AnotherDrive> {
        let difference = recorded.difference(identity)?;
        Some(AnotherDrive { name: identity.name.clone(), difference })
    }

    /// An error message; `renamed` is the flag or argument for a drive that has another name now.
    pub fn message(&self, renamed: &str) -> String {
        let AnotherDrive { name, difference } = self;
        format!(
            "{name}: is not the drive of the record: {difference}; connect that one, name where it is now {renamed}, or \
             begin a new run"
        )
    }
}

/// A run whose record is open.
pub struct Running {
    /// Circumstances of the run, with its name.
    pub envelope: Envelope,
    /// Its record.
    pub recorder: Recorder,
}

/// A run that is over.
#[derive(Debug)]
pub struct Ended<B> {
    /// The result in its envelope.
    pub document: Document<B>,
    /// Its record.
    pub closed: Closed,
}

/// Opens the record of `instrument` on its drive: a new one by the name `run_id`, or that of a run which is resumed.
///
/// # Errors
/// When the drive is another one than that of the record, or a record cannot be begun where the user wants it.
pub fn open<I: Instrument>(
    instrument: &mut I,
    keep: &Keep,
    run_id: RunId,
    resumed: Option<Resumed>,
) -> Result<Running> {
    match resumed {
        Some(resumed) => resume(instrument, resumed),
        None => {
            let announced = keep.announced.clone();
            let envelope = envelope(instrument.schema(), run_id, &SystemClock);
            let envelope = Envelope { announced, ..envelope };
            begin(instrument, keep, keep.place()?, envelope)
        }
    }
}

/// Begins a new record at a `place` that was prepared before.
///
/// # Errors
/// When it cannot be begun where the user wants it.
pub fn begin<I: Instrument>(
    instrument: &I,
    keep: &Keep,
    place: Option<Place>,
    mut envelope: Envelope,
) -> Result<Running> {
    let beginning = instrument.beginning()?;
    let recorder = Recorder::begin(place, keep, &mut envelope, beginning, instrument.noun())?;
    Ok(Running { envelope, recorder })
}

/// Resumes the record of a run.
///
/// # Errors
/// When the drive is another one than that of the record, or the record cannot be written to.
pub fn resume<I: Instrument>(instrument: &mut I, resumed: Resumed) -> Result<Running> {
    let Resumed { writer, run } = resumed;
    if let Some(drive) = instrument.beginning()?.drive
        && let Some(another) = AnotherDrive::check(&identity_of(&run)?, &drive)
    {
        return Err(instrument.another_drive(&another));
    }
    let Resumption { after, more, noted } = instrument.resume(&run, steps_of(&run)?)?;
    messages::note(&format!("going on with {} after {after}", run.id));
    let recorder = Recorder::resume(writer, &run, &more, noted, instrument.noun())?;
    Ok(Running { envelope: run.envelope, recorder })
}

impl Running {
    /// Closes the record with what an instrument came to; `summary` is the line about it in lists of runs.
    pub fn close<B: Serialize>(
        self,
        outcome: Outcome<B>,
        summary: impl FnOnce(&Document<B>) -> Summary,
    ) -> Ended<B> {
        let Running { mut envelope, recorder } = self;
        let Outcome { body, state, parts, notes } = outcome;
        if !parts.is_empty() {
            envelope.parts = parts;
        }
        let document = Document { envelope, body };
        let summary = summary(&document);
        let closed = recorder.close(&document, state, &summary, &notes);
        Ended { document, closed }
    }
}

/// Runs `instrument` on its drive: a new run, or the rest of one that was stopped.
///
/// # Errors
/// As [`open`], and what makes measuring impossible.
pub fn run<I: Measure>(
    instrument: &mut I,
    keep: &Keep,
    run_id: RunId,
    resumed: Option<Resumed>,
) -> Result<Ended<I::Body>> {
    let mut running = open(instrument, keep, run_id, resumed)?;
    let outcome = instrument.measure(&running.envelope.run_id, &mut running.recorder)?;
    Ok(running.close(outcome, |document| instrument.summary(&document.body)))
}

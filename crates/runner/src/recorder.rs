//! The open record of a run: what each step leaves is on disk before the next begins.

use std::path::Path;
use std::sync::Once;

use anyhow::{Context as _, Result, anyhow};
use block::{DriveIdentity, DriveKind, Event, LeafIdentity, RunSink as _, WallClock as _, quoted};
use documents::Decode;
use linux::sysfs::Roots;
use record::{
    Document, Envelope, Head, RecordError, Run, RunId, RunWriter, Runs, SampleRow, SamplesFormat,
    State, StepEntry, Summary,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::envelope::{SystemClock, envelope};
use crate::messages;
use crate::place::{Keep, Place};

/// Kind of the notes about resumptions.
pub const RESUMED: &str = "resumed";

/// Kind of the note that names the signal that ended a run early.
const STOPPED: &str = "stopped";

/// The beginning of a record.
#[derive(Clone, Debug)]
pub struct Beginning {
    /// The plan as text.
    pub plan: String,
    /// Settings that are not in the plan, and that resuming needs.
    pub setup: Value,
    /// Number of steps, where it is known.
    pub steps: Option<u32>,
    /// The drive; `None` where each part of the run has its own.
    pub drive: Option<DriveIdentity>,
    /// Form of single I/Os; `None` when they are not kept.
    pub samples: Option<SamplesFormat>,
}

/// The drive in a few words, for setups and lists of runs.
pub fn drive_words(identity: &DriveIdentity) -> String {
    let leaf = |leaf: &LeafIdentity| {
        leaf.model.as_deref().map_or(leaf.name.clone(), |model| model.trim().to_owned())
    };
    match identity.kind {
        DriveKind::Virtual | DriveKind::Null => identity.name.clone(),
        _ => identity.leaves.iter().map(leaf).collect::<Vec<_>>().join(", "),
    }
}

/// When a resumption is noted in the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// At once: the instrument may write to the drive before its first step is over.
    AtOnce,
    /// With the first thing that it adds: until then the record stays as it was.
    WithFirstStep,
}

/// A record while its run is made. The first failure ends the record and not the run.
pub struct Recorder {
    writer: Option<RunWriter>,
    failure: Option<RecordError>,
    /// Circumstances of a resumption that are not noted yet.
    resumption: Option<Value>,
    /// True when the record already says how the run ended, which it does not after a kill.
    had_ended: bool,
    /// The activity that continues without a record, such as `probing`.
    noun: &'static str,
}

/// A record that is closed.
#[derive(Debug, Default)]
pub struct Closed {
    /// The run, when it is recorded.
    pub id: Option<RunId>,
    /// Why it is not, or not to its end.
    pub failure: Option<anyhow::Error>,
}

impl Closed {
    /// The run's name, when its record is whole.
    ///
    /// # Errors
    /// When the record is not whole.
    pub fn whole(self) -> Result<Option<RunId>> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.id),
        }
    }
}

impl Recorder {
    /// Begins a record at `place`, if there is one; adds the drive to `envelope`.
    ///
    /// # Errors
    /// When the place is one that the user named, and it cannot be written to.
    pub fn begin(
        place: Option<Place>,
        keep: &Keep,
        envelope: &mut Envelope,
        mut beginning: Beginning,
        noun: &'static str,
    ) -> Result<Recorder> {
        envelope.drive = beginning.drive.as_ref().map(serde_json::to_value).transpose()?;
        let Some(Place { runs, is_required }) = place else {
            return Ok(Recorder::none(noun));
        };
        if let Some(refused) = keep.engine_refused.and_then(|refused| refused()) {
            beginning.setup["engine_refused"] = refused;
        }
        if let Some(whole) = &keep.part_of {
            beginning.setup["part_of"] = whole.as_str().into();
        }
        if let Some(drive) = &beginning.drive {
            warn_of_the_same_drive(&runs, drive);
        }
        let head = Head {
            envelope: envelope.clone(),
            begun: SystemClock.now(),
            plan: beginning.plan,
            setup: beginning.setup,
            steps: beginning.steps,
            samples: beginning.samples,
        };
        match runs.create(&head) {
            Ok(writer) => Ok(Recorder::of(writer, noun)),
            Err(error) if is_required => Err(error.into()),
            Err(error) => {
                messages::note(&format!("this run is not recorded: {error}"));
                Ok(Recorder::none(noun))
            }
        }
    }

    /// Keeps nothing.
    pub fn none(noun: &'static str) -> Recorder {
        Recorder { writer: None, failure: None, resumption: None, had_ended: false, noun }
    }

    fn of(writer: RunWriter, noun: &'static str) -> Recorder {
        let mut recorder = Recorder::none(noun);
        recorder.writer = Some(writer);
        recorder
    }

    /// Resumes the record of `run`; `more` is added to the note about it.
    ///
    /// # Errors
    /// When it cannot be written to.
    pub fn resume(
        writer: RunWriter,
        run: &Run,
        more: &[(&str, Value)],
        noted: Noted,
        noun: &'static str,
    ) -> Result<Recorder> {
        let now = envelope(&run.envelope.schema, run.id.clone(), &SystemClock);
        let mut resumption = serde_json::to_value(now)?;
        for (name, value) in more {
            resumption[name] = value.clone();
        }
        let mut recorder = Recorder::of(writer, noun);
        (recorder.resumption, recorder.had_ended) = (Some(resumption), run.is_ended());
        if noted == Noted::AtOnce {
            recorder.try_write(|_| Ok(()))?;
        }
        Ok(recorder)
    }

    /// Passes on an event of the run.
    pub fn event(&mut self, event: &Event) {
        if let Some(writer) = &mut self.writer {
            writer.event(event);
        }
    }

    /// True while a record is kept.
    pub fn keeps(&self) -> bool {
        self.writer.is_some() && self.failure.is_none()
    }

    /// Writes to the record, a pending note about a resumption first.
    fn try_write(
        &mut self,
        write: impl FnOnce(&mut RunWriter) -> Result<(), RecordError>,
    ) -> Result<(), RecordError> {
        let Some(writer) = self.writer.as_mut().filter(|_| self.failure.is_none()) else {
            return Ok(());
        };
        if let Some(resumption) = self.resumption.take() {
            writer.note(RESUMED, &resumption)?;
        }
        write(writer)
    }

    /// As [`Recorder::try_write`]; the first failure ends the record, with a message.
    fn write(&mut self, write: impl FnOnce(&mut RunWriter) -> Result<(), RecordError>) {
        if let Err(error) = self.try_write(write) {
            let noun = self.noun;
            messages::note(&format!("the record ends here, and the {noun} goes on: {error}"));
            self.failure = Some(error);
        }
    }

    /// Keeps a note of this kind. A record that has a note stays, whatever follows.
    pub fn note(&mut self, kind: &str, payload: &impl Serialize) {
        self.note_value(kind, to_value("note", payload));
    }

    fn note_value(&mut self, kind: &str, payload: Result<Value, RecordError>) {
        self.write(|writer| writer.note(kind, &payload?));
    }

    /// Keeps a step: its name and figures, and single I/Os beside it.
    pub fn step(
        &mut self,
        position: u32,
        name: &str,
        figures: &impl Serialize,
        rows: Vec<SampleRow>,
    ) {
        self.step_value(position, name, to_value("step", figures), rows);
    }

    fn step_value(
        &mut self,
        position: u32,
        name: &str,
        figures: Result<Value, RecordError>,
        rows: Vec<SampleRow>,
    ) {
        if !rows.is_empty() {
            self.samples(position, &mut rows.into_iter());
        }
        self.write(|writer| {
            writer.step(&StepEntry {
                position,
                step: name.to_owned(),
                run: 0,
                counted: true,
                series: Vec::new(),
                histograms: Vec::new(),
                figures: figures?,
            })
        });
    }

    /// Keeps a step with its series and histograms.
    pub fn entry(&mut self, entry: serde_json::Result<StepEntry>) {
        self.write(|writer| writer.step(&entry.map_err(|source| json_error("step", source))?));
    }

    /// Keeps single I/Os of a step. A failure is reported when the record is closed; no step is lost by it.
    pub fn samples(&mut self, position: u32, rows: &mut dyn Iterator<Item = SampleRow>) {
        if let Some(writer) = self.writer.as_mut().filter(|_| self.failure.is_none()) {
            let _ = writer.samples(position, rows);
        }
    }

    /// Ends the record, with `notes` beside the result. A failure is returned and not an error: the result is shown first.
    pub fn close<B: Serialize>(
        self,
        document: &Document<B>,
        state: State,
        summary: &Summary,
        notes: &[(&str, Value)],
    ) -> Closed {
        match self.writer {
            Some(_) => self.close_with(document.to_json(), state, summary, notes),
            None => Closed::default(),
        }
    }

    /// As [`Recorder::close`]: compiled once for all documents.
    fn close_with(
        mut self,
        document: serde_json::Result<String>,
        state: State,
        summary: &Summary,
        notes: &[(&str, Value)],
    ) -> Closed {
        let id = self.writer.as_ref().map(|writer| writer.id().clone());
        let closed = self.finish(document, state, summary, notes);
        Closed { id, failure: closed.err().map(not_whole) }
    }

    fn finish(
        &mut self,
        document: serde_json::Result<String>,
        state: State,
        summary: &Summary,
        notes: &[(&str, Value)],
    ) -> Result<(), RecordError> {
        if let Some(failure) = self.failure.take() {
            // Nothing more is written, and what there is stays.
            self.writer = None;
            return Err(failure);
        }
        if self.resumption.is_some() && self.had_ended && state != State::Finished {
            // Ended before it added anything: the record already says how the run ended.
            self.writer = None;
            return Ok(());
        }
        self.try_write(|writer| {
            for (kind, payload) in notes {
                writer.note(kind, payload)?;
            }
            note_stop(writer, state)
        })?;
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let saved = writer.finish_with(document, state, summary)?;
        for (position, why) in &saved.samples_lost {
            messages::note(&format!("the single I/Os of step {position} are not recorded: {why}"));
        }
        Ok(())
    }
}

/// A run that came to nothing, as when its first step showed that it is not possible, leaves no record.
impl Drop for Recorder {
    fn drop(&mut self) {
        self.writer.take().into_iter().for_each(remove_untouched);
    }
}

/// Removes a record without content: it could not be shown, and would be the last run.
fn remove_untouched(writer: RunWriter) {
    if !writer.is_untouched() {
        return;
    }
    let (id, place) = (writer.id().clone(), writer.dir().parent().map(Path::to_path_buf));
    // Releases its lock.
    drop(writer);
    let removed = place.map(|place| Runs::at(place).remove(&id));
    if let Some(Err(error)) = removed {
        messages::note(&format!("the run {id} holds nothing, and could not be removed: {error}"));
    }
}

fn json_error(what: &'static str, source: serde_json::Error) -> RecordError {
    RecordError::Json { what, source }
}

fn to_value(what: &'static str, payload: &impl Serialize) -> Result<Value, RecordError> {
    serde_json::to_value(payload).map_err(|source| json_error(what, source))
}

/// Notes which signal ended a run early, if one did.
fn note_stop(writer: &mut RunWriter, state: State) -> Result<(), RecordError> {
    let signal = linux::signals::received().filter(|_| state == State::Interrupted);
    let Some(signal) = signal else { return Ok(()) };
    writer.note(STOPPED, &json!({ "signal": linux::signals::name(signal) }))
}

/// The error after a result was shown whose record ended before it, with the way to resume from there.
fn not_whole(error: RecordError) -> anyhow::Error {
    let said = format!("the result above is whole, and its record is not: {error}");
    match &error {
        RecordError::Stopped { id, dir, .. } => {
            let runs =
                dir.parent().map_or_else(String::new, |runs| runs.to_string_lossy().into_owned());
            let runs = quoted(&runs);
            anyhow!("{said}; to go on from there, see: drivescope runs show {id} --runs-dir {runs}")
        }
        _ => anyhow!(said),
    }
}

/// Says when the record lies on the drive that is measured. It is written between steps, never in one.
fn warn_of_the_same_drive(runs: &Runs, identity: &DriveIdentity) {
    if identity.kind == DriveKind::Virtual {
        return;
    }
    let Ok(stack) = linux::stack::resolve(&Roots::default(), runs.dir()) else { return };
    let is_measured =
        |leaf: &block::Leaf| identity.leaves.iter().any(|measured| measured.name == leaf.name);
    // Once, also where a command measures several.
    static WARNED: Once = Once::new();
    if stack.leaves.iter().any(is_measured) {
        WARNED.call_once(|| {
            messages::note(
                "recording to the drive that is measured, between runs (see --runs-dir)",
            );
        });
    }
}

/// Identity of the drive of a recorded run.
///
/// # Errors
/// When the record does not contain it.
pub fn identity_of(run: &Run) -> Result<DriveIdentity> {
    let identity = run.envelope.drive.clone();
    let identity = identity.with_context(|| format!("{}: does not name its drive", run.id))?;
    DriveIdentity::decode(identity).with_context(|| format!("{}: does not name its drive", run.id))
}

/// Document of a recorded run of form `schema`; `None` when the run has no result.
///
/// # Errors
/// When it is not in the form of this version.
pub fn document_of<B: Decode>(run: &Run, schema: &str) -> Result<Option<Document<B>>> {
    let Some(document) = run.document.clone() else { return Ok(None) };
    let read = Document::decode(document);
    read.map(Some).with_context(|| format!("{}: its document.json is not a {schema}", run.id))
}

//! The record of a measurement that is made of steps: what probing and replaying share.

use std::path::Path;

use anyhow::{Context as _, Result};
use block::{DriveIdentity, WallClock as _};
use documents::Decode;
use record::{
    Document, Envelope, Head, RecordError, Run, RunId, RunWriter, Runs, SampleRow, SamplesFormat,
    State, StepEntry, Summary,
};
use serde::Serialize;
use serde_json::Value;

use crate::args::KeepArgs;
use crate::envelope::SystemClock;
use crate::{engines, recording, talk};

/// What a record begins with.
pub struct Beginning<'a> {
    /// The plan as text.
    pub plan: String,
    /// What the plan does not say, and going on needs.
    pub setup: Value,
    /// How many steps there will be.
    pub steps: Option<u32>,
    /// The drives; the first names the run's.
    pub drives: &'a [&'a DriveIdentity],
}

/// Keeps what a measurement leaves in its run directory. The first failure ends the record and not the measurement.
pub struct Keeping {
    writer: Option<RunWriter>,
    trouble: Option<RecordError>,
    /// What goes on without a record, such as `probing`.
    what: &'static str,
}

impl Keeping {
    /// Begins a record, where one is to be kept; completes `envelope` with the drive.
    ///
    /// # Errors
    /// When the place that the user named cannot be written to.
    pub fn begin(
        keep: &KeepArgs,
        envelope: &mut Envelope,
        mut beginning: Beginning<'_>,
        what: &'static str,
    ) -> Result<Keeping> {
        if let Some(first) = beginning.drives.first() {
            envelope.drive = Some(serde_json::to_value(first)?);
        }
        let Some((runs, is_asked)) = recording::place(keep)? else {
            return Ok(Keeping::none(what));
        };
        if let Some(refused) = engines::refused() {
            beginning.setup["engine_refused"] = refused;
        }
        match &keep.part_of {
            Some(whole) => beginning.setup["part_of"] = whole.as_str().into(),
            // What it is a part of has told so.
            None => beginning.drives.iter().for_each(|drive| {
                recording::warn_of_the_same_drive(&runs, drive);
            }),
        }
        let head = Head {
            envelope: envelope.clone(),
            begun: SystemClock.now(),
            plan: beginning.plan,
            setup: beginning.setup,
            steps: beginning.steps,
            samples: Some(keep.keep_samples.map_or(SamplesFormat::Parquet, SamplesFormat::from)),
        };
        match runs.create(&head) {
            Ok(writer) => Ok(Keeping::of(writer, what)),
            Err(error) if is_asked => Err(error.into()),
            Err(error) => {
                talk::note(&format!("this run is not recorded: {error}"));
                Ok(Keeping::none(what))
            }
        }
    }

    /// Keeps nothing.
    pub fn none(what: &'static str) -> Keeping {
        Keeping { writer: None, trouble: None, what }
    }

    /// Goes on with a record.
    pub fn of(writer: RunWriter, what: &'static str) -> Keeping {
        Keeping { writer: Some(writer), trouble: None, what }
    }

    /// True while what is told is kept.
    pub fn keeps(&self) -> bool {
        self.writer.is_some() && self.trouble.is_none()
    }

    /// Keeps anything else, under the name of its kind. A record that has such a note stays, whatever comes.
    pub fn note(&mut self, kind: &str, payload: &Value) {
        let Some(writer) = self.writer.as_mut().filter(|_| self.trouble.is_none()) else { return };
        if let Err(error) = writer.note(kind, payload) {
            self.broken(error);
        }
    }

    fn broken(&mut self, error: RecordError) {
        talk::note(&format!("the record ends here, and the {} goes on: {error}", self.what));
        self.trouble = Some(error);
    }

    /// Keeps a step: its name and figures, and single I/Os beside it.
    pub fn step(
        &mut self,
        position: u32,
        name: &str,
        figures: &impl Serialize,
        rows: Vec<SampleRow>,
    ) {
        if self.trouble.is_some() {
            return;
        }
        if let Err(error) = self.write(position, name, figures, rows) {
            self.broken(error);
        }
    }

    fn write(
        &mut self,
        position: u32,
        name: &str,
        figures: &impl Serialize,
        rows: Vec<SampleRow>,
    ) -> Result<(), RecordError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        if !rows.is_empty() {
            // A failure is told when the record is closed; no step is lost by it.
            let _ = writer.samples(position, &mut rows.into_iter());
        }
        let figures = serde_json::to_value(figures)
            .map_err(|source| RecordError::Json { what: "step", source })?;
        writer.step(&StepEntry {
            position,
            step: name.to_owned(),
            run: 0,
            counted: true,
            series: Vec::new(),
            histograms: Vec::new(),
            figures,
        })
    }

    /// Ends the record; the run's name when it is whole.
    ///
    /// # Errors
    /// When it is not.
    pub fn close<B: Serialize>(
        mut self,
        document: &Document<B>,
        state: State,
        summary: &Summary,
    ) -> Result<Option<RunId>> {
        if let Some(trouble) = self.trouble.take() {
            return Err(recording::not_whole(trouble));
        }
        let Some(mut writer) = self.writer.take() else { return Ok(None) };
        recording::note_stop(&mut writer, state).map_err(recording::not_whole)?;
        let saved = writer.finish(document, state, summary).map_err(recording::not_whole)?;
        for (position, why) in &saved.samples_lost {
            talk::note(&format!("the single I/Os of step {position} are not recorded: {why}"));
        }
        Ok(Some(saved.id))
    }
}

/// What was begun and came to nothing, as when the first step showed that it is not possible, leaves no record.
impl Drop for Keeping {
    fn drop(&mut self) {
        self.writer.take().into_iter().for_each(withdraw_untouched);
    }
}

/// Takes back a record that nothing came into: it could not be shown, and would be the last run.
pub fn withdraw_untouched(writer: RunWriter) {
    if !writer.is_untouched() {
        return;
    }
    let (id, place) = (writer.id().clone(), writer.dir().parent().map(Path::to_path_buf));
    // Its lock goes with it.
    drop(writer);
    let removed = place.map(|place| Runs::at(place).remove(&id));
    if let Some(Err(error)) = removed {
        talk::note(&format!("the run {id} holds nothing, and could not be removed: {error}"));
    }
}

/// The document of a recorded run, whose form is `form`; none when the run has not come to its end.
///
/// # Errors
/// When it is not in the form of this version.
pub fn of_record<B: Decode>(run: &Run, form: &str) -> Result<Option<Document<B>>> {
    let Some(document) = run.document.clone() else { return Ok(None) };
    let read = Document::decode(document);
    read.map(Some).with_context(|| format!("{}: its document.json is no {form}", run.id))
}

//! The record of a probing: a step for each probe, with every single I/O beside it.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use block::{DriveIdentity, Event, RunSink};
use engine::Sample;
use probe::capacity::Kept;
use probe::chain::Done;
use probe::{Body, Keeper, Plan};
use record::{Document, Envelope, Run, RunId, RunWriter, SampleRow, State, Summary};
use serde_json::json;

use super::originals::Saving;
use crate::args::KeepArgs;
use crate::envelope::{SystemClock, envelope};
use crate::keeping::{Beginning, Keeping};
use crate::progress::Progress;
use crate::{recording, talk};

/// Keeps what a probing leaves in its run directory, and shows how it goes.
pub struct ProbeRecord {
    keeping: Keeping,
    /// I/Os of the probe that is at work.
    rows: Vec<SampleRow>,
    position: u32,
    progress: Progress,
    /// Saves the data that a probe overwrites and puts back.
    saving: Option<Saving>,
}

/// What goes on when the record does not.
const WHAT: &str = "probing";

impl ProbeRecord {
    /// Begins the record of a probing, where one is to be kept; completes `envelope` with the drive. Noted are what
    /// the user called it, the seed that a virtual drive's own noise took from the user's, and where original data is
    /// saved.
    ///
    /// # Errors
    /// When the place that the user named cannot be written to.
    pub fn begin(
        keep: &KeepArgs,
        envelope: &mut Envelope,
        plan: &Plan,
        (verb, drive_seed, saved_in): (&str, Option<u64>, Option<&Path>),
        identity: &DriveIdentity,
        progress: Progress,
    ) -> Result<ProbeRecord> {
        let drive = recording::words(identity);
        let mut setup = json!({
            "verb": verb, "target": identity.name, "drive": drive, "drive_seed": drive_seed,
        });
        if let Some(dir) = saved_in {
            setup["originals"] = dir.to_string_lossy().into();
        }
        let beginning = Beginning {
            plan: plan.to_toml().context("the plan has no text form")?,
            setup,
            steps: u32::try_from(plan.tasks.len()).ok(),
            drives: &[identity],
        };
        let keeping = Keeping::begin(keep, envelope, beginning, WHAT)?;
        Ok(ProbeRecord { keeping, rows: Vec::new(), position: 0, progress, saving: None })
    }

    /// Goes on with the record of a probing on the same drive.
    ///
    /// # Errors
    /// When `identity` is another drive, or when the record cannot be written to.
    pub fn go_on(
        mut writer: RunWriter,
        run: &Run,
        identity: &DriveIdentity,
        progress: Progress,
    ) -> Result<ProbeRecord> {
        if let Some(difference) = recording::identity_of(run)?.difference(identity) {
            bail!(
                "{}: is not the drive of the record: {difference}; connect that one, name where it is now as TARGET, or begin a new run",
                identity.name
            );
        }
        talk::note(&format!(
            "going on with {} after {}",
            run.id,
            report::number::counted(run.steps.len(), "probe")
        ));
        let now = envelope(&run.envelope.schema, run.id.clone(), &SystemClock);
        writer.note(recording::RESUMED, &serde_json::to_value(now)?)?;
        let (keeping, position) = (Keeping::of(writer, WHAT), run.steps.len() as u32);
        Ok(ProbeRecord { keeping, rows: Vec::new(), position, progress, saving: None })
    }

    /// Has what a probe overwrites saved by `saving`.
    pub fn saves(&mut self, saving: Saving) {
        self.saving = Some(saving);
    }

    /// Ends the record; the run's name when it is whole.
    ///
    /// # Errors
    /// When it is not.
    pub fn close(
        self,
        document: &Document<Body>,
        state: State,
        summary: &Summary,
    ) -> Result<Option<RunId>> {
        drop(self.progress);
        self.keeping.close(document, state, summary)
    }
}

impl RunSink for ProbeRecord {
    fn event(&mut self, event: &Event) {
        self.progress.event(event);
    }
}

impl Keeper for ProbeRecord {
    fn samples(&mut self, part: &str, samples: &[Sample]) {
        if self.keeping.keeps() {
            self.rows.extend(samples.iter().map(|sample| recording::row(part, 0, sample)));
        }
    }

    fn finished(&mut self, done: &Done) {
        let rows = std::mem::take(&mut self.rows);
        self.keeping.step(self.position, &done.probe, done, rows);
        self.position += 1;
    }

    fn secure(&mut self, salt: u64, kept: &Kept) -> Result<(), String> {
        self.saving.as_mut().map_or(Ok(()), |saving| saving.secure(salt, kept))
    }

    fn restored(&mut self, is_whole: bool) {
        if let Some(saving) = &mut self.saving {
            saving.restored(is_whole);
        }
    }
}

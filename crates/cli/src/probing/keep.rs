//! The record of a probing: a step for each probe, with every single I/O beside it.

use anyhow::{Context as _, Result, bail};
use block::{DriveIdentity, Event, RunSink, WallClock as _};
use engine::Sample;
use probe::chain::Done;
use probe::{Body, Keeper, Plan};
use record::{
    Document, Envelope, Head, RecordError, Run, RunId, RunWriter, SampleRow, SamplesFormat, State,
    StepEntry, Summary,
};
use serde_json::json;

use crate::args::KeepArgs;
use crate::envelope::{SystemClock, envelope};
use crate::progress::Progress;
use crate::{recording, talk};

/// Keeps what a probing leaves in its run directory, and shows how it goes.
pub struct ProbeRecord {
    writer: Option<RunWriter>,
    /// The first failure: the record ends there, and the probing goes on.
    trouble: Option<RecordError>,
    /// I/Os of the probe that is at work.
    rows: Vec<SampleRow>,
    position: u32,
    progress: Progress,
}

impl ProbeRecord {
    /// Begins the record of a probing, where one is to be kept; completes `envelope` with the drive. Noted are what
    /// the user called it and the seed that a virtual drive's own noise took from the user's.
    ///
    /// # Errors
    /// When the place that the user named cannot be written to.
    pub fn begin(
        keep: &KeepArgs,
        envelope: &mut Envelope,
        plan: &Plan,
        (verb, drive_seed): (&str, Option<u64>),
        identity: &DriveIdentity,
        progress: Progress,
    ) -> Result<ProbeRecord> {
        envelope.drive = Some(serde_json::to_value(identity)?);
        let mut record =
            ProbeRecord { writer: None, trouble: None, rows: Vec::new(), position: 0, progress };
        let Some((runs, is_asked)) = recording::place(keep)? else { return Ok(record) };
        recording::warn_of_the_same_drive(&runs, identity);
        let drive = recording::words(identity);
        let head = Head {
            envelope: envelope.clone(),
            begun: SystemClock.now(),
            plan: plan.to_toml().context("the plan has no text form")?,
            setup: json!({
                "verb": verb, "target": identity.name, "drive": drive, "drive_seed": drive_seed,
            }),
            steps: u32::try_from(plan.tasks.len()).ok(),
            samples: Some(keep.keep_samples.map_or(SamplesFormat::Parquet, SamplesFormat::from)),
        };
        match runs.create(&head) {
            Ok(writer) => record.writer = Some(writer),
            Err(error) if is_asked => return Err(error.into()),
            Err(error) => talk::note(&format!("this run is not recorded: {error}")),
        }
        Ok(record)
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
                "{}: is not the drive of the record: {difference}; connect that one, or begin a new run",
                identity.name
            );
        }
        talk::note(&format!("going on with {} after {} probes", run.id, run.steps.len()));
        let now = envelope(&run.envelope.schema, run.id.clone(), &SystemClock);
        writer.note("resumed", &serde_json::to_value(now)?)?;
        let position = run.steps.len() as u32;
        Ok(ProbeRecord {
            writer: Some(writer),
            trouble: None,
            rows: Vec::new(),
            position,
            progress,
        })
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
        if let Some(trouble) = self.trouble {
            return Err(trouble).context("the result above is whole, and its record is not");
        }
        let Some(writer) = self.writer else { return Ok(None) };
        let saved = writer
            .finish(document, state, summary)
            .context("the result above is whole, and its record is not")?;
        for (position, why) in &saved.samples_lost {
            talk::note(&format!("the single I/Os of probe {position} are not recorded: {why}"));
        }
        Ok(Some(saved.id))
    }

    fn step(&mut self, done: &Done) -> Result<(), RecordError> {
        let rows = std::mem::take(&mut self.rows);
        let Some(writer) = &mut self.writer else { return Ok(()) };
        // A failure is told when the record is closed; no step is lost by it.
        let _ = writer.samples(self.position, &mut rows.into_iter());
        let figures = serde_json::to_value(done)
            .map_err(|source| RecordError::Json { what: "step", source })?;
        writer.step(&StepEntry {
            position: self.position,
            step: done.probe.clone(),
            run: 0,
            counted: true,
            series: Vec::new(),
            histograms: Vec::new(),
            figures,
        })
    }
}

impl RunSink for ProbeRecord {
    fn event(&mut self, event: &Event) {
        self.progress.event(event);
    }
}

impl Keeper for ProbeRecord {
    fn samples(&mut self, part: &str, samples: &[Sample]) {
        if self.writer.is_none() || self.trouble.is_some() {
            return;
        }
        self.rows.extend(samples.iter().map(|sample| recording::row(part, 0, sample)));
    }

    fn finished(&mut self, done: &Done) {
        if self.trouble.is_none()
            && let Err(error) = self.step(done)
        {
            talk::note(&format!("the record ends here, and the probing goes on: {error}"));
            self.trouble = Some(error);
        }
        self.position += 1;
    }
}

//! From what the runs of a measurement leave to the record: the glue between instrument and run
//! directory.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use block::{DriveIdentity, DriveKind, Event, Op, RunSink, WallClock as _};
use engine::{Sample, Samples};
use linux::sysfs::Roots;
use mark::{Earlier, Keeper, Kept, TracedRun};
use record::{
    Document, Head, PhaseHistogram, PhaseSeries, RecordError, Run, RunId, RunWriter, Runs,
    SampleRow, State, StepEntry, Summary,
};
use serde::Serialize;
use workload::plan::Plan;

use crate::args::{KeepArgs, PlaceArgs};
use crate::envelope::{SystemClock, envelope};
use crate::progress::Progress;
use crate::samples::SamplesFile;
use crate::setup::Setup;
use crate::talk;

/// The directory of recorded runs that the flags or the environment name.
pub fn runs_dir(place: &PlaceArgs) -> Option<PathBuf> {
    let variable = |name: &str| -> Option<OsString> { std::env::var_os(name) };
    place.runs_dir.clone().or_else(|| record::default_dir(variable))
}

/// The recorded runs.
///
/// # Errors
/// When nothing says where they are.
pub fn runs(place: &PlaceArgs) -> Result<Runs> {
    let dir = runs_dir(place)
        .context("no home directory is known to look for runs in; name one with --runs-dir")?;
    Ok(Runs::at(dir))
}

/// What is to become of a measurement.
pub enum Course {
    /// A new run.
    New,
    /// A recorded run goes on.
    Resumed(RunId),
    /// A recorded run is made again, on the same drive.
    Repeated(Box<DriveIdentity>),
}

/// Keeps what a measurement leaves, in its run directory and in the user's samples file.
pub struct Recording {
    store: Store,
    schema: &'static str,
    run_id: RunId,
    setup: Setup,
    course: Course,
    samples: Option<SamplesFile>,
    progress: Progress,
}

enum Store {
    /// Nothing is recorded.
    Off,
    /// To be opened when the target is known. `is_asked` when the user named the place.
    Closed {
        runs: Runs,
        is_asked: bool,
    },
    Open(Box<Open>),
}

struct Open {
    writer: RunWriter,
    /// The first failure: the record ends there, and the measurement goes on.
    trouble: Option<RecordError>,
}

/// What is said when the record of a measurement is closed.
pub struct Closed {
    /// The run, when it is recorded.
    pub id: Option<RunId>,
    /// Why it is not, or not to its end.
    pub trouble: Option<anyhow::Error>,
}

impl Recording {
    /// Prepares to record under `schema`. Finds out now, before anything is measured, whether runs can
    /// be kept.
    ///
    /// # Errors
    /// When the place that the user named cannot be used. Where only the usual place cannot, the user
    /// is told and nothing is recorded.
    pub fn prepare(
        keep: &KeepArgs,
        schema: &'static str,
        run_id: RunId,
        setup: Setup,
        course: Course,
    ) -> Result<Recording> {
        let is_asked = keep.place.runs_dir.is_some()
            || keep.keep_samples.is_some()
            || std::env::var_os("DRIVESCOPE_RUNS_DIR").is_some_and(|dir| !dir.is_empty())
            || matches!(course, Course::Resumed(_));
        let store = match runs_dir(&keep.place) {
            _ if keep.no_record => Store::Off,
            None if is_asked => {
                bail!("no home directory is known to keep runs in; name one with --runs-dir")
            }
            None => {
                talk::note(
                    "no home directory is known, so this run is not recorded; --runs-dir names a place",
                );
                Store::Off
            }
            Some(dir) => {
                let runs = Runs::at(dir);
                match runs.prepare() {
                    Ok(()) => Store::Closed { runs, is_asked },
                    Err(error) if is_asked => return Err(error).context("runs cannot be kept"),
                    Err(error) => {
                        talk::note(&format!(
                            "this run is not recorded: {error}; --runs-dir names another place"
                        ));
                        Store::Off
                    }
                }
            }
        };
        let progress = Progress::new(false);
        Ok(Recording { store, schema, run_id, setup, course, samples: None, progress })
    }

    /// Also writes single I/Os to `samples`, and shows how it goes on `progress`.
    pub fn with(self, samples: Option<SamplesFile>, progress: Progress) -> Recording {
        Recording { samples, progress, ..self }
    }

    /// Names the run: that of the record that it goes on with, or its own.
    pub fn run_id(&self) -> RunId {
        match &self.course {
            Course::Resumed(id) => id.clone(),
            _ => self.run_id.clone(),
        }
    }

    /// Asks whether this is the drive that a recorded run is of, when one goes on or is repeated: before
    /// its plan is held against the drive, for a plan that does not fit is not what is wrong then.
    ///
    /// # Errors
    /// When it is another one.
    pub fn check_drive(&self, identity: &DriveIdentity) -> Result<()> {
        match (&self.course, &self.store) {
            (Course::Repeated(then), _) => same_drive(then, identity),
            (Course::Resumed(id), Store::Closed { runs, .. }) => {
                same_drive(&identity_of(&runs.load(id)?)?, identity)
            }
            _ => Ok(()),
        }
    }

    /// Opens the record of `plan` on the drive that `identity` names, before the first run; returns
    /// the runs that were made earlier.
    ///
    /// # Errors
    /// When the drive is not the one that the record is of, or when the record cannot be written.
    pub fn begin(&mut self, plan: &Plan, identity: &DriveIdentity) -> Result<Earlier> {
        self.check_drive(identity)?;
        let Store::Closed { runs, is_asked } = std::mem::replace(&mut self.store, Store::Off)
        else {
            return Ok(Earlier::default());
        };
        warn_of_the_same_drive(&runs, identity);
        if let Course::Resumed(id) = &self.course {
            let (mut writer, run) = runs.resume(id)?;
            let earlier = earlier(&run, identity.kind)?;
            let now = envelope(self.schema, id.clone(), &SystemClock);
            writer.note("resumed", &serde_json::to_value(now)?)?;
            talk::note(&format!("going on with {id} after {} runs", earlier.runs.len()));
            self.store = Store::Open(Box::new(Open { writer, trouble: None }));
            return Ok(earlier);
        }
        self.setup.drive = Some(words(identity));
        let mut envelope = envelope(self.schema, self.run_id.clone(), &SystemClock);
        envelope.drive = Some(serde_json::to_value(identity)?);
        let head = Head {
            envelope,
            begun: SystemClock.now(),
            plan: plan.to_toml()?,
            setup: serde_json::to_value(&self.setup)?,
            steps: steps(plan),
            samples: self.setup.samples,
        };
        match runs.create(&head) {
            Ok(writer) => self.store = Store::Open(Box::new(Open { writer, trouble: None })),
            Err(error) if is_asked => return Err(error.into()),
            Err(error) => talk::note(&format!("this run is not recorded: {error}")),
        }
        Ok(Earlier::default())
    }

    /// Keeps the result. What went wrong is returned and not an error here: the result is shown first.
    pub fn close<B: Serialize>(
        self,
        document: &Document<B>,
        state: State,
        summary: &Summary,
    ) -> Closed {
        drop(self.progress);
        let samples = self.samples.map_or(Ok(()), SamplesFile::finish);
        let (id, recorded) = match self.store {
            Store::Off | Store::Closed { .. } => (None, Ok(())),
            Store::Open(open) => match open.trouble {
                Some(error) => (Some(open.writer.id().clone()), Err(error)),
                None => match open.writer.finish(document, state, summary) {
                    Ok(saved) => {
                        for (position, why) in &saved.samples_lost {
                            talk::note(&format!(
                                "the single I/Os of run {position} are not recorded: {why}"
                            ));
                        }
                        (Some(saved.id), Ok(()))
                    }
                    Err(error) => (Some(self.run_id), Err(error)),
                },
            },
        };
        let recorded = recorded.context("the result above is whole, and its record is not");
        Closed { id, trouble: recorded.and(samples).err() }
    }
}

impl RunSink for Recording {
    fn event(&mut self, event: &Event) {
        self.progress.event(event);
        if let Store::Open(open) = &mut self.store {
            open.writer.event(event);
        }
    }
}

impl Keeper for Recording {
    fn over(&mut self, kept: &Kept, samples: &Samples) {
        let Store::Open(open) = &mut self.store else { return };
        if open.trouble.is_some() {
            return;
        }
        let written = entry(kept, samples)
            .map_err(|source| RecordError::Json { what: "step", source })
            .and_then(|entry| open.writer.step(&entry));
        if let Err(error) = written {
            talk::note(&format!("the record ends here, and the measurement goes on: {error}"));
            open.trouble = Some(error);
        }
    }

    fn traced(&mut self, run: TracedRun) {
        if let Some(file) = &mut self.samples {
            file.write(&run);
        }
        let Store::Open(open) = &mut self.store else { return };
        if open.trouble.is_some() || self.setup.samples.is_none() {
            return;
        }
        let mut rows = run.samples.iter().map(|sample| row(&run, sample));
        // A failure is told when the record is closed; no step is lost by it.
        let _ = open.writer.samples(run.position, &mut rows);
    }
}

fn row(run: &TracedRun, sample: &Sample) -> SampleRow {
    SampleRow {
        step: run.step.clone(),
        run: run.run,
        submitter: sample.submitter,
        op: sample.op,
        offset: sample.offset,
        len: sample.len,
        intended_ns: sample.intended.0,
        issued_ns: sample.issued.0,
        completed_ns: sample.completed.0,
    }
}

/// A run that is over, as the record has it.
fn entry(kept: &Kept, samples: &Samples) -> serde_json::Result<StepEntry> {
    // Instants of all steps count from the beginning of the mark.
    let origin = kept.at_ns.saturating_sub(samples.elapsed.0);
    let mut series = Vec::with_capacity(samples.phases.len());
    let mut histograms = Vec::new();
    for phase in &samples.phases {
        let began_ns = origin + phase.began.0;
        series.push(PhaseSeries {
            phase: phase.name.clone(),
            measured: phase.measured,
            began_ns,
            slice_ns: phase.series.slice.0,
            ios: phase.series.ios.clone(),
            bytes: phase.series.bytes.clone(),
        });
        for op in phase.ops.iter().filter(|op| !op.latency.is_empty()) {
            histograms.push(PhaseHistogram {
                phase: phase.name.clone(),
                op: word(op.op).to_owned(),
                began_ns,
                window_ns: phase.window.0,
                max_ns: op.latency.max().unwrap_or(0),
                encoded: op.latency.to_hdr_text().map_err(serde::ser::Error::custom)?,
            });
        }
    }
    Ok(StepEntry {
        position: kept.position,
        step: kept.step.clone(),
        run: kept.run,
        counted: kept.counted,
        series,
        histograms,
        figures: serde_json::to_value(kept)?,
    })
}

fn word(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Flush => "flush",
        Op::Discard => "discard",
    }
}

/// The runs that a record holds.
fn earlier(run: &Run, kind: DriveKind) -> Result<Earlier> {
    let kept = |step: &StepEntry| {
        serde_json::from_value::<Kept>(step.figures.clone()).with_context(|| {
            format!("{}: step {} is not in the form of this version", run.id, step.position)
        })
    };
    let runs = run.steps.iter().map(kept).collect::<Result<Vec<Kept>>>()?;
    Ok(Earlier { runs, replay: kind == DriveKind::Virtual })
}

/// Who the drive of a recorded run is.
///
/// # Errors
/// When the record does not tell.
pub fn identity_of(run: &Run) -> Result<DriveIdentity> {
    let told = run.envelope.drive.clone();
    let told = told.with_context(|| format!("{}: does not tell which drive it is of", run.id))?;
    serde_json::from_value(told)
        .with_context(|| format!("{}: does not tell which drive it is of", run.id))
}

fn same_drive(then: &DriveIdentity, now: &DriveIdentity) -> Result<()> {
    match then.difference(now) {
        None => Ok(()),
        Some(difference) => bail!(
            "{}: is not the drive of the record: {difference}; connect that one, or begin a new run",
            now.name
        ),
    }
}

/// The drive in a few words.
fn words(identity: &DriveIdentity) -> String {
    let leaf = |leaf: &block::LeafIdentity| {
        leaf.model.as_deref().map_or(leaf.name.clone(), |model| model.trim().to_owned())
    };
    match identity.kind {
        DriveKind::Virtual | DriveKind::Null => identity.name.clone(),
        _ => identity.leaves.iter().map(leaf).collect::<Vec<_>>().join(", "),
    }
}

/// Says when the record lies on the drive that is measured. It is written between runs, never in one.
fn warn_of_the_same_drive(runs: &Runs, identity: &DriveIdentity) {
    if identity.kind == DriveKind::Virtual {
        return;
    }
    let Ok(stack) = linux::stack::resolve(&Roots::default(), runs.dir()) else { return };
    let is_measured =
        |leaf: &block::Leaf| identity.leaves.iter().any(|measured| measured.name == leaf.name);
    if stack.leaves.iter().any(is_measured) {
        talk::note(&format!(
            "the record is written to the drive that is measured, between runs; to keep it elsewhere, \
             give --runs-dir instead of {}",
            runs.dir().display()
        ));
    }
}

/// Positions of the schedule, where they are known beforehand.
fn steps(plan: &Plan) -> Option<u32> {
    let schedule = workload::schedule::schedule(plan);
    (!schedule.is_endless()).then(|| schedule.len_known())
}

//! From what the runs of a measurement leave to the record: the glue between instrument and run
//! directory.

mod place;

use std::sync::Once;

use anyhow::{Context as _, Result, anyhow, bail};
use block::quoted;
use block::{DriveIdentity, DriveKind, Event, RunSink, WallClock as _};
use documents::Decode as _;
use engine::{Sample, Samples};
use linux::sysfs::Roots;
use mark::compare::RunLatencies;
use mark::{Earlier, Executed, FailedRun, Keeper, Kept, TracedRun};
use record::{
    Document, Envelope, Head, PhaseHistogram, PhaseSeries, RecordError, Run, RunId, RunWriter,
    Runs, SampleRow, State, StepEntry, Summary,
};
use serde::Serialize;
use serde_json::{Value, json};
use stats::histogram::LatencyBins;
use workload::plan::Plan;

use crate::args::KeepArgs;
use crate::envelope::{SystemClock, envelope};
use crate::keeping::withdraw_untouched;
use crate::live::Watch;
use crate::progress::Progress;
use crate::samples::SamplesFile;
use crate::setup::Setup;
use crate::talk;
use crate::turns::Turn;

pub use place::{place, runs};

/// What is to become of a measurement.
pub enum Course {
    /// A new run.
    New,
    /// A recorded run goes on; its lock is held.
    Resumed(Box<(RunWriter, Run)>),
    /// A recorded run is made again, on the same drive.
    Repeated(Box<DriveIdentity>),
}

/// Keeps what a measurement leaves, in its run directory and in the user's samples file.
pub struct Recording {
    store: Store,
    /// Of the run: made when it began.
    envelope: Envelope,
    setup: Setup,
    /// The drive that it has to be.
    expected: Option<DriveIdentity>,
    samples: Option<SamplesFile>,
    /// Single I/Os beyond the cap.
    dropped: u64,
    progress: Progress,
    /// Judges what there is so far, for a live view.
    watch: Option<Watch>,
    /// Its place among others, and how many runs a block has.
    turn: Option<(Turn, u32)>,
    /// What the runs of one among others took, for whoever holds them against each other.
    latencies: RunLatencies,
}

enum Store {
    /// Nothing is recorded.
    Off,
    /// To be made when the target is known. `is_asked` when the user named the place.
    New {
        runs: Runs,
        is_asked: bool,
    },
    /// To be gone on with when the target is known to be the same.
    Resumed(Box<(RunWriter, Run)>),
    Open(Box<Open>),
}

struct Open {
    writer: RunWriter,
    /// The first failure: the record ends there, and the measurement goes on.
    trouble: Option<RecordError>,
    /// The circumstances of a resumption, noted with the first run that it makes: until then the
    /// record stays as it was.
    resumed: Option<Value>,
    /// True when the record says already how the run ended, as it does not of one that was killed.
    had_ended: bool,
}

/// What is said when the record of a measurement is closed.
pub struct Closed {
    /// The run, when it is recorded.
    pub id: Option<RunId>,
    /// Why it is not, or not to its end.
    pub trouble: Option<anyhow::Error>,
    /// The latencies of each run, of a measurement in turns.
    pub latencies: RunLatencies,
}

impl Recording {
    /// Prepares to record a run of this `envelope`. Finds out now, before anything is measured, whether
    /// runs can be kept.
    ///
    /// # Errors
    /// When the place that the user named cannot be used. Where only the usual place cannot, the user
    /// is told and nothing is recorded.
    pub fn prepare(
        keep: &KeepArgs,
        envelope: Envelope,
        setup: Setup,
        course: Course,
    ) -> Result<Recording> {
        let (store, envelope, expected) = match course {
            Course::New => (store(keep)?, envelope, None),
            Course::Repeated(identity) => (store(keep)?, envelope, Some(*identity)),
            Course::Resumed(run) => {
                let (envelope, identity) = (run.1.envelope.clone(), identity_of(&run.1)?);
                (Store::Resumed(run), envelope, Some(identity))
            }
        };
        let progress = Progress::new(false);
        let (samples, dropped, turn, watch) = (None, 0, None, None);
        let latencies = RunLatencies::new();
        Ok(Recording {
            store,
            envelope,
            setup,
            expected,
            samples,
            dropped,
            progress,
            watch,
            turn,
            latencies,
        })
    }

    /// Also writes single I/Os to `samples`, and shows how it goes on `progress`.
    pub fn with(mut self, samples: Option<SamplesFile>, progress: Progress) -> Recording {
        (self.samples, self.progress) = (samples, progress);
        self
    }

    /// True where a live view is shown.
    pub fn is_live(&self) -> bool {
        self.progress.is_live()
    }

    /// Shows from now on what `watch` says after each run.
    pub fn watched(&mut self, watch: Watch) {
        let is_open = watch.plan.schedule.until.is_some();
        self.progress.tell(|model| model.is_open = is_open);
        self.watch = Some(watch);
    }

    /// Waits before each block of runs until it is their turn.
    pub fn in_turns(mut self, turn: Option<&Turn>) -> Recording {
        self.turn = turn.map(|turn| (turn.clone(), 1));
        self
    }

    /// Where, when and by what the run was begun.
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Asks whether this is the drive that a recorded run is of, when one goes on or is repeated: before
    /// anything is written to it, and before the plan is held against it, for a plan that does not fit
    /// is not what is wrong then.
    ///
    /// # Errors
    /// When it is another one.
    pub fn check_drive(&self, identity: &DriveIdentity) -> Result<()> {
        let Some(difference) = self.expected.as_ref().and_then(|then| then.difference(identity))
        else {
            return Ok(());
        };
        bail!(
            "{}: is not the drive of the record: {difference}; connect that one, name where it is now as TARGET, or begin a new run",
            identity.name
        )
    }

    /// Opens the record of `plan` on the drive that `identity` names, before the first run; returns
    /// the runs that were made earlier.
    ///
    /// # Errors
    /// When the drive is not the one that the record is of, or when the record cannot be written.
    pub fn begin(&mut self, plan: &Plan, identity: &DriveIdentity) -> Result<Earlier> {
        self.check_drive(identity)?;
        if let Some((_, runs)) = &mut self.turn {
            *runs = u32::try_from(plan.steps.len()).unwrap_or(u32::MAX).max(1);
        }
        match std::mem::replace(&mut self.store, Store::Off) {
            Store::Resumed(run) => self.go_on(*run, identity.kind),
            Store::New { runs, is_asked } => {
                // What it is a part of has told so.
                if self.setup.part_of.is_none() {
                    warn_of_the_same_drive(&runs, identity);
                }
                self.create(&runs, is_asked, plan, identity)?;
                Ok(Earlier::default())
            }
            Store::Off | Store::Open(_) => {
                self.envelope.drive = Some(serde_json::to_value(identity)?);
                Ok(Earlier::default())
            }
        }
    }

    fn go_on(&mut self, (writer, run): (RunWriter, Run), kind: DriveKind) -> Result<Earlier> {
        let earlier = earlier(&run, kind)?;
        talk::note(&format!(
            "going on with {} after {}",
            run.id,
            report::number::counted(earlier.runs.len(), "run")
        ));
        let had_ended = run.is_ended();
        let now = envelope(&self.envelope.schema, run.id, &SystemClock);
        let resumed = Some(serde_json::to_value(now)?);
        self.store = Store::Open(Box::new(Open { writer, trouble: None, resumed, had_ended }));
        Ok(earlier)
    }

    fn create(
        &mut self,
        runs: &Runs,
        is_asked: bool,
        plan: &Plan,
        identity: &DriveIdentity,
    ) -> Result<()> {
        self.setup.drive = Some(words(identity));
        self.envelope.drive = Some(serde_json::to_value(identity)?);
        let head = Head {
            envelope: self.envelope.clone(),
            begun: SystemClock.now(),
            plan: plan.to_toml()?,
            setup: serde_json::to_value(&self.setup)?,
            steps: steps(plan),
            samples: self.setup.samples,
        };
        match runs.create(&head) {
            Ok(writer) => {
                let open = Open { writer, trouble: None, resumed: None, had_ended: false };
                self.store = Store::Open(Box::new(open));
            }
            Err(error) if is_asked => return Err(error.into()),
            Err(error) => talk::note(&format!("this run is not recorded: {error}")),
        }
        Ok(())
    }

    /// Keeps the result, and beside it what the caller notes. What went wrong is returned and not an
    /// error here: the result is shown first.
    pub fn close<B: Serialize>(
        mut self,
        document: &Document<B>,
        state: State,
        summary: &Summary,
        notes: &[(&str, Value)],
    ) -> Closed {
        self.progress = Progress::new(false);
        if self.dropped > 0 {
            let dropped = self.dropped;
            talk::note(&format!("{dropped} single I/Os beyond --samples-max were left out"));
        }
        let samples = self.samples.take().map_or(Ok(()), SamplesFile::finish);
        let latencies = std::mem::take(&mut self.latencies);
        let Store::Open(open) = std::mem::replace(&mut self.store, Store::Off) else {
            return Closed { id: None, trouble: samples.err(), latencies };
        };
        let id = open.writer.id().clone();
        let recorded = open.finish(document, state, summary, notes);
        let recorded = recorded.map_err(not_whole);
        Closed { id: Some(id), trouble: recorded.and(samples).err(), latencies }
    }
}

/// Says of a result that was shown that its record ended before it, and how to go on from there.
pub fn not_whole(error: RecordError) -> anyhow::Error {
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

/// What was begun and came to nothing leaves no record.
impl Drop for Recording {
    fn drop(&mut self) {
        if let Store::Open(open) = std::mem::replace(&mut self.store, Store::Off) {
            withdraw_untouched(open.writer);
        }
    }
}

impl Open {
    /// Says once that the record ends here.
    fn stop(&mut self, error: RecordError) {
        talk::note(&format!("the record ends here, and the measurement goes on: {error}"));
        self.trouble = Some(error);
    }

    /// Notes a resumption, before the first thing that it adds.
    fn note_resumption(&mut self) -> Result<(), RecordError> {
        match self.resumed.take() {
            Some(circumstances) => self.writer.note(RESUMED, &circumstances),
            None => Ok(()),
        }
    }

    fn finish<B: Serialize>(
        mut self,
        document: &Document<B>,
        state: State,
        summary: &Summary,
        notes: &[(&str, Value)],
    ) -> Result<(), RecordError> {
        if let Some(error) = self.trouble {
            return Err(error);
        }
        if self.resumed.is_some() && self.had_ended && state != State::Finished {
            // Ended before it added anything: the record says already what there is to say.
            return Ok(());
        }
        self.note_resumption()?;
        for (kind, payload) in notes {
            self.writer.note(kind, payload)?;
        }
        note_stop(&mut self.writer, state)?;
        let saved = self.writer.finish(document, state, summary)?;
        for (position, why) in &saved.samples_lost {
            talk::note(&format!("the single I/Os of run {position} are not recorded: {why}"));
        }
        Ok(())
    }
}

/// Where a new run is to be recorded.
fn store(keep: &KeepArgs) -> Result<Store> {
    let place = place(keep)?;
    Ok(place.map_or(Store::Off, |(runs, is_asked)| Store::New { runs, is_asked }))
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
    fn turn(&mut self, position: u32) {
        if let Some((turn, runs)) = &self.turn
            && position.is_multiple_of(*runs)
        {
            turn.take(position / runs);
        }
    }

    fn over(&mut self, kept: &Kept, samples: &Samples) {
        if self.turn.is_some() {
            self.latencies.insert(kept.position, LatencyBins::from(&kept.latencies));
        }
        let Store::Open(open) = &mut self.store else { return };
        if open.trouble.is_some() {
            return;
        }
        let written = open.note_resumption().and_then(|()| {
            let entry = entry(kept, samples);
            let entry = entry.map_err(|source| RecordError::Json { what: "step", source })?;
            open.writer.step(&entry)
        });
        if let Err(error) = written {
            open.stop(error);
        }
    }

    fn stands(&mut self, so_far: &Executed, step: usize) {
        if let Some(watch) = &mut self.watch {
            let facts = watch.facts(so_far, step);
            self.progress.tell(|model| model.facts = facts);
        }
    }

    fn failed(&mut self, run: &FailedRun) {
        let Store::Open(open) = &mut self.store else { return };
        if open.trouble.is_some() {
            return;
        }
        let noted = open.note_resumption().and_then(|()| {
            let run = serde_json::to_value(run);
            let run = run.map_err(|source| RecordError::Json { what: "failed run", source })?;
            open.writer.note(FAILED, &run)
        });
        if let Err(error) = noted {
            open.stop(error);
        }
    }

    fn traced(&mut self, run: TracedRun) {
        self.dropped += run.dropped;
        if let Some(file) = &mut self.samples {
            file.write(&run);
        }
        let Store::Open(open) = &mut self.store else { return };
        if open.trouble.is_some() || self.setup.samples.is_none() {
            return;
        }
        if run.dropped > 0 {
            let left_out = json!({ "position": run.position, "ios": run.dropped });
            let noted = open.note_resumption();
            if let Err(error) =
                noted.and_then(|()| open.writer.note("samples_beyond_cap", &left_out))
            {
                return open.stop(error);
            }
        }
        let mut rows = run.samples.iter().map(|sample| row(&run.step, run.run, sample));
        // A failure is told when the record is closed; no step is lost by it.
        let _ = open.writer.samples(run.position, &mut rows);
    }
}

/// An I/O of a step's `run`, as the record has it.
pub fn row(step: &str, run: u32, sample: &Sample) -> SampleRow {
    SampleRow {
        step: step.to_owned(),
        run,
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
                op: op.op.word().to_owned(),
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

/// Kind of the notes that tell of resumptions.
pub const RESUMED: &str = "resumed";

/// Kind of the note that names the signal that ended a run early.
const STOPPED: &str = "stopped";

/// Kind of the notes that tell of runs that I/Os failed in.
const FAILED: &str = "failed";

/// The latencies of each run of a recorded mark; none when it is in the form of another version.
pub fn latencies(run: &Run) -> Option<RunLatencies> {
    let of = |kept: &Kept| (kept.position, LatencyBins::from(&kept.latencies));
    Some(kept(run).ok()?.iter().map(of).collect())
}

/// Notes which signal ended a run early, if one did.
///
/// # Errors
/// When it cannot be written.
pub fn note_stop(writer: &mut RunWriter, state: State) -> Result<(), RecordError> {
    let signal = linux::signals::received().filter(|_| state == State::Interrupted);
    let Some(signal) = signal else { return Ok(()) };
    writer.note(STOPPED, &json!({ "signal": linux::signals::name(signal) }))
}

/// The runs that a record holds, in the order made.
///
/// # Errors
/// When they are not in the form of this version.
pub fn kept(run: &Run) -> Result<Vec<Kept>> {
    let kept = |step: &StepEntry| {
        Kept::decode(step.figures.clone()).with_context(|| {
            format!("{}: step {} is not in the form of this version", run.id, step.position)
        })
    };
    run.steps.iter().map(kept).collect()
}

/// What a mark that goes on begins with.
fn earlier(run: &Run, kind: DriveKind) -> Result<Earlier> {
    let failed = |(_, payload): &(String, Value)| {
        FailedRun::decode(payload.clone()).with_context(|| {
            format!("{}: its note of a failed run is not in the form of this version", run.id)
        })
    };
    let runs = kept(run)?;
    let told = run.notes.iter().filter(|(kind, _)| kind == FAILED);
    let failed = told.map(failed).collect::<Result<Vec<FailedRun>>>()?;
    Ok(Earlier { runs, failed, replay: kind == DriveKind::Virtual })
}

/// Who the drive of a recorded run is.
///
/// # Errors
/// When the record does not tell.
pub fn identity_of(run: &Run) -> Result<DriveIdentity> {
    let told = run.envelope.drive.clone();
    let told = told.with_context(|| format!("{}: does not tell which drive it is of", run.id))?;
    DriveIdentity::decode(told)
        .with_context(|| format!("{}: does not tell which drive it is of", run.id))
}

/// The drive in a few words.
pub fn words(identity: &DriveIdentity) -> String {
    let leaf = |leaf: &block::LeafIdentity| {
        leaf.model.as_deref().map_or(leaf.name.clone(), |model| model.trim().to_owned())
    };
    match identity.kind {
        DriveKind::Virtual | DriveKind::Null => identity.name.clone(),
        _ => identity.leaves.iter().map(leaf).collect::<Vec<_>>().join(", "),
    }
}

/// Says when the record lies on the drive that is measured. It is written between runs, never in one.
pub fn warn_of_the_same_drive(runs: &Runs, identity: &DriveIdentity) {
    if identity.kind == DriveKind::Virtual {
        return;
    }
    let Ok(stack) = linux::stack::resolve(&Roots::default(), runs.dir()) else { return };
    let is_measured =
        |leaf: &block::Leaf| identity.leaves.iter().any(|measured| measured.name == leaf.name);
    // Once, also where a command measures several.
    static TOLD: Once = Once::new();
    if stack.leaves.iter().any(is_measured) {
        TOLD.call_once(|| {
            talk::note("recording to the drive that is measured, between runs (see --runs-dir)");
        });
    }
}

/// Positions of the schedule, where they are known beforehand.
fn steps(plan: &Plan) -> Option<u32> {
    let schedule = workload::schedule::schedule(plan);
    (!schedule.is_endless()).then(|| schedule.len_known())
}

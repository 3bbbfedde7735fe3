//! From what the runs of a measurement leave to the record: the glue between instrument and run
//! directory.

use anyhow::{Context as _, Result};
use block::{DriveIdentity, DriveKind, Event, RunSink};
use documents::Decode as _;
use engine::Samples;
use live::Progress;
use mark::compare::RunLatencies;
use mark::{Body, Earlier, Executed, FailedRun, Keeper, Kept, TracedRun};
use record::{Document, Envelope, PhaseHistogram, PhaseSeries, Run, StepEntry, Summary};
use runner::instrument::{
    self, AnotherDrive, Ended, Instrument, Outcome, Resumed, Resumption, Running, steps_of,
};
use runner::messages;
use runner::place::{Keep, Place};
use runner::recorder::{Beginning, Noted, Recorder, drive_words, identity_of};
use serde_json::{Value, json};
use stats::histogram::LatencyBins;
use workload::plan::Plan;

use super::samples::SamplesFile;
use super::setup::Setup;
use super::turns::Turn;
use super::watch::Watch;
use crate::sample_row;

/// Mode of a run.
pub enum RunMode {
    /// A new run.
    New,
    /// A recorded run is resumed; its lock is held.
    Resumed(Box<Resumed>),
    /// A recorded run is made again, on the same drive.
    Repeated(Box<DriveIdentity>),
}

/// Keeps what a measurement leaves, in its run directory and in the user's samples file.
pub struct Recording {
    pending: Pending,
    running: Running,
    keep: Keep,
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
    /// Latencies of the runs of a benchmark in turns, for comparisons.
    latencies: RunLatencies,
}

/// The record before the target is known.
enum Pending {
    /// Nothing is to be begun.
    Nothing,
    /// A new record.
    New(Place),
    /// A record that is resumed when the target is known to be the same.
    Resumed(Box<Resumed>),
}

/// The activity that continues without a record.
const NOUN: &str = "measurement";

/// A measurement whose record is closed.
pub struct Closed {
    /// The result.
    pub document: Document<Body>,
    /// Its record.
    pub record: runner::recorder::Closed,
    /// The latencies of each run, of a measurement in turns.
    pub latencies: RunLatencies,
}

impl Recording {
    /// Prepares to record a run of this `envelope`. Finds out now, before anything is measured, whether
    /// runs can be kept.
    ///
    /// # Errors
    /// When the place that the user named cannot be used. Where only the usual place cannot, this prints a note
    /// and records nothing.
    pub fn prepare(
        keep: Keep,
        envelope: Envelope,
        setup: Setup,
        mode: RunMode,
    ) -> Result<Recording> {
        let envelope = Envelope { announced: keep.announced.clone(), ..envelope };
        let new = |keep: &Keep| keep.place().map(|new| new.map_or(Pending::Nothing, Pending::New));
        let (pending, envelope, expected) = match mode {
            RunMode::New => (new(&keep)?, envelope, None),
            RunMode::Repeated(identity) => (new(&keep)?, envelope, Some(*identity)),
            RunMode::Resumed(run) => {
                let (envelope, identity) = (run.run.envelope.clone(), identity_of(&run.run)?);
                (Pending::Resumed(run), envelope, Some(identity))
            }
        };
        Ok(Recording {
            pending,
            running: Running { envelope, recorder: Recorder::none(NOUN) },
            keep,
            setup,
            expected,
            samples: None,
            dropped: 0,
            progress: Progress::new(false),
            watch: None,
            turn: None,
            latencies: RunLatencies::new(),
        })
    }

    /// Also writes single I/Os to `samples`, and reports to `progress`.
    pub fn with(mut self, samples: Option<SamplesFile>, progress: Progress) -> Recording {
        (self.samples, self.progress) = (samples, progress);
        self
    }

    /// Says whether more runs may come than are planned.
    pub fn set_open(&mut self, is_open: bool) {
        self.progress.update(|model| model.is_open = is_open);
    }

    /// Shows the facts of `watch` after each run from now on, where a live view is shown.
    pub fn watched(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    /// Waits before each block of runs until it is their turn.
    pub fn in_turns(mut self, turn: Option<&Turn>) -> Recording {
        self.turn = turn.map(|turn| (turn.clone(), 1));
        self
    }

    /// Checks that this is the drive of the record, when one is resumed or repeated: before
    /// anything is written to it, and before the plan is compared with it, since a plan that does not fit
    /// is not what is wrong then.
    ///
    /// # Errors
    /// When it is another one.
    pub fn check_drive(&self, identity: &DriveIdentity) -> Result<()> {
        let expected = self.expected.as_ref();
        match expected.and_then(|recorded| AnotherDrive::check(recorded, identity)) {
            Some(another) => Err(anyhow::Error::msg(another.message("as TARGET"))),
            None => Ok(()),
        }
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
        self.setup.drive = Some(drive_words(identity));
        let (setup, earlier) = (&self.setup, Earlier::default());
        let in_turns = self.turn.is_some();
        let mut benchmark = Benchmark { plan, identity, setup, in_turns, earlier };
        self.running = match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::Resumed(resumed) => instrument::resume(&mut benchmark, *resumed)?,
            new => {
                let place = if let Pending::New(place) = new { Some(place) } else { None };
                let envelope = self.running.envelope.clone();
                instrument::begin(&benchmark, &self.keep, place, envelope)?
            }
        };
        let earlier = benchmark.earlier;
        if in_turns {
            let of = |kept: &Kept| (kept.position, LatencyBins::from(&kept.latencies));
            self.latencies.extend(earlier.runs.iter().map(of));
        }
        Ok(earlier)
    }

    /// Keeps the result, and beside it what the caller notes. What went wrong is returned and not an
    /// error here: the result is shown first.
    pub fn close(
        mut self,
        outcome: Outcome<Body>,
        summary: impl FnOnce(&Document<Body>) -> Summary,
    ) -> Closed {
        self.progress = Progress::new(false);
        if self.dropped > 0 {
            let dropped = self.dropped;
            messages::note(&format!("{dropped} single I/Os beyond --samples-max were left out"));
        }
        let samples = self.samples.take().map_or(Ok(()), SamplesFile::finish);
        let Ended { document, closed: mut record } = self.running.close(outcome, summary);
        record.failure = record.failure.or(samples.err());
        Closed { document, record, latencies: self.latencies }
    }
}

/// The benchmark as the runner sees it.
struct Benchmark<'a> {
    plan: &'a Plan,
    identity: &'a DriveIdentity,
    setup: &'a Setup,
    in_turns: bool,
    earlier: Earlier,
}

impl Instrument for Benchmark<'_> {
    type Step = Kept;

    fn schema(&self) -> &'static str {
        documents::instrument::MARK
    }

    fn noun(&self) -> &'static str {
        NOUN
    }

    fn beginning(&self) -> Result<Beginning> {
        Ok(Beginning {
            plan: self.plan.to_toml()?,
            setup: serde_json::to_value(self.setup)?,
            steps: steps(self.plan),
            drive: Some(self.identity.clone()),
            samples: self.setup.samples,
        })
    }

    fn resume(&mut self, run: &Run, runs: Vec<Kept>) -> Result<Resumption> {
        let failed = |(_, payload): &(String, Value)| {
            FailedRun::decode(payload.clone()).with_context(|| {
                format!("{}: its note of a failed run is not in the form of this version", run.id)
            })
        };
        let notes = run.notes.iter().filter(|(kind, _)| kind == FAILED);
        let failed = notes.map(failed).collect::<Result<Vec<FailedRun>>>()?;
        let resumption = Resumption::after(runs.len(), "run");
        let replay = self.identity.kind == DriveKind::Virtual;
        self.earlier = Earlier { runs, failed, replay };
        let more = if self.in_turns { vec![(IN_TURNS, true.into())] } else { Vec::new() };
        Ok(Resumption { more, noted: Noted::WithFirstStep, ..resumption })
    }
}

impl RunSink for Recording {
    fn event(&mut self, event: &Event) {
        self.progress.event(event);
        self.running.recorder.event(event);
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
        if self.running.recorder.keeps() {
            self.running.recorder.entry(entry(kept, samples));
        }
    }

    fn stands(&mut self, so_far: &Executed, step: usize) {
        if let Some(watch) = self.watch.as_mut().filter(|_| self.progress.is_live()) {
            let facts = watch.facts(so_far, step);
            self.progress.update(|model| model.facts = facts);
        }
    }

    fn failed(&mut self, run: &FailedRun) {
        self.running.recorder.note(FAILED, run);
    }

    fn traced(&mut self, run: TracedRun) {
        self.dropped += run.dropped;
        if let Some(file) = &mut self.samples {
            file.write(&run);
        }
        if !self.running.recorder.keeps() || self.setup.samples.is_none() {
            return;
        }
        if run.dropped > 0 {
            let left_out = json!({ "position": run.position, "ios": run.dropped });
            self.running.recorder.note("samples_beyond_cap", &left_out);
        }
        let mut rows = run.samples.iter().map(|sample| sample_row(&run.step, run.run, sample));
        self.running.recorder.samples(run.position, &mut rows);
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

/// Field of the note about a resumption: true when the run is still measured in turns with others.
pub const IN_TURNS: &str = "in_turns";

/// Kind of the notes about runs in which I/Os failed.
const FAILED: &str = "failed";

/// The latencies of each run of a recorded mark; none when it is in the form of another version.
pub fn latencies(run: &Run) -> Option<RunLatencies> {
    let of = |kept: &Kept| (kept.position, LatencyBins::from(&kept.latencies));
    Some(kept(run).ok()?.iter().map(of).collect())
}

/// The runs that a record holds, in the order made.
///
/// # Errors
/// When they are not in the form of this version.
pub fn kept(run: &Run) -> Result<Vec<Kept>> {
    steps_of(run)
}

/// Positions of the schedule, where they are known beforehand.
fn steps(plan: &Plan) -> Option<u32> {
    let schedule = workload::schedule::schedule(plan);
    (!schedule.is_endless()).then(|| schedule.len_known())
}

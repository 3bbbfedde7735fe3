//! Makes the runs of a mark in the order of its plan's schedule.

use std::collections::VecDeque;

use block::{Bytes, DriveInfo, EngineKind, Environment, Event, Nanos, RunSink, Time};
use engine::{Control, EngineError, Failure, IoPath, Samples, Way};
use serde::{Deserialize, Serialize};
use stats::{Decision, LatencyHistogram, StopRule, median};
use thiserror::Error;
use workload::plan::{Plan, PlanError, Region, Step};
use workload::schedule::{Slot, schedule};

use crate::body::CONFIDENCE;
use crate::ceiling::Ceiling;
use crate::rest::rest;
use crate::run::{Kept, RunFigures, TracedRun};
use crate::settle::{Settled, Settling};
use crate::write_budget::Shares;

/// Why a mark could not be made.
#[derive(Debug, Error)]
pub enum MarkError {
    /// The plan does not fit the target.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The target failed as a whole.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A step names an engine of the kernel, and the target is not reached by it.
    #[error(
        "{target}: step {step} is to be issued by {engine}, and engines of the kernel only reach files and devices: \
         leave out what names engines, or measure one of those"
    )]
    NoEngine {
        /// The target as the user named it.
        target: String,
        /// The step's name.
        step: String,
        /// The engine.
        engine: EngineKind,
    },
    /// The record of an earlier process does not match this plan on this target.
    #[error(
        "run {run} of {step} does not come out as it is recorded: the record is of another plan, model \
         or version of drivescope; begin a new run"
    )]
    Diverged {
        /// The step's name.
        step: String,
        /// Number of the repetition, from 1.
        run: u32,
    },
}

impl MarkError {
    fn diverged(slot: &Slot, step: &Step) -> MarkError {
        MarkError::Diverged { step: step.name.clone(), run: slot.run + 1 }
    }
}

/// An I/O that ended the mark.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{target}: {failure} (in run {run} of {step})")]
pub struct Broken {
    /// The target as the user named it.
    pub target: String,
    /// The test's step.
    pub step: String,
    /// Number of the repetition, from 1.
    pub run: u32,
    /// The I/O that failed, and its error.
    pub failure: Failure,
}

/// A run that an I/O failed in, as it is kept: the runs beside it were made by a drive that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRun {
    /// Position in the schedule, from 0.
    pub position: u32,
    /// The test's step.
    pub step: String,
    /// Number of the repetition, from 1.
    pub run: u32,
    /// The I/O that failed and its error, in words.
    pub failure: String,
}

impl FailedRun {
    fn new(slot: &Slot, broken: &Broken) -> FailedRun {
        FailedRun {
            position: slot.position,
            step: broken.step.clone(),
            run: broken.run,
            failure: broken.failure.to_string(),
        }
    }
}

/// All runs of one test.
#[derive(Clone, Debug)]
pub struct TestRuns {
    /// Counted runs, in the order made.
    pub runs: Vec<RunFigures>,
    /// Latencies of all counted runs.
    pub latencies: LatencyHistogram,
    /// The tester's own limit, where it was measured.
    pub ceiling: Option<Ceiling>,
}

impl TestRuns {
    /// Share of the tester's own limit that the drive asked of it, where the limit is known: the median of the runs.
    pub fn load(&self) -> Option<f64> {
        let rates: Vec<f64> = self.runs.iter().map(|run| run.run.iops).collect();
        let limit = self.ceiling.map(|ceiling| ceiling.iops).filter(|limit| *limit > 0.0)?;
        Some(median(&rates)? / limit)
    }

    /// Counted runs in whose measured window no I/O finished.
    pub fn empty(&self) -> usize {
        self.runs.iter().filter(|run| run.run.is_empty()).count()
    }

    /// True when I/Os finished in the measured windows of most counted runs, so that their median is a rate. Zero is not a
    /// speed of a drive: it means that the window was too short for it.
    pub fn tells_rate(&self) -> bool {
        2 * self.empty() < self.runs.len()
    }
}

/// Everything that was made of a plan.
#[derive(Clone, Debug)]
pub struct Executed {
    /// By step of the plan.
    pub tests: Vec<TestRuns>,
    /// True when the user ended it early.
    pub interrupted: bool,
    /// The I/O that failed and ended it; the runs before it are kept.
    pub broken: Option<Broken>,
    /// Runs that I/Os failed in, in the order made: those of earlier processes, and the one that ended it.
    pub failed: Vec<FailedRun>,
    /// True when a stop rule's budget ran out before the precision was reached.
    pub out_of_budget: bool,
    /// True when runs were left out, or cut short, so that no more is written than the plan allows.
    pub out_of_write_budget: bool,
    /// How many runs an earlier process had made, when they were not made again.
    pub resumed_after: Option<u32>,
    /// The region that was used.
    pub region: Region,
    /// Bytes that each run wrote, by its position; those that are not counted are among them.
    pub written: Vec<(u32, Bytes)>,
    /// Time on the target's clock from the beginning to the end of the last run.
    pub elapsed: Nanos,
    /// Bytes that all runs read.
    pub read: Bytes,
    /// Latency of small reads some time after the last run, in nanoseconds, where runs wrote.
    pub idle_ns: Option<f64>,
    /// The same from before the first writes, where reads followed on writes and the drive did not come back to it.
    pub before_ns: Option<f64>,
}

impl Executed {
    /// No run of `plan` yet, whose runs use `region`.
    pub fn nothing(plan: &Plan, region: Region) -> Executed {
        let none =
            || TestRuns { runs: Vec::new(), latencies: LatencyHistogram::new(), ceiling: None };
        Executed {
            tests: plan.steps.iter().map(|_| none()).collect(),
            interrupted: false,
            broken: None,
            failed: Vec::new(),
            out_of_budget: false,
            out_of_write_budget: false,
            resumed_after: None,
            region,
            written: Vec::new(),
            elapsed: Nanos::ZERO,
            read: Bytes::ZERO,
            idle_ns: None,
            before_ns: None,
        }
    }
}

/// Receives the progress of the runs, and the record of each when it is over and before the next begins.
pub trait Keeper: RunSink {
    /// The run at this position of the schedule is to begin. To measure several targets in turns, let it wait here.
    fn turn(&mut self, _position: u32) {}

    /// A run is over. `samples` is what `kept` was made of, without its single I/Os.
    fn over(&mut self, kept: &Kept, samples: &Samples);

    /// Receives all results so far, after a run of the step with this index. Does nothing by default.
    fn stands(&mut self, _so_far: &Executed, _step: usize) {}

    /// An I/O of a run failed; the mark ends with it.
    fn failed(&mut self, run: &FailedRun);

    /// The single I/Os of a run, also of one that failed or was ended, when they were asked for: kept
    /// to the end they would fill the memory.
    fn traced(&mut self, run: TracedRun);
}

/// A keeper that keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoKeeper;

impl RunSink for NoKeeper {
    fn event(&mut self, _: &Event) {}
}

impl Keeper for NoKeeper {
    fn over(&mut self, _: &Kept, _: &Samples) {}
    fn failed(&mut self, _: &FailedRun) {}
    fn traced(&mut self, _: TracedRun) {}
}

/// The runs that an earlier process made of the same plan on the same target.
#[derive(Clone, Debug, Default)]
pub struct Earlier {
    /// In the order made, from the first position on without a gap.
    pub runs: Vec<Kept>,
    /// Runs that I/Os failed in, and that are made again.
    pub failed: Vec<FailedRun>,
    /// True for a target that this process created again in the state that it had before the first run (a
    /// virtual drive): the runs are made again, which brings it to the state that the next run is to find,
    /// and must come out as they are kept.
    pub replay: bool,
}

/// How I/O is issued to the target of a mark.
#[derive(Default)]
pub struct Engines<'a> {
    /// By which engine the target itself was opened; none of one that is not reached through the kernel.
    pub own: Option<EngineKind>,
    /// The others that steps name, on the same file or device.
    pub others: Vec<&'a mut (dyn Way + 'static)>,
}

impl Engines<'_> {
    /// The way to issue `step`, where that is not the target's own.
    fn other(&mut self, step: &Step) -> Option<&mut (dyn Way + 'static)> {
        let engine = step.engine.filter(|engine| Some(*engine) != self.own)?;
        self.others.iter_mut().find(|way| way.name() == engine.word()).map(|way| &mut **way)
    }

    /// Asks whether each step of `plan` can be issued as it says.
    fn check(&mut self, plan: &Plan, target: &DriveInfo) -> Result<(), MarkError> {
        for step in &plan.steps {
            let Some(engine) = step.engine.filter(|engine| Some(*engine) != self.own) else {
                continue;
            };
            if self.other(step).is_none() {
                let (target, step) = (target.name.clone(), step.name.clone());
                return Err(MarkError::NoEngine { target, step, engine });
            }
        }
        Ok(())
    }
}

/// Context of the runs of a mark.
pub struct Around<'a> {
    /// How I/O is issued.
    pub engines: Engines<'a>,
    /// The tester's own limit per step ([`crate::ceiling::ceiling`]), or nothing.
    pub ceilings: &'a [Option<Ceiling>],
    /// Runs of an earlier process.
    pub earlier: Earlier,
    /// Cancellation and the trace's limit.
    pub control: Control<'a>,
    /// Receives progress, and keeps records of the runs.
    pub keeper: &'a mut dyn Keeper,
    /// Whether a step is to have more runs than planned.
    pub needs_more: NeedsMore,
}

/// Whether the step with this index of the plan is to have another run beyond the planned ones, by its runs so far and the time
/// at which the last of all ended.
pub type NeedsMore = fn(&Plan, usize, &[RunFigures], Nanos) -> bool;

/// Makes the runs of `plan` on `target` that were not made earlier.
///
/// # Errors
/// [`MarkError`] when the plan cannot be run on the target at all, or when the earlier runs are not how
/// it begins. An I/O that fails ends the mark and is returned in [`Executed::broken`], with the runs
/// made before it.
pub fn execute(
    plan: &Plan,
    target: &mut dyn IoPath,
    environment: &mut dyn Environment,
    around: Around<'_>,
) -> Result<Executed, MarkError> {
    let Around { mut engines, ceilings, earlier, control, keeper, needs_more } = around;
    let region = plan.fit(target.info())?;
    engines.check(plan, target.info())?;
    let mut executed = Executed { failed: earlier.failed, ..Executed::nothing(plan, region) };
    for (test, ceiling) in executed.tests.iter_mut().zip(ceilings) {
        test.ceiling = *ceiling;
    }
    let mut clock = Elapsed { began: target.now(), before: Nanos::ZERO };
    let mut earlier = Queue { runs: earlier.runs.into(), replay: earlier.replay };
    let mut slots = schedule(plan);
    let mut settling = Settling::new(plan, region, target.info().logical_block_bytes);
    let mut shares = Shares::new(plan);
    while let Some(slot) = slots.next_with(&mut |step| {
        shares.within(step).is_some()
            && needs_more(plan, step, &executed.tests[step].runs, executed.elapsed)
    }) {
        let share = shares.within(slot.step);
        shares.begin(slot.step);
        let Some(step) = share else {
            executed.out_of_write_budget = true;
            if plan.schedule.until.is_some() && slot.run >= plan.schedule.planned() {
                break;
            }
            continue;
        };
        let step = &*step;
        let known = earlier.next(&slot, step)?;
        if known.is_none() && executed_enough(plan, &slot, &mut executed, clock.at(target.now())) {
            break;
        }
        if let Some(kept) = known.as_ref().filter(|_| !earlier.replay) {
            (clock.before, executed.elapsed) = (Nanos(kept.at_ns), Nanos(kept.at_ns));
            executed.resumed_after = Some(slot.position + 1);
            let settled = kept.figures.as_ref().and_then(|figures| figures.settled);
            settling.iter_mut().for_each(|settling| settling.resumed(settled));
            executed.out_of_write_budget |= shares.ran(slot.step, kept.figures.as_ref());
            count(&mut executed, slot.step, kept.clone());
            continue;
        }
        keeper.turn(slot.position);
        announce(plan, &slot, step, target.now(), keeper);
        rest(target, plan.schedule.pause, control);
        let wait = |settling: &mut Settling| settling.wait(target, environment, control, keeper);
        let settled = settling.as_mut().map(wait).transpose()?.flatten();
        let seeded = (region, plan.content, slot.seed);
        let mut samples = match engines.other(step) {
            Some(way) => way.run(environment, step, seeded, control, keeper)?,
            None => target.run_step(environment, step, seeded, control, keeper)?,
        };
        if known.is_none() {
            hand_over_trace(&slot, step, &mut samples, keeper);
        }
        if let Some(failure) = samples.failure {
            let target = target.info().name.clone();
            let broken = Broken { target, step: step.name.clone(), run: slot.run + 1, failure };
            note_failure(FailedRun::new(&slot, &broken), earlier.replay, &mut executed, keeper);
            executed.broken = Some(broken);
            break;
        }
        if samples.interrupted {
            executed.interrupted = true;
            // Recorded runs that were still to be replayed count all the same: an interrupted replay loses nothing.
            for kept in known.into_iter().chain(earlier.runs.drain(..)) {
                if let Some(test) = plan.steps.iter().position(|s| s.name == kept.step) {
                    count(&mut executed, test, kept);
                }
            }
            break;
        }
        settling.iter_mut().for_each(|settling| settling.ran(step));
        let kept = keep(&slot, step, &samples, (clock.at(target.now()), settled));
        tell(&kept, keeper);
        match known {
            None => keeper.over(&kept, &samples),
            Some(known) if known == kept => {}
            Some(_) => return Err(MarkError::diverged(&slot, step)),
        }
        executed.elapsed = Nanos(kept.at_ns);
        executed.out_of_write_budget |= shares.ran(slot.step, kept.figures.as_ref());
        count(&mut executed, slot.step, kept);
        keeper.stands(&executed, slot.step);
    }
    if let Some(settling) = &mut settling
        && !executed.interrupted
        && executed.broken.is_none()
    {
        let last = settling.end(target, environment, control, keeper)?;
        (executed.idle_ns, executed.before_ns) = (last.idle_ns, last.before_ns);
    }
    Ok(executed)
}

/// A virtual drive that is created again fails again as it did, which is one failure and not two.
fn note_failure(failed: FailedRun, replay: bool, executed: &mut Executed, keeper: &mut dyn Keeper) {
    if !(replay && executed.failed.contains(&failed)) {
        keeper.failed(&failed);
        executed.failed.push(failed);
    }
}

/// Time that the mark has taken, over all processes that took part.
struct Elapsed {
    began: Time,
    before: Nanos,
}

impl Elapsed {
    fn at(&self, now: Time) -> Nanos {
        self.before + now.since(self.began)
    }
}

/// Runs of an earlier process, taken in turn.
struct Queue {
    runs: VecDeque<Kept>,
    replay: bool,
}

impl Queue {
    /// The run that was made in this slot, if one was.
    fn next(&mut self, slot: &Slot, step: &Step) -> Result<Option<Kept>, MarkError> {
        let Some(kept) = self.runs.pop_front() else { return Ok(None) };
        let is_this = (kept.position, kept.run, kept.counted)
            == (slot.position, slot.run, slot.counted)
            && kept.step == step.name;
        if is_this { Ok(Some(kept)) } else { Err(MarkError::diverged(slot, step)) }
    }
}

/// True when a stop rule ends the mark before `slot`.
fn executed_enough(plan: &Plan, slot: &Slot, executed: &mut Executed, elapsed: Nanos) -> bool {
    if !(beyond_the_least(plan, slot) && block_boundary(plan, slot)) {
        return false;
    }
    if precise(plan, &executed.tests) {
        return true;
    }
    executed.out_of_budget = plan.schedule.until.is_some_and(|u| elapsed >= u.budget);
    executed.out_of_budget
}

fn hand_over_trace(slot: &Slot, step: &Step, samples: &mut Samples, keeper: &mut dyn Keeper) {
    let ios = std::mem::take(&mut samples.trace);
    if !ios.is_empty() {
        let (position, run, dropped) = (slot.position, slot.run, samples.trace_dropped);
        let step = step.name.clone();
        keeper.traced(TracedRun { position, step, run, samples: ios, dropped });
    }
}

fn announce(plan: &Plan, slot: &Slot, step: &Step, now: Time, sink: &mut dyn RunSink) {
    let per_step = plan.schedule.runs.saturating_add(plan.schedule.discard_first);
    let known = per_step.saturating_mul(u32::try_from(plan.steps.len()).unwrap_or(u32::MAX));
    if plan.schedule.pause > Nanos::ZERO {
        sink.event(&Event::Pausing { span: plan.schedule.pause, since: now });
    }
    sink.event(&Event::StepStarted {
        position: slot.position,
        positions: known.max(slot.position + 1),
        step: step.name.clone(),
        run: slot.run,
        planned: step.planned(),
    });
}

fn keep(
    slot: &Slot,
    step: &Step,
    samples: &Samples,
    (at, settled): (Nanos, Option<Settled>),
) -> Kept {
    let (figures, latencies) = RunFigures::new(slot.position, samples)
        .map_or_else(Default::default, |(figures, latencies)| {
            (Some(RunFigures { settled, ..figures }), latencies)
        });
    Kept {
        position: slot.position,
        step: step.name.clone(),
        run: slot.run,
        counted: slot.counted,
        at_ns: at.0,
        figures,
        latencies,
    }
}

fn tell(kept: &Kept, sink: &mut dyn RunSink) {
    if let Some(figures) = &kept.figures {
        sink.event(&Event::StepFinished {
            position: kept.position,
            ios: figures.run.ios,
            bytes: Bytes(figures.run.bytes),
            duration: Nanos(figures.run.duration_ns),
        });
    }
}

fn count(executed: &mut Executed, step: usize, kept: Kept) {
    let Some(figures) = kept.figures else { return };
    executed.written.push((kept.position, figures.totals.written));
    executed.read += figures.totals.read;
    if kept.counted {
        let test = &mut executed.tests[step];
        test.latencies.merge(&kept.latencies);
        test.runs.push(figures);
    }
}

/// Under a stop rule, the runs that every test gets in any case are not looked at.
fn beyond_the_least(plan: &Plan, slot: &Slot) -> bool {
    let least = u64::from(plan.schedule.runs) + u64::from(plan.schedule.discard_first);
    plan.schedule.until.is_some()
        && u64::from(slot.position) >= least.saturating_mul(plan.steps.len() as u64)
}

/// Tests are looked at together, when all have the same count of runs.
fn block_boundary(plan: &Plan, slot: &Slot) -> bool {
    u64::from(slot.position).is_multiple_of(plan.steps.len() as u64)
}

fn precise(plan: &Plan, tests: &[TestRuns]) -> bool {
    let Some(until) = plan.schedule.until else { return false };
    let rule = StopRule::new(until.half_width_percent, CONFIDENCE);
    tests.iter().all(|test| {
        let rates: Vec<f64> = test.runs.iter().map(|r| r.run.mb_s).collect();
        matches!(rule.decide(&rates), Decision::Met { .. })
    })
}

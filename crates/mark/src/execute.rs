//! Makes the runs of a mark in the order of its plan's schedule.

use std::sync::atomic::Ordering;

use block::{Environment, Event, Nanos, NullSink, RunSink, Target};
use engine::{Control, EngineError, Failure, PhaseSamples, run_step};
use stats::{Decision, LatencyHistogram, StopRule};
use thiserror::Error;
use workload::plan::{Arrival, Plan, PlanError, Region, Step, Stop};
use workload::schedule::{Slot, schedule};

use crate::findings::CONFIDENCE;
use crate::run::{RunFigures, TracedRun};

/// Why a mark could not be made.
#[derive(Debug, Error)]
pub enum MarkError {
    /// The plan does not fit the target.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The target failed as a whole.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// An I/O that ended the mark.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{target}: {failure} (in run {run} of {step})")]
pub struct Broken {
    /// The target as the user named it.
    pub target: String,
    /// The test's step.
    pub step: String,
    /// Which repetition, from 1.
    pub run: u32,
    /// What failed and how.
    pub failure: Failure,
}

/// The tester's own limit for one step: the same plan on a drive that completes at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    /// I/Os per second that this tester can issue and reap at most.
    pub iops: f64,
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
    /// True when an I/O finished in the measured window of a counted run. Zero is no speed of a drive:
    /// it says that the window was too short for it.
    pub fn any_finished(&self) -> bool {
        self.runs.iter().any(|run| run.run.ios > 0)
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
    /// True when a stop rule's budget ran out before the precision was reached.
    pub out_of_budget: bool,
    /// The region that was used.
    pub region: Region,
}

/// Makes the runs of `plan` on `target`. `ceilings` holds the tester's own limit per step
/// ([`ceiling`]), or is empty. `trace` is given the single I/Os of each run as it ends, when
/// `control` asks for them: kept to the end they would fill the memory.
///
/// # Errors
/// [`MarkError`] when the plan cannot be run on the target at all. An I/O that fails ends the mark
/// and is returned in [`Executed::broken`], with the runs made before it.
pub fn execute<T: Target>(
    plan: &Plan,
    target: &mut T,
    environment: &mut dyn Environment,
    ceilings: &[Option<Ceiling>],
    control: Control<'_>,
    sink: &mut dyn RunSink,
    trace: &mut dyn FnMut(TracedRun),
) -> Result<Executed, MarkError> {
    let region = plan.fit(target.info())?;
    let mut executed = Executed {
        tests: (0..plan.steps.len())
            .map(|index| TestRuns {
                runs: Vec::new(),
                latencies: LatencyHistogram::new(),
                ceiling: ceilings.get(index).copied().flatten(),
            })
            .collect(),
        interrupted: false,
        broken: None,
        out_of_budget: false,
        region,
    };
    let began = target.now();
    for slot in schedule(plan) {
        if beyond_the_least(plan, &slot) && block_boundary(plan, &slot) {
            if precise(plan, &executed.tests) {
                break;
            }
            if plan.schedule.until.is_some_and(|u| target.now().since(began) >= u.budget) {
                executed.out_of_budget = true;
                break;
            }
        }
        let step = &plan.steps[slot.step];
        announce(plan, &slot, step, target.now(), sink);
        rest(target, plan.schedule.pause, control);
        let seeded = (region, plan.content, slot.seed);
        let mut samples = run_step(target, environment, step, seeded, control, sink)?;
        let ios = std::mem::take(&mut samples.trace);
        if !ios.is_empty() {
            let dropped = samples.trace_dropped;
            trace(TracedRun { step: step.name.clone(), run: slot.run, samples: ios, dropped });
        }
        if let Some(failure) = samples.failure {
            executed.broken = Some(Broken {
                target: target.info().name.clone(),
                step: step.name.clone(),
                run: slot.run + 1,
                failure,
            });
            break;
        }
        if samples.interrupted {
            executed.interrupted = true;
            break;
        }
        keep(&mut executed, &slot, samples, sink);
    }
    Ok(executed)
}

/// Lets `span` go by in slices short enough that Ctrl-C does not have to wait for its end.
fn rest<T: Target>(target: &mut T, span: Nanos, control: Control<'_>) {
    let mut left = span;
    while left > Nanos::ZERO && !control.cancel.load(Ordering::Relaxed) {
        let slice = left.min(Nanos::millis(100));
        target.pause(slice);
        left = left - slice;
    }
}

fn announce(plan: &Plan, slot: &Slot, step: &Step, now: block::Time, sink: &mut dyn RunSink) {
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

fn keep(executed: &mut Executed, slot: &Slot, samples: engine::Samples, sink: &mut dyn RunSink) {
    let test = &mut executed.tests[slot.step];
    let mut discarded = LatencyHistogram::new();
    let latencies = if slot.counted { &mut test.latencies } else { &mut discarded };
    let Some(figures) = RunFigures::new(slot.position, samples, latencies) else { return };
    sink.event(&Event::StepFinished {
        position: slot.position,
        ios: figures.run.ios,
        bytes: block::Bytes(figures.run.bytes),
        duration: Nanos(figures.run.duration_ns),
    });
    if slot.counted {
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

/// Measures the tester's own limit for `step` on `null`, a target that costs nothing: its measured phases
/// in a closed loop of their depth, for arrivals at intended times would only show their own rate. `None`
/// for a step of which nothing is measured.
///
/// `null` is best one that goes through the kernel as the measured drive does, and of the same size: what
/// completes without a system call shows a limit that no drive could reach, and a larger region makes the
/// audit of addresses dearer than it is.
///
/// It is the rate of the best slice of time: what else the machine does for a moment lowers what is reached,
/// not what can be reached, and a limit that is too low would refute a drive that is far from it.
///
/// # Errors
/// [`EngineError`] when the step cannot be run there.
pub fn ceiling<T: Target>(
    step: &Step,
    plan: &Plan,
    null: &mut T,
    environment: &mut dyn Environment,
    control: Control<'_>,
) -> Result<Option<Ceiling>, EngineError> {
    let mut short = step.clone();
    short.phases.retain(|p| p.measured);
    for phase in &mut short.phases {
        phase.stop = Stop { after: Some(CEILING_WINDOW), ..Stop::default() };
        phase.arrival = Arrival::ClosedLoop { depth: phase.arrival.depth() };
    }
    if short.phases.is_empty() {
        return Ok(None);
    }
    let length = null.info().capacity_bytes;
    let whole = Region { offset: block::Bytes::ZERO, length };
    let region = plan.region.unwrap_or(whole);
    let seeded = (region, plan.content, plan.seed);
    let control = Control { trace_cap: 0, ..control };
    let samples = run_step(null, environment, &short, seeded, control, &mut NullSink)?;
    // As long as each other, so that the mean of their rates is the rate of all.
    let rates: Option<Vec<f64>> = samples.phases.iter().map(best_rate).collect();
    let rates = rates.filter(|rates| !rates.is_empty());
    Ok(rates.map(|rates| Ceiling { iops: rates.iter().sum::<f64>() / rates.len() as f64 }))
}

/// I/Os per second in the best slice of a phase, or in all of it when it has no whole slice; `None` when
/// it has no length.
fn best_rate(phase: &PhaseSamples) -> Option<f64> {
    let per_s = |ios: u64, span: Nanos| (span.0 > 0).then(|| ios as f64 * 1e9 / span.0 as f64);
    match phase.series.ios.iter().max() {
        Some(&ios) => per_s(ios, phase.series.slice),
        None => per_s(phase.ios(), phase.window),
    }
}

/// Long enough for tens of thousands of I/Os, short enough to add nothing that a user notices.
const CEILING_WINDOW: Nanos = Nanos::millis(60);

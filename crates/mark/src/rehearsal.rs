//! A plan tried on the model of a drive before it is run: short runs in its order, which show the pace of each step and how writes
//! change it.
//!
//! Runs that write are tried one by one, since a drive that has taken much is slower than a fresh one. Of a run of many I/Os only
//! the first are made; the rest of its bytes are written in large transfers, which cost little to compute and bring the drive to
//! the state that the next run finds.

use std::sync::atomic::AtomicBool;

use block::{Bytes, Environment, Nanos, NullSink, Op};
use engine::{Control, EngineError, IoPath, PhaseSamples, Samples};
use workload::plan::{Address, Arrival, OpShare, Order, Phase, Plan, Region, Share, Step, Stop};
use workload::schedule::schedule;

use crate::execute::MarkError;
use crate::rest::rest;
use crate::settle::Settling;

/// I/Os of all tries together, where [`DEAR`] bytes count as one.
const EFFORT: u64 = 1_000_000;
const DEAR: Bytes = Bytes::kib(256);
/// The same where steps read what others wrote: how fast depends on how it was written, so runs are made whole.
const EFFORT_TO_READ_BACK: u64 = 5_000_000;
/// I/Os of a phase of a try, at least and at most, and of one that fills the drive's memory.
const OF_PHASE: (u64, u64) = (1024, 16_384);
const OF_FILLING: u64 = 131_072;
/// A memory is filled while the drive empties it: this many times its size are written by then.
const FILLED_BY: u64 = 6;
/// Size of the transfers that replace the rest of a run.
const LARGE: Bytes = Bytes::mib(1);

/// Paces of the steps of a plan.
#[derive(Clone, Debug, Default)]
pub struct Rehearsal {
    /// By step, in the order made; fewer than planned where the others are as the last.
    pub(crate) tries: Vec<Vec<Try>>,
}

/// A run as it was tried.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Try {
    /// Rates of each phase.
    pub(crate) pace: Vec<Rates>,
    /// Time and totals, where it was made whole.
    pub(crate) whole: Option<Whole>,
    /// Time that the drive took before it to become idle.
    pub(crate) waited: Nanos,
}

/// Time of a run, and what it moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Whole {
    pub(crate) time: Nanos,
    pub(crate) read: Bytes,
    pub(crate) written: Bytes,
}

/// Rates of a phase, per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rates {
    pub(crate) ios: f64,
    pub(crate) read: f64,
    pub(crate) written: f64,
}

impl Rates {
    fn of(phase: &PhaseSamples) -> Rates {
        let seconds = phase.window.as_secs_f64().max(1e-9);
        let of = |op| phase.ops.iter().filter(|o| o.op == op).map(|o| o.bytes.0).sum::<u64>();
        Rates {
            ios: phase.ios() as f64 / seconds,
            read: of(Op::Read) as f64 / seconds,
            written: of(Op::Write) as f64 / seconds,
        }
    }
}

/// Tries `plan` on `target`, a model that nothing else was done to.
///
/// # Errors
/// When the plan does not fit it, or the model fails as a whole.
pub fn rehearse(
    plan: &Plan,
    target: &mut dyn IoPath,
    environment: &mut dyn Environment,
) -> Result<Rehearsal, MarkError> {
    let region = plan.fit(target.info())?;
    let logical_block = target.info().logical_block_bytes;
    let cancel = AtomicBool::new(false);
    let planned = u64::from(plan.schedule.planned()) * plan.steps.len() as u64;
    let tried_once = |step: &Step| {
        let in_the_wake = plan.alters() && plan.schedule.order != Order::ReadsFirst;
        !(alters(step) || in_the_wake)
    };
    let reads = |step: &Step| step.phases.iter().flat_map(|p| &p.ops).any(|o| o.op == Op::Read);
    let reads_back = plan.alters() && plan.steps.iter().any(|s| reads(s) && !tried_once(s));
    let all: u64 = plan.steps.iter().map(|step| tries(plan, tried_once(step))).sum();
    let mut stage = Stage {
        region,
        plan,
        target,
        environment,
        control: Control { cancel: &cancel, trace_cap: 0 },
        settling: Settling::new(plan, region, logical_block),
        cap: match reads_back {
            true => EFFORT_TO_READ_BACK / all.max(1),
            false => (EFFORT / (2 * all.max(1))).clamp(OF_PHASE.0, OF_PHASE.1),
        },
        left: if reads_back { EFFORT_TO_READ_BACK } else { EFFORT },
    };
    let mut rehearsal = Rehearsal { tries: vec![Vec::new(); plan.steps.len()] };
    for slot in schedule(plan).take(usize::try_from(planned).unwrap_or(usize::MAX)) {
        let step = &plan.steps[slot.step];
        let tries = &mut rehearsal.tries[slot.step];
        if !tries.is_empty() && (tried_once(step) || stage.left == 0) {
            continue;
        }
        let Some(tried) = stage.try_run(step, slot.seed)? else { continue };
        stage.write_rest(step, &tried)?;
        tries.push(tried.made);
    }
    Ok(rehearsal)
}

fn alters(step: &Step) -> bool {
    step.phases.iter().any(Phase::alters)
}

/// Tries of a step.
fn tries(plan: &Plan, once: bool) -> u64 {
    if once { 1 } else { u64::from(plan.schedule.planned()) }
}

/// The model that a plan is tried on.
struct Stage<'a> {
    region: Region,
    plan: &'a Plan,
    target: &'a mut dyn IoPath,
    environment: &'a mut dyn Environment,
    control: Control<'a>,
    settling: Option<Settling>,
    /// Most I/Os of a phase.
    cap: u64,
    /// I/Os that may still be made.
    left: u64,
}

/// A try, and the bytes that it wrote.
struct Tried {
    made: Try,
    written: Bytes,
}

impl Stage<'_> {
    /// Tries a run of `step`; `None` where an I/O of it fails, which shows when it is made.
    fn try_run(&mut self, step: &Step, seed: u64) -> Result<Option<Tried>, EngineError> {
        rest(self.target, self.plan.schedule.pause, self.control);
        let from = self.target.now();
        if let Some(settling) = &mut self.settling {
            settling.wait(self.target, self.environment, self.control, &mut NullSink)?;
        }
        let waited = self.target.now().since(from);
        let cap = if self.left == 0 { OF_PHASE.0 } else { self.cap };
        let memory = self.target.info().cache_bytes.unwrap_or_default();
        let short = shortened(step, cap, memory);
        let samples = self.run(&short, seed)?;
        self.settling.iter_mut().for_each(|settling| settling.ran(step));
        let is_whole = samples.failure.is_none() && !samples.interrupted;
        let pace = pace(step, &short, &samples);
        let written = samples.totals.written;
        let whole = (!(0..pace.len()).any(|at| is_short(step, &short, &samples, at)))
            .then_some(Whole { time: samples.elapsed, read: samples.totals.read, written });
        Ok(is_whole.then_some(Tried { made: Try { pace, whole, waited }, written }))
    }

    fn run(&mut self, step: &Step, seed: u64) -> Result<Samples, EngineError> {
        let seeded = (self.region, self.plan.content, seed);
        let samples =
            self.target.run_step(self.environment, step, seeded, self.control, &mut NullSink)?;
        let cost = samples.totals.ios + samples.totals.bytes().0 / DEAR.0;
        self.left = self.left.saturating_sub(cost);
        Ok(samples)
    }

    /// Writes what a whole run of `step` writes beyond its try, as far as that is not too much.
    fn write_rest(&mut self, step: &Step, tried: &Tried) -> Result<(), EngineError> {
        let whole = tried.made.lasts(step, |rates| rates.written);
        let rest = Bytes(whole as u64).saturating_sub(tried.written);
        let block = LARGE.min(self.region.length.round_down(self.plan_block()));
        if tried.made.whole.is_none() && rest >= block && block > Bytes::ZERO && self.left > 0 {
            let most = self.left / (1 + block.0 / DEAR.0);
            let large = large(block, (rest.0 / block.0).min(most).max(1));
            self.run(&large, self.plan.seed)?;
        }
        Ok(())
    }

    fn plan_block(&self) -> Bytes {
        let least = self.plan.steps.iter().map(Step::block_min).min().unwrap_or(LARGE);
        least.max(self.target.info().logical_block_bytes)
    }
}

impl Try {
    /// Total of a figure over a run of `step` at this pace; `rate` is that of the figure per second.
    fn lasts(&self, step: &Step, rate: impl Fn(&Rates) -> f64) -> f64 {
        let phases = step.phases.iter().zip(&self.pace);
        phases.map(|(phase, rates)| rate(rates) * seconds(phase, rates)).sum()
    }
}

/// Time of a phase at these rates.
pub(crate) fn seconds(phase: &Phase, rates: &Rates) -> f64 {
    let Stop { after, bytes, ios, at_least_ios } = phase.stop;
    let moved = rates.read + rates.written;
    let after = after.map(|after| {
        let longest = after.as_secs_f64() * Stop::LONGEST as f64;
        let wanted = at_least_ios.map_or(0.0, |ios| ios as f64 / rates.ios);
        after.as_secs_f64().max(wanted.min(longest))
    });
    let of_bytes = bytes.filter(|_| moved > 0.0).map(|bytes| bytes.0 as f64 / moved);
    let of_ios = ios.map(|ios| ios as f64 / rates.ios);
    let seconds = [after, of_bytes, of_ios].into_iter().flatten().fold(f64::INFINITY, f64::min);
    if seconds.is_finite() { seconds } else { 0.0 }
}

/// `step`, whose phases end after `cap` I/Os; the first that writes is longer, so that it fills a `memory` of this size.
fn shortened(step: &Step, cap: u64, memory: Bytes) -> Step {
    let mut step = step.clone();
    let mut to_fill = FILLED_BY * memory.0;
    for phase in step.phases.iter_mut().filter(|phase| phase.transfers()) {
        let share: u64 =
            phase.ops.iter().filter(|o| o.op == Op::Write).map(|o| u64::from(o.percent)).sum();
        let filling = (100 * to_fill).checked_div(share * phase.block.0).unwrap_or(0);
        if share > 0 {
            to_fill = 0;
        }
        let cap = cap.max(filling.min(OF_FILLING));
        let cap = cap.max(phase.stop.at_least_ios.unwrap_or(0));
        phase.stop.ios = Some(phase.stop.ios.map_or(cap, |ios| ios.min(cap)));
    }
    step
}

/// Rates of each phase of `step` by those of its short form.
fn pace(step: &Step, short: &Step, samples: &Samples) -> Vec<Rates> {
    let mut pace: Vec<Rates> = samples.phases.iter().map(Rates::of).collect();
    // The drive's memory fills up before the full phase ends: where the next phase has the same load and is slower, its rate
    // counts.
    for at in (1..pace.len()).rev() {
        let (before, phase) = (&step.phases[at - 1], &step.phases[at]);
        let is_alike = (before.block, &before.address, before.arrival, &before.ops)
            == (phase.block, &phase.address, phase.arrival, &phase.ops);
        if is_alike
            && is_short(step, short, samples, at - 1)
            && pace[at].ios > 0.0
            && pace[at].ios < pace[at - 1].ios
        {
            pace[at - 1] = pace[at];
        }
    }
    pace
}

/// True where phase `at` of `short` ended before that of `step`.
fn is_short(step: &Step, short: &Step, samples: &Samples, at: usize) -> bool {
    let (of_short, of_step) = (short.phases[at].stop.ios, step.phases[at].stop.ios);
    let made = samples.phases.get(at).map_or(0, PhaseSamples::ios);
    of_short != of_step && of_short.is_some_and(|cap| made >= cap)
}

/// Sequential writes of `count` blocks.
fn large(block: Bytes, count: u64) -> Step {
    let phase = Phase {
        name: "rest".to_owned(),
        measured: true,
        block,
        blocks: Vec::new(),
        address: Address::Sequential { share: Share::Partition },
        stop: Stop { ios: Some(count), ..Stop::default() },
        arrival: Arrival::ClosedLoop { depth: 8 },
        ops: vec![OpShare { op: Op::Write, fua: false, percent: 100 }],
        region: None,
    };
    let name = "rest of a run".to_owned();
    Step { name, submitters: 1, order: None, engine: None, phases: vec![phase] }
}

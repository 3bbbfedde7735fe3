//! Time and bytes of a plan, estimated before it is made.

use block::{Bounds, Bytes, Nanos, Op};
use workload::plan::{Arrival, Order, Phase, Plan, Step, Stop};

use crate::rehearsal::{Rates, Rehearsal, Try, Whole, seconds};
use crate::settle::RETURN;

/// Estimate of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Time in nanoseconds.
    pub time_ns: Bounds,
    /// Bytes read.
    pub read: Bounds,
    /// Bytes written.
    pub written: Bounds,
    /// True where flushes take time that is not known, and not among it.
    pub flushes: bool,
}

impl Outlook {
    /// Of `plan` by its `rehearsal`, where there was one, on a drive whose link moves `link` bytes per second at most.
    pub fn of(plan: &Plan, rehearsal: &Rehearsal, link: Option<u64>) -> Outlook {
        let schedule = &plan.schedule;
        let runs = u64::from(schedule.planned());
        let tries = |at: usize| rehearsal.tries.get(at).map_or(&[][..], Vec::as_slice);
        let of_runs: Vec<OfRuns> = plan
            .steps
            .iter()
            .enumerate()
            .map(|(at, step)| OfRuns::new(step, tries(at), link))
            .collect();
        let sum = |figure: usize| of_runs.iter().map(|of| of.all(figure, runs)).sum::<Bounds>();
        let pauses = schedule.pause.0.saturating_mul(runs * plan.steps.len() as u64);
        let planned = sum(0) + Bounds::of(pauses);
        let waited: u64 = of_runs.iter().map(|of| of.waited(runs)).sum();
        // Runs beyond the planned ones begin within this time.
        let until = schedule.until.map_or(Nanos::ZERO, |until| until.budget);
        let within = schedule.decide_within.max(until).0;
        let more = within.saturating_sub(planned.least);
        let lasts = match more {
            0 => 0,
            _ => within + of_runs.iter().map(|of| of.longest(0)).sum::<u64>(),
        };
        let waits = waits(plan, runs).max(waited);
        let most = |most: u64| most.saturating_add(waits).max(lasts.saturating_add(waited));
        let budget = schedule.write_budget.map(|budget| budget.0);
        let is_cut = budget.is_some_and(|budget| sum(2).least > budget);
        let least = if is_cut { cut(plan, &of_runs, runs) } else { planned.least };
        let time_ns = Bounds { least: least.saturating_add(waited), most: planned.most.map(most) };
        let grown = |figure: usize| {
            let bytes = sum(figure);
            let fastest = of_runs.iter().filter_map(|of| of.fastest(figure)).fold(0.0, f64::max);
            let more = (fastest * more as f64) as u64;
            Bounds { most: bytes.most.map(|most| most.saturating_add(more)), ..bytes }
        };
        let is_paced = |at: usize| !tries(at).is_empty();
        let flushes =
            plan.steps.iter().enumerate().any(|(at, step)| {
                !is_paced(at) && step.phases.iter().any(|phase| !phase.transfers())
            });
        let mut written = grown(2);
        if let Some(budget) = budget {
            let most = written.most.map_or(budget, |most| most.min(budget));
            written = Bounds { least: written.least.min(budget), most: Some(most) };
        }
        Outlook { time_ns, read: grown(1), written, flushes }
    }
}

/// Least time of a plan whose writes are cut short by its budget.
fn cut(plan: &Plan, of_runs: &[OfRuns], runs: u64) -> u64 {
    let reading = plan.steps.iter().zip(of_runs).filter(|(step, _)| !step.writes());
    reading.map(|(_, of)| of.all(0, runs).least).sum::<u64>()
        + plan.schedule.pause.0.saturating_mul(runs * plan.steps.len() as u64)
}

/// Time, bytes read and bytes written of one run.
type Figures = [Bounds; 3];

/// Tries of a step that writes, between which those lie that were not made.
const RECENT: usize = 2;

/// Runs of a step, as far as they are foreseen.
struct OfRuns {
    /// Those that were tried, or one of which only the limits are known.
    each: Vec<Figures>,
    /// Time that the drive took before each to become idle.
    waited: Vec<u64>,
    /// Those that were not tried may be as any of these.
    is_open: bool,
}

impl OfRuns {
    fn new(step: &Step, tries: &[Try], link: Option<u64>) -> OfRuns {
        let each = match tries {
            [] => vec![of_step(step, None, link)],
            tries => tries.iter().map(|tried| of_try(step, tried, link)).collect(),
        };
        let waited = tries.iter().map(|tried| tried.waited.0).collect();
        OfRuns { each, waited, is_open: step.phases.iter().any(Phase::alters) }
    }

    /// A figure of the planned runs together.
    fn all(&self, figure: usize, runs: u64) -> Bounds {
        let each = || self.each.iter().map(|of| of[figure]).take(runs as usize);
        let recent = || each().rev().take(RECENT);
        let others = runs.saturating_sub(self.each.len() as u64);
        let last = recent().next().unwrap_or(Bounds::of(0));
        let other = match self.is_open {
            true => Bounds {
                least: recent().map(|of| of.least).min().unwrap_or(0),
                most: recent().map(|of| of.most).try_fold(0, |most, of| Some(of?.max(most))),
            },
            false => last,
        };
        each().sum::<Bounds>() + other.times(others)
    }

    fn waited(&self, runs: u64) -> u64 {
        let others = runs.saturating_sub(self.waited.len() as u64);
        let last = self.waited.last().map_or(0, |last| last.saturating_mul(others));
        self.waited.iter().take(runs as usize).sum::<u64>().saturating_add(last)
    }

    fn longest(&self, figure: usize) -> u64 {
        let longest = |of: &Figures| of[figure].most.unwrap_or(of[figure].least);
        self.each.iter().map(longest).max().unwrap_or(0)
    }

    /// The highest rate of a figure, per nanosecond.
    fn fastest(&self, figure: usize) -> Option<f64> {
        let rate = |of: &Figures| {
            let time = of[0].most.unwrap_or(of[0].least);
            Some(of[figure].most? as f64 / time.max(1) as f64)
        };
        self.each.iter().filter_map(rate).reduce(f64::max)
    }
}

/// Longest time that runs wait until the drive has recovered from writes.
fn waits(plan: &Plan, runs: u64) -> u64 {
    if !plan.alters() {
        return 0;
    }
    let is_writing = |step: &&Step| step.phases.iter().any(Phase::alters);
    let writing = plan.steps.iter().filter(is_writing).count();
    let steps = match plan.schedule.order {
        Order::ReadsFirst => writing,
        Order::Interleaved | Order::Blocked => plan.steps.len(),
    };
    // In the end, a drive that is slower since it was written to is given time to recover.
    let in_the_end = if steps > writing { RETURN } else { 0 };
    plan.schedule.settle.0.saturating_mul((steps as u64 * runs).saturating_sub(1) + in_the_end)
}

fn of_try(step: &Step, tried: &Try, link: Option<u64>) -> Figures {
    match tried.whole {
        Some(Whole { time, read, written }) => [time.0, read.0, written.0].map(Bounds::of),
        None => of_step(step, Some(&tried.pace), link),
    }
}

/// Time, bytes read and bytes written of one run of a step.
fn of_step(step: &Step, pace: Option<&[Rates]>, link: Option<u64>) -> Figures {
    let none = [Bounds::of(0); 3];
    let add = |a: [Bounds; 3], b: [Bounds; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
    let submitters = u64::from(step.submitters);
    let mut last = none;
    let phases = step.phases.iter().enumerate().fold(none, |sum, (at, phase)| {
        let of = match pace.and_then(|pace| pace.get(at)) {
            Some(rates) => {
                if phase.transfers() {
                    last = outstanding(phase, submitters, *rates);
                }
                by_rates(phase, *rates)
            }
            None => by_bounds(phase, submitters, link),
        };
        add(sum, of)
    });
    add(phases, last)
}

/// The I/Os that are outstanding when a phase has ended by its time.
fn outstanding(phase: &Phase, submitters: u64, rates: Rates) -> [Bounds; 3] {
    let moved = rates.read + rates.written;
    if phase.stop.bytes.is_some() || phase.stop.ios.is_some() || moved == 0.0 {
        return [Bounds::of(0); 3];
    }
    let bytes = u64::from(phase.arrival.depth()) * submitters * mean_block(phase);
    let seconds = bytes as f64 / moved;
    [1e9, rates.read, rates.written].map(|rate| Bounds::of((rate * seconds) as u64))
}

/// A phase whose rates are known.
fn by_rates(phase: &Phase, rates: Rates) -> Figures {
    let seconds = seconds(phase, &rates);
    [1e9, rates.read, rates.written].map(|rate| Bounds::of((rate * seconds) as u64))
}

/// A phase of which nothing is known but its limits and those of the link.
fn by_bounds(phase: &Phase, submitters: u64, link: Option<u64>) -> [Bounds; 3] {
    let Stop { after, bytes, ios, at_least_ios } = phase.stop;
    let longest = after.map(|Nanos(after)| match at_least_ios {
        Some(_) => after.saturating_mul(Stop::LONGEST),
        None => after,
    });
    let by_ios = ios.map(|ios| ios.saturating_mul(mean_block(phase)));
    let limit = [bytes.map(|Bytes(bytes)| bytes), by_ios].into_iter().flatten().min();
    // How long a flush takes is not known: it is mentioned beside the time.
    if !phase.transfers() {
        return [after.map_or(0, |after| after.0), 0, 0].map(Bounds::of);
    }
    let time =
        Bounds { least: if limit.is_some() { 0 } else { after.map_or(0, |a| a.0) }, most: longest };
    let seconds = longest.map(|ns| ns as f64 / 1e9);
    let arriving = match phase.arrival {
        Arrival::ClosedLoop { .. } => None,
        Arrival::Timed { per_s, .. } => Some(per_s * submitters as f64 * mean_block(phase) as f64),
    };
    let rate = [arriving, link.map(|link| link as f64)].into_iter().flatten().reduce(f64::min);
    let in_time = seconds.zip(rate).map(|(seconds, rate)| (seconds * rate) as u64);
    let most = [limit, in_time].into_iter().flatten().min();
    let least = match (after, limit) {
        (None, Some(limit)) => limit,
        _ => 0,
    };
    let share =
        |op: Op| phase.ops.iter().filter(|o| o.op == op).map(|o| u64::from(o.percent)).sum::<u64>();
    let of = |op: Op| {
        let part = |bytes: u64| (u128::from(bytes) * u128::from(share(op)) / 100) as u64;
        match share(op) {
            0 => Bounds::of(0),
            _ => Bounds { least: part(least), most: most.map(part) },
        }
    };
    [time, of(Op::Read), of(Op::Write)]
}

/// Mean size of its transfers.
fn mean_block(phase: &Phase) -> u64 {
    if phase.blocks.is_empty() {
        return phase.block.0;
    }
    phase.blocks.iter().map(|share| share.block.0 * u64::from(share.percent)).sum::<u64>() / 100
}

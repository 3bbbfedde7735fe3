//! Time and bytes of a plan, estimated before it is made.

use block::{Bounds, Bytes, Nanos, Op};
use engine::Samples;
use workload::plan::{Arrival, Order, Phase, Plan, Step, Stop};

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

/// Rates of a phase, where a run has shown them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rates {
    ios: f64,
    read: f64,
    written: f64,
}

/// Pace of a step: rates of each of its phases.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace(Vec<Rates>);

impl Pace {
    /// The pace of a run.
    pub fn of(samples: &Samples) -> Pace {
        let rates = samples.phases.iter().map(|phase| {
            let seconds = phase.window.as_secs_f64().max(1e-9);
            let of = |op| phase.ops.iter().filter(|o| o.op == op).map(|o| o.bytes.0).sum::<u64>();
            Rates {
                ios: phase.ios() as f64 / seconds,
                read: of(Op::Read) as f64 / seconds,
                written: of(Op::Write) as f64 / seconds,
            }
        });
        Pace(rates.collect())
    }
}

/// A short form of `step`, whose phases take `most` each where their I/Os do not take long: enough to see its pace.
pub fn shortened(step: &Step, most: Nanos) -> Step {
    let mut step = step.clone();
    for phase in step.phases.iter_mut().filter(|phase| phase.transfers()) {
        let stop = &mut phase.stop;
        let after = stop.after.map_or(most, |after| after.min(most));
        (stop.after, stop.at_least_ios) = (Some(after), Some(ENOUGH));
    }
    step
}

/// I/Os that show the pace of a slow drive.
const ENOUGH: u64 = 256;

impl Outlook {
    /// Of `plan` by the `paces` of its steps, where they are known, on a drive whose link moves `link` bytes per second at most.
    pub fn of(plan: &Plan, paces: &[Option<Pace>], link: Option<u64>) -> Outlook {
        let schedule = &plan.schedule;
        let runs = u64::from(schedule.runs) + u64::from(schedule.discard_first);
        let each: Vec<[Bounds; 3]> = plan
            .steps
            .iter()
            .enumerate()
            .map(|(at, step)| of_step(step, paces.get(at).and_then(Option::as_ref), link))
            .collect();
        let sum = |figure: usize| each.iter().map(|step| step[figure]).sum::<Bounds>().times(runs);
        let pauses = schedule.pause.0.saturating_mul(runs * plan.steps.len() as u64);
        let planned = sum(0) + Bounds::of(pauses);
        let longest = |bounds: Bounds| bounds.most.unwrap_or(bounds.least);
        // Runs beyond the planned ones begin within this time.
        let until = schedule.until.map_or(Nanos::ZERO, |until| until.budget);
        let within = schedule.decide_within.max(until).0;
        let more = within.saturating_sub(planned.least);
        let lasts = match more {
            0 => 0,
            _ => within + each.iter().map(|step| longest(step[0])).sum::<u64>(),
        };
        let waits = waits(plan, runs);
        let most = |most: u64| most.saturating_add(waits).max(lasts);
        let time_ns = Bounds { most: planned.most.map(most), ..planned };
        let grown = |figure: usize| {
            let bytes = sum(figure);
            let rate = |step: &[Bounds; 3]| {
                Some(step[figure].most? as f64 / longest(step[0]).max(1) as f64)
            };
            let fastest = each.iter().filter_map(rate).fold(0.0, f64::max);
            let more = (fastest * more as f64) as u64;
            Bounds { most: bytes.most.map(|most| most.saturating_add(more)), ..bytes }
        };
        let is_paced = |at: usize| matches!(paces.get(at), Some(Some(_)));
        let flushes =
            plan.steps.iter().enumerate().any(|(at, step)| {
                !is_paced(at) && step.phases.iter().any(|phase| !phase.transfers())
            });
        let mut written = grown(2);
        if let Some(Bytes(budget)) = schedule.write_budget {
            let most = written.most.map_or(budget, |most| most.min(budget));
            written = Bounds { least: written.least.min(budget), most: Some(most) };
        }
        Outlook { time_ns, read: grown(1), written, flushes }
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

/// Time, bytes read and bytes written of one run of a step.
fn of_step(step: &Step, pace: Option<&Pace>, link: Option<u64>) -> [Bounds; 3] {
    let none = [Bounds::of(0); 3];
    let add = |a: [Bounds; 3], b: [Bounds; 3]| [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
    let submitters = u64::from(step.submitters);
    let mut last = none;
    let phases = step.phases.iter().enumerate().fold(none, |sum, (at, phase)| {
        let of = match pace.and_then(|pace| pace.0.get(at)) {
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
fn by_rates(phase: &Phase, rates: Rates) -> [Bounds; 3] {
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
    let seconds = if seconds.is_finite() { seconds } else { 0.0 };
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
    // Nobody knows how long a flush takes: it is named beside the time.
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

//! Waits, before a run in the wake of writes, until the drive answers as quickly as it did when it was idle.
//!
//! A drive that took writes may keep working on them on its own: it empties its cache, moves data, erases. A few small reads
//! show that by their latency, and cost nothing. They wait no longer than `schedule.settle` before a run, and what came of it
//! is kept with the run.
//!
//! Drives answer reads of unwritten sectors faster than reads of written ones. So the first stable latency after writes replaces
//! the idle latency from before them; later only a lower one does. A drive that works on what was written for minutes looks the
//! same: where reads followed on writes, it is given time in the end to come back to the idle latency from before.

use std::sync::atomic::Ordering;

use block::{Bytes, Environment, Event, Nanos, NullSink, Op, RunSink};
use engine::{Control, EngineError, IoPath};
use serde::{Deserialize, Serialize};
use stats::quantile;
use workload::plan::{Address, Arrival, Content, OpShare, Phase, Plan, Region, Step, Stop};

use crate::rest::rest;

/// State of a drive before a run that followed on writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settled {
    /// Latency of small reads (75th percentile) when the drive was idle, as far as it is known by then, in nanoseconds.
    pub idle_ns: f64,
    /// The same, just before the run.
    pub latency_ns: f64,
    /// Time waited for it, beyond the pause.
    pub waited_ns: Nanos,
    /// Reads that `latency_ns` is of.
    #[serde(default)]
    pub reads: u64,
}

impl Settled {
    fn is_idle(&self) -> bool {
        self.latency_ns <= limits(self.reads).idle * self.idle_ns
    }
}

/// Reads of a look, at least.
const READS: u64 = 12;
/// And at most, as many as are finished within this time.
const MOST_READS: u64 = 256;
const LOOK: Nanos = Nanos::millis(100);
/// Their latency that counts: a few reads that another program delayed do not.
const LOOK_PERCENTILE: f64 = 75.0;
/// Looks at the beginning.
const FIRST_LOOKS: u64 = 3;
/// Reads from which on the latency of a look is known within a few percent.
const MANY_READS: u64 = 128;

/// Latencies of looks, as multiples of the idle latency.
struct Limits {
    /// Highest of an idle drive.
    idle: f64,
    /// Lowest before a run that counts as not recovered.
    stirred: f64,
}

fn limits(reads: u64) -> Limits {
    match reads {
        MANY_READS.. => Limits { idle: 1.08, stirred: 1.15 },
        _ => Limits { idle: 1.3, stirred: 2.0 },
    }
}

/// Waits that may end without the drive becoming idle before its latency is taken for what it is now.
const BOUNDS: u32 = 3;
/// Most times that the bound is halved, once per wait that ended at it.
const MOST_BOUNDS: u32 = 6;
/// Looks in a row that show a level, and how far from their mean.
const LEVEL_LOOKS: usize = 4;
const LEVEL: f64 = 0.15;
/// The first wait between two looks; each next one is twice as long.
const FIRST_WAIT: Nanos = Nanos::millis(100);
const LONGEST_WAIT: Nanos = Nanos::secs(1);
/// Waits for the looks after the last run.
const LAST_WAITS: [Nanos; 2] = [Nanos::millis(500), Nanos::secs(2)];
/// Further waits of [`LONGEST_LAST_WAIT`], where reads followed on writes and the drive was slower than before them, as a multiple
/// of the time that may be waited before a run.
pub(crate) const RETURN: u64 = 15;
const LONGEST_LAST_WAIT: Nanos = Nanos::secs(5);
/// Size of a read, where the plan's transfers are not smaller.
const READ: Bytes = Bytes::kib(4);

/// Idle latency of the drive, and whether runs have written since it was seen.
pub(crate) struct Settling {
    step: Step,
    region: Region,
    seed: u64,
    most: Nanos,
    looks: u64,
    idle_ns: Option<f64>,
    /// Latency before anything was written.
    before_ns: Option<f64>,
    /// A run that only reads followed on writes.
    is_read_in_wake: bool,
    /// True when `idle_ns` was found after writes.
    is_of_written: bool,
    /// Something was written since the drive was last as it was before the first writes.
    is_stirred: bool,
    /// Recent waits that ended at their bound.
    bounds: u32,
}

impl Settling {
    /// `None` where nothing is to be waited for.
    pub(crate) fn new(plan: &Plan, region: Region, logical_block: Bytes) -> Option<Settling> {
        let least = plan.steps.iter().map(Step::block_min).min()?;
        let block = least.max(READ).max(logical_block);
        let may = plan.schedule.settle > Nanos::ZERO && plan.alters() && region.length >= block;
        may.then(|| Settling {
            step: step(block),
            region: Region { length: region.length.round_down(block), ..region },
            seed: plan.seed,
            most: plan.schedule.settle,
            looks: 0,
            idle_ns: None,
            before_ns: None,
            is_read_in_wake: false,
            is_of_written: false,
            is_stirred: false,
            bounds: 0,
        })
    }

    /// Resumes from a run of an earlier process.
    pub(crate) fn resumed(&mut self, settled: Option<Settled>) {
        self.idle_ns = settled.map(|settled| settled.idle_ns).or(self.idle_ns);
        self.is_of_written |= settled.is_some();
        self.is_stirred = true;
    }

    /// A run of `step` is over.
    pub(crate) fn ran(&mut self, step: &Step) {
        let alters = step.phases.iter().any(Phase::alters);
        self.is_read_in_wake |= !alters && self.is_of_written;
        self.is_stirred |= alters;
    }

    /// Waits before a run. `None` where nothing was written before it, or a read failed.
    pub(crate) fn wait(
        &mut self,
        target: &mut dyn IoPath,
        environment: &mut dyn Environment,
        control: Control<'_>,
        sink: &mut dyn RunSink,
    ) -> Result<Option<Settled>, EngineError> {
        let Some(idle_ns) = self.idle_ns else {
            self.idle_ns = self.first_level(target, environment, control)?;
            self.before_ns = self.idle_ns;
            return Ok(None);
        };
        if !self.is_stirred {
            return Ok(None);
        }
        let began = target.now();
        let mut pause = FIRST_WAIT;
        let mut seen = Vec::new();
        loop {
            let Some((latency_ns, reads)) = self.look(target, environment, control)? else {
                return Ok(None);
            };
            seen.push(latency_ns);
            let waited_ns = target.now().since(began);
            let mut settled = Settled { idle_ns, latency_ns, waited_ns, reads };
            // A drive that did not become idle in time is not waited for as long again.
            let most = Nanos(self.most.0 >> self.bounds.min(MOST_BOUNDS));
            let is_over = waited_ns >= most || control.cancel.load(Ordering::Relaxed);
            let is_idle = settled.is_idle();
            if !is_idle && !is_over && (self.is_of_written || !is_level(&seen)) {
                sink.event(&Event::Pausing { span: pause, since: target.now() });
                rest(target, pause, control);
                pause = Nanos(2 * pause.0).min(LONGEST_WAIT);
                continue;
            }
            // A drive that is slower than before the writes is looked at before the next run, too.
            let most = self.before_ns.map_or(f64::INFINITY, |before| limits(reads).idle * before);
            self.is_stirred = latency_ns > most;
            self.bounds = if is_idle { self.bounds / 2 } else { self.bounds + 1 };
            // A drive that is full, or warm, is slower when it is idle, too.
            let is_for_good = !is_idle && (!self.is_of_written || self.bounds >= BOUNDS);
            if is_for_good || latency_ns < idle_ns * (1.0 - LEVEL) {
                settled.idle_ns = latency_ns;
            }
            self.idle_ns = Some(settled.idle_ns);
            self.is_of_written = true;
            return Ok(Some(settled));
        }
    }

    /// Latency of small reads when all runs are over and the drive has had some time, in nanoseconds, and that from before the
    /// first writes where reads followed on writes and the drive did not come back to it. `None` where nothing was written
    /// since it was last known.
    pub(crate) fn end(
        &mut self,
        target: &mut dyn IoPath,
        environment: &mut dyn Environment,
        control: Control<'_>,
        sink: &mut dyn RunSink,
    ) -> Result<Last, EngineError> {
        let most = |before: f64| limits(MANY_READS).stirred * before;
        let is_slower = self.is_read_in_wake
            && self.idle_ns.zip(self.before_ns).is_some_and(|(idle, before)| idle > most(before));
        if !(self.is_stirred || is_slower) || control.cancel.load(Ordering::Relaxed) {
            return Ok(Last::default());
        }
        let further = if is_slower { RETURN * self.most.0 / LONGEST_LAST_WAIT.0 } else { 0 };
        let waits = (0..further).map(|_| LONGEST_LAST_WAIT);
        let mut lowest: Option<f64> = None;
        for (index, pause) in LAST_WAITS.into_iter().chain(waits).enumerate() {
            let is_back =
                lowest.zip(self.before_ns).is_some_and(|(low, before)| low <= most(before));
            if index >= LAST_WAITS.len() && (is_back || control.cancel.load(Ordering::Relaxed)) {
                break;
            }
            let pause = pause.min(self.most);
            sink.event(&Event::Pausing { span: pause, since: target.now() });
            rest(target, pause, control);
            let seen = self.first_level(target, environment, control)?;
            lowest = [lowest, seen].into_iter().flatten().reduce(f64::min);
        }
        let is_back = lowest.zip(self.before_ns).is_none_or(|(low, before)| low <= most(before));
        Ok(Last { idle_ns: lowest, before_ns: self.before_ns.filter(|_| is_slower && !is_back) })
    }

    fn first_level(
        &mut self,
        target: &mut dyn IoPath,
        environment: &mut dyn Environment,
        control: Control<'_>,
    ) -> Result<Option<f64>, EngineError> {
        let mut sum = 0.0;
        for _ in 0..FIRST_LOOKS {
            match self.look(target, environment, control)? {
                Some((latency_ns, _)) => sum += latency_ns,
                None => return Ok(None),
            }
        }
        Ok(Some(sum / FIRST_LOOKS as f64))
    }

    /// Latency of some reads, and their count; `None` where one failed or the run was ended.
    fn look(
        &mut self,
        target: &mut dyn IoPath,
        environment: &mut dyn Environment,
        control: Control<'_>,
    ) -> Result<Option<(f64, u64)>, EngineError> {
        self.looks += 1;
        let seeded = (self.region, Content::default(), self.seed ^ self.looks << 32);
        let control = Control { trace_cap: 0, ..control };
        let samples = target.run_step(environment, &self.step, seeded, control, &mut NullSink)?;
        let is_whole = samples.failure.is_none() && !samples.interrupted;
        let phase = samples.phases.first().filter(|_| is_whole);
        let latencies = phase.map(|phase| phase.latency());
        let of_look =
            latencies.and_then(|all| Some((all.percentile(LOOK_PERCENTILE)?, all.count())));
        Ok(of_look.map(|(ns, reads)| (ns as f64, reads)))
    }
}

/// State of the drive after the last run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Last {
    /// Latency of small reads, in nanoseconds, where runs wrote.
    pub(crate) idle_ns: Option<f64>,
    /// Latency before the first writes, to which the drive did not come back although reads had followed on writes.
    pub(crate) before_ns: Option<f64>,
}

/// True when the last looks show one latency.
fn is_level(seen: &[f64]) -> bool {
    let Some(last) = seen.len().checked_sub(LEVEL_LOOKS).map(|from| &seen[from..]) else {
        return false;
    };
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    last.iter().all(|latency| (latency / mean - 1.0).abs() <= LEVEL)
}

/// Share of looks that are lower than an idle drive's: the lowest of many is one by chance.
const IDLE_QUANTILE: f64 = 0.25;

/// Runs that began before the drive had settled, among `looks` at it in the order made, with what small reads took in the end:
/// their indices, each with its latency over that of the drive when it was idle, as all looks from it on show it.
pub(crate) fn stirred(looks: &[Settled], in_the_end: Option<f64>) -> Vec<(usize, f64)> {
    let mut later: Vec<f64> = in_the_end.into_iter().collect();
    let mut found = Vec::new();
    for (index, look) in looks.iter().enumerate().rev() {
        later.push(look.latency_ns);
        // Of a few looks, the lowest is not much too low.
        let share = if later.len() < LEVEL_LOOKS { 0.0 } else { IDLE_QUANTILE };
        let Some(of_later) = quantile(&later, share) else { continue };
        let idle_ns = in_the_end.map_or(of_later, |end| end.min(of_later));
        if look.latency_ns > limits(look.reads).stirred * idle_ns {
            found.push((index, look.latency_ns / idle_ns));
        }
    }
    found
}

fn step(block: Bytes) -> Step {
    let phase = Phase {
        name: "idle".to_owned(),
        measured: true,
        block,
        blocks: Vec::new(),
        address: Address::Random,
        stop: Stop {
            after: Some(LOOK),
            ios: Some(MOST_READS),
            at_least_ios: Some(READS),
            ..Stop::default()
        },
        arrival: Arrival::ClosedLoop { depth: 1 },
        ops: vec![OpShare { op: Op::Read, fua: false, percent: 100 }],
        region: None,
    };
    let name = "idle latency".to_owned();
    Step { name, submitters: 1, order: None, engine: None, phases: vec![phase] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(latencies: &[f64]) -> Vec<Settled> {
        let look = |latency_ns: &f64| Settled {
            idle_ns: 100.0,
            latency_ns: *latency_ns,
            waited_ns: Nanos::ZERO,
            reads: READS,
        };
        latencies.iter().map(look).collect()
    }

    fn found(latencies: &[f64], in_the_end: Option<f64>) -> Vec<usize> {
        let mut found: Vec<usize> =
            stirred(&looks(latencies), in_the_end).iter().map(|(index, _)| *index).collect();
        found.sort_unstable();
        found
    }

    // Breaks when a run in the wake of writes passes for one of an idle drive.
    #[test]
    fn looks_above_later_ones_are_found() {
        assert_eq!(found(&[100.0, 300.0, 110.0, 90.0, 250.0, 100.0], None), [1, 4]);
        assert_eq!(found(&[300.0, 300.0, 310.0], Some(100.0)), [0, 1, 2]);
    }

    // Breaks when a drive that is slower for good, or whose looks scatter, is said to have been busy.
    #[test]
    fn a_level_that_stays_is_idle() {
        assert_eq!(found(&[100.0, 300.0, 310.0, 290.0, 305.0], None), [0; 0]);
        assert_eq!(found(&[300.0, 310.0], Some(305.0)), [0; 0]);
        let scattered: Vec<f64> = (0..40).map(|i| 100.0 + 10.0 * f64::from(i % 5 - 2)).collect();
        assert_eq!(found(&scattered, Some(95.0)), [0; 0], "{scattered:?}");
    }

    #[test]
    fn a_level_is_four_looks_that_agree() {
        assert!(is_level(&[900.0, 300.0, 310.0, 290.0, 300.0]));
        assert!(!is_level(&[300.0, 310.0, 290.0]));
        assert!(!is_level(&[900.0, 500.0, 400.0, 300.0]));
    }
}

//! Makes the run, and keeps what each thread saw of it.

use block::{Bytes, Environment, Extents, Nanos, Op, RunSink};
use engine::{Control, EngineError, IoPath, PhaseSamples, Sample};
use stats::LatencyHistogram;
use workload::plan::{Plan, Step};
use workload::schedule::schedule;

use crate::body::Body;
use crate::ceiling::Ceiling;
use crate::execute::{Broken, Executed, MarkError};
use crate::findings::{self, Context};
use crate::look_again::look_again;
use crate::run::RunFigures;

/// Figures of one thread on one target in the measured time, in one direction.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Bytes transferred.
    pub bytes: Bytes,
    /// I/Os completed.
    pub ios: u64,
    /// From issue to completion, or from the intended time where there is a throttle.
    pub latency: LatencyHistogram,
    /// I/Os completed in each whole interval; `None` when not requested, or when there were too many to keep.
    pub per_interval: Option<Vec<u64>>,
}

/// Figures of one thread on one target.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    /// Reads.
    pub reads: Figures,
    /// Writes.
    pub writes: Figures,
}

/// A run that is over.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The measured time as it really was.
    pub window: Nanos,
    /// By thread.
    pub threads: Vec<Thread>,
    /// Findings: the proofs, and doubts.
    pub body: Body,
    /// The I/O that ended it early, if one did.
    pub broken: Option<Broken>,
}

/// Measures the tester's own limit for a step ([`crate::ceiling`]).
pub type Look<'a> = &'a mut dyn FnMut(&Step) -> Result<Option<Ceiling>, EngineError>;

/// How a target is driven, beside its plan.
pub struct How<'a> {
    /// `libaio`, `psync`, `virtual`.
    pub engine: &'a str,
    /// The page cache is bypassed.
    pub direct: bool,
    /// CPUs that threads may run on, at least 1.
    pub cpus: usize,
    /// How the target's file is laid out.
    pub extents: Option<Extents>,
    /// The tester's own limit, where it was measured.
    pub ceiling: Option<Ceiling>,
    /// Measures it once more, where the run came near to it.
    pub look_again: Option<Look<'a>>,
    /// Length of the intervals that I/Os are counted in.
    pub interval: Option<Nanos>,
}

/// Runs `plan`, which has one step that runs once: what [`super::Options::plan`] makes.
///
/// # Errors
/// [`MarkError`] when it cannot be run on the target at all. An I/O that fails ends the run and is returned in
/// [`Outcome::broken`].
pub fn run(
    plan: &Plan,
    target: &mut dyn IoPath,
    environment: &mut dyn Environment,
    how: How<'_>,
    control: Control<'_>,
    sink: &mut dyn RunSink,
) -> Result<Outcome, MarkError> {
    let region = plan.fit(target.info())?;
    let mut executed = Executed::nothing(plan, region);
    executed.tests[0].ceiling = how.ceiling;
    let (mut window, mut threads) = (Nanos::ZERO, Vec::new());
    for slot in schedule(plan) {
        let step = &plan.steps[slot.step];
        // There is only one run, so it takes the plan's seed itself, which repeats it.
        let seeded = (region, plan.content, plan.seed);
        let (samples, apart) = target.run_step_apart(environment, step, seeded, control, sink)?;
        let cut = samples.trace_dropped > 0 || control.trace_cap == 0;
        let interval = how.interval.filter(|_| !cut);
        if let Some(phase) = samples.phases.iter().find(|phase| phase.measured) {
            window = phase.window;
            let traced = |id: usize| {
                let interval = interval?;
                let of = samples.trace.iter().filter(move |s| usize::from(s.submitter) == id);
                Some((of.collect::<Vec<_>>(), interval, phase))
            };
            threads = (0..).zip(&apart).map(|(id, phases)| thread(phases, traced(id))).collect();
        }
        executed.interrupted = samples.interrupted;
        if let Some((figures, latencies)) = RunFigures::new(slot.position, &samples) {
            let test = &mut executed.tests[slot.step];
            test.latencies.merge(&latencies);
            test.runs.push(figures);
        }
        if let Some(failure) = samples.failure {
            let target = target.info().name.clone();
            let broken = Broken { target, step: step.name.clone(), run: slot.run + 1, failure };
            executed.broken = Some(broken);
        }
    }
    if let Some(look) = how.look_again {
        look_again(plan, &mut executed, look)?;
    }
    let region = executed.region;
    environment.survey_layers(region.offset, region.length);
    let extents_after = environment.extents_within(region.offset, region.length);
    let durable = plan.steps.iter().flat_map(|s| &s.phases).flat_map(|p| &p.ops).any(|o| o.fua);
    let context = Context {
        info: target.info(),
        stack: environment.stack(),
        extents: how.extents,
        engine: how.engine,
        direct: how.direct,
        durable,
        cpus: how.cpus,
        polling: false,
        in_place: false,
        extents_after,
        own_file: false,
        cache: None,
    };
    let body = findings::body(plan, &executed, &context);
    Ok(Outcome { window, threads, body, broken: executed.broken })
}

/// Figures of a thread in the measured phase; with its single I/Os, also counts in each interval of `phase`.
fn thread(phases: &[PhaseSamples], traced: Option<(Vec<&Sample>, Nanos, &PhaseSamples)>) -> Thread {
    let Some(own) = phases.iter().find(|phase| phase.measured) else { return Thread::default() };
    let figures = |op: Op| {
        let seen = own.ops.iter().find(|samples| samples.op == op);
        let mut figures = seen.map_or_else(Figures::default, |samples| Figures {
            bytes: samples.bytes,
            ios: samples.ios,
            latency: samples.latency.clone(),
            per_interval: None,
        });
        figures.per_interval =
            traced.as_ref().map(|(samples, interval, phase)| counts(samples, op, *interval, phase));
        figures
    };
    Thread { reads: figures(Op::Read), writes: figures(Op::Write) }
}

/// I/Os of `op` in each whole interval of `phase`; in the one that there is where it is shorter.
fn counts(samples: &[&Sample], op: Op, interval: Nanos, phase: &PhaseSamples) -> Vec<u64> {
    let whole = (phase.window.0 / interval.0.max(1)).max(1);
    let mut counts = vec![0; usize::try_from(whole).unwrap_or(usize::MAX)];
    for sample in samples.iter().filter(|sample| sample.op == op) {
        let Some(at) = sample.completed.0.checked_sub(phase.began.0) else { continue };
        let place = usize::try_from(at / interval.0.max(1)).unwrap_or(usize::MAX);
        if let Some(count) = counts.get_mut(place).filter(|_| at < phase.window.0) {
            *count += 1;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Series;

    // Breaks when I/Os of the warm-up, of the other direction or behind the end are counted.
    #[test]
    fn intervals_count_what_completed_in_them() {
        let sample = |op, completed_ms| Sample {
            submitter: 0,
            op,
            offset: Bytes::ZERO,
            len: Bytes(4096),
            intended: Nanos::ZERO,
            issued: Nanos::ZERO,
            completed: Nanos::millis(completed_ms),
        };
        let reads = [40, 100, 199, 200, 349, 350, 360].map(|ms| sample(Op::Read, ms));
        let mut samples: Vec<&Sample> = reads.iter().collect();
        let write = sample(Op::Write, 150);
        samples.push(&write);
        let phase = PhaseSamples {
            name: "measure".to_owned(),
            measured: true,
            began: Nanos::millis(100),
            window: Nanos::millis(250),
            ops: Vec::new(),
            series: Series::new(Nanos::millis(10)),
            outstanding_ns: 0,
            within_ns: 0,
        };
        let of = |op, interval| counts(&samples, op, Nanos::millis(interval), &phase);
        assert_eq!(of(Op::Read, 100), [2, 1]);
        assert_eq!(of(Op::Write, 100), [1, 0]);
        assert_eq!(of(Op::Read, 1000), [4]);
    }
}

//! From the runs of a mark to what they mean.

use block::{Bytes, Nanos, Op};
use stats::{
    Better, Decision, OrderInterval, StopRule, Unit, coefficient_of_variation, median_interval,
    median_quantity, range_over_mean,
};
use workload::plan::{OpShare, Phase, Plan, Schedule, Step, Until};

use crate::body::{Body, Proofs, Setup, Spread, Test};
use crate::burst;
use crate::caveats;
use crate::execute::{Executed, TestRuns};
use crate::notation::{Pattern, TestSpec};
use crate::options::Direction;
use crate::proofs::{self, Case, RunSeries};
use crate::run::latency;
use crate::settle::{self, Settled};

pub use crate::body::CONFIDENCE;
pub use crate::context::Context;

/// Counted runs of each test that were planned, where it ended before they were made.
fn missing(plan: &Plan, executed: &Executed) -> Option<u32> {
    let ended_early = executed.interrupted || executed.broken.is_some();
    ended_early.then_some(plan.schedule.runs)
}

/// Draws the findings of `executed`, the runs of `plan`.
pub fn body(plan: &Plan, executed: &Executed, context: &Context<'_>) -> Body {
    let mut tests = Vec::with_capacity(plan.steps.len());
    let mut caveats = caveats::of_the_whole(plan, executed, context);
    for index in 0..plan.steps.len() {
        let Some(case) = case(plan, executed, index, context) else { continue };
        let test = tested(&case, executed, &plan.schedule);
        caveats.extend(caveats::of_test(&test, &case, context, missing(plan, executed)));
        tests.push(test);
    }
    caveats.extend(caveats::of_commits(&tests, context.info));
    let own_file = context.extents.as_ref().filter(|_| context.own_file);
    let own_file = own_file.map_or(Bytes::ZERO, |extents| extents.file_bytes);
    Body {
        target: context.info.clone(),
        stack: context.stack.clone(),
        extents: context.extents.clone(),
        setup: setup(plan, executed, context),
        tests,
        caveats: caveats::merge(caveats),
        interrupted: executed.interrupted || executed.broken.is_some(),
        planned_runs: missing(plan, executed).map(|runs| u64::from(runs) * plan.steps.len() as u64),
        elapsed_ns: executed.elapsed,
        settle_ns: (executed.tests.iter().flat_map(|test| &test.runs))
            .filter_map(|run| run.settled)
            .map(|settled| settled.waited_ns)
            .sum(),
        read_bytes: executed.read,
        written_bytes: executed.written.iter().map(|(_, bytes)| *bytes).sum::<Bytes>() + own_file,
        cache: context.cache.clone(),
        imported: None,
    }
}

/// Result so far of the test of the step with this index; `None` if the step measures nothing.
pub fn so_far(
    plan: &Plan,
    executed: &Executed,
    index: usize,
    context: &Context<'_>,
) -> Option<Test> {
    let case = case(plan, executed, index, context)?;
    Some(tested(&case, executed, &plan.schedule))
}

fn case<'a>(
    plan: &'a Plan,
    executed: &'a Executed,
    index: usize,
    context: &'a Context<'_>,
) -> Option<Case<'a>> {
    let (step, runs) = (plan.steps.get(index)?, executed.tests.get(index)?);
    let phase = step.phases.iter().find(|p| p.measured)?;
    let is_reading = !step.phases.iter().any(Phase::alters);
    Some(Case {
        step,
        phase,
        test: runs,
        failed: executed.failed.iter().filter(|run| run.step == step.name).collect(),
        info: context.info,
        stack: context.stack,
        extents: context.extents.as_ref(),
        extents_after: context.extents_after.as_ref(),
        own_file: context.own_file,
        region: executed.region,
        cpus: context.cpus,
        direct: context.direct,
        polling: context.polling,
        cache: context.cache.as_ref(),
        stirred: stirred(executed, runs, is_reading),
        is_slower_since_writes: is_reading && executed.before_ns.is_some(),
        series: RunSeries::new(&runs.runs, phase, enough(plan)),
    })
}

/// Runs that would have been enough to decide.
fn enough(plan: &Plan) -> u32 {
    let may_add = plan.schedule.decide_within > Nanos::ZERO;
    if may_add { plan.schedule.runs } else { u32::MAX }
}

/// Of the runs of `test`, those that began before the drive had recovered from writes, seen from all runs of the mark.
fn stirred(executed: &Executed, test: &TestRuns, is_reading: bool) -> Vec<f64> {
    let all = executed.tests.iter().flat_map(|test| &test.runs);
    let mut looks: Vec<(u32, Settled)> =
        all.filter_map(|run| Some((run.position, run.settled?))).collect();
    looks.sort_by_key(|(position, _)| *position);
    let settled: Vec<Settled> = looks.iter().map(|(_, settled)| *settled).collect();
    let is_of_test = |position| test.runs.iter().any(|run| run.position == position);
    let in_the_end = executed.before_ns.filter(|_| is_reading).or(executed.idle_ns);
    let found = settle::stirred(&settled, in_the_end).into_iter();
    found.filter(|(index, _)| is_of_test(looks[*index].0)).map(|(_, times)| times).collect()
}

fn tested(case: &Case<'_>, executed: &Executed, schedule: &Schedule) -> Test {
    let (until, pause) = (schedule.until, schedule.pause);
    let proofs = proofs::judge(case);
    let writes = burst::find(case, &proofs, executed, pause);
    let states = case.series.states();
    Test { writes, states, ..test(case, proofs, until) }
}

fn test(case: &Case<'_>, proofs: Proofs, until: Option<Until>) -> Test {
    let (step, phase, runs) = (case.step, case.phase, case.test);
    let first = case.series.in_cache();
    let rates = case.rates().split_off(first);
    let iops: Vec<f64> = runs.runs[first..].iter().map(|r| r.run.iops).collect();
    let spread = |values: &[f64], unit| match case.series.is_extended && until.is_none() {
        true => spread_within(values, unit, case.series.interval_of(values)),
        false => spread(values, unit, until),
    };
    Test {
        name: name(step, phase),
        op: word(step, &phase.ops),
        block_bytes: phase.block,
        depth: phase.arrival.depth(),
        threads: step.submitters,
        headline: proofs.hold() && runs.tells_rate(),
        runs: runs.runs.iter().map(|r| r.run.clone()).collect(),
        mb_s: spread(&rates, Unit::MbPerS),
        iops: spread(&iops, Unit::Iops),
        latency_ns: latency(&runs.latencies),
        writes: None,
        states: None,
        proofs,
    }
}

/// The test in the familiar notation when the phase is one, else the step's own name.
fn name(step: &Step, phase: &Phase) -> String {
    let pattern = match phase.address {
        address if address.is_random() => Pattern::Random,
        _ => Pattern::Sequential,
    };
    let depth = phase.arrival.depth();
    let spec = TestSpec { pattern, block: phase.block, depth, threads: step.submitters };
    let familiar = spec.to_string();
    if step.name.starts_with(&familiar) { familiar } else { step.name.clone() }
}

fn word(step: &Step, ops: &[OpShare]) -> String {
    let commit = Direction::Commit.word();
    let is_durable = ops.iter().all(|o| o.op == Op::Write && o.fua);
    if is_durable && step.name.split_whitespace().next_back() == Some(&commit) {
        return commit;
    }
    let share = |op| ops.iter().filter(|o| o.op == op).map(|o| o.percent).sum::<u8>();
    match (share(Op::Read), share(Op::Write)) {
        (100, 0) => Direction::Read.word(),
        (0, 100) => Direction::Write.word(),
        (reads, writes) if reads + writes == 100 => Direction::Mix(reads).word(),
        _ => "other".to_owned(),
    }
}

/// The interval is that of the order statistics, of 6 runs or more, whether or not the runs depend on
/// their neighbours: that they do is a caveat of its own, since an interval that is sometimes missing
/// and sometimes wider cannot be compared from one run to the next. Under a stop rule it is the rule's
/// own, which is wider: it allows for having looked at the runs before, with the wish to stop.
pub(crate) fn spread(values: &[f64], unit: Unit, until: Option<Until>) -> Spread {
    let interval = match until {
        None => median_interval(values, CONFIDENCE),
        Some(until) => {
            let rule = StopRule::new(until.half_width_percent, CONFIDENCE);
            match rule.decide(values) {
                Decision::Met { interval, .. } => Some(interval),
                Decision::Continue { .. } => rule.final_interval(values),
            }
        }
    };
    spread_within(values, unit, interval)
}

fn spread_within(values: &[f64], unit: Unit, interval: Option<OrderInterval>) -> Spread {
    let median = median_quantity(values, CONFIDENCE, unit, Better::Higher);
    Spread {
        median: median.map(|m| m.value),
        low: interval.map(|i| i.low),
        high: interval.map(|i| i.high),
        n: values.len(),
        r_over_avg: range_over_mean(values).unwrap_or(0.0),
        cv: coefficient_of_variation(values).unwrap_or(0.0),
        best: values.iter().copied().reduce(f64::max),
        n_effective: median.map_or(0.0, |m| m.n_effective),
    }
}

/// How I/O was issued: the engine of the run, or all that its steps name.
fn engines(plan: &Plan, own: &str) -> String {
    let mut named: Vec<&str> = Vec::new();
    for step in &plan.steps {
        let engine = step.engine.map_or(own, |engine| engine.word());
        if !named.contains(&engine) {
            named.push(engine);
        }
    }
    named.join(", ")
}

fn setup(plan: &Plan, executed: &Executed, context: &Context<'_>) -> Setup {
    let measured = |measured: bool| {
        let phases = plan.steps.first().map_or(&[][..], |s| &s.phases);
        phases.iter().filter(|p| p.measured == measured).filter_map(|p| p.stop.after).sum()
    };
    Setup {
        engine: engines(plan, context.engine),
        direct: context.direct,
        in_place: context.in_place,
        durable: context.durable,
        region_bytes: executed.region.length,
        region_offset_bytes: executed.region.offset,
        duration_ns: measured(true),
        warm_up_ns: measured(false),
        pause_ns: plan.schedule.pause,
        seed: plan.seed,
        order: executed.tests.iter().map(|t| t.runs.iter().map(|r| r.position).collect()).collect(),
    }
}

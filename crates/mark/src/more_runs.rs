//! Runs beyond the planned ones, of tests that those leave undecided.

use block::Nanos;
use workload::plan::{Order, Phase, Plan, Step};

use crate::proofs::{self, RunSeries};
use crate::run::RunFigures;

/// True when a step is to have another run beyond the planned ones, the last of which ended at `elapsed`: its test is undecided,
/// and there is time for it. What time is left over is shared between the steps that only read and the others.
pub fn needs_more(plan: &Plan, step: usize, runs: &[RunFigures], elapsed: Nanos) -> bool {
    let schedule = &plan.schedule;
    let length = |step: &Step| step.planned_at_least() + schedule.pause;
    let less = |from: Nanos, by: Nanos| Nanos(from.0.saturating_sub(by.0));
    let planned = u64::from(schedule.runs) + u64::from(schedule.discard_first);
    let alters = |step: &Step| step.phases.iter().any(Phase::alters);
    let time = |steps: &mut dyn Iterator<Item = &Step>| {
        Nanos(steps.map(length).sum::<Nanos>().0.saturating_mul(planned))
    };
    let left = less(schedule.decide_within, time(&mut plan.steps.iter()));
    let is_reading = schedule.order == Order::ReadsFirst && !alters(&plan.steps[step]);
    let writes = time(&mut plan.steps.iter().filter(|step| alters(step)));
    let until = match is_reading && writes > Nanos::ZERO {
        true => less(schedule.decide_within, writes + Nanos(left.0 / 2)),
        false => schedule.decide_within,
    };
    let Some(phase) = plan.steps[step].phases.iter().find(|phase| phase.measured) else {
        return false;
    };
    elapsed + length(&plan.steps[step]) <= until
        && runs.len() >= schedule.runs as usize
        && proofs::need_more(&RunSeries::new(runs, phase, schedule.runs))
}

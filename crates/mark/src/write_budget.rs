//! Keeps runs within the bytes that a plan may write.

use std::borrow::Cow;

use block::{Bytes, Op};
use workload::plan::{Phase, Plan, Step};

use crate::execute::Executed;

/// The step with this index as it may be run after what was `executed`; `None` where the rest of the budget is too small for it.
pub(crate) fn within<'a>(
    plan: &'a Plan,
    index: usize,
    executed: &Executed,
) -> Option<Cow<'a, Step>> {
    let step = &plan.steps[index];
    let Some(Bytes(budget)) = plan.schedule.write_budget.filter(|_| step.writes()) else {
        return Some(Cow::Borrowed(step));
    };
    let spent: u64 = executed.written.iter().map(|(_, bytes)| bytes.0).sum();
    let left = budget.saturating_sub(spent);
    let earlier = executed.tests[index].runs.iter().map(|run| run.totals.written.0).max();
    // A run that is cut short would be of another length than those before it.
    if earlier.is_some_and(|most| most > left) {
        return None;
    }
    let time = |phase: &Phase| phase.stop.after.map_or(0, |after| after.0);
    let writes = |phase: &Phase| phase.ops.iter().any(|share| share.op == Op::Write);
    let count = step.phases.iter().filter(|phase| writes(phase)).count() as u64;
    let all: u64 = step.phases.iter().filter(|phase| writes(phase)).map(time).sum();
    let mut step = step.clone();
    let submitters = u64::from(step.submitters);
    for phase in step.phases.iter_mut().filter(|phase| writes(phase)) {
        let part = match all {
            0 => left / count,
            all => (u128::from(left) * u128::from(time(phase)) / u128::from(all)) as u64,
        };
        // Whole blocks of each submitter.
        let unit = phase.block.0.saturating_mul(submitters);
        let part = part / unit * unit;
        if part == 0 {
            return None;
        }
        phase.stop.bytes =
            Some(phase.stop.bytes.map_or(Bytes(part), |bytes| bytes.min(Bytes(part))));
    }
    Some(Cow::Owned(step))
}

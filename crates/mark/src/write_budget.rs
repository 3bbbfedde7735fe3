//! Keeps runs within the bytes that a plan may write.

use std::borrow::Cow;

use block::{Bytes, Op};
use workload::plan::{Phase, Step};

use crate::run::RunFigures;

/// `step` as it may be run after the runs that have `written`, of which those of the same step are `earlier`; `None` where the rest
/// of the budget is too small for it.
pub(crate) fn within<'a>(
    budget: Option<Bytes>,
    step: &'a Step,
    written: &[(u32, Bytes)],
    earlier: &[RunFigures],
) -> Option<Cow<'a, Step>> {
    let Some(Bytes(budget)) = budget.filter(|_| step.writes()) else {
        return Some(Cow::Borrowed(step));
    };
    let spent: u64 = written.iter().map(|(_, bytes)| bytes.0).sum();
    let left = budget.saturating_sub(spent);
    // A run that is cut short would be of another length than those before it.
    if earlier.iter().any(|run| run.totals.written.0 > left) {
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

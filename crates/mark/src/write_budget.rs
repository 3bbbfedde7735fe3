//! Keeps runs within the bytes that a plan may write.
//!
//! Before the first run of a step, what is left is shared evenly between the runs that are planned: those of steps that were begun
//! keep their share, and the others divide the rest. So a step that takes less than its share leaves more to those after it, and the
//! runs of a step have one length.

use std::borrow::Cow;

use block::{Bytes, Op};
use workload::plan::{Phase, Plan, Step};

use crate::run::RunFigures;

/// Share of each run of the steps of a plan.
pub(crate) struct Shares<'a> {
    plan: &'a Plan,
    /// Bytes that may still be written; `None` where nothing limits them.
    left: Option<u64>,
    /// By step of the plan.
    steps: Vec<Share>,
}

/// Runs of a step, and the most that each may transfer.
#[derive(Clone, Copy, Default)]
struct Share {
    /// Planned runs that were not made.
    planned: u64,
    /// Set before the first run; zero where that is too little for one.
    limit: Option<u64>,
    /// A run was made.
    is_begun: bool,
}

/// A run that takes less than its share leaves the rest to others, as far as no later run of its step needs it.
const RESERVE: u64 = 2;

impl<'a> Shares<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Shares<'a> {
        let planned = u64::from(plan.schedule.planned());
        let of_step = |step: &Step| Share {
            planned: if step.writes() { planned } else { 0 },
            ..Share::default()
        };
        Shares {
            plan,
            left: plan.schedule.write_budget.map(|budget| budget.0),
            steps: plan.steps.iter().map(of_step).collect(),
        }
    }

    /// Step `at` of the plan as its next run may be made; `None` where its share is too small for it.
    pub(crate) fn within(&self, at: usize) -> Option<Cow<'a, Step>> {
        let step = &self.plan.steps[at];
        match self.limit(at) {
            None => Some(Cow::Borrowed(step)),
            Some(limit) => limited(step, limit).map(Cow::Owned),
        }
    }

    /// Most bytes that the next run of a step may transfer; `None` where nothing limits them.
    fn limit(&self, at: usize) -> Option<u64> {
        let left = self.left.filter(|_| self.plan.steps[at].writes())?;
        let kept = |share: &Share| share.limit.map_or(0, |limit| share.planned * limit);
        let of_begun = self.steps.iter().map(kept).sum::<u64>();
        let Share { limit, planned, .. } = self.steps[at];
        Some(match limit {
            // Runs beyond the planned ones take none of what those need.
            Some(limit) if planned == 0 => {
                if limit <= left.saturating_sub(of_begun) {
                    limit
                } else {
                    0
                }
            }
            Some(limit) => limit.min(left),
            None => {
                let open = self.steps.iter().filter(|share| share.limit.is_none());
                let runs = open.map(|share| share.planned).sum::<u64>().max(1);
                left.saturating_sub(of_begun) / runs
            }
        })
    }

    /// The next run of a step begins, or, where its share is too small, is left out.
    pub(crate) fn begin(&mut self, at: usize) {
        let limit = self.limit(at);
        let is_left_out = self.within(at).is_none();
        let share = &mut self.steps[at];
        share.limit = share.limit.or(limit);
        share.planned = share.planned.saturating_sub(1);
        if is_left_out && !share.is_begun {
            (share.limit, share.planned) = (Some(0), 0);
        }
    }

    /// A run was made. True where its share made it shorter than planned.
    pub(crate) fn ran(&mut self, at: usize, figures: Option<&RunFigures>) -> bool {
        let (Some(left), Some(figures)) = (&mut self.left, figures) else { return false };
        *left = left.saturating_sub(figures.totals.written.0);
        let share = &mut self.steps[at];
        let moved = figures.totals.bytes().0;
        let is_first = !std::mem::replace(&mut share.is_begun, true);
        let Some(limit) = share.limit else { return false };
        let step = &self.plan.steps[at];
        let is_cut = limited(step, limit).is_none_or(|step| moved >= bytes_of(&step));
        if is_first && !is_cut {
            share.limit = Some(limit.min(moved.saturating_mul(RESERVE)));
        }
        is_cut && bytes_of(step) > moved
    }
}

/// Limits of the phases that write, together.
fn bytes_of(step: &Step) -> u64 {
    let limit = |phase: &Phase| phase.stop.bytes.map_or(u64::MAX, |bytes| bytes.0);
    step.phases.iter().filter(|phase| writes(phase)).map(limit).fold(0, u64::saturating_add)
}

fn writes(phase: &Phase) -> bool {
    phase.ops.iter().any(|share| share.op == Op::Write)
}

/// `step`, whose phases that write transfer `limit` bytes at most; `None` where that is not a block of each submitter.
fn limited(step: &Step, limit: u64) -> Option<Step> {
    let time = |phase: &Phase| phase.stop.after.map_or(0, |after| after.0);
    let count = step.phases.iter().filter(|phase| writes(phase)).count() as u64;
    let all: u64 = step.phases.iter().filter(|phase| writes(phase)).map(time).sum();
    let mut step = step.clone();
    let submitters = u64::from(step.submitters);
    for phase in step.phases.iter_mut().filter(|phase| writes(phase)) {
        let part = match all {
            0 => limit / count,
            all => (u128::from(limit) * u128::from(time(phase)) / u128::from(all)) as u64,
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
    Some(step)
}

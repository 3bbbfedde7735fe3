//! A benchmark to run, and the plan that it has on its target.

use anyhow::Result;
use bench::consent;
use block::{Bytes, DriveInfo};
use runner::exit::Refused;
use workload::plan::{Plan, Region};

use super::target::{Span, TargetSettings};
use super::turns::Turn;

/// Size of the default part of a drive, in sizes of its memory: about 3% of random reads are then answered by that.
const SPAN_OF_CACHES: u64 = 32;

/// A benchmark to run.
pub struct Job<'a> {
    /// The target.
    pub target: &'a TargetSettings,
    /// The plan, given whether the target may be written to.
    pub plan: &'a dyn Fn(bool) -> Result<Plan>,
    /// Size of a test file when the user names none.
    pub default_size: Bytes,
    /// Part of a device or virtual drive to use when the user names none; all of it when absent.
    pub default_span: Option<Bytes>,
    /// That part may be larger on a drive with a large memory; not where others have to measure the same.
    pub may_widen: bool,
    /// Names the test file.
    pub run_id: &'a str,
    /// Seed that a virtual drive's own noise takes, when the user named one.
    pub drive_seed: Option<u64>,
    /// Most single I/Os to keep per run.
    pub trace_cap: usize,
    /// Its place among others, when several are measured in turns.
    pub turn: Option<&'a Turn>,
}

impl Job<'_> {
    /// The plan for a target of `capacity` whose size is not ours to choose: the user's span, else the
    /// plan's own, else the default.
    ///
    /// # Errors
    /// When the flags make no plan.
    pub(super) fn plan_for(&self, may_write: bool, capacity: Option<Bytes>) -> Result<Plan> {
        let mut plan = (self.plan)(may_write)?;
        let args = self.target;
        let from_zero = |length| Region { offset: Bytes::ZERO, length };
        let usual = capacity.zip(self.default_span);
        plan.region = match args.span {
            Some(Span::All) => None,
            Some(Span::Part(region)) => Some(region),
            None => args
                .size
                .map(from_zero)
                .or(plan.region)
                .or(usual.map(|(capacity, span)| from_zero(span.min(capacity)))),
        };
        Ok(plan)
    }

    /// Makes the usual part of a drive so large that its memory answers few of the reads. Not where that was asked for, and not
    /// where more of a real drive would be written to than its owner was shown.
    pub(super) fn widen(&self, plan: &mut Plan, info: &DriveInfo) {
        let args = self.target;
        let usual = self
            .default_span
            .filter(|_| self.may_widen && args.span.is_none() && args.size.is_none());
        let (Some(usual), Some(cache), Some(region)) = (usual, info.cache_bytes, &mut plan.region)
        else {
            return;
        };
        let enough = Bytes((cache.0 * SPAN_OF_CACHES).next_power_of_two());
        if region.offset == Bytes::ZERO && region.length == usual && enough > usual {
            region.length = enough.min(info.capacity_bytes.round_down(info.logical_block_bytes));
        }
    }

    /// Keeps `plan` within the bytes that may be written, those of a test file among them.
    ///
    /// # Errors
    /// [`Refused`] where it is known to write more.
    pub(super) fn budget(&self, plan: &mut Plan, test_file: Bytes) -> Result<()> {
        let Some(budget) = self.target.write_budget else { return Ok(()) };
        let runs = if plan.alters() { consent::bytes_to_write(plan) } else { None };
        let writes = test_file + runs.unwrap_or_default();
        if writes > budget {
            let why = format!(
                "{}: refused: the runs and their test file write {}, and --write-budget is {}; nothing was written\nhint: \
                 give a larger --write-budget, or a smaller --size",
                self.target.target,
                writes.human(),
                budget.human()
            );
            return Err(Refused(why).into());
        }
        if plan.alters() {
            plan.schedule.write_budget = Some(budget.saturating_sub(test_file));
        }
        Ok(())
    }

    /// Refuses a plan that writes to what is there and may only be read.
    ///
    /// # Errors
    /// [`Refused`].
    pub(super) fn check_writes(&self, plan: &Plan, is_file: bool) -> Result<()> {
        if !plan.alters() || self.target.consent.write {
            return Ok(());
        }
        let name = self.target.target.as_str();
        let what = if is_file { "file" } else { "device" };
        let flags = consent::flags_for(name);
        let why = format!(
            "{name}: the plan writes, and an existing {what} is only read unless you say {flags}"
        );
        Err(Refused(why).into())
    }
}

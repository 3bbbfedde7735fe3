//! I/O to issue, as data. A plan can be printed, read back and run again.
//!
//! A plan has steps; a step has submitters and phases that follow each other without a gap; the
//! schedule says how often and in which order the steps run. A plan knows nothing of the target but
//! the region that it may touch.

use block::{Bytes, DriveInfo, EngineKind, Nanos, Op};
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use crate::address::{Address, BlockShare, Cursors, Share, Zone};
pub use crate::repetition::{Order, Schedule, Until};
pub use crate::stop::Stop;
use crate::{address, units};

/// The schema that this version writes and reads.
pub const SCHEMA: &str = "drivescope.plan/1";

/// Everything that a run issues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`SCHEMA`].
    pub schema: String,
    /// Root of every random stream of the run.
    pub seed: u64,
    /// The part of the target that may be touched; the whole target when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Region>,
    /// Content of writes.
    #[serde(default)]
    pub content: Content,
    /// How often and in which order the steps run.
    #[serde(default)]
    pub schedule: Schedule,
    /// The steps, by name.
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
}

/// A contiguous part of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Offset of its beginning.
    #[serde(with = "units::bytes")]
    pub offset: Bytes,
    /// Length.
    #[serde(with = "units::bytes")]
    pub length: Bytes,
}

/// Content of written data. At zero, no two sectors are alike and none compresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Content {
    /// Share of each 4 KiB that compresses away, in percent.
    pub compressible_percent: u8,
    /// Share of 4 KiB blocks that repeat an earlier one, in percent.
    pub dedup_percent: u8,
}

/// One kind of load, from idle to idle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Unique in the plan.
    pub name: String,
    /// Logical submitters (the T of Q8T1), each with its own queue.
    pub submitters: u16,
    /// Order of its runs, where that is not the schedule's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// How its requests reach the kernel, where that is not as the run has it; files and devices only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineKind>,
    /// Phases, without a gap in between.
    #[serde(rename = "phase")]
    pub phases: Vec<Phase>,
}

/// A stretch of a step with one kind of load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// For people, such as `warm-up`.
    pub name: String,
    /// True when its samples count towards the result.
    pub measured: bool,
    /// Size of each transfer; the largest of them where `blocks` has several.
    #[serde(with = "units::bytes")]
    pub block: Bytes,
    /// Sizes by share, which add up to 100; none where all are alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<BlockShare>,
    /// Pattern of the offsets of transfers.
    pub address: Address,
    /// When it ends.
    pub stop: Stop,
    /// When requests are issued.
    pub arrival: Arrival,
    /// Operations by share; the shares add up to 100.
    pub ops: Vec<OpShare>,
    /// A part of the plan's region, relative to its beginning; all of it when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Region>,
}

impl Phase {
    /// True when this phase's requests are the continuation of `before`'s: same operations, sizes,
    /// addresses and region, so that cursors and random streams go on.
    pub fn continues(&self, before: &Phase) -> bool {
        self.ops == before.ops
            && self.block == before.block
            && self.blocks == before.blocks
            && self.address == before.address
            && self.region == before.region
    }
}

/// One operation's share of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpShare {
    /// The operation.
    #[serde(with = "crate::op_name")]
    pub op: Op,
    /// Force unit access (reads and writes).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fua: bool,
    /// Share of the requests, 1–100.
    pub percent: u8,
}

/// When requests are issued.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrival {
    /// A new request as soon as one completes, `depth` outstanding per submitter (the Q of Q8T1).
    ClosedLoop {
        /// Requests outstanding per submitter.
        depth: u16,
    },
    /// At intended times that do not wait for completions; latency counts from the intended time.
    Timed {
        /// Most requests outstanding per submitter; what is due beyond that waits, and is late.
        depth: u16,
        /// Requests per second and submitter.
        per_s: f64,
        /// Gaps between intended times.
        #[serde(default)]
        gaps: Gaps,
    },
}

impl Arrival {
    /// Most requests outstanding per submitter.
    pub fn depth(self) -> u16 {
        match self {
            Arrival::ClosedLoop { depth } | Arrival::Timed { depth, .. } => depth,
        }
    }
}

/// Gaps between intended times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gaps {
    /// All alike.
    #[default]
    Constant,
    /// Exponential: arrivals are a Poisson process.
    Exponential,
}

/// Error in a plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// Not TOML, or not of a plan's form; the message names line and field.
    #[error("{0}")]
    Syntax(String),
    /// A schema that this version does not read.
    #[error("the plan's schema is `{0}`, and this version reads `{SCHEMA}`")]
    Schema(String),
    /// A value that cannot be run.
    #[error("{place}: {what}")]
    Value {
        /// Step, phase and field.
        place: String,
        /// Description of the error, and what to write instead.
        what: String,
    },
}

fn wrong<T>(place: &str, what: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError::Value { place: place.to_owned(), what: what.into() })
}

impl Plan {
    /// Reads a plan and checks it as far as is possible without a target.
    ///
    /// # Errors
    /// [`PlanError`], naming line or field.
    #[inline] // Compiled where plans are read, for size, and not here, for speed.
    pub fn from_toml(text: &str) -> Result<Plan, PlanError> {
        let wrong = |e: toml::de::Error| PlanError::Syntax(e.to_string().trim_end().to_owned());
        let plan: Plan = toml::from_str(text).map_err(wrong)?;
        plan.check().map(|()| plan)
    }

    /// Prints the plan in the form that [`Plan::from_toml`] reads.
    ///
    /// # Errors
    /// [`PlanError::Syntax`] when a number has no TOML form (a seed above 2^63 - 1).
    #[inline]
    pub fn to_toml(&self) -> Result<String, PlanError> {
        toml::to_string(self).map_err(|e| PlanError::Syntax(e.to_string()))
    }

    /// True when some step writes or discards: the run needs consent.
    pub fn alters(&self) -> bool {
        self.steps.iter().flat_map(|s| &s.phases).any(Phase::alters)
    }

    /// Checks what does not depend on a target.
    ///
    /// # Errors
    /// [`PlanError::Value`] with step, phase and field.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.schema != SCHEMA {
            return Err(PlanError::Schema(self.schema.clone()));
        }
        if self.seed > i64::MAX as u64 {
            return wrong("seed", "a TOML number ends at 9223372036854775807; take a smaller seed");
        }
        for (field, percent) in [
            ("content.compressible_percent", self.content.compressible_percent),
            ("content.dedup_percent", self.content.dedup_percent),
        ] {
            if percent > 100 {
                return wrong(field, format!("{percent} is not a share; write 0 to 100"));
            }
        }
        if let Err((field, what)) = self.schedule.check() {
            return wrong(&format!("schedule.{field}"), what);
        }
        if self.steps.is_empty() {
            return wrong("step", "the plan has no step; add a [[step]]");
        }
        self.check_orders()?;
        for (index, step) in self.steps.iter().enumerate() {
            if self.steps[..index].iter().any(|other| other.name == step.name) {
                return wrong(
                    &format!("step {}", step.name),
                    "the name is used twice; names are unique",
                );
            }
            step.check()?;
        }
        if !self.steps.iter().flat_map(|s| &s.phases).any(|p| p.measured) {
            return wrong("step", "no phase is measured; write measured = true in one");
        }
        Ok(())
    }

    /// Steps with an order of their own are laid out beforehand, which has to have an end.
    fn check_orders(&self) -> Result<(), PlanError> {
        let Some(own) = self.steps.iter().find(|step| step.order.is_some()) else { return Ok(()) };
        let place = format!("step {}, order", own.name);
        let orders = self.steps.iter().filter_map(|step| step.order).chain([self.schedule.order]);
        if orders.into_iter().any(|order| order == Order::ReadsFirst) {
            let why = "reads_first orders a whole plan; leave out the orders of its steps";
            return wrong(&place, why);
        }
        if self.schedule.until.is_some() {
            return wrong(
                &place,
                "under schedule.until all steps go in the order of the schedule; leave out one of the two",
            );
        }
        let runs = u64::from(self.schedule.runs) + u64::from(self.schedule.discard_first);
        if runs.saturating_mul(self.steps.len() as u64) > Plan::LAID_OUT_MAX {
            return wrong(
                &place,
                format!("a plan of such steps has {} runs at most", Plan::LAID_OUT_MAX),
            );
        }
        Ok(())
    }

    /// Most runs of a plan whose steps have orders of their own.
    pub const LAID_OUT_MAX: u64 = 1_000_000;

    /// The part of the target that this plan touches, checked against the target: alignment of
    /// region, blocks and capacity.
    ///
    /// # Errors
    /// [`PlanError::Value`] with step, phase and field.
    pub fn fit(&self, info: &DriveInfo) -> Result<Region, PlanError> {
        let logical = info.logical_block_bytes;
        let region = match self.region {
            Some(region) => region,
            None => Region { offset: Bytes::ZERO, length: info.capacity_bytes.round_down(logical) },
        };
        if !region.offset.is_multiple_of(logical) || !region.length.is_multiple_of(logical) {
            return wrong(
                "region",
                format!(
                    "offset and length must be multiples of {}'s logical block, {logical}",
                    info.name
                ),
            );
        }
        let end = region.offset.0.checked_add(region.length.0);
        if end.is_none_or(|end| end > info.capacity_bytes.0) {
            return wrong(
                "region",
                format!(
                    "it ends beyond {}, which holds {} ({} bytes); give a smaller --size or a shorter --span",
                    info.name,
                    info.capacity_bytes.about(),
                    info.capacity_bytes.0
                ),
            );
        }
        for step in &self.steps {
            for phase in &step.phases {
                let place = format!("step {}, phase {}", step.name, phase.name);
                if let Some(block) = phase.sizes().find(|size| !size.is_multiple_of(logical)) {
                    return wrong(
                        &format!("{place}, block"),
                        format!(
                            "{block} is not a multiple of {}'s logical block, {logical}",
                            info.name
                        ),
                    );
                }
                let length = phase.region.map_or(region.length, |r| r.length);
                if let Err((field, what)) = address::fit(phase, step.submitters, length, logical) {
                    return wrong(&format!("{place}, {field}"), what);
                }
                let share = match phase.address {
                    Address::Sequential { share: Share::Partition } => u64::from(step.submitters),
                    _ => 1,
                };
                if phase.transfers() && length.0 / share < phase.block.0 {
                    let larger = match phase.region {
                        Some(_) => "a larger part of it (its region; in a sweep, its size)",
                        None => "a larger target (--size, --span)",
                    };
                    let least = Bytes(phase.block.0.saturating_mul(share));
                    return wrong(
                        &place,
                        format!(
                            "{} is too small: it has {}, {} of them to measure, and {} are needed ({share} x one block); \
                             take {larger} or a smaller block",
                            info.name,
                            info.capacity_bytes.human(),
                            length.human(),
                            least.human()
                        ),
                    );
                }
                if let Some(part) = phase.region {
                    let end = part.offset.0.checked_add(part.length.0);
                    if end.is_none_or(|end| end > region.length.0)
                        || !part.offset.is_multiple_of(logical)
                    {
                        return wrong(
                            &format!("{place}, region"),
                            "it must lie inside the plan's region, on a logical block's boundary",
                        );
                    }
                }
            }
        }
        Ok(region)
    }
}

impl Step {
    /// Most submitters: on a real drive each is a thread with a ring and buffers of its own.
    pub const SUBMITTERS_MAX: u16 = 1024;

    /// Most requests that one submitter has outstanding in any phase.
    pub fn depth_max(&self) -> u16 {
        self.phases.iter().map(|p| p.arrival.depth()).max().unwrap_or(0)
    }

    /// Largest transfer of any phase.
    pub fn block_max(&self) -> Bytes {
        self.transferring().map(|p| p.block).max().unwrap_or(Bytes::ZERO)
    }

    /// Smallest transfer of any phase: the unit of the audit. 512 B when nothing is transferred.
    pub fn block_min(&self) -> Bytes {
        self.transferring().flat_map(Phase::sizes).min().unwrap_or(Bytes(512))
    }

    /// Phases that carry addresses; a flush has a block in the plan and transfers none.
    fn transferring(&self) -> impl Iterator<Item = &Phase> {
        self.phases.iter().filter(|p| p.transfers())
    }

    /// True when a phase writes.
    pub fn writes(&self) -> bool {
        self.phases.iter().any(|p| p.ops.iter().any(|o| o.op == Op::Write))
    }

    /// How long the step takes, when every phase has a time limit.
    pub fn planned(&self) -> Option<Nanos> {
        self.phases.iter().map(|p| p.stop.after).sum::<Option<Nanos>>()
    }

    /// Time that the phases with a time limit take.
    pub fn planned_at_least(&self) -> Nanos {
        self.phases.iter().filter_map(|phase| phase.stop.after).sum()
    }

    fn check(&self) -> Result<(), PlanError> {
        let place = format!("step {}", self.name);
        if !(1..=Step::SUBMITTERS_MAX).contains(&self.submitters) {
            let what = format!("write a count from 1 to {}", Step::SUBMITTERS_MAX);
            return wrong(&format!("{place}, submitters"), what);
        }
        if self.phases.is_empty() {
            return wrong(&place, "the step has no phase; add a [[step.phase]]");
        }
        self.phases
            .iter()
            .try_for_each(|phase| phase.check(&format!("{place}, phase {}", phase.name)))
    }
}

impl Phase {
    /// Largest block that a request may have: the kernel's count is 31 bits.
    pub const BLOCK_MAX: Bytes = Bytes::gib(1);

    /// True when it writes or discards.
    pub fn alters(&self) -> bool {
        self.ops.iter().any(|o| matches!(o.op, Op::Write | Op::Discard))
    }

    /// Sizes of its transfers.
    pub fn sizes(&self) -> impl Iterator<Item = Bytes> {
        let one = self.blocks.is_empty().then_some(self.block);
        self.blocks.iter().map(|share| share.block).chain(one)
    }

    /// True when it carries addresses, that is, does more than flush.
    pub fn transfers(&self) -> bool {
        self.ops.iter().any(|o| o.op != Op::Flush)
    }

    fn check(&self, place: &str) -> Result<(), PlanError> {
        if self.block == Bytes::ZERO || self.block > Self::BLOCK_MAX {
            return wrong(
                &format!("{place}, block"),
                format!("{} is outside 1B to {}", self.block, Self::BLOCK_MAX),
            );
        }
        if let Err((field, what)) = address::check(self) {
            return wrong(&format!("{place}, {field}"), what);
        }
        if self.arrival.depth() == 0 {
            return wrong(&format!("{place}, arrival.depth"), "a depth of at least 1 is needed");
        }
        if let Arrival::Timed { per_s, .. } = self.arrival
            && !(per_s.is_finite() && per_s > 0.0)
        {
            return wrong(&format!("{place}, arrival.per_s"), "write a rate above 0");
        }
        if let Err(what) = self.stop.check(self.transfers()) {
            return wrong(&format!("{place}, stop"), what);
        }
        let total: u32 = self.ops.iter().map(|o| u32::from(o.percent)).sum();
        if total != 100 || self.ops.iter().any(|o| o.percent == 0) {
            return wrong(
                &format!("{place}, ops"),
                format!(
                    "the shares add up to {total} percent; each must be at least 1 and all together 100"
                ),
            );
        }
        if self.ops.iter().any(|o| o.fua && !matches!(o.op, Op::Read | Op::Write)) {
            return wrong(&format!("{place}, ops"), "fua goes with read and write only");
        }
        if self.region.is_some_and(|r| r.length == Bytes::ZERO) {
            return wrong(&format!("{place}, region"), "its length is 0");
        }
        Ok(())
    }
}

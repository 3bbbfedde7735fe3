//! Plan of a probe run, as data: its probes, their region and their limits. It can be printed, read back and run again.

use std::collections::BTreeMap;

use block::{Bytes, DriveInfo, Nanos};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use workload::plan::Region;

use crate::desk::Terms;
use crate::finding::Name;
use crate::name::ProbeName;
use crate::{align, capacity, interval, open_au, scatter, slc_cache, surface};

/// The schema that this version writes and reads.
pub const SCHEMA: &str = "drivescope.probing/1";

/// A probing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// [`SCHEMA`].
    pub schema: String,
    /// Root of all randomness.
    pub seed: u64,
    /// How long it may take, on the drive's clock.
    pub time_budget_ns: Nanos,
    /// How much it may write.
    pub write_budget_bytes: Bytes,
    /// True when what the region holds may be overwritten.
    pub may_write: bool,
    /// The part of the drive that may be touched; all of it when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Region>,
    /// Values that the user gives for the drive, which take precedence over findings.
    #[serde(default)]
    pub given: BTreeMap<Name, u64>,
    /// The probes, in order.
    #[serde(rename = "probe")]
    pub tasks: Vec<Task>,
}

/// One probe with its options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "probe", rename_all = "snake_case")]
pub enum Task {
    /// [`align`].
    Align(align::Options),
    /// [`open_au`], and the erase block by writes where reads did not show it.
    OpenAu(open_au::Options),
    /// [`fat`](crate::fat).
    Fat,
    /// [`scatter`].
    Scatter(scatter::Options),
    /// [`interval`].
    Interval(interval::Options),
    /// [`parallelism`](crate::parallelism).
    Parallelism,
    /// [`write_buffer`](crate::write_buffer).
    WriteBuffer,
    /// [`slc_cache`].
    SlcCache(slc_cache::Options),
    /// [`surface`].
    Surface(surface::Options),
    /// [`capacity`].
    Capacity(capacity::Options),
    /// A part of what [`capacity::full`] writes and reads back.
    Full(capacity::full::Part),
    /// [`speed_class`](crate::speed_class).
    SpeedClass,
}

impl Task {
    /// All of a drive of this capacity, written and read back, in parts of whole units.
    pub fn full(capacity: Bytes, unit: Bytes) -> Vec<Task> {
        capacity::full::parts(capacity, unit).map(Task::Full).collect()
    }

    /// The chain: every probe that a summary needs, each after those whose findings it uses.
    pub fn chain() -> Vec<Task> {
        vec![
            Task::Align(align::Options::default()),
            Task::OpenAu(open_au::Options::default()),
            Task::Fat,
            Task::Scatter(scatter::Options::default()),
            Task::Parallelism,
            Task::WriteBuffer,
            Task::SlcCache(slc_cache::Options::default()),
        ]
    }

    /// The probe that does it.
    pub fn probe(&self) -> ProbeName {
        match self {
            Task::Align(_) => ProbeName::Align,
            Task::OpenAu(_) => ProbeName::OpenAu,
            Task::Fat => ProbeName::Fat,
            Task::Scatter(_) => ProbeName::Scatter,
            Task::Interval(_) => ProbeName::Interval,
            Task::Parallelism => ProbeName::Parallelism,
            Task::WriteBuffer => ProbeName::WriteBuffer,
            Task::SlcCache(_) => ProbeName::SlcCache,
            Task::Surface(_) => ProbeName::Surface,
            Task::Capacity(_) | Task::Full(_) => ProbeName::Capacity,
            Task::SpeedClass => ProbeName::SpeedClass,
        }
    }

    /// The word for it in JSON and on the command line.
    pub fn word(&self) -> &'static str {
        self.probe().as_str()
    }

    /// True when it can say nothing without writing.
    pub fn must_write(&self) -> bool {
        match self {
            Task::OpenAu(_)
            | Task::Fat
            | Task::WriteBuffer
            | Task::SlcCache(_)
            | Task::Capacity(_)
            | Task::Full(_)
            | Task::SpeedClass => true,
            Task::Align(_)
            | Task::Scatter(_)
            | Task::Interval(_)
            | Task::Parallelism
            | Task::Surface(_) => false,
        }
    }

    /// Properties that it answers.
    pub fn answers(&self) -> &'static [Name] {
        match self {
            Task::Align(_) => &[Name::EraseBlock, Name::Page, Name::MultiPlanePage],
            Task::OpenAu(_) => &[Name::OpenAuLinear, Name::OpenAuRandom],
            Task::Fat => &[Name::FatZone],
            Task::Scatter(_) => &[Name::CellBands, Name::SlowZone],
            Task::Parallelism => &[Name::Chunk, Name::Interleave],
            Task::WriteBuffer => &[Name::WriteBuffer],
            Task::SlcCache(_) => &[Name::SlcCache],
            Task::Capacity(_) => &[Name::RealCapacity],
            // All parts of a full write are judged together.
            Task::Interval(_) | Task::Surface(_) | Task::SpeedClass | Task::Full(_) => &[],
        }
    }

    /// The longest that it may take of the whole time. A probe that cannot decide within it will not decide in twice
    /// of it either.
    pub fn time_limit(&self) -> Nanos {
        match self {
            // By reads 45 s; the rest is for writes, where reads show nothing and writing is allowed. On the slowest of
            // drawn cards each write too many takes seconds.
            Task::Align(_) => Nanos::secs(600),
            Task::Interval(_) | Task::Parallelism => Nanos::secs(60),
            Task::Scatter(_) | Task::Surface(_) => Nanos::secs(120),
            Task::WriteBuffer => Nanos::secs(300),
            // As slow there.
            Task::Fat => Nanos::secs(600),
            Task::OpenAu(_) => Nanos::secs(900),
            Task::SlcCache(_) | Task::SpeedClass => Nanos::secs(900),
            // A slow card takes minutes for what exceeds a large cache.
            Task::Capacity(_) => Nanos::secs(1800),
            Task::Full(_) => capacity::full::TIME,
        }
    }
}

/// Error in a plan.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// Not TOML, or not of a plan's form; the message names line and field.
    #[error("{0}")]
    Syntax(String),
    /// The part to be probed is not one of the drive.
    #[error("--region: {0}")]
    Region(String),
    /// A value that the user gave cannot be.
    #[error("{} of {value} bytes: {what}", flag(*name))]
    Given {
        /// Name of the value.
        name: Name,
        /// The value.
        value: u64,
        /// Reason why it is wrong, or what to write instead.
        what: String,
    },
}

/// The flag that gives a value.
fn flag(name: Name) -> &'static str {
    match name {
        Name::Page => "--page",
        _ => "--erase-block",
    }
}

impl Plan {
    /// Prints the plan in the form that [`Plan::from_toml`] reads.
    ///
    /// # Errors
    /// [`PlanError::Syntax`] when a number has no TOML form (a seed above 2^63 - 1).
    pub fn to_toml(&self) -> Result<String, PlanError> {
        toml::to_string(self).map_err(|error| PlanError::Syntax(error.to_string()))
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// [`PlanError::Syntax`], naming line and field.
    pub fn from_toml(text: &str) -> Result<Plan, PlanError> {
        toml::from_str(text)
            .map_err(|error| PlanError::Syntax(error.to_string().trim_end().to_owned()))
    }

    /// The terms of this plan on a drive.
    ///
    /// # Errors
    /// [`PlanError`] when the region or a given value does not fit it.
    pub fn terms(&self, info: &DriveInfo) -> Result<Terms, PlanError> {
        let logical = info.logical_block_bytes;
        let whole = Region { offset: Bytes::ZERO, length: info.capacity_bytes.round_down(logical) };
        let region = self.region.unwrap_or(whole);
        if !region.offset.is_multiple_of(logical) || !region.length.is_multiple_of(logical) {
            let what =
                format!("offset and length must be multiples of its logical block, {logical}");
            return Err(PlanError::Region(what));
        }
        let end = region.offset.0.checked_add(region.length.0);
        if end.is_none_or(|end| end > info.capacity_bytes.0) {
            let what =
                format!("ends beyond {}, which holds {} bytes", info.name, info.capacity_bytes.0);
            return Err(PlanError::Region(what));
        }
        for (name, value) in &self.given {
            let wrong = |what: String| Err(PlanError::Given { name: *name, value: *value, what });
            if *value == 0 || !value.is_multiple_of(logical.0) {
                return wrong(format!("write a multiple of the drive's logical block, {logical}"));
            }
            if *value > region.length.0 {
                return wrong(format!(
                    "is more than the {} that are probed",
                    region.length.human()
                ));
            }
        }
        Ok(Terms {
            region,
            may_write: self.may_write,
            time_budget: self.time_budget_ns,
            write_budget: self.write_budget_bytes,
            seed: self.seed,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            schema: SCHEMA.to_owned(),
            seed: 7,
            time_budget_ns: Nanos::secs(60),
            write_budget_bytes: Bytes::gib(1),
            may_write: true,
            region: None,
            given: BTreeMap::from([(Name::EraseBlock, 4 << 20)]),
            tasks: Task::chain(),
        }
    }

    // Breaks when an option of a probe is not printed: the record of a run could not show what was done.
    #[test]
    fn a_plan_prints_and_reads_back() {
        let text = plan().to_toml().unwrap();
        assert_eq!(Plan::from_toml(&text).unwrap(), plan(), "{text}");
        assert!(Plan::from_toml("schema = 1").is_err());
    }
}

//! The body of `probe --json`: a contract. Fields keep their names and units.

use std::collections::BTreeMap;

use block::{Bytes, DriveInfo, Nanos, Stack};
use serde::{Deserialize, Serialize};
use stats::{Assessment, Caveat, Lenient};
use workload::plan::Region;

use crate::advice::{Advice, Subject};
use crate::claims::Checked;
use crate::desk::Spent;
use crate::evidence::Evidence;
use crate::finding::{Finding, Name, Verdict};
use crate::name::ProbeName;

/// Everything that a probing found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// The drive that was probed.
    pub target: DriveInfo,
    /// Layers that the I/O passed through.
    pub stack: Stack,
    /// Settings of the probe run, as far as the answers depend on them.
    pub setup: Setup,
    /// The answers.
    pub findings: Vec<Finding>,
    /// Advice that follows from the answers.
    pub advice: Vec<Advice>,
    /// Claims of the drive, compared with the answers.
    pub claims: Vec<Checked>,
    /// Classes of speed that the drive says it has.
    pub classes: Vec<String>,
    /// The probes, in the order in which they worked.
    pub probes: Vec<Worked>,
    /// Evidence for the answers, by probe.
    pub evidence: Evidence,
    /// I/Os, bytes and time spent.
    pub spent: Spent,
    /// Doubts, each with cause and remedy.
    pub caveats: Vec<Caveat>,
    /// True when it was ended before its plan was done.
    pub interrupted: bool,
}

impl Body {
    /// The answer about `name`, if it was asked for.
    pub fn finding(&self, name: Name) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.name == name)
    }

    /// The capacity that was found where it is less than the drive reports: the drive is counterfeit or damaged.
    pub fn smaller_capacity(&self) -> Option<Bytes> {
        let of_capacity = |finding: &&Finding| finding.name == Name::RealCapacity;
        let found = self.findings.iter().find(of_capacity)?.value.map(Bytes)?;
        (found < self.target.capacity_bytes).then_some(found)
    }

    /// Whether `finding` is good or bad for the user. That all places which were tried kept what was written is neither: only
    /// writing all of the drive shows that it holds as much.
    pub fn assessment(&self, finding: &Finding) -> Assessment {
        match (finding.name, finding.verdict) {
            (Name::RealCapacity, Verdict::Found) if self.smaller_capacity().is_some() => {
                Assessment::Bad
            }
            (Name::RealCapacity, Verdict::Found) if finding.confidence.is_some() => {
                Assessment::Good
            }
            (Name::RealCapacity, Verdict::Unknown) if self.capacity_bound().is_some() => {
                Assessment::Bad
            }
            _ => Assessment::Neutral,
        }
    }

    /// The most that the drive can hold, where its addresses were seen to wrap below what it reports and time did not suffice to
    /// find its size.
    pub fn capacity_bound(&self) -> Option<Bytes> {
        let evidence = self.evidence.capacity.as_ref()?;
        let bound = evidence.nearest_bytes.filter(|_| evidence.wraps == Some(true)).map(Bytes)?;
        let is_unknown = |finding: &Finding| {
            finding.name == Name::RealCapacity && finding.verdict == Verdict::Unknown
        };
        let is_less = bound < self.target.capacity_bytes;
        (is_less && self.findings.iter().any(is_unknown)).then_some(bound)
    }

    /// [`Body::capacity_bound`] beside the capacity that the drive reports, in a sentence without a full stop.
    pub fn bound_in_words(&self) -> Option<String> {
        let (bound, reported) = (self.capacity_bound()?, self.target.capacity_bytes);
        let (bound, reported) = (bound.about(), reported.about());
        Some(format!("holds at most {bound} of the {reported} it reports; do not use it"))
    }

    /// Places of partitions that begin, or whose clusters begin, within an erase block; `None` where there are none.
    pub fn off_grid(&self) -> Option<&str> {
        let is_off = |advice: &&Advice| advice.topic == Subject::Partitions;
        self.advice.iter().find(is_off).map(|advice| advice.why.as_str())
    }

    /// True when something was asked for and nothing was found.
    pub fn found_nothing(&self) -> bool {
        !self.findings.is_empty() && self.findings.iter().all(|f| f.verdict != Verdict::Found)
    }
}

/// Settings that a reader needs to compare two results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// How I/O was issued: `io_uring`, `libaio`, `psync`, `virtual`.
    pub engine: String,
    /// The part of the drive that was probed.
    pub region: Region,
    /// True when it could be overwritten.
    pub may_write: bool,
    /// How long it might take.
    pub time_budget_ns: Nanos,
    /// How much it might write.
    pub write_budget_bytes: Bytes,
    /// Root seed.
    pub seed: u64,
    /// Values that the user gave for the drive.
    pub given: BTreeMap<Name, u64>,
}

/// One probe's work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worked {
    /// Name of the probe.
    pub probe: Lenient<ProbeName>,
    /// I/Os, bytes and time that it spent.
    pub spent: Spent,
    /// Why it could not do its work; null when it did.
    pub halted: Option<String>,
}

//! Results of probes: their answers, and the evidence for them.

use serde::{Deserialize, Serialize};
use stats::{Caveat, Lenient};

use crate::desk::Spent;
use crate::finding::Finding;
use crate::name::ProbeName;
use crate::{
    align, capacity, fat, interval, open_au, parallelism, scatter, slc_cache, speed_class, surface,
    write_buffer,
};

/// Evidence for the answers, of each probe that ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// Boundaries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub align: Option<align::Evidence>,
    /// Boundaries by writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boundary: Option<open_au::BoundaryEvidence>,
    /// Open erase blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_au: Option<open_au::Evidence>,
    /// The zone at the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fat: Option<fat::Evidence>,
    /// Access times by offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scatter: Option<scatter::Evidence>,
    /// Access time and rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<interval::Evidence>,
    /// Reads issued together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallelism: Option<parallelism::Evidence>,
    /// Memory for writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_buffer: Option<write_buffer::Evidence>,
    /// The part with one bit a cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slc_cache: Option<slc_cache::Evidence>,
    /// The whole range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surface: Option<surface::Evidence>,
    /// The capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<capacity::Evidence>,
    /// All of it, written and read back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full: Option<capacity::full::Evidence>,
    /// Classes of speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_class: Option<speed_class::Evidence>,
}

impl Evidence {
    /// Takes over what `other` has.
    pub(crate) fn take(&mut self, other: Evidence) {
        fn over<E>(place: &mut Option<E>, other: Option<E>) {
            if other.is_some() {
                *place = other;
            }
        }
        over(&mut self.align, other.align);
        over(&mut self.boundary, other.boundary);
        over(&mut self.open_au, other.open_au);
        over(&mut self.fat, other.fat);
        over(&mut self.scatter, other.scatter);
        over(&mut self.interval, other.interval);
        over(&mut self.parallelism, other.parallelism);
        over(&mut self.write_buffer, other.write_buffer);
        over(&mut self.slc_cache, other.slc_cache);
        over(&mut self.surface, other.surface);
        over(&mut self.capacity, other.capacity);
        over(&mut self.speed_class, other.speed_class);
        match (&mut self.full, other.full) {
            (Some(full), Some(next)) => full.add(next),
            (full, other) => over(full, other),
        }
    }
}

/// Results of one probe, as they are recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Name of the probe.
    pub probe: Lenient<ProbeName>,
    /// Its answers.
    pub findings: Vec<Finding>,
    /// Evidence for the answers.
    pub evidence: Evidence,
    /// Doubts that do not change an answer.
    pub caveats: Vec<Caveat>,
    /// I/Os, bytes and time that it spent.
    pub spent: Spent,
    /// Why it could not do its work; null when it did.
    pub halted: Option<String>,
}

impl Done {
    /// True if both have the same results, apart from the wording of remedies, which is not a result.
    pub(crate) fn agrees(&self, other: &Done) -> bool {
        let doubts = (&self.caveats, &other.caveats);
        (&self.probe, &self.halted, self.spent) == (&other.probe, &other.halted, other.spent)
            && self.findings == other.findings
            && self.evidence == other.evidence
            && doubts.0.len() == doubts.1.len()
            && doubts.0.iter().zip(doubts.1).all(|(one, two)| one.agrees(two))
    }
}

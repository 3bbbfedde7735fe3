//! The table of faults in a model's file.

use block::DriveInfo;
use serde::{Deserialize, Serialize};

use super::cache::CacheRule;
use crate::around::ranges::Ranges;
use crate::check::within;
use crate::field::Fault;

/// Faults of a drive: none, unless a field says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// Reads that touch these fail (`EIO`).
    pub unreadable: Ranges,
    /// Writes that touch these fail (`EIO`).
    pub unwritable: Ranges,
    /// How long the drive tries before it gives such an I/O up. Meanwhile it takes no other.
    pub error_after_ns: u64,
    /// When the drive vanishes: what is under way then fails with `EIO`, what comes later with `ENXIO`.
    pub vanish_at_ns: Option<u64>,
    /// Times in which answers come late.
    pub storm: Option<Storm>,
    /// Writes here are read back with wrong bits.
    pub corrupt: Ranges,
    /// Writes here are acknowledged and not kept.
    pub lost: Ranges,
    /// Discards are acknowledged, and nothing is discarded.
    pub ignores_discard: bool,
    /// Flushes are answered at once, and writes that have to be durable when they are in the cache.
    pub ignores_flush: bool,
    /// Real capacity of a drive that claims more.
    pub real_capacity_bytes: Option<u64>,
    /// Treatment of addresses beyond the real capacity.
    pub beyond: Beyond,
    /// Write cache that gives back for a while what is not kept.
    pub cache_bytes: u64,
    /// Writes that it holds.
    pub cache_rule: CacheRule,
}

impl Default for Faults {
    fn default() -> Faults {
        Faults {
            unreadable: Ranges::default(),
            unwritable: Ranges::default(),
            error_after_ns: 3_000_000_000,
            vanish_at_ns: None,
            storm: None,
            corrupt: Ranges::default(),
            lost: Ranges::default(),
            ignores_discard: false,
            ignores_flush: false,
            real_capacity_bytes: None,
            beyond: Beyond::default(),
            cache_bytes: 0,
            cache_rule: CacheRule::default(),
        }
    }
}

/// Times in which a drive answers late: the last `length_ns` of each `period_ns`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Storm {
    /// From the end of a storm to the end of the next.
    pub period_ns: u64,
    /// How long a storm lasts; no longer than the period.
    pub length_ns: u64,
    /// By what an I/O's latency is multiplied that would end in a storm; 1 and more.
    pub factor: u64,
    /// Time added to it then.
    pub added_ns: u64,
}

impl Default for Storm {
    fn default() -> Storm {
        let (period_ns, length_ns) = (10_000_000_000, 500_000_000);
        Storm { period_ns, length_ns, factor: 10, added_ns: 0 }
    }
}

/// Treatment of addresses beyond the real capacity, by a drive that claims too much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// They are other names of those within: the address modulo the real capacity.
    #[default]
    Wrap,
    /// Writes there are acknowledged and lost. They take the time of wrapped ones all the same.
    Lose,
    /// Reads and writes there fail (`EIO`).
    Fail,
}

/// Longest time that a fault's field may name: a year.
const YEAR_NS: u64 = 31_536_000_000_000_000;

impl Faults {
    pub(in crate::around) fn check(&self, info: &DriveInfo) -> Result<(), Fault> {
        let capacity = info.capacity_bytes.0;
        for (key, ranges) in [
            ("faults.unreadable", &self.unreadable),
            ("faults.unwritable", &self.unwritable),
            ("faults.corrupt", &self.corrupt),
            ("faults.lost", &self.lost),
        ] {
            if let Some(what) = ranges.fault(capacity) {
                return Err((key, what));
            }
        }
        if self.real_capacity_bytes.is_some_and(|real| !(1..=capacity).contains(&real)) {
            let what = format!("what is claimed is {capacity}, and 1 to that many can be real");
            return Err(("faults.real_capacity_bytes", what));
        }
        if self.error_after_ns > YEAR_NS {
            return Err(("faults.error_after_ns", format!("is above a year, {YEAR_NS}")));
        }
        self.storm.as_ref().map_or(Ok(()), Storm::check)
    }
}

impl Storm {
    fn check(&self) -> Result<(), Fault> {
        within(&[
            ("faults.storm.period_ns", self.period_ns, 1, YEAR_NS),
            ("faults.storm.length_ns", self.length_ns, 0, self.period_ns),
            ("faults.storm.factor", self.factor, 1, 1_000_000),
            ("faults.storm.added_ns", self.added_ns, 0, YEAR_NS),
        ])
    }
}

//! What the proofs of one test may look at, and what several of them ask of it.

use std::collections::BTreeMap;

use block::{Bytes, DeviceCounters, DriveInfo, Extents, Layer, Op, Snapshot, Stack, number};
use stats::{ModeTest, Modes};
use workload::plan::{Phase, Region, Step};

use crate::cache::Found;
use crate::execute::{FailedRun, TestRuns};
use crate::run::RunFigures;

/// Relative difference between windows or runs that still counts as none.
pub(super) const MARGIN: f64 = 0.05;

/// Everything that proofs of one test may look at.
pub(crate) struct Case<'a> {
    pub(crate) step: &'a Step,
    /// The measured phase.
    pub(crate) phase: &'a Phase,
    pub(crate) test: &'a TestRuns,
    /// Its runs that I/Os failed in, in the order made.
    pub(crate) failed: Vec<&'a FailedRun>,
    pub(crate) info: &'a DriveInfo,
    pub(crate) stack: &'a Stack,
    pub(crate) extents: Option<&'a Extents>,
    /// As it was after the last run.
    pub(crate) extents_after: Option<&'a Extents>,
    /// True when this run made the target's file and wrote all of it.
    pub(crate) own_file: bool,
    pub(crate) region: Region,
    /// CPUs that the submitters could run on.
    pub(crate) cpus: usize,
    /// True when the page cache was to be bypassed.
    pub(crate) direct: bool,
    /// True when the engine polls for completions.
    pub(crate) polling: bool,
    /// What reading again said of the drive's cache, where it was asked.
    pub(crate) cache: Option<&'a Found>,
    /// Whether the runs' throughputs fall into two groups.
    pub(crate) modes: Option<ModeTest>,
}

impl Case<'_> {
    pub(crate) fn runs(&self) -> &[RunFigures] {
        &self.test.runs
    }

    pub(crate) fn rates(&self) -> Vec<f64> {
        self.runs().iter().map(|r| r.run.mb_s).collect()
    }

    /// True when the test does `op` at all.
    pub(crate) fn does(&self, op: Op) -> bool {
        self.phase.ops.iter().any(|o| o.op == op)
    }

    /// True when each `op` had to be durable.
    pub(crate) fn all_durable(&self, op: Op) -> bool {
        self.phase.ops.iter().filter(|o| o.op == op).all(|o| o.fua)
    }

    /// Centres of two groups of runs, low and high, and the share in the high one. Groups so close that
    /// a median between them misleads nobody do not count, however well they are told apart.
    pub(crate) fn two_modes(&self) -> Option<(f64, f64, f64)> {
        match self.modes?.modes {
            Modes::Two { low_center, high_center, share_high, .. }
                if high_center > low_center * (1.0 + MARGIN) =>
            {
                Some((low_center, high_center, share_high))
            }
            _ => None,
        }
    }

    /// Bytes moved by `op`, over all counted runs.
    pub(crate) fn moved(&self, op: Op) -> Bytes {
        self.runs().iter().map(|r| r.moved(op)).sum()
    }
}

/// Bytes that all leaf devices together counted for `op`; `None` when a leaf cannot be counted, since
/// the others alone would seem to lack its share.
pub(super) fn device_bytes(case: &Case<'_>, snapshot: &Snapshot, op: Op) -> Option<Bytes> {
    let of = |d: &DeviceCounters| if op == Op::Read { d.read_bytes } else { d.write_bytes };
    let devices = &snapshot.devices;
    let all = !devices.is_empty() && devices.len() >= case.stack.leaves.len();
    all.then(|| devices.iter().map(of).sum())
}

/// Drives that bcache keeps as a cache above others, and what they moved of `op` over all counted runs; `None` where
/// there is no such drive, or it cannot be counted.
pub(crate) fn by_cache_devices<'a>(case: &Case<'a>, op: Op) -> Option<(Vec<&'a str>, Bytes)> {
    let layers = &case.stack.layers;
    let is_cache =
        |layer: &&Layer| layer.attributes.get("bcache_role").is_some_and(|r| r == "cache");
    let drive = |mut layer: &'a Layer| {
        while let Some(under) = layer.below.first().and_then(|&place| layers.get(place)) {
            layer = under;
        }
        layer.name.as_str()
    };
    let names: Vec<&str> = layers.iter().filter(is_cache).map(drive).collect();
    if names.is_empty() {
        return None;
    }
    let of = |d: &DeviceCounters| if op == Op::Read { d.read_bytes.0 } else { d.write_bytes.0 };
    let bytes = growth(case, |s| {
        let caches = s.devices.iter().filter(|d| names.contains(&d.name.as_str()));
        caches.map(of).reduce(|a, b| a + b)
    })?;
    Some((names, Bytes(bytes)))
}

/// The most members that each array lacked around the counted runs, of those that lacked any.
pub(crate) fn degraded(case: &Case<'_>) -> BTreeMap<String, u64> {
    let mut arrays: BTreeMap<String, u64> = BTreeMap::new();
    for array in case.runs().iter().flat_map(|r| r.before.arrays.iter().chain(&r.after.arrays)) {
        if array.degraded > 0 {
            let most = arrays.entry(array.name.clone()).or_default();
            *most = array.degraded.max(*most);
        }
    }
    arrays
}

/// Growth of a counter over all counted runs; `None` when some run lacks it.
pub(super) fn growth(case: &Case<'_>, read: impl Fn(&Snapshot) -> Option<u64>) -> Option<u64> {
    case.runs().iter().map(|r| Some(read(&r.after)?.saturating_sub(read(&r.before)?))).sum()
}

/// A throughput for a reason: with digits enough for the slowest.
pub(crate) fn mb_s(rate: f64) -> String {
    if rate.abs() < 1.0 { format!("{rate:.4}") } else { format!("{rate:.1}") }
}

/// A share for a reason: one digit below 10%, none above, and no false precision far beyond.
pub(super) fn percent(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "" };
    let size = share.abs();
    let shown = if size < 9.995 { number::share(size) } else { "more than 999%".to_owned() };
    format!("{sign}{shown}")
}

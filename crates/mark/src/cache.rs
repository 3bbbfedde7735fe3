//! The drive's own cache, told from its medium by reading again: what serves reads a second time is asked of a drive that
//! does not tell how large it is, after the runs, and only where the answer decides what the runs show.
//!
//! [`is_wanted`] says whether it does, [`ask`] asks the drive, [`Found`] is the answer, on which *pattern* is judged.

mod ask;
mod infer;

use block::{Bytes, DriveInfo, DriveKind, Nanos, Op};
use serde::{Deserialize, Serialize};
use workload::plan::{Address, Phase, Plan, Region};

pub use ask::ask;

use crate::execute::Executed;

/// DRAM of a drive that does not tell: the largest that common disks have.
pub(crate) const ASSUMED: Bytes = Bytes::mib(256);

/// A region of fewer caches than this may be served from what the runs before left in the cache.
pub(crate) const REGION_CACHES: u64 = 2;

/// Most that the drive's cache may have been able to serve before the number is the cache's.
pub(crate) const SHARE: f64 = 0.05;

/// What reading again said of the drive's cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// What it comes to.
    pub answer: Answer,
    /// Why, in one sentence without a full stop.
    pub reason: String,
    /// Runs of neighbouring blocks, read again from their beginning.
    pub in_sequence: Held,
    /// Blocks far apart, read again in the order of their last use.
    pub scattered: Held,
    /// Bytes that were read to find out.
    pub read_bytes: Bytes,
    /// Time that it took.
    pub took_ns: Nanos,
}

/// Whether there is a cache that makes reads faster the second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Yes: some data came faster when it was read again.
    Seen,
    /// No: reading again took more than half as long, however soon.
    NoneSeen,
    /// It cannot be told.
    Undecided,
}

impl Answer {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Answer::Seen => "seen",
            Answer::NoneSeen => "none seen",
            Answer::Undecided => "undecided",
        }
    }
}

/// How much a cache holds of data that were read in one way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The most that was served again; null when nothing was.
    pub served_bytes: Option<Bytes>,
    /// The least, above that, which was not; null when none was tried, or told.
    pub not_served_bytes: Option<Bytes>,
    /// Each amount that was tried.
    pub looks: Vec<Look>,
}

/// One amount of data, read and read again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Different data between a read and the next of the same block, that block included.
    pub bytes: Bytes,
    /// Time of the second read per time of the first: the middle of the pairs.
    pub ratio: f64,
    /// Lower end of its interval, which allows for all looks together.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// What it says.
    pub served: Served,
}

/// Whether reads were served again by a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Served {
    /// They took less time, and maybe less than half of it.
    Yes,
    /// They took more than half of the time.
    No,
    /// Neither can be said.
    Unclear,
}

impl Found {
    /// How much is held of what `phase` reads.
    pub(crate) fn held(&self, phase: &Phase) -> &Held {
        let scattered = phase.address.is_random()
            || matches!(phase.address, Address::Strided { .. } | Address::Aligned { .. });
        if scattered { &self.scattered } else { &self.in_sequence }
    }

    /// The least that no cache was seen to hold, in whichever way it was read; `None` where that is not known.
    pub(crate) fn beyond(&self) -> Option<Bytes> {
        Some(self.in_sequence.not_served_bytes?.max(self.scattered.not_served_bytes?))
    }
}

/// True when the size of the drive's cache decides about a test of `plan`, and the drive does not tell it: reads came back
/// to data soon enough for the cache of a common disk, or the region is not much larger than one.
pub fn is_wanted(plan: &Plan, executed: &Executed, info: &DriveInfo, direct: bool) -> bool {
    let may_ask = plan.schedule.cache_probe > Nanos::ZERO && direct;
    let told = info.cache_bytes.is_some() || info.kind == DriveKind::Null;
    if !may_ask || told || executed.interrupted || executed.broken.is_some() {
        return false;
    }
    plan.steps.iter().zip(&executed.tests).any(|(step, test)| {
        let Some(phase) = step.phases.iter().find(|phase| phase.measured) else { return false };
        let region = phase.region.map_or(executed.region.length, |part| part.length);
        let soon = || test.runs.iter().any(|run| run.audit.share_within(ASSUMED) > SHARE);
        let reads = phase.ops.iter().any(|share| share.op == Op::Read) && !test.runs.is_empty();
        reads && (region.0 < REGION_CACHES * ASSUMED.0 || soon())
    })
}

/// Where it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// The part of the target that is read in.
    pub region: Region,
    /// True when a cache may hold much of it since the runs: what is as fast the first time as the second says nothing then.
    pub may_be_held: bool,
}

/// Where it is asked: behind what the runs of a plan read in `region`, or before it, and among it on a target that is hardly
/// larger. A cache of common size holds little of a region that is large.
pub fn area(region: Region, capacity: Bytes) -> Area {
    let unit = Bytes::mib(1);
    let part = |offset, length| Region { offset, length };
    let end = Bytes((region.offset + region.length).0.next_multiple_of(unit.0));
    let (before, behind) = (region.offset.round_down(unit), capacity.saturating_sub(end));
    if behind >= ask::AREA {
        return Area { region: part(end, ask::AREA), may_be_held: false };
    }
    if before >= ask::AREA {
        return Area { region: part(Bytes(before.0 - ask::AREA.0), ask::AREA), may_be_held: false };
    }
    let may_be_held = capacity.0 < REGION_CACHES * ASSUMED.0;
    Area { region: part(Bytes::ZERO, capacity), may_be_held }
}

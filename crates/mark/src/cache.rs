//! Probe of the drive's own cache: data that is read again faster comes from the cache. It runs after the measurement, on a
//! drive that does not report its cache size, and only where the answer decides what the runs show.
//!
//! [`is_wanted`] says whether it does, [`ask`] asks the drive, [`Found`] is the answer, on which *pattern* is judged.

mod ask;
mod found;
mod infer;

use block::{Bytes, DriveInfo, DriveKind, Nanos, Op};
use workload::plan::{Plan, Region};

pub use ask::ask;
pub use found::{Answer, Area, Found, Held, Look, Served};

use crate::execute::Executed;

/// Cache assumed for a drive that does not report its size: the largest that common disks have.
pub(crate) const ASSUMED: Bytes = Bytes::mib(256);

/// A region of fewer caches than this may be served from what the runs before left in the cache.
pub(crate) const REGION_CACHES: u64 = 2;

/// Most that the drive's cache may have been able to serve before the number is the cache's.
pub(crate) const SHARE: f64 = 0.05;

/// True when the size of the drive's cache decides about a test of `plan`, and the drive does not report it: reads came back
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

/// Area for the cache probe: after `region`, which the runs of a plan read, or before it, or the whole of a target that is
/// hardly larger. A cache of common size holds little of a large region.
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

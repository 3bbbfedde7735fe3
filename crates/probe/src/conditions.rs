//! Layers below the target and other activity that distort the times that a probe measures.

use block::{Bytes, DriveInfo, Medium, Snapshot, Stack};
use stats::Caveat;
use stats::remedy::Run;

use crate::desk::Spent;

/// Doubts that the layers under the target and the counters around it give rise to. `spent` is what was issued, where that
/// is known: what was under way when it was interrupted is in no count.
pub fn caveats(
    info: &DriveInfo,
    stack: &Stack,
    (before, after): (&Snapshot, &Snapshot),
    spent: Option<Spent>,
) -> Vec<Caveat> {
    let mut caveats = Vec::new();
    let new = |code: &str, cause: String, remedy: Run| Caveat::new(code, &info.name, cause, remedy);
    if let Some(cache) = stack.layers.iter().find_map(|layer| layer.page_cache.as_ref()) {
        caveats.push(new(
            "page_cache_below",
            format!("a page cache lies under it ({cache}), so reads may be served by this machine's memory"),
            Run::ProbeDevice,
        ));
    }
    if stack.leaves.iter().any(|leaf| leaf.medium == Medium::Ram) {
        caveats.push(new(
            "ram",
            "it lies in this machine's memory: what is found says nothing of a drive".to_owned(),
            Run::ProbeStorage,
        ));
    }
    if stack.leaves.iter().any(|leaf| leaf.medium == Medium::Network) {
        caveats.push(new(
            "network",
            "another machine answers: times are those of the way there as well".to_owned(),
            Run::ProbeLocally,
        ));
    }
    if let Some(foreign) = spent.and_then(|spent| foreign(before, after, spent)) {
        caveats.push(new(
            "foreign_io",
            format!("others moved {foreign} on the device meanwhile"),
            Run::StopOthersAndProbe,
        ));
    }
    if let (Some(before), Some(after)) = (before.throttle_events, after.throttle_events)
        && after > before
    {
        caveats.push(new(
            "throttled",
            format!("drive or processor throttled {} times for heat", after - before),
            Run::CoolDown,
        ));
    }
    caveats
}

/// Bytes that crossed the devices and were not ours. What is small beside ours is the kernel's own, and what is split
/// or padded on its way.
fn foreign(before: &Snapshot, after: &Snapshot, spent: Spent) -> Option<Bytes> {
    let moved = |snapshot: &Snapshot| -> u64 {
        snapshot.devices.iter().map(|device| device.read_bytes.0 + device.write_bytes.0).sum()
    };
    if before.devices.is_empty() || before.devices.len() != after.devices.len() {
        return None;
    }
    let ours = spent.read_bytes.0 + spent.written_bytes.0;
    let others = moved(after).saturating_sub(moved(before)).saturating_sub(ours);
    (others > Bytes::mib(1).0.max(ours / 20)).then_some(Bytes(others))
}

#[cfg(test)]
mod tests {
    use block::DeviceCounters;

    use super::*;

    fn counted(read: u64) -> Snapshot {
        let device = DeviceCounters { read_bytes: Bytes(read), ..DeviceCounters::default() };
        Snapshot { devices: vec![device], ..Snapshot::default() }
    }

    // Breaks when reads of the probes themselves are taken for those of another process.
    #[test]
    fn only_what_was_not_ours_is_foreign() {
        let spent = Spent { read_bytes: Bytes::mib(100), ..Spent::default() };
        let (before, mib) = (counted(7), 1 << 20);
        assert_eq!(foreign(&before, &counted(7 + 100 * mib), spent), None);
        assert_eq!(foreign(&before, &counted(7 + 104 * mib), spent), None);
        assert_eq!(foreign(&before, &counted(7 + 140 * mib), spent), Some(Bytes(40 * mib)));
        assert_eq!(foreign(&Snapshot::default(), &counted(mib), spent), None);
    }
}

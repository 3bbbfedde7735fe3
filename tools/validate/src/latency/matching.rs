//! One tester's I/Os and the kernel's, one to one.

use std::collections::BTreeMap;

use super::tracefs::{Event, Step};

/// One I/O as the block layer saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KernelIo {
    /// From the block layer's queue to completion.
    pub(super) q2c_ns: u64,
    /// From the driver to completion.
    pub(super) d2c_ns: u64,
}

/// One I/O as a tester recorded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TesterIo {
    pub(super) offset_bytes: u64,
    /// Submission latency, as the tester defines it; `None` if it records none with this engine.
    pub(super) slat_ns: Option<u64>,
    /// Completion latency.
    pub(super) clat_ns: u64,
    /// Both together, by the tester's own account.
    pub(super) total_ns: u64,
}

/// An I/O that both saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) tester: TesterIo,
    pub(super) kernel: KernelIo,
}

/// The I/Os of `length_bytes` that the block layer saw once, by sector. Others are left out: two reads
/// of one sector cannot be distinguished, and what was merged or split is not one to one.
pub(super) fn kernel_ios(events: &[Event], length_bytes: u64) -> BTreeMap<u64, KernelIo> {
    let mut by_sector: BTreeMap<u64, Vec<&Event>> = BTreeMap::new();
    for event in events {
        by_sector.entry(event.sector).or_default().push(event);
    }
    let one = |(sector, events): (u64, Vec<&Event>)| {
        let [queued, issued, completed] = events[..] else { return None };
        let steps = [queued.step, issued.step, completed.step];
        let whole = steps == [Step::Queued, Step::Issued, Step::Completed]
            && events.iter().all(|event| event.sectors * 512 == length_bytes);
        let since = |from: &Event| completed.at_ns.checked_sub(from.at_ns);
        let io = KernelIo { q2c_ns: since(queued)?, d2c_ns: since(issued)? };
        whole.then_some((sector, io))
    };
    by_sector.into_iter().filter_map(one).collect()
}

/// The I/Os that tester and kernel both saw exactly once.
pub(super) fn pairs(tester: &[TesterIo], kernel: &BTreeMap<u64, KernelIo>) -> Vec<Pair> {
    let mut count: BTreeMap<u64, u32> = BTreeMap::new();
    for io in tester {
        *count.entry(io.offset_bytes).or_default() += 1;
    }
    tester
        .iter()
        .filter(|io| count.get(&io.offset_bytes) == Some(&1))
        .filter_map(|io| {
            let kernel = *kernel.get(&(io.offset_bytes / 512))?;
            Some(Pair { tester: *io, kernel })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(step: Step, at_ns: u64, sector: u64, sectors: u64) -> Event {
        Event { step, at_ns, sector, sectors }
    }

    fn life(at_ns: u64, sector: u64) -> Vec<Event> {
        vec![
            event(Step::Queued, at_ns, sector, 8),
            event(Step::Issued, at_ns + 300, sector, 8),
            event(Step::Completed, at_ns + 9_000, sector, 8),
        ]
    }

    fn tester(offset_bytes: u64) -> TesterIo {
        TesterIo { offset_bytes, slat_ns: Some(200), clat_ns: 9_500, total_ns: 9_700 }
    }

    #[test]
    fn what_overlaps_in_time_is_told_apart_by_its_sector() {
        let mut events = [life(1000, 8), life(1100, 16)].concat();
        events.sort_by_key(|e| e.at_ns);
        let kernel = kernel_ios(&events, 4096);
        assert_eq!(kernel[&16], KernelIo { q2c_ns: 9_000, d2c_ns: 8_700 });
        let pairs = pairs(&[tester(16 * 512), tester(8 * 512), tester(24 * 512)], &kernel);
        let offsets: Vec<u64> = pairs.iter().map(|p| p.tester.offset_bytes).collect();
        assert_eq!(offsets, [16 * 512, 8 * 512], "the third was never seen by the kernel");
    }

    // Each of these would pair a latency with another I/O's Q2C.
    #[test]
    fn what_is_not_one_to_one_is_left_out() {
        let twice = [life(1000, 8), life(50_000, 8)].concat();
        assert!(kernel_ios(&twice, 4096).is_empty(), "read twice");
        let mut merged = life(1000, 8);
        merged[1].sectors = 16;
        merged[2].sectors = 16;
        assert!(kernel_ios(&merged, 4096).is_empty(), "merged");
        assert!(kernel_ios(&life(1000, 8)[..2], 4096).is_empty(), "not completed");
        let mut backwards = life(1000, 8);
        backwards.swap(0, 1);
        assert!(kernel_ios(&backwards, 4096).is_empty(), "out of order");
        let kernel = kernel_ios(&life(1000, 8), 4096);
        assert!(pairs(&[tester(8 * 512), tester(8 * 512)], &kernel).is_empty(), "the tester twice");
    }
}

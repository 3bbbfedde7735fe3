//! Instants of issue of a replay, compared with those that the kernel's own tracer saw.
//!
//! A replayer that takes its own times proves nothing by them. The block layer's tracepoint Q is reached when a request
//! has passed the system call, the file and the splitting into bios; from there on it is the kernel's and the drive's.

use std::collections::{HashMap, VecDeque};

use block::trace::{Action, DeviceNumber, TraceEvent, Traits};
use block::{Bytes, Nanos, Op, Time};
use engine::replay::Replayed;
use serde::{Deserialize, Serialize};
use stats::LatencyHistogram;

use super::body::ErrorSpans;
use super::judge::error_spans;

/// Unit of sectors in events.
const SECTOR: u64 = 512;

/// Comparison of a replay's instants of issue with the kernel's tracer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kernel {
    /// Requests that were looked for: reads and writes, up to a bound.
    pub requests: u64,
    /// Requests of which the kernel saw the first byte queued.
    pub matched: u64,
    /// Requests that the kernel never saw.
    pub missing: u64,
    /// Bios on the device that belong to no request of the replay: somebody else's I/O, or blocks of a filesystem.
    pub foreign: u64,
    /// Q less the due time; `None` where the plan has no times.
    pub issue_error_ns: Option<ErrorSpans>,
    /// Q less the instant that the replay took for the issue: what the way into the kernel takes.
    pub stamp_error_ns: ErrorSpans,
}

/// One request, as it is looked for.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    writes: bool,
    due: Nanos,
    issued: Nanos,
    offset: Bytes,
    len: Bytes,
}

/// Collects a replay's requests for [`Check::finish`].
#[derive(Clone, Debug)]
pub struct Check {
    wanted: Vec<Wanted>,
    most: usize,
    timed: bool,
}

impl Check {
    /// Of a replay that keeps times (`timed`) or not; of its requests the first `most` (some 48 bytes each).
    pub fn new(timed: bool, most: usize) -> Check {
        Check { wanted: Vec::new(), most, timed }
    }

    /// Takes what became of requests, in any order.
    pub fn see(&mut self, replayed: &[Replayed]) {
        for one in replayed {
            let writes = match one.planned.op {
                Op::Read => false,
                Op::Write => true,
                // A flush has no address to know it by, and a discard may be split as the device likes.
                Op::Flush | Op::Discard => continue,
            };
            if self.wanted.len() == self.most {
                return;
            }
            let (offset, len) = (one.planned.offset, one.planned.len);
            self.wanted.push(Wanted {
                writes,
                due: one.planned.at,
                issued: one.issued,
                offset,
                len,
            });
        }
    }

    /// Looks for each request among `events` of `device`, which the tracer took on the drive's own clock; `start` is the
    /// replay's zero on it. A request whose bytes were queued in several bios counts from the first.
    pub fn finish(mut self, events: &[TraceEvent], device: DeviceNumber, start: Time) -> Kernel {
        self.wanted.sort_by_key(|wanted| wanted.issued);
        let mut waiting: HashMap<(bool, u64), VecDeque<usize>> = HashMap::new();
        for (index, wanted) in self.wanted.iter().enumerate() {
            waiting.entry((wanted.writes, wanted.offset.0)).or_default().push_back(index);
        }
        let mut found = Found::default();
        // The rest of a request of which a first part was queued: where it goes on, and where it ends.
        let mut rests: HashMap<(bool, u64), Vec<u64>> = HashMap::new();
        for event in events {
            if event.action != Action::Queue || event.device != device || event.bytes == 0 {
                continue;
            }
            let writes = event.traits.has(Traits::WRITE);
            if event.traits.has(Traits::DISCARD) {
                continue;
            }
            let (offset, bytes) = (event.sector * SECTOR, u64::from(event.bytes));
            let key = (writes, offset);
            let end = if let Some(end) = rests.get_mut(&key).and_then(Vec::pop) {
                end
            } else if let Some(index) = waiting.get_mut(&key).and_then(VecDeque::pop_front) {
                let wanted = &self.wanted[index];
                found.one(wanted, event.time.0.saturating_sub(start.0), self.timed);
                wanted.offset.0 + wanted.len.0
            } else {
                found.foreign += 1;
                continue;
            };
            if offset + bytes < end {
                rests.entry((writes, offset + bytes)).or_default().push(end);
            }
        }
        let requests = self.wanted.len() as u64;
        Kernel {
            requests,
            matched: found.matched,
            missing: requests - found.matched,
            foreign: found.foreign,
            issue_error_ns: self.timed.then(|| error_spans(&found.since_due)),
            stamp_error_ns: error_spans(&found.since_issue),
        }
    }
}

struct Found {
    matched: u64,
    foreign: u64,
    since_due: LatencyHistogram,
    since_issue: LatencyHistogram,
}

impl Default for Found {
    fn default() -> Found {
        let (since_due, since_issue) = (LatencyHistogram::new(), LatencyHistogram::new());
        Found { matched: 0, foreign: 0, since_due, since_issue }
    }
}

impl Found {
    fn one(&mut self, wanted: &Wanted, at: u64, timed: bool) {
        self.matched += 1;
        if timed {
            self.since_due.record(at.saturating_sub(wanted.due.0));
        }
        self.since_issue.record(at.saturating_sub(wanted.issued.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Outcome;
    use block::trace::Extra;
    use engine::replay::Planned;

    const DEVICE: DeviceNumber = DeviceNumber::new(7, 3);

    fn request(seq: u64, op: Op, offset: u64, len: u64, issued: u64) -> Replayed {
        let planned = Planned {
            at: Nanos(issued - 5),
            room: Planned::ALL_ROOM,
            weight: 1,
            op,
            fua: false,
            offset: Bytes(offset),
            len: Bytes(len),
        };
        Replayed {
            seq,
            submitter: 0,
            planned,
            ready: Nanos(issued - 5),
            no_slot: false,
            issued: Nanos(issued),
            completed: Nanos(issued + 100),
            outcome: Outcome(len as i32),
        }
    }

    fn queued(at: u64, traits: Traits, offset: u64, bytes: u32) -> TraceEvent {
        TraceEvent {
            time: Nanos(at),
            sector: offset / SECTOR,
            bytes,
            device: DEVICE,
            pid: 1,
            cpu: 0,
            sequence: 0,
            action: Action::Queue,
            traits,
            error: 0,
            extra: Extra::None,
        }
    }

    // Breaks when a split request counts twice, or a read is taken for a write at the same place.
    #[test]
    fn requests_are_found_by_their_place_and_direction() {
        let mut check = Check::new(true, 100);
        check.see(&[
            request(0, Op::Read, 4096, 8192, 1_000),
            request(1, Op::Write, 4096, 4096, 1_010),
            request(2, Op::Read, 65_536, 4096, 1_020),
            request(3, Op::Flush, 0, 0, 1_030),
        ]);
        let events = [
            queued(11_007, Traits::READ, 4096, 4096),
            queued(11_008, Traits::READ, 8192, 4096),
            queued(11_020, Traits::WRITE, 4096, 4096),
            queued(11_030, Traits::READ, 8192, 4096),
        ];
        let kernel = check.finish(&events, DEVICE, Time(10_000));
        assert_eq!((kernel.requests, kernel.matched, kernel.missing, kernel.foreign), (3, 2, 1, 1));
        assert_eq!(kernel.stamp_error_ns.max, 10);
        assert_eq!(kernel.issue_error_ns.unwrap().max, 15);
    }

    #[test]
    fn only_so_many_are_kept() {
        let mut check = Check::new(false, 1);
        check.see(&[request(0, Op::Read, 0, 512, 10), request(1, Op::Read, 512, 512, 20)]);
        let kernel = check.finish(&[], DEVICE, Time(0));
        assert_eq!((kernel.requests, kernel.missing, kernel.issue_error_ns), (1, 1, None));
    }
}

//! The moments of I/Os in the order of time. I/Os come in the order of their arrival, but are merged, issued and
//! completed in other orders.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::{Flags, Io, Stamp};

/// Most I/Os that wait for their next moment at a time: some 50 MB of them. Real queues are far shorter; a file that
/// claims to complete nothing before its end would otherwise be kept in memory whole.
const MOST: usize = 1 << 19;

/// Event of an I/O after its arrival. In the order of an I/O's life, which decides between equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Moment {
    /// It is merged into a request.
    Merge,
    /// It is issued, as a request or in one.
    Issue,
    /// It completes.
    Complete,
}

/// Data kept of an I/O until its last moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) offset: u64,
    pub(super) request: u64,
    pub(super) merged: Stamp,
    pub(super) issued: Stamp,
    pub(super) completed: Stamp,
    pub(super) lane: u32,
    pub(super) flags: Flags,
    /// It is the device's below too, and counts there.
    pub(super) stacked: bool,
}

impl Pending {
    pub(super) fn of(io: &Io, lane: u32) -> Pending {
        Pending {
            offset: io.offset.0,
            request: if io.request_bytes.0 == 0 { io.length.0 } else { io.request_bytes.0 },
            merged: io.merged,
            issued: io.issued,
            completed: io.completed,
            lane,
            flags: io.flags,
            stacked: io.remapped.known(),
        }
    }

    /// True for the I/O that represents its request.
    pub(super) fn head(&self) -> bool {
        self.flags.has(Flags::HEAD)
    }

    /// The first known moment that is not before `from` in the order of life.
    fn next(&self, from: Moment) -> Option<(Moment, u64)> {
        let all = [
            (Moment::Merge, self.merged),
            (Moment::Issue, self.issued),
            (Moment::Complete, self.completed),
        ];
        let mut known = all
            .into_iter()
            .filter(|(moment, _)| *moment >= from)
            .filter_map(|(moment, at)| Some((moment, at.get()?.0)));
        known.next()
    }
}

/// A moment that is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    /// Time (64 bits), then the order of life (2), then that of arrival (62): one comparison for all three.
    key: u128,
    /// Slot of the I/O.
    slot: u32,
}

/// Bits of the order of arrival. That many I/Os are in no trace.
const ARRIVAL_BITS: u32 = 62;

impl Entry {
    fn new(at: u64, moment: Moment, arrival: u64, slot: u32) -> Entry {
        let rank = u128::from(moment as u8) << ARRIVAL_BITS;
        Entry { key: u128::from(at) << 64 | rank | u128::from(arrival), slot }
    }

    fn at(self) -> u64 {
        (self.key >> 64) as u64
    }

    fn moment(self) -> Moment {
        match (self.key >> ARRIVAL_BITS) & 3 {
            0 => Moment::Merge,
            1 => Moment::Issue,
            _ => Moment::Complete,
        }
    }

    fn arrival(self) -> u64 {
        self.key as u64 & ((1 << ARRIVAL_BITS) - 1)
    }
}

/// Puts moments in order.
#[derive(Debug, Default)]
pub(super) struct Moments {
    queue: BinaryHeap<Reverse<Entry>>,
    kept: Vec<Pending>,
    free: Vec<u32>,
    arrivals: u64,
    early: u64,
}

impl Moments {
    /// Keeps an I/O until its moments come.
    pub(super) fn push(&mut self, io: Pending) {
        let Some((moment, at)) = io.next(Moment::Merge) else { return };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.kept[slot as usize] = io;
                slot
            }
            None => {
                self.kept.push(io);
                (self.kept.len() - 1) as u32
            }
        };
        self.arrivals += 1;
        self.queue.push(Reverse(Entry::new(at, moment, self.arrivals, slot)));
    }

    /// Next moment not after `until`. Where too many wait, the earliest comes before its time, and is counted.
    pub(super) fn pop(&mut self, until: u64) -> Option<(u64, Moment, Pending)> {
        let full = self.queue.len() > MOST;
        let mut first = self.queue.peek_mut()?;
        let Reverse(entry) = *first;
        let (at, moment) = (entry.at(), entry.moment());
        if at > until {
            if !full {
                return None;
            }
            self.early += 1;
        }
        let io = self.kept[entry.slot as usize];
        let after = match moment {
            Moment::Merge => io.next(Moment::Issue),
            Moment::Issue => io.next(Moment::Complete),
            Moment::Complete => None,
        };
        match after {
            // A moment that is recorded before the one that it follows is taken at the same instant. It replaces the
            // first entry: one pass through the heap, where a pop and a push would take two.
            Some((moment, then)) => {
                *first = Reverse(Entry::new(then.max(at), moment, entry.arrival(), entry.slot));
            }
            None => {
                PeekMut::pop(first);
                self.free.push(entry.slot);
            }
        }
        Some((at, moment, io))
    }

    /// Moments that came before their time.
    pub(super) fn early(&self) -> u64 {
        self.early
    }
}

#[cfg(test)]
mod tests {
    use block::{Bytes, Nanos};
    use proptest::prelude::*;

    use super::*;
    use crate::Kind;

    proptest! {
        // Breaks when a moment is lost or comes out of order.
        #[test]
        fn all_moments_come_in_order(
            spans in proptest::collection::vec((0u64..50, 0u64..100, 0u64..100), 1..100),
        ) {
            let mut moments = Moments::default();
            let (mut now, mut expected, mut found) = (0, Vec::new(), Vec::new());
            for (gap, q2d, d2c) in spans {
                now += gap;
                while let Some((at, moment, _)) = moments.pop(now) {
                    found.push((at, moment));
                }
                let mut io = Io::arriving(Nanos(now), Kind::Read, Bytes(0), Bytes(512));
                io.issued = Stamp::at(Nanos(now + q2d));
                io.completed = Stamp::at(Nanos(now + q2d + d2c));
                expected.push((now + q2d, Moment::Issue));
                expected.push((now + q2d + d2c, Moment::Complete));
                moments.push(Pending::of(&io, 0));
            }
            while let Some((at, moment, _)) = moments.pop(u64::MAX) {
                found.push((at, moment));
            }
            let times = |all: &[(u64, Moment)]| all.iter().map(|(at, _)| *at).collect::<Vec<_>>();
            prop_assert!(times(&found).is_sorted());
            expected.sort_unstable();
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_trace_that_completes_at_its_end_is_not_kept_whole() {
        let mut moments = Moments::default();
        let mut popped = 0;
        for arrival in 0..MOST as u64 + 100 {
            while moments.pop(arrival).is_some() {
                popped += 1;
            }
            let mut io = Io::arriving(Nanos(arrival), Kind::Read, Bytes(0), Bytes(512));
            io.completed = Stamp::at(Nanos(u64::MAX - 1));
            moments.push(Pending::of(&io, 0));
        }
        assert_eq!((popped, moments.early()), (99, 99));
        assert!(moments.kept.len() <= MOST + 1);
    }
}

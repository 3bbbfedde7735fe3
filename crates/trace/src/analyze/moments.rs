//! The moments of I/Os in the order of time. I/Os come in the order of their arrival, but are merged, issued and
//! completed in other orders.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Flags, Io};

/// Most I/Os that wait for their next moment at a time: some 50 MB of them. Real queues are far shorter; a file that
/// claims to complete nothing before its end would otherwise be kept in memory whole.
const MOST: usize = 1 << 19;

/// What happens to an I/O after its arrival. In the order of an I/O's life, which decides between equal times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Moment {
    /// It is merged into a request.
    Merge,
    /// It is issued, as a request or in one.
    Issue,
    /// It completes.
    Complete,
}

/// What is kept of an I/O until its last moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) offset: u64,
    pub(super) request: u64,
    pub(super) merged: Option<u64>,
    pub(super) issued: Option<u64>,
    pub(super) completed: Option<u64>,
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
            merged: io.merged.get().map(|at| at.0),
            issued: io.issued.get().map(|at| at.0),
            completed: io.completed.get().map(|at| at.0),
            lane,
            flags: io.flags,
            stacked: io.remapped.known(),
        }
    }

    /// True for the I/O that stands for its request.
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
            .filter_map(|(m, at)| Some((m, at?)));
        known.next()
    }
}

/// Time, then the order of life, then that of arrival; and where the I/O is kept.
type Entry = Reverse<(u64, Moment, u64, u32)>;

/// Puts moments in order.
#[derive(Debug, Default)]
pub(super) struct Moments {
    queue: BinaryHeap<Entry>,
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
        self.queue.push(Reverse((at, moment, self.arrivals, slot)));
    }

    /// Next moment not after `until`. Where too many wait, the earliest comes before its time, and is counted.
    pub(super) fn pop(&mut self, until: u64) -> Option<(u64, Moment, Pending)> {
        let Reverse((at, moment, arrival, slot)) = *self.queue.peek()?;
        if at > until {
            if self.queue.len() <= MOST {
                return None;
            }
            self.early += 1;
        }
        self.queue.pop();
        let io = self.kept[slot as usize];
        let after = match moment {
            Moment::Merge => io.next(Moment::Issue),
            Moment::Issue => io.next(Moment::Complete),
            Moment::Complete => None,
        };
        match after {
            // What is told to be before what it follows is taken at the same instant.
            Some((moment, then)) => {
                self.queue.push(Reverse((then.max(at), moment, arrival, slot)));
            }
            None => self.free.push(slot),
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
    use crate::{Kind, Stamp};

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

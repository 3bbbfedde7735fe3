//! Future events inside the drive, and their times.
//!
//! Most events come from servers that work in order of arrival: the next event of such a server is at the head of its
//! own line, and needs no heap. Only events of dies and channels go through one, with time, order and name in 16
//! bytes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use block::{Nanos, Time};

/// Subject of an event in the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A die ends what it is doing.
    Die(u32),
    /// A channel ends the transfer at the head of its line.
    Channel(u32),
}

/// Bits of a name in the heap.
const NAME_BITS: u32 = 24;
const CHANNEL: u64 = 1 << (NAME_BITS - 1);

/// Events of one instant happen in the order in which they were scheduled.
#[derive(Debug, Default)]
pub(super) struct Heap {
    /// Time, then order of scheduling (40 bits: a month of computing) and name, in one number.
    heap: BinaryHeap<Reverse<u128>>,
    scheduled: u64,
}

impl Heap {
    pub(super) fn push(&mut self, at: Time, event: Event) {
        let name = match event {
            Event::Die(die) => u64::from(die),
            Event::Channel(channel) => CHANNEL | u64::from(channel),
        };
        self.scheduled += 1;
        let low = self.scheduled << NAME_BITS | name;
        self.heap.push(Reverse(u128::from(at.0) << 64 | u128::from(low)));
    }

    /// When something next happens.
    #[inline]
    pub(super) fn next_at(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse(first)| Time((first >> 64) as u64))
    }

    pub(super) fn pop(&mut self) -> Option<Event> {
        let Reverse(first) = self.heap.pop()?;
        let name = first as u64 & ((1 << NAME_BITS) - 1);
        Some(match name & CHANNEL {
            0 => Event::Die(name as u32),
            _ => Event::Channel((name & !CHANNEL) as u32),
        })
    }
}

/// A server that takes one job at a time, in order of arrival: when each ends is known as soon as it comes.
#[derive(Debug)]
pub(super) struct Line<T> {
    free: Time,
    jobs: VecDeque<(Time, T)>,
}

impl<T> Line<T> {
    pub(super) fn new() -> Line<T> {
        Line { free: Time::ZERO, jobs: VecDeque::new() }
    }

    /// Takes a job that arrives at `now`; says when it ends.
    #[inline]
    pub(super) fn push(&mut self, now: Time, span: Nanos, job: T) -> Time {
        let ends = self.occupy(now, span);
        self.jobs.push_back((ends, job));
        ends
    }

    /// Is busy for `span` with something whose end is not an event.
    #[inline]
    pub(super) fn occupy(&mut self, now: Time, span: Nanos) -> Time {
        self.free = self.free.max(now) + span;
        self.free
    }

    /// When the first job ends.
    #[inline]
    pub(super) fn next_at(&self) -> Time {
        self.jobs.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<T> {
        self.jobs.pop_front().map(|(_, job)| job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when ties are left to the heap's whim, or when a name is read as another.
    #[test]
    fn events_of_one_instant_keep_their_order() {
        let mut heap = Heap::default();
        assert_eq!((heap.next_at(), heap.pop()), (Time::NEVER, None));
        let last = [Event::Die(65_535), Event::Channel(0), Event::Die(0), Event::Channel(255)];
        last.iter().for_each(|&event| heap.push(Time(30), event));
        heap.push(Time(10), Event::Die(7));
        assert_eq!((heap.next_at(), heap.pop()), (Time(10), Some(Event::Die(7))));
        assert_eq!(heap.next_at(), Time(30));
        let order: Vec<Event> = std::iter::from_fn(|| heap.pop()).collect();
        assert_eq!(order, last);
    }

    #[test]
    fn a_line_works_without_a_pause_while_it_has_jobs() {
        let mut line = Line::new();
        assert_eq!(line.push(Time(10), Nanos(5), 'a'), Time(15));
        assert_eq!(line.push(Time(11), Nanos(5), 'b'), Time(20));
        assert_eq!(line.occupy(Time(12), Nanos(5)), Time(25));
        assert_eq!(line.push(Time(100), Nanos(5), 'c'), Time(105));
        let ends: Vec<Time> = std::iter::from_fn(|| {
            let at = line.next_at();
            line.pop().map(|_| at)
        })
        .collect();
        assert_eq!(ends, [Time(15), Time(20), Time(105)]);
        assert_eq!(line.next_at(), Time::NEVER);
    }
}

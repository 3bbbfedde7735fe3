//! The queue of what will happen, in virtual time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use block::Time;

/// Events ordered by (time, order of scheduling): two runs that schedule alike see them alike.
#[derive(Debug)]
pub(crate) struct EventQueue<E> {
    heap: BinaryHeap<Entry<E>>,
    scheduled: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Time,
    sequence: u64,
    event: E,
}

impl<E> EventQueue<E> {
    /// A queue in which nothing will happen.
    pub(crate) fn new() -> EventQueue<E> {
        EventQueue { heap: BinaryHeap::new(), scheduled: 0 }
    }

    /// Lets `event` happen at `at`, after everything already scheduled for that instant.
    pub(crate) fn push(&mut self, at: Time, event: E) {
        self.scheduled += 1;
        self.heap.push(Entry { at, sequence: self.scheduled, event });
    }

    /// When something next happens.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// Takes the next event, unless it is later than `limit`.
    pub(crate) fn pop_until(&mut self, limit: Time) -> Option<(Time, E)> {
        if self.next_at()? > limit {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }
}

// `BinaryHeap` gives the greatest first, so the order is reversed: the earliest is the greatest.
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when ties are left to the heap's whim: two runs would then differ.
    #[test]
    fn events_of_one_instant_keep_their_order() {
        let mut queue = EventQueue::new();
        for name in ["c1", "c2", "c3"] {
            queue.push(Time(30), name);
        }
        queue.push(Time(10), "a");
        assert_eq!(queue.pop_until(Time(9)), None);
        let mut seen = Vec::new();
        while let Some((_, name)) = queue.pop_until(Time(30)) {
            seen.push(name);
        }
        assert_eq!(seen, ["a", "c1", "c2", "c3"]);
    }
}

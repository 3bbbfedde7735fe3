//! Answers that come later than the device inside gave them.

use block::{Nanos, Time};

use crate::device::{Device, Finished};
use crate::events::EventQueue;

/// Answers of the device inside that are still to be passed on.
pub(super) struct Late {
    waiting: EventQueue<Finished>,
    results: Vec<Finished>,
}

impl Late {
    pub(super) fn new() -> Late {
        Late { waiting: EventQueue::new(), results: Vec::new() }
    }

    /// When the next one is passed on.
    pub(super) fn next_at(&self) -> Option<Time> {
        self.waiting.next_at()
    }

    /// Lets `device` work until `at`, and passes on what is due by then: each answer as much later as `added` says.
    pub(super) fn step(
        &mut self,
        device: &mut dyn Device,
        at: Time,
        finished: &mut Vec<Finished>,
        mut added: impl FnMut(&Finished) -> Nanos,
    ) {
        device.advance(at, &mut self.results);
        for result in self.results.drain(..) {
            let seen = result.at + added(&result);
            self.waiting.push(seen, Finished { at: seen, ..result });
        }
        while let Some((_, result)) = self.waiting.pop_until(at) {
            finished.push(result);
        }
    }
}

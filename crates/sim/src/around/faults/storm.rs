//! A drive whose answers come late at times.

use block::{Nanos, Time};

use super::table::Storm;
use crate::around::inbox::earlier;
use crate::around::shell::Shell;
use crate::device::{Command, Device, Finished};
use crate::events::EventQueue;

/// A drive with latency storms: an I/O that would end in one ends later. The drive inside knows nothing
/// of it, and its queue is free when it is done.
pub(super) struct Stormy {
    inner: Box<dyn Device>,
    storm: Storm,
    /// In the drive, with the time of acceptance.
    held: Vec<(u64, Time)>,
    late: EventQueue<Finished>,
    results: Vec<Finished>,
}

impl Stormy {
    pub(super) fn new(storm: &Storm, inner: Box<dyn Device>) -> Stormy {
        let (held, results) = (Vec::new(), Vec::new());
        Stormy { inner, storm: storm.clone(), held, late: EventQueue::new(), results }
    }

    /// What a storm adds to a latency that would end at `at`.
    fn added(&self, accepted: Time, at: Time) -> Nanos {
        let Storm { period_ns, length_ns, factor, added_ns } = self.storm;
        if at.0 % period_ns < period_ns - length_ns {
            return Nanos::ZERO;
        }
        Nanos(at.since(accepted).0.saturating_mul(factor - 1).saturating_add(added_ns))
    }
}

impl Shell for Stormy {
    fn inner(&self) -> &dyn Device {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        self.inner.as_mut()
    }

    fn accept(&mut self, command: Command, now: Time) {
        self.held.push((command.tag, now));
        self.inner.accept(command, now);
    }

    fn next_event(&self) -> Option<Time> {
        earlier(self.late.next_at(), self.inner.next_event())
    }

    fn step(&mut self, at: Time, finished: &mut Vec<Finished>) {
        self.inner.advance(at, &mut self.results);
        let mut results = std::mem::take(&mut self.results);
        for result in results.drain(..) {
            let index = self.held.iter().position(|(tag, _)| *tag == result.tag);
            let accepted = index.map_or(result.at, |index| self.held.swap_remove(index).1);
            let seen = result.at + self.added(accepted, result.at);
            self.late.push(seen, Finished { at: seen, ..result });
        }
        self.results = results;
        while let Some((_, result)) = self.late.pop_until(at) {
            finished.push(result);
        }
    }
}

//! A drive with places that cannot be read or written.

use block::{Errno, Nanos, Op, Outcome, Time};

use super::table::Faults;
use crate::around::inbox::earlier;
use crate::around::ranges::Ranges;
use crate::around::shell::Shell;
use crate::device::{Command, Device, Finished};
use crate::events::EventQueue;

/// A drive with bad places. An I/O that touches one takes its way through the drive, and then the drive
/// tries again and again, with nothing else taken in, until it gives up with `EIO`.
pub(super) struct Bad {
    inner: Box<dyn Device>,
    unreadable: Ranges,
    unwritable: Ranges,
    /// Real end of a drive that fails beyond it.
    end: u64,
    error_after: Nanos,
    /// In the drive, and going to fail.
    doomed: Vec<u64>,
    failures: EventQueue<u64>,
    /// End of the present attempt.
    trying_until: Time,
    results: Vec<Finished>,
    now: Time,
}

impl Bad {
    pub(super) fn new(faults: &Faults, end: Option<u64>, inner: Box<dyn Device>) -> Bad {
        Bad {
            inner,
            unreadable: faults.unreadable.clone(),
            unwritable: faults.unwritable.clone(),
            end: end.unwrap_or(u64::MAX),
            error_after: Nanos(faults.error_after_ns),
            doomed: Vec::new(),
            failures: EventQueue::new(),
            trying_until: Time::ZERO,
            results: Vec::new(),
            now: Time::ZERO,
        }
    }

    fn fails(&self, command: &Command) -> bool {
        let (from, to) = (command.offset, command.end());
        match command.op {
            Op::Read => to > self.end || self.unreadable.touch(from, to),
            Op::Write => to > self.end || self.unwritable.touch(from, to),
            Op::Flush | Op::Discard => false,
        }
    }
}

impl Shell for Bad {
    fn inner(&self) -> &dyn Device {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        self.inner.as_mut()
    }

    fn admits(&self, command: &Command) -> bool {
        self.trying_until <= self.now && self.inner.admits(command)
    }

    fn accept(&mut self, command: Command, now: Time) {
        if self.fails(&command) {
            self.doomed.push(command.tag);
        }
        self.inner.accept(command, now);
    }

    fn next_event(&self) -> Option<Time> {
        earlier(self.failures.next_at(), self.inner.next_event())
    }

    fn step(&mut self, at: Time, finished: &mut Vec<Finished>) {
        self.now = at;
        self.inner.advance(at, &mut self.results);
        for result in self.results.drain(..) {
            match self.doomed.iter().position(|tag| *tag == result.tag) {
                None => finished.push(result),
                Some(index) => {
                    self.doomed.swap_remove(index);
                    // One after the other: the drive has one arm, or one decoder.
                    self.trying_until = self.trying_until.max(result.at) + self.error_after;
                    self.failures.push(self.trying_until, result.tag);
                }
            }
        }
        while let Some((at, tag)) = self.failures.pop_until(at) {
            finished.push(Finished { tag, at, outcome: Outcome(-Errno::IO.0) });
        }
    }
}

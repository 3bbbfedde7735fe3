//! A drive that vanishes.

use std::collections::VecDeque;
use std::sync::Arc;

use block::{Errno, Nanos, Outcome, Time};

use crate::around::gauges::Gauges;
use crate::around::shell::Shell;
use crate::device::{Command, Device, Finished};

/// How long the kernel takes to refuse an I/O to a device that is gone; not zero, so that a closed loop
/// over it does not turn for ever within one instant.
const REFUSAL: Nanos = Nanos(5_000);

/// A drive that is there until an instant. What is under way then fails with `EIO`, as when a cable is
/// pulled; what comes later with `ENXIO`.
pub(super) struct Vanishing {
    inner: Box<dyn Device>,
    at: Time,
    gone: bool,
    gauges: Arc<Gauges>,
    /// In the drive.
    held: Vec<u64>,
    /// Came when it was gone; in order of time, since each is refused after the same span.
    refused: VecDeque<(Time, u64)>,
}

impl Vanishing {
    pub(super) fn new(at: Time, gauges: Arc<Gauges>, inner: Box<dyn Device>) -> Vanishing {
        // At zero it was never there: what is issued at the first instant does not find it.
        let gone = at == Time::ZERO;
        if gone {
            gauges.vanished();
        }
        Vanishing { inner, at, gone, gauges, held: Vec::new(), refused: VecDeque::new() }
    }

    /// Lets the drive do what it does until it vanishes.
    fn live(&mut self, to: Time, finished: &mut Vec<Finished>) {
        let first = finished.len();
        self.inner.advance(to.min(self.at), finished);
        let done = &finished[first..];
        self.held.retain(|tag| done.iter().all(|result| result.tag != *tag));
        if to < self.at {
            return;
        }
        self.gone = true;
        self.gauges.vanished();
        let failed = |tag| Finished { tag, at: self.at, outcome: Outcome(-Errno::IO.0) };
        finished.extend(self.held.drain(..).map(failed));
    }
}

impl Shell for Vanishing {
    fn inner(&self) -> &dyn Device {
        self.inner.as_ref()
    }

    fn inner_mut(&mut self) -> &mut dyn Device {
        self.inner.as_mut()
    }

    fn admits(&self, command: &Command) -> bool {
        self.gone || self.inner.admits(command)
    }

    fn accept(&mut self, command: Command, now: Time) {
        if self.gone {
            self.refused.push_back((now + REFUSAL, command.tag));
        } else {
            self.held.push(command.tag);
            self.inner.accept(command, now);
        }
    }

    fn next_event(&self) -> Option<Time> {
        if self.gone {
            self.refused.front().map(|(at, _)| *at)
        } else {
            Some(self.inner.next_event().map_or(self.at, |at| at.min(self.at)))
        }
    }

    fn step(&mut self, at: Time, finished: &mut Vec<Finished>) {
        if !self.gone {
            self.live(at, finished);
        }
        while let Some((at, tag)) = self.refused.front().copied().filter(|(due, _)| *due <= at) {
            self.refused.pop_front();
            finished.push(Finished { tag, at, outcome: Outcome(-Errno::NO_DEVICE.0) });
        }
    }
}

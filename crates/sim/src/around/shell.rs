//! Code common to all wrappers around a device.

use block::{Op, Time};

use crate::device::{Command, Device, Finished, MediaCounters};

/// A device around a device: passes on what it has no reason to change.
pub(super) trait Shell: Send {
    fn inner(&self) -> &dyn Device;

    fn inner_mut(&mut self) -> &mut dyn Device;

    /// As [`Device::admits`].
    fn admits(&self, command: &Command) -> bool {
        self.inner().admits(command)
    }

    /// As [`Device::accept`].
    fn accept(&mut self, command: Command, now: Time);

    /// As [`Device::next_event`].
    fn next_event(&self) -> Option<Time>;

    /// Lets happen what happens at `at`, which is not later than the next event, inside and here.
    fn step(&mut self, at: Time, finished: &mut Vec<Finished>);

    /// As [`Device::reseed`].
    fn reseed(&mut self, seed: u64) {
        self.inner_mut().reseed(seed);
    }
}

impl<S: Shell> Device for S {
    fn supports(&self, op: Op) -> bool {
        self.inner().supports(op)
    }

    fn admits(&self, command: &Command) -> bool {
        Shell::admits(self, command)
    }

    fn accept(&mut self, command: Command, now: Time) {
        Shell::accept(self, command, now);
    }

    fn next_event(&self) -> Option<Time> {
        Shell::next_event(self)
    }

    /// Event by event, since what one does may bring the next one forward.
    fn advance(&mut self, to: Time, finished: &mut Vec<Finished>) {
        while let Some(at) = Shell::next_event(self).filter(|at| *at <= to) {
            self.step(at, finished);
        }
        self.step(to, finished);
    }

    fn advance_to_first(&mut self, until: Time, finished: &mut Vec<Finished>) -> Time {
        while let Some(at) = Shell::next_event(self).filter(|at| *at <= until) {
            self.step(at, finished);
            if !finished.is_empty() {
                return at;
            }
        }
        // State that changes without events, such as a temperature, is brought up to date.
        if until < Time::NEVER {
            self.step(until, finished);
        }
        until
    }

    fn holds(&self, offset: u64) -> bool {
        self.inner().holds(offset)
    }

    fn tells_endurance(&self) -> bool {
        self.inner().tells_endurance()
    }

    fn reseed(&mut self, seed: u64) {
        Shell::reseed(self, seed);
    }

    fn media(&self) -> MediaCounters {
        self.inner().media()
    }
}

//! A drive whose answers come late at times.

use block::{Nanos, Time};

use super::table::Storm;
use crate::around::inbox::earlier;
use crate::around::late::Late;
use crate::around::shell::Shell;
use crate::device::{Command, Device, Finished};

/// A drive with latency storms: an I/O that would end in one ends later. The drive inside knows nothing
/// of it, and its queue is free when it is done.
pub(super) struct Stormy {
    inner: Box<dyn Device>,
    storm: Storm,
    /// In the drive, with the time of acceptance.
    held: Vec<(u64, Time)>,
    late: Late,
}

impl Stormy {
    pub(super) fn new(storm: &Storm, inner: Box<dyn Device>) -> Stormy {
        Stormy { inner, storm: storm.clone(), held: Vec::new(), late: Late::new() }
    }
}

/// Latency that `storm` adds to an answer due at `at`.
fn added(storm: &Storm, accepted: Time, at: Time) -> Nanos {
    let Storm { period_ns, length_ns, factor, added_ns } = *storm;
    if at.0 % period_ns < period_ns - length_ns {
        return Nanos::ZERO;
    }
    Nanos(at.since(accepted).0.saturating_mul(factor - 1).saturating_add(added_ns))
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
        let (held, storm) = (&mut self.held, &self.storm);
        self.late.step(self.inner.as_mut(), at, finished, |result| {
            let index = held.iter().position(|(tag, _)| *tag == result.tag);
            let accepted = index.map_or(result.at, |index| held.swap_remove(index).1);
            added(storm, accepted, result.at)
        });
    }
}

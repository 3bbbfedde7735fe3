//! Puts events in the order of their time that come from several CPUs.

use block::Nanos;
use block::trace::TraceEvent;

/// Most events held back, some 20 MB: more are let go before their time, the earliest first.
const HELD_MAX: usize = 1 << 18;

/// Holds events back until none can come that was before them.
#[derive(Debug, Default)]
pub struct Sorter {
    held: Vec<TraceEvent>,
    newest: Nanos,
    spare: Vec<TraceEvent>,
}

impl Sorter {
    /// Takes events, and gives those that no event can precede which is late by at most `lateness`.
    pub fn take(&mut self, events: &[TraceEvent], lateness: Nanos) -> Vec<TraceEvent> {
        self.held.extend_from_slice(events);
        self.newest = events.iter().map(|event| event.time).fold(self.newest, Nanos::max);
        // Runs that are in order already, one for each CPU, cost no more than a merge. Stable: of one CPU's events
        // at one instant, the order is right.
        self.held.sort_by_key(|event| event.time);
        let due = self.newest.0.saturating_sub(lateness.0);
        let by_time = self.held.partition_point(|event| event.time.0 < due);
        let count = by_time.max(self.held.len().saturating_sub(HELD_MAX));
        let mut out = std::mem::take(&mut self.spare);
        out.extend(self.held.drain(..count));
        out
    }

    /// Takes back what [`Sorter::take`] gave, to be used again.
    pub fn give_back(&mut self, mut given: Vec<TraceEvent>) {
        given.clear();
        self.spare = given;
    }

    /// All that is held.
    pub fn take_all(&mut self) -> Vec<TraceEvent> {
        std::mem::take(&mut self.held)
    }
}

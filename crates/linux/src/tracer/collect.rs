//! A recording that is kept in memory, up to a bound: for code that wants to know what reached a device while
//! something else ran in this process.

use block::trace::{TraceEvent, TraceNote, TraceSink};

use super::{Options, Recorded, Subject, Tracer, TracerError};

/// Keeps the events and notes that it receives, up to a maximum count of each.
#[derive(Clone, Debug)]
pub struct Collector {
    kept: Collected,
    events_max: usize,
}

/// Recording in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Events in the order of their time.
    pub events: Vec<TraceEvent>,
    /// Notes. Losses among them are of the kernel.
    pub notes: Vec<TraceNote>,
    /// Events that came when the bound was reached, and were left out.
    pub left_out: u64,
}

impl Collector {
    /// Keeps at most `events_max` events (some 80 bytes each), and as many notes.
    pub fn new(events_max: usize) -> Collector {
        Collector { kept: Collected::default(), events_max }
    }

    /// Returns the recording.
    pub fn finish(self) -> Collected {
        self.kept
    }
}

impl TraceSink for Collector {
    fn events(&mut self, events: &[TraceEvent]) {
        let room = self.events_max.saturating_sub(self.kept.events.len()).min(events.len());
        self.kept.events.extend_from_slice(&events[..room]);
        self.kept.left_out += (events.len() - room) as u64;
    }

    fn note(&mut self, note: TraceNote) {
        if self.kept.notes.len() < self.events_max {
            self.kept.notes.push(note);
        }
    }
}

/// Records the I/O to `subjects` while `work` runs, in memory, up to `events_max` events. `work` may mark its phases
/// with the tracer that it receives.
///
/// # Errors
/// Those of [`super::start`]; `work` is not begun then.
pub fn record_while<T>(
    subjects: &[Subject],
    options: &Options,
    events_max: usize,
    work: impl FnOnce(&Tracer<Collector>) -> T,
) -> Result<(T, Collected, Recorded), TracerError> {
    let tracer = super::start(subjects, options, Collector::new(events_max))?;
    let done = work(&tracer);
    let (collector, recorded) = tracer.stop();
    Ok((done, collector.finish(), recorded))
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Nanos;
    use block::trace::{Action, DeviceNumber, Extra, Traits};

    #[test]
    fn beyond_the_bound_events_are_counted_and_not_kept() {
        let event = TraceEvent {
            time: Nanos(1),
            sector: 0,
            bytes: 0,
            device: DeviceNumber(0),
            pid: 0,
            cpu: 0,
            sequence: 0,
            action: Action::Queue,
            traits: Traits::NONE,
            error: 0,
            extra: Extra::None,
        };
        let mut collector = Collector::new(3);
        collector.events(&[event; 2]);
        collector.events(&[event; 2]);
        collector.events(&[event; 2]);
        let kept = collector.finish();
        assert_eq!((kept.events.len(), kept.left_out), (3, 3));
    }
}

//! One stream in the order of time, of the streams of all CPUs.

use block::Nanos;
use block::trace::TraceEvent;

/// How long an event is waited for before later ones of other CPUs are handed on. An event gets its time before it
/// is in the buffer; a virtual CPU may lose its host for a while in between, and an interrupt may come.
pub(crate) const WINDOW: Nanos = Nanos::millis(50);

/// Events that are not handed on yet.
#[derive(Debug, Default)]
pub(crate) struct Order {
    pending: Vec<TraceEvent>,
    latest: Nanos,
    /// Events that came after later ones had been handed on.
    pub(crate) late: u64,
}

impl Order {
    /// Takes events, those of one CPU in their order.
    pub(crate) fn take(&mut self, events: &mut Vec<TraceEvent>) {
        self.pending.append(events);
    }

    /// Hands on what happened before `until`.
    pub(crate) fn release(&mut self, until: Nanos) -> std::vec::Drain<'_, TraceEvent> {
        // Stable, and fast on stretches that are in order already.
        self.pending.sort_by_key(|event| event.time);
        let latest = self.latest;
        self.late += self.pending.partition_point(|event| event.time < latest) as u64;
        let count = self.pending.partition_point(|event| event.time < until);
        if let Some(last) = self.pending[..count].last() {
            self.latest = self.latest.max(last.time);
        }
        self.pending.drain(..count)
    }
}

#[cfg(test)]
mod tests {
    use block::trace::{Action, DeviceNumber, Extra, Traits};

    use super::*;

    fn event(time: u64, cpu: u32) -> TraceEvent {
        TraceEvent {
            time: Nanos(time),
            sector: 0,
            bytes: 0,
            device: DeviceNumber(0),
            pid: 0,
            cpu,
            sequence: 0,
            action: Action::Queue,
            traits: Traits::NONE,
            error: 0,
            extra: Extra::None,
        }
    }

    // Breaks when the events of two CPUs are handed on as they were read: an I/O would complete before it began.
    #[test]
    fn cpus_are_merged_and_what_is_too_late_is_counted() {
        let mut order = Order::default();
        order.take(&mut vec![event(1, 0), event(5, 0), event(9, 0)]);
        order.take(&mut vec![event(2, 1), event(5, 1), event(30, 1)]);
        let told: Vec<_> =
            order.release(Nanos(10)).map(|event| (event.time.0, event.cpu)).collect();
        assert_eq!(told, [(1, 0), (2, 1), (5, 0), (5, 1), (9, 0)]);
        order.take(&mut vec![event(8, 0), event(31, 0)]);
        let told: Vec<_> = order.release(Nanos(u64::MAX)).map(|event| event.time.0).collect();
        assert_eq!((told, order.late), (vec![8, 30, 31], 1));
    }
}

//! Events that belong to no single I/O.

use std::collections::{BTreeMap, VecDeque};

use block::Nanos;
use block::trace::{Action, Extra, TraceEvent, Traits};

use crate::EventTally;

/// How many kinds of events there are.
const ACTIONS: usize = 19;

/// Most flushes that a drive is taken to have at once.
const FLUSHES: usize = 1024;

/// Counts of one device.
#[derive(Debug, Default)]
pub struct Tally {
    events: [u64; ACTIONS],
    plugged_since: Option<Nanos>,
    /// An I/O of the device was seen. As for btt, what was plugged before is not counted.
    known: bool,
    /// When flushes at the drive were issued that have not completed.
    flushes: VecDeque<Nanos>,
    totals: EventTally,
}

impl Tally {
    /// Counts an event.
    #[inline]
    pub fn see(&mut self, event: &TraceEvent) {
        self.events[event.action as usize] += 1;
        match event.action {
            Action::Plug => {
                if self.known && self.plugged_since.is_none() {
                    self.plugged_since = Some(event.time);
                    self.totals.plugs += 1;
                }
            }
            Action::Unplug => self.unplug(event, false),
            Action::UnplugTimer => self.unplug(event, true),
            action => {
                let flushes = event.bytes == 0
                    && event.traits.has(Traits::FLUSH)
                    && !event.traits.has(Traits::WRITE)
                    && !event.traits.has(Traits::PASSTHROUGH);
                if flushes {
                    self.flush(event);
                }
                let data = event.bytes > 0 && !event.traits.has(Traits::PASSTHROUGH);
                self.known |= data;
                if data && action == Action::Issue {
                    let (totals, bytes) = (&mut self.totals, u64::from(event.bytes));
                    let min = &mut totals.issued_min_bytes;
                    *min = if totals.issued_requests == 0 { bytes } else { bytes.min(*min) };
                    totals.issued_max_bytes = totals.issued_max_bytes.max(bytes);
                    totals.issued_bytes = totals.issued_bytes.saturating_add(bytes);
                    totals.issued_requests += 1;
                }
            }
        }
    }

    /// A flush request of the kernel's own, at the drive. Of several at once the first issued is taken to end first: sum
    /// and mean are the same whichever did.
    fn flush(&mut self, event: &TraceEvent) {
        match event.action {
            Action::Issue => {
                if self.flushes.len() >= FLUSHES {
                    self.flushes.pop_front();
                }
                self.flushes.push_back(event.time);
            }
            Action::Complete => {
                let Some(issued) = self.flushes.pop_front() else { return };
                let took = Nanos(event.time.0.saturating_sub(issued.0));
                let totals = &mut self.totals;
                totals.drive_flushes += 1;
                totals.drive_flushing.0 = totals.drive_flushing.0.saturating_add(took.0);
                totals.drive_flush_max = totals.drive_flush_max.max(took);
            }
            _ => {}
        }
    }

    /// Plugging is followed per device, not per task: the first unplug ends the first plug, and those of other tasks in
    /// between or after are ignored. Today's kernel plugs for each task, but btt counts this way; the events themselves
    /// are counted as well.
    fn unplug(&mut self, event: &TraceEvent, timer: bool) {
        let Some(since) = self.plugged_since.take() else { return };
        let requests = match event.extra {
            Extra::Requests(requests) => requests,
            _ => 0,
        };
        let totals = &mut self.totals;
        totals.plugged.0 = totals.plugged.0.saturating_add(event.time.0.saturating_sub(since.0));
        totals.unplugs += 1;
        totals.unplugged_requests = totals.unplugged_requests.saturating_add(requests);
        if timer {
            totals.timer_unplugs += 1;
            totals.timer_unplugged_requests =
                totals.timer_unplugged_requests.saturating_add(requests);
        }
    }

    /// Returns the counts so far.
    pub fn totals(&self) -> EventTally {
        let mut totals = self.totals.clone();
        totals.events = self
            .events
            .iter()
            .zip(LETTERS)
            .filter(|&(&count, _)| count > 0)
            .map(|(&count, letters)| (letters.to_owned(), count))
            .collect::<BTreeMap<_, _>>();
        totals
    }
}

/// blkparse's letters, in the order of [`Action`]'s variants. It has none for the last but two.
const LETTERS: [&str; ACTIONS] = [
    "Q", "M", "F", "G", "S", "R", "D", "C", "P", "U", "UT", "I", "X", "B", "A", "abort", "drv",
    "ZP", "ZU",
];

#[cfg(test)]
mod tests {
    use block::trace::DeviceNumber;

    use super::*;

    fn event(second: u64, action: Action, bytes: u32, requests: u64) -> TraceEvent {
        TraceEvent {
            time: Nanos::secs(second),
            sector: 8,
            bytes,
            device: DeviceNumber::new(8, 0),
            pid: 1,
            cpu: 0,
            sequence: 0,
            action,
            traits: Traits::WRITE,
            error: 0,
            extra: if requests > 0 { Extra::Requests(requests) } else { Extra::None },
        }
    }

    /// Debian's btt 1.2.0, given these events, prints 1 plug, 1 by timer, 30% of 10 s plugged, 3.0 and 7.0 requests
    /// an unplug. Breaks when plugs are counted by task, or while one is open already.
    #[test]
    fn plugs_are_counted_as_btt_counts_them() {
        let mut tally = Tally::default();
        for (second, action, bytes, requests) in [
            (0, Action::Plug, 0, 0), // Nothing is known of the device yet.
            (0, Action::Queue, 4096, 0),
            (1, Action::Plug, 0, 0),
            (2, Action::Plug, 0, 0),
            (3, Action::Unplug, 0, 3),
            (5, Action::Unplug, 0, 5),
            (6, Action::Plug, 0, 0),
            (7, Action::UnplugTimer, 0, 7),
            (8, Action::Unplug, 0, 2),
            (10, Action::Complete, 4096, 0),
        ] {
            tally.see(&event(second, action, bytes, requests));
        }
        let totals = tally.totals();
        assert_eq!((totals.unplugs - totals.timer_unplugs, totals.timer_unplugs), (1, 1));
        assert_eq!(totals.plugged, Nanos::secs(3));
        assert_eq!(totals.unplugged_requests - totals.timer_unplugged_requests, 3);
        assert_eq!(totals.timer_unplugged_requests, 7);
        let events = [("C", 1), ("P", 4), ("Q", 1), ("U", 3), ("UT", 1)];
        assert_eq!(totals.events, events.map(|(letter, n)| (letter.to_owned(), n)).into());
    }

    #[test]
    fn letters_are_those_of_the_actions() {
        for (action, letter) in [
            (Action::Queue, "Q"),
            (Action::GetRequest, "G"),
            (Action::Issue, "D"),
            (Action::Complete, "C"),
            (Action::UnplugTimer, "UT"),
            (Action::Insert, "I"),
            (Action::Remap, "A"),
            (Action::ZoneUnplug, "ZU"),
        ] {
            assert_eq!(LETTERS[action as usize], letter);
        }
    }
}

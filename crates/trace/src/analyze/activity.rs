//! When a device had something to do.

use serde::{Deserialize, Serialize};

/// Union of stretches of time, which come in the order of their beginnings.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stretches {
    closed: u64,
    closed_ns: u64,
    first: u64,
    open: Option<(u64, u64)>,
}

impl Stretches {
    /// Adds a stretch. Those that touch are one.
    pub(super) fn add(&mut self, from: u64, to: u64) {
        match &mut self.open {
            Some((_, end)) if from <= *end => *end = (*end).max(to),
            Some((begin, end)) => {
                self.closed += 1;
                self.closed_ns += *end - *begin;
                self.open = Some((from, to));
            }
            None => {
                self.first = from;
                self.open = Some((from, to));
            }
        }
    }

    /// Returns the figures; `None` without stretches.
    pub(super) fn finish(&self) -> Option<Activity> {
        let (begin, end) = self.open?;
        let periods = self.closed + 1;
        let live = self.closed_ns + (end - begin);
        let span = end - self.first;
        let idle = span - live;
        Some(Activity {
            periods,
            live_ns: live,
            idle_ns: idle,
            mean_live_ns: live as f64 / periods as f64,
            mean_idle_ns: if periods > 1 { idle as f64 / (periods - 1) as f64 } else { 0.0 },
            live_share: if span == 0 { 1.0 } else { live as f64 / span as f64 },
        })
    }
}

/// When there was something to do.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// Stretches with at least one I/O, which have idle time between them.
    pub periods: u64,
    /// Their sum, in nanoseconds.
    pub live_ns: u64,
    /// Sum of the idle time between the first and the last, in nanoseconds.
    pub idle_ns: u64,
    /// Mean stretch, in nanoseconds.
    pub mean_live_ns: f64,
    /// Mean idle time between two, in nanoseconds.
    pub mean_idle_ns: f64,
    /// Share of the time from the beginning of the first to the end of the last, from 0 to 1.
    pub live_share: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_that_touch_are_one() {
        let mut live = Stretches::default();
        assert_eq!(live.finish(), None);
        for (from, to) in [(10, 20), (20, 25), (22, 23), (40, 45)] {
            live.add(from, to);
        }
        let said = live.finish().unwrap();
        assert_eq!((said.periods, said.live_ns, said.idle_ns), (2, 20, 15));
        assert_eq!(
            (said.mean_live_ns, said.mean_idle_ns, said.live_share),
            (10.0, 15.0, 20.0 / 35.0)
        );
    }
}

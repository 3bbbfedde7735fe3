//! How requests were held back: the tally of plugs that comes with a recording.

use serde::{Deserialize, Serialize};

use crate::EventTally;

/// Figures of plugs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlugFigures {
    /// Plugs.
    pub plugs: u64,
    /// Unplugs, those by timer among them.
    pub unplugs: u64,
    /// Unplugs by timer.
    pub timer_unplugs: u64,
    /// Time between plugs and their unplugs, in nanoseconds.
    pub plugged_ns: u64,
    /// The same as a share of the device's time, from its first arrival to its last completion.
    pub plugged_share: f64,
    /// Requests that were let go, those by timer among them.
    pub unplugged_requests: u64,
    /// Requests that were let go by timer.
    pub timer_unplugged_requests: u64,
    /// Mean of the requests let go by an unplug, those by timer left out.
    pub requests_per_unplug: f64,
    /// Mean of the requests let go by an unplug by timer.
    pub requests_per_timer_unplug: f64,
}

impl PlugFigures {
    /// Of a device's tally and how long it was seen, in nanoseconds; `None` where nothing was plugged.
    pub(super) fn of(tally: &EventTally, span_ns: u64) -> Option<PlugFigures> {
        if tally.plugs == 0 && tally.unplugs == 0 {
            return None;
        }
        let mean = |requests: u64, unplugs: u64| match unplugs {
            0 => 0.0,
            _ => requests as f64 / unplugs as f64,
        };
        // A tally from a file may say what cannot be.
        let timers = tally.timer_unplugs.min(tally.unplugs);
        let by_timers = tally.timer_unplugged_requests.min(tally.unplugged_requests);
        Some(PlugFigures {
            plugs: tally.plugs,
            unplugs: tally.unplugs,
            timer_unplugs: timers,
            plugged_ns: tally.plugged.0,
            plugged_share: if span_ns == 0 { 0.0 } else { tally.plugged.0 as f64 / span_ns as f64 },
            unplugged_requests: tally.unplugged_requests,
            timer_unplugged_requests: by_timers,
            requests_per_unplug: mean(tally.unplugged_requests - by_timers, tally.unplugs - timers),
            requests_per_timer_unplug: mean(by_timers, timers),
        })
    }
}

#[cfg(test)]
mod tests {
    use block::Nanos;

    use super::*;

    #[test]
    fn timers_are_told_apart() {
        assert_eq!(PlugFigures::of(&EventTally::default(), 100), None);
        let tally = EventTally {
            plugs: 5,
            unplugs: 5,
            timer_unplugs: 1,
            unplugged_requests: 13,
            timer_unplugged_requests: 3,
            plugged: Nanos(25),
            ..EventTally::default()
        };
        let said = PlugFigures::of(&tally, 100).unwrap();
        assert_eq!((said.requests_per_unplug, said.requests_per_timer_unplug), (2.5, 3.0));
        assert_eq!((said.plugged_ns, said.plugged_share), (25, 0.25));
    }
}

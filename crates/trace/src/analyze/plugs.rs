//! How requests were held back: the tally of plugs that comes with a recording.

use serde::{Deserialize, Serialize};

use crate::EventTally;

/// What is said of plugs.
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
    /// Requests let go by an unplug, those by timer left out.
    pub requests_per_unplug: f64,
    /// Requests let go by an unplug by timer.
    pub requests_per_timer_unplug: f64,
}

impl PlugFigures {
    /// Of a device's tally and how long it was seen, in nanoseconds; `None` where nothing was plugged.
    pub(super) fn of(tally: &EventTally, span_ns: u64) -> Option<PlugFigures> {
        if tally.plugs == 0 && tally.unplugs == 0 {
            return None;
        }
        let mean = |requests: u64, unplugs: u64| {
            if unplugs == 0 { 0.0 } else { requests as f64 / unplugs as f64 }
        };
        let untimed = tally.unplugs.saturating_sub(tally.timer_unplugs);
        let untimed_requests =
            tally.unplugged_requests.saturating_sub(tally.timer_unplugged_requests);
        Some(PlugFigures {
            plugs: tally.plugs,
            unplugs: tally.unplugs,
            timer_unplugs: tally.timer_unplugs,
            plugged_ns: tally.plugged.0,
            plugged_share: if span_ns == 0 { 0.0 } else { tally.plugged.0 as f64 / span_ns as f64 },
            requests_per_unplug: mean(untimed_requests, untimed),
            requests_per_timer_unplug: mean(tally.timer_unplugged_requests, tally.timer_unplugs),
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

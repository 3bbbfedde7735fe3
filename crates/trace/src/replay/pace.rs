//! When a request is due, for the modes that keep time.

use block::Nanos;

use super::options::{Mode, Scale};

/// Turns instants of the original into those of the plan, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    scale: Option<Scale>,
    timed: bool,
    /// The instant before.
    last: u64,
    /// The latest completion so far: until then the original was not idle.
    busy_until: u64,
    /// Time that was not idle, and time that was, exact, so that no rounding adds up.
    busy: u64,
    idle: u64,
    /// Idle time that was cut off, after it was stretched.
    cut: f64,
}

impl Pace {
    pub(super) fn new(mode: Mode) -> Pace {
        let (timed, scale) = match mode {
            Mode::Timed => (true, None),
            Mode::Scaled(scale) => (true, Some(scale)),
            Mode::Outstanding(_) | Mode::Afap(_) => (false, None),
        };
        Pace { scale, timed, last: 0, busy_until: 0, busy: 0, idle: 0, cut: 0.0 }
    }

    /// When what happened at `time` in the original is due. Times never fall. `completed` is when it was done there,
    /// where that is known; without, all time between two requests is taken for idle.
    pub(super) fn due(&mut self, time: u64, completed: Option<u64>) -> Nanos {
        let time = time.max(self.last);
        let Some(scale) = self.scale else {
            self.last = time;
            return Nanos(if self.timed { time } else { 0 });
        };
        let gap = time - self.last;
        let idle = time.saturating_sub(self.busy_until.max(self.last));
        self.busy += gap - idle;
        self.idle += idle;
        let stretched = idle as f64 * scale.factor;
        if let Some(most) = scale.idle_max {
            self.cut += (stretched - most.0 as f64).max(0.0);
        }
        self.last = time;
        self.busy_until = self.busy_until.max(completed.unwrap_or(0));
        let busy = if scale.idle_only { 1.0 } else { scale.factor };
        let due = self.busy as f64 * busy + self.idle as f64 * scale.factor - self.cut;
        // Saturates; instants beyond 2^53 ns, which is 104 days, are whole microseconds or so.
        Nanos(due.round().max(0.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dues(scale: Scale, ios: &[(u64, Option<u64>)]) -> Vec<u64> {
        let mut pace = Pace::new(Mode::Scaled(scale));
        ios.iter().map(|&(time, completed)| pace.due(time, completed).0).collect()
    }

    #[test]
    fn a_factor_stretches_from_the_beginning_and_not_gap_by_gap() {
        // Rounding each gap would shift a million requests by half a millisecond.
        let ios: Vec<_> = (0..1_000_000).map(|i| (i, None)).collect();
        assert_eq!(dues(Scale::by(1.5), &ios).last(), Some(&1_499_999));
        assert_eq!(dues(Scale::by(1.0 / 3.0), &ios).last(), Some(&333_333));
    }

    #[test]
    fn only_idle_time_is_stretched_when_that_is_asked_for() {
        // Busy until 30, idle until 100; busy until 150 while the next arrives, so no idle time there.
        let ios = [(0, Some(30)), (100, Some(150)), (120, Some(130)), (200, None)];
        let scale = Scale { factor: 2.0, idle_max: None, idle_only: true };
        assert_eq!(dues(scale, &ios), [0, 170, 190, 320]);
    }

    #[test]
    fn idle_time_is_cut_after_it_was_stretched() {
        let ios = [(0, Some(30)), (100, Some(110)), (120, None)];
        let scale = Scale { factor: 2.0, idle_max: Some(Nanos(50)), idle_only: false };
        // 60 busy and 50 of 140 idle, then 20 busy and 20 idle.
        assert_eq!(dues(scale, &ios), [0, 110, 150]);
    }

    #[test]
    fn without_completions_every_gap_is_idle() {
        let scale = Scale { factor: 1.0, idle_max: Some(Nanos(10)), idle_only: false };
        assert_eq!(
            dues(scale, &[(0, None), (5, None), (1000, None), (1001, None)]),
            [0, 5, 15, 16]
        );
    }

    #[test]
    fn instants_that_fall_do_not() {
        let mut pace = Pace::new(Mode::Timed);
        assert_eq!([5, 3, 7].map(|t| pace.due(t, None).0), [5, 5, 7]);
    }
}

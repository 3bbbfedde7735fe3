//! Waiting for an instant: asleep, asleep and then awake, or awake.
//!
//! A thread that sleeps is woken late: by the timer's interrupt, by a CPU that must be brought back from an idle state
//! or from the hypervisor, by the scheduler. What is not needed of that is waited for awake, looking at the clock.

use block::{Nanos, Time, Waiting};

use super::clock;

/// Shortly before the instant nothing else is looked at: what it would bring to light takes as long to deal with.
const QUIET: Nanos = Nanos(2_000);

/// How one thread waits.
pub(crate) struct Waiter {
    waiting: Waiting,
    margin: Margin,
}

impl Waiter {
    pub fn new(waiting: Waiting) -> Waiter {
        Waiter { waiting, margin: Margin::default() }
    }

    /// For a queue that makes no progress while the thread sleeps: if it is not to sleep all the time, it never does.
    pub fn never_half_asleep(&mut self) {
        if self.waiting == Waiting::SleepThenSpin {
            self.waiting = Waiting::Spin;
        }
    }

    /// Up to when the thread may sleep when it waits for `until`; in the past when it may not.
    #[inline]
    pub fn nap(&self, until: Time) -> Time {
        match self.waiting {
            Waiting::Sleep => until,
            // With nothing to be on time for, sleep is as good.
            _ if until == Time::NEVER && self.waiting == Waiting::SleepThenSpin => until,
            Waiting::SleepThenSpin => Time(until.0.saturating_sub(self.margin.span.0)),
            Waiting::Spin => Time::ZERO,
        }
    }

    /// True when the thread, asked to wait for `until`, is to stay awake from `now` on.
    #[inline]
    pub fn stays_awake(&self, now: Time, until: Time) -> bool {
        self.waiting != Waiting::Sleep && now >= self.nap(until)
    }

    /// Learns from a sleep that began at `began`, was to end at `nap` and did at `now`. One that something else ended
    /// teaches nothing.
    #[inline]
    pub fn woke(&mut self, began: Time, nap: Time, now: Time) {
        if self.waiting == Waiting::SleepThenSpin && began < nap && now >= nap {
            self.margin.learn(now.since(nap));
        }
    }

    /// Stays awake until `until`, or until there is `news`. The instant when that was, and whether it was for news.
    #[inline]
    pub fn spin(until: Time, mut news: impl FnMut() -> bool) -> (Time, bool) {
        loop {
            let now = clock::now();
            if now >= until {
                return (now, false);
            }
            if until.since(now) > QUIET && news() {
                return (now, true);
            }
            std::hint::spin_loop();
        }
    }

    /// Waits for `until` with nothing outstanding. A signal ends a sleep early.
    pub fn wait(&mut self, until: Time) -> Time {
        let (began, nap) = (clock::now(), self.nap(until));
        clock::sleep_until(nap);
        let now = clock::now();
        self.woke(began, nap, now);
        if now < until && self.stays_awake(now, until) {
            Waiter::spin(until, || false).0
        } else {
            now
        }
    }
}

/// How long before an instant the thread is to be woken, so that it is awake by then in all but one of a thousand cases.
///
/// A sleep that was too long widens it by a share, any other narrows it by a thousandth of that share: it comes to rest
/// where one in a thousand is too long (stochastic approximation of a quantile). One that is far too long, when another
/// thread had the CPU, widens it no more than one that is barely so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Margin {
    span: Nanos,
}

impl Margin {
    /// Also for a machine that wakes in no time: a thread that has just been woken finds its code and data out of the
    /// caches, and what it does first takes twice as long.
    const LEAST: Nanos = Nanos(60_000);
    /// A machine that needs more has too much else to do, and a thread that never sleeps would only add to that.
    const MOST: Nanos = Nanos(200_000);

    fn learn(&mut self, late: Nanos) {
        let Nanos(span) = self.span;
        let share = span / 10;
        let next = if late > self.span { span + share } else { span - share / 1_000 };
        self.span = Nanos(next).clamp(Margin::LEAST, Margin::MOST);
    }
}

impl Default for Margin {
    fn default() -> Self {
        Margin { span: Nanos::micros(80) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lateness as machines have it: mostly around 20 µs, a tail up to 120, and now and then a millisecond.
    fn lateness(i: u64) -> Nanos {
        let draw = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 30;
        match draw % 10_000 {
            0..3 => Nanos::millis(1),
            3..100 => Nanos(20_000 + (draw / 10_000 % 100) * 1_000),
            _ => Nanos(15_000 + draw % 10_000),
        }
    }

    // Too narrow, requests are late; too wide, the thread burns a CPU that others need.
    #[test]
    fn the_margin_comes_to_rest_where_one_sleep_in_a_thousand_is_too_long() {
        for span in [Margin::LEAST, Margin::MOST] {
            let mut margin = Margin { span };
            (0..30_000).for_each(|i| margin.learn(lateness(i)));
            let mut too_long = 0;
            for i in 30_000..230_000 {
                too_long += u32::from(lateness(i) > margin.span);
                margin.learn(lateness(i));
            }
            assert!((100..400).contains(&too_long), "{too_long} of 200,000, {margin:?}");
            assert!((80_000..150_000).contains(&margin.span.0), "{margin:?}");
        }
    }

    #[test]
    fn the_margin_keeps_its_bounds_whatever_the_machine_does() {
        let mut margin = Margin::default();
        (0..1_000).for_each(|_| margin.learn(Nanos::secs(1)));
        assert_eq!(margin.span, Margin::MOST);
        (0..30_000).for_each(|_| margin.learn(Nanos::ZERO));
        assert_eq!(margin.span, Margin::LEAST);
    }

    // Being early by a nanosecond is a request before its time; and what is asked for must make a difference.
    #[test]
    fn each_way_of_waiting_ends_on_time_and_spinning_ends_soonest() {
        let late = |waiting| {
            let mut waiter = Waiter::new(waiting);
            let mut late: Vec<Nanos> = (0..300)
                .map(|_| {
                    let until = clock::now() + Nanos::micros(300);
                    let now = waiter.wait(until);
                    assert!(now >= until && clock::now() >= now, "{waiting:?}");
                    now.since(until)
                })
                .collect();
            late.sort_unstable();
            late[150]
        };
        let mut seen = Vec::new();
        // On a busy machine the wait for a CPU hides it.
        let better = (0..20).any(|_| {
            let [sleep, both, spin] =
                [Waiting::Sleep, Waiting::SleepThenSpin, Waiting::Spin].map(late);
            seen.push((sleep, both, spin));
            both < sleep && spin < sleep
        });
        assert!(better, "(sleep, sleep then spin, spin): {seen:?}");
    }

    #[test]
    fn news_end_a_spin_but_not_at_the_last_moment() {
        let far = clock::now() + Nanos::secs(60);
        assert!(Waiter::spin(far, || true).1);
        let near = clock::now() + Nanos(1_900);
        assert!(!Waiter::spin(near, || true).1);
    }
}

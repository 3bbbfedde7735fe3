//! Timers that fire when they are due.

use std::num::NonZeroU64;
use std::thread::ThreadId;

use rustix::thread::{current_timer_slack, set_current_timer_slack};

/// The least that can be asked for; zero asks for the default.
const LEAST_NS: NonZeroU64 = NonZeroU64::MIN;

/// While it lives, the kernel wakes the thread that made it when a timeout is over. By default it may take
/// 50 µs more, to wake several threads at once (`PR_SET_TIMERSLACK`, prctl(2)): every request that is
/// due at an intended time would be issued late by that, and its latency be that much too long.
pub(crate) struct Punctual {
    before_ns: Option<NonZeroU64>,
    thread: ThreadId,
}

impl Punctual {
    /// Makes the calling thread's timeouts exact; `None` where the kernel will not.
    pub fn begin() -> Option<Punctual> {
        let before_ns = NonZeroU64::new(current_timer_slack().ok()?);
        set_current_timer_slack(Some(LEAST_NS)).ok()?;
        Some(Punctual { before_ns, thread: std::thread::current().id() })
    }
}

impl Drop for Punctual {
    fn drop(&mut self) {
        // Mostly its thread has ended; the caller's own must not keep waking the machine more than it did.
        if std::thread::current().id() == self.thread {
            let _ = set_current_timer_slack(self.before_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use block::Nanos;

    use super::*;
    use crate::drive::clock;

    /// By how much 100 sleeps of 200 µs were too long, in the middle.
    fn oversleep() -> Nanos {
        let mut late: Vec<Nanos> = (0..100)
            .map(|_| {
                let until = clock::now() + Nanos::micros(200);
                clock::sleep_until(until);
                clock::now().since(until)
            })
            .collect();
        late.sort_unstable();
        late[50]
    }

    // Oversleep adds to the latency of each request that is issued at an intended time.
    #[test]
    fn a_punctual_thread_sleeps_less_too_long() {
        let mut seen = Vec::new();
        // On a busy machine the wait for a CPU hides it.
        let better = (0..20).any(|_| {
            set_current_timer_slack(Some(NonZeroU64::new(500_000).unwrap())).unwrap();
            let lax = oversleep();
            let punctual = Punctual::begin().unwrap();
            let exact = oversleep();
            drop(punctual);
            seen.push((lax, exact));
            // Timers of other threads end some of the long sleeps early.
            lax > exact + Nanos::micros(100)
        });
        assert!(better, "(lax, punctual): {seen:?}");
    }

    #[test]
    fn a_thread_gets_back_what_it_had() {
        let mine = NonZeroU64::new(70_000).unwrap();
        set_current_timer_slack(Some(mine)).unwrap();
        let punctual = Punctual::begin().unwrap();
        assert_eq!(current_timer_slack().unwrap(), 1);
        // Dropped elsewhere it must leave that thread alone.
        let other = std::thread::spawn(move || {
            set_current_timer_slack(Some(NonZeroU64::new(90_000).unwrap())).unwrap();
            drop(punctual);
            current_timer_slack().unwrap()
        });
        assert_eq!(other.join().unwrap(), 90_000);
        drop(Punctual { before_ns: Some(mine), thread: std::thread::current().id() });
        assert_eq!(current_timer_slack().unwrap(), 70_000);
    }
}

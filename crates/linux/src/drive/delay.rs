//! Time that submitters were ready to run and had no CPU.
//!
//! The kernel counts it for each thread and forgets it with the thread (`/proc/…/schedstat`, the second
//! number, in nanoseconds; Documentation/scheduler/sched-stats.rst). Submitters' threads live for one run,
//! so each adds its own to a sum of the process before it goes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ThreadId;

use block::Nanos;

/// Of all submitters that have ended.
static DELAY_NS: AtomicU64 = AtomicU64::new(0);

/// Counts for the thread that it is made and dropped on; dropped on another one, whose count is another, it
/// adds nothing.
pub(crate) struct RunDelay {
    before_ns: Option<u64>,
    thread: ThreadId,
}

impl RunDelay {
    /// Begins to count on the calling thread.
    pub fn begin() -> RunDelay {
        RunDelay { before_ns: of_this_thread(), thread: std::thread::current().id() }
    }
}

impl Drop for RunDelay {
    fn drop(&mut self) {
        if self.thread != std::thread::current().id() {
            return;
        }
        if let (Some(before), Some(after)) = (self.before_ns, of_this_thread()) {
            DELAY_NS.fetch_add(after.saturating_sub(before), Ordering::Relaxed);
        }
    }
}

/// The sum; `None` where the kernel does not count.
pub(crate) fn of_submitters() -> Option<Nanos> {
    of_this_thread().map(|_| Nanos(DELAY_NS.load(Ordering::Relaxed)))
}

fn of_this_thread() -> Option<u64> {
    delay_in(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// Time on a CPU, time waited for one, and how often it got one. A thread that reads this has got one: where
/// all three are zero the kernel does not count, and says so in no other way.
fn delay_in(told: &str) -> Option<u64> {
    let numbers: Vec<u64> =
        told.split_ascii_whitespace().map(|n| n.parse().ok()).collect::<Option<_>>()?;
    if numbers.iter().all(|&n| n == 0) { None } else { numbers.get(1).copied() }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Zero would report that nothing waited, and prove what was not measured.
    #[test]
    fn what_is_not_counted_is_not_zero() {
        assert_eq!(delay_in("12345 678 9\n"), Some(678));
        assert_eq!(delay_in("12345 0 9\n"), Some(0));
        assert_eq!(delay_in("0 0 1\n"), Some(0), "a thread that has just begun");
        assert_eq!(delay_in("0 0 0\n"), None);
        for odd in ["", "12345", "12345 x 9"] {
            assert_eq!(delay_in(odd), None, "{odd:?}");
        }
    }

    // The count of another thread is larger or smaller by what has nothing to do with this one.
    #[test]
    fn a_count_that_was_moved_to_another_thread_adds_nothing() {
        let moved = RunDelay { before_ns: Some(0), thread: std::thread::current().id() };
        let elsewhere = std::thread::spawn(move || {
            let until = crate::drive::now() + Nanos::millis(5);
            while crate::drive::now() < until {
                std::hint::spin_loop();
            }
            let thread = moved.thread;
            drop(moved);
            thread != std::thread::current().id()
        });
        assert!(elsewhere.join().unwrap());
    }

    /// More threads than CPUs, all of them busy: some had to wait, and the sum outlives them.
    #[test]
    fn waiting_for_a_cpu_is_counted_when_the_thread_has_gone() {
        let Some(before) = of_submitters() else {
            println!("skipped: this kernel does not count the time that threads wait for a CPU");
            return;
        };
        let threads = 4 * std::thread::available_parallelism().map_or(1, usize::from);
        let spin = || {
            let _delay = RunDelay::begin();
            let until = crate::drive::now() + Nanos::millis(60);
            while crate::drive::now() < until {
                std::hint::spin_loop();
            }
        };
        std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(spin))));
        let delay = of_submitters().unwrap() - before;
        // Three quarters of their time they could not all have had a CPU.
        assert!(delay > Nanos::millis(60), "{delay} for {threads} threads");
    }
}

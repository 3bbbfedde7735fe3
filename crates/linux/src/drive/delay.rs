//! Time that submitters were ready to run and had no CPU.
//!
//! The kernel counts it for each thread and forgets it with the thread (`/proc/…/schedstat`, the second
//! number, in nanoseconds; Documentation/scheduler/sched-stats.rst). Submitters' threads live for one run,
//! so each adds its own to a sum of the process before it goes.

use std::sync::atomic::{AtomicU64, Ordering};

use block::Nanos;

/// Of all submitters that have ended.
static DELAY_NS: AtomicU64 = AtomicU64::new(0);

/// Counts for the thread that it is made and dropped on.
pub(crate) struct RunDelay {
    before_ns: Option<u64>,
}

impl RunDelay {
    /// Begins to count on the calling thread.
    pub fn begin() -> RunDelay {
        RunDelay { before_ns: of_this_thread() }
    }
}

impl Drop for RunDelay {
    fn drop(&mut self) {
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
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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

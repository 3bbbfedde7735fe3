//! Start of several targets that are loaded at once: each waits until all are ready.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use runner::exit::Stopped;
use thiserror::Error;

/// Time between checks whether the user wants to stop.
const CHECK_EVERY: Duration = Duration::from_millis(100);

/// Another target could not be opened, so that this one was not loaded.
#[derive(Debug, Error)]
#[error("another target cannot be loaded, so none was")]
pub struct GivenUp;

/// Targets that are ready.
pub struct Start {
    counts: Mutex<Counts>,
    moved: Condvar,
    of: usize,
}

#[derive(Default)]
struct Counts {
    ready: usize,
    gone: usize,
}

/// The seat of one target. Dropped before it is ready, it makes the others give up.
pub struct Seat<'a> {
    start: &'a Start,
    is_ready: bool,
}

impl Start {
    /// A start of `count` targets.
    pub fn of(count: usize) -> Start {
        Start { counts: Mutex::default(), moved: Condvar::new(), of: count }
    }

    /// A seat; there is one for each target.
    pub fn seat(&self) -> Seat<'_> {
        Seat { start: self, is_ready: false }
    }
}

impl Seat<'_> {
    /// Waits until all others are ready, or one is gone, or `cancel` is set.
    ///
    /// # Errors
    /// [`GivenUp`] when one is gone, and [`Stopped`].
    pub fn ready(&mut self, cancel: &AtomicBool) -> Result<()> {
        self.is_ready = true;
        let mut counts = self.start.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.ready += 1;
        self.start.moved.notify_all();
        while counts.ready + counts.gone < self.start.of {
            if cancel.load(Ordering::Relaxed) {
                return Err(Stopped.into());
            }
            let waited = self.start.moved.wait_timeout(counts, CHECK_EVERY);
            counts = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if counts.gone > 0 { Err(GivenUp.into()) } else { Ok(()) }
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        if !self.is_ready {
            self.start.counts.lock().unwrap_or_else(PoisonError::into_inner).gone += 1;
            self.start.moved.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when the targets that could be opened wait for ever for one that could not.
    #[test]
    fn who_cannot_come_is_not_waited_for() {
        let calm = &AtomicBool::new(false);
        let start = Start::of(3);
        let came = std::thread::scope(|scope| {
            let others = [(); 2].map(|()| scope.spawn(|| start.seat().ready(calm).is_ok()));
            drop(start.seat());
            others.map(|other| other.join().unwrap())
        });
        assert_eq!(came, [false; 2]);
        let start = Start::of(1);
        assert!(start.seat().ready(calm).is_ok());
    }

    // Breaks when Ctrl-C is ignored while another target asks for its word of consent.
    #[test]
    fn nobody_waits_who_is_to_stop() {
        let start = Start::of(2);
        let stopped = start.seat().ready(&AtomicBool::new(true)).unwrap_err();
        assert!(stopped.is::<Stopped>());
    }
}

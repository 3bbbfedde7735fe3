//! Waiting for a command that takes minutes or hours, with a way to give up meanwhile.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::Patience;

/// Interval at which the wait checks whether to give up.
const LOOK: Duration = Duration::from_millis(100);

/// The kernel's own limit for a command that erases a whole drive. When it is over the kernel resets the drive, in the
/// middle of its work, so it lies beyond what any drive takes: losing patience ends the waiting, and never the work.
pub(super) const KERNEL_LIMIT_MS: u32 = 7 * 24 * 3600 * 1000;

/// Runs `work` in a thread of its own until it is done, or until the wait is given up (`None`). The thread then lives
/// until the drive answers: the kernel does not give back a command that a drive has taken.
pub(super) fn watched<R: Send + 'static>(
    patience: &mut Patience<'_>,
    work: impl FnOnce() -> R + Send + 'static,
) -> io::Result<Option<R>> {
    let (sender, receiver) = mpsc::channel();
    let send = move || {
        // The receiver may be gone.
        let _ = sender.send(work());
    };
    thread::Builder::new().name("purge".to_owned()).spawn(send)?;
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(result) => return Ok(Some(result)),
            Err(RecvTimeoutError::Timeout) if patience.is_over().is_none() => {}
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("the thread that waited for the drive has died"));
            }
        }
    }
}

/// Sleeps for `span`, or less when the wait is given up.
pub(super) fn pause(patience: &Patience<'_>, span: Duration) {
    let mut left = span;
    while left > Duration::ZERO && patience.is_over().is_none() {
        let this = left.min(LOOK);
        thread::sleep(this);
        left -= this;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    // Somebody who presses Ctrl-C during an erase of two hours wants an answer now.
    #[test]
    fn whoever_loses_patience_is_not_held_by_the_work() {
        let (cancel, mut told) = (AtomicBool::new(false), |_: f64| {});
        let mut patience = Patience::new(&cancel, None, &mut told);
        assert_eq!(watched(&mut patience, || 7).unwrap(), Some(7));
        let (release, held) = mpsc::channel::<()>();
        cancel.store(true, std::sync::atomic::Ordering::Relaxed);
        let left = watched(&mut patience, move || held.recv().is_ok());
        assert_eq!(left.unwrap(), None);
        drop(release);
        pause(&patience, Duration::from_secs(3600));
    }
}

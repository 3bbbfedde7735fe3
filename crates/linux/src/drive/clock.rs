//! The clock of all real drives: `CLOCK_MONOTONIC`.
//!
//! Not `CLOCK_MONOTONIC_RAW`: the kernel's timeouts run on the monotonic clock, and a deadline must be
//! given in the clock that it was computed in.
//!
//! Rejected: reading the processor's counter ourselves, as fio does. It takes some 10 ns where the kernel's
//! clock takes 24, of which each I/O at depth 1 pays two; but whether the counter may be trusted, and at
//! what rate it runs, only the kernel knows, and it may change its mind in the middle of a run: a
//! watchdog finds it unstable, or the virtual machine moves to another host. Nor is one reading made to
//! serve as the end of one batch and the beginning of the next: what the tester does in between would be
//! counted as the drive's.

use block::{Nanos, Time};
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

const NANOS_PER_S: u64 = 1_000_000_000;

/// The current instant.
#[inline]
pub(crate) fn now() -> Time {
    let now = clock_gettime(ClockId::Monotonic);
    Time((now.tv_sec as u64).wrapping_mul(NANOS_PER_S).wrapping_add(now.tv_nsec as u64))
}

/// A duration in the form that system calls take.
#[inline]
pub(crate) fn timespec(span: Nanos) -> Timespec {
    Timespec { tv_sec: (span.0 / NANOS_PER_S) as i64, tv_nsec: (span.0 % NANOS_PER_S) as _ }
}

/// Sleeps until `until`, or until a signal arrives: the caller decides then whether to continue.
pub(crate) fn sleep_until(until: Time) {
    if now() < until {
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &timespec(Nanos(until.0)));
    }
}

/// Lets `span` go by; a signal does not shorten it.
pub(crate) fn sleep(span: Nanos) {
    let until = now() + span;
    while now() < until {
        sleep_until(until);
    }
}

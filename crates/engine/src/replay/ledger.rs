//! State common to all lanes of a replay: outstanding requests, and whose turn it is.

use std::sync::atomic::{AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};

use block::Time;

use super::Planned;
use super::queue::Next;

/// Counts over all lanes. A request that asks for room is let go when all before it were, and holds up all that follow,
/// so that what it finds outstanding is what the requests before it left; others only wait for those.
#[derive(Default)]
pub(super) struct Ledger {
    /// Sum of the weights of what is issued and not seen to have completed.
    outstanding: AtomicU64,
    /// Requests let go.
    let_go: AtomicU64,
    /// Of them, those that had asked for room.
    with_room: AtomicU64,
    /// When nothing but a slot was wanting to the last of these, and when nothing was.
    last_cleared: AtomicU64,
    last_ready: AtomicU64,
    /// The last completion.
    last_completed: AtomicU64,
    /// I/Os that failed.
    errors: AtomicU64,
}

impl Ledger {
    /// True when nothing but its time keeps `next` from being issued.
    #[inline]
    pub fn admits(&self, next: &Next) -> bool {
        if self.with_room.load(Acquire) < next.behind {
            return false;
        }
        let room = next.planned.room;
        room == Planned::ALL_ROOM
            || (self.let_go.load(Acquire) == next.seq && self.outstanding() <= room)
    }

    /// When the request that was admitted could have been issued as far as others are concerned: those before it, and,
    /// if it `waited` for room, what was outstanding.
    #[inline]
    pub fn cleared(&self, next: &Next, waited: bool) -> Time {
        if next.behind == 0 && !waited {
            return Time::ZERO;
        }
        let turn = self.last_cleared.load(Acquire);
        let room = if waited { self.last_completed.load(Acquire) } else { 0 };
        Time(if next.planned.room == Planned::ALL_ROOM { turn } else { turn.max(room) })
    }

    /// When the last request that had asked for room could have been issued, if that is before `next`.
    #[inline]
    pub fn turn(&self, next: &Next) -> Time {
        Time(if next.behind == 0 { 0 } else { self.last_ready.load(Acquire) })
    }

    /// Takes note that an admitted request is issued, to which at `cleared` nothing but a slot was wanting and at `ready`
    /// nothing.
    #[inline]
    pub fn issue(&self, planned: &Planned, cleared: Time, ready: Time) {
        self.outstanding.fetch_add(planned.weight, AcqRel);
        if planned.room == Planned::ALL_ROOM {
            self.let_go.fetch_add(1, AcqRel);
        } else {
            // No other lane gets here before `with_room` is counted.
            self.last_cleared.store(cleared.0, Release);
            self.last_ready.store(ready.0, Release);
            self.let_go.fetch_add(1, AcqRel);
            self.with_room.fetch_add(1, AcqRel);
        }
    }

    /// Sum of the weights of outstanding requests.
    #[inline]
    pub fn outstanding(&self) -> u64 {
        self.outstanding.load(Acquire)
    }

    /// Takes note of a completion.
    #[inline]
    pub fn complete(&self, weight: u64, completed: Time) {
        self.last_completed.fetch_max(completed.0, AcqRel);
        self.outstanding.fetch_sub(weight, AcqRel);
    }

    /// Takes note of an I/O that failed.
    #[cold]
    pub fn fail(&self) {
        self.errors.fetch_add(1, AcqRel);
    }

    /// I/Os that failed so far.
    #[inline]
    pub fn errors(&self) -> u64 {
        self.errors.load(Acquire)
    }

    /// Requests issued so far.
    pub fn issued(&self) -> u64 {
        self.let_go.load(Acquire)
    }

    /// When the last completion was seen, if there was any.
    pub fn end(&self) -> Time {
        Time(self.last_completed.load(Acquire))
    }
}

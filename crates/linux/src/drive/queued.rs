//! Work common to the engines with a queue in the kernel: submit, make the next write, wait, reap.

use std::io;

use block::{Completion, DriveError, Outcome, Request, Time};

use super::lane::Lane;
use super::sys::slots::Slots;
use super::waiting::Waiter;
use super::{clock, direct_call};
use crate::target::{EngineKind, Opened};

/// A queue in the kernel, with the buffers of what is in it.
pub(crate) trait Queue {
    /// Kind of this engine, for errors.
    const KIND: EngineKind;
    /// Action on entering the kernel, as the end of "cannot …".
    const ENTERING: &'static str;

    /// The buffers.
    fn slots(&self) -> &Slots;

    /// The buffers, to claim and fill.
    fn slots_mut(&mut self) -> &mut Slots;

    /// True when nothing is queued and the kernel has nothing.
    fn is_idle(&self) -> bool;

    /// True when something is queued that the kernel does not have yet.
    fn holds(&self) -> bool;

    /// Hands over what is queued, stamped `now`, and gives back what has completed: slot, stamp, the
    /// kernel's result and the instant that it was seen. Waits for at least one if `wait` is set, at most
    /// until then; it may come back earlier with none.
    fn turn(
        &mut self,
        now: Time,
        wait: Option<Time>,
        each: impl FnMut(u16, Time, i32, Time),
    ) -> io::Result<Turn>;

    /// False when it is certain that nothing has completed since the last turn.
    fn has_news(&mut self) -> bool;
}

/// How a turn ended, apart from what it gave back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// The instant after it.
    pub now: Time,
    /// A signal ended it.
    pub interrupted: bool,
}

/// A submitter with a queue of its own.
pub(crate) struct Queued<'a, Q> {
    pub target: &'a Opened,
    pub lane: Lane<'a>,
    pub queue: Q,
    /// Requests that the queue has no command for; done by plain calls at the next wait.
    pub direct: Vec<Request>,
}

impl<'a, Q: Queue> Queued<'a, Q> {
    pub fn new(target: &'a Opened, lane: Lane<'a>, queue: Q, depth: u16) -> Self {
        Queued { target, lane, queue, direct: Vec::with_capacity(usize::from(depth)) }
    }

    pub fn fail(&self, action: &str, error: io::Error) -> DriveError {
        self.lane.engine_error(Q::KIND, action, error)
    }

    #[cold]
    fn perform_direct(&mut self, done: &mut Vec<Completion>) {
        for request in self.direct.drain(..) {
            done.push(direct_call::perform(self.target, &request));
            self.queue.slots_mut().take_back(request.slot);
        }
    }

    /// As [`block::Drive::wait_until`]. One turn of the queue submits and waits; while the content of a foreseen
    /// write is to be made there are two, so that the thread does not wait idly. While it spins, it enters the queue
    /// only to submit or to reap something. A signal ends the wait early; so does work that the kernel does in its
    /// place (`TIF_NOTIFY_SIGNAL`) and that cannot be distinguished from one.
    #[inline]
    pub fn wait_until(
        &mut self,
        until: Time,
        done: &mut Vec<Completion>,
    ) -> Result<Time, DriveError> {
        let before = done.len();
        if !self.direct.is_empty() {
            self.perform_direct(done);
        } else if self.queue.is_idle() {
            return Ok(self.lane.waiter.wait(until));
        }
        let submitter = self.lane.submitter;
        loop {
            let now = clock::now();
            let may_wait = done.len() == before && now < until;
            let ahead = may_wait && self.lane.can_make_ahead();
            let nap = self.lane.waiter.nap(until);
            let sleeps = may_wait && !ahead && now < nap;
            if may_wait && !ahead && !sleeps && !self.queue.holds() {
                let (now, news) = Waiter::spin(until, || self.queue.has_news());
                if !news {
                    return Ok(now);
                }
            }
            let wait = sleeps.then_some(nap);
            let turn = self.queue.turn(now, wait, |slot, issued, result, completed| {
                let outcome = Outcome(result);
                done.push(Completion { submitter, slot, issued, completed, outcome });
            });
            let turn = turn.map_err(|e| self.fail(Q::ENTERING, e))?;
            if sleeps {
                // Also when there are completions: they may have come while the thread overslept.
                self.lane.waiter.woke(now, nap, turn.now);
            }
            if done.len() > before || turn.now >= until || turn.interrupted {
                return Ok(turn.now);
            }
            if ahead {
                self.make_ahead(until);
            }
        }
    }

    /// Makes the next write's content until something may have completed or `until` has come.
    fn make_ahead(&mut self, until: Time) {
        while self.lane.can_make_ahead() {
            self.lane.make_piece(self.queue.slots_mut());
            if self.queue.has_news() || clock::now() >= until {
                return;
            }
        }
    }
}

//! The libaio engine: the kernel's older asynchronous interface, two system calls a batch.
//!
//! It is asynchronous for direct I/O only; a buffered transfer is done inside `io_submit(2)`.

use block::{Completion, Drive, DriveError, LaneSetup, Op, Outcome, Request, Time};

use super::lane::{Lane, Spare};
use super::sys::aio::{self as kernel, Command};
use super::{Buffers, Engine, clock, direct_call};
use crate::target::{EngineKind, Opened};

/// Linux asynchronous I/O, Linux 4.18 and later.
#[derive(Clone, Copy, Debug)]
pub struct Aio;

/// A submitter with an I/O context of its own.
pub struct AioDrive<'a> {
    target: &'a Opened,
    lane: Lane<'a>,
    aio: kernel::Aio<'a>,
    /// Discards, for which the interface has no command; done by plain calls at the next wait.
    direct: Vec<Request>,
}

impl Engine for Aio {
    type Drive<'a> = AioDrive<'a>;
    const KIND: EngineKind = EngineKind::Libaio;

    fn open<'a>(
        target: &'a Opened,
        submitter: u16,
        setup: &LaneSetup<'_>,
    ) -> Result<AioDrive<'a>, DriveError> {
        let mut lane = Lane::of(target, submitter, setup);
        let slots = lane.buffers(setup, target.memory_align(), Spare::ForWrites)?;
        let aio = kernel::Aio::new(target.fd(), slots)
            .map_err(|e| lane.engine_error(Self::KIND, "set up an I/O context", e))?;
        let direct = Vec::with_capacity(usize::from(setup.depth));
        Ok(AioDrive { target, lane, aio, direct })
    }

    fn probe() -> std::io::Result<()> {
        kernel::probe()
    }
}

impl AioDrive<'_> {
    #[cold]
    fn perform_direct(&mut self, done: &mut Vec<Completion>) {
        for request in self.direct.drain(..) {
            done.push(direct_call::perform(self.target, &request));
            self.aio.slots_mut().take_back(request.slot);
        }
    }
}

impl Drive for AioDrive<'_> {
    fn attach(&mut self) -> Result<(), DriveError> {
        self.lane.attach(self.aio.slots_mut())
    }

    fn now(&self) -> Time {
        clock::now()
    }

    #[inline]
    fn submit(&mut self, requests: &[Request]) -> Result<(), DriveError> {
        for request in requests {
            self.lane.admit(self.aio.slots_mut(), request)?;
            let (offset, len) = (request.offset, request.len);
            match request.op {
                Op::Read => self.aio.push(request.slot, Command::Read { offset, len }),
                Op::Write => {
                    let dsync = request.fua || self.target.dsync_each_write();
                    self.aio.push(request.slot, Command::Write { offset, len, dsync });
                }
                Op::Flush => self.aio.push(request.slot, Command::Sync),
                Op::Discard => self.direct.push(*request),
            }
        }
        Ok(())
    }

    #[inline]
    fn foresee(&mut self, next: &Request) {
        self.lane.foresee(next);
    }

    /// `io_submit`, then `io_getevents`. A signal ends the wait early.
    ///
    /// While a foreseen write is to be made the kernel is asked without waiting, after each piece of it.
    #[inline]
    fn wait_until(&mut self, until: Time, done: &mut Vec<Completion>) -> Result<Time, DriveError> {
        let before = done.len();
        if !self.direct.is_empty() {
            self.perform_direct(done);
        } else if self.aio.is_idle() {
            clock::sleep_until(until);
            return Ok(clock::now());
        }
        let submitter = self.lane.submitter;
        let completion = |slot, issued, result, completed| {
            let outcome = Outcome(result);
            Completion { submitter, slot, issued, completed, outcome }
        };
        loop {
            let now = clock::now();
            let refused = |slot, issued, result| {
                done.push(completion(slot, issued, result, clock::now()));
            };
            let submitted = self.aio.submit(now, refused);
            submitted.map_err(|e| self.lane.engine_error(Aio::KIND, "submit requests", e))?;
            let mut wait = done.len() == before && now < until && self.aio.is_waiting();
            let ahead = wait && self.lane.can_make_ahead();
            wait &= !ahead;
            // Submitting takes long when the kernel does the I/O there and then, but the clock is not
            // read again for it: whatever it did by then is waiting to be reaped.
            let timeout = (until != Time::NEVER).then(|| until.since(now));
            let reaped = self.aio.reap(wait, timeout, |slot, issued, result, completed| {
                done.push(completion(slot, issued, result, completed));
            });
            let (now, interrupted) =
                reaped.map_err(|e| self.lane.engine_error(Aio::KIND, "wait for completions", e))?;
            if done.len() > before || now >= until || interrupted {
                return Ok(now);
            }
            if ahead {
                self.lane.make_piece(self.aio.slots_mut());
            }
        }
    }
}

impl Buffers for AioDrive<'_> {
    fn buffer(&self, slot: u16) -> Option<&[u8]> {
        self.aio.slots().buffer(slot)
    }
}

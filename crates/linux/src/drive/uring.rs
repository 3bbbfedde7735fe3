//! The io_uring engine: a ring a submitter, batches in one system call, completions without any.

use block::{Completion, Drive, DriveError, LaneSetup, Op, Outcome, Request, Time};
use io_uring::IoUring;

use super::lane::{Lane, Spare};
use super::sys::ring::{Command, DEPTH_MAX, Entered, Ring};
use super::{Buffers, Engine, clock, direct_call};
use crate::target::{EngineKind, Opened};

/// io_uring, Linux 5.11 and later.
#[derive(Clone, Copy, Debug)]
pub struct Uring;

/// A submitter with a ring of its own. Once attached it belongs to that thread.
pub struct UringDrive<'a> {
    target: &'a Opened,
    lane: Lane<'a>,
    ring: Ring<'a>,
    /// Requests that this ring cannot queue; done by plain calls at the next wait.
    direct: Vec<Request>,
}

impl Engine for Uring {
    type Drive<'a> = UringDrive<'a>;
    const KIND: EngineKind = EngineKind::IoUring;

    fn open<'a>(
        target: &'a Opened,
        submitter: u16,
        setup: &LaneSetup<'_>,
    ) -> Result<UringDrive<'a>, DriveError> {
        let mut lane = Lane::of(target, submitter, setup);
        if setup.depth > DEPTH_MAX {
            let source = std::io::Error::from_raw_os_error(libc::EINVAL);
            let action = format!("keep {} requests outstanding", setup.depth);
            return Err(lane.setup_error(action, source, "io_uring's limit is 32768 a submitter"));
        }
        // A device that is polled makes no progress unless the kernel is entered.
        let spare = if target.options().iopoll { Spare::None } else { Spare::ForWrites };
        let slots = lane.buffers(setup, target.memory_align(), spare)?;
        let ring = Ring::new(target.fd(), slots, target.options().iopoll)
            .map_err(|e| lane.engine_error(Self::KIND, "set up a ring", e))?;
        let direct = Vec::with_capacity(usize::from(setup.depth));
        Ok(UringDrive { target, lane, ring, direct })
    }

    fn probe() -> std::io::Result<()> {
        IoUring::new(1).map(drop)
    }
}

impl UringDrive<'_> {
    /// How the ring does `request`; `None` when it cannot.
    #[inline]
    fn command(&self, request: &Request) -> Option<Command> {
        let (offset, len) = (request.offset, request.len);
        match request.op {
            Op::Read => Some(Command::Read { offset, len }),
            Op::Write => {
                let dsync = request.fua || self.target.dsync_each_write();
                Some(Command::Write { offset, len, dsync })
            }
            // A ring that polls for completions accepts nothing that does not complete that way.
            Op::Flush | Op::Discard if self.target.options().iopoll => None,
            Op::Flush => Some(Command::Sync),
            Op::Discard if !self.target.is_block_device() => Some(Command::Punch { offset, len }),
            Op::Discard => self.ring.can_discard().then_some(Command::Discard { offset, len }),
        }
    }

    fn fail(&self, action: &str, error: std::io::Error) -> DriveError {
        self.lane.engine_error(Uring::KIND, action, error)
    }

    /// Makes the next write's content until something has completed or `until` has come.
    fn make_ahead(&mut self, until: Time) {
        while self.lane.can_make_ahead() && !self.ring.has_news() && clock::now() < until {
            self.lane.make_piece(self.ring.slots_mut());
        }
    }

    fn reap(&mut self, done: &mut Vec<Completion>, completed: Time) {
        let submitter = self.lane.submitter;
        self.ring.reap(|slot, issued, result| {
            let outcome = Outcome(result);
            done.push(Completion { submitter, slot, issued, completed, outcome });
        });
    }

    #[cold]
    fn perform_direct(&mut self, done: &mut Vec<Completion>) {
        for request in self.direct.drain(..) {
            done.push(direct_call::perform(self.target, &request));
            self.ring.slots_mut().take_back(request.slot);
        }
    }
}

impl Drive for UringDrive<'_> {
    fn attach(&mut self) -> Result<(), DriveError> {
        self.lane.attach(self.ring.slots_mut())?;
        let target = self.target;
        self.ring
            .arm(&mut |note| target.note(note))
            .map_err(|e| self.fail("enable the ring", e))?;
        if target.is_block_device() && target.is_writable() && !target.options().iopoll {
            self.ring.probe_discard().map_err(|e| self.fail("enter the ring", e))?;
        }
        Ok(())
    }

    fn now(&self) -> Time {
        clock::now()
    }

    #[inline]
    fn submit(&mut self, requests: &[Request]) -> Result<(), DriveError> {
        for request in requests {
            self.lane.admit(self.ring.slots_mut(), request)?;
            match self.command(request) {
                Some(command) => self
                    .ring
                    .push(request.slot, command)
                    .map_err(|e| self.fail("queue a request", e))?,
                None => self.direct.push(*request),
            }
        }
        Ok(())
    }

    #[inline]
    fn foresee(&mut self, next: &Request) {
        self.lane.foresee(next);
    }

    /// One `io_uring_enter` hands over and waits. A signal ends the wait early.
    ///
    /// While a foreseen write is to be made there are two calls: what is outstanding would otherwise be
    /// waited for with nothing done.
    #[inline]
    fn wait_until(&mut self, until: Time, done: &mut Vec<Completion>) -> Result<Time, DriveError> {
        let before = done.len();
        if !self.direct.is_empty() {
            self.perform_direct(done);
        } else if self.ring.is_idle() {
            clock::sleep_until(until);
            return Ok(clock::now());
        }
        loop {
            let now = clock::now();
            let mut wait = done.len() == before && now < until;
            let ahead = wait && self.lane.can_make_ahead();
            wait &= !ahead;
            let timeout = (wait && until != Time::NEVER).then(|| until.since(now));
            let entered =
                self.ring.enter(now, wait, timeout).map_err(|e| self.fail("enter the ring", e))?;
            let now = clock::now();
            self.reap(done, now);
            if done.len() > before || now >= until || entered == Entered::Interrupted {
                return Ok(now);
            }
            if ahead {
                self.make_ahead(until);
            }
        }
    }
}

impl Buffers for UringDrive<'_> {
    fn buffer(&self, slot: u16) -> Option<&[u8]> {
        self.ring.slots().buffer(slot)
    }
}

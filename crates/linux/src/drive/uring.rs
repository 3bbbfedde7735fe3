//! The io_uring engine: a ring a submitter, batches in one system call, completions without any.

use block::{Bytes, Completion, Drive, DriveError, LaneSetup, Op, Request, Time};

use super::clock;
use super::engine::{Buffers, Engine, sealed};
use super::lane::{Lane, Spare};
use super::queued::{Queue, Queued};
use super::sys::command::Command;
use super::sys::ring::{BUFFERS_MAX, DEPTH_MAX, Ring};
use crate::target::{EngineKind, Opened};

/// io_uring, Linux 5.11 and later.
#[derive(Clone, Copy, Debug)]
pub struct Uring;

/// A submitter with a ring of its own. Once attached it belongs to that thread.
pub struct UringDrive<'a>(Queued<'a, Ring<'a>>);

impl sealed::Sealed for Uring {}

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
        if target.options().iopoll {
            // A poll ends with a completion and with nothing else.
            lane.waiter.never_half_asleep();
        }
        let spare = spare(target.options().iopoll, setup.depth);
        let slots = lane.buffers(setup, target.memory_align(), spare)?;
        let ring = Ring::new(target.fd(), slots, target.options().iopoll)
            .map_err(|e| lane.engine_error(Self::KIND, "set up a ring", e))?;
        Ok(UringDrive(Queued::new(target, lane, ring, setup.depth)))
    }

    fn probe() -> std::io::Result<()> {
        super::sys::setup::probe()
    }
}

/// None on a device that is polled, which makes no progress unless the kernel is entered; and none that
/// would be one buffer more than can be registered, since then none of them is.
fn spare(polled: bool, depth: u16) -> Spare {
    let one_too_many = usize::from(depth) == BUFFERS_MAX;
    if polled || one_too_many { Spare::None } else { Spare::ForWrites }
}

impl UringDrive<'_> {
    /// How the ring does `request`; `None` when it cannot.
    #[inline]
    fn command(&self, request: &Request) -> Option<Command> {
        let (target, offset, len) = (self.0.target, request.offset, request.len);
        match request.op {
            Op::Read => Some(Command::Read { offset, len }),
            Op::Write => {
                let dsync = request.fua || target.dsync_each_write();
                Some(Command::Write { offset, len, dsync })
            }
            // A ring that polls for completions accepts nothing that does not complete that way.
            Op::Flush | Op::Discard if target.options().iopoll => None,
            Op::Flush => Some(Command::Sync),
            Op::Discard if !target.is_block_device() => Some(Command::Punch { offset, len }),
            Op::Discard => self.0.queue.can_discard().then_some(Command::Discard { offset, len }),
        }
    }
}

impl Drive for UringDrive<'_> {
    fn attach(&mut self) -> Result<(), DriveError> {
        let Queued { target, lane, queue: ring, .. } = &mut self.0;
        lane.attach(ring.slots_mut())?;
        ring.arm(&mut |note| target.note(note))
            .map_err(|e| lane.engine_error(Uring::KIND, "enable the ring", e))?;
        // One without slots is for a script without accesses, and the question takes a slot.
        let asks = ring.slots().depth() > 0 && !target.options().iopoll;
        if asks && target.is_block_device() && target.is_writable() {
            ring.probe_discard().map_err(|e| self.0.fail("enter the ring", e))?;
        }
        Ok(())
    }

    fn now(&self) -> Time {
        clock::now()
    }

    #[inline]
    fn submit(&mut self, requests: &[Request]) -> Result<(), DriveError> {
        for request in requests {
            self.0.lane.admit(self.0.queue.slots_mut(), request)?;
            match self.command(request) {
                Some(command) => self
                    .0
                    .queue
                    .push(request.slot, command)
                    .map_err(|e| self.0.fail("queue a request", e))?,
                None => self.0.direct.push(*request),
            }
        }
        Ok(())
    }

    #[inline]
    fn has_room(&self, len: Bytes) -> bool {
        self.0.queue.slots().has_room(len)
    }

    #[inline]
    fn foresee(&mut self, next: &Request) {
        self.0.lane.foresee(next);
    }

    #[inline]
    fn wait_until(&mut self, until: Time, done: &mut Vec<Completion>) -> Result<Time, DriveError> {
        self.0.wait_until(until, done)
    }

    fn data(&self, slot: u16) -> Option<&[u8]> {
        self.buffer(slot)
    }
}

impl Buffers for UringDrive<'_> {
    fn buffer(&self, slot: u16) -> Option<&[u8]> {
        self.0.queue.slots().buffer(slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // One buffer too many and none is registered: the deepest queue that could have them would write slower
    // than it reads.
    #[test]
    fn the_spare_buffer_is_not_the_one_too_many() {
        for depth in [1, 32, 16_383, 16_384] {
            let spare = usize::from(spare(false, depth) == Spare::ForWrites);
            assert!(usize::from(depth) + spare <= BUFFERS_MAX, "Q{depth}");
            assert_eq!(spare == 0, depth == 16_384, "Q{depth}");
        }
        assert!(spare(true, 1) == Spare::None);
    }
}

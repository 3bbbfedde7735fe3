//! The engine with nothing to it: one `pread(2)` or `pwrite(2)` after the other.

use std::collections::VecDeque;
use std::io::IoSlice;

use block::{Bytes, Completion, Drive, DriveError, LaneSetup, Op, Outcome, Request, Time};
use rustix::io::{ReadWriteFlags, pread, pwrite, pwritev2};

use super::engine::{Buffers, Engine, sealed};
use super::lane::{Lane, Spare};
use super::sys::slots::Slots;
use super::{clock, direct_call};
use crate::target::{EngineKind, Opened};

/// Synchronous calls. A depth above 1 only queues in front of the one request that is served, and the
/// drive is idle while the content of the next write is made: the thread that would make it is in the
/// call.
#[derive(Clone, Copy, Debug)]
pub struct Psync;

/// A submitter that serves its requests itself, in order.
pub struct PsyncDrive<'a> {
    target: &'a Opened,
    lane: Lane<'a>,
    slots: Slots,
    queue: VecDeque<Request>,
}

impl sealed::Sealed for Psync {}

impl Engine for Psync {
    type Drive<'a> = PsyncDrive<'a>;
    const KIND: EngineKind = EngineKind::Psync;

    fn open<'a>(
        target: &'a Opened,
        submitter: u16,
        setup: &LaneSetup<'_>,
    ) -> Result<PsyncDrive<'a>, DriveError> {
        let mut lane = Lane::of(target, submitter, setup);
        let slots = lane.buffers(setup, target.memory_align(), Spare::None)?;
        let queue = VecDeque::with_capacity(usize::from(setup.depth));
        Ok(PsyncDrive { target, lane, slots, queue })
    }

    fn probe() -> std::io::Result<()> {
        Ok(())
    }
}

impl PsyncDrive<'_> {
    fn serve(&mut self, request: &Request) -> Completion {
        let fd = self.target.fd();
        let offset = request.offset.0;
        let buffer = match request.op {
            Op::Read | Op::Write => self.slots.buffer_mut(request.slot, request.len),
            Op::Flush | Op::Discard => return direct_call::perform(self.target, request),
        };
        let issued = clock::now();
        let result = match request.op {
            Op::Write if request.fua || self.target.dsync_each_write() => {
                pwritev2(fd, &[IoSlice::new(buffer)], offset, ReadWriteFlags::DSYNC)
            }
            Op::Write => pwrite(fd, buffer, offset),
            _ => pread(fd, buffer, offset),
        };
        Completion {
            submitter: request.submitter,
            slot: request.slot,
            issued,
            completed: clock::now(),
            // The kernel never transfers more than 2^31 - 4096 bytes at once.
            outcome: Outcome(result.map_or_else(|e| -e.raw_os_error(), |n| n as i32)),
        }
    }
}

impl Drive for PsyncDrive<'_> {
    fn attach(&mut self) -> Result<(), DriveError> {
        self.lane.attach(&mut self.slots)
    }

    fn now(&self) -> Time {
        clock::now()
    }

    #[inline]
    fn has_room(&self, len: Bytes) -> bool {
        self.slots.has_room(len)
    }

    fn submit(&mut self, requests: &[Request]) -> Result<(), DriveError> {
        for request in requests {
            self.lane.admit(&mut self.slots, request)?;
            self.queue.push_back(*request);
        }
        Ok(())
    }

    /// Serves the oldest request, or waits when there is none.
    ///
    /// One a call, so that the caller sees each completion at once and its deadlines between them. A
    /// request is served even when `until` has passed: a caller that is late and polls would
    /// otherwise wait for ever. A call cannot be cut short, so a return may be late by one request.
    fn wait_until(&mut self, until: Time, done: &mut Vec<Completion>) -> Result<Time, DriveError> {
        let Some(request) = self.queue.pop_front() else {
            return Ok(self.lane.waiter.wait(until));
        };
        let completion = self.serve(&request);
        self.slots.take_back(request.slot);
        done.push(completion);
        Ok(completion.completed)
    }

    fn data(&self, slot: u16) -> Option<&[u8]> {
        self.buffer(slot)
    }
}

impl Buffers for PsyncDrive<'_> {
    fn buffer(&self, slot: u16) -> Option<&[u8]> {
        let outstanding = self.queue.iter().any(|request| request.slot == slot);
        if outstanding { None } else { self.slots.buffer(slot) }
    }
}

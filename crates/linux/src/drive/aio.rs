//! The libaio engine: the kernel's older asynchronous interface, two system calls a batch.
//!
//! It is asynchronous for direct I/O only; a buffered transfer is done inside `io_submit(2)`.

use block::{Bytes, Completion, Drive, DriveError, LaneSetup, Op, Request, Time};

use super::clock;
use super::engine::{Buffers, Engine, sealed};
use super::lane::{Lane, Spare};
use super::queued::{Queue, Queued};
use super::sys::aio::{self as kernel, Command};
use crate::target::{EngineKind, Opened};

/// Linux asynchronous I/O, Linux 4.18 and later.
#[derive(Clone, Copy, Debug)]
pub struct Aio;

/// A submitter with an I/O context of its own.
pub struct AioDrive<'a>(Queued<'a, kernel::Aio<'a>>);

impl sealed::Sealed for Aio {}

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
        Ok(AioDrive(Queued::new(target, lane, aio, setup.depth)))
    }

    fn probe() -> std::io::Result<()> {
        kernel::probe()
    }
}

impl Drive for AioDrive<'_> {
    fn attach(&mut self) -> Result<(), DriveError> {
        self.0.lane.attach(self.0.queue.slots_mut())
    }

    fn now(&self) -> Time {
        clock::now()
    }

    #[inline]
    fn submit(&mut self, requests: &[Request]) -> Result<(), DriveError> {
        let Queued { target, lane, queue: aio, direct } = &mut self.0;
        for request in requests {
            lane.admit(aio.slots_mut(), request)?;
            let (offset, len) = (request.offset, request.len);
            match request.op {
                Op::Read => aio.push(request.slot, Command::Read { offset, len }),
                Op::Write => {
                    let dsync = request.fua || target.dsync_each_write();
                    aio.push(request.slot, Command::Write { offset, len, dsync });
                }
                Op::Flush => aio.push(request.slot, Command::Sync),
                // The interface has no command for it.
                Op::Discard => direct.push(*request),
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

impl Buffers for AioDrive<'_> {
    fn buffer(&self, slot: u16) -> Option<&[u8]> {
        self.0.queue.slots().buffer(slot)
    }
}

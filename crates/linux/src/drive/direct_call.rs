//! Operations that an engine cannot queue, done by one plain system call each.

use std::os::fd::BorrowedFd;

use block::{Completion, Op, Outcome, Request};
use rustix::fs::{FallocateFlags, fallocate, fdatasync};

use super::engine::negative_errno;
use super::{clock, sys};
use crate::target::Opened;

/// Discards a range: by `BLKDISCARD` on a block device, by punching a hole in a file.
fn discard(target: &Opened, fd: BorrowedFd<'_>, request: &Request) -> std::io::Result<()> {
    if target.is_block_device() {
        sys::ioctl::discard(fd, request.offset, request.len)
    } else {
        let mode = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(fallocate(fd, mode, request.offset.0, request.len.0)?)
    }
}

/// Does a flush or a discard now, and waits for it.
pub(crate) fn perform(target: &Opened, request: &Request) -> Completion {
    let fd = target.fd();
    let issued = clock::now();
    let result = match request.op {
        Op::Flush => fdatasync(fd).map_err(Into::into),
        Op::Discard => discard(target, fd, request),
        // Transfers need a buffer and never come here; were one to, it must not look done.
        Op::Read | Op::Write => Err(std::io::Error::from_raw_os_error(libc::EINVAL)),
    };
    Completion {
        submitter: request.submitter,
        slot: request.slot,
        issued,
        completed: clock::now(),
        outcome: Outcome(result.map_or_else(|error| negative_errno(&error), |()| 0)),
    }
}

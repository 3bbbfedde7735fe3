//! Commands of a ring, in its own form and in the kernel's.

use block::Bytes;
use io_uring::{opcode, squeue, types};

/// `BLOCK_URING_CMD_DISCARD`, `_IO(0x12, 0)` in `<linux/blkdev.h>`, Linux 6.12.
const BLOCK_DISCARD: u32 = 0x1200;

/// Operation that the ring performs on a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Command {
    /// Transfer into the slot's buffer.
    Read { offset: Bytes, len: Bytes },
    /// Transfer from the slot's buffer; `dsync` makes it durable before it completes.
    Write { offset: Bytes, len: Bytes, dsync: bool },
    /// `fdatasync(2)`.
    Sync,
    /// Punch a hole into a file.
    Punch { offset: Bytes, len: Bytes },
    /// Discard a range of a block device; needs [`Ring::can_discard`](super::ring::Ring::can_discard).
    Discard { offset: Bytes, len: Bytes },
}

/// The kernel's form of `command`. `buffer_index` is that of the buffer's registration, if it has one.
#[inline]
pub(crate) fn entry(
    file: types::Fd,
    buffer: *mut u8,
    buffer_index: Option<u16>,
    command: Command,
) -> squeue::Entry {
    match command {
        Command::Read { offset, len } => {
            let len = len.0 as u32;
            match buffer_index {
                Some(i) => opcode::ReadFixed::new(file, buffer, len, i).offset(offset.0).build(),
                None => opcode::Read::new(file, buffer, len).offset(offset.0).build(),
            }
        }
        Command::Write { offset, len, dsync } => {
            let (len, flags) = (len.0 as u32, if dsync { libc::RWF_DSYNC } else { 0 });
            match buffer_index {
                Some(i) => opcode::WriteFixed::new(file, buffer, len, i)
                    .offset(offset.0)
                    .rw_flags(flags)
                    .build(),
                None => {
                    opcode::Write::new(file, buffer, len).offset(offset.0).rw_flags(flags).build()
                }
            }
        }
        Command::Sync => opcode::Fsync::new(file).flags(types::FsyncFlags::DATASYNC).build(),
        Command::Punch { offset, len } => opcode::Fallocate::new(file, len.0)
            .offset(offset.0)
            .mode(libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE)
            .build(),
        Command::Discard { offset, len } => {
            // The start is passed as the address, the length as `addr3`, where `cmd` begins.
            let mut cmd = [0; 16];
            cmd[..8].copy_from_slice(&len.0.to_ne_bytes());
            opcode::UringCmd16::new(file, BLOCK_DISCARD).addr(Some(offset.0)).cmd(cmd).build()
        }
    }
}

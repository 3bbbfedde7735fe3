#![expect(unsafe_code, reason = "rustix has no wrapper for this ioctl")]
//! The one block-device request that needs a raw `ioctl(2)`.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use block::Bytes;

/// `BLKDISCARD`, `_IO(0x12, 119)` in `<linux/fs.h>`.
const BLKDISCARD: libc::c_ulong = 0x1277;

/// Discards a range of a block device, which holds nothing worth keeping, and waits for its end.
///
/// # Errors
/// `EOPNOTSUPP` when the device has no discard, `EINVAL` for a range off its logical blocks, `EBADF`
/// for a descriptor that is not open for writing.
pub(crate) fn discard(fd: BorrowedFd<'_>, offset: Bytes, len: Bytes) -> io::Result<()> {
    let range: [u64; 2] = [offset.0, len.0];
    // The type of the request differs between C libraries, hence the inferred cast.
    // SAFETY: BLKDISCARD reads two 64-bit numbers from the pointer, and the array outlives the call.
    let answer = unsafe { libc::ioctl(fd.as_raw_fd(), BLKDISCARD as _, range.as_ptr()) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

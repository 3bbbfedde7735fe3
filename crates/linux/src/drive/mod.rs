//! Real drives: io_uring, libaio, psync and null, one drive a submitter.
//!
//! The engines differ in how a request reaches the kernel and in nothing else: buffers, payload,
//! stamps, errors and the treatment of rarely used operations are shared, so that their results can
//! be compared.
//!
//! - `issued` is read right before the system call that hands a batch over, `completed` right after
//!   the one that brought its completions: one clock read a batch each.
//! - A flush is `fdatasync(2)`: for a file it also makes the metadata durable that is needed to find
//!   the data again; for a block device it is the drive's own flush.
//! - A discard of a file punches a hole, of a block device is `BLKDISCARD`. Both answer 0 bytes.
//! - Force unit access on a write is `RWF_DSYNC`: the kernel uses the drive's FUA where the drive has
//!   it, and a flush after the write where not. Linux offers no FUA on reads.

mod aio;
mod calibration;
mod clock;
mod delay;
mod direct_call;
mod lane;
mod null;
mod pin;
mod psync;
mod queued;
mod shelf;
mod slack;
mod sys;
mod uring;
mod waiting;

use block::{Drive, DriveError, LaneSetup};

pub use aio::{Aio, AioDrive};
pub use calibration::{Calibration, CalibrationDrive};
pub(crate) use clock::{now, sleep};
pub(crate) use delay::of_submitters as run_delay;
pub use null::{NullDrive, NullTarget};
pub use psync::{Psync, PsyncDrive};
pub use uring::{Uring, UringDrive};

use crate::target::{EngineKind, Opened};

/// A way of handing requests to the kernel. Sealed: the three engines of this room are all.
pub trait Engine: sealed::Sealed + Send + Sync + 'static {
    /// The drive that serves one submitter.
    type Drive<'a>: Drive + Buffers;

    /// Which engine this is.
    const KIND: EngineKind;

    #[doc(hidden)]
    fn open<'a>(
        target: &'a Opened,
        submitter: u16,
        setup: &LaneSetup<'_>,
    ) -> Result<Self::Drive<'a>, DriveError>;

    /// Asks the kernel whether this engine can be used at all.
    #[doc(hidden)]
    fn probe() -> std::io::Result<()>;
}

/// Asks the kernel whether `kind` can be used at all.
///
/// # Errors
/// The kernel's answer.
pub fn probe(kind: EngineKind) -> std::io::Result<()> {
    match kind {
        EngineKind::IoUring => Uring::probe(),
        EngineKind::Libaio => Aio::probe(),
        EngineKind::Psync => Psync::probe(),
    }
}

/// Access to what a drive's reads delivered.
pub trait Buffers {
    /// The buffer of `slot`, from its start, as its last transfer left it; at least as long as the
    /// largest transfer that was set up. `None` when there is no such slot, or while a request for it
    /// is outstanding.
    fn buffer(&self, slot: u16) -> Option<&[u8]>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Aio {}
    impl Sealed for super::Psync {}
    impl Sealed for super::Uring {}
}

/// The number that the kernel would have put into a completion for `error`.
pub(crate) fn negative_errno(error: &std::io::Error) -> i32 {
    -error.raw_os_error().unwrap_or(libc::EIO)
}

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
mod engine;
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

pub use aio::{Aio, AioDrive};
pub use calibration::{Calibration, CalibrationDrive};
pub(crate) use clock::{now, sleep};
pub(crate) use delay::of_submitters as run_delay;
pub use engine::{Buffers, Engine};
pub use null::{NullDrive, NullTarget};
pub use psync::{Psync, PsyncDrive};
pub use uring::{Uring, UringDrive};

use crate::target::EngineKind;

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

//! Interface common to all engines.

use block::{Drive, DriveError, LaneSetup};

use crate::target::{EngineKind, Opened};

/// A way of handing requests to the kernel. Sealed: the three engines of this room are all.
pub trait Engine: sealed::Sealed + Send + Sync + 'static {
    /// The drive that serves one submitter.
    type Drive<'a>: Drive + Buffers;

    /// Kind of this engine.
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

/// Access to what a drive's reads delivered.
pub trait Buffers {
    /// The buffer of `slot`, from its start, as its last transfer left it; at least as long as the
    /// largest transfer that was set up. `None` when there is no such slot, or while a request for it
    /// is outstanding.
    fn buffer(&self, slot: u16) -> Option<&[u8]>;
}

pub(super) mod sealed {
    pub trait Sealed {}
}

/// The number that the kernel would have put into a completion for `error`.
pub(crate) fn negative_errno(error: &std::io::Error) -> i32 {
    -error.raw_os_error().unwrap_or(libc::EIO)
}

//! Content of a served drive. The timing model stores nothing, so this is kept beside it.

mod directory;
mod faulty;
mod memory;

use block::{Bytes, Errno};

pub(crate) use directory::Directory;
pub(crate) use faulty::Faulty;
pub(crate) use memory::Memory;

/// No space left on device (`ENOSPC`).
pub(crate) const ENOSPC: Errno = Errno(28);

/// Bytes by place. What was never written, and what was discarded, reads as zeros.
///
/// A drive that spoils what it keeps (content that wraps, is lost or altered) is another one of these
/// around a store, so that the timing of a request and the fate of its bytes stay apart.
pub(crate) trait Content: Send {
    /// Reads `into.len()` bytes at `offset`.
    ///
    /// # Errors
    /// The system's answer, where the content lies in a file.
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), Errno>;

    /// Writes `data` at `offset`.
    ///
    /// # Errors
    /// [`ENOSPC`] when there is no room for it; a part of it may have been written.
    fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), Errno>;

    /// Forgets `len` bytes at `offset`.
    ///
    /// # Errors
    /// The system's answer, where the content lies in a file.
    fn discard(&mut self, offset: u64, len: u64) -> Result<(), Errno>;

    /// Room that it takes now.
    fn held(&self) -> Bytes;
}

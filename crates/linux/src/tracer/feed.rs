//! Interface common to the back ends: one thread reads a feed, another runs its decoder.

use std::io;

use super::chunk::{Chunk, Gathered};

/// Most bytes that one look at the buffers takes.
pub(crate) const CHUNK_BYTES: usize = 4 << 20;

/// A tracer that is running.
pub(crate) trait Feed: Send {
    /// Reads what there is, up to [`CHUNK_BYTES`], into `chunk`; true when there may be more.
    ///
    /// # Errors
    /// When the tracer cannot be read any more.
    fn collect(&mut self, chunk: &mut Chunk) -> io::Result<bool>;

    /// Ends the recording; what was recorded can still be read.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn halt(&mut self) -> io::Result<()>;
}

/// Makes events of what a feed read.
pub(crate) trait Decode: Send {
    /// Takes bytes of `cpu`.
    fn take(&mut self, cpu: u32, bytes: &[u8], to: &mut Gathered);
}

/// Writes marks into a recording.
pub(crate) trait Marker: Send + Sync {
    /// Writes `text`, one line, at this instant.
    ///
    /// # Errors
    /// When the kernel does not take it.
    fn mark(&self, text: &str) -> io::Result<()>;
}

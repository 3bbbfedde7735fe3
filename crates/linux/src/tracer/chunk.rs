//! Data passed from the thread that reads the kernel's buffers to the one that decodes it into events.

use std::io::{self, Read};
use std::ops::Range;

use block::Nanos;
use block::trace::{TraceEvent, TraceNote};

/// Data found in one pass over all buffers.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    /// Everything recorded before this instant and not lost is in this chunk or an earlier one, but for what was
    /// just being written.
    pub until: Nanos,
    /// Bytes of all CPUs.
    pub data: Vec<u8>,
    /// CPU of each part: a page, or a stretch of a stream.
    pub parts: Vec<(u32, Range<usize>)>,
    /// Events lost since the last chunk, by CPU where that is known.
    pub lost: Vec<(Option<u32>, u64)>,
    /// Notes that are known already.
    pub notes: Vec<TraceNote>,
}

impl Chunk {
    /// Nothing but an instant.
    pub(crate) fn at(until: Nanos) -> Chunk {
        Chunk { until, ..Chunk::default() }
    }

    /// Takes what `file` has at once, a buffer at a time and at most `share` bytes, or one buffer where that is more, as
    /// parts of `stream`. True when there may be more.
    ///
    /// # Errors
    /// Those of reading; that nothing is there yet is none.
    pub(crate) fn drain(
        &mut self,
        file: &mut impl Read,
        buffer: &mut [u8],
        share: usize,
        stream: u32,
    ) -> io::Result<bool> {
        let end = self.data.len() + share.max(buffer.len());
        loop {
            if self.data.len() + buffer.len() > end {
                return Ok(true);
            }
            let read = match file.read(buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if read == 0 {
                return Ok(false);
            }
            let start = self.data.len();
            self.data.extend_from_slice(&buffer[..read]);
            self.parts.push((stream, start..self.data.len()));
        }
    }

    /// True when it says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts.is_empty() && self.lost.is_empty() && self.notes.is_empty()
    }
}

/// Output of a decoder.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    /// Events, those of one CPU in their order.
    pub events: Vec<TraceEvent>,
    /// Notes.
    pub notes: Vec<TraceNote>,
    /// Records that could not be read.
    pub malformed: u64,
    /// Events that what was read says are missing from it. The kernel's counters count the same losses.
    pub missed: u64,
}

/// Text up to its first zero, without the line's end.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim_end_matches('\n').to_owned()
}

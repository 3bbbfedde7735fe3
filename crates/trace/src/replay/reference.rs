//! When each request of a reference replay was issued and done, for traces that know arrivals only.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use block::Nanos;
use engine::replay::Replayed;

use crate::TraceError;

/// Size of a request's record: 16 bytes.
const RECORD: usize = 16;

/// Requests that have completed before the one that is next in order: above this the one that is missing is taken for
/// lost. A replay has far fewer outstanding.
const HELD_MAX: usize = 1 << 20;

/// Keeps when each request of a replay was issued and done, in the order of the plan.
///
/// The records go to a file that the caller removes: a long trace's would not fit in memory.
pub struct ReferenceWriter<W: Write> {
    out: W,
    name: String,
    next: u64,
    held: BTreeMap<u64, (Nanos, Nanos)>,
}

impl<W: Write> ReferenceWriter<W> {
    /// Writes to `out`; `name` is what errors call it. Give it something buffered.
    pub fn new(out: W, name: &str) -> Self {
        ReferenceWriter { out, name: name.to_owned(), next: 0, held: BTreeMap::new() }
    }

    /// Takes what became of requests, in any order.
    ///
    /// # Errors
    /// [`TraceError::Io`] when it cannot be written, and [`TraceError::Unsuited`] when a request never came.
    pub fn see(&mut self, replayed: &[Replayed]) -> Result<(), TraceError> {
        for one in replayed {
            self.held.insert(one.seq, (one.issued, one.completed));
        }
        while let Some(entry) = self.held.first_entry().filter(|entry| *entry.key() == self.next) {
            let (issued, completed) = entry.remove();
            let mut record = [0; RECORD];
            record[..8].copy_from_slice(&issued.0.to_le_bytes());
            record[8..].copy_from_slice(&completed.0.to_le_bytes());
            self.out
                .write_all(&record)
                .map_err(|source| TraceError::Io { file: self.name.clone(), source })?;
            self.next += 1;
        }
        if self.held.len() > HELD_MAX { Err(self.missing()) } else { Ok(()) }
    }

    /// Gives back what was written to, and how many requests it holds.
    ///
    /// # Errors
    /// As [`ReferenceWriter::see`].
    pub fn finish(mut self) -> Result<(W, u64), TraceError> {
        if !self.held.is_empty() {
            return Err(self.missing());
        }
        self.out.flush().map_err(|source| TraceError::Io { file: self.name.clone(), source })?;
        Ok((self.out, self.next))
    }

    fn missing(&self) -> TraceError {
        TraceError::Unsuited(format!(
            "the reference replay never reported the result of request {}: it did not run to its end",
            self.next
        ))
    }
}

/// Hands out what a [`ReferenceWriter`] kept, in the order of the plan.
pub struct ReferenceReader {
    from: Box<dyn Read + Send>,
    name: String,
    next: u64,
}

impl ReferenceReader {
    /// Reads from the beginning of what was written. Give it something buffered.
    pub fn new(from: Box<dyn Read + Send>, name: &str) -> Self {
        ReferenceReader { from, name: name.to_owned(), next: 0 }
    }

    /// When the next request was issued and done, since the reference replay's start.
    ///
    /// # Errors
    /// [`TraceError::Io`], and [`TraceError::Unsuited`] when the reference replay had fewer requests.
    pub(super) fn next(&mut self) -> Result<(u64, u64), TraceError> {
        let mut record = [0; RECORD];
        self.from.read_exact(&mut record).map_err(|source| match source.kind() {
            std::io::ErrorKind::UnexpectedEof => TraceError::Unsuited(format!(
                "the reference replay ended after {} requests, and this one has more: both must be of the same \
                 trace with the same options",
                self.next
            )),
            _ => TraceError::Io { file: self.name.clone(), source },
        })?;
        self.next += 1;
        let word = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&record[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        Ok((word(0), word(8)))
    }
}

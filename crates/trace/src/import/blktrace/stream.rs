//! The records of one file, one after another.

use block::trace::record::{Form, Record, V1_BYTES};

use crate::import::compressed::{BUFFER, Input};
use crate::{Place, TraceError};

/// Longest record: a header of version 2 and what may lie behind it.
const RECORD_MAX: usize = 64 + u16::MAX as usize;

/// Reads records.
pub struct Stream {
    input: Input,
    lenient: bool,
    /// Records, or stretches of what is none, that were left out.
    pub skipped: u64,
    /// Events of which the kernel says that it lost them.
    pub lost: u64,
    /// First fault, with its offset.
    pub fault: Option<String>,
    /// Version of the last record; 0 before it.
    pub version: u8,
}

impl Stream {
    /// The records of `input`.
    pub fn new(input: Input, lenient: bool) -> Stream {
        Stream { input, lenient, skipped: 0, lost: 0, fault: None, version: 0 }
    }

    /// Gives `count` records, or those before the end of the file, each with what lies behind its header. False at the
    /// end.
    ///
    /// # Errors
    /// [`TraceError`] when the file cannot be read, or, unless it is read leniently, when a record is malformed.
    #[inline]
    pub fn each(
        &mut self,
        count: usize,
        mut give: impl FnMut(&Record, &[u8]),
    ) -> Result<bool, TraceError> {
        let mut left = count;
        while left > 0 {
            self.input.peek(RECORD_MAX)?;
            let bytes = self.input.ahead();
            let mut at = 0;
            while left > 0
                && let Some(record) = Record::read(&bytes[at..])
                && let Some(pdu) = bytes.get(at + record.form.header_bytes()..at + record.len())
            {
                give(&record, pdu);
                self.version = record.form.version;
                at += record.len();
                left -= 1;
            }
            let taken = at > 0;
            self.input.take(at);
            if taken {
                continue;
            }
            if self.input.is_broken() {
                // A record cut off by a read error is not a bad record: the error is that of reading on.
                self.input.take(self.input.ahead().len());
                self.input.peek(1)?;
            }
            if let Some((length, events)) = lost(self.input.ahead()) {
                self.lost = self.lost.saturating_add(events);
                self.input.take(length);
                continue;
            }
            match trouble(self.input.ahead()) {
                Some(reason) => self.pass_over(reason)?,
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Skips bytes up to the next record; returns the error, unless it is read leniently.
    #[cold]
    fn pass_over(&mut self, reason: String) -> Result<(), TraceError> {
        let place = Place::Byte(self.input.position());
        let file = self.input.name().to_owned();
        let error = TraceError::Malformed { file, place, reason };
        if !self.lenient {
            return Err(error);
        }
        self.skipped += 1;
        self.fault.get_or_insert_with(|| error.to_string());
        self.input.take(1);
        loop {
            let bytes = self.input.peek(BUFFER)?;
            let ended = bytes.len() < BUFFER;
            let last = if ended { bytes.len() } else { bytes.len() - RECORD_MAX };
            let found = (0..last).find(|&at| begins(&bytes[at..], ended));
            self.input.take(found.unwrap_or(last));
            if found.is_some() || ended {
                return Ok(());
            }
        }
    }
}

/// Why there is no record where one should begin.
#[cold]
fn trouble(bytes: &[u8]) -> Option<String> {
    if bytes.is_empty() {
        return None;
    }
    let have = bytes.len();
    let Some(form) = bytes.first_chunk().and_then(|magic| Form::of(*magic)) else {
        let seen: Vec<String> = bytes.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        return Some(format!(
            "no record of blktrace begins here: it would begin with 07 74 61 65 (version 1) or 08 74 61 65 \
             (version 2) or the reverse, this is {}; --lenient goes on with the next that does",
            seen.join(" ")
        ));
    };
    let whole = Record::read(bytes).map_or(form.header_bytes(), |record| record.len());
    Some(format!(
        "the file ends within a record, after {have} of {whole} bytes; --lenient keeps what is before it"
    ))
}

/// The line of text that the kernel puts between the records of its tracer `blk` where its memory ran over, such as
/// `CPU:1 [LOST 42 EVENTS]`: its length, and how many events were lost, 1 where that is unreadable.
fn lost(bytes: &[u8]) -> Option<(usize, u64)> {
    let line = bytes.strip_prefix(b"CPU:")?;
    let end = line.iter().take(64).position(|byte| *byte == b'\n')?;
    let text = std::str::from_utf8(&line[..end]).ok()?;
    let words = text.split_once(" [LOST ")?.1.strip_suffix("EVENTS]")?;
    let events = words.trim().parse().unwrap_or(1);
    Some((b"CPU:".len() + end + 1, events))
}

/// True when a whole record begins here, and behind it another, or the end.
fn begins(bytes: &[u8], ended: bool) -> bool {
    let Some(record) = Record::read(bytes) else { return false };
    match bytes.get(record.len()..) {
        Some([]) => ended,
        Some(rest) => match rest.first_chunk() {
            Some(magic) => Form::of(*magic) == Some(record.form),
            None => rest.len() < V1_BYTES,
        },
        None => false,
    }
}

//! The records of one file, one after another.

use std::io::{self, Read};

use block::trace::record::{Form, Record, V1_BYTES};

use crate::{Place, TraceError};

/// Longest record: a header of version 2 and what may lie behind it.
const RECORD_MAX: usize = 64 + u16::MAX as usize;

/// Bytes read at once. More would leave the cache before it is decoded.
const BUFFER: usize = 256 << 10;

/// A file, or what unpacks one.
pub struct Part {
    /// As the user named it.
    pub name: String,
    /// Its bytes, from the beginning.
    pub reader: Box<dyn Read + Send>,
}

impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Part({})", self.name)
    }
}

/// Reads records.
#[derive(Debug)]
pub struct Stream {
    part: Part,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    /// Bytes that lie before `start`.
    offset: u64,
    lenient: bool,
    /// Records, or stretches of what is none, that were left out.
    pub skipped: u64,
}

/// What comes next.
enum Head {
    Whole(Record),
    End,
    /// Not a record, or not all of one: why.
    Broken(String),
}

impl Stream {
    pub fn new(part: Part, lenient: bool) -> Stream {
        Stream {
            part,
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            ended: false,
            offset: 0,
            lenient,
            skipped: 0,
        }
    }

    /// The next record and what lies behind its header; `None` at the end of the file.
    ///
    /// # Errors
    /// [`TraceError`] when the file cannot be read, or, unless it is read leniently, when what comes is no record.
    #[inline]
    pub fn next(&mut self) -> Result<Option<(Record, &[u8])>, TraceError> {
        loop {
            match self.head()? {
                Head::Whole(record) => {
                    let from = self.start;
                    let header = record.form.header_bytes();
                    self.start += record.len();
                    self.offset += record.len() as u64;
                    return Ok(Some((record, &self.buffer[from + header..from + record.len()])));
                }
                Head::End => return Ok(None),
                Head::Broken(reason) => self.pass_over(reason)?,
            }
        }
    }

    #[inline]
    fn head(&mut self) -> Result<Head, TraceError> {
        if self.end - self.start < RECORD_MAX && !self.ended {
            self.fill()?;
        }
        let bytes = &self.buffer[self.start..self.end];
        if let Some(record) = Record::read(bytes)
            && record.len() <= bytes.len()
        {
            return Ok(Head::Whole(record));
        }
        Ok(self.trouble())
    }

    /// Why there is no record where one should begin.
    #[cold]
    fn trouble(&self) -> Head {
        let bytes = &self.buffer[self.start..self.end];
        if bytes.is_empty() {
            return Head::End;
        }
        let have = bytes.len();
        let Some(form) = bytes.first_chunk().and_then(|magic| Form::of(*magic)) else {
            let seen: Vec<String> =
                bytes.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
            return Head::Broken(format!(
                "no record of blktrace begins here: it would begin with 07 74 61 65 (version 1) or 08 74 61 65 \
                 (version 2) or the reverse, this is {}; --lenient goes on with the next that does",
                seen.join(" ")
            ));
        };
        let whole = Record::read(bytes).map_or(form.header_bytes(), |record| record.len());
        Head::Broken(format!(
            "the file ends within a record, after {have} of {whole} bytes; --lenient keeps what is before it"
        ))
    }

    /// Moves what is left to the front, and reads until the buffer is full or the file ends.
    fn fill(&mut self) -> Result<(), TraceError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < self.buffer.len() && !self.ended {
            match self.part.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(TraceError::Io { file: self.part.name.clone(), source });
                }
            }
        }
        Ok(())
    }

    /// Passes over what is no record, to the next that is one; the error, where that is not wanted.
    #[cold]
    fn pass_over(&mut self, reason: String) -> Result<(), TraceError> {
        if !self.lenient {
            return Err(TraceError::Malformed {
                file: self.part.name.clone(),
                place: Place::Byte(self.offset),
                reason,
            });
        }
        self.skipped += 1;
        self.step(1);
        loop {
            if self.end - self.start < 2 * RECORD_MAX && !self.ended {
                self.fill()?;
            }
            let last = if self.ended { self.end } else { self.end - RECORD_MAX };
            let from = self.start;
            let found = (from..last).find(|&at| self.begins(at));
            self.step(found.unwrap_or(last) - from);
            if found.is_some() || self.ended {
                return Ok(());
            }
        }
    }

    fn step(&mut self, by: usize) {
        self.start += by;
        self.offset += by as u64;
    }

    /// True when a whole record begins in the buffer, and behind it another, or the end.
    fn begins(&self, at: usize) -> bool {
        let bytes = &self.buffer[at..self.end];
        let Some(record) = Record::read(bytes) else { return false };
        match bytes.get(record.len()..) {
            Some([]) => self.ended,
            Some(rest) => match rest.first_chunk() {
                Some(magic) => Form::of(*magic) == Some(record.form),
                None => rest.len() < V1_BYTES,
            },
            None => false,
        }
    }
}

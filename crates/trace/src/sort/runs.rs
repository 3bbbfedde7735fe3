//! Runs of sorted I/Os in a temporary file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use block::{Bytes, Nanos};

use crate::{Flags, Io, Kind, Stamp, TraceError};

/// Bytes that are read or written at a time.
const BUFFER: usize = 64 << 10;

/// Runs that were written one after the other.
#[derive(Debug)]
pub(super) struct Level {
    place: String,
    file: Arc<File>,
    runs: Vec<Range<u64>>,
}

impl Level {
    /// None yet, in a file that has no name.
    pub(super) fn new(directory: &Path) -> Result<Level, TraceError> {
        let place = format!("temporary file in {}", directory.display());
        let file = tempfile::tempfile_in(directory);
        let file = file.map_err(|source| TraceError::Io { file: place.clone(), source })?;
        Ok(Level { place, file: Arc::new(file), runs: Vec::new() })
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// Adds a run.
    pub(super) fn write(
        &mut self,
        ios: impl Iterator<Item = Result<Io, TraceError>>,
    ) -> Result<(), TraceError> {
        let begin = self.runs.last().map_or(0, |last| last.end);
        let failed = |source| TraceError::Io { file: self.place.clone(), source };
        let mut out = BufWriter::with_capacity(BUFFER, &*self.file);
        let mut record = Vec::new();
        let mut end = begin;
        let mut last = Nanos::ZERO;
        for io in ios {
            let io = io?;
            record.clear();
            encode(&io, last, &mut record);
            out.write_all(&record).map_err(failed)?;
            end += record.len() as u64;
            last = io.arrival;
        }
        out.flush().map_err(failed)?;
        self.runs.push(begin..end);
        Ok(())
    }

    /// All of them from their beginnings, in the order in which they were written.
    pub(super) fn cursors(&self) -> Result<Vec<Cursor>, TraceError> {
        let open = |left: &Range<u64>| {
            let mut cursor = Cursor {
                next: None,
                rest: Rest::OnDisk {
                    place: self.place.clone(),
                    file: Arc::clone(&self.file),
                    left: left.clone(),
                    buffer: Vec::new(),
                    used: 0,
                },
            };
            cursor.advance().map(|()| cursor)
        };
        self.runs.iter().map(open).collect()
    }
}

/// A run that is being read.
#[derive(Debug)]
pub(super) struct Cursor {
    next: Option<Io>,
    rest: Rest,
}

#[derive(Debug)]
enum Rest {
    InMemory(std::vec::IntoIter<Io>),
    OnDisk { place: String, file: Arc<File>, left: Range<u64>, buffer: Vec<u8>, used: usize },
}

impl Cursor {
    /// A run that needs no file.
    pub(super) fn in_memory(ios: Vec<Io>) -> Cursor {
        let mut ios = ios.into_iter();
        Cursor { next: ios.next(), rest: Rest::InMemory(ios) }
    }

    /// The next I/O.
    pub(super) fn peek(&self) -> Option<&Io> {
        self.next.as_ref()
    }

    /// Goes on by one.
    pub(super) fn advance(&mut self) -> Result<(), TraceError> {
        let last = self.next.map_or(Nanos::ZERO, |io| io.arrival);
        self.next = match &mut self.rest {
            Rest::InMemory(ios) => ios.next(),
            Rest::OnDisk { place, file, left, buffer, used } => {
                if buffer.len() - *used < RECORD_MAX && !left.is_empty() {
                    refill(file, left, buffer, used)
                        .map_err(|source| TraceError::Io { file: place.clone(), source })?;
                }
                let mut record = &buffer[*used..];
                if record.is_empty() {
                    None
                } else {
                    let io = decode(&mut record, last);
                    let io = io.ok_or_else(|| TraceError::Io {
                        file: place.clone(),
                        source: io::Error::other("holds other bytes than were written to it"),
                    })?;
                    *used = buffer.len() - record.len();
                    Some(io)
                }
            }
        };
        Ok(())
    }
}

/// Reads on behind what is left of `buffer`.
fn refill(
    file: &File,
    left: &mut Range<u64>,
    buffer: &mut Vec<u8>,
    used: &mut usize,
) -> io::Result<()> {
    buffer.drain(..*used);
    *used = 0;
    let kept = buffer.len();
    let more = (left.end - left.start).min((BUFFER - kept) as u64);
    // No more than the buffer, so it fits.
    buffer.resize(kept + more as usize, 0);
    file.read_exact_at(&mut buffer[kept..], left.start)?;
    left.start += more;
    Ok(())
}

/// Longest record: the flags, eleven numbers of at most ten bytes, four of at most five.
const RECORD_MAX: usize = 4 + 11 * 10 + 4 * 5;

/// Appends `io` to `to`. Its stamps are kept as what they are away from the arrival, and that from the `last` one.
fn encode(io: &Io, last: Nanos, to: &mut Vec<u8>) {
    let stamps = stamps(io);
    let mut known = 0_u8;
    for (bit, stamp) in stamps.iter().enumerate() {
        known |= u8::from(stamp.known()) << bit;
    }
    to.extend_from_slice(&[known, io.kind as u8]);
    to.extend_from_slice(&io.flags.0.to_le_bytes());
    number(io.arrival.0 - last.0, to);
    for at in stamps.into_iter().filter_map(Stamp::get) {
        let away = at.0.wrapping_sub(io.arrival.0).cast_signed();
        number((away << 1 ^ away >> 63).cast_unsigned(), to);
    }
    for value in [io.offset.0, io.length.0, io.request_bytes.0] {
        number(value, to);
    }
    for value in [io.space, io.pid, io.cpu.into(), io.error.into()] {
        number(value.into(), to);
    }
}

/// Takes an I/O from the front of `from`; `None` when there is no whole one.
fn decode(from: &mut &[u8], last: Nanos) -> Option<Io> {
    let (head, rest) = from.split_first_chunk::<4>()?;
    *from = rest;
    let kind = *Kind::ALL.get(usize::from(head[1]))?;
    let arrival = Nanos(last.0.checked_add(take(from)?)?);
    let mut io = Io::arriving(arrival, kind, Bytes::ZERO, Bytes::ZERO);
    io.flags = Flags(u16::from_le_bytes([head[2], head[3]]));
    let mut stamps = [Stamp::NONE; 7];
    for (bit, stamp) in stamps.iter_mut().enumerate() {
        if head[0] & 1 << bit != 0 {
            let folded = take(from)?;
            let away = (folded >> 1) ^ (folded & 1).wrapping_neg();
            *stamp = Stamp::at(Nanos(arrival.0.wrapping_add(away)));
        }
    }
    [io.remapped, io.allocated, io.slept, io.inserted, io.merged, io.issued, io.completed] = stamps;
    io.offset = Bytes(take(from)?);
    io.length = Bytes(take(from)?);
    io.request_bytes = Bytes(take(from)?);
    io.space = u32::try_from(take(from)?).ok()?;
    io.pid = u32::try_from(take(from)?).ok()?;
    io.cpu = u16::try_from(take(from)?).ok()?;
    io.error = u16::try_from(take(from)?).ok()?;
    Some(io)
}

fn stamps(io: &Io) -> [Stamp; 7] {
    [io.remapped, io.allocated, io.slept, io.inserted, io.merged, io.issued, io.completed]
}

/// Appends a number, seven bits a byte, the lowest first; all but the last byte have their top bit set.
fn number(mut value: u64, to: &mut Vec<u8>) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Takes what [`number`] appended.
fn take(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

//! A trace of another tool's, as it was read.

use serde::Serialize;
use trace::{Io, Kind, TraceInfo};

/// Summary of an imported trace.
#[derive(Debug, Default, Serialize)]
pub struct Imported {
    /// The format.
    pub format: String,
    /// The files, as they were named.
    pub files: Vec<String>,
    /// I/Os.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Flushes, discards and the like among them.
    pub others: u64,
    /// Bytes of all reads.
    pub bytes_read: u64,
    /// Bytes of all writes.
    pub bytes_written: u64,
    /// From the first arrival to the last.
    pub span_ns: u64,
    /// Date of the first arrival, where it is known: since 1970.
    pub begins_unix_ns: Option<i64>,
    /// The finest step of its times.
    pub resolution_ns: u64,
    /// I/Os whose completion is known.
    pub with_completion: u64,
    /// I/Os whose task is known.
    pub with_task: u64,
    /// Rows that identify themselves as something other than I/O, or hold nothing that can be kept.
    pub ignored_rows: u64,
    /// Rows that could not be read and were left out.
    pub skipped_rows: u64,
    /// The first of them.
    pub faults: Vec<String>,
    /// Events that the recorder lost.
    pub lost_events: u64,
    /// How each ambiguity was settled.
    pub settled: Vec<String>,
    /// Its address spaces.
    pub spaces: Vec<SpaceSeen>,
    /// File that was written.
    pub written: Option<FileWritten>,
}

/// An address space.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SpaceSeen {
    /// Its name.
    pub name: String,
    /// I/Os on it.
    pub requests: u64,
    /// First byte behind all of them.
    pub end_bytes: u64,
}

/// The file that was written.
#[derive(Debug, Serialize)]
pub struct FileWritten {
    /// As it was named.
    pub file: String,
    /// Its length.
    pub bytes: u64,
}

impl Imported {
    /// Takes note of an I/O.
    pub fn see(&mut self, io: &Io) {
        self.requests += 1;
        match io.kind {
            Kind::Read => {
                self.reads += 1;
                self.bytes_read = self.bytes_read.saturating_add(io.length.0);
            }
            Kind::Write => {
                self.writes += 1;
                self.bytes_written = self.bytes_written.saturating_add(io.length.0);
            }
            _ => self.others += 1,
        }
        self.span_ns = self.span_ns.max(io.arrival.0);
        self.with_completion += u64::from(io.completed.known());
        self.with_task += u64::from(io.pid != 0);
        let space = io.space as usize;
        if self.spaces.len() <= space {
            self.spaces.resize(space + 1, SpaceSeen::default());
        }
        let space = &mut self.spaces[space];
        space.requests += 1;
        space.end_bytes = space.end_bytes.max(io.end().0);
    }

    /// Takes over what is known of the trace as a whole.
    pub fn tell(&mut self, info: &TraceInfo) {
        self.format.clone_from(&info.source);
        self.files.clone_from(&info.files);
        self.begins_unix_ns = info.origin_unix_ns;
        self.resolution_ns = info.resolution.0;
        self.ignored_rows = info.ignored_rows;
        self.skipped_rows = info.skipped_rows;
        self.faults.clone_from(&info.faults);
        self.lost_events = info.lost_events;
        self.settled.clone_from(&info.settled);
        self.spaces.resize(info.spaces.len(), SpaceSeen::default());
        for (seen, space) in self.spaces.iter_mut().zip(&info.spaces) {
            seen.name.clone_from(&space.name);
        }
    }
}

//! Result of `trace record`.

use std::path::PathBuf;

use block::Nanos;
use linux::tracer::Recorded;
use serde::Serialize;

/// Result of a recording.
#[derive(Debug, Serialize)]
pub struct Body {
    /// Path of the recording.
    pub file: PathBuf,
    /// How long the file is.
    pub file_bytes: u64,
    /// Devices that were recorded.
    pub devices: Vec<Recording>,
    /// For how long.
    pub duration_ns: Nanos,
    /// I/Os.
    pub ios: u64,
    /// I/Os whose end is not known: they went on when the recording ended.
    pub unfinished: u64,
    /// Issues and completions of I/Os that began before the recording.
    pub strays: u64,
    /// Marks.
    pub marks: usize,
    /// True when Ctrl-C ended it.
    pub interrupted: bool,
    /// Back end and counts of the recorder.
    pub recorder: Recorded,
    /// End of the command that was run.
    pub command: Option<Ended>,
}

/// A device that was recorded.
#[derive(Debug, Serialize)]
pub struct Recording {
    /// Kernel name.
    pub name: String,
    /// Its node.
    pub path: PathBuf,
    /// Its number, `major,minor`.
    pub number: String,
    /// Its length.
    pub capacity_bytes: u64,
}

/// A command that has ended.
#[derive(Clone, Debug, Serialize)]
pub struct Ended {
    /// As it was given, with spaces between its words.
    pub command: String,
    /// True when it ended with status 0.
    pub success: bool,
    /// Its exit status; `None` when a signal ended it.
    pub status: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

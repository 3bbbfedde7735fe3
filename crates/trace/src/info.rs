//! Information on a trace as a whole.

use std::collections::BTreeMap;

use block::trace::DeviceNumber;
use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Description of a trace, apart from its I/Os. Complete once its last I/O has been read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TraceInfo {
    /// Format or recorder: `blktrace v1`, `MSR Cambridge`, `block tracepoints`.
    pub source: String,
    /// The files that it was read from, as the user named them.
    pub files: Vec<String>,
    /// Instant from which the times of I/Os count, on the source's own clock, in nanoseconds.
    pub origin: Nanos,
    /// Date of the origin, in nanoseconds since 1970 UTC, where it is known.
    pub origin_unix_ns: Option<i64>,
    /// The finest step that the source's times can have: 1 for blktrace, 10^9 where only seconds were kept.
    pub resolution: Nanos,
    /// The address spaces, by the number that I/Os have.
    pub spaces: Vec<Space>,
    /// Names of tasks.
    pub processes: BTreeMap<u32, String>,
    /// Marks of phases and other messages, in the order of their time.
    pub marks: Vec<Mark>,
    /// Events that the recorder lost.
    pub lost_events: u64,
    /// Rows or records that could not be read and were left out (`--lenient`).
    pub skipped_rows: u64,
    /// Rows marked as not an I/O, or without anything that can be kept.
    pub ignored_rows: u64,
    /// The first of the rows that were left out: where each is, and what is wrong with it.
    #[serde(default)]
    pub faults: Vec<String>,
    /// How each ambiguity of the format was settled, as sentences: by evidence, or by which flag.
    pub settled: Vec<String>,
}

/// One address space: a device, a volume, a logical unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Space {
    /// As the source names it.
    pub name: String,
    /// The kernel's number, where the source has it.
    pub device: Option<DeviceNumber>,
    /// Its size, where the source records it.
    pub capacity_bytes: Option<Bytes>,
    /// Events on it that belong to no single I/O.
    pub tally: EventTally,
}

/// Events of one device that belong to no single I/O, or are counted whether or not they do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventTally {
    /// Events by blkparse's letter (`Q`, `G`, `D`, …).
    pub events: BTreeMap<String, u64>,
    /// Requests with a length that were issued, each time: the parts of a bio that was split are requests too.
    #[serde(default)]
    pub issued_requests: u64,
    /// The shortest of them, in bytes.
    #[serde(default)]
    pub issued_min_bytes: u64,
    /// The longest.
    #[serde(default)]
    pub issued_max_bytes: u64,
    /// Their sum.
    #[serde(default)]
    pub issued_bytes: u64,
    /// Flushes that the drive did, as requests of the kernel: each may serve several I/Os, and some serve writes.
    #[serde(default)]
    pub drive_flushes: u64,
    /// Sum of what they took, from issue to completion.
    #[serde(default)]
    pub drive_flushing: Nanos,
    /// The longest of them.
    #[serde(default)]
    pub drive_flush_max: Nanos,
    /// Plugs.
    pub plugs: u64,
    /// Unplugs, those by timer among them.
    pub unplugs: u64,
    /// Unplugs by timer.
    pub timer_unplugs: u64,
    /// Requests that unplugs let go.
    pub unplugged_requests: u64,
    /// Requests that unplugs by timer let go.
    pub timer_unplugged_requests: u64,
    /// Sum of the time between a plug and its unplug.
    pub plugged: Nanos,
}

/// A message at an instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// When, since the trace's origin.
    pub at: Nanos,
    /// Its text.
    pub text: String,
}

//! One I/O of a trace, the same whatever format it came from.

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// An instant in a trace: nanoseconds since the trace's origin ([`crate::TraceInfo::origin`]), or not known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(u64);

impl Stamp {
    /// Not known, or never happened. Greater than every instant.
    pub const NONE: Stamp = Stamp(u64::MAX);

    /// An instant. The greatest number is not one.
    pub const fn at(since_origin: Nanos) -> Stamp {
        Stamp(since_origin.0)
    }

    /// The instant, where it is known.
    pub const fn get(self) -> Option<Nanos> {
        if self.0 == u64::MAX { None } else { Some(Nanos(self.0)) }
    }

    /// True when it is known.
    pub const fn known(self) -> bool {
        self.0 != u64::MAX
    }

    /// How long after `earlier` this was; `None` when either is unknown or this was not after it.
    pub const fn since(self, earlier: Stamp) -> Option<Nanos> {
        if self.known() && earlier.known() && self.0 >= earlier.0 {
            Some(Nanos(self.0 - earlier.0))
        } else {
            None
        }
    }
}

impl std::fmt::Debug for Stamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.get() {
            Some(at) => write!(f, "{} ns", at.0),
            None => write!(f, "unknown"),
        }
    }
}

/// Operation of an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Kind {
    /// Transfer from the drive.
    Read = 0,
    /// Transfer to the drive.
    Write = 1,
    /// Make completed writes durable; no data.
    Flush = 2,
    /// Say that a range holds nothing worth keeping.
    Discard = 3,
    /// Write zeroes without transferring them.
    WriteZeroes = 4,
    /// Manage zones: reset, open, close, finish.
    Zone = 5,
    /// Anything else: commands passed through, no operation.
    Other = 6,
}

impl Kind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Kind; 7] = [
        Kind::Read,
        Kind::Write,
        Kind::Flush,
        Kind::Discard,
        Kind::WriteZeroes,
        Kind::Zone,
        Kind::Other,
    ];

    /// As it is written in files: `read`, `write`, `flush`, `discard`, `write_zeroes`, `zone`, `other`.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Flush => "flush",
            Kind::Discard => "discard",
            Kind::WriteZeroes => "write_zeroes",
            Kind::Zone => "zone",
            Kind::Other => "other",
        }
    }

    /// True for what transfers data.
    pub const fn transfers(self) -> bool {
        matches!(self, Kind::Read | Kind::Write)
    }
}

/// Flags of an I/O: a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u16);

impl Flags {
    /// Nothing.
    pub const NONE: Flags = Flags(0);
    /// Somebody waited for it.
    pub const SYNC: Flags = Flags(1);
    /// Metadata of a filesystem.
    pub const META: Flags = Flags(1 << 1);
    /// Force unit access.
    pub const FUA: Flags = Flags(1 << 2);
    /// Read ahead.
    pub const AHEAD: Flags = Flags(1 << 3);
    /// Flushes the drive's cache before its data.
    pub const PREFLUSH: Flags = Flags(1 << 4);
    /// First bio of a request: the one that the request was allocated for, or that was inserted as a request.
    /// Requests are counted by it, and [`Io::request_bytes`] is the request's length.
    pub const HEAD: Flags = Flags(1 << 5);
    /// Merged at the back of a request.
    pub const MERGED_BACK: Flags = Flags(1 << 6);
    /// Merged at the front of a request.
    pub const MERGED_FRONT: Flags = Flags(1 << 7);
    /// Issued more than once.
    pub const REQUEUED: Flags = Flags(1 << 8);
    /// A part cut off a longer bio.
    pub const SPLIT: Flags = Flags(1 << 9);
    /// Appends to a zone.
    pub const APPEND: Flags = Flags(1 << 10);

    /// Each alone, with the word that files have for it.
    pub const ALL: [(Flags, &'static str); 11] = [
        (Flags::SYNC, "sync"),
        (Flags::META, "meta"),
        (Flags::FUA, "fua"),
        (Flags::AHEAD, "ahead"),
        (Flags::PREFLUSH, "preflush"),
        (Flags::HEAD, "head"),
        (Flags::MERGED_BACK, "merged_back"),
        (Flags::MERGED_FRONT, "merged_front"),
        (Flags::REQUEUED, "requeued"),
        (Flags::SPLIT, "split"),
        (Flags::APPEND, "append"),
    ];

    /// True when all of `others` are in this set.
    pub const fn has(self, others: Flags) -> bool {
        self.0 & others.0 == others.0
    }

    /// This set with `others` added.
    #[must_use]
    pub const fn with(self, others: Flags) -> Flags {
        Flags(self.0 | others.0)
    }
}

/// One I/O: a bio of the block layer, or a line of a trace that knows requests only.
///
/// A bio that was split is one I/O: it is issued with its first part and completes with its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// When it arrived: queued at the block layer (Q), or the one instant that the format has.
    pub arrival: Nanos,
    /// A: handed on to the device below.
    pub remapped: Stamp,
    /// G: a request was allocated.
    pub allocated: Stamp,
    /// S: the submitter began to sleep for want of a request.
    pub slept: Stamp,
    /// I: inserted into the scheduler.
    pub inserted: Stamp,
    /// M or F: merged into a request.
    pub merged: Stamp,
    /// D: issued to the driver.
    pub issued: Stamp,
    /// C: completed.
    pub completed: Stamp,
    /// Its offset, in bytes from the beginning of its address space.
    pub offset: Bytes,
    /// How long it is.
    pub length: Bytes,
    /// Length of the request that this I/O heads ([`Flags::HEAD`]); 0 for others and where unknown.
    pub request_bytes: Bytes,
    /// Its address space: an index into [`crate::TraceInfo::spaces`].
    pub space: u32,
    /// Number of its task; 0 where unknown.
    pub pid: u32,
    /// CPU that it arrived on; 0 where unknown.
    pub cpu: u16,
    /// Error number of its completion, 0 for none.
    pub error: u16,
    /// Its operation.
    pub kind: Kind,
    /// Its flags.
    pub flags: Flags,
}

impl Io {
    /// An I/O of which only the arrival is known.
    pub const fn arriving(arrival: Nanos, kind: Kind, offset: Bytes, length: Bytes) -> Io {
        Io {
            arrival,
            remapped: Stamp::NONE,
            allocated: Stamp::NONE,
            slept: Stamp::NONE,
            inserted: Stamp::NONE,
            merged: Stamp::NONE,
            issued: Stamp::NONE,
            completed: Stamp::NONE,
            offset,
            length,
            request_bytes: Bytes::ZERO,
            space: 0,
            pid: 0,
            cpu: 0,
            error: 0,
            kind,
            flags: Flags::NONE,
        }
    }

    /// First byte behind it. Saturates: an address beyond all bytes is the format's fault.
    pub const fn end(&self) -> Bytes {
        Bytes(self.offset.0.saturating_add(self.length.0))
    }

    /// Q2C: from arrival to completion.
    pub const fn q2c(&self) -> Option<Nanos> {
        self.completed.since(Stamp::at(self.arrival))
    }

    /// D2C: from issue to completion.
    pub const fn d2c(&self) -> Option<Nanos> {
        self.completed.since(self.issued)
    }
}

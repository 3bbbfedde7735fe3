//! Events that a tracer of the block layer reports, in the life of bios and requests.
//!
//! Recorders and readers of recordings both use these types, so that one converter makes I/Os of them. The actions and
//! traits are those of blktrace (`include/uapi/linux/blktrace_api.h`, version 2), which the kernel's block tracepoints
//! also know.

pub mod record;

use std::fmt;
use std::ops::BitOr;

use serde::{Deserialize, Serialize};

use crate::{Nanos, UnixNanos};

/// A block device as the kernel numbers it (`dev_t` of `include/linux/kdev_t.h`: 12 bits of major, 20 of minor).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct DeviceNumber(pub u32);

impl DeviceNumber {
    /// Of `major` (12 bits) and `minor` (20 bits); what is beyond is cut off.
    pub const fn new(major: u32, minor: u32) -> DeviceNumber {
        DeviceNumber((major << 20) | (minor & 0xf_ffff))
    }

    /// The driver.
    pub const fn major(self) -> u32 {
        self.0 >> 20
    }

    /// The device or partition among those of its driver.
    pub const fn minor(self) -> u32 {
        self.0 & 0xf_ffff
    }
}

impl fmt::Display for DeviceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.major(), self.minor())
    }
}

/// Kind of event. The letter is blkparse's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Q: a bio was handed to the block layer.
    Queue,
    /// M: a bio was merged at the back of a request that waits.
    BackMerge,
    /// F: a bio was merged at the front of a request that waits.
    FrontMerge,
    /// G: a request was allocated for a bio.
    GetRequest,
    /// S: no request was free, the submitter sleeps.
    SleepRequest,
    /// R: a request that was issued came back to be issued again.
    Requeue,
    /// D: a request was issued to the driver.
    Issue,
    /// C: a request (on a stacked device, a bio) completed.
    Complete,
    /// P: a task began to hold its requests back.
    Plug,
    /// U: the requests held back were let go.
    Unplug,
    /// UT: requests were let go by the timer.
    UnplugTimer,
    /// I: a request was inserted into the scheduler.
    Insert,
    /// X: a bio was split.
    Split,
    /// B: a bio's pages were copied to where the device can reach them.
    Bounce,
    /// A: a bio was handed on to the device below, or to the disk of a partition.
    Remap,
    /// A request was aborted.
    Abort,
    /// Words of the driver's own.
    DriverData,
    /// ZP: writes to a zone began to be held back.
    ZonePlug,
    /// ZU: they were let go.
    ZoneUnplug,
}

impl Action {
    /// All of them, in the order of blktrace's numbers, which begin with 1 (`enum blktrace_act`).
    pub const ALL: [Action; 19] = [
        Action::Queue,
        Action::BackMerge,
        Action::FrontMerge,
        Action::GetRequest,
        Action::SleepRequest,
        Action::Requeue,
        Action::Issue,
        Action::Complete,
        Action::Plug,
        Action::Unplug,
        Action::UnplugTimer,
        Action::Insert,
        Action::Split,
        Action::Bounce,
        Action::Remap,
        Action::Abort,
        Action::DriverData,
        Action::ZonePlug,
        Action::ZoneUnplug,
    ];
}

/// Special properties of an event's I/O: a set of blktrace's categories (`BLK_TC_*`), by bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Traits(pub u64);

impl Traits {
    /// Nothing special.
    pub const NONE: Traits = Traits(0);
    /// Reads.
    pub const READ: Traits = Traits(1);
    /// Writes, and whatever changes what the drive holds.
    pub const WRITE: Traits = Traits(1 << 1);
    /// Flushes the drive's cache first; alone when there is no data.
    pub const FLUSH: Traits = Traits(1 << 2);
    /// Somebody waits for it.
    pub const SYNC: Traits = Traits(1 << 3);
    /// Comes from a filesystem or a program, not from the driver.
    pub const FS: Traits = Traits(1 << 8);
    /// A command passed through to the drive (SCSI, NVMe).
    pub const PASSTHROUGH: Traits = Traits(1 << 9);
    /// Read ahead.
    pub const AHEAD: Traits = Traits(1 << 11);
    /// Metadata of a filesystem.
    pub const META: Traits = Traits(1 << 12);
    /// Discards (TRIM, UNMAP).
    pub const DISCARD: Traits = Traits(1 << 13);
    /// Force unit access.
    pub const FUA: Traits = Traits(1 << 15);
    /// Appends to a zone.
    pub const ZONE_APPEND: Traits = Traits(1 << 16);
    /// Resets a zone.
    pub const ZONE_RESET: Traits = Traits(1 << 17);
    /// Resets all zones.
    pub const ZONE_RESET_ALL: Traits = Traits(1 << 18);
    /// Finishes a zone.
    pub const ZONE_FINISH: Traits = Traits(1 << 19);
    /// Opens a zone.
    pub const ZONE_OPEN: Traits = Traits(1 << 20);
    /// Closes a zone.
    pub const ZONE_CLOSE: Traits = Traits(1 << 21);
    /// Writes zeroes without transferring them.
    pub const WRITE_ZEROES: Traits = Traits(1 << 22);

    /// Returns the trait for a letter behind the operation, as the kernel and blkparse write it (`RWBS`); `None` for an
    /// unknown one.
    pub const fn of_flag(letter: u8) -> Option<Traits> {
        Some(match letter {
            b'F' => Traits::FUA,
            b'A' => Traits::AHEAD,
            b'S' => Traits::SYNC,
            b'M' => Traits::META,
            _ => return None,
        })
    }

    /// True when all of `others` are in this set.
    pub const fn has(self, others: Traits) -> bool {
        self.0 & others.0 == others.0
    }
}

impl BitOr for Traits {
    type Output = Traits;

    fn bitor(self, other: Traits) -> Traits {
        Traits(self.0 | other.0)
    }
}

/// Details of an action beyond the common fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extra {
    /// Nothing.
    #[default]
    None,
    /// Unplug: how many requests were let go.
    Requests(u64),
    /// Split: first sector of what was cut off.
    SplitAt(u64),
    /// Remap: where the bio was before.
    From {
        /// The device above.
        device: DeviceNumber,
        /// First sector there.
        sector: u64,
    },
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// When, on the tracer's clock: a monotonic one that all CPUs share as well as they can.
    pub time: Nanos,
    /// First sector, in units of 512 bytes whatever the drive's block is; meaningless where nothing is addressed.
    pub sector: u64,
    /// Length; 0 for a flush without data.
    pub bytes: u32,
    /// The device.
    pub device: DeviceNumber,
    /// The task on whose behalf, or in whose context, it happened.
    pub pid: u32,
    /// The CPU that it happened on.
    pub cpu: u32,
    /// Number of the event among those of its CPU, where the tracer counts: a gap is a loss. 0 where it does not.
    pub sequence: u32,
    /// Kind of event.
    pub action: Action,
    /// Special properties of the I/O.
    pub traits: Traits,
    /// Error number of a completion, 0 for none.
    pub error: u16,
    /// Details of the action.
    pub extra: Extra,
}

/// Message of a tracer between events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TraceNote {
    /// The name of a task.
    Process {
        /// Its number.
        pid: u32,
        /// Its name (`comm`).
        name: String,
    },
    /// A message, such as the mark of a phase.
    Message {
        /// When, on the tracer's clock.
        time: Nanos,
        /// Its text.
        text: String,
    },
    /// Date of an instant on the tracer's clock.
    Clock {
        /// An instant on the tracer's clock.
        time: Nanos,
        /// The same instant as a date.
        unix: UnixNanos,
    },
    /// Events that were lost.
    Lost {
        /// On which CPU, where that is known.
        cpu: Option<u32>,
        /// How many.
        events: u64,
    },
}

/// Receives what a tracer reports.
///
/// Events of one CPU come in the order of their time; events of several come interleaved, and the tracer states by how
/// much one may be late. Notes may come before or after the events they describe.
pub trait TraceSink {
    /// Takes a batch of events.
    fn events(&mut self, events: &[TraceEvent]);

    /// Takes a note.
    fn note(&mut self, note: TraceNote);
}

//! I/O requests, and the drives that serve them.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Bytes, Nanos, Time};

/// Operation of an I/O. Force unit access is a property of a write or read, see [`Request::fua`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Transfer from the drive.
    Read,
    /// Transfer to the drive.
    Write,
    /// Make all completed writes durable; carries no address.
    Flush,
    /// Mark a range as holding nothing worth keeping (TRIM, UNMAP).
    Discard,
}

impl Op {
    /// `read`, `write`, `flush` or `discard`.
    pub fn word(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Flush => "flush",
            Op::Discard => "discard",
        }
    }
}

/// One I/O to be issued.
///
/// At most one request is outstanding per (submitter, slot); the slot names the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The operation.
    pub op: Op,
    /// Force unit access: complete only when the medium holds (or delivered) the data.
    pub fua: bool,
    /// Logical submitter, `0..LaneSetup::submitters`.
    pub submitter: u16,
    /// Position in the submitter's queue, `0..LaneSetup::depth`.
    pub slot: u16,
    /// Offset in bytes from the target's beginning.
    pub offset: Bytes,
    /// Bytes to transfer; zero for a flush.
    pub len: Bytes,
}

/// Result of one [`Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request's submitter.
    pub submitter: u16,
    /// The request's slot.
    pub slot: u16,
    /// When the request was handed to the drive: read right before the kernel was entered with it.
    pub issued: Time,
    /// When its completion was seen.
    pub completed: Time,
    /// Bytes transferred, or the error.
    pub outcome: Outcome,
}

/// An error number as the kernel gives it (`errno`, positive).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Errno(pub i32);

impl Errno {
    /// Input/output error (`EIO`), the word for a medium or transport that failed.
    pub const IO: Errno = Errno(5);
    /// No such device or address (`ENXIO`).
    pub const NO_DEVICE: Errno = Errno(6);
    /// No such device (`ENODEV`), the kernel's word for one that it has taken off line.
    pub const OFFLINE: Errno = Errno(19);
    /// No data available (`ENODATA`), the kernel's word for a medium error (Linux: `blk_errors` in `block/blk-core.c`).
    pub const MEDIUM: Errno = Errno(61);
    /// Remote I/O error (`EREMOTEIO`), the kernel's word for a command that the drive refused.
    pub const REFUSED: Errno = Errno(121);
}

impl std::fmt::Display for Errno {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", std::io::Error::from_raw_os_error(self.0))
    }
}

/// The kernel's one-word result of an I/O: bytes transferred, or a negative error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome(pub i32);

impl Outcome {
    /// Bytes transferred.
    ///
    /// # Errors
    /// The error number that the drive answered with.
    pub fn bytes(self) -> Result<Bytes, Errno> {
        if self.0 >= 0 {
            Ok(Bytes(u64::from(self.0.unsigned_abs())))
        } else {
            Err(Errno(self.0.saturating_neg()))
        }
    }
}

/// Kind of the target that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriveKind {
    /// A block device.
    BlockDevice,
    /// A regular file on some filesystem.
    File,
    /// A model in virtual time.
    Virtual,
    /// Nothing: completes at once and costs only what the tester itself costs.
    Null,
}

/// Policy of a drive for completed writes: volatile or durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteCache {
    /// Completed writes may still be volatile.
    WriteBack,
    /// A completed write is durable.
    WriteThrough,
}

/// Description of a drive before anything is issued to it. `None` means that the drive does not report the value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriveInfo {
    /// The target as the user named it.
    pub name: String,
    /// Kind of the target.
    pub kind: DriveKind,
    /// Model as the drive states it.
    pub model: Option<String>,
    /// Serial number as the drive states it.
    pub serial: Option<String>,
    /// Size of what can be addressed.
    pub capacity_bytes: Bytes,
    /// Unit of addressing: offsets and lengths are multiples of it.
    pub logical_block_bytes: Bytes,
    /// Unit the drive prefers.
    pub physical_block_bytes: Bytes,
    /// True for a disk that turns.
    pub rotational: Option<bool>,
    /// State of the volatile write cache.
    pub write_cache: Option<WriteCache>,
    /// DRAM that can serve reads again.
    pub cache_bytes: Option<Bytes>,
    /// Ceiling of the link to the host, in bytes per second.
    pub link_bytes_per_s: Option<u64>,
}

/// Content of the writes of one submitter.
///
/// Called for the writes in the order of their issue, before each is issued, on the thread that issues
/// it.
pub trait Payload: Send {
    /// Prepares `buffer` to be written at `offset`. The buffer may hold what an earlier call left there.
    ///
    /// A write may be prepared in several calls, each for the part that follows, and each but the last a
    /// multiple of 4 KiB long. The content is the same as in one call.
    fn fill(&mut self, offset: Bytes, buffer: &mut [u8]);

    /// Keeps this state, between two writes, for [`Payload::rewind`], instead of the one kept before.
    /// Content that is a function of the offset alone has none and needs neither.
    fn mark(&mut self) {}

    /// Returns to the state that was kept: what was prepared since is of a write that did not come, and
    /// the next call makes what it would have made without it.
    fn rewind(&mut self) {}

    /// A copy, where the content is a function of the offset alone: a drive that keeps content can keep this instead.
    /// Then any multiple of 512 bytes can be made by itself.
    fn by_offset(&self) -> Option<Box<dyn Payload>> {
        None
    }
}

/// Requirements of one step on a drive.
pub struct LaneSetup<'a> {
    /// Count of logical submitters.
    pub submitters: u16,
    /// Slots of each submitter: the most requests it ever has outstanding.
    pub depth: u16,
    /// Largest transfer.
    pub block_bytes_max: Bytes,
    /// Makes the content of a submitter's writes; `None` when the step does not write.
    pub payload: Option<&'a dyn Fn(u16) -> Box<dyn Payload>>,
    /// Most memory for the buffers of all submitters together. Where a buffer of the largest transfer for each slot
    /// is more than this, they share what there is, and [`Drive::has_room`] is false when it is used up. Each submitter
    /// always has memory for two of the largest transfers, which it cannot do without.
    pub buffer_bytes_max: Bytes,
    /// How instants are waited for.
    pub waiting: Waiting,
}

impl Default for LaneSetup<'_> {
    /// One submitter with one slot that transfers nothing, with as much memory as it asks for.
    fn default() -> Self {
        LaneSetup {
            submitters: 1,
            depth: 1,
            block_bytes_max: Bytes::ZERO,
            payload: None,
            buffer_bytes_max: Bytes(u64::MAX),
            waiting: Waiting::Sleep,
        }
    }
}

/// How [`Drive::wait_until`] waits for an instant. In virtual time there is no difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// Asleep until then: late by what the machine takes to wake a thread, commonly tens of microseconds.
    #[default]
    Sleep,
    /// Asleep until shortly before, then looking at the clock again and again. How shortly is learned from how late
    /// the machine wakes the thread.
    SleepThenSpin,
    /// Looking at the clock all the time: exact, and it takes a CPU for each submitter.
    Spin,
}

/// The thing that the user named, which opens [`Drive`]s for the submitters of a step.
///
/// Real targets give a drive (a ring, a thread's worth) to each submitter; virtual targets give one
/// drive that serves them all, ordered by (time, submitter, sequence).
pub trait Target {
    /// Type of the drives that this target opens.
    type Drive<'a>: Drive
    where
        Self: 'a;

    /// Returns the description of the target.
    fn info(&self) -> &DriveInfo;

    /// The current instant, on the clock that all drives of this target share.
    fn now(&self) -> Time;

    /// Lets `span` go by with nothing issued.
    fn pause(&mut self, span: Nanos);

    /// Says where a slower way than the one asked for was taken so far, and what the kernel refused.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Opens drives for `setup.submitters` submitters: either that many, each serving the submitter
    /// of its position, or exactly one that serves all.
    ///
    /// # Errors
    /// [`DriveError`] when the target cannot be opened or its resources cannot be had.
    fn open<'a>(&'a mut self, setup: &LaneSetup<'_>) -> Result<Vec<Self::Drive<'a>>, DriveError>;

    /// As [`Target::open`], for callers that look at the data of reads ([`Drive::data`]). A target that keeps data
    /// anyway need not do anything; one that only keeps time begins to keep what is written through such drives.
    ///
    /// # Errors
    /// As [`Target::open`].
    fn open_for_data<'a>(
        &'a mut self,
        setup: &LaneSetup<'_>,
    ) -> Result<Vec<Self::Drive<'a>>, DriveError> {
        self.open(setup)
    }
}

/// A drive: serves requests and owns the clock. Nothing else sleeps or reads a monotonic clock.
pub trait Drive: Send {
    /// Called once, on the thread that will issue the requests, before the first one: the place to
    /// bind to that thread and to touch every buffer.
    ///
    /// # Errors
    /// [`DriveError::Setup`] when a resource cannot be had.
    fn attach(&mut self) -> Result<(), DriveError> {
        Ok(())
    }

    /// The current instant.
    fn now(&self) -> Time;

    /// Takes requests. They are issued at the latest by the next [`Drive::wait_until`], in order.
    ///
    /// # Errors
    /// [`DriveError`] when the drive as a whole fails; the failure of one request is its [`Outcome`].
    fn submit(&mut self, requests: &[Request]) -> Result<(), DriveError>;

    /// True when there is memory for one more request with a transfer of `len`, besides those that were taken and
    /// have not completed. Always true for at least one request, and always where
    /// [`LaneSetup::buffer_bytes_max`] does not limit it.
    fn has_room(&self, _len: Bytes) -> bool {
        true
    }

    /// Announces the next write, whatever requests other than writes are submitted before it, so that its
    /// content can be made while other requests are outstanding. A hint: a drive may ignore it, and
    /// the write may never come. Called between [`Drive::submit`] and [`Drive::wait_until`], again with
    /// the same write until it was submitted. `next.slot` means nothing yet.
    fn foresee(&mut self, _next: &Request) {}

    /// Returns the data of the last read of `slot`, from its first byte on; perhaps longer than the read, then with
    /// meaningless bytes at the end. Call it when the read has completed and before the slot is used again. `None` from
    /// a drive that has no data, such as one that only keeps time.
    fn data(&self, _slot: u16) -> Option<&[u8]> {
        None
    }

    /// Issues what was taken, then returns as soon as at least one request has completed, or at
    /// `until` (then possibly with none); completions are appended to `done` in the order seen.
    /// With nothing outstanding it returns at `until`. Returns the current instant.
    ///
    /// On a real drive a signal may end the wait early, with none, and so may, rarely, what the kernel does on the
    /// thread's behalf, such as taking apart a ring that was closed before. A caller that waits for something checks
    /// whether it has come, and waits again.
    ///
    /// # Errors
    /// [`DriveError`] when the drive as a whole fails.
    fn wait_until(&mut self, until: Time, done: &mut Vec<Completion>) -> Result<Time, DriveError>;
}

/// Why a drive cannot go on.
#[derive(Debug, Error)]
pub enum DriveError {
    /// A resource or a mode could not be had.
    #[error("{target}: cannot {action}: {source}{}", hint(.remedy))]
    Setup {
        /// The target as the user named it.
        target: String,
        /// Action that failed, as the end of "cannot …".
        action: String,
        /// The kernel's answer.
        source: std::io::Error,
        /// Advice to the user; empty when nothing better than the message is known.
        remedy: String,
    },
    /// The target does not do this operation.
    #[error("{target}: {op:?} is not supported: {why}")]
    Unsupported {
        /// The target as the user named it.
        target: String,
        /// The operation.
        op: Op,
        /// Why, and what to use instead.
        why: String,
    },
}

fn hint(remedy: &str) -> String {
    if remedy.is_empty() { String::new() } else { format!(" ({remedy})") }
}

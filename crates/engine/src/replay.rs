//! Requests issued at their own times, or as soon as few enough are outstanding: an open loop.
//!
//! [`replay`] takes requests from a [`Feed`], which a thread of its own reads ahead, and hands them to the drive by a
//! schedule that is absolute on the drive's clock: what is late delays nothing that follows. Each submitter claims the
//! next request in the order of the feed as soon as it has a slot for it, waits for its time and issues it; it waits for
//! no completion but those that free a slot or make the room that the request asks for. So overload shows as lag, in
//! [`Replayed::ready`] and [`Replayed::issued`], and the schedule is not stretched.

mod lane;
mod ledger;
mod queue;
mod run;
mod teller;

use block::{Bytes, Nanos, Op, Outcome, Snapshot, Time, Waiting};
use workload::plan::Content;

use crate::samples::Failure;

pub use run::replay;

/// One request of a replay, and what it waits for.
///
/// It is issued as soon as its time has come *and* no more than `room` is outstanding. So a timed replay has all
/// room, a replay at fixed depth has no time, and one that holds the original's load has both or either.
///
/// A request that waits for room holds up all that follow it; one that waits for its time alone holds up none whose time
/// has come, as long as there is another submitter to issue it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Not before this, since the replay's start.
    pub at: Nanos,
    /// Most that may be outstanding just before it is issued, as a sum of weights; [`Planned::ALL_ROOM`] for no limit.
    pub room: u64,
    /// Its weight while it is outstanding.
    pub weight: u64,
    /// The operation.
    pub op: Op,
    /// Force unit access.
    pub fua: bool,
    /// Offset on the target.
    pub offset: Bytes,
    /// Length; zero for a flush.
    pub len: Bytes,
}

impl Planned {
    /// The [`Planned::room`] of a request that waits for its time alone.
    pub const ALL_ROOM: u64 = u64::MAX;

    /// Placeholder where there is none yet.
    pub(crate) const NOTHING: Planned = Planned {
        at: Nanos::ZERO,
        room: 0,
        weight: 0,
        op: Op::Flush,
        fua: false,
        offset: Bytes::ZERO,
        len: Bytes::ZERO,
    };
}

/// Result of a [`Planned`]. Instants are since the replay's start, on the drive's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Its number in the order of the plan, from 0.
    pub seq: u64,
    /// Index of the submitter that issued it.
    pub submitter: u16,
    /// The request as planned.
    pub planned: Planned,
    /// When it could have been issued: its time had come, there was room, and a slot was free. What lies between this
    /// and [`Replayed::issued`] is the replayer's, and on a virtual drive nothing.
    pub ready: Nanos,
    /// True when for want of a slot, or of memory for its buffer, it could not be issued when its time and room had
    /// come.
    pub no_slot: bool,
    /// When it was issued.
    pub issued: Nanos,
    /// When its completion was seen.
    pub completed: Nanos,
    /// Bytes transferred, or the error.
    pub outcome: Outcome,
}

/// Source of requests, in their order.
///
/// It is read ahead of the replay, on a thread of its own: the place to decode, map and repair.
pub trait Feed: Send {
    /// Appends the requests that follow, at most `most`, to `out`; their times do not decrease. None appended is the
    /// end.
    ///
    /// # Errors
    /// Returns an error if it cannot continue; the replay then ends with
    /// [`EngineError::Feed`](crate::EngineError::Feed), when the requests already issued have completed.
    fn fill(&mut self, most: usize, out: &mut Vec<Planned>) -> Result<(), FeedError>;
}

/// Why a feed could not go on, in its own words.
pub type FeedError = Box<dyn std::error::Error + Send + Sync>;

/// How a replay is done, besides what its feed says.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Submitters that share the requests, at least 1: on a real drive a thread and a queue each.
    pub submitters: u16,
    /// Slots of each submitter, at least 1: the most requests that it ever has outstanding.
    pub slots: u16,
    /// Largest transfer that the feed will ask for; a larger one ends the replay with an error of the drive.
    pub block_bytes_max: Bytes,
    /// Most memory for buffers; see [`block::LaneSetup::buffer_bytes_max`].
    pub buffer_bytes_max: Bytes,
    /// Content of writes; `None` refuses them.
    pub content: Option<Content>,
    /// Of the content.
    pub seed: u64,
    /// How instants are waited for.
    pub waiting: Waiting,
    /// How many I/Os may fail: the replay ends early when one more does.
    pub errors_max: u64,
}

impl Default for Setup {
    /// One submitter with 1,024 slots for transfers of up to 1 MiB in 256 MiB of memory; reads only; asleep, then
    /// spinning; no I/O may fail.
    fn default() -> Self {
        Setup {
            submitters: 1,
            slots: 1024,
            block_bytes_max: Bytes::mib(1),
            buffer_bytes_max: Bytes::mib(256),
            content: None,
            seed: 0,
            waiting: Waiting::SleepThenSpin,
            errors_max: 0,
        }
    }
}

/// How a replay came to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// Why.
    pub reason: Reason,
    /// Its first instant, on the drive's clock: the zero of all instants in [`Planned`] and [`Replayed`].
    pub start: Time,
    /// From then until the last completion.
    pub elapsed: Nanos,
    /// Requests issued; each was reported to the sink once.
    pub issued: u64,
    /// How many of them failed, or transferred less than asked.
    pub errors: u64,
    /// The first that did, in the order in which it was seen.
    pub failure: Option<Failure>,
    /// Time that submitters had a slot free and no request to wait for, because the feed was not read fast enough.
    pub starved: Nanos,
    /// Time that submitters waited because the sink had not taken their reports.
    pub unheard: Nanos,
    /// Counters before the first request.
    pub before: Snapshot,
    /// Counters after the last completion.
    pub after: Snapshot,
}

/// Why a replay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// All requests of the feed are done.
    Complete,
    /// The user wanted it.
    Cancelled,
    /// More I/Os failed than may.
    Errors,
}

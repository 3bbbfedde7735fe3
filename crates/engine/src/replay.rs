//! Requests issued at their own times, or as soon as few enough are outstanding: an open loop.

use block::{Bytes, Nanos, Op, Outcome};

/// One request of a replay, and what it waits for.
///
/// It is issued as soon as its time has come *and* no more than `room` is outstanding. So a timed replay has all
/// room, a replay at fixed depth has no time, and one that holds the original's load has both or either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Not before this, since the replay's start.
    pub at: Nanos,
    /// Most that may be outstanding just before it is issued, as a sum of weights.
    pub room: u64,
    /// What it counts while it is outstanding.
    pub weight: u64,
    /// What it does.
    pub op: Op,
    /// Force unit access.
    pub fua: bool,
    /// Where, on the target.
    pub offset: Bytes,
    /// How much; zero for a flush.
    pub len: Bytes,
}

/// What became of a [`Planned`]. Instants are since the replay's start, on the drive's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Its number in the order of the plan, from 0.
    pub seq: u64,
    /// Who issued it.
    pub submitter: u16,
    /// What was planned.
    pub planned: Planned,
    /// When it could have been issued: its time had come, there was room, and a slot was free.
    pub ready: Nanos,
    /// True when for want of a slot it could not be issued when its time and room had come.
    pub no_slot: bool,
    /// When it was issued.
    pub issued: Nanos,
    /// When its completion was seen.
    pub completed: Nanos,
    /// Bytes transferred, or the error.
    pub outcome: Outcome,
}

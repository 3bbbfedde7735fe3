//! Interface of device models to the engine.

use block::{Bytes, Op, Outcome, Time};
use serde::Serialize;

/// One command as a device sees it: inside its capacity, aligned to its logical block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Command {
    /// The engine's name for it; no two commands that are under way have the same.
    pub(crate) tag: u64,
    /// The operation.
    pub(crate) op: Op,
    /// Force unit access.
    pub(crate) fua: bool,
    /// First byte.
    pub(crate) offset: u64,
    /// Count of bytes; zero for a flush.
    pub(crate) len: u64,
}

impl Command {
    /// One beyond its last byte.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.len
    }

    /// The kernel's result when all of it went well.
    pub(crate) fn success(&self) -> Outcome {
        Outcome(i32::try_from(self.len).unwrap_or(i32::MAX))
    }
}

/// A command that a device is done with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finished {
    /// [`Command::tag`].
    pub(crate) tag: u64,
    /// When the host saw it.
    pub(crate) at: Time,
    /// How it went.
    pub(crate) outcome: Outcome,
}

/// Traffic between the medium and the device's own memory. The truth that proofs and probes are scored against:
/// no host can count it from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MediaCounters {
    /// Bytes taken off the medium, read-ahead included.
    pub medium_read_bytes: Bytes,
    /// Bytes put onto the medium: what is programmed, whole pages of all planes, with whatever fills them up.
    pub medium_write_bytes: Bytes,
    /// Bytes of host reads that were in the device's memory when their command was decoded.
    pub cache_served_read_bytes: Bytes,
    /// Bytes of host reads that waited for the medium.
    pub medium_served_read_bytes: Bytes,
    /// Bytes of host writes that were complete once they were in the device's memory.
    pub cache_taken_write_bytes: Bytes,
    /// Bytes of host writes that waited for the medium (force unit access, write-through).
    pub medium_served_write_bytes: Bytes,
    /// Accesses to the medium that had to move the arm or change the head.
    pub seeks: u64,
    /// Turns lost because the servo had not settled when the sector came by.
    pub lost_turns: u64,
    /// Bytes that the host wrote, as the drive took them.
    pub host_write_bytes: Bytes,
    /// Bytes of `medium_write_bytes` that the drive moved to gain free blocks.
    pub copied_bytes: Bytes,
    /// Bytes of `medium_write_bytes` that moved from cells with one bit to cells with all bits.
    pub folded_bytes: Bytes,
    /// Blocks erased.
    pub erases: u64,
}

/// A model of a device: takes commands, and says what happens next.
///
/// Time is the engine's. A model never looks ahead of the instant that it is advanced to, and draws
/// its noise in the order of its own events, so that one seed gives one history.
pub(crate) trait Device: Send {
    /// True when the device does `op` at all.
    fn supports(&self, op: Op) -> bool;

    /// True when `command` may be handed over now: a queue slot is free, and it needs no drained queue.
    fn admits(&self, command: &Command) -> bool;

    /// Takes an admitted command at `now`. It finishes later than `now`, never at once: a closed
    /// loop over it must not spin without time going by.
    fn accept(&mut self, command: Command, now: Time);

    /// When something next happens inside, with or without commands.
    fn next_event(&self) -> Option<Time>;

    /// Lets everything up to and including `to` happen; finished commands are appended in the order
    /// of their time.
    fn advance(&mut self, to: Time, finished: &mut Vec<Finished>);

    /// Lets everything happen up to and including the first instant at which a command finishes, if that is not
    /// later than `until`; returns the instant that it stopped at. What a device whose events are many and small
    /// does for itself: the engine then looks at it once for each command.
    fn advance_to_first(&mut self, until: Time, finished: &mut Vec<Finished>) -> Time {
        while let Some(at) = self.next_event()
            && at <= until
        {
            self.advance(at, finished);
            if !finished.is_empty() {
                return at;
            }
        }
        until
    }

    /// True when the medium holds data at `offset`, where the model knows that.
    fn holds(&self, _offset: u64) -> bool {
        false
    }

    /// True for a drive that reports how much the host wrote and how much its medium took (NVMe's endurance group
    /// log, a SATA drive's SMART attributes).
    fn tells_endurance(&self) -> bool {
        false
    }

    /// Restarts the noise from `seed`.
    fn reseed(&mut self, seed: u64);

    /// Returns the traffic so far.
    fn media(&self) -> MediaCounters;
}

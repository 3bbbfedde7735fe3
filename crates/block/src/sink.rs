//! Events of a run in progress, and the clock that gives the date.

use std::fmt;

use serde::Serialize;

use crate::{Bytes, Nanos, Time};

/// Something that happened in a run. Progress, recorders and live views all read this one stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Work before the first step, such as filling a test file; repeated as it advances.
    Preparing {
        /// Current work, as a participle phrase (`writing the test file`).
        what: String,
        /// Done so far.
        done_bytes: Bytes,
        /// Of how many.
        total_bytes: Bytes,
    },
    /// A run of a step begins.
    StepStarted {
        /// Position in the schedule, from 0.
        position: u32,
        /// Count of positions known so far; grows under a stop rule.
        positions: u32,
        /// The step's name.
        step: String,
        /// Number of the repetition of the step, from 0.
        run: u32,
        /// How long it is meant to take, where its stop rule says so.
        planned: Option<Nanos>,
    },
    /// A phase of the step begins.
    PhaseStarted {
        /// The phase's name.
        phase: String,
        /// True when its samples count.
        measured: bool,
    },
    /// Completions of one submitter group in one slice of time.
    Interval {
        /// End of the slice, since the step began.
        at: Nanos,
        /// Length of the slice.
        length: Nanos,
        /// I/Os completed in it.
        ios: u64,
        /// Bytes transferred in it.
        bytes: Bytes,
    },
    /// The step's run is over.
    StepFinished {
        /// Position in the schedule, from 0.
        position: u32,
        /// I/Os completed in measured phases.
        ios: u64,
        /// Bytes transferred in measured phases.
        bytes: Bytes,
        /// Length of the measured phases.
        duration: Nanos,
    },
    /// Nothing is issued for a while, on purpose.
    Pausing {
        /// For how long.
        span: Nanos,
        /// The instant it began.
        since: Time,
    },
}

/// Receives each [`Event`]. Implementations never block the measuring thread for long and never fail it:
/// the owner of the sink keeps an error and returns it.
pub trait RunSink {
    /// Takes note of `event`.
    fn event(&mut self, event: &Event);
}

/// A sink that takes no note.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSink;

impl RunSink for NullSink {
    fn event(&mut self, _: &Event) {}
}

/// Nanoseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct UnixNanos(pub i128);

impl fmt::Debug for UnixNanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns since 1970", self.0)
    }
}

/// Returns the date. Measurement never uses it; records and file names do.
pub trait WallClock {
    /// The date and time now.
    fn now(&self) -> UnixNanos;
}

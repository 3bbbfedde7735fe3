//! How a trace is to be replayed, as data.

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// How a trace is to be replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Rule for the instant of a request's issue.
    pub mode: Mode,
    /// Instant of the original that is a request's time.
    pub clock: Clock,
    /// Only what arrived at or after this, since the trace's origin.
    pub from: Nanos,
    /// Only what arrived before this, since the trace's origin.
    pub until: Option<Nanos>,
    /// How often the trace is replayed, at least 1. Each time the addresses are the same, and the times go on.
    pub loops: u32,
    /// How several address spaces come to lie on one target.
    pub layout: Layout,
    /// Treatment of addresses that may lie beyond the target.
    pub fit: Fit,
    /// First byte of the part of the target that is used; a multiple of its logical block.
    pub start: Bytes,
    /// Length of the part of the target that is used; `None` for all behind [`Options::start`].
    pub span: Option<Bytes>,
    /// Treatment of writes.
    pub writes: Writes,
    /// Whether discards are issued. They destroy data as writes do.
    pub discards: bool,
}

impl Default for Options {
    /// Timed, from Q, all of it, once, several spaces packed, addresses as they are, reads only.
    fn default() -> Self {
        Options {
            mode: Mode::Timed,
            clock: Clock::Queue,
            from: Nanos::ZERO,
            until: None,
            loops: 1,
            layout: Layout::Packed,
            fit: Fit::Identity,
            start: Bytes::ZERO,
            span: None,
            writes: Writes::LeaveOut,
            discards: false,
        }
    }
}

/// Rule for the instant of a request's issue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Its time in the original, on an absolute schedule; nothing waits for a completion.
    Timed,
    /// As soon as no more is outstanding than the original had just before it.
    Outstanding(Count),
    /// As soon as fewer than this many are outstanding, at least 1.
    Afap(u32),
    /// Its time in the original, stretched.
    Scaled(Scale),
}

/// Unit in which an outstanding replay counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Count {
    /// Blocks of 512 bytes that reads and writes transfer. Flushes and discards transfer nothing and count nothing.
    #[default]
    Blocks,
    /// I/Os, each one.
    Ios,
}

/// How time is stretched.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scale {
    /// Times are multiplied by it: 2 takes twice as long, at half the rate. Above 0, at most 10^6.
    pub factor: f64,
    /// Longest idle time that is left, after it was stretched.
    pub idle_max: Option<Nanos>,
    /// Only idle times are stretched, and the rest stays as it was.
    pub idle_only: bool,
}

impl Scale {
    /// All times are multiplied by `factor`.
    pub const fn by(factor: f64) -> Scale {
        Scale { factor, idle_max: None, idle_only: false }
    }
}

/// Instant of the original that is a request's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Q, its arrival: each bio is a request of its own.
    #[default]
    Queue,
    /// D, its issue to the driver: each request of the original is one, with all that was merged into it.
    Issue,
}

/// How several address spaces come to lie on one target. A trace of one space keeps its addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// One behind the other, each from the first to the last address that was used, in whole MiB.
    #[default]
    Packed,
    /// One behind the other, each as large as the source says, or as its last address where it does not.
    SideBySide,
    /// All from the same beginning, over each other.
    Overlaid,
    /// Each from the byte that is named for it; all spaces that are used must be named.
    At(Vec<(String, Bytes)>),
}

/// Treatment of addresses that may lie beyond the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// They stay as they are, and a trace that does not fit is refused.
    #[default]
    Identity,
    /// They wrap around at the end of the target: the remainder.
    Wrap,
    /// They are squeezed or stretched, a MiB at a time, so that their ends meet the target's.
    Scale,
    /// MiB are permuted by a seed. No two meet where the trace is not longer than the target; else each MiB of the
    /// target gets as many as any other, give or take one.
    Hash {
        /// Of the permutation.
        seed: u64,
    },
}

/// Treatment of writes, and of flushes, which have no effect without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writes {
    /// They are left out, and counted.
    #[default]
    LeaveOut,
    /// They are issued: the owner of the target has consented.
    Issue,
    /// They are issued as reads of the same place. The load is another one, and the result says so.
    AsReads,
}

//! Area and result of the cache probe, as they are stored in the body of a mark.

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use workload::plan::{Address, Phase, Region};

/// Result of the cache probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Answer.
    pub answer: Answer,
    /// Why, in one sentence without a full stop.
    pub reason: String,
    /// Runs of neighbouring blocks, read again from their beginning.
    pub in_sequence: Held,
    /// Blocks far apart, read again in the order of their last use.
    pub scattered: Held,
    /// Bytes that were read to find out.
    pub read_bytes: Bytes,
    /// Time that it took.
    pub took_ns: Nanos,
}

/// Whether there is a cache that makes reads faster the second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Yes: some data came faster when it was read again.
    Seen,
    /// No: reading again took more than half as long, however soon.
    NoneSeen,
    /// The reads do not decide it.
    Undecided,
}

impl Answer {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Answer::Seen => "seen",
            Answer::NoneSeen => "none seen",
            Answer::Undecided => "undecided",
        }
    }
}

/// How much a cache holds of data that were read in one way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The most that was served again; null when nothing was.
    pub served_bytes: Option<Bytes>,
    /// The least, above that, which was not; null when none was tried, or none was clear.
    pub not_served_bytes: Option<Bytes>,
    /// Each amount that was tried.
    pub looks: Vec<Look>,
}

/// One amount of data, read and read again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Different data between a read and the next of the same block, that block included.
    pub bytes: Bytes,
    /// Time of the second read per time of the first: the middle of the pairs.
    pub ratio: f64,
    /// Lower end of its interval, which allows for all looks together.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// Verdict.
    pub served: Served,
}

/// Whether reads were served again by a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Served {
    /// They took less time, and maybe less than half of it.
    Yes,
    /// They took more than half of the time.
    No,
    /// Neither can be said.
    Unclear,
}

impl Found {
    /// How much is held of what `phase` reads.
    pub(crate) fn held(&self, phase: &Phase) -> &Held {
        let scattered = phase.address.is_random()
            || matches!(phase.address, Address::Strided { .. } | Address::Aligned { .. });
        if scattered { &self.scattered } else { &self.in_sequence }
    }

    /// The least that no cache was seen to hold, in whichever way it was read; `None` where that is not known.
    pub(crate) fn beyond(&self) -> Option<Bytes> {
        Some(self.in_sequence.not_served_bytes?.max(self.scattered.not_served_bytes?))
    }
}

/// Area that the cache probe reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// The part of the target that is read in.
    pub region: Region,
    /// True when a cache may hold much of it since the runs: what is as fast the first time as the second says nothing then.
    pub may_be_held: bool,
}

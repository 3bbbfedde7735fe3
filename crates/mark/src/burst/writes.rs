//! Burst and sustained writes of a test, as its body has them.

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use stats::Quantity;

/// Burst and sustained rate of a test of writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Writes {
    /// When a write counts as complete.
    pub safety: Safety,
    /// Rate before the knee, in MB/s (10^6 bytes per second); null without a series. Without a knee it is the rate of all
    /// windows, whether a burst or not.
    pub burst_mb_s: Option<Quantity>,
    /// Rate after the knee, in MB/s; null without one.
    pub sustained_mb_s: Option<Quantity>,
    /// Bytes that all runs had written when the rate fell for good, since the first of them began, or, where each run begins
    /// with as much of a burst again, since that run did; null when it did not.
    pub until_knee_bytes: Option<Quantity>,
    /// The rate that the test's numbers are, as far as its runs show it; absent where they do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shown: Option<Shown>,
    /// Bytes that the counted runs of the test wrote, warm-ups among them.
    #[serde(default)]
    pub written_bytes: Bytes,
    /// Time without I/O before the first run of the test.
    #[serde(default)]
    pub idle_ns: Nanos,
    /// Why something is null; absent when nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Rates of a drive that numbers of writes can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// The first rate: nothing shows that more was written than memory, cells with one bit or empty blocks can take.
    Burst,
    /// The rate that lasts: more was written than memory, cells with one bit or empty blocks can take.
    Sustained,
}

/// When a write counts as complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Safety {
    /// When the drive has it, maybe in a volatile cache.
    Cached,
    /// When a power cut could not take it any more.
    Durable,
}

impl Safety {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Safety::Cached => "cached",
            Safety::Durable => "durable",
        }
    }
}

//! Announcement of a run: what it does and costs, as far as that is known before it begins.

use block::Bounds;
use serde::{Deserialize, Serialize};

/// Plan, cost and known doubts of a run, stated before anything is issued.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Announced {
    /// The target as the user named it.
    pub target: String,
    /// The drive below it, in words.
    pub drive: String,
    /// The work, in words.
    pub work: String,
    /// Time on the drive's clock, in nanoseconds.
    pub time_ns: Bounds,
    /// Work whose time is not known and not among it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub time_besides: Vec<String>,
    /// True where that clock is not ours: a virtual drive takes as long as it takes to compute it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_virtual: bool,
    /// Bytes that are read.
    pub read_bytes: Bounds,
    /// Bytes that are written, those of a test file among them.
    pub written_bytes: Bounds,
    /// Size of the drive that is written to, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive_bytes: Option<u64>,
    /// Doubts about the result that are known beforehand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

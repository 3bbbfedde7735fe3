//! The body of `survey --json`: a contract. Fields keep their names and units.

use block::{Bytes, DriveInfo, Nanos, Stack};
use serde::{Deserialize, Serialize};
use stats::Caveat;

use crate::conclusion::Conclusion;
use crate::sort::Sort;

/// Everything that a survey found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// Target of the survey.
    pub target: DriveInfo,
    /// Layers that the I/O passed through.
    pub stack: Stack,
    /// Why this target was taken, when the user named none.
    pub chosen: Option<String>,
    /// For what the parts and their order were chosen: what the target says of itself.
    pub sort: Sort,
    /// Settings.
    pub setup: Setup,
    /// The parts that were made, in order. Their runs are in the envelope's `parts`, in the same order, where they are
    /// recorded.
    pub parts: Vec<Part>,
    /// Conclusions.
    pub conclusions: Vec<Conclusion>,
    /// Questions that were not examined.
    pub not_looked_at: Vec<LeftOut>,
    /// Doubts of all parts, each with cause and remedy.
    pub caveats: Vec<Caveat>,
    /// True when it was ended before its last part.
    pub interrupted: bool,
}

/// Settings that a reader needs to compare two results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// How long it might take, on the drive's clock.
    pub time_budget_ns: Nanos,
    /// True when the target might be overwritten.
    pub may_write: bool,
    /// How much it might write.
    pub write_budget_bytes: Bytes,
    /// Root seed; each part has it.
    pub seed: u64,
}

/// A part that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// `mark`, `probe`, `surface`, `capacity`, `speed-class`, `wsat`.
    pub part: String,
    /// The command that makes it again.
    pub command: String,
    /// Why it was made.
    pub why: String,
}

/// Question that was not examined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Finding that the survey would have made.
    pub what: String,
    /// Why it was left out.
    pub why: String,
    /// The flag or command that would examine it; null if there is none.
    pub remedy: Option<String>,
}

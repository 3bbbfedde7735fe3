//! Evidence from writes for a part with one bit a cell.

use serde::{Deserialize, Serialize};

use super::fill::{Drop, Fill, Plateau};
use super::ring;

/// Evidence for the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Small writes going round erase blocks.
    pub rings: Vec<ring::Run>,
    /// Writing in order.
    pub fill: Fill,
    /// Its stretches of one speed.
    pub plateaus: Vec<Plateau>,
    /// Permanent slowdowns, in order; the first may be where memory was full.
    pub drops: Vec<Drop>,
    /// Recoveries after pauses.
    pub recovery: Vec<Recovery>,
    /// The limit that ended it, if one did.
    pub limit: Option<String>,
}

/// Recovery of the fast speed after a pause.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recovery {
    /// The pause.
    pub idle_ns: u64,
    /// Written after it.
    pub written_bytes: u64,
    /// How much of it, from the first byte on, was nearer to the fast speed than to the slow one.
    pub fast_bytes: u64,
}

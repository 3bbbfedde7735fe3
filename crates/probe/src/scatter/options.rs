//! Options of a scatter and their defaults.

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Options of a scatter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// 2^order places are read from the beginning on, 8 to 16 as in flashbench.
    pub order: u32,
    /// Length of a read there, in blocks.
    pub span: u64,
    /// Distance of places there; a group of pages, or 16 KiB where that is not known, when absent.
    pub block: Option<Bytes>,
    /// Reads of each place there.
    pub count: u32,
    /// How long it may take, on the drive's clock.
    pub limit: Nanos,
}

impl Default for Options {
    /// 1,024 places of a block, each read 4 times, in 60 s at most.
    fn default() -> Options {
        Options { order: 10, span: 1, block: None, count: 4, limit: Nanos::secs(60) }
    }
}

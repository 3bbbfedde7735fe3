//! Options of the boundary probe.

use block::Nanos;
use serde::{Deserialize, Serialize};

/// Options of the boundary probe: its time limit, block sizes and required probability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// The longest that it may take, on the drive's clock.
    pub time: Nanos,
    /// Bytes of a read, in the order in which they are tried, but for the smallest, which comes first. Those that are
    /// not at least two logical blocks and a power of two are passed over.
    pub blocks: Vec<u64>,
    /// Probability, 0 to 1, at which an answer is taken as decided and no more is asked about it.
    pub enough: f64,
}

impl Default for Options {
    fn default() -> Options {
        // The small ones first: they cost least, and show boundaries that lie close to each other.
        let blocks = [1, 4, 16, 2, 8, 32, 64].map(|kib| kib << 10).to_vec();
        Options { time: Nanos::secs(45), blocks, enough: 0.999 }
    }
}

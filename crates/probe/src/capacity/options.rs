//! Options of the capacity probe and their defaults.

use serde::{Deserialize, Serialize};

/// Options of the capacity probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// The original data is saved and put back.
    pub keeps: bool,
    /// Least share of bad places that is to be noticed; 0 to 1.
    pub bad_share: f64,
    /// Probability of not noticing that many; 0 to 1.
    pub error: f64,
    /// All of the drive is written and read back, see [`full`](super::full); nothing is put back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub full: bool,
    /// Memory for what is kept; 1 GiB when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        Options { keeps: true, bad_share: 0.05, error: 0.02, full: false, memory_bytes: None }
    }
}

impl Options {
    /// Number of places to sample: with the given share of bad places, all of them would be good with at most the given
    /// probability, `(1 - bad_share)^n <= error`.
    pub fn samples(&self) -> u64 {
        let (bad, error) = (self.bad_share.clamp(1e-4, 0.5), self.error.clamp(1e-9, 0.5));
        (error.ln() / (1.0 - bad).ln()).ceil() as u64
    }
}

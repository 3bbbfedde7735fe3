//! Plan of a sweep, shown before it begins.

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use super::{Factor, Limits, Sweep};

/// A sweep, and by what it is judged.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Swept {
    /// Design of the sweep.
    pub sweep: Sweep,
    /// By what settings and effects are judged.
    pub limits: Limits,
}

/// Plan of a sweep.
#[derive(Serialize)]
pub struct Planned<'a> {
    /// Design of the sweep.
    pub sweep: &'a Sweep,
    /// The settings by name.
    pub settings: Vec<&'a str>,
    /// Runs of each, those that are not counted among them.
    pub runs_of_each: u32,
    /// All of them.
    pub runs: u64,
    /// Warm-up, measured time and pauses of all runs.
    pub time_ns: Nanos,
    /// Size of the part that is used, where it is chosen by the sweep.
    pub size_max: Option<Bytes>,
}

/// Names of factors of a sweep, as they are printed.
pub fn factor_names(factors: &[Factor]) -> String {
    factors.iter().map(|factor| factor.word()).collect::<Vec<_>>().join(" × ")
}

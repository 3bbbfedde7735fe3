//! States of the drive that the runs of one test were made in, where there was more than one.

use serde::{Deserialize, Serialize};

/// States of a test whose runs were not all made in one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct States {
    /// Why there is more than one, as far as the runs show it.
    pub cause: Cause,
    /// Index in `states` of the one that the test's numbers are of; `None` where they are of all runs.
    pub answer: Option<usize>,
    /// In the order in which the drive was first in them.
    pub states: Vec<State>,
}

/// One state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Median throughput in it, in MB/s (10^6 bytes per second).
    pub mb_s: f64,
    /// Coefficient of variation of its runs.
    pub cv: f64,
    /// Its runs: indices of the test's `runs`.
    pub runs: Vec<usize>,
}

/// Reason for several states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A cache for writes was used up.
    WriteCache,
    /// The rate changed once; the runs do not show why, or whether it stays.
    Changed,
    /// The drive went back and forth between them: other activity, background work, temperature.
    Alternating,
}

//! Facts about a mark that another program measured, as they are stored in its body.

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use stats::LatencyHistogram;

/// Origin of a mark that another program measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    /// The program, such as `fio`.
    pub tool: String,
    /// Its version, where the file has it.
    pub version: Option<String>,
    /// Format of the files, such as `fio JSON`.
    pub format: String,
    /// The files, as they were named.
    pub files: Vec<String>,
    /// Settings that are given and the same in all runs.
    pub told: Told,
    /// By test, in the order of [`Body::tests`](crate::body::Body::tests).
    pub tests: Vec<ImportedTest>,
}

/// Settings of another program; null where its file does not give them, or where runs differ.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// How I/O was issued.
    pub engine: Option<String>,
    /// Whether the page cache was to be bypassed.
    pub direct: Option<bool>,
    /// Whether each write had to be durable before it completed.
    pub durable: Option<bool>,
    /// Size of the region that was used.
    pub region_bytes: Option<Bytes>,
    /// Measured time of a run.
    pub duration_ns: Option<Nanos>,
    /// Load before it.
    pub warm_up_ns: Option<Nanos>,
    /// Seed of the random addresses.
    pub seed: Option<u64>,
    /// How often the whole was gone through.
    pub loops: Option<u64>,
}

/// Data of one imported test beyond those of every mark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedTest {
    /// By run, in the order of [`Test::runs`](crate::body::Test::runs).
    pub runs: Vec<ImportedRun>,
}

/// Data of one imported run beyond those of every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedRun {
    /// The file.
    pub file: String,
    /// Name in the file.
    pub job: String,
    /// Figures of the run that the file does not contain, which are 0 there.
    pub not_told: Vec<String>,
    /// Percentiles of latency as the file has them, in ascending order.
    pub percentiles: Vec<ToldPercentile>,
    /// All latencies, where the file has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latencies: Option<LatencyHistogram>,
}

/// A percentile of latency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToldPercentile {
    /// 0 to 100.
    pub percent: f64,
    /// Nanoseconds.
    pub ns: u64,
}

//! The body of `mark --json`: a contract. Fields keep their names and units.

use block::{Bytes, DriveInfo, Extents, Nanos, Stack};
use serde::{Deserialize, Serialize};
use stats::{Better, Caveat, Proof, Quantity, Remedy, Unit, Verdict};

use crate::burst::Writes;
use crate::cache;
use crate::imported::Imported;
use crate::options::Direction;
use crate::states::States;

/// Confidence of every interval that a mark shows.
pub const CONFIDENCE: f64 = 0.95;

/// Everything that a mark found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// Target of the runs.
    pub target: DriveInfo,
    /// Layers that the I/O passed through.
    pub stack: Stack,
    /// Layout of the test file; absent when the target is not a file.
    pub extents: Option<Extents>,
    /// Settings that the numbers depend on.
    pub setup: Setup,
    /// One entry per test, in the order shown.
    pub tests: Vec<Test>,
    /// Doubts, each with cause and remedy.
    pub caveats: Vec<Caveat>,
    /// True when the run was ended before its plan was done.
    pub interrupted: bool,
    /// Counted runs of all tests that were planned; `None` unless the run was ended before its plan was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned_runs: Option<u64>,
    /// Time on the target's clock from the beginning to the end of the last run.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub elapsed_ns: Nanos,
    /// Time waited, beyond the pauses, for the drive to recover from writes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub settle_ns: Nanos,
    /// Bytes that all runs read, warm-up among them.
    #[serde(default, skip_serializing_if = "is_no_byte")]
    pub read_bytes: Bytes,
    /// Bytes that all runs wrote, warm-up and the run's own test file among them.
    #[serde(default, skip_serializing_if = "is_no_byte")]
    pub written_bytes: Bytes,
    /// Result of the cache probe; absent where nothing depended on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<cache::Found>,
    /// Origin of the numbers if another program measured them. Numbers that it does not report are 0, and are named there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

impl Body {
    /// True when a headline was refuted: the run's answer is negative.
    pub fn refuted(&self) -> bool {
        self.tests.iter().any(|t| !t.headline)
    }

    /// The doubt that shows that acknowledged writes are lost with power: the drive says that its cache is volatile, and a durable
    /// write does not wait for what is below it.
    pub fn unsafe_cache(&self) -> Option<&Caveat> {
        let is_volatile = Remedy::ProveFlushes { volatile_cache: Some(true) };
        self.caveats.iter().find(|caveat| match caveat.code.as_str() {
            "flush_too_short" => true,
            "flush_for_nothing" => caveat.remedy == is_volatile,
            _ => false,
        })
    }

    /// False of a mark that was stopped before a run of it counted: then nothing in it is a result.
    pub fn has_numbers(&self) -> bool {
        !self.interrupted || self.tests.iter().any(|test| !test.runs.is_empty())
    }
}

/// Settings that a reader needs to compare two results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// How I/O was issued: `io_uring`, `libaio`, `psync`, `virtual`; all of them where tests differ in it.
    pub engine: String,
    /// True when the page cache was bypassed on request (O_DIRECT).
    pub direct: bool,
    /// True for a file that its filesystem, which copies on write, writes in place all the same: without checksums and
    /// compression (Btrfs: `--no-cow`, `chattr +C`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
    /// True when each write had to be durable before it completed.
    pub durable: bool,
    /// Size of the region that was used.
    pub region_bytes: Bytes,
    /// Offset of the region on the target.
    pub region_offset_bytes: Bytes,
    /// Measured time of a run.
    pub duration_ns: Nanos,
    /// Load before it.
    pub warm_up_ns: Nanos,
    /// Idle time before a run.
    pub pause_ns: Nanos,
    /// Root seed.
    pub seed: u64,
    /// Position of each counted run in the order of execution, by test.
    pub order: Vec<Vec<u32>>,
}

fn is_no_byte(bytes: &Bytes) -> bool {
    *bytes == Bytes::ZERO
}

fn is_zero(span: &Nanos) -> bool {
    *span == Nanos::ZERO
}

/// One test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// `SEQ1M Q8T1`.
    pub name: String,
    /// `read`, `write`, or `mix70` for 70% reads.
    pub op: String,
    /// Size of a transfer.
    pub block_bytes: Bytes,
    /// Outstanding I/Os per thread.
    pub depth: u16,
    /// Submitters.
    pub threads: u16,
    /// False when *reached* or *pattern* is refuted: the numbers are not a property of the drive.
    pub headline: bool,
    /// The counted runs, in the order made.
    pub runs: Vec<Run>,
    /// Throughput over the runs, in MB/s (10^6 bytes per second).
    pub mb_s: Spread,
    /// I/Os per second over the runs.
    pub iops: Spread,
    /// Latency of all counted I/Os of all runs together.
    pub latency_ns: Latency,
    /// Of writes: the burst, and what is sustained; absent of tests that read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<Writes>,
    /// States of the drive during the runs; absent where there was one. With `states.answer`, `mb_s` and `iops` are of the runs
    /// in that state alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<States>,
    /// The six proofs.
    pub proofs: Proofs,
}

/// How far a result can be relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reliability {
    /// All six proofs are proven.
    Confirmed,
    /// It is a property of the drive, and a proof is missing or speaks against its value.
    Provisional,
    /// It is not a property of the drive.
    Rejected,
}

impl Test {
    /// How far its numbers can be relied on.
    pub fn reliability(&self) -> Reliability {
        let proven = |(_, proof): &(&str, &Proof)| proof.verdict == Verdict::Proven;
        match self.headline {
            false => Reliability::Rejected,
            true if self.proofs.named().iter().all(proven) => Reliability::Confirmed,
            true => Reliability::Provisional,
        }
    }

    /// Direction of the I/O; `None` for a step of a plan that matches none, and for a word that this version does not know.
    pub fn direction(&self) -> Option<Direction> {
        Direction::of_word(&self.op)
    }

    /// I/Os that the counted runs have of each, as a median; 0 where none is known.
    pub fn ios_of_a_run(&self) -> f64 {
        let ios: Vec<f64> = self.runs.iter().map(|run| run.ios as f64).collect();
        stats::median(&ios).unwrap_or(0.0)
    }
}

/// One counted run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Bytes transferred in the measured window.
    pub bytes: u64,
    /// I/Os completed in it.
    pub ios: u64,
    /// Its length.
    pub duration_ns: u64,
    /// Throughput in MB/s (10^6 bytes per second).
    pub mb_s: f64,
    /// I/Os per second.
    pub iops: f64,
    /// From issue to completion.
    pub latency_ns: Latency,
    /// Mean time from when an I/O could have been issued to its issue: the tester's own delay.
    pub slat_ns: f64,
    /// Mean time from issue to completion.
    pub clat_ns: f64,
}

impl Run {
    /// True when nothing finished in the measured window.
    pub fn is_empty(&self) -> bool {
        self.ios == 0 && self.mb_s <= 0.0
    }
}

/// Percentiles of latency, in nanoseconds. Percentiles are exact to 0.1%; mean and max are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// The longest.
    pub max: u64,
    /// Arithmetic mean.
    pub mean: f64,
}

/// A figure over the runs of a test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Median of the runs; null without any.
    pub median: Option<f64>,
    /// Lower end of the median's 95% interval; null for fewer than 6 runs.
    pub low: Option<f64>,
    /// Upper end of the median's 95% interval; null for fewer than 6 runs.
    pub high: Option<f64>,
    /// Counted runs.
    pub n: usize,
    /// (max - min) / mean.
    pub r_over_avg: f64,
    /// Coefficient of variation.
    pub cv: f64,
    /// The best run, which CrystalDiskMark shows; null without any.
    pub best: Option<f64>,
    /// Independent runs that the counted ones are worth, since a run may resemble the one before.
    #[serde(default)]
    pub n_effective: f64,
}

impl Spread {
    /// The same as a quantity, ready to be formatted; `None` without runs, also in records of earlier versions, which
    /// have 0 there.
    pub fn quantity(&self, unit: Unit) -> Option<Quantity> {
        let value = self.median.filter(|_| self.n > 0)?;
        Some(Quantity {
            value,
            low: self.low,
            high: self.high,
            confidence: CONFIDENCE,
            unit,
            n: self.n,
            n_effective: self.n_effective,
            better: Better::Higher,
        })
    }
}

/// The six proofs beside each headline number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proofs {
    /// The bytes were served by the device, not by a cache above it.
    pub reached: Proof,
    /// The addresses issued were the addresses meant.
    pub pattern: Proof,
    /// The window measured was in one state.
    pub steady: Proof,
    /// The runs agree.
    pub repeatable: Proof,
    /// The tester was not the limit.
    pub unhindered: Proof,
    /// Nothing else was using the drive, and nothing throttled it.
    pub undisturbed: Proof,
}

impl Proofs {
    /// The proofs with their names, in the order shown.
    pub fn named(&self) -> [(&'static str, &Proof); 6] {
        [
            ("reached", &self.reached),
            ("pattern", &self.pattern),
            ("steady", &self.steady),
            ("repeatable", &self.repeatable),
            ("unhindered", &self.unhindered),
            ("undisturbed", &self.undisturbed),
        ]
    }

    /// True when the numbers can be taken for a property of the drive.
    pub fn hold(&self) -> bool {
        ![&self.reached, &self.pattern].iter().any(|p| p.verdict == Verdict::Refuted)
    }
}

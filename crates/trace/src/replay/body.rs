//! Result of a replay.

use std::collections::BTreeMap;

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use stats::Evidence;

use super::distance::Distance;
use super::drift::Drift;
use super::overload::Overload;
use super::plan::{Origin, Statement};
use super::spans::Spans;
use super::stream::Counts;
use crate::analyze;

/// The result of a replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// The plan.
    pub plan: Statement,
    /// Requests planned, and I/Os left out.
    pub planned: Counts,
    /// Results as of `trace analyze`, for the requests as they were replayed: Q is the instant of issue, which is
    /// when a request was handed to the block layer, and C the instant at which its completion was seen. Doubts about
    /// the replay are among the caveats.
    #[serde(flatten)]
    pub run: analyze::body::Body,
    /// From the first due time, or the start where there is none, to the last completion.
    pub elapsed_s: f64,
    /// Q2C per I/O, flushes among them.
    pub q2c: Option<Spans>,
    /// From the due time to the completion, where the plan has times: the user's wait, with all causes of delay.
    pub from_due: Option<Spans>,
    /// How far the drive could not keep up; where the plan has times.
    pub overload: Option<Overload>,
    /// Metrics of the original.
    pub original: OriginalBody,
    /// How true the replay was.
    pub fidelity: Fidelity,
    /// Cost of the replay itself.
    pub cost: Cost,
    /// Failed I/Os by their error, and those that transferred less than asked as `short`.
    pub errors_by_kind: BTreeMap<String, u64>,
    /// Load over time.
    pub course: Vec<Moment>,
}

/// Metrics of the original, for the requests that were replayed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OriginalBody {
    /// Source of its times.
    pub origin: Origin,
    /// Requests.
    pub requests: u64,
    /// From the first request to the last completion, or to the last request where only arrivals are known.
    pub completion_s: f64,
    /// Sum of Q2C, where completions are known.
    pub q2c_sum_s: Option<f64>,
    /// Mean outstanding, where completions are known.
    pub mean_depth: Option<f64>,
}

/// Bottleneck of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// None: the drive got the intended load.
    Faithful,
    /// The drive could not keep up with it.
    DriveLimited,
    /// The replayer could not keep up with it.
    ReplayerLimited,
}

impl Limit {
    /// `faithful`, `drive-limited` or `replayer-limited`.
    pub const fn word(self) -> &'static str {
        match self {
            Limit::Faithful => "faithful",
            Limit::DriveLimited => "drive-limited",
            Limit::ReplayerLimited => "replayer-limited",
        }
    }
}

/// How true a replay was to its plan and to the original.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fidelity {
    /// The bottleneck.
    pub verdict: Limit,
    /// Why, one sentence without a full stop.
    pub reason: String,
    /// The figures behind it.
    pub evidence: BTreeMap<String, Evidence>,
    /// Issued less due; in modes that have no times, issued less the instant at which it could have been issued.
    pub issue_error_ns: ErrorSpans,
    /// The instant from which that counts.
    pub issue_error_since: Since,
    /// Issued less the instant at which it could have been: what the replayer itself added.
    pub own_error_ns: ErrorSpans,
    /// Lateness gained per time of the schedule, in millionths; `None` without a schedule or with too few requests.
    pub drift_ppm: Option<f64>,
    /// The same with its interval.
    pub drift: Option<Drift>,
    /// Requests issued later than the tolerance.
    pub late: u64,
    /// The tolerance.
    pub late_tolerance_ns: Nanos,
    /// Requests issued before one that precedes them in the plan.
    pub reordered: u64,
    /// Requests that waited for a slot.
    pub no_slot: u64,
    /// Depth against the target depth, in modes that keep no time.
    pub depth_held: Option<DepthHeld>,
    /// Load over time against the plan's.
    pub over_time: Option<OverTime>,
    /// Latencies against the original's, where these are known.
    pub latency_distance: Option<Distance>,
}

/// From which instant issue errors count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// The due time.
    Due,
    /// The instant at which it could have been issued.
    Ready,
}

/// A distribution of lateness, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorSpans {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// The greatest.
    pub max: u64,
}

/// How well a replay without times held what was to be outstanding, in the unit that it counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DepthHeld {
    /// Mean of what was to be outstanding just before each request.
    pub planned_mean: f64,
    /// Mean of what was.
    pub held_mean: f64,
    /// Root of the mean square of the difference.
    pub rmse: f64,
    /// Share of the replay's time in which a request could have been issued and was not yet.
    pub late_share: f64,
}

/// How load over time lies from what was planned, by slices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverTime {
    /// How long a slice is.
    pub slice_ns: Nanos,
    /// Slices.
    pub slices: u64,
    /// Root of the mean square of the difference of I/Os per second.
    pub iops_rmse: f64,
    /// Mean of the difference over the planned, of slices with I/Os, as a ratio.
    pub iops_mape: Option<f64>,
    /// Root of the mean square of the difference of what was outstanding, where the original's is known.
    pub depth_rmse: Option<f64>,
    /// Mean of the difference over the original's.
    pub depth_mape: Option<f64>,
}

/// One slice of a replay's time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Its beginning, since the replay's start.
    pub at_ns: Nanos,
    /// How long it is.
    pub slice_ns: Nanos,
    /// Requests that were due in it, in modes that keep time; else requests that the original had by then.
    pub planned: u64,
    /// Requests that were issued in it.
    pub issued: u64,
    /// Their bytes.
    pub issued_bytes: Bytes,
    /// Mean outstanding.
    pub depth: f64,
    /// Mean outstanding of the original, where it is known and keeps the same time.
    pub original_depth: Option<f64>,
}

/// Cost of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// CPU time of the process per I/O.
    pub cpu_ns_per_io: Option<f64>,
    /// Time that submitters were ready to run and had no CPU.
    pub run_delay_ns: Option<u64>,
    /// Time that submitters waited for requests to be read.
    pub starved_ns: u64,
    /// Time that submitters waited for what had happened to be taken down.
    pub unheard_ns: u64,
}

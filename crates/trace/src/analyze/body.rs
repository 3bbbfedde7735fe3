//! Result of `trace analyze`, as data. Times are in nanoseconds, lengths in bytes, shares from 0 to 1.

use block::Nanos;
use serde::{Deserialize, Serialize};
use stats::Caveat;

use crate::TraceInfo;
use crate::analyze::activity::Activity;
use crate::analyze::depth::QueueDepth;
use crate::analyze::load::LoadBody;
use crate::analyze::merges::MergeFigures;
use crate::analyze::phases::{Overhead, Phases};
use crate::analyze::plugs::PlugFigures;
use crate::analyze::rates::RateFigures;
use crate::analyze::seeks::SeekFigures;
use crate::analyze::tally::Counts;
use crate::analyze::tasks::Process;

/// Analysis of a trace.
///
/// Phases, depth, seeks and merges are of I/Os that have a length, as in btt: a flush without data is counted, and
/// its latency is in [`Body::flush_phases`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// The trace analyzed.
    pub trace: Origin,
    /// All I/Os looked at, but those of devices that hand them on to another device of the trace.
    #[serde(flatten)]
    pub counts: Counts,
    /// From the first arrival to the last, in seconds.
    pub arrivals_s: f64,
    /// From the first arrival to the last completion, in seconds; `None` where no completion is known.
    pub completion_s: Option<f64>,
    /// Sum of Q2C, in seconds; `None` where no completion is known.
    pub q2c_sum_s: Option<f64>,
    /// Sum of D2C, in seconds; `None` where no issue is known.
    pub d2c_sum_s: Option<f64>,
    /// How long I/Os were where.
    pub phases: Phases,
    /// The same of flushes without data.
    pub flush_phases: Phases,
    /// How Q2C is made up.
    pub overhead: Option<Overhead>,
    /// I/Os outstanding, from Q to C. The mean is Σ Q2C / completion.
    pub queue_depth: Option<QueueDepth>,
    /// Requests at the driver and the drive, from D to C.
    pub device_depth: Option<QueueDepth>,
    /// When a request was issued and not completed (D to C).
    pub activity: Option<Activity>,
    /// When an I/O was outstanding (Q to C).
    pub busy: Option<Activity>,
    /// I/Os and bytes per second.
    pub rates: Option<RateFigures>,
    /// Each device by itself.
    pub devices: Vec<Device>,
    /// I/Os of devices that hand them on to others in the trace.
    pub stacked: Option<Stacked>,
    /// Each task by itself.
    pub processes: Vec<Process>,
    /// The load requested, regardless of how it was served.
    #[serde(flatten)]
    pub load: LoadBody,
    /// Doubts.
    pub caveats: Vec<Caveat>,
}

/// Description of the trace analyzed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Format or recorder of the trace.
    pub source: String,
    /// Its files.
    pub files: Vec<String>,
    /// Date of its origin, in nanoseconds since 1970 UTC, where it is known.
    pub origin_unix_ns: Option<i64>,
    /// The finest step of its times.
    pub resolution_ns: u64,
    /// Events that the recorder lost.
    pub lost_events: u64,
    /// Rows that could not be read.
    pub skipped_rows: u64,
    /// Rows that are not I/Os.
    pub ignored_rows: u64,
    /// How what the format leaves open was settled.
    pub settled: Vec<String>,
    /// I/Os that arrived before this were left out.
    pub from_ns: Option<u64>,
    /// I/Os that arrived at this or later were left out.
    pub until_ns: Option<u64>,
    /// Only these devices were looked at; empty for all.
    pub only_devices: Vec<String>,
}

impl Origin {
    pub(super) fn of(info: &TraceInfo, options: &super::Options) -> Origin {
        Origin {
            source: info.source.clone(),
            files: info.files.clone(),
            origin_unix_ns: info.origin_unix_ns,
            resolution_ns: info.resolution.0,
            lost_events: info.lost_events,
            skipped_rows: info.skipped_rows,
            ignored_rows: info.ignored_rows,
            settled: info.settled.clone(),
            from_ns: options.from.map(|Nanos(ns)| ns),
            until_ns: options.until.map(|Nanos(ns)| ns),
            only_devices: options.devices.clone(),
        }
    }
}

/// Flushes at a drive, from issue to completion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriveFlushes {
    /// How many completed.
    pub n: u64,
    /// Mean, in nanoseconds.
    pub mean_ns: f64,
    /// The longest.
    pub max_ns: u64,
}

impl DriveFlushes {
    pub(super) fn of(tally: &crate::EventTally) -> Option<DriveFlushes> {
        let n = tally.drive_flushes;
        let mean_ns = tally.drive_flushing.0 as f64 / n as f64;
        (n > 0).then_some(DriveFlushes { n, mean_ns, max_ns: tally.drive_flush_max.0 })
    }
}

/// One device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// Number of its address space in the trace.
    pub space: u32,
    /// Its name.
    pub name: String,
    /// The kernel's number, `major,minor`.
    pub device: Option<String>,
    /// Its size, where the trace records it.
    pub capacity_bytes: Option<u64>,
    /// True when it hands all its I/Os on to another device of the trace, and counts for itself alone.
    pub stacked: bool,
    /// Its I/Os.
    #[serde(flatten)]
    pub counts: Counts,
    /// From its first arrival to its last completion, or the last arrival where no completion is known.
    pub span_ns: u64,
    /// Sum of Q2C.
    pub q2c_sum_ns: u64,
    /// How long I/Os were where.
    pub phases: Phases,
    /// How Q2C is made up.
    pub overhead: Option<Overhead>,
    /// I/Os outstanding, from Q to C, between its first arrival and its last completion.
    pub queue_depth: Option<QueueDepth>,
    /// Requests at the driver and the drive, from D to C.
    pub device_depth: Option<QueueDepth>,
    /// When a request was issued and not completed.
    pub activity: Option<Activity>,
    /// When an I/O was outstanding.
    pub busy: Option<Activity>,
    /// I/Os and requests.
    pub merges: Option<MergeFigures>,
    /// Distances between I/Os in the order of their arrival.
    pub seeks_q2q: Option<SeekFigures>,
    /// Distances between requests in the order of their issue.
    pub seeks_d2d: Option<SeekFigures>,
    /// Flushes at the drive, including those that the kernel makes for durable writes; `None` where none was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive_flushes: Option<DriveFlushes>,
    /// How requests were held back; of the whole recording only.
    pub plugs: Option<PlugFigures>,
    /// I/Os that were neither merged nor issued yet when another arrived: the scheduler's queue.
    pub active_at_q: Option<ActiveAtQueue>,
}

/// I/Os already waiting when an I/O arrives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActiveAtQueue {
    /// Arrivals.
    pub n: u64,
    /// Mean of what they found.
    pub mean: f64,
}

/// I/Os that were handed on, and count again at the device below.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stacked {
    /// The I/Os.
    #[serde(flatten)]
    pub counts: Counts,
    /// Their phases.
    pub phases: Phases,
}

/// A sum in a field of 64 bits, where it stops at the greatest: 584 years.
pub(super) fn clip(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

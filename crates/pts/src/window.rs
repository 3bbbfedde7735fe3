//! Record of one stretch of I/O.

use block::{Nanos, Snapshot};
use engine::{PhaseSamples, Samples};
use serde::{Deserialize, Serialize};
use stats::LatencyHistogram;

/// Purpose of a stretch of I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Brings the drive to a state and is not measured for its own sake.
    Precondition,
    /// A measurement of a round, or of a series.
    Measure,
}

/// One stretch of I/O with one load, from idle to idle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Position among all stretches of the run, from 0.
    pub position: u32,
    /// Its purpose.
    pub role: Role,
    /// Its load, such as `RND 4KiB 0/100`.
    pub load: String,
    /// Its round, from 1.
    pub round: Option<u32>,
    /// How it was issued: `io_uring`, `libaio`, `psync`, `virtual`.
    #[serde(default)]
    pub engine: String,
    /// Submitters.
    pub threads: u16,
    /// Requests outstanding per submitter.
    pub depth: u16,
    /// Size of the transfers, the largest in a mix.
    pub block_bytes: u64,
    /// Share of reads, in percent.
    pub read_percent: u8,
    /// When it began, on the drive's clock, since the run's first stretch.
    pub began_ns: u64,
    /// How long it lasted.
    pub duration_ns: u64,
    /// Time since the last stretch's last completion in which the drive had nothing to do and was not meant to rest.
    pub gap_ns: u64,
    /// I/Os completed.
    pub ios: u64,
    /// The same, with those that completed after its end.
    pub ios_issued: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written, those included that completed after its end.
    pub bytes_written: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Megabytes (10^6 bytes) per second.
    pub mb_s: f64,
    /// Response times, from the request's issue on.
    pub latency_ns: Latency,
    /// Completions over time.
    pub series: Series,
    /// CPU time of this program, as a share of one CPU, in percent.
    pub cpu_percent: Option<f64>,
    /// Bytes that the drive says its host wrote and its medium was programmed with.
    pub endurance: Option<Moved>,
    /// Disturbances; a disturbed stretch is repeated, at most twice.
    pub disturbed: Vec<String>,
    /// Distinct bytes written, a little low on large ranges; absent where nothing was.
    pub unique_bytes: u64,
}

/// Response times in nanoseconds. A percentile for which there are too few I/Os is null: its upper bound needs
/// n >= ln 0.05 / ln p of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean (ART).
    pub mean: f64,
    /// Greatest (MRT).
    pub max: u64,
    /// Median.
    pub p50: Option<u64>,
    /// 99%.
    pub p99: Option<u64>,
    /// Three nines.
    pub p999: Option<u64>,
    /// Four nines.
    pub p9999: Option<u64>,
    /// Five nines.
    pub p99999: Option<u64>,
}

/// Completions over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Length of a slice.
    pub slice_ns: u64,
    /// I/Os per slice.
    pub ios: Vec<u64>,
    /// Bytes per slice.
    pub bytes: Vec<u64>,
}

/// Bytes that a drive counted over a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// That the host wrote.
    pub host: u64,
    /// That the medium was programmed with.
    pub media: u64,
}

/// A count of what a device was written in its life, or since it was connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The counter and its start: `drive`, or `kernel since boot` with the boot's name.
    pub by: String,
    /// Bytes counted.
    pub bytes: u64,
}

impl Latency {
    /// Of a histogram.
    pub fn of(histogram: &LatencyHistogram) -> Latency {
        let at = |percent: f64| {
            let needed = LatencyHistogram::count_needed(percent)?;
            histogram.percentile(percent).filter(|_| histogram.count() >= needed)
        };
        Latency {
            mean: histogram.mean().unwrap_or(0.0),
            max: histogram.max().unwrap_or(0),
            p50: at(50.0),
            p99: at(99.0),
            p999: at(99.9),
            p9999: at(99.99),
            p99999: at(99.999),
        }
    }
}

impl Window {
    /// Bytes that the medium was programmed with for each that the host wrote.
    pub fn write_amplification(&self) -> Option<f64> {
        let moved = self.endurance.filter(|moved| moved.host > 0)?;
        Some(moved.media as f64 / moved.host as f64)
    }
}

/// The measured phase of a stretch; none when it never came to it.
pub(crate) fn phase(samples: &Samples) -> Option<&PhaseSamples> {
    samples.phases.iter().find(|phase| phase.window > Nanos::ZERO)
}

/// Counts that moved between two snapshots in a way that makes what was measured between them worth nothing.
pub(crate) fn disturbances(before: &Snapshot, after: &Snapshot, elapsed: Nanos) -> Vec<String> {
    let mut found = Vec::new();
    if let (Some(then), Some(now)) = (before.throttle_events, after.throttle_events)
        && now > then
    {
        found.push(format!("{} thermal throttling events", now - then));
    }
    if let (Some(then), Some(now)) = (before.steal_ns, after.steal_ns) {
        let stolen = now.0.saturating_sub(then.0) as f64;
        let share = stolen / elapsed.0.max(1) as f64;
        if share > STEAL_MAX {
            found.push(format!("a hypervisor took {:.0}% of a CPU", share * 100.0));
        }
    }
    if let (Some(then), Some(now)) = (before.media_errors, after.media_errors)
        && now > then
    {
        found.push(format!("{} media errors", now - then));
    }
    for (then, now) in after.changed_links(before) {
        found.push(format!("{}'s link went from {} to {}", now.leaf, then.speed, now.speed));
    }
    for array in &after.arrays {
        if array.degraded > 0 || array.sync_action.is_some() {
            found.push(format!("{} lacks members or is being rebuilt", array.name));
        }
    }
    found
}

/// CPU time taken away, as a share of one CPU, above which a load of this kind was not what it was meant to be.
const STEAL_MAX: f64 = 0.25;

/// CPU time of this program between two snapshots, as a share of one CPU in percent.
pub(crate) fn cpu_percent(before: &Snapshot, after: &Snapshot, elapsed: Nanos) -> Option<f64> {
    let (then, now) = (before.process_cpu?, after.process_cpu?);
    let of = |times: block::CpuTimes| times.user_ns.0 + times.system_ns.0;
    let spent = of(now).checked_sub(of(then))?;
    (elapsed > Nanos::ZERO).then(|| spent as f64 * 100.0 / elapsed.0 as f64)
}

/// Bytes that the drive counted between two snapshots.
pub(crate) fn moved(before: &Snapshot, after: &Snapshot) -> Option<Moved> {
    let (then, now) = (before.endurance?, after.endurance?);
    Some(Moved {
        host: now.host_write_bytes.0.checked_sub(then.host_write_bytes.0)?,
        media: now.media_write_bytes.0.checked_sub(then.media_write_bytes.0)?,
    })
}

//! Record of one run: the figures that findings are drawn from, without its bulk.

use block::{Bytes, Op, Snapshot};
use engine::{PhaseSamples, Sample, Samples, Totals};
use serde::{Deserialize, Serialize};
use stats::LatencyHistogram;
use workload::audit::AuditSummary;

use crate::body::{Latency, Run};
use crate::settle::Settled;

/// One run of one test, reduced to what findings need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunFigures {
    /// Position in the order of execution.
    pub position: u32,
    /// The measured window, as it is reported.
    pub run: Run,
    /// Bytes transferred per slice of the measured window, each I/O since the completion before it.
    pub series_bytes: Vec<u64>,
    /// Everything that completed, from idle to idle.
    pub totals: Totals,
    /// Length from idle to idle, in nanoseconds.
    pub elapsed_ns: u64,
    /// Mean of outstanding I/Os in the measured window.
    pub achieved_depth: f64,
    /// Longest delay before issue, in nanoseconds.
    pub lag_max_ns: u64,
    /// Addresses issued.
    pub audit: AuditSummary,
    /// Counters before.
    pub before: Snapshot,
    /// Counters after.
    pub after: Snapshot,
    /// State of the drive before it; absent where nothing had been written, or that was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
}

/// A run that is over, in the form that a record keeps and a resumed mark begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Position in the order of execution.
    pub position: u32,
    /// Name of its step.
    pub step: String,
    /// Index of the repetition of the step, from 0.
    pub run: u32,
    /// False for a run whose numbers are kept and not used.
    pub counted: bool,
    /// Time that the mark had taken when it was over, in nanoseconds on the drive's clock.
    pub at_ns: u64,
    /// Figures for the findings; absent when the run never reached a measured phase.
    pub figures: Option<RunFigures>,
    /// Latencies of its measured phase.
    pub latencies: LatencyHistogram,
}

impl RunFigures {
    /// Reduces `samples` to figures, and the latencies of the measured phase. `None` when the run
    /// never reached one.
    pub fn new(position: u32, samples: &Samples) -> Option<(RunFigures, LatencyHistogram)> {
        let phase = samples.phases.iter().find(|p| p.measured && p.window.0 > 0)?;
        let latencies = phase.latency();
        let figures = RunFigures {
            position,
            run: figures(phase, &latencies),
            series_bytes: phase.series.progress(),
            totals: samples.totals,
            elapsed_ns: samples.elapsed.0,
            achieved_depth: phase.achieved_depth(),
            lag_max_ns: phase.lag().max.0,
            audit: samples.audit.clone(),
            before: samples.before.clone(),
            after: samples.after.clone(),
            settled: None,
        };
        Some((figures, latencies))
    }

    /// Bytes moved in the direction of `op`, from idle to idle.
    pub fn moved(&self, op: Op) -> Bytes {
        match op {
            Op::Read => self.totals.read,
            Op::Write => self.totals.written,
            Op::Discard => self.totals.discarded,
            Op::Flush => Bytes::ZERO,
        }
    }
}

fn figures(phase: &PhaseSamples, histogram: &LatencyHistogram) -> Run {
    let seconds = phase.window.as_secs_f64();
    let (bytes, ios) = (phase.bytes(), phase.ios());
    let clat_ns = if ios == 0 { 0.0 } else { phase.outstanding_ns as f64 / ios as f64 };
    Run {
        bytes: bytes.0,
        ios,
        duration_ns: phase.window.0,
        mb_s: bytes.0 as f64 / seconds / 1e6,
        iops: ios as f64 / seconds,
        latency_ns: latency(histogram),
        slat_ns: phase.lag().mean_ns(),
        clat_ns,
    }
}

/// The percentiles that are reported of a histogram; zeros when it is empty.
pub(crate) fn latency(histogram: &LatencyHistogram) -> Latency {
    Latency {
        p50: histogram.percentile(50.0).unwrap_or(0),
        p99: histogram.percentile(99.0).unwrap_or(0),
        p999: histogram.percentile(99.9).unwrap_or(0),
        max: histogram.max().unwrap_or(0),
        mean: histogram.mean().unwrap_or(0.0),
    }
}

/// The single I/Os of some run, for a samples file.
#[derive(Clone, Debug)]
pub struct TracedRun {
    /// Position in the order of execution.
    pub position: u32,
    /// The test's step name.
    pub step: String,
    /// Index of the repetition.
    pub run: u32,
    /// Its I/Os, ordered by completion.
    pub samples: Vec<Sample>,
    /// I/Os beyond the cap.
    pub dropped: u64,
}

//! What one submitter saw during one phase. Everything is allocated before the first I/O.

use block::{Bytes, Nanos, Op, Time};
use stats::LatencyHistogram;
use workload::plan::{Arrival, Phase};

use crate::samples::{Lag, OpSamples, PhaseSamples, Series};

/// What one completed I/O contributes.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) op: Op,
    pub(crate) bytes: Bytes,
    /// When it was meant to be issued.
    pub(crate) intended: Time,
    /// When it could have been issued.
    pub(crate) ready: Time,
    pub(crate) issued: Time,
    pub(crate) completed: Time,
}

pub(crate) struct Recorder {
    name: String,
    measured: bool,
    /// Latency counts from the intended time rather than from the issue.
    from_intended: bool,
    began: Option<Time>,
    ended: Option<Time>,
    ops: [Option<OpSamples>; 4],
    series: Series,
    outstanding_ns: u128,
}

impl Recorder {
    pub(crate) fn new(phase: &Phase) -> Recorder {
        let mut ops = [const { None }; 4];
        for share in &phase.ops {
            ops[index(share.op)] = Some(OpSamples {
                op: share.op,
                ios: 0,
                bytes: Bytes::ZERO,
                latency: LatencyHistogram::new(),
                lag: Lag::default(),
            });
        }
        Recorder {
            name: phase.name.clone(),
            measured: phase.measured,
            from_intended: matches!(phase.arrival, Arrival::Timed { .. }),
            began: None,
            ended: None,
            ops,
            series: Series::new(slice_for(phase)),
            outstanding_ns: 0,
        }
    }

    pub(crate) fn begin(&mut self, at: Time) {
        self.began = Some(at);
    }

    pub(crate) fn end(&mut self, at: Time) {
        self.ended = Some(at);
    }

    /// Counts one completion. An operation that belongs to the phase before (still in flight when
    /// this phase began) counts too: it is work that the drive finished in this window.
    #[inline]
    pub(crate) fn record(&mut self, seen: Seen) {
        let Some(began) = self.began else { return };
        self.series.add(seen.completed.since(began), seen.bytes);
        self.outstanding_ns += u128::from(seen.completed.since(seen.issued).0);
        let Some(op) = &mut self.ops[index(seen.op)] else { return };
        op.ios += 1;
        op.bytes += seen.bytes;
        op.lag.add(seen.issued.since(seen.ready));
        if self.measured {
            let from = if self.from_intended { seen.intended } else { seen.issued };
            op.latency.record(seen.completed.since(from).0);
        }
    }

    /// Closes the phase at `end` if it is still open, and gives what it holds, with times relative
    /// to `start`. `None` when the phase was never entered.
    pub(crate) fn finish(self, start: Time, end: Time) -> Option<PhaseSamples> {
        let began = self.began?;
        let window = self.ended.unwrap_or(end).since(began);
        let mut series = self.series;
        series.fit(window);
        Some(PhaseSamples {
            name: self.name,
            measured: self.measured,
            began: began.since(start),
            window,
            ops: self.ops.into_iter().flatten().filter(|o| o.ios > 0).collect(),
            series,
            outstanding_ns: self.outstanding_ns,
        })
    }
}

/// Adds the same phase of another submitter. Windows are joined: a phase lasts from its first
/// beginning to its last end.
pub(crate) fn merge(into: &mut PhaseSamples, other: PhaseSamples) {
    let end = (into.began + into.window).max(other.began + other.window);
    into.began = into.began.min(other.began);
    into.window = end - into.began;
    into.series.merge(other.series);
    into.outstanding_ns += other.outstanding_ns;
    for op in other.ops {
        match into.ops.iter_mut().find(|o| o.op == op.op) {
            Some(mine) => {
                mine.ios += op.ios;
                mine.bytes += op.bytes;
                mine.lag = mine.lag.merged(op.lag);
                mine.latency.merge(&op.latency);
            }
            None => into.ops.push(op),
        }
    }
}

fn index(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Flush => 2,
        Op::Discard => 3,
    }
}

/// A fiftieth of the phase, between 10 ms and 1 s, in whole 10 ms; 100 ms when the phase has no time limit.
fn slice_for(phase: &Phase) -> Nanos {
    let planned = phase.stop.after.unwrap_or(Nanos::secs(5));
    let steps = (planned.0 / 50 / 10_000_000).clamp(1, 100);
    Nanos::millis(10 * steps)
}

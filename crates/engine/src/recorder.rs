//! Samples of one submitter during one phase. Everything is allocated before the first I/O.

use block::{Bytes, Nanos, Op, Time};
use stats::LatencyHistogram;
use workload::plan::{Arrival, Phase};

use crate::samples::{Lag, OpSamples, PhaseSamples, Series};

/// Record of one completed I/O.
#[derive(Clone, Copy, PartialEq, Eq)]
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
    /// Time of I/Os that are counted here from before the phase began.
    before_ns: u128,
    /// Time within the phase of I/Os that completed after it.
    later_ns: u128,
    /// The last I/O, and how many alike came one after the other and are not counted yet.
    alike: (Seen, u64),
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
            before_ns: 0,
            later_ns: 0,
            alike: (NOTHING, 0),
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
    ///
    /// I/Os that were handed over with one system call and reaped with one are alike in all that is
    /// counted here, and are counted together. It is where I/Os are cheapest that most are alike.
    #[inline]
    pub(crate) fn record(&mut self, seen: Seen) {
        if seen != self.alike.0 {
            self.settle();
            self.alike.0 = seen;
        }
        self.alike.1 += 1;
    }

    /// True of an I/O that was issued before this phase began.
    #[inline]
    pub(crate) fn is_older(&self, issued: Time) -> bool {
        self.began.is_some_and(|began| issued < began)
    }

    /// Takes note of an I/O that was outstanding in this phase, and completed after it.
    pub(crate) fn outlived(&mut self, issued: Time, completed: Time) {
        let Some((began, ended)) = self.began.zip(self.ended) else { return };
        let (from, to) = (issued.max(began), completed.min(ended));
        if to > from {
            self.later_ns += u128::from(to.since(from).0);
        }
    }

    /// Counts what is not counted yet.
    #[inline]
    fn settle(&mut self) {
        let (seen, n) = (self.alike.0, std::mem::take(&mut self.alike.1));
        let Some(began) = self.began.filter(|_| n > 0) else { return };
        let bytes = Bytes(seen.bytes.0 * n);
        add_alike(&mut self.series, seen.completed.since(began), n, bytes);
        self.outstanding_ns += u128::from(seen.completed.since(seen.issued).0) * u128::from(n);
        if seen.issued < began {
            self.before_ns +=
                u128::from(began.min(seen.completed).since(seen.issued).0) * u128::from(n);
        }
        let Some(op) = &mut self.ops[index(seen.op)] else { return };
        op.ios += n;
        op.bytes += bytes;
        let lag = seen.issued.since(seen.ready);
        op.lag.add(lag);
        op.lag.sum_ns += u128::from(lag.0) * u128::from(n - 1);
        op.lag.count += n - 1;
        if self.measured {
            let from = if self.from_intended { seen.intended } else { seen.issued };
            op.latency.record_n(seen.completed.since(from).0, n);
        }
    }

    /// Closes the phase at `end` if it is still open, and gives what it holds, with times relative
    /// to `start`. `None` when the phase was never entered.
    pub(crate) fn finish(mut self, start: Time, end: Time) -> Option<PhaseSamples> {
        self.settle();
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
            within_ns: self.outstanding_ns - self.before_ns + self.later_ns,
        })
    }
}

/// Placeholder for no I/O.
const NOTHING: Seen = Seen {
    op: Op::Flush,
    bytes: Bytes::ZERO,
    intended: Time::ZERO,
    ready: Time::ZERO,
    issued: Time::ZERO,
    completed: Time::ZERO,
};

/// Counts `ios` I/Os of `bytes` together, all of which completed `at` after the phase began.
#[inline]
fn add_alike(series: &mut Series, at: Nanos, ios: u64, bytes: Bytes) {
    series.add(at, bytes);
    if ios > 1 {
        let slice = (at.0 / series.slice.0) as usize;
        series.ios[slice] += ios - 1;
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
    into.within_ns += other.within_ns;
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
pub(crate) fn slice_for(phase: &Phase) -> Nanos {
    let planned = phase.stop.after.unwrap_or(Nanos::secs(5));
    let steps = (planned.0 / 50 / 10_000_000).clamp(1, 100);
    Nanos::millis(10 * steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::plan::{OpShare, Phase};

    fn phase() -> Phase {
        let read = OpShare { op: Op::Read, percent: 100, fua: false };
        Phase {
            name: "all".to_owned(),
            measured: true,
            ops: vec![read],
            block: Bytes(4096),
            region: None,
            blocks: Vec::new(),
            address: workload::plan::Address::Random,
            arrival: Arrival::ClosedLoop { depth: 4 },
            stop: workload::plan::Stop { after: Some(Nanos::secs(1)), ..Default::default() },
        }
    }

    // Counting alike I/Os together only saves time: if one of them were lost, or put into the wrong
    // slice or bin, the results of the fastest drives would be wrong, and no others.
    #[test]
    fn alike_ios_count_as_often_as_they_came() {
        let phase = phase();
        let mut recorder = Recorder::new(&phase);
        recorder.begin(Time(1_000));
        let mut latency = LatencyHistogram::new();
        let mut lag = Lag::default();
        let (mut ios, mut outstanding) = (0, 0);
        // Runs of 1 to 32 alike, so that each length is followed by each kind of change.
        for i in 0..500u64 {
            let issued = Time(1_000 + i * 1_000_000);
            let seen = Seen {
                op: Op::Read,
                bytes: Bytes(4096),
                intended: issued,
                ready: Time(issued.0 - i % 7),
                issued,
                completed: issued + Nanos(10 + i % 3),
            };
            for _ in 0..=i * 7 % 32 {
                recorder.record(seen);
                latency.record(10 + i % 3);
                lag.add(Nanos(i % 7));
                outstanding += u128::from(10 + i % 3);
                ios += 1;
            }
        }
        let samples = recorder.finish(Time(1_000), Time(500_001_000)).unwrap();
        let op = &samples.ops[0];
        assert_eq!((op.ios, op.bytes, op.lag), (ios, Bytes(4096 * ios), lag));
        assert_eq!(op.latency, latency);
        assert_eq!(samples.outstanding_ns, outstanding);
        assert_eq!(samples.series.ios.iter().sum::<u64>(), ios);
        assert_eq!(samples.series.bytes.iter().sum::<u64>(), 4096 * ios);
        // Twenty batches to a slice of 20 ms, the first slice's by hand.
        let first: u64 = (0..20).map(|i| i * 7 % 32 + 1).sum();
        assert_eq!((samples.series.slice, samples.series.ios[0]), (Nanos::millis(20), first));
    }
}

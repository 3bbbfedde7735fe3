//! Results of the I/O of one run of one step.

use block::{Bytes, Environment, Errno, Nanos, Op, Snapshot, Time};
use serde::{Deserialize, Serialize};
use stats::LatencyHistogram;
use workload::audit::AuditSummary;

/// One run of one step, from idle to idle.
#[derive(Clone, Debug)]
pub struct Samples {
    /// The step's phases, in order.
    pub phases: Vec<PhaseSamples>,
    /// Everything that completed, warm-up and drain included.
    pub totals: Totals,
    /// Addresses issued, warm-up and drain included.
    pub audit: AuditSummary,
    /// Counters read when all lanes stood ready and nothing had been issued.
    pub before: Snapshot,
    /// Counters read when the last I/O had completed.
    pub after: Snapshot,
    /// From the first request to the last completion.
    pub elapsed: Nanos,
    /// Single I/Os, when asked for, ordered by completion; see [`Samples::trace_dropped`].
    pub trace: Vec<Sample>,
    /// I/Os beyond the cap on `trace`.
    pub trace_dropped: u64,
    /// The first I/O that failed; the run ended with it.
    pub failure: Option<Failure>,
    /// True when the run was cancelled before its end.
    pub interrupted: bool,
}

/// Counts and bytes by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes read.
    pub read: Bytes,
    /// Bytes written.
    pub written: Bytes,
    /// Bytes discarded.
    pub discarded: Bytes,
}

impl Totals {
    pub(crate) fn add(&mut self, op: Op, bytes: Bytes) {
        self.ios += 1;
        match op {
            Op::Read => self.read += bytes,
            Op::Write => self.written += bytes,
            Op::Discard => self.discarded += bytes,
            Op::Flush => {}
        }
    }

    /// Bytes of every direction.
    pub fn bytes(&self) -> Bytes {
        self.read + self.written + self.discarded
    }

    pub(crate) fn merge(&mut self, other: &Totals) {
        self.ios += other.ios;
        self.read += other.read;
        self.written += other.written;
        self.discarded += other.discarded;
    }
}

/// Completions of one phase, over all submitters.
#[derive(Clone, Debug)]
pub struct PhaseSamples {
    /// The phase's name.
    pub name: String,
    /// True when it counts towards the result.
    pub measured: bool,
    /// When it began, since the step's first request.
    pub began: Nanos,
    /// How long it lasted.
    pub window: Nanos,
    /// By operation, in the order read, write, flush, discard; only those that completed.
    pub ops: Vec<OpSamples>,
    /// Completions over time.
    pub series: Series,
    /// Sum over the I/Os that completed of the time between issue and completion.
    pub outstanding_ns: u128,
    /// Sum over all I/Os of the time that they were outstanding within the window, wherever they were issued and completed.
    pub within_ns: u128,
}

impl PhaseSamples {
    /// I/Os of all operations.
    pub fn ios(&self) -> u64 {
        self.ops.iter().map(|o| o.ios).sum()
    }

    /// Bytes of all operations.
    pub fn bytes(&self) -> Bytes {
        self.ops.iter().map(|o| o.bytes).sum()
    }

    /// Mean count of outstanding I/Os, over all submitters. Of a drive whose I/Os are few and long, most of the window is
    /// that of I/Os which complete after it.
    pub fn achieved_depth(&self) -> f64 {
        if self.window == Nanos::ZERO { 0.0 } else { self.within_ns as f64 / self.window.0 as f64 }
    }

    /// Latencies of all operations together.
    pub fn latency(&self) -> LatencyHistogram {
        let mut all = LatencyHistogram::new();
        self.ops.iter().for_each(|o| all.merge(&o.latency));
        all
    }

    /// Delays before issue of all operations together.
    pub fn lag(&self) -> Lag {
        self.ops.iter().fold(Lag::default(), |sum, o| sum.merged(o.lag))
    }
}

/// Completions of one operation during one phase.
#[derive(Clone, Debug)]
pub struct OpSamples {
    /// The operation.
    pub op: Op,
    /// I/Os completed.
    pub ios: u64,
    /// Bytes transferred.
    pub bytes: Bytes,
    /// Latency in nanoseconds: from issue to completion in a closed loop, from the intended time to
    /// completion when arrivals are timed. Empty in phases that are not measured.
    pub latency: LatencyHistogram,
    /// From the moment a request could have been issued (its slot free, and its intended time come)
    /// to the moment it was: the tester's own delay.
    pub lag: Lag,
}

/// Sum and greatest of delays before issue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    /// Sum over I/Os, in nanoseconds.
    pub sum_ns: u128,
    /// The longest.
    pub max: Nanos,
    /// I/Os.
    pub count: u64,
}

impl Lag {
    pub(crate) fn add(&mut self, lag: Nanos) {
        self.sum_ns += u128::from(lag.0);
        self.max = self.max.max(lag);
        self.count += 1;
    }

    pub(crate) fn merged(self, other: Lag) -> Lag {
        Lag {
            sum_ns: self.sum_ns + other.sum_ns,
            max: self.max.max(other.max),
            count: self.count + other.count,
        }
    }

    /// Mean in nanoseconds; zero when nothing was issued.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }
}

/// Completions per slice of time. The slice doubles rather than the count of slices growing without
/// bound, so a day-long phase takes no more memory than a short one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Series {
    /// Length of a slice.
    pub slice: Nanos,
    /// I/Os completed, per slice.
    pub ios: Vec<u64>,
    /// Bytes of the I/Os that completed, per slice.
    pub bytes: Vec<u64>,
    /// By the end of each slice, bytes of the I/O that completed next: its share of the time since the completion before it.
    ahead: Vec<u64>,
    /// The last completion of one submitter.
    last: Option<Nanos>,
}

impl Series {
    /// Most slices kept.
    pub const SLICES_MAX: usize = 4096;

    /// Nothing yet.
    pub fn new(slice: Nanos) -> Series {
        Series {
            slice,
            ios: Vec::with_capacity(Self::SLICES_MAX),
            bytes: Vec::with_capacity(Self::SLICES_MAX),
            ahead: Vec::with_capacity(Self::SLICES_MAX),
            last: None,
        }
    }

    /// Bytes transferred per slice, where an I/O is transferred between the completion before it and its own: a slice that holds
    /// one I/O and a half has one or two completions, by chance. What was transferred before the first completion is in the slice
    /// of that one, and what completed after the phase is in none.
    pub fn progress(&self) -> Vec<u64> {
        let mut before = 0;
        let slice = |(bytes, ahead): (&u64, &u64)| {
            let transferred = bytes + ahead - before;
            before = *ahead;
            transferred
        };
        self.bytes.iter().zip(&self.ahead).map(slice).collect()
    }

    /// Counts an I/O that completed `at` after the phase began.
    pub(crate) fn add(&mut self, at: Nanos, bytes: Bytes) {
        let mut index = (at.0 / self.slice.0) as usize;
        while index >= Self::SLICES_MAX {
            self.coarsen();
            index = (at.0 / self.slice.0) as usize;
        }
        if index >= self.ios.len() {
            self.resize(index + 1);
        }
        self.ios[index] += 1;
        self.bytes[index] += bytes.0;
        if let Some(last) = self.last.replace(at)
            && last.0 / self.slice.0 < index as u64
        {
            self.cross(last, at, bytes);
        }
    }

    /// Divides an I/O of `bytes` that completed `at` among the slices since the completion before it.
    #[cold]
    fn cross(&mut self, last: Nanos, at: Nanos, bytes: Bytes) {
        let slice = self.slice.0;
        for index in last.0 / slice..at.0 / slice {
            let since_last = u128::from((index + 1) * slice - last.0);
            let share = u128::from(bytes.0) * since_last / u128::from(at.0 - last.0);
            self.ahead[index as usize] = share as u64;
        }
    }

    fn resize(&mut self, slices: usize) {
        for values in [&mut self.ios, &mut self.bytes, &mut self.ahead] {
            values.resize(slices, 0);
        }
    }

    /// Cuts or pads to the slices that lie wholly inside `window`, so that none is half-empty only
    /// because the phase ended in it.
    pub(crate) fn fit(&mut self, window: Nanos) {
        while window.0 / self.slice.0 > Self::SLICES_MAX as u64 {
            self.coarsen();
        }
        self.resize((window.0 / self.slice.0) as usize);
    }

    pub(crate) fn merge(&mut self, mut other: Series) {
        while self.slice < other.slice {
            self.coarsen();
        }
        while other.slice < self.slice {
            other.coarsen();
        }
        self.resize(self.ios.len().max(other.ios.len()));
        let add = |mine: &mut Vec<u64>, others: &[u64]| {
            mine.iter_mut().zip(others).for_each(|(a, b)| *a += b);
        };
        add(&mut self.ios, &other.ios);
        add(&mut self.bytes, &other.bytes);
        add(&mut self.ahead, &other.ahead);
    }

    fn coarsen(&mut self) {
        fn halve(values: &mut Vec<u64>) {
            let half = values.len().div_ceil(2);
            for i in 0..half {
                values[i] = values[2 * i] + values.get(2 * i + 1).copied().unwrap_or(0);
            }
            values.truncate(half);
        }
        halve(&mut self.ios);
        halve(&mut self.bytes);
        // The end of a longer slice is that of its second half.
        let ends = self.ahead.iter().skip(1).step_by(2).copied();
        self.ahead = ends.chain((self.ahead.len() % 2 == 1).then_some(0)).collect();
        self.slice = self.slice + self.slice;
    }
}

/// One I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Index of the submitter.
    pub submitter: u16,
    /// The operation.
    pub op: Op,
    /// Offset on the target.
    pub offset: Bytes,
    /// Length.
    pub len: Bytes,
    /// When it was meant to be issued: its intended time, or as soon as its slot was free; since the
    /// step began.
    pub intended: Nanos,
    /// When it was issued, since the step began.
    pub issued: Nanos,
    /// When it completed, since the step began.
    pub completed: Nanos,
}

/// An I/O that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The operation.
    pub op: Op,
    /// Offset on the target.
    pub offset: Bytes,
    /// Length.
    pub len: Bytes,
    /// When the answer came, on the drive's clock.
    pub at: Time,
    /// How it failed.
    pub kind: FailureKind,
    /// The leaf device that was no longer there afterwards.
    pub gone: Option<String>,
}

/// How an I/O failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The kernel or the drive answered with an error.
    Error(Errno),
    /// Fewer bytes were transferred than asked: the target ended there.
    Short(Bytes),
}

/// State of the drive after a failure, as far as an error shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It is no longer there.
    Gone,
    /// Its medium has a defect at this place.
    Medium,
    /// It does not do what it was asked.
    Refused,
    /// It, or the path to it, failed; the kernel's error does not distinguish them.
    Failed,
    /// It ended before the place that was asked for.
    Short,
}

impl Failure {
    /// The same, with what `environment` knows of the device after it.
    #[must_use]
    pub fn ask(self, environment: &mut dyn Environment) -> Failure {
        let gone = match self.trouble() {
            Trouble::Medium => None,
            // The kernel gives a device that was taken out the size of nothing, so that reads of it come back short.
            Trouble::Gone | Trouble::Refused | Trouble::Failed | Trouble::Short => {
                environment.gone()
            }
        };
        Failure { gone, ..self }
    }

    /// Returns the state of the drive after this failure.
    pub fn trouble(&self) -> Trouble {
        match self.kind {
            _ if self.gone.is_some() => Trouble::Gone,
            FailureKind::Short(_) => Trouble::Short,
            FailureKind::Error(Errno::NO_DEVICE | Errno::OFFLINE) => Trouble::Gone,
            FailureKind::Error(Errno::MEDIUM) => Trouble::Medium,
            FailureKind::Error(Errno::REFUSED) => Trouble::Refused,
            FailureKind::Error(_) => Trouble::Failed,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} at byte {}", self.op.word(), self.len.human(), self.offset.0)?;
        let errno = match self.kind {
            FailureKind::Error(errno) => errno,
            FailureKind::Short(got) => {
                let why = match &self.gone {
                    Some(gone) => format!("{gone} is no longer there"),
                    None => "the target is shorter than when the run began".to_owned(),
                };
                return write!(f, " returned only {got}: {why}");
            }
        };
        let gone = self.gone.as_deref().unwrap_or("the drive");
        match self.trouble() {
            Trouble::Gone => write!(f, " failed: {gone} is no longer there ({errno})"),
            Trouble::Medium => write!(f, " failed: a medium error of the drive ({errno})"),
            Trouble::Refused => write!(f, " failed: the drive refused it ({errno})"),
            Trouble::Failed | Trouble::Short => write!(f, " failed: {errno}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a cable that was pulled reads like a bad block, or a bad block like any other error.
    #[test]
    fn what_became_of_the_drive_is_told() {
        struct Around(Option<&'static str>);
        impl Environment for Around {
            fn snapshot(&mut self) -> Snapshot {
                Snapshot::default()
            }
            fn stack(&self) -> &block::Stack {
                panic!("nobody asks for it")
            }
            fn extents(&mut self) -> Option<block::Extents> {
                None
            }
            fn gone(&mut self) -> Option<String> {
                self.0.map(str::to_owned)
            }
        }
        let said_of = |kind, gone| {
            let (op, offset, len) = (Op::Read, Bytes(8192), Bytes(4096));
            let failure = Failure { op, offset, len, at: Time::ZERO, kind, gone: None };
            let failure = failure.ask(&mut Around(gone));
            (failure.trouble(), failure.to_string())
        };
        let said = |errno, gone| said_of(FailureKind::Error(errno), gone);
        let (trouble, words) = said(Errno::IO, Some("sda"));
        assert_eq!(trouble, Trouble::Gone);
        assert!(words.starts_with("read of 4 KiB at byte 8192 failed: sda is no longer there"));
        assert_eq!(said(Errno::OFFLINE, None).0, Trouble::Gone);
        assert_eq!(said(Errno::IO, None).0, Trouble::Failed);
        // The drive answered; nothing else is asked.
        let (trouble, words) = said(Errno::MEDIUM, Some("sda"));
        assert_eq!(trouble, Trouble::Medium);
        assert!(words.contains("medium error") && words.contains("at byte 8192"), "{words}");
        assert!(said(Errno::REFUSED, None).1.contains("the drive refused it"));
        // The size of a device that was taken out is nothing.
        let (trouble, words) = said_of(FailureKind::Short(Bytes::ZERO), Some("nvme0n1"));
        assert_eq!(trouble, Trouble::Gone);
        assert!(words.ends_with("returned only 0B: nvme0n1 is no longer there"), "{words}");
        let (trouble, words) = said_of(FailureKind::Short(Bytes::ZERO), None);
        assert_eq!(trouble, Trouble::Short);
        assert!(words.contains("shorter than when the run began"), "{words}");
    }

    #[test]
    fn a_series_keeps_its_sum_however_often_it_coarsens() {
        let mut series = Series::new(Nanos::millis(1));
        for i in 0..10_000u64 {
            series.add(Nanos::millis(i), Bytes(10));
        }
        assert!(series.ios.len() <= Series::SLICES_MAX);
        assert_eq!(series.ios.iter().sum::<u64>(), 10_000);
        assert_eq!(series.bytes.iter().sum::<u64>(), 100_000);
        assert_eq!(series.slice, Nanos::millis(4));
    }

    // Breaks when a drive that takes one and a half I/Os per slice seems to go up and down.
    #[test]
    fn progress_is_even_where_completions_are() {
        let mut series = Series::new(Nanos::millis(60));
        (1..=75u64).for_each(|i| series.add(Nanos::millis(40 * i), Bytes(900)));
        series.fit(Nanos::secs(3));
        assert!(series.bytes.contains(&900) && series.bytes.contains(&1800), "{series:?}");
        let progress = series.progress();
        assert!(progress[1..].iter().all(|bytes| *bytes == 1350), "{progress:?}");
        // The same by twos, and of two submitters.
        let mut both = series.clone();
        both.coarsen();
        assert!(both.progress()[1..].iter().all(|bytes| *bytes == 2700), "{both:?}");
        both.merge(series);
        assert!(both.progress()[1..].iter().all(|bytes| *bytes == 5400), "{both:?}");
    }

    // Breaks when an I/O of many slices counts for the last of them alone.
    #[test]
    fn a_long_io_is_spread_over_its_slices() {
        let mut series = Series::new(Nanos::millis(10));
        series.add(Nanos::millis(5), Bytes(100));
        series.add(Nanos::millis(45), Bytes(400));
        series.fit(Nanos::millis(60));
        assert_eq!(series.progress(), [150, 100, 100, 100, 50, 0]);
        assert_eq!(series.bytes, [100, 0, 0, 0, 400, 0]);
    }

    #[test]
    fn series_of_different_slices_merge_to_the_coarser() {
        let mut fine = Series::new(Nanos::millis(1));
        let mut coarse = Series::new(Nanos::millis(1));
        (0..10).for_each(|i| fine.add(Nanos::millis(i), Bytes(1)));
        coarse.add(Nanos::millis(5_000), Bytes(1));
        fine.merge(coarse);
        assert_eq!(fine.slice, Nanos::millis(2));
        assert_eq!(fine.ios.iter().sum::<u64>(), 11);
        assert_eq!(fine.ios[2_500], 1);
    }

    #[test]
    fn the_last_partial_slice_is_cut() {
        let mut series = Series::new(Nanos::millis(10));
        series.add(Nanos::millis(5), Bytes(1));
        series.add(Nanos::millis(25), Bytes(1));
        series.fit(Nanos::millis(28));
        assert_eq!(series.ios, [1, 0]);
    }
}

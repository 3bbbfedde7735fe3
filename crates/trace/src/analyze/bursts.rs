//! How unevenly I/Os arrive: gaps between arrivals, counts in windows, self-similarity, and when the drive is idle.

mod hurst;

use block::Nanos;
use serde::{Deserialize, Serialize};
use stats::LatencyHistogram;

use super::bins::{Power, Powers};
use crate::Io;
pub use hurst::Hurst;
use hurst::Slots;

/// Windows in which arrivals are counted.
pub const WINDOWS: [Nanos; 6] = [
    Nanos::millis(1),
    Nanos::millis(10),
    Nanos::millis(100),
    Nanos::secs(1),
    Nanos::secs(10),
    Nanos::secs(100),
];
/// From one window to the next.
const STEP: u64 = 10;
/// Fewest windows for which a variance is reported.
const FEWEST: u64 = 10;
/// A window must be this many times as long as the finest step of the trace's clock.
const COARSE: u64 = 10;
/// Greatest share of I/Os without a completion at which idle times are reported.
const UNKNOWN_MOST: f64 = 0.01;

/// Gaps from one arrival to the next, whatever arrives. Times are `None` where there is no gap.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named as they are")]
pub struct Gaps {
    pub count: u64,
    /// Gaps of no time at all.
    pub zero: u64,
    pub mean_ns: Option<f64>,
    /// Standard deviation over mean: 1 for a Poisson process, 0 for a metronome.
    pub cv: Option<f64>,
    pub p01_ns: Option<u64>,
    pub p10_ns: Option<u64>,
    pub p50_ns: Option<u64>,
    pub p90_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub p999_ns: Option<u64>,
    pub max_ns: Option<u64>,
    /// How many are so long, by power of two of nanoseconds.
    pub by_ns: Vec<Power>,
}

/// Arrivals in windows of one length, counted from the first arrival; whole windows only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Length of a window.
    pub window_ns: u64,
    /// Whole windows.
    pub windows: u64,
    /// Mean of I/Os in a window.
    pub mean_ios: Option<f64>,
    /// Most I/Os in a window.
    pub peak_ios: Option<u64>,
    /// Most bytes in a window.
    pub peak_bytes: Option<u64>,
    /// Peak over mean of I/Os.
    pub peak_to_mean: Option<f64>,
    /// Peak over mean of bytes.
    pub peak_to_mean_bytes: Option<f64>,
    /// Index of dispersion for counts: variance over mean. 1 for a Poisson process at every length of window; where it
    /// grows with the length, bursts last. `None` of fewer than 10 windows.
    pub dispersion: Option<f64>,
}

/// Gaps in which nothing was outstanding, from a power of two of nanoseconds to below the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleRange {
    /// The shortest that are counted here.
    pub from_ns: u64,
    /// How many.
    pub gaps: u64,
    /// How long all of them are.
    pub total_ns: u64,
}

/// When nothing was outstanding.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Idle {
    /// Share of the time from the first arrival to the last completion.
    pub share: Option<f64>,
    /// Sum of the gaps.
    pub total_ns: Option<u64>,
    /// The longest.
    pub longest_ns: Option<u64>,
    /// All of them, by length.
    pub gaps: Vec<IdleRange>,
    /// I/Os whose completion is not known. They are taken to be over when they arrive.
    pub unknown_ios: u64,
    /// Why nothing is reported.
    pub why_not: Option<String>,
}

/// How unevenly I/Os arrive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BurstsBody {
    /// Gaps between arrivals.
    pub gaps: Gaps,
    /// Counts in [`WINDOWS`].
    pub windows: Vec<Window>,
    /// Self-similarity.
    pub hurst: Hurst,
    /// When nothing was outstanding.
    pub idle: Idle,
}

/// Watches arrivals. Memory: 0.8 MiB.
#[derive(Clone, Debug)]
pub struct Bursts {
    ios: u64,
    last: u64,
    gaps: LatencyHistogram,
    zero: u64,
    squares: u128,
    by_ns: Powers,
    levels: [Level; WINDOWS.len()],
    slots: Slots,
    /// When the last of all that arrived so far is over.
    busy_until: u64,
    unknown: u64,
    idle: [(u64, u64); 65],
    idle_longest: u64,
}

impl Default for Bursts {
    fn default() -> Self {
        Bursts::new()
    }
}

impl Bursts {
    /// Nothing seen.
    pub fn new() -> Bursts {
        Bursts {
            ios: 0,
            last: 0,
            gaps: LatencyHistogram::new(),
            zero: 0,
            squares: 0,
            by_ns: Powers::default(),
            levels: [Level::default(); WINDOWS.len()],
            slots: Slots::new(),
            busy_until: 0,
            unknown: 0,
            idle: [(0, 0); 65],
            idle_longest: 0,
        }
    }

    /// Watches an arrival.
    #[inline]
    pub fn see(&mut self, io: &Io) {
        let at = io.arrival.0.max(self.last);
        if self.ios > 0 {
            let gap = at - self.last;
            self.gaps.record(gap);
            self.zero += u64::from(gap == 0);
            self.squares = self.squares.saturating_add(u128::from(gap) * u128::from(gap));
            self.by_ns.add(gap);
        }
        self.ios += 1;
        self.last = at;
        self.count(at, if io.kind.transfers() { io.length.0 } else { 0 });
        self.slots.add(at);
        self.rest(at, io);
    }

    /// Counts an arrival in the window of each length that it lies in.
    #[inline]
    fn count(&mut self, at: u64, bytes: u64) {
        let mut window = at / WINDOWS[0].0;
        if self.levels[0].index != window {
            for level in 0..WINDOWS.len() {
                if self.levels[level].index == window {
                    break;
                }
                let (ios, bytes) = self.levels[level].close(window);
                if let Some(longer) = self.levels.get_mut(level + 1) {
                    longer.ios += ios;
                    longer.bytes = longer.bytes.saturating_add(bytes);
                }
                window /= STEP;
            }
        }
        self.levels[0].ios += 1;
        self.levels[0].bytes = self.levels[0].bytes.saturating_add(bytes);
    }

    /// Notes the idle time before an arrival. Arrivals come in order, so what is over before one of them is a gap of
    /// all that came before.
    #[inline]
    fn rest(&mut self, at: u64, io: &Io) {
        if at > self.busy_until {
            let gap = at - self.busy_until;
            let row = &mut self.idle[(64 - gap.leading_zeros()) as usize];
            *row = (row.0 + 1, row.1 + gap);
            self.idle_longest = self.idle_longest.max(gap);
        }
        let over = io.completed.get();
        self.unknown += u64::from(over.is_none());
        self.busy_until = self.busy_until.max(over.map_or(at, |over| over.0)).max(at);
    }

    /// Returns the result. `resolution` is the finest step of the trace's clock ([`crate::TraceInfo::resolution`]):
    /// windows that are not much longer are meaningless, and are left out.
    pub fn finish(&self, resolution: Nanos) -> BurstsBody {
        let told = |window: &Nanos| window.0 >= resolution.0.saturating_mul(COARSE);
        let windows = WINDOWS.iter().zip(&self.levels).filter(|(window, _)| told(window));
        BurstsBody {
            gaps: self.gaps(),
            windows: windows.map(|(window, level)| level.finish(*window)).collect(),
            hurst: self.slots.hurst(self.ios, resolution),
            idle: self.idle(),
        }
    }

    fn gaps(&self) -> Gaps {
        let of = &self.gaps;
        let count = of.count();
        let mean = of.mean();
        let variance = mean.map(|mean| (self.squares as f64 / count as f64 - mean * mean).max(0.0));
        let cv = mean.zip(variance).filter(|(mean, _)| *mean > 0.0);
        Gaps {
            count,
            zero: self.zero,
            mean_ns: mean,
            cv: cv.map(|(mean, variance)| variance.sqrt() / mean),
            p01_ns: of.percentile(1.0),
            p10_ns: of.percentile(10.0),
            p50_ns: of.percentile(50.0),
            p90_ns: of.percentile(90.0),
            p99_ns: of.percentile(99.0),
            p999_ns: of.percentile(99.9),
            max_ns: of.max(),
            by_ns: self.by_ns.list(),
        }
    }

    fn idle(&self) -> Idle {
        let why_not = if self.unknown == self.ios {
            Some("the trace does not record when I/Os completed".to_owned())
        } else if self.unknown as f64 > UNKNOWN_MOST * self.ios as f64 {
            let (unknown, ios) = (self.unknown, self.ios);
            Some(format!("it is not known when {unknown} of {ios} I/Os were over"))
        } else {
            None
        };
        let unknown_ios = self.unknown;
        if why_not.is_some() {
            return Idle { unknown_ios, why_not, ..Idle::default() };
        }
        let total = self.idle.iter().map(|(_, time)| time).sum::<u64>();
        let range = |(row, &(gaps, total_ns)): (usize, &(u64, u64))| IdleRange {
            from_ns: 1 << row.saturating_sub(1),
            gaps,
            total_ns,
        };
        let gaps = self.idle.iter().enumerate().map(range).filter(|range| range.gaps > 0);
        Idle {
            share: (self.busy_until > 0).then(|| total as f64 / self.busy_until as f64),
            total_ns: Some(total),
            longest_ns: Some(self.idle_longest),
            gaps: gaps.collect(),
            unknown_ios,
            why_not,
        }
    }
}

/// Counts in windows of one length: of the current one, and what is to be known of those before.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    index: u64,
    ios: u64,
    bytes: u64,
    all_ios: u64,
    all_bytes: u64,
    squares: u128,
    peak_ios: u64,
    peak_bytes: u64,
}

impl Level {
    /// Goes on to another window; returns what was in this one.
    #[inline]
    fn close(&mut self, next: u64) -> (u64, u64) {
        let (ios, bytes) = (std::mem::take(&mut self.ios), std::mem::take(&mut self.bytes));
        self.all_ios += ios;
        self.all_bytes = self.all_bytes.saturating_add(bytes);
        self.squares += u128::from(ios) * u128::from(ios);
        self.peak_ios = self.peak_ios.max(ios);
        self.peak_bytes = self.peak_bytes.max(bytes);
        self.index = next;
        (ios, bytes)
    }

    fn finish(&self, window: Nanos) -> Window {
        let windows = self.index;
        let known = windows > 0;
        let n = windows as f64;
        let mean = known.then(|| self.all_ios as f64 / n);
        let over = |peak: u64, all: u64| (all > 0 && known).then(|| peak as f64 * n / all as f64);
        let dispersion = mean.filter(|mean| windows >= FEWEST && *mean > 0.0).map(|mean| {
            let around = self.squares as f64 - n * mean * mean;
            around.max(0.0) / (n - 1.0) / mean
        });
        Window {
            window_ns: window.0,
            windows,
            mean_ios: mean,
            peak_ios: known.then_some(self.peak_ios),
            peak_bytes: known.then_some(self.peak_bytes),
            peak_to_mean: over(self.peak_ios, self.all_ios),
            peak_to_mean_bytes: over(self.peak_bytes, self.all_bytes),
            dispersion,
        }
    }
}

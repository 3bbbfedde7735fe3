//! Reports as diskspd prints them, from plain numbers, so that scripts and guides for it work on ours.
//!
//! The text is that of diskspd for Linux (github.com/microsoft/diskspd-for-linux, `src/result_formatter.cc`), the XML
//! that of diskspd for Windows (github.com/microsoft/diskspd, `XmlResultParser`). What is not taken over:
//!
//! - Rates divide by the time that was measured, not by the time that was asked for.
//! - The percentiles of reads and writes together weigh each thread once; the text of the original weighs the first as
//!   often as there are threads.
//!
//! The text's MB/s are 2^20 bytes per second, as in the original.

mod text;
mod xml;

use stats::LatencyHistogram;

pub use text::text;
pub use xml::xml;

/// Everything that is printed of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The program's name and its arguments, as typed.
    pub command_line: Vec<String>,
    /// Name and version of the program that printed it.
    pub tool: (String, String),
    /// The machine's name; empty for a run on virtual drives alone.
    pub host: String,
    /// When the run ended, as text; empty on drives without a date.
    pub date: String,
    /// Measured time that was asked for, in seconds.
    pub duration_s: u32,
    /// Load before it, in seconds.
    pub warm_up_s: u32,
    /// Load after it, in seconds.
    pub cool_down_s: u32,
    /// True when latencies are printed.
    pub latency: bool,
    /// Length of the intervals whose deviation is printed, in milliseconds; `None` when it is not.
    pub interval_ms: Option<u32>,
    /// Root of all randomness.
    pub seed: u64,
    /// The targets, in the order named.
    pub targets: Vec<Target>,
    /// The processors.
    pub processors: Vec<Processor>,
    /// The measured time as it was, in seconds, above zero.
    pub seconds: f64,
    /// I/Os of each thread on each of its targets.
    pub rows: Vec<Row>,
}

/// A target and how it is loaded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// As typed.
    pub path: String,
    /// In bytes.
    pub size: u64,
    /// The page cache is bypassed.
    pub direct: bool,
    /// Each write is durable when it completes.
    pub durable: bool,
    /// Share of writes, in percent.
    pub write_percent: u8,
    /// Size of a transfer, in bytes.
    pub block: u64,
    /// Order of offsets.
    pub order: Order,
    /// Distance from one offset to the next, or what random ones are multiples of, in bytes.
    pub stride: u64,
    /// Transfers outstanding per thread.
    pub depth: u32,
    /// The first byte used.
    pub base_offset: u64,
    /// Behind the last byte used.
    pub end: u64,
    /// Distance from where one thread begins to where the next does, in bytes.
    pub thread_stride: u64,
    /// Content of writes.
    pub fill: Fill,
    /// Reads and writes have buffers of their own, as was asked.
    pub separate: bool,
    /// Threads of this target; `None` where threads are counted over all targets.
    pub threads: Option<u32>,
    /// The block device under it, as far as it is known.
    pub device: String,
    /// Its I/O scheduler.
    pub scheduler: String,
    /// Most bytes per millisecond and thread.
    pub bytes_per_ms: Option<u64>,
}

/// Order of offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// One after the other.
    #[default]
    Sequential,
    /// One after the other, over all threads.
    Interlocked,
    /// At random.
    Random,
}

/// Content of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// diskspd's default: a ramp of bytes.
    #[default]
    Usual,
    /// Zeros.
    Zeros,
    /// Random bytes.
    Random,
}

/// Time of a processor by use, as shares from 0 to 1 of the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Processor {
    /// Its number.
    pub id: u32,
    /// In programs.
    pub user: f64,
    /// In the kernel.
    pub kernel: f64,
    /// Idle, while a program here waited for a disk.
    pub waiting: f64,
    /// Idle.
    pub idle: f64,
}

/// I/Os of one thread on one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// The thread's number, from 0.
    pub thread: u32,
    /// The target's place among [`Report::targets`].
    pub target: usize,
    /// Reads.
    pub reads: Figures,
    /// Writes.
    pub writes: Figures,
}

/// I/Os in one direction, or in both.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Bytes transferred.
    pub bytes: u64,
    /// I/Os completed.
    pub ios: u64,
    /// In nanoseconds.
    pub latency: LatencyHistogram,
    /// I/Os completed in each interval; `None` where they were not counted.
    pub per_interval: Option<Vec<u64>>,
}

impl Figures {
    /// Both together.
    fn and(&self, other: &Figures) -> Figures {
        let mut latency = self.latency.clone();
        latency.merge(&other.latency);
        let sum = |a: &[u64], b: &[u64]| -> Vec<u64> {
            let at = |counts: &[u64], place: usize| counts.get(place).copied().unwrap_or(0);
            (0..a.len().max(b.len())).map(|place| at(a, place) + at(b, place)).collect()
        };
        let counts = self.per_interval.as_deref().zip(other.per_interval.as_deref());
        Figures {
            bytes: self.bytes + other.bytes,
            ios: self.ios + other.ios,
            latency,
            per_interval: counts.map(|(a, b)| sum(a, b)),
        }
    }

    /// Of all of them; zero of none.
    fn sum(all: impl Iterator<Item = Figures>) -> Figures {
        all.reduce(|sum, figures| sum.and(&figures)).unwrap_or_default()
    }

    /// Standard deviation of I/Os per second over intervals of this length; `None` where none were counted.
    fn deviation_iops(&self, interval_ms: u32) -> Option<f64> {
        let counts = self.per_interval.as_deref().filter(|counts| !counts.is_empty())?;
        let n = counts.len() as f64;
        let mean = counts.iter().sum::<u64>() as f64 / n;
        let squares: f64 = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum();
        Some((squares / n).sqrt() * 1000.0 / f64::from(interval_ms))
    }
}

/// Standard deviation of latencies, in nanoseconds; `None` of none.
fn deviation_ns(latency: &LatencyHistogram) -> Option<f64> {
    let n = latency.count() as f64;
    // From the bins' own mean: from the exact one, latencies that are all alike would seem to differ.
    let sum: f64 = latency.iter().map(|(ns, count)| ns as f64 * count as f64).sum();
    let squares: f64 =
        latency.iter().map(|(ns, count)| (ns as f64 - sum / n).powi(2) * count as f64).sum();
    (n > 0.0).then(|| (squares / n).sqrt())
}

impl Report {
    /// Sums over the rows: reads, writes, both.
    fn totals(&self) -> [Figures; 3] {
        let reads = Figures::sum(self.rows.iter().map(|row| row.reads.clone()));
        let writes = Figures::sum(self.rows.iter().map(|row| row.writes.clone()));
        let both = reads.and(&writes);
        [reads, writes, both]
    }

    /// All threads.
    fn threads(&self) -> usize {
        let last = self.rows.iter().map(|row| row.thread).max();
        last.map_or(0, |last| last as usize + 1)
    }
}

/// Percentiles that are printed: in percent, and the name in the text.
const PERCENTILES: [(f64, &str); 13] = [
    (25.0, "25th"),
    (50.0, "50th"),
    (75.0, "75th"),
    (90.0, "90th"),
    (95.0, "95th"),
    (99.0, "99th"),
    (99.9, "3-nines"),
    (99.99, "4-nines"),
    (99.999, "5-nines"),
    (99.9999, "6-nines"),
    (99.99999, "7-nines"),
    (99.999_999, "8-nines"),
    (99.999_999_9, "9-nines"),
];

#[cfg(test)]
mod tests;

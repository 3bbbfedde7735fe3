//! The tests, each in a file of its own.

pub mod composite;
mod enterprise;
pub mod ezfio;
pub mod hir;
pub mod iops;
pub mod latency;
pub mod qd_sweep;
pub mod throughput;
pub mod wsat;
pub mod xsr;

use block::Bytes;
use stats::remedy::Run;
use stats::{Caveat, LatencyHistogram};
use workload::address::{Address, Zone};
use workload::plan::Stop;

use crate::ask::Ask;
use crate::body::Body;
use crate::desk::{Desk, Halt};
use crate::options::{Addresses, Options};
use crate::table::Table;
use crate::window::{Role, Window};

/// A stretch of random I/O of one size.
pub(crate) fn random(options: &Options, block: Bytes, read_percent: u8, stop: Stop) -> Ask {
    Ask {
        role: Role::Measure,
        round: None,
        threads: options.threads,
        depth: options.depth,
        block,
        blocks: Vec::new(),
        read_percent,
        address: Address::Random,
        stop,
        arrivals_per_s: None,
    }
}

/// A stretch of sequential I/O that continues from the block `from`.
pub(crate) fn sequential(
    options: &Options,
    block: Bytes,
    read_percent: u8,
    from: u64,
    stop: Stop,
) -> Ask {
    let address = Address::Onward { from };
    Ask { address, ..random(options, block, read_percent, stop) }
}

/// Addresses of random writes, after `taken` of them.
pub(crate) fn addresses(options: &Options, taken: u64) -> Address {
    let order = |replayed| Address::Permutation { seed: options.seed >> 1, from: taken, replayed };
    match options.addresses {
        Addresses::Uniform => Address::Random,
        Addresses::Fresh => order(false),
        Addresses::Replayed => order(true),
        Addresses::HotCold => Address::Zoned {
            zones: [
                Zone { space_percent: 20, access_percent: 80 },
                Zone { space_percent: 80, access_percent: 20 },
                Zone::default(),
            ],
        },
    }
}

/// A series of samples as a table: one row per stretch.
pub(crate) struct Samples {
    table: Table,
    range_bytes: f64,
    written: u64,
    began_ns: Option<u64>,
}

impl Samples {
    /// A table without samples yet, of a range of `range` bytes.
    pub(crate) fn new(title: &str, range: Bytes) -> Samples {
        const COLUMNS: [&str; 10] = [
            "time, s",
            "written, GB",
            "written, fills",
            "IOPS",
            "throughput, MB/s",
            "ART, us",
            "p99.999, us",
            "MRT, us",
            "write amplification",
            "CPU, %",
        ];
        let table = Table::new(title, "sample", &COLUMNS);
        Samples { table, range_bytes: range.0.max(1) as f64, written: 0, began_ns: None }
    }

    /// Adds a stretch, under a label.
    pub(crate) fn push(&mut self, label: impl Into<String>, window: &Window) {
        self.written += window.bytes_written;
        let began = *self.began_ns.get_or_insert(window.began_ns);
        let us = |ns: u64| ns as f64 / 1e3;
        self.table.push(
            label,
            vec![
                Some((window.began_ns + window.duration_ns).saturating_sub(began) as f64 / 1e9),
                Some(self.written as f64 / 1e9),
                Some(self.written as f64 / self.range_bytes),
                Some(window.iops),
                Some(window.mb_s),
                Some(window.latency_ns.mean / 1e3),
                window.latency_ns.p99999.map(us),
                Some(us(window.latency_ns.max)),
                window.write_amplification(),
                window.cpu_percent,
            ],
        );
    }

    /// The table.
    pub(crate) fn table(self) -> Table {
        self.table
    }
}

/// The curve of a series: completions over time in finer slices than its stretches, all of one coarseness.
#[derive(Default)]
pub(crate) struct Curve {
    slices: Vec<Slice>,
    /// Length of a slice; none is joined that would be longer.
    seconds: f64,
    began_ns: Option<u64>,
}

/// Completions between two moments, in seconds since the first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slice {
    from: f64,
    to: f64,
    /// How long of that was measured.
    seconds: f64,
    ios: f64,
}

/// Most points of a curve: more than a page is wide.
const POINTS_MAX: usize = 2_000;

impl Curve {
    /// Adds a stretch.
    pub(crate) fn push(&mut self, window: &Window) {
        let began = *self.began_ns.get_or_insert(window.began_ns);
        let from = window.began_ns.saturating_sub(began) as f64 / 1e9;
        let slice = window.series.slice_ns as f64 / 1e9;
        if window.series.ios.is_empty() || slice <= 0.0 {
            let seconds = window.duration_ns as f64 / 1e9;
            self.add(Slice { from, to: from + seconds, seconds, ios: window.iops * seconds });
        }
        for (at, ios) in window.series.ios.iter().enumerate() {
            let from = from + at as f64 * slice;
            self.add(Slice { from, to: from + slice, seconds: slice, ios: *ios as f64 });
        }
    }

    fn add(&mut self, slice: Slice) {
        self.join(slice);
        while self.slices.len() > 2 * POINTS_MAX {
            let mean = self.slices.iter().map(|slice| slice.seconds).sum::<f64>()
                / self.slices.len() as f64;
            self.seconds = 2.0 * self.seconds.max(mean);
            std::mem::take(&mut self.slices).into_iter().for_each(|slice| self.join(slice));
        }
    }

    fn join(&mut self, slice: Slice) {
        match self.slices.last_mut() {
            Some(last) if last.seconds + slice.seconds <= self.seconds * (1.0 + 1e-9) => {
                last.to = slice.to;
                last.seconds += slice.seconds;
                last.ios += slice.ios;
            }
            _ => self.slices.push(slice),
        }
    }

    /// As a table.
    pub(crate) fn table(self, title: &str) -> Table {
        let mut table = Table::new(title, "slice", &["time, s", "IOPS"]);
        for (at, Slice { from, to, seconds, ios }) in self.slices.into_iter().enumerate() {
            let rate = if seconds > 0.0 { ios / seconds } else { 0.0 };
            table.push((at + 1).to_string(), vec![Some(f64::midpoint(from, to)), Some(rate)]);
        }
        table
    }
}

/// Response times as the specification's histogram wants them: how many took how long, up to the bin's end.
pub(crate) fn histogram(title: &str, latencies: &LatencyHistogram) -> Table {
    let mut table = Table::new(title, "response time up to, us", &["I/Os", "cumulative, %"]);
    let total = latencies.count().max(1) as f64;
    let mut bins: Vec<(f64, u64)> = Vec::new();
    for (ns, count) in latencies.iter() {
        // Twenty bins a decade: as fine as a logarithmic axis shows.
        let decade = ((ns.max(1) as f64).log10() * 20.0).ceil() / 20.0;
        match bins.last_mut() {
            Some((last, sum)) if *last == decade => *sum += count,
            _ => bins.push((decade, count)),
        }
    }
    let mut sum = 0;
    for (decade, count) in bins {
        sum += count;
        let us = 10f64.powf(decade) / 1e3;
        table.push(format!("{us:.3}"), vec![Some(count as f64), Some(sum as f64 * 100.0 / total)]);
    }
    table
}

/// Requests outstanding of a submitter whose requests do not wait for each other: more than a drive that keeps up has.
const OPEN_DEPTH: u16 = 1024;

/// Issues again what `ask` issued at `closed_per_s` one after the other, now at a share of that rate and at times of their own
/// (a Poisson process): response times count from when each request was due, and include the time that it waited behind others.
/// One after the other, a drive that stops for a second receives no requests for a second, and only one request in a million is
/// recorded as slow.
///
/// # Errors
/// [`Halt`].
pub(crate) fn open_loop(
    desk: &mut Desk<'_>,
    body: &mut Body,
    ask: &Ask,
    closed_per_s: f64,
) -> Result<(), Halt> {
    let Some(share) = desk.options.open_loop.filter(|_| closed_per_s > 0.0) else { return Ok(()) };
    let rate = share * closed_per_s;
    let open = Ask { depth: OPEN_DEPTH, arrivals_per_s: Some(rate), ..ask.clone() };
    let made = desk.stretch(&open)?;
    let load = Ask { arrivals_per_s: None, ..ask.clone() }.load();
    let title = format!("Response times of {load} from when each was due, {rate:.0} a second");
    body.tables.insert("open_loop_histogram".to_owned(), histogram(&title, &made.latencies));
    body.tables.insert("open_loop_percentiles".to_owned(), percentiles(&title, &made.latencies));
    if made.window.iops < KEPT_UP * rate {
        body.caveats.push(Caveat::new(
            "open_loop_overrun",
            &body.device.name,
            format!(
                "of {rate:.0} arrivals a second the drive served {:.0}: the queue grew to the end, and response times with it",
                made.window.iops
            ),
            Run::SmallerShare,
        ));
    }
    desk.whole(&format!("the arrivals of {}", body.test.word()))
}

/// Served of what arrived, below which a growing queue is not a matter of chance.
const KEPT_UP: f64 = 0.98;

/// Percentiles with their intervals; a percentile for which there are too few I/Os has no value.
pub(crate) fn percentiles(title: &str, latencies: &LatencyHistogram) -> Table {
    let mut table =
        Table::new(title, "percentile", &["value, us", "low, us", "high, us", "I/Os needed"]);
    for (label, percent) in [
        ("50%", 50.0),
        ("90%", 90.0),
        ("99%", 99.0),
        ("99.9%", 99.9),
        ("99.99%", 99.99),
        ("99.999%", 99.999),
    ] {
        let known = latencies.percentile_interval(percent, 0.95);
        let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
        let value = us(known.map(|known| known.value_ns));
        let low = us(known.and_then(|known| known.low_ns));
        let high = us(known.and_then(|known| known.high_ns));
        let needed = LatencyHistogram::count_needed(percent).map(|count| count as f64);
        table.push(label, vec![value, low, high, needed]);
    }
    let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
    let mean = latencies.mean().map(|ns| ns / 1e3);
    table.push("mean (ART)", vec![mean, None, None, None]);
    table.push("greatest (MRT)", vec![us(latencies.max()), None, None, None]);
    table
}

#[cfg(test)]
mod unit {
    use super::*;

    // Joined again and again, the beginning of a long curve would shrink to a point, and the fresh plateau with it.
    #[test]
    fn a_long_curve_is_as_fine_at_its_beginning_as_at_its_end() {
        let mut curve = Curve::default();
        let count = 50_000;
        for at in 0..count {
            let ios = if at < count / 10 { 600.0 } else { 75.0 };
            let from = f64::from(at) * 0.5;
            curve.add(Slice { from, to: from + 0.5, seconds: 0.5, ios: ios * 0.5 });
        }
        let table = curve.table("curve");
        let column = |name: &str| -> Vec<f64> {
            table.column(name).unwrap().into_iter().map(Option::unwrap).collect()
        };
        let (times, rates) = (column("time, s"), column("IOPS"));
        assert!((POINTS_MAX..=2 * POINTS_MAX).contains(&times.len()), "{}", times.len());
        let steps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (first, last) = (steps[0], steps[steps.len() - 2]);
        assert!((first / last - 1.0).abs() < 0.01, "{first} {last}");
        let fast = rates.iter().filter(|rate| **rate > 590.0).count();
        let share = fast as f64 / rates.len() as f64;
        assert!((share - 0.1).abs() < 0.01, "{share}");
    }
}

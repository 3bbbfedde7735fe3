//! A mark as charts: each run, speed within a run, and latencies; reads, writes and mixes apart.

use documents::recorded::TestRuns;
use mark::Body;
use mark::body::{Latency, Test};
use report::chart::{Axis, Chart, Hue, Layer, Line, LinePoint, Points, Scale, Walk};
use stats::{LatencyHistogram, Unit};

use crate::drive;
use crate::mark::title;

/// Bins of a histogram a decade.
const PER_DECADE: f64 = 20.0;
/// From this factor on between the slowest and the fastest, speeds are drawn on a logarithmic axis.
const WIDE: f64 = 8.0;
/// Points of a curve of percentiles a decade.
const LEVELS_PER_DECADE: i32 = 12;

/// All charts. `runs` has those of each test, if recorded.
pub fn charts(body: &Body, runs: &[TestRuns]) -> Vec<Chart> {
    let mut charts = drawn(body, runs, &[each_run, by_percentile, within_a_run, levels, histogram]);
    charts.extend(in_order(body));
    charts
}

/// Throughput and latency by test, for the beginning of a page.
pub fn by_test(body: &Body, runs: &[TestRuns]) -> Vec<Chart> {
    drawn(body, runs, &[each_run, by_percentile])
}

/// Every run and its latencies, for a single picture.
pub fn main(body: &Body, runs: &[TestRuns]) -> Vec<Chart> {
    drawn(body, runs, &[each_run, levels])
}

/// A chart of the tests of one operation.
type Draw = fn(&Body, &str, &[Of<'_>]) -> Option<Chart>;

fn drawn(body: &Body, runs: &[TestRuns], all: &[Draw]) -> Vec<Chart> {
    let mut ops: Vec<&str> = Vec::new();
    for test in &body.tests {
        if !ops.contains(&test.op.as_str()) {
            ops.push(&test.op);
        }
    }
    let none = TestRuns::default();
    let mut charts = Vec::new();
    for op in ops {
        let of_op = body.tests.iter().enumerate().filter(|(_, test)| test.op == op);
        let tests: Vec<Of<'_>> =
            of_op.map(|(at, test)| Of { test, runs: runs.get(at).unwrap_or(&none) }).collect();
        charts.extend(all.iter().filter_map(|draw| draw(body, op, &tests)));
    }
    charts
}

/// A test with its runs.
struct Of<'a> {
    test: &'a Test,
    runs: &'a TestRuns,
}

impl Of<'_> {
    /// All latencies of its runs.
    fn latencies(&self) -> LatencyHistogram {
        let mut all = LatencyHistogram::new();
        self.runs.runs.iter().for_each(|kept| all.merge(&kept.latencies));
        all
    }
}

fn chart(body: &Body, title: String, subtitle: String, (x, y): (Axis, Axis)) -> Chart {
    let drive = drive(&body.target, &body.stack);
    // Another program's result has no seed of ours, and may not name its drive.
    let seed = body.imported.is_none().then(|| format!("seed {}", body.setup.seed));
    let place = [body.target.name.as_str(), &drive].map(str::trim);
    let place: Vec<&str> = place.into_iter().filter(|word| !word.is_empty()).collect();
    let note = std::iter::once(place.join(", ")).chain(seed).collect::<Vec<_>>().join("; ");
    Chart { subtitle, note, ..Chart::new(title, x, y) }
}

fn titled(op: &str, words: &str) -> String {
    format!("{}: {words}", title(op))
}

/// An axis of speeds, logarithmic where they lie far apart.
pub(crate) fn speeds(values: impl Iterator<Item = f64>) -> Axis {
    let y = Axis::new("Throughput", Unit::MbPerS);
    let (least, most) =
        values.filter(|v| *v > 0.0).fold((f64::INFINITY, 0.0f64), |e, v| (e.0.min(v), e.1.max(v)));
    if most > WIDE * least { y.scaled(Scale::Log10) } else { y.with_zero() }
}

/// Every run of every test, with the median and its interval.
fn each_run(body: &Body, op: &str, tests: &[Of<'_>]) -> Option<Chart> {
    let names = tests.iter().map(|of| of.test.name.clone()).collect();
    let rates = || tests.iter().flat_map(|of| of.test.runs.iter().map(|run| run.mb_s));
    let axes = (Axis::of_classes("Test", names), speeds(rates()));
    let words = "each run, with the median of the runs and its 95% interval".to_owned();
    let mut chart = chart(body, titled(op, "every run"), words, axes);
    let places = tests.iter().enumerate().flat_map(|(at, of)| {
        of.test.runs.iter().filter(|run| run.mb_s > 0.0).map(move |run| (at as f64, run.mb_s))
    });
    chart.layers.push(Layer::Points(Points::new("runs", Hue::Blue, places.collect())));
    let median = |(at, of): (usize, &Of<'_>)| {
        let y = of.test.mb_s.median.filter(|median| *median > 0.0)?;
        let interval = of.test.mb_s.low.zip(of.test.mb_s.high);
        Some(LinePoint { x: at as f64, y, interval })
    };
    let medians: Vec<LinePoint> = tests.iter().enumerate().filter_map(median).collect();
    let is_empty = medians.is_empty();
    let medians = Line { walk: Walk::Apart, ..Line::new("median", Hue::Vermillion, medians) };
    chart.layers.push(Layer::Line(medians));
    (!is_empty).then_some(chart)
}

/// Latency of each test: the median, and what the slow ones take.
fn by_percentile(body: &Body, op: &str, tests: &[Of<'_>]) -> Option<Chart> {
    let names = tests.iter().map(|of| of.test.name.clone()).collect();
    let y = Axis::new("Latency", Unit::Ns).scaled(Scale::Log10);
    let words = "of all counted I/Os: half, 1% and 0.1% take longer".to_owned();
    let axes = (Axis::of_classes("Test", names), y);
    let mut chart = chart(body, titled(op, "latency by test"), words, axes);
    type Level = fn(&Latency) -> u64;
    let levels: [(&str, Level); 3] =
        [("p50", |ns| ns.p50), ("p99", |ns| ns.p99), ("p99.9", |ns| ns.p999)];
    for (index, (name, level)) in levels.into_iter().enumerate() {
        let place = |(at, of): (usize, &Of<'_>)| (at as f64, level(&of.test.latency_ns) as f64);
        let places = tests.iter().enumerate().map(place).filter(|(_, ns)| *ns > 0.0).collect();
        chart.layers.push(Layer::Points(Points::new(name, Hue::nth(index), places)));
    }
    let is_empty = tests.iter().all(|of| of.test.latency_ns.p50 == 0);
    (!is_empty).then_some(chart)
}

/// Speed from slice to slice: the median over the runs, from the slowest to the fastest of them.
fn within_a_run(body: &Body, op: &str, tests: &[Of<'_>]) -> Option<Chart> {
    let mut lines = Vec::new();
    for (index, of) in tests.iter().enumerate() {
        let points = slices(of.runs);
        if points.len() > 1 {
            let hue = Hue::nth(index);
            lines.push(Layer::Line(Line::new(of.test.name.clone(), hue, points)));
        }
    }
    let rates = lines.iter().filter_map(|layer| match layer {
        Layer::Line(line) => Some(&line.points),
        _ => None,
    });
    let y = speeds(rates.flatten().map(|point| point.y));
    let words = "median over the runs, from the slowest to the fastest of them".to_owned();
    let axes = (Axis::new("Time in the measured window", Unit::Ns), y);
    let chart = chart(body, titled(op, "speed within a run"), words, axes);
    (!lines.is_empty()).then_some(Chart { layers: lines, ..chart })
}

/// Slices that all runs have whole. Of a slice without I/O there is no speed on a logarithmic axis, so it is left out.
fn slices(of: &TestRuns) -> Vec<LinePoint> {
    let figures: Vec<_> = of.runs.iter().filter_map(|kept| kept.figures.as_ref()).collect();
    let whole = |length: usize, window: u64| length.min((window / of.slice_ns.max(1)) as usize);
    let count = figures.iter().map(|f| whole(f.series_bytes.len(), f.run.duration_ns)).min();
    let mut points = Vec::new();
    for at in 0..count.filter(|_| of.slice_ns > 0).unwrap_or(0) {
        let rates: Vec<f64> =
            figures.iter().map(|f| f.series_bytes[at] as f64 * 1e3 / of.slice_ns as f64).collect();
        let (least, most) =
            rates.iter().fold((f64::INFINITY, 0.0f64), |e, r| (e.0.min(*r), e.1.max(*r)));
        if let Some(median) = stats::median(&rates).filter(|_| least > 0.0) {
            let x = (at as f64 + 0.5) * of.slice_ns as f64;
            points.push(LinePoint::between(x, median, least, most));
        }
    }
    points
}

/// The latency that one I/O in N exceeds, for N up to the number of I/Os.
fn levels(body: &Body, op: &str, tests: &[Of<'_>]) -> Option<Chart> {
    let x = Axis::new("One I/O in N takes longer", Unit::Count).scaled(Scale::Log10);
    let y = Axis::new("Latency", Unit::Ns).scaled(Scale::Log10);
    let words = "of all counted I/Os: 10 is the 90th percentile, 1000 the 99.9th".to_owned();
    let mut chart = chart(body, titled(op, "latency by share of I/Os"), words, (x, y));
    for (index, of) in tests.iter().enumerate() {
        let all = of.latencies();
        let total = all.count() as f64;
        let level = |one_in: f64| {
            let ns = all.percentile(100.0 * (1.0 - 1.0 / one_in))?;
            Some(LinePoint::new(one_in, ns.max(1) as f64))
        };
        let steps = (1..).map(|step| 10f64.powf(f64::from(step) / f64::from(LEVELS_PER_DECADE)));
        let mut points: Vec<LinePoint> = std::iter::once(1.0)
            .chain(steps)
            .take_while(|one_in| *one_in < total)
            .filter_map(level)
            .collect();
        let greatest = all.max().filter(|_| total > 1.0);
        points.extend(greatest.map(|ns| LinePoint::new(total, ns.max(1) as f64)));
        if points.len() > 1 {
            let line = Line::new(of.test.name.clone(), Hue::nth(index), points);
            chart.layers.push(Layer::Line(line));
        }
    }
    (!chart.layers.is_empty()).then_some(chart)
}

/// Share of I/Os by latency.
fn histogram(body: &Body, op: &str, tests: &[Of<'_>]) -> Option<Chart> {
    let x = Axis::new("Latency", Unit::Ns).scaled(Scale::Log10);
    let y = Axis::new("Share of I/Os", Unit::Percent).with_zero();
    let words = "in bins of a twentieth of a decade".to_owned();
    let mut chart = chart(body, titled(op, "how many I/Os took how long"), words, (x, y));
    for (index, of) in tests.iter().enumerate() {
        let all = of.latencies();
        let bin = |ns: u64| ((ns.max(1) as f64).log10() * PER_DECADE).floor() as i64;
        let (Some(first), Some(last)) = (all.min().map(bin), all.max().map(bin)) else { continue };
        let mut shares = vec![0u64; usize::try_from(last - first + 1).unwrap_or(0)];
        for (ns, count) in all.iter() {
            let at = (bin(ns) - first).clamp(0, last - first);
            shares[at as usize] += count;
        }
        // From nothing before the first bin to nothing after the last.
        let edge = |bin: i64| 10f64.powf(bin as f64 / PER_DECADE);
        let total = all.count() as f64;
        let mut points = vec![LinePoint::new(edge(first), 0.0)];
        points.extend(
            (first..)
                .zip(&shares)
                .map(|(bin, count)| LinePoint::new(edge(bin), 100.0 * *count as f64 / total)),
        );
        points.push(LinePoint::new(edge(last + 1), 0.0));
        let line = Line::new(of.test.name.clone(), Hue::nth(index), points);
        chart.layers.push(Layer::Line(Line { walk: Walk::After, ..line }));
    }
    (!chart.layers.is_empty()).then_some(chart)
}

/// Each run relative to the median of its test, in the order made: events at one time are at one place.
fn in_order(body: &Body) -> Option<Chart> {
    let x = Axis::new("Run, in the order made", Unit::Count);
    let y = Axis::new("To the median of its test", Unit::Percent);
    let words = "what happened to the drive at one time stands in one place".to_owned();
    let mut chart = chart(body, "Runs in the order made".to_owned(), words, (x, y));
    for (index, (test, order)) in body.tests.iter().zip(&body.setup.order).enumerate() {
        let Some(median) = test.mb_s.median.filter(|median| *median > 0.0) else { continue };
        let runs = test.runs.iter().zip(order);
        let places = runs.map(|(run, at)| (f64::from(*at), 100.0 * run.mb_s / median)).collect();
        let name = format!("{} {}", test.name, test.op);
        chart.layers.push(Layer::Points(Points::new(name, Hue::nth(index), places)));
    }
    (!chart.layers.is_empty()).then_some(chart)
}

//! The report for people, and for awk.

use std::fmt::Write as _;

use stats::LatencyHistogram;

use super::{Figures, Fill, Order, PERCENTILES, Report, Row, Target, deviation_ns};

/// diskspd's megabyte.
const MIB: f64 = 1_048_576.0;
/// A line of the table of processors is as long as this.
const PROCESSORS_BAR: &str = "-------------------------------------------------------";

/// A line of the report. Writing to a text never fails.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {
        let _ = writeln!($out, $($arg)*);
    };
}

/// The report.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    put!(out, "\nCommand Line: {}\n", report.command_line.join(" "));
    put!(out, "System info:");
    put!(out, "\tprocessor count: {}\n", report.processors.len());
    input(&mut out, report);
    put!(out, "Results for job 1:");
    put!(out, "test time:         {:.0}s", report.seconds);
    put!(out, "*****************************************************\n");
    processors(&mut out, report);
    put!(out, "Total IO");
    table(&mut out, report, |row| row.reads.and(&row.writes));
    put!(out, "Read IO");
    table(&mut out, report, |row| row.reads.clone());
    put!(out, "Write IO");
    table(&mut out, report, |row| row.writes.clone());
    put!(out, "");
    if report.latency {
        latencies(&mut out, report);
    }
    out
}

fn input(out: &mut String, report: &Report) {
    put!(out, "Input parameters:\n");
    put!(out, "\tjob:   1");
    put!(out, "\t________");
    put!(out, "\tduration: {}s", report.duration_s);
    put!(out, "\twarm up time: {}s", report.warm_up_s);
    if report.latency {
        put!(out, "\tmeasuring latency");
    }
    if let Some(interval) = report.interval_ms {
        put!(out, "\tgathering IOPs at intervals of {interval}ms");
    }
    put!(out, "\trandom seed: {}", report.seed);
    put!(out, "\ttotal threads: {}", report.threads());
    report.targets.iter().for_each(|target| of_target(out, target));
    put!(out, "");
}

fn of_target(out: &mut String, target: &Target) {
    put!(out, "\tpath: '{}'", target.path);
    put!(out, "\t\tsize: {}B", target.size);
    if target.direct {
        put!(out, "\t\tusing O_DIRECT");
    }
    if target.durable {
        put!(out, "\t\tusing O_SYNC");
    }
    let (reads, writes) = (100 - target.write_percent.min(100), target.write_percent);
    put!(out, "\t\tperforming mix test (read/write ratio: {reads}/{writes})");
    put!(out, "\t\tblock size: {}", target.block);
    match target.order {
        Order::Random => {
            put!(out, "\t\tusing random I/O (alignment: {})", target.stride);
        }
        Order::Interlocked => {
            put!(out, "\t\tusing interlocked sequential I/O (stride: {})", target.stride);
        }
        Order::Sequential => {
            put!(out, "\t\tusing sequential I/O (stride: {})", target.stride);
        }
    }
    // The bracket that nothing opened is the original's.
    put!(out, "\t\tnumber of outstanding I/O operations: {})", target.depth);
    if target.base_offset > 0 {
        put!(out, "\t\tbase file offset: {} bytes", target.base_offset);
    }
    if target.end != target.size {
        put!(out, "\t\tmax file size: {} bytes", target.end);
    }
    put!(out, "\t\tthread stride size: {}", target.thread_stride);
    match target.fill {
        Fill::Zeros => {
            put!(out, "\t\tzeroing I/O buffers");
        }
        Fill::Random => {
            put!(out, "\t\tfilling I/O buffers with random data");
        }
        Fill::Usual => {}
    }
    if target.separate {
        put!(out, "\t\tseparating read and write buffers");
    }
    if let Some(threads) = target.threads {
        put!(out, "\t\tthreads per file: {threads}");
    }
    put!(out, "\t\tblock device: {}", target.device);
    put!(out, "\t\tdevice scheduler: {}", target.scheduler);
}

fn processors(out: &mut String, report: &Report) {
    put!(out, " CPU  |  Usage  |   User  |  Kernel | IO Wait |   Idle ");
    put!(out, "{PROCESSORS_BAR}");
    let mut sums = [0.0; 5];
    for processor in &report.processors {
        let used = processor.user + processor.kernel;
        let shares = [used, processor.user, processor.kernel, processor.waiting, processor.idle];
        let _ = write!(out, "{:5} ", processor.id);
        for (share, sum) in shares.into_iter().zip(&mut sums) {
            *sum += share;
            let _ = write!(out, "| {:6.2}% ", share * 100.0);
        }
        put!(out, "");
    }
    put!(out, "{PROCESSORS_BAR}");
    let count = report.processors.len().max(1) as f64;
    let means = sums.map(|sum| format!("{:6.2}%", sum * 100.0 / count));
    put!(out, " avg:\t{}\n", means.join(" | "));
}

fn bar(report: &Report) -> String {
    let more = |asked: bool, width| if asked { width } else { 0 };
    "-".repeat(79 + more(report.interval_ms.is_some(), 12) + more(report.latency, 24))
}

fn table(out: &mut String, report: &Report, side: fn(&Row) -> Figures) {
    let only = |asked: bool, head: &'static str| if asked { head } else { "" };
    put!(
        out,
        "thread |           bytes |         I/Os |       MB/s |  I/O per s |{}{} file",
        only(report.interval_ms.is_some(), " IopsStdDev |"),
        only(report.latency, " AvgLat(ms) | LatStdDev  |"),
    );
    put!(out, "{}", bar(report));
    for row in &report.rows {
        let figures = side(row);
        let _ = write!(out, "{:6} | {}", row.thread, columns(report, &figures, "       N/A "));
        let target = report.targets.get(row.target);
        let (path, size) = target.map_or(("", 0), |target| (target.path.as_str(), target.size));
        put!(out, "| {path} ({size}B)");
    }
    put!(out, "{}", bar(report));
    let total = Figures::sum(report.rows.iter().map(side));
    // A tab where the rows have blanks is the original's.
    put!(out, "total:   {}\n", columns(report, &total, "\t   N/A "));
}

/// Everything between the thread and the file; `none` is printed as the deviation of no latencies.
fn columns(report: &Report, figures: &Figures, none: &str) -> String {
    let per_s = |count: f64| if report.seconds > 0.0 { count / report.seconds } else { 0.0 };
    let (mib, iops) = (per_s(figures.bytes as f64 / MIB), per_s(figures.ios as f64));
    let mut out = format!("{:15} | {:12} | {mib:10.2} | {iops:10.2} ", figures.bytes, figures.ios);
    if let Some(interval) = report.interval_ms {
        let deviation = figures.deviation_iops(interval);
        let deviation = deviation.map_or("N/A".to_owned(), |deviation| format!("{deviation:.2}"));
        let _ = write!(out, "| {deviation:>10} ");
    }
    if report.latency {
        let _ = write!(out, "|    {:8.3} ", figures.latency.mean().unwrap_or(0.0) / 1e6);
        let _ = match deviation_ns(&figures.latency) {
            Some(ns) => write!(out, "|    {:8.3} ", ns / 1e6),
            None => write!(out, "|{none}"),
        };
    }
    out
}

fn latencies(out: &mut String, report: &Report) {
    let [reads, writes, both] = report.totals().map(|figures| figures.latency);
    put!(out, "  %-ile |\tRead (ms) | Write (ms) | Total (ms)");
    put!(out, "----------------------------------------------");
    let mut row = |name: &str, of: &dyn Fn(&LatencyHistogram) -> Option<u64>| {
        let ms = |ns: u64| format!("{:.3}", ns as f64 / 1e6);
        let side = |latency| of(latency).map_or("N/A".to_owned(), ms);
        let (read, write) = (side(&reads), side(&writes));
        let total = ms(of(&both).unwrap_or(0));
        put!(out, "{name:>7} | {read:>10} | {write:>10} | {total:>10}");
    };
    row("min", &LatencyHistogram::min);
    for (percent, name) in PERCENTILES {
        row(name, &|latency| latency.percentile(percent));
    }
    row("max", &LatencyHistogram::max);
    put!(out, "");
}

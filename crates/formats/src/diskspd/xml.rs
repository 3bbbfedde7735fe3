//! The same in XML, as diskspd for Windows prints it with `-Rxml`.

use std::fmt::Write as _;

use stats::LatencyHistogram;

use super::{Figures, Fill, Order, PERCENTILES, Processor, Report, Row, Target, deviation_ns};

/// The report, as one document.
pub fn xml(report: &Report) -> String {
    let mut out = Out::default();
    out.inside("Results", |out| {
        out.inside("System", |out| system(out, report));
        out.inside("Profile", |out| profile(out, report));
        out.inside("TimeSpan", |out| time_span(out, report));
    });
    out.text
}

/// Elements, indented by two blanks a level.
#[derive(Default)]
struct Out {
    text: String,
    depth: usize,
}

impl Out {
    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "{:1$}{line}", "", 2 * self.depth);
    }

    fn inside(&mut self, name: &str, fill: impl FnOnce(&mut Out)) {
        self.line(&format!("<{name}>"));
        self.depth += 1;
        fill(self);
        self.depth -= 1;
        self.line(&format!("</{name}>"));
    }

    fn text(&mut self, name: &str, value: &str) {
        self.line(&format!("<{name}>{}</{name}>", escaped(value)));
    }

    fn count(&mut self, name: &str, value: u64) {
        self.line(&format!("<{name}>{value}</{name}>"));
    }

    fn truth(&mut self, name: &str, value: bool) {
        self.line(&format!("<{name}>{value}</{name}>"));
    }

    fn milliseconds(&mut self, name: &str, ns: Option<f64>) {
        if let Some(ns) = ns {
            self.line(&format!("<{name}>{:.3}</{name}>", ns / 1e6));
        }
    }

    fn iops(&mut self, name: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.line(&format!("<{name}>{value:.3}</{name}>"));
        }
    }
}

/// Text in which nothing is markup, and nothing that no document may hold.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' => out.push(letter),
            control if control.is_control() => out.push('\u{fffd}'),
            _ => out.push(letter),
        }
    }
    out
}

fn system(out: &mut Out, report: &Report) {
    if !report.host.is_empty() {
        out.text("ComputerName", &report.host);
    }
    out.inside("Tool", |out| {
        out.text("Name", &report.tool.0);
        out.text("Version", &report.tool.1);
    });
    if !report.date.is_empty() {
        out.text("RunTime", &report.date);
    }
}

fn profile(out: &mut Out, report: &Report) {
    out.text("CommandLine", &report.command_line.join(" "));
    out.count("Progress", 0);
    out.text("ResultFormat", "xml");
    out.truth("Verbose", false);
    out.inside("TimeSpans", |out| {
        out.inside("TimeSpan", |out| {
            out.truth("CompletionRoutines", false);
            out.truth("MeasureLatency", report.latency);
            out.truth("CalculateIopsStdDev", report.interval_ms.is_some());
            out.truth("DisableAffinity", false);
            out.count("Duration", report.duration_s.into());
            out.count("Warmup", report.warm_up_s.into());
            out.count("Cooldown", report.cool_down_s.into());
            out.count("ThreadCount", report.threads() as u64);
            out.count("IoBucketDuration", report.interval_ms.unwrap_or(1000).into());
            out.count("RandSeed", report.seed);
            out.inside("Targets", |out| {
                report.targets.iter().for_each(|target| {
                    out.inside("Target", |out| of_target(out, target));
                });
            });
        });
    });
}

fn of_target(out: &mut Out, target: &Target) {
    out.text("Path", &target.path);
    out.count("BlockSize", target.block);
    out.count("BaseFileOffset", target.base_offset);
    if target.direct {
        out.truth("DisableOSCache", true);
    }
    if target.durable {
        out.truth("WriteThrough", true);
    }
    out.inside("WriteBufferContent", |out| {
        let pattern = match target.fill {
            Fill::Usual => "sequential",
            Fill::Zeros => "zero",
            Fill::Random => "random",
        };
        out.text("Pattern", pattern);
    });
    match target.order {
        Order::Random => out.count("Random", target.stride),
        Order::Interlocked => {
            out.truth("InterlockedSequential", true);
            out.count("StrideSize", target.stride);
        }
        Order::Sequential => out.count("StrideSize", target.stride),
    }
    out.count("ThreadStride", target.thread_stride);
    if target.end != target.size {
        out.count("MaxFileSize", target.end);
    }
    out.count("RequestCount", target.depth.into());
    out.count("WriteRatio", target.write_percent.into());
    out.count("Throughput", target.bytes_per_ms.unwrap_or(0));
    if let Some(threads) = target.threads {
        out.count("ThreadsPerFile", threads.into());
    }
}

fn time_span(out: &mut Out, report: &Report) {
    out.line(&format!("<TestTimeSeconds>{:.2}</TestTimeSeconds>", report.seconds));
    out.count("ThreadCount", report.threads() as u64);
    out.count("RequestCount", 0);
    out.count("ProcCount", report.processors.len() as u64);
    out.inside("CpuUtilization", |out| processors(out, &report.processors));
    let [reads, writes, both] = report.totals();
    if report.latency {
        out.inside("Latency", |out| latencies(out, [&reads, &writes, &both]));
    }
    if let Some(interval) = report.interval_ms {
        out.inside("Iops", |out| intervals(out, [&reads, &writes, &both], interval));
    }
    let mut rows = report.rows.iter().peekable();
    while let Some(first) = rows.peek().copied() {
        out.inside("Thread", |out| {
            out.count("Id", first.thread.into());
            while let Some(row) = rows.next_if(|row| row.thread == first.thread) {
                out.inside("Target", |out| of_row(out, report, row));
            }
        });
    }
}

fn processors(out: &mut Out, processors: &[Processor]) {
    let count = processors.len().max(1) as f64;
    let mean = |of: fn(&Processor) -> f64| processors.iter().map(of).sum::<f64>() / count;
    let shares = |out: &mut Out, processor: &Processor| {
        // Waiting for a disk is idle on Windows.
        for (name, share) in [
            ("UsagePercent", processor.user + processor.kernel),
            ("UserPercent", processor.user),
            ("KernelPercent", processor.kernel),
            ("IdlePercent", processor.waiting + processor.idle),
        ] {
            out.line(&format!("<{name}>{:.2}</{name}>", share * 100.0));
        }
    };
    for processor in processors {
        out.inside("CPU", |out| {
            out.count("Group", 0);
            out.count("Id", processor.id.into());
            shares(out, processor);
        });
    }
    out.inside("Average", |out| {
        let average = Processor {
            id: 0,
            user: mean(|p| p.user),
            kernel: mean(|p| p.kernel),
            waiting: mean(|p| p.waiting),
            idle: mean(|p| p.idle),
        };
        shares(out, &average);
    });
}

fn latencies(out: &mut Out, sides: [&Figures; 3]) {
    let [reads, writes, both] = sides.map(|figures| &figures.latency);
    for (mean, deviation, latency) in [
        ("AverageReadMilliseconds", "ReadLatencyStdev", reads),
        ("AverageWriteMilliseconds", "WriteLatencyStdev", writes),
        ("AverageTotalMilliseconds", "LatencyStdev", both),
    ] {
        out.milliseconds(mean, latency.mean());
        out.milliseconds(deviation, deviation_ns(latency));
    }
    let mut bucket = |percent: &str, of: &dyn Fn(&LatencyHistogram) -> Option<u64>| {
        let ns = |latency| of(latency).map(|ns| ns as f64);
        out.inside("Bucket", |out| {
            out.text("Percentile", percent);
            out.milliseconds("ReadMilliseconds", ns(reads));
            out.milliseconds("WriteMilliseconds", ns(writes));
            out.milliseconds("TotalMilliseconds", ns(both));
        });
    };
    bucket("0", &LatencyHistogram::min);
    for (percent, _) in PERCENTILES {
        bucket(&percent.to_string(), &|latency| latency.percentile(percent));
    }
    bucket("100", &LatencyHistogram::max);
}

fn intervals(out: &mut Out, sides: [&Figures; 3], interval_ms: u32) {
    let names = ["ReadIopsStdDev", "WriteIopsStdDev", "IopsStdDev"];
    for (name, figures) in names.into_iter().zip(sides) {
        out.iops(name, figures.deviation_iops(interval_ms));
    }
    let counts = sides.map(|figures| figures.per_interval.as_deref().unwrap_or_default());
    let per_s = |count: u64| count as f64 * 1000.0 / f64::from(interval_ms);
    for (place, total) in counts[2].iter().enumerate() {
        let side = |which: usize| per_s(counts[which].get(place).copied().unwrap_or(0));
        let at = (place as u64 + 1) * u64::from(interval_ms);
        out.line(&format!(
            "<Bucket SampleMillisecond=\"{at}\" Read=\"{:.0}\" Write=\"{:.0}\" Total=\"{:.0}\"/>",
            side(0),
            side(1),
            per_s(*total),
        ));
    }
}

fn of_row(out: &mut Out, report: &Report, row: &Row) {
    let both = row.reads.and(&row.writes);
    let target = report.targets.get(row.target);
    out.text("Path", target.map_or("", |target| &target.path));
    out.count("BytesCount", both.bytes);
    out.count("FileSize", target.map_or(0, |target| target.size));
    out.count("IOCount", both.ios);
    out.count("ReadBytes", row.reads.bytes);
    out.count("ReadCount", row.reads.ios);
    out.count("WriteBytes", row.writes.bytes);
    out.count("WriteCount", row.writes.ios);
    if report.latency {
        for (mean, deviation, figures) in [
            ("AverageReadLatencyMilliseconds", "ReadLatencyStdev", &row.reads),
            ("AverageWriteLatencyMilliseconds", "WriteLatencyStdev", &row.writes),
            ("AverageLatencyMilliseconds", "LatencyStdev", &both),
        ] {
            out.milliseconds(mean, figures.latency.mean());
            out.milliseconds(deviation, deviation_ns(&figures.latency));
        }
    }
    if let Some(interval) = report.interval_ms {
        for (name, figures) in [
            ("ReadIopsStdDev", &row.reads),
            ("WriteIopsStdDev", &row.writes),
            ("IopsStdDev", &both),
        ] {
            out.iops(name, figures.deviation_iops(interval));
        }
    }
}

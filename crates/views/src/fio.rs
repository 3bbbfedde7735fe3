//! A mark in the form of fio's `json+` (stat.c of version 3): a job for each test, of one of its runs.
//!
//! Figures are what fio would compute: `bw` in KiB/s, `bw_bytes` and `iops` over the run's length, latencies in the bins of
//! its histogram and percentiles from those. What a record does not hold (CPU, `iodepth_level`, the ends of `slat_ns`) is 0 or
//! left out.

use anyhow::{Context as _, Result, bail};
use mark::body::{Latency, Run as Made, Test};
use mark::{Body, Direction};
use record::{Document, PhaseSeries, Run, StepEntry};
use serde_json::{Map, Value, json};
use stats::{LatencyHistogram, Verdict, fio_bins};
use workload::plan::{Address, Plan};

/// The percentiles that fio reports by default.
const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];
/// Version of fio whose layout is written.
const LAYOUT: &str = "fio-3.33";

/// The run of each test that is its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// That whose rate is nearest to the median.
    Median,
    /// That with the highest rate.
    Best,
    /// That with this number, from 1.
    Number(usize),
}

impl Repetition {
    fn of(self, test: &Test) -> Option<usize> {
        let rates = || test.runs.iter().map(|run| run.mb_s).enumerate();
        let median = test.mb_s.median.unwrap_or_default();
        match self {
            Repetition::Median => {
                rates().min_by(|a, b| (a.1 - median).abs().total_cmp(&(b.1 - median).abs()))
            }
            Repetition::Best => rates().max_by(|a, b| a.1.total_cmp(&b.1)),
            Repetition::Number(number) => rates().nth(number.checked_sub(1)?),
        }
        .map(|(at, _)| at)
    }
}

/// A job, and the file that it goes to where each has one.
pub struct Job {
    /// As bench-fio names files: a directory for the block size, then load, depth and threads.
    pub file: String,
    value: Value,
}

/// Jobs of fio's form, and what is to be said of them.
pub struct Exported {
    /// The jobs, in the order of the tests.
    pub jobs: Vec<Job>,
    /// Tests whose numbers are not a property of the drive.
    pub withdrawn: Vec<String>,
    /// Notes about what was withdrawn or left out.
    pub notes: Vec<String>,
    head: Value,
}

impl Exported {
    /// The document of all jobs.
    pub fn document(&self) -> Value {
        self.with(self.jobs.iter().map(|job| job.value.clone()).collect())
    }

    /// The document of `job` alone: plotters add up the jobs of a document.
    pub fn of_one(&self, job: &Job) -> Value {
        self.with(vec![job.value.clone()])
    }

    fn with(&self, jobs: Vec<Value>) -> Value {
        let mut document = self.head.clone();
        document["jobs"] = jobs.into();
        document["disk_util"] = json!([]);
        document
    }
}

/// Jobs of `run`, whose result is `result`: of each test the run that `repetition` says.
///
/// # Errors
/// When a record's histogram is damaged, or no job is left.
pub fn exported(run: &Run, result: &Document<Body>, repetition: Repetition) -> Result<Exported> {
    let (body, envelope) = (&result.body, &result.envelope);
    let (mut jobs, mut withdrawn, mut notes): (Vec<Job>, _, _) = (vec![], vec![], vec![]);
    let ways = ways(run, body);
    for (index, test) in body.tests.iter().enumerate() {
        let name = format!("{} {}", test.name, test.op);
        let Some(number) = repetition.of(test) else {
            let runs = report::number::counted(test.runs.len(), "run");
            notes.push(format!("{name}: left out: it has {runs}"));
            continue;
        };
        if let Some(reason) = self::withdrawn(test) {
            notes.push(format!("{name}: was withdrawn, and the job's desc says so: {reason}"));
            withdrawn.push(name.clone());
        }
        let parts = Parts::of(run, body, index, number)?;
        match sides(test, &test.runs[number], &parts) {
            Some(sides) => {
                let place = (number, jobs.len());
                let value = job(body, (test, ways[index]), place, &sides, &parts);
                jobs.push(Job { file: file_of(&value, &jobs), value });
            }
            None => {
                let why = "a mix of reads and writes without histograms cannot be taken apart";
                notes.push(format!("{name}: left out: {why}"));
            }
        }
    }
    if jobs.is_empty() {
        bail!("{}: has no run that fio's form could hold", run.id);
    }
    let seconds = record::seconds_of(&envelope.date).unwrap_or(0);
    let head = json!({
        "fio version": LAYOUT,
        "timestamp": seconds,
        "timestamp_ms": seconds.saturating_mul(1000),
        "time": envelope.date,
        "drivescope": { "version": envelope.version, "run_id": envelope.run_id },
    });
    Ok(Exported { jobs, withdrawn, notes, head })
}

/// A name that none of `others` has.
fn file_of(job: &Value, others: &[Job]) -> String {
    let option = |name: &str| job["job options"][name].as_str().unwrap_or_default();
    let [bs, rw, depth, threads] = ["bs", "rw", "iodepth", "numjobs"].map(option);
    let stem = format!("{bs}/{rw}-{depth}-{threads}");
    let is_same = |other: &&Job| {
        other.file.strip_prefix(&stem).is_some_and(|rest| rest == ".json" || rest.contains('-'))
    };
    let same = others.iter().filter(is_same).count();
    if same == 0 { format!("{stem}.json") } else { format!("{stem}-{}.json", same + 1) }
}

/// For each test, whether its places were random: as its plan has it, whatever the step is called. Of what was imported
/// there is no plan, and the name is made of what was read.
fn ways(run: &Run, body: &Body) -> Vec<bool> {
    let plan = Plan::from_toml(&run.plan).ok();
    let plan = plan.filter(|plan| plan.steps.len() == body.tests.len());
    let of_plan = |index: usize| {
        let step = plan.as_ref()?.steps.get(index)?;
        let phase = step.phases.iter().find(|phase| phase.measured)?;
        Some(!matches!(phase.address, Address::Sequential { .. } | Address::Onward { .. }))
    };
    let of = |(index, test): (usize, &Test)| {
        of_plan(index).unwrap_or_else(|| test.name.starts_with("RND"))
    };
    body.tests.iter().enumerate().map(of).collect()
}

/// Why the numbers of `test` are not a property of the drive.
fn withdrawn(test: &Test) -> Option<String> {
    let proofs = [("reached", &test.proofs.reached), ("pattern", &test.proofs.pattern)];
    let refuted = proofs.into_iter().find(|(_, proof)| proof.verdict == Verdict::Refuted);
    match refuted {
        Some((name, proof)) => Some(format!("{name} is rejected: {}", proof.reason)),
        None if !test.headline => Some("no run was finished".to_owned()),
        None => None,
    }
}

/// Recorded data of one run beside its figures.
#[derive(Default)]
struct Parts {
    /// Latencies by operation, of the measured phases.
    by_op: Vec<(String, LatencyHistogram)>,
    /// Latencies of all operations, if they were not recorded separately.
    all: Option<LatencyHistogram>,
    /// Series over time, by phase.
    series: Vec<PhaseSeries>,
    /// Percentiles that another program reported.
    percentiles: Vec<(f64, u64)>,
}

impl Parts {
    fn of(run: &Run, body: &Body, test: usize, number: usize) -> Result<Parts> {
        if let Some(imported) = &body.imported {
            let told = imported.tests.get(test).and_then(|test| test.runs.get(number));
            let percentiles = told.map_or(&[][..], |told| &told.percentiles);
            return Ok(Parts {
                all: told.and_then(|told| told.latencies.clone()),
                percentiles: percentiles.iter().map(|told| (told.percent, told.ns)).collect(),
                ..Parts::default()
            });
        }
        let position = body.setup.order.get(test).and_then(|order| order.get(number));
        let step = run.steps.iter().find(|step| Some(&step.position) == position);
        step.map_or(Ok(Parts::default()), Parts::of_step)
    }

    fn of_step(step: &StepEntry) -> Result<Parts> {
        let series: Vec<PhaseSeries> =
            step.series.iter().filter(|phase| phase.measured).cloned().collect();
        let is_measured = |phase: &str| series.iter().any(|series| series.phase == phase);
        let mut by_op: Vec<(String, LatencyHistogram)> = Vec::new();
        for kept in step.histograms.iter().filter(|kept| is_measured(&kept.phase)) {
            let read = LatencyHistogram::from_hdr_text(&kept.encoded).map_err(anyhow::Error::msg);
            let read = read.with_context(|| format!("the histogram of step {}", step.position))?;
            match by_op.iter_mut().find(|(op, _)| *op == kept.op) {
                Some((_, sum)) => sum.merge(&read),
                None => by_op.push((kept.op.clone(), read)),
            }
        }
        Ok(Parts { by_op, series, ..Parts::default() })
    }
}

/// One direction of a run.
struct Side<'a> {
    bytes: u64,
    ios: u64,
    made: &'a Made,
    /// Share of the run's rates that is its own.
    share: f64,
    latencies: Option<&'a LatencyHistogram>,
    latency: Latency,
}

/// Reads and writes of a run, each where there are any. None when a mix was not kept apart.
fn sides<'a>(test: &Test, made: &'a Made, parts: &'a Parts) -> Option<[Option<Side<'a>>; 2]> {
    let of = |op: &str| parts.by_op.iter().find(|(name, _)| name == op).map(|(_, found)| found);
    let whole = |latencies| Side {
        bytes: made.bytes,
        ios: made.ios,
        made,
        share: 1.0,
        latencies,
        latency: made.latency_ns,
    };
    match test.direction() {
        Some(Direction::Read) => Some([Some(whole(of("read").or(parts.all.as_ref()))), None]),
        Some(Direction::Write | Direction::Commit) => {
            Some([None, Some(whole(of("write").or(parts.all.as_ref())))])
        }
        _ => {
            let part = |latencies: &'a LatencyHistogram| {
                let ios = latencies.count();
                let share = ios as f64 / made.ios.max(1) as f64;
                let latency = Latency {
                    max: latencies.max().unwrap_or(0),
                    mean: latencies.mean().unwrap_or(0.0),
                    ..Latency::default()
                };
                let bytes = ios.saturating_mul(test.block_bytes.0);
                Side { bytes, ios, made, share, latencies: Some(latencies), latency }
            };
            let sides = [of("read").map(part), of("write").map(part)];
            sides.iter().any(Option::is_some).then_some(sides)
        }
    }
}

fn job(
    body: &Body,
    (test, is_random): (&Test, bool),
    (number, group): (usize, usize),
    sides: &[Option<Side<'_>>; 2],
    parts: &Parts,
) -> Value {
    let name = format!("{} {}", test.name, test.op);
    let made = &test.runs[number];
    let elapsed_s = made.duration_ns.div_ceil(1_000_000_000);
    let side =
        |side: &Option<Side<'_>>| side.as_ref().map_or_else(empty, |side| of_side(side, parts));
    let mut job = json!({
        "jobname": name,
        "groupid": group,
        "error": 0,
        "eta": 0,
        "elapsed": elapsed_s,
        "job options": options(body, (test, is_random), &name),
        "read": side(&sides[0]),
        "write": side(&sides[1]),
        "trim": empty(),
        "sync": { "total_ios": 0, "lat_ns": ends(0, 0, 0.0, 0.0) },
        "job_runtime": made.duration_ns / 1_000_000,
        "usr_cpu": 0.0,
        "sys_cpu": 0.0,
        "ctx": 0,
        "majf": 0,
        "minf": 0,
        "latency_depth": test.depth,
        "latency_target": 0,
        "latency_percentile": 100.0,
        "latency_window": 0,
        "drivescope": { "run": number + 1, "runs": test.runs.len() },
    });
    for (unit, table) in distribution(sides) {
        job[format!("latency_{unit}")] = table;
    }
    if let Some(reason) = withdrawn(test) {
        job["desc"] = format!("WITHDRAWN, not the speed of the drive: {reason}").into();
    }
    job
}

/// Options that fio would have been given; all values are strings there.
fn options(body: &Body, (test, is_random): (&Test, bool), name: &str) -> Value {
    let setup = &body.setup;
    let way = match test.direction() {
        Some(Direction::Read) => "read",
        Some(Direction::Write | Direction::Commit) => "write",
        _ => "rw",
    };
    let mut options = Map::new();
    let mut add = |name: &str, value: String| drop(options.insert(name.to_owned(), value.into()));
    add("name", name.to_owned());
    add("filename", body.target.name.clone());
    add("rw", format!("{}{way}", if is_random { "rand" } else { "" }));
    if let Some(reads) = test.op.strip_prefix("mix") {
        add("rwmixread", reads.to_owned());
    }
    add("bs", size(test.block_bytes.0));
    add("iodepth", test.depth.to_string());
    add("numjobs", test.threads.to_string());
    add("group_reporting", "1".to_owned());
    let is_direct = match &body.imported {
        Some(imported) => imported.told.direct,
        None => Some(setup.direct),
    };
    if let Some(is_direct) = is_direct {
        add("direct", u8::from(is_direct).to_string());
    }
    if setup.durable || test.direction() == Some(Direction::Commit) {
        add("sync", "dsync".to_owned());
    }
    add("ioengine", setup.engine.clone());
    if setup.region_bytes.0 > 0 {
        add("size", setup.region_bytes.0.to_string());
    }
    let ms = |ns: u64| format!("{}ms", ns / 1_000_000);
    if setup.duration_ns.0 > 0 {
        add("time_based", "1".to_owned());
        add("runtime", ms(setup.duration_ns.0));
    }
    if setup.warm_up_ns.0 > 0 {
        add("ramp_time", ms(setup.warm_up_ns.0));
    }
    if body.imported.is_none() {
        // Each of our runs draws addresses of its own.
        add("randrepeat", "0".to_owned());
    }
    options.into()
}

/// `4k`, `1m`, as fio's users write sizes.
fn size(bytes: u64) -> String {
    match bytes {
        n if n > 0 && n.is_multiple_of(1 << 20) => format!("{}m", n >> 20),
        n if n > 0 && n.is_multiple_of(1 << 10) => format!("{}k", n >> 10),
        n => n.to_string(),
    }
}

fn ends(min: u64, max: u64, mean: f64, stddev: f64) -> Value {
    json!({ "min": min, "max": max, "mean": mean, "stddev": stddev, "N": 0 })
}

/// A direction without I/Os.
fn empty() -> Value {
    let zero = || ends(0, 0, 0.0, 0.0);
    json!({
        "io_bytes": 0, "io_kbytes": 0, "bw_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0, "total_ios": 0,
        "short_ios": 0, "drop_ios": 0, "slat_ns": zero(), "clat_ns": zero(), "lat_ns": zero(),
        "bw_min": 0, "bw_max": 0, "bw_agg": 0.0, "bw_mean": 0.0, "bw_dev": 0.0, "bw_samples": 0,
        "iops_min": 0, "iops_max": 0, "iops_mean": 0.0, "iops_stddev": 0.0, "iops_samples": 0,
    })
}

fn of_side(side: &Side<'_>, parts: &Parts) -> Value {
    let made = side.made;
    let bytes_per_s = made.mb_s * 1e6 * side.share;
    let mut value = empty();
    let mut set = |name: &str, to: Value| value[name] = to;
    set("io_bytes", side.bytes.into());
    set("io_kbytes", (side.bytes / 1024).into());
    set("bw_bytes", (bytes_per_s.round() as u64).into());
    set("bw", ((bytes_per_s / 1024.0) as u64).into());
    set("iops", (made.iops * side.share).into());
    set("runtime", (made.duration_ns / 1_000_000).into());
    set("total_ios", side.ios.into());
    set("bw_agg", 100.0.into());
    set("slat_ns", ends(0, 0, made.slat_ns, 0.0));
    set("clat_ns", latency(side, parts));
    let Latency { max, mean, .. } = side.latency;
    let (min, deviation) =
        side.latencies.map_or((0, 0.0), |all| (all.min().unwrap_or(0), deviation(all)));
    set("lat_ns", ends(min, max, mean + made.slat_ns, deviation));
    let kib: Vec<f64> = per_slice(&parts.series, |series| &series.bytes, side.share / 1024.0);
    let ios: Vec<f64> = per_slice(&parts.series, |series| &series.ios, side.share);
    for (values, prefix, spread) in [(kib, "bw", "dev"), (ios, "iops", "stddev")] {
        let (least, most) =
            values.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
        if values.is_empty() {
            continue;
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
        let spread_of = (square / (values.len() as f64 - 1.0).max(1.0)).sqrt();
        set(&format!("{prefix}_min"), (least as u64).into());
        set(&format!("{prefix}_max"), (most as u64).into());
        set(&format!("{prefix}_mean"), mean.into());
        set(&format!("{prefix}_{spread}"), spread_of.into());
        set(&format!("{prefix}_samples"), values.len().into());
    }
    value
}

/// A second's worth of each whole slice. The last is cut off by the end of the phase.
fn per_slice(series: &[PhaseSeries], of: fn(&PhaseSeries) -> &Vec<u64>, scale: f64) -> Vec<f64> {
    let of_phase = |phase: &PhaseSeries| {
        let seconds = phase.slice_ns as f64 / 1e9;
        let counts = of(phase);
        let whole = counts.len().saturating_sub(1).max(usize::from(!counts.is_empty()));
        counts.iter().take(whole).map(|count| *count as f64 * scale / seconds).collect::<Vec<f64>>()
    };
    series.iter().filter(|phase| phase.slice_ns > 0).flat_map(of_phase).collect()
}

fn latency(side: &Side<'_>, parts: &Parts) -> Value {
    let Some(all) = side.latencies else {
        let Latency { max, mean, .. } = side.latency;
        let mut value = ends(0, max, mean, 0.0);
        value["N"] = side.ios.into();
        let known: Vec<(f64, u64)> = match parts.percentiles.is_empty() {
            true => [(50.0, side.latency.p50), (99.0, side.latency.p99), (99.9, side.latency.p999)]
                .into_iter()
                .filter(|(_, ns)| *ns > 0)
                .collect(),
            false => parts.percentiles.clone(),
        };
        if !known.is_empty() {
            value["percentile"] = table(known.into_iter().map(|(p, ns)| (format!("{p:.6}"), ns)));
        }
        return value;
    };
    let max = if side.latency.max > 0 { side.latency.max } else { all.max().unwrap_or(0) };
    let mut value = ends(all.min().unwrap_or(0).min(max), max, side.latency.mean, deviation(all));
    let mut bins = vec![0_u64; fio_bins::COUNT];
    for (ns, count) in all.iter() {
        if let Some(bin) = bins.get_mut(fio_bins::index_of(ns.min(max))) {
            *bin = bin.saturating_add(count);
        }
    }
    value["N"] = all.count().into();
    let told = PERCENTILES.map(|percent| (format!("{percent:.6}"), percentile(&bins, percent)));
    value["percentile"] = table(told);
    let found = bins.iter().enumerate().filter(|(_, count)| **count > 0);
    value["bins"] = table(found.map(|(at, count)| (fio_bins::middle_ns(at).to_string(), *count)));
    value
}

fn table(entries: impl IntoIterator<Item = (String, u64)>) -> Value {
    let map: Map<String, Value> =
        entries.into_iter().map(|(name, value)| (name, value.into())).collect();
    map.into()
}

/// The bin in which that share of all is reached (`calc_clat_percentiles` of fio's stat.c).
fn percentile(bins: &[u64], percent: f64) -> u64 {
    let all: u64 = bins.iter().sum();
    let wanted = percent / 100.0 * all as f64 * (1.0 - 1e-12);
    let mut sum = 0_u64;
    let found = bins.iter().position(|count| {
        sum = sum.saturating_add(*count);
        *count > 0 && sum as f64 >= wanted
    });
    found.map_or(0, fio_bins::middle_ns)
}

/// Standard deviation, to a bin's width.
fn deviation(all: &LatencyHistogram) -> f64 {
    let (count, mean) = (all.count() as f64, all.mean().unwrap_or(0.0));
    let square: f64 = all.iter().map(|(ns, n)| n as f64 * (ns as f64 - mean).powi(2)).sum();
    if count > 1.0 { (square / (count - 1.0)).sqrt() } else { 0.0 }
}

/// Shares of all I/Os in the rough classes of fio's `latency_us` and its like, in percent: each up to what it is named by.
fn distribution(sides: &[Option<Side<'_>>; 2]) -> [(&'static str, Value); 3] {
    const CLASSES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
    let histograms = || sides.iter().flatten().filter_map(|side| side.latencies);
    let all: u64 = histograms().map(LatencyHistogram::count).sum();
    let share = |from: u64, to: u64| {
        let bins = histograms().flat_map(LatencyHistogram::iter);
        let within: u64 = bins.filter(|(ns, _)| (from..to).contains(ns)).map(|(_, n)| n).sum();
        if all == 0 { 0.0 } else { within as f64 * 100.0 / all as f64 }
    };
    [("ns", 1), ("us", 1_000), ("ms", 1_000_000)].map(|(unit, scale)| {
        let mut from = if scale == 1 { 0 } else { scale };
        let mut classes = Map::new();
        for class in CLASSES {
            classes.insert(class.to_string(), share(from, class * scale).into());
            from = class * scale;
        }
        if unit == "ms" {
            classes.insert("2000".to_owned(), share(from, 2 * from).into());
            classes.insert(">=2000".to_owned(), share(2 * from, u64::MAX).into());
        }
        (unit, classes.into())
    })
}

//! fio's JSON, `json` and `json+`, with whatever fio and others print around it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::error::JudgeError;
use super::fio_cell::Cell;
use super::fio_kind::Kind;
use super::fio_log::Log;
use super::fio_number::{count, float};
use super::fio_options::Options;
use super::recorded::{Claim, Figure, FioSteadyState, Format, Quantity, Recorded, Series, Window};
use super::series;
use super::{fio_belonging, fio_traps, fio_values};

/// True when `text` contains a document of fio's.
pub(super) fn is_it(text: &str) -> bool {
    text.contains("\"fio version\"")
        && (text.contains("\"jobs\"") || text.contains("\"client_stats\""))
}

/// The last document of fio's in `text`, and its line. With `--status-interval` there are several, each of all since the job
/// began; warnings and `--output-format=normal` come before and after them, and ezFIO puts headings between.
fn last_document(file: &str, text: &str) -> Result<(Value, u64), JudgeError> {
    let mut found = None;
    let (mut at, mut line) = (0_usize, 1_u64);
    while let Some(rest) = text.get(at..) {
        let skip = if rest.starts_with('{') {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            match values.next() {
                Some(Ok(value)) if value.get("fio version").is_some() => {
                    let end = values.byte_offset();
                    found = Some((value, line));
                    end
                }
                // A document that ends too early was cut off, whatever precedes it: a whole one before it covers only part of
                // the run.
                Some(Err(error)) if error.is_eof() || rest.contains("\"fio version\"") => {
                    let number = line.saturating_add(error.line() as u64).saturating_sub(1);
                    let what = format!("fio's JSON cannot be read: {error}");
                    let remedy =
                        "give the whole of what fio wrote; an interrupted run leaves a part";
                    return Err(JudgeError::at(file, number, what, remedy));
                }
                _ => next_line(rest),
            }
        } else {
            next_line(rest)
        };
        if skip == 0 {
            break;
        }
        let passed = rest.get(..skip).unwrap_or(rest);
        line = line.saturating_add(passed.matches('\n').count() as u64);
        at += skip;
    }
    found.ok_or_else(|| {
        let remedy = "run fio with --output-format=json";
        JudgeError::whole(file, "no document of fio's is in it", remedy)
    })
}

/// Bytes up to the next line; 0 when there is none.
fn next_line(text: &str) -> usize {
    text.find('\n').map_or(0, |at| at + 1)
}

/// A job's place among the threads of a run, which fio numbers from 1 in the order of jobs.
struct Threads {
    first: u64,
    count: u64,
}

/// Prefixes of the log names of a document's jobs, before `_bw.1.log`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPrefixes {
    /// Those that it names.
    pub told: BTreeSet<String>,
    /// Those that fio would have made up, of jobs that name none: an option without a value is not in the JSON, so such a log
    /// may be the job's, and may be another run's.
    pub made_up: BTreeSet<String>,
}

/// The names of logs that the last document in `text` has; none when there is no document.
pub fn log_prefixes(text: &str) -> LogPrefixes {
    let Ok((document, _)) = last_document("", text) else { return LogPrefixes::default() };
    let mut prefixes = LogPrefixes::default();
    for job in jobs(&document) {
        let options = Options::of(&document, job);
        for name in ["write_bw_log", "write_iops_log", "write_lat_log"] {
            let told = options.text(&[name]).filter(|text| !text.is_empty());
            prefixes.told.extend(told.map(str::to_owned));
            let made_up = job.get("jobname").and_then(Value::as_str).filter(|_| told.is_none());
            prefixes.made_up.extend(made_up.map(str::to_owned));
        }
    }
    prefixes
}

fn jobs(document: &Value) -> impl Iterator<Item = &Value> {
    let list = |name: &str| document.get(name).and_then(Value::as_array);
    let all = list("jobs").or_else(|| list("client_stats")).map_or(&[][..], Vec::as_slice);
    let is_sum = |job: &Value| job.get("jobname").and_then(Value::as_str) == Some("All clients");
    all.iter().filter(move |job| !is_sum(job))
}

/// Reads the jobs of `text`, with what `logs` has of their time.
///
/// # Errors
/// When there is no whole document of fio's, or none of its jobs can be read.
pub(super) fn read(file: &str, text: &str, logs: &[Log]) -> Result<Vec<Recorded>, JudgeError> {
    let (document, line) = last_document(file, text)?;
    fio_values::check(file, jobs(&document))?;
    let version = document.get("fio version").and_then(Value::as_str);
    // A run exported by drivescope in this form has its own version beside fio's.
    let own = document.get("drivescope").and_then(|own| own.get("run_id")?.as_str());
    let own = own.map(|run| format!("written by drivescope of its run {run}"));
    let version = own.as_deref().or(version);
    let mut next_thread = 1;
    let mut results = Vec::new();
    for job in jobs(&document) {
        let options = Options::of(&document, job);
        // With group_reporting a job covers all of its threads; without, each thread has a job of its own.
        let same = |other: &&Value| other.get("jobname") == job.get("jobname");
        let is_each = jobs(&document).filter(same).count() as u64 == options.numjobs();
        let count = if is_each { 1 } else { options.numjobs() };
        let threads = Threads { first: next_thread, count };
        next_thread += count;
        let mut result = one(file, &document, job, version, logs, &threads);
        result.asked.is_one_of_threads = is_each && options.numjobs() > 1;
        results.push(result);
    }
    if results.is_empty() {
        let remedy = "give the output of a run that came to its jobs";
        return Err(JudgeError::at(file, line, "fio's JSON has no jobs", remedy));
    }
    chain(&document, &mut results);
    Ok(results)
}

fn one(
    file: &str,
    document: &Value,
    job: &Value,
    version: Option<&str>,
    logs: &[Log],
    threads: &Threads,
) -> Recorded {
    let options = Options::of(document, job);
    let name = job.get("jobname").and_then(Value::as_str).unwrap_or("job");
    let written = count(job, "/write/io_bytes");
    let mut result = Recorded::of(name, Format::FioJson, file);
    result.tool_version = version.map(str::to_owned);
    result.load = options.load(written);
    result.range_bytes = options.range_bytes();
    result.written_bytes = Some(written);
    result.figures = figures(job);
    result.asked = options.asked();
    result.measured = super::fio_measured::of(job);
    result.claim = steady_state(job, &options).map(Claim::Fio);
    result.cell = Cell::of(document, job);
    let own = own_logs(logs, name, &options, threads);
    let own = fio_belonging::of_this_run(&mut result, own, threads.count);
    attach(&mut result, &own, Some(written));
    if result.series.is_none() {
        result.series = of_steady_state(&result);
    }
    fio_traps::add(&mut result, job, &options, &own);
    result
}

/// Figures that fio reports for each direction.
fn figures(job: &Value) -> Vec<Figure> {
    let mut figures = Vec::new();
    for direction in ["read", "write"] {
        if count(job, &format!("/{direction}/total_ios")) == 0 {
            continue;
        }
        let mut add = |pointer: &str, scale: f64, unit: &'static str| {
            let value = float(job, &format!("/{direction}/{pointer}"));
            let figure = |value| Figure { name: direction.to_owned(), value, unit };
            figures.extend(value.map(|value| figure(value * scale)));
        };
        add("iops", 1.0, "IOPS");
        add("bw_bytes", 1.0, "B/s");
        add("lat_ns/mean", 1.0, "ns");
    }
    figures
}

/// Logs of the job's threads.
fn own_logs<'a>(logs: &'a [Log], name: &str, options: &Options, threads: &Threads) -> Vec<&'a Log> {
    let last = |text: &str| text.rsplit('/').next().unwrap_or(text).to_owned();
    let is_own = |log: &&Log| {
        let option = match log.kind {
            Kind::Bandwidth => "write_bw_log",
            Kind::Iops => "write_iops_log",
            _ => "write_lat_log",
        };
        let told = options.text(&[option]).filter(|text| !text.is_empty()).map(last);
        let fits = told.as_deref().unwrap_or(name) == log.prefix;
        let range = threads.first..threads.first.saturating_add(threads.count);
        fits && log.thread.is_none_or(|thread| range.contains(&thread))
    };
    logs.iter().filter(is_own).collect()
}

/// Gives `result` the most informative series of `logs`: bytes before I/Os before latencies. `written` is what was written in
/// all, where that is known from elsewhere.
pub(super) fn attach(result: &mut Recorded, logs: &[&Log], written: Option<u64>) {
    for kind in [Kind::Bandwidth, Kind::Iops, Kind::Latency, Kind::CompletionLatency] {
        let of_kind: Vec<&Log> =
            logs.iter().copied().filter(|log| log.kind == kind && log.sums.lines > 0).collect();
        let Some(series) = series::of(&of_kind, result.load.block_bytes) else { continue };
        if let (Some(logged), Some(written)) = (series.written_bytes(), written)
            && logged.saturating_add(fio_belonging::slack(&series, &of_kind, written)) < written
        {
            result.doubt(
                "logs_incomplete",
                format!("the logs hold {logged} of the {written} bytes that were written"),
                stats::remedy::Command::AllLogs,
            );
        }
        result.files.extend(of_kind.iter().map(|log| log.file.clone()));
        result.series = Some(series);
        return;
    }
}

/// fio's own verdict, where it was asked for one.
fn steady_state(job: &Value, options: &Options) -> Option<FioSteadyState> {
    let block = job.get("steadystate")?;
    let told = block.get("ss")?.as_str()?;
    let (criterion, limit) = told.split_once(':')?;
    let percent = limit.ends_with('%');
    let numbers = |name: &str| {
        let list = block.pointer(&format!("/data/{name}")).and_then(Value::as_array);
        list.map_or_else(Vec::new, |list| list.iter().filter_map(Value::as_f64).collect())
    };
    Some(FioSteadyState {
        criterion: criterion.to_owned(),
        limit: limit.trim_end_matches('%').parse().ok()?,
        percent,
        slope: criterion.ends_with("_slope"),
        duration_s: float(block, "/duration").unwrap_or(0.0),
        interval_s: options.steady_interval_s(),
        attained: count(block, "/attained") != 0,
        reported_slope: float(block, "/slope"),
        iops: numbers("iops"),
        bytes_per_s: numbers("bw"),
    })
}

/// The window that fio checked last, when there is no log and all I/Os were writes: it lies at the job's end.
fn of_steady_state(result: &Recorded) -> Option<Series> {
    let Some(Claim::Fio(state)) = &result.claim else { return None };
    let is_only_written = result.figures.iter().all(|figure| figure.name == "write");
    let whole_ms = state.interval_s * 1e3;
    if !is_only_written || state.bytes_per_s.is_empty() || !(1.0..1e9).contains(&whole_ms) {
        return None;
    }
    let duration_ns = (whole_ms as u64).saturating_mul(1_000_000);
    let windows: Vec<Window> = (0_u64..)
        .zip(&state.bytes_per_s)
        .map(|(index, value)| Window {
            start_ns: index.saturating_mul(duration_ns),
            duration_ns,
            written_bytes: Some((value.max(0.0) * state.interval_s) as u64),
            value: value.max(0.0),
        })
        .collect();
    let mut series = Series {
        quantity: Quantity::BytesPerSecond,
        windows,
        threads: 1,
        source: "samples of fio's steadystate",
        skipped_bytes: 0,
    };
    series.skipped_bytes = result.written_bytes?.saturating_sub(series.written_bytes()?);
    Some(series)
}

/// Sets the bytes written before each job: by earlier jobs of the same document to the same file, if the document
/// shows that they ran one after the other.
///
/// `stonewall` is mostly given without a value, and then not in the JSON. The time is: jobs that ran at once end when
/// the longest of them does.
fn chain(document: &Value, results: &mut [Recorded]) {
    let all: Vec<&Value> = jobs(document).collect();
    let seconds = |job: &&Value| {
        let longest = ["read", "write", "trim"].map(|way| count(job, &format!("/{way}/runtime")));
        longest.into_iter().max().unwrap_or(0) as f64 / 1e3
    };
    let elapsed = all.iter().map(|job| count(job, "/elapsed")).max().unwrap_or(0) as f64;
    let mut groups: Vec<(u64, f64)> = Vec::new();
    for job in &all {
        let group = count(job, "/groupid");
        match groups.iter_mut().find(|(id, _)| *id == group) {
            Some((_, longest)) => *longest = longest.max(seconds(job)),
            None => groups.push((group, seconds(job))),
        }
    }
    let sum: f64 = groups.iter().map(|(_, longest)| longest).sum();
    // `elapsed` counts begun seconds.
    let one_after_the_other = groups.len() > 1 && elapsed + 1.0 >= sum;
    let file = |job: &Value| Options::of(document, job).filename().map(str::to_owned);
    if !one_after_the_other {
        return;
    }
    for (index, job) in all.iter().enumerate() {
        let Some(name) = file(job) else { continue };
        let earlier = all.iter().take(index).filter(|other| {
            count(other, "/groupid") < count(job, "/groupid") && file(other).as_ref() == Some(&name)
        });
        let bytes: u64 = earlier.map(|other| count(other, "/write/io_bytes")).sum();
        if let Some(result) = results.get_mut(index) {
            result.before.written_bytes = bytes;
        }
    }
}

//! Logs under a job's names that another run wrote.
//!
//! fio overwrites logs of the same name, and leaves those that the later run did not write; harnesses that give all runs one
//! name therefore leave the last run's logs beside each JSON. A log is another run's when it holds what the JSON excludes:
//! a direction that the job did not have, more time or bytes than the job, or, from all threads over the whole run, less than half of
//! its bytes, or latencies all far from its mean. Logs of one name are written by one run, so one that is another's excludes all.

use std::collections::BTreeSet;

use super::fio_kind::{DATES_MS, Direction, Kind};
use super::fio_log::Log;
use super::fio_log_measured::measured;
use super::measured::{Measured, Way};
use super::recorded::Recorded;
use super::series;

/// A log of all threads that covers this share of the run is whole.
const WHOLE: f64 = 0.75;
/// A whole log and its JSON differ by this factor at most.
const FAR: f64 = 2.0;
/// Time by which a log may be longer than the run: threads start and end at different times.
const LATE_MS: f64 = 2_000.0;

/// The logs of `own` that the run of `result` can have written. Of the others `result` has a doubt, and their names. `threads`
/// is how many files there are of each kind when none is missing.
pub(super) fn of_this_run<'a>(
    result: &mut Recorded,
    own: Vec<&'a Log>,
    threads: u64,
) -> Vec<&'a Log> {
    let prefixes: BTreeSet<&str> = own.iter().map(|log| log.prefix.as_str()).collect();
    let mut kept = own.clone();
    for prefix in prefixes {
        let of_prefix: Vec<&Log> = own.iter().copied().filter(|log| log.prefix == prefix).collect();
        let Some(reason) = contradiction(result, &of_prefix, threads) else { continue };
        kept.retain(|log| log.prefix != prefix);
        let name = |log: &&Log| log.file.rsplit('/').next().unwrap_or_default().to_owned();
        let names: Vec<String> = of_prefix.iter().map(name).collect();
        result.left_out.extend(of_prefix.iter().map(|log| log.file.clone()));
        result.doubt(
            "logs_of_another_run",
            format!("left out as logs of another run: {} ({reason})", names.join(", ")),
            stats::remedy::Command::FilesOfOneRun,
        );
    }
    kept
}

/// Why `logs`, all of one name, are not of the run of `result`; none when they may be.
fn contradiction(result: &Recorded, logs: &[&Log], threads: u64) -> Option<String> {
    if result.measured.is_empty() {
        return None;
    }
    let kinds = [
        Kind::Bandwidth,
        Kind::Iops,
        Kind::CompletionLatency,
        Kind::Latency,
        Kind::SubmissionLatency,
    ];
    kinds.into_iter().find_map(|kind| {
        let of_kind = |log: &&Log| log.kind == kind && log.sums.lines > 0;
        let logs: Vec<&Log> = logs.iter().copied().filter(of_kind).collect();
        of_one_kind(result, kind, &logs, threads)
    })
}

fn of_one_kind(result: &Recorded, kind: Kind, logs: &[&Log], threads: u64) -> Option<String> {
    if logs.is_empty() {
        return None;
    }
    let told = |way: Way| result.measured.iter().find(|told| told.way == way);
    for (way, direction, word) in
        [(Way::Read, Direction::Read, "reads"), (Way::Write, Direction::Write, "writes")]
    {
        if told(way).is_none() && logs.iter().any(|log| has(log, direction)) {
            return Some(format!("they hold {word}, and the job had none"));
        }
    }
    let run_ms =
        result.measured.iter().filter_map(|told| told.duration_ns).max().unwrap_or(0) as f64 / 1e6;
    let ramp_ms = result.asked.warm_up.map_or(0.0, |warm_up| warm_up.0 as f64 / 1e6);
    let log_ms = logs.iter().map(|log| length_ms(log)).max()? as f64;
    // Files in fio's form without a runtime are not checked against it.
    if run_ms > 0.0 && log_ms > (run_ms + ramp_ms) * (2.0 - WHOLE) + LATE_MS {
        let seconds = |ms: f64| (ms / 1e3).round();
        return Some(format!("they last {} s, and the job {} s", seconds(log_ms), seconds(run_ms)));
    }
    let is_shared = logs.iter().any(|log| log.thread.is_none());
    let is_whole =
        run_ms > 0.0 && log_ms >= run_ms * WHOLE && (is_shared || logs.len() as u64 >= threads);
    match kind {
        Kind::Bandwidth | Kind::Iops => of_amounts(result, logs, is_whole),
        _ if is_whole => of_latencies(result, kind, logs),
        _ => None,
    }
}

/// Whether a log of single I/Os or of windows has some of `direction`.
fn has(log: &Log, direction: Direction) -> bool {
    log.sums.ios.get(direction as usize).is_some_and(|ios| ios.count > 0)
        || log.sums.entries.iter().any(|entry| entry.direction == direction && entry.value > 0.0)
}

/// The time of the last line since the job began, or since the first line where lines have dates.
fn length_ms(log: &Log) -> u64 {
    log.sums.span_ms.map_or(
        0,
        |(first, last)| {
            if first >= DATES_MS { last.saturating_sub(first) } else { last }
        },
    )
}

/// Bytes, or I/Os where a log has no bytes.
fn of_amounts(result: &Recorded, logs: &[&Log], is_whole: bool) -> Option<String> {
    if let (Some(series), Some(written)) =
        (series::of(logs, result.load.block_bytes), result.written_bytes)
        && let Some(logged) = series.written_bytes()
        && logged > written.saturating_add(slack(&series, logs, written))
    {
        return Some(format!("they hold {logged} bytes written and the JSON {written}"));
    }
    let logged = measured(logs);
    for told in &result.measured {
        let Some(logged) = logged.iter().find(|logged| logged.way == told.way) else { continue };
        let bytes = |one: &Measured| one.bytes.map(|bytes| (bytes as f64, "bytes"));
        let ios = |one: &Measured| one.ios.map(|ios| (ios as f64, "I/Os"));
        let pair = bytes(logged).zip(bytes(told)).or_else(|| ios(logged).zip(ios(told)));
        let Some(((logged, unit), (told, _))) = pair else { continue };
        if logged > told * FAR || (is_whole && logged * FAR < told) {
            return Some(format!("they hold {logged} of {told} {unit}"));
        }
    }
    None
}

/// Bytes that a log may hold beside those of the run: what is left in a window that was not full when the job ended is in no log:
/// one window, and one more since threads end at different times. Stamps are off by some time too.
pub(super) fn slack(series: &super::recorded::Series, logs: &[&Log], written: u64) -> u64 {
    let longest = series.windows.iter().filter_map(|w| w.written_bytes).max().unwrap_or(0);
    let unsure = series::unsure_share(logs) * written as f64;
    longest.saturating_mul(2).saturating_add(unsure as u64)
}

/// The mean over all I/Os lies between the least and the greatest mean of a window.
fn of_latencies(result: &Recorded, kind: Kind, logs: &[&Log]) -> Option<String> {
    for told in &result.measured {
        let direction = if told.way == Way::Write { Direction::Write } else { Direction::Read };
        let mean = match kind {
            Kind::SubmissionLatency => told.submission_ns,
            _ => told.latency.mean_ns,
        };
        let entries = logs.iter().flat_map(|log| &log.sums.entries);
        let means: Vec<f64> =
            entries.filter(|entry| entry.direction == direction).map(|entry| entry.value).collect();
        let least = means.iter().copied().reduce(f64::min);
        let greatest = means.iter().copied().reduce(f64::max);
        let (Some(mean), Some(least), Some(greatest)) = (mean, least, greatest) else { continue };
        if mean * FAR < least || mean > greatest * FAR {
            let us = |ns: f64| (ns / 1e3).round();
            return Some(format!(
                "their windows have means of {} to {} µs, and the JSON one of {} µs",
                us(least),
                us(greatest),
                us(mean)
            ));
        }
    }
    None
}

//! Figures of each direction from fio's logs, from which a run can be made.

use stats::LatencyHistogram;

use super::fio_kind::{Direction, Kind};
use super::fio_log::Log;
use super::fio_log_sums::{Entry, Ios, begin_ms};
use super::measured::{Measured, ToldLatency, Way};

/// Figures of each direction from the `logs` of one job's threads.
///
/// Logs of single I/Os give exact counts, bytes and latencies; logs of windows give rates, and for latencies only
/// the mean of the windows' means, which is not the mean of the I/Os and is left out.
pub(super) fn measured(logs: &[&Log]) -> Vec<Measured> {
    let of_way = |(way, direction)| of_direction(logs, way, direction);
    [(Way::Read, Direction::Read), (Way::Write, Direction::Write)]
        .into_iter()
        .filter_map(of_way)
        .collect()
}

fn of_direction(logs: &[&Log], way: Way, direction: Direction) -> Option<Measured> {
    let of_kind =
        |kind, per_io| logs.iter().filter(move |log| log.kind == kind && log.sums.per_io == per_io);
    let ios = |kind: Kind| {
        let all = of_kind(kind, true).filter_map(|log| log.sums.ios.get(direction as usize));
        all.filter(|ios| ios.count > 0).collect::<Vec<&Ios>>()
    };
    let windows = |kind: Kind| {
        let own = |log: &&Log| {
            let own = log.sums.entries.iter().filter(|entry| entry.direction == direction);
            own.copied().collect::<Vec<Entry>>()
        };
        let all = of_kind(kind, false).map(own).filter(|entries| !entries.is_empty());
        all.collect::<Vec<Vec<Entry>>>()
    };
    let latencies = [Kind::CompletionLatency, Kind::Latency].into_iter().map(ios);
    let latencies = latencies.into_iter().find(|threads| !threads.is_empty()).unwrap_or_default();
    let single = [Kind::Bandwidth, Kind::Iops].into_iter().map(ios);
    let single = std::iter::once(latencies.clone()).chain(single).find(|all| !all.is_empty());
    let mut found = Measured { way, ..Measured::default() };
    let (rates, iops) = (windows(Kind::Bandwidth), windows(Kind::Iops));
    let length_ms = match &single {
        Some(threads) => length_ms(threads.iter().map(|ios| (ios.begin_ms(), ios.last_ms))),
        None => {
            let threads = if rates.is_empty() { &iops } else { &rates };
            length_ms(threads.iter().map(|entries| (begin(entries), end(entries))))
        }
    };
    let seconds = length_ms as f64 / 1e3;
    if let Some(threads) = single {
        let bytes = threads.iter().fold(0_u64, |sum, ios| sum.saturating_add(ios.bytes));
        let ios: u64 = threads.iter().map(|ios| ios.count).sum();
        found.bytes = Some(bytes);
        found.ios = Some(ios);
        if seconds > 0.0 {
            found.bytes_per_s = bytes as f64 / seconds;
            found.iops = Some(ios as f64 / seconds);
        }
    } else if seconds > 0.0 {
        let kib = over_time(&rates);
        found.bytes = (!rates.is_empty()).then_some((kib * 1024.0).round() as u64);
        found.bytes_per_s = kib * 1024.0 / seconds;
        let count = over_time(&iops);
        found.ios = (!iops.is_empty()).then_some(count.round() as u64);
        found.iops = (!iops.is_empty()).then_some(count / seconds);
    }
    found.duration_ns = Some(length_ms.saturating_mul(1_000_000)).filter(|ns| *ns > 0);
    found.latency = of_single(&latencies);
    (found.bytes_per_s > 0.0 || found.iops > Some(0.0)).then_some(found)
}

/// Latencies that were logged one by one.
fn of_single(threads: &[&Ios]) -> ToldLatency {
    let mut all: Option<LatencyHistogram> = None;
    for latencies in threads.iter().filter_map(|ios| ios.latencies.as_deref()) {
        match &mut all {
            Some(all) => all.merge(latencies),
            None => all = Some(latencies.clone()),
        }
    }
    let Some(histogram) = all.filter(|all| !all.is_empty()) else { return ToldLatency::default() };
    ToldLatency {
        mean_ns: histogram.mean(),
        min_ns: histogram.min(),
        max_ns: histogram.max(),
        percentiles: Vec::new(),
        histogram: Some(histogram),
    }
}

/// Each window's value by its length in seconds, added up; a window begins where the one before it ended.
fn over_time(threads: &[Vec<Entry>]) -> f64 {
    let of_thread = |entries: &Vec<Entry>| {
        let mut before = begin(entries);
        let mut sum = 0.0;
        for entry in entries {
            sum += entry.value * entry.time_ms.saturating_sub(before) as f64 / 1e3;
            before = before.max(entry.time_ms);
        }
        sum
    };
    threads.iter().map(of_thread).sum()
}

fn begin(entries: &[Entry]) -> u64 {
    let mut times = entries.iter().map(|entry| entry.time_ms);
    begin_ms(times.next(), times.next())
}

fn end(entries: &[Entry]) -> u64 {
    entries.iter().map(|entry| entry.time_ms).max().unwrap_or(0)
}

/// From the first beginning to the last end.
fn length_ms(threads: impl Iterator<Item = (u64, u64)>) -> u64 {
    let all = threads.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    all.map_or(0, |(begin, end)| end.saturating_sub(begin))
}

//! Logs of several threads as one series.
//!
//! Threads write their lines at times of their own, so lines cannot be added one to one. A line of a window says
//! what the mean was since the line before; spread evenly over that time, all threads are added up in bins of one
//! length.

use super::fio_kind::{Direction, Kind};
use super::fio_log::Log;
use super::recorded::{Quantity, Series, Window};

/// Bins that I/Os logged one by one are counted in, over the whole run: enough that any rule has its samples, and so
/// few that a bin has many I/Os.
const PER_IO_BINS: u64 = 1000;

/// Most bins of a series. A log that asks for more has times that fio does not write.
const BINS_MAX: u64 = 1_000_000;

/// Most bins for a line of a log: fio writes a line for each window in which there was an I/O, so a few lines with times far
/// apart request memory without adding information. Up to [`BINS_FREE`] bins this limit does not apply.
const BINS_A_LINE: u64 = 20;

/// Bins that any log may have, however few its lines are.
const BINS_FREE: u64 = 100_000;

/// Times from here on, in ms, are not times since a job began but dates (`log_unix_epoch`): some day of 2001.
const EPOCH_FROM_MS: u64 = 1_000_000_000_000;

/// A rate between two moments, of one thread and direction.
struct Piece {
    from_ms: f64,
    to_ms: f64,
    amount: f64,
    direction: Direction,
}

/// The series of `logs`, all of one job and of one kind. `block_bytes` is what an I/O has, where all have the same.
/// None when there is not one whole bin in it, or when there are more than a million, or far more than lines.
pub fn of(logs: &[&Log], block_bytes: Option<u64>) -> Option<Series> {
    let kind = logs.first()?.kind;
    let per_io = logs.iter().any(|log| log.sums.per_io);
    let (first, last) = span_ms(logs)?;
    let step = step_ms(logs, per_io, first, last)?;
    let begin = if first >= EPOCH_FROM_MS { first.saturating_sub(step) } else { 0 };
    // Bins have whole cells.
    let begin = if per_io { begin - begin % tick_ms(logs) } else { begin };
    let bins = (end_ms(logs, step)?.saturating_sub(begin)) / step;
    let lines = logs.iter().map(|log| lines(log, per_io)).sum::<u64>();
    let most = lines.saturating_mul(BINS_A_LINE).clamp(BINS_FREE, BINS_MAX);
    if bins == 0 || bins > most {
        return None;
    }
    match kind {
        _ if per_io => counted(logs, kind, begin, step, bins),
        Kind::Bandwidth | Kind::Iops => rates(logs, begin, step, bins, block_bytes),
        _ => Some(latencies(logs, kind, begin, step, bins)),
    }
}

/// Lines of a log, or windows that were made of them.
fn lines(log: &Log, per_io: bool) -> u64 {
    if per_io { log.sums.lines } else { log.sums.entries.len() as u64 }
}

/// The least and the greatest time in `logs`.
fn span_ms(logs: &[&Log]) -> Option<(u64, u64)> {
    let spans = logs.iter().filter_map(|log| log.sums.span_ms);
    spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Length of the longest cells in `logs`.
fn tick_ms(logs: &[&Log]) -> u64 {
    logs.iter().map(|log| log.sums.cells.tick_ms).max().unwrap_or(1)
}

/// Length of a bin.
fn step_ms(logs: &[&Log], per_io: bool, first: u64, last: u64) -> Option<u64> {
    if per_io {
        let begin = if first >= EPOCH_FROM_MS { first } else { 0 };
        let step = last.checked_sub(begin)?.div_ceil(PER_IO_BINS).max(1);
        return step.checked_next_multiple_of(tick_ms(logs));
    }
    let mut gaps: Vec<u64> = logs
        .iter()
        .flat_map(|log| {
            let times = log.sums.entries.iter().map(|entry| entry.time_ms);
            let mut times: Vec<u64> = times.collect();
            times.dedup();
            times.windows(2).filter_map(|pair| pair[1].checked_sub(pair[0])).collect::<Vec<_>>()
        })
        .filter(|gap| *gap > 0)
        .collect();
    gaps.sort_unstable();
    // A log of a single window has no gap; from its time on nothing is known, up to it everything.
    Some(gaps.get(gaps.len() / 2).copied().unwrap_or(last).max(1))
}

/// The end of the series. Threads that stop within two windows of each other stopped together, and after the first of
/// them comes a window that not all have filled; threads that stop further apart are jobs of different lengths.
fn end_ms(logs: &[&Log], step: u64) -> Option<u64> {
    let ends = || logs.iter().filter_map(|log| Some(log.sums.span_ms?.1));
    let (least, greatest) = (ends().min()?, ends().max()?);
    Some(if greatest - least <= step.saturating_mul(2) { least } else { greatest })
}

/// Share of the time of `logs` that is more or less than a window's usual length. fio takes a window's mean over its own
/// clock and stamps the line a moment later, the later the busier the machine; bytes made of both are off by up to it.
pub(super) fn unsure_share(logs: &[&Log]) -> f64 {
    let Some((first, last)) = span_ms(logs) else { return 0.0 };
    if logs.iter().any(|log| log.sums.per_io) {
        return 0.0;
    }
    let Some(step) = step_ms(logs, false, first, last) else { return 0.0 };
    let (mut unsure, mut all) = (0.0, 0.0);
    for log in logs {
        let times = log.sums.entries.iter().map(|entry| entry.time_ms);
        let mut times: Vec<u64> = times.collect();
        times.dedup();
        let begin = times.first().map_or(0, |first| first.saturating_sub(step));
        times.insert(0, if begin >= EPOCH_FROM_MS { begin } else { 0 });
        for pair in times.windows(2) {
            let length = pair[1].saturating_sub(pair[0]);
            unsure += length.abs_diff(step) as f64;
            all += length as f64;
        }
    }
    if all > 0.0 { (unsure / all).min(1.0) } else { 0.0 }
}

/// Amounts over time: bytes for a bandwidth log, I/Os for others.
fn pieces(log: &Log, begin: u64, step: u64) -> Vec<Piece> {
    let mut before: [f64; 3] = [begin as f64; 3];
    let mut pieces = Vec::with_capacity(log.sums.entries.len());
    for entry in &log.sums.entries {
        let to_ms = entry.time_ms as f64;
        let Some(from) = before.get_mut(entry.direction as usize) else { continue };
        // A file that several jobs share has their lines in turn, and times that run back.
        let from_ms = if *from < to_ms { *from } else { to_ms - step as f64 };
        let amount = entry.value * (to_ms - from_ms) / 1e3;
        let amount = if log.kind == Kind::Bandwidth { amount * 1024.0 } else { amount };
        *from = to_ms;
        pieces.push(Piece { from_ms, to_ms, amount, direction: entry.direction });
    }
    pieces
}

/// Adds `piece` to the bins that it lies in, to each by the time it has in it.
fn spread(piece: &Piece, bins: &mut [f64], begin: u64, step: u64) {
    let place = |ms: f64| ((ms - begin as f64) / step as f64).max(0.0);
    let (from, to) = (place(piece.from_ms), place(piece.to_ms));
    if to <= from {
        // An I/O at the very end of a bin belongs to it.
        let at = (to.ceil() as usize).saturating_sub(1);
        if let Some(bin) = bins.get_mut(at) {
            *bin += piece.amount;
        }
        return;
    }
    let mut at = from.floor() as usize;
    while (at as f64) < to && at < bins.len() {
        let share = (to.min(at as f64 + 1.0) - from.max(at as f64)) / (to - from);
        if let Some(bin) = bins.get_mut(at) {
            *bin += piece.amount * share;
        }
        at += 1;
    }
}

/// I/Os that were logged one by one, counted in bins.
fn counted(logs: &[&Log], kind: Kind, begin: u64, step: u64, bins: u64) -> Option<Series> {
    let count = usize::try_from(bins).ok()?;
    let (mut all, mut written) = (vec![0_u64; count], vec![0_u64; count]);
    let mut add = |end_ms: u64, amount: u64, bytes: u64| {
        let Ok(at) = usize::try_from(bin_of(end_ms, begin, step)) else { return };
        if let (Some(all), Some(written)) = (all.get_mut(at), written.get_mut(at)) {
            *all = all.saturating_add(amount);
            *written = written.saturating_add(bytes);
        }
    };
    for log in logs {
        log.sums.cells.iter().for_each(|(end, cell)| add(end, cell.amount, cell.written));
        // A log of windows among them: lines without bytes.
        for entry in log.sums.entries.iter().filter(|entry| entry.direction != Direction::Trim) {
            let lines = if kind == Kind::Bandwidth { 0 } else { u64::from(entry.lines) };
            add(entry.time_ms, lines, 0);
        }
    }
    let seconds = step as f64 / 1e3;
    let window = |(index, (amount, written)): (u64, (u64, u64))| Window {
        start_ns: index.saturating_mul(step).saturating_mul(1_000_000),
        duration_ns: step.saturating_mul(1_000_000),
        written_bytes: Some(written),
        value: amount as f64 / seconds,
    };
    let is_bytes = kind == Kind::Bandwidth;
    Some(Series {
        quantity: if is_bytes { Quantity::BytesPerSecond } else { Quantity::Iops },
        windows: (0..).zip(all.into_iter().zip(written)).map(window).collect(),
        threads: logs.len() as u64,
        source: match kind {
            Kind::Bandwidth => "bandwidth log",
            Kind::Iops => "IOPS log",
            _ => "latency log, an I/O a line",
        },
        skipped_bytes: 0,
    })
}

/// The bin of what ended at `ms`; at the very end of a bin it belongs to it.
fn bin_of(ms: u64, begin: u64, step: u64) -> u64 {
    ms.saturating_sub(begin).div_ceil(step).saturating_sub(1)
}

fn rates(
    logs: &[&Log],
    begin: u64,
    step: u64,
    bins: u64,
    block_bytes: Option<u64>,
) -> Option<Series> {
    let count = usize::try_from(bins).ok()?;
    let (mut all, mut written) = (vec![0.0; count], vec![0.0; count]);
    let kind = logs.first()?.kind;
    for piece in logs.iter().flat_map(|log| pieces(log, begin, step)) {
        if piece.direction == Direction::Trim {
            continue;
        }
        spread(&piece, &mut all, begin, step);
        if piece.direction == Direction::Write {
            spread(&piece, &mut written, begin, step);
        }
    }
    let is_bytes = kind == Kind::Bandwidth;
    let seconds = step as f64 / 1e3;
    let window = |(index, amount): (usize, &f64)| Window {
        start_ns: (index as u64).saturating_mul(step).saturating_mul(1_000_000),
        duration_ns: step.saturating_mul(1_000_000),
        written_bytes: match is_bytes {
            true => Some(written[index].round() as u64),
            false => block_bytes.map(|bytes| (written[index] * bytes as f64).round() as u64),
        },
        value: amount / seconds,
    };
    Some(Series {
        quantity: if is_bytes { Quantity::BytesPerSecond } else { Quantity::Iops },
        windows: all.iter().enumerate().map(window).collect(),
        threads: logs.len() as u64,
        source: if is_bytes { "bandwidth log" } else { "IOPS log" },
        skipped_bytes: 0,
    })
}

/// Mean latency by bins: of threads and directions, each counted once, since a log of windows does not say how many
/// I/Os a window had. Empty bins have the value before them.
fn latencies(logs: &[&Log], kind: Kind, begin: u64, step: u64, bins: u64) -> Series {
    let count = usize::try_from(bins).unwrap_or(0);
    let (mut sums, mut counts) = (vec![0.0; count], vec![0_u64; count]);
    for entry in logs.iter().flat_map(|log| &log.sums.entries) {
        let Ok(at) = usize::try_from(bin_of(entry.time_ms, begin, step)) else { continue };
        if let (Some(sum), Some(count)) = (sums.get_mut(at), counts.get_mut(at)) {
            *sum += entry.value * f64::from(entry.lines);
            *count += u64::from(entry.lines);
        }
    }
    let mut last = 0.0;
    let means = sums.iter().zip(&counts).map(|(sum, count)| {
        if *count > 0 {
            last = sum / *count as f64;
        }
        last
    });
    let window = |(index, value)| Window {
        start_ns: (index as u64).saturating_mul(step).saturating_mul(1_000_000),
        duration_ns: step.saturating_mul(1_000_000),
        written_bytes: None,
        value,
    };
    Series {
        quantity: Quantity::LatencyNs,
        windows: means.enumerate().map(window).collect(),
        threads: logs.len() as u64,
        source: match kind {
            Kind::CompletionLatency => "completion latency log",
            Kind::SubmissionLatency => "submission latency log",
            _ => "latency log",
        },
        skipped_bytes: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fio_log;
    use super::*;

    fn series(files: &[(&str, &str)], block_bytes: Option<u64>) -> Series {
        let logs: Vec<Log> = files
            .iter()
            .map(|(name, text)| fio_log::read(name, &mut text.as_bytes()).unwrap())
            .collect();
        of(&logs.iter().collect::<Vec<_>>(), block_bytes).unwrap()
    }

    // Threads that are not added up would show a part of the drive's rate, and a part of the bytes written.
    #[test]
    fn threads_are_added_up_over_the_time_they_share() {
        let one = "500, 1000, 1, 0, 0\n1000, 1000, 1, 0, 0\n1500, 1000, 1, 0, 0\n";
        let two = "501, 500, 1, 0, 0\n1001, 500, 1, 0, 0\n1502, 500, 1, 0, 0\n";
        let series = series(&[("x_bw.1.log", one), ("x_bw.2.log", two)], None);
        assert_eq!((series.threads, series.windows.len()), (2, 3));
        for window in &series.windows {
            assert!((window.value - 1500.0 * 1024.0).abs() < 1.0, "{window:?}");
            assert_eq!(window.written_bytes, Some(768_000));
        }
    }

    // Reads that count as writes would fill a drive that was never written.
    #[test]
    fn only_writes_are_written() {
        let text = "500, 100, 0, 0, 0\n500, 50, 1, 0, 0\n1000, 100, 0, 0, 0\n1000, 50, 1, 0, 0\n";
        let series = series(&[("x_iops.1.log", text)], Some(4096));
        assert!((series.windows[0].value - 150.0).abs() < 1e-9);
        assert_eq!(series.windows[0].written_bytes, Some(25 * 4096));
        assert_eq!(series.written_bytes(), Some(50 * 4096));
    }

    // Without a block size, a count of I/Os gives no bytes.
    #[test]
    fn ios_without_their_size_are_no_bytes() {
        let series = series(&[("x_iops.1.log", "500, 9, 1, 0, 0\n1000, 9, 1, 0, 0\n")], None);
        assert_eq!(series.written_bytes(), None);
    }

    #[test]
    fn ios_logged_one_by_one_are_counted() {
        let lines: String = (1..=2000).map(|ms| format!("{ms}, 1, 1, 4096, 0\n")).collect();
        let series = series(&[("x_iops.1.log", &lines)], None);
        assert_eq!(series.windows.len(), 1000);
        assert_eq!(series.written_bytes(), Some(2000 * 4096));
        assert!((series.windows[7].value - 1000.0).abs() < 1e-9);
    }

    // Without it logs of a busy machine are taken for those of another run, and with too much of it those of another
    // run for its own.
    #[test]
    fn what_stamps_leave_open_is_what_they_are_off() {
        let share = |text: &str| {
            let log = fio_log::read("x_bw.1.log", &mut text.as_bytes()).unwrap();
            unsure_share(&[&log])
        };
        assert_eq!(share("500, 1, 1, 0, 0\n1000, 1, 1, 0, 0\n1500, 1, 1, 0, 0\n"), 0.0);
        let off = share("500, 1, 1, 0, 0\n1050, 1, 1, 0, 0\n1500, 1, 1, 0, 0\n2000, 1, 1, 0, 0\n");
        assert!((off - 100.0 / 2000.0).abs() < 1e-9, "{off}");
        assert_eq!(share("5, 1, 1, 4096, 0\n7, 1, 1, 4096, 0\n"), 0.0);
    }

    // Four lines of text would ask for a gigabyte.
    #[test]
    fn times_far_apart_are_no_series() {
        let text = |last: u64| {
            format!("1, 1, 1, 0, 0\n2, 1, 1, 0, 0\n3, 1, 1, 0, 0\n{last}, 1, 1, 0, 0\n")
        };
        let read = |last| fio_log::read("x_bw.1.log", &mut text(last).as_bytes()).unwrap();
        assert_eq!(of(&[&read(9_000_000)], None), None);
        assert!(of(&[&read(90_000)], None).is_some());
    }

    // A log with dates would begin half a century before its first line.
    #[test]
    fn dates_are_no_time_since_the_beginning() {
        let text = "1795387727500, 10, 1, 0, 0\n1795387728000, 10, 1, 0, 0\n";
        assert_eq!(series(&[("x_bw.1.log", text)], None).windows.len(), 2);
    }
}

//! fio's logs of bandwidth, IOPS and latency: one file a thread, one line an I/O or a window.
//!
//! A line is `time in ms, value, direction, block size, …` (HOWTO, "Log File Formats"). With `log_avg_msec` a line
//! is a window, its block size 0 and its time the end of the window; without it a line is an I/O. With
//! `log_window_value=both` the greatest value of the window stands behind the mean.

use stats::LatencyHistogram;

use super::error::JudgeError;
use super::measured::{Measured, ToldLatency, Way};

/// What the values of a log are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// KiB a second.
    Bandwidth,
    /// I/Os a second, or 1 for each I/O.
    Iops,
    /// Nanoseconds from submission to completion, with what it took to submit.
    Latency,
    /// Nanoseconds from submission to completion.
    CompletionLatency,
    /// Nanoseconds that it took to submit.
    SubmissionLatency,
}

impl Kind {
    /// What stands in the file's name.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Bandwidth => "bw",
            Kind::Iops => "iops",
            Kind::Latency => "lat",
            Kind::CompletionLatency => "clat",
            Kind::SubmissionLatency => "slat",
        }
    }

    const ALL: [Kind; 5] = [
        Kind::Bandwidth,
        Kind::Iops,
        Kind::CompletionLatency,
        Kind::SubmissionLatency,
        Kind::Latency,
    ];
}

/// Which way an I/O goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the drive.
    Read,
    /// To the drive.
    Write,
    /// Given up.
    Trim,
}

/// A line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// When the window ended, or the I/O: since the job began, or since 1970.
    pub time_ms: u64,
    /// As [`Kind`] says.
    pub value: f64,
    /// Its direction.
    pub direction: Direction,
    /// Bytes of the I/O; 0 for a window.
    pub block_bytes: u64,
    /// Where the I/O was, with `log_offset`.
    pub offset: Option<u64>,
}

/// The log of one thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// The file.
    pub file: String,
    /// What its values are.
    pub kind: Kind,
    /// What stands before `_bw.1.log` in its name, without directories.
    pub prefix: String,
    /// The thread's number, from 1; none when all jobs share the file.
    pub thread: Option<u64>,
    /// Its lines, in order.
    pub entries: Vec<Entry>,
    /// Whether a line is an I/O.
    pub per_io: bool,
}

/// Kind, prefix and thread by the name of a file: `x_bw.1.log` is bandwidth, `x`, 1. None for other names.
pub fn by_name(file: &str) -> Option<(Kind, String, Option<u64>)> {
    let name = file.rsplit('/').next()?;
    let stem = name.strip_suffix(".log")?;
    let (base, thread) = match stem.rsplit_once('.') {
        Some((base, number))
            if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) =>
        {
            (base, Some(number.parse().ok()?))
        }
        _ => (stem, None),
    };
    Kind::ALL.into_iter().find_map(|kind| {
        let prefix = base.strip_suffix(kind.word())?.strip_suffix('_')?;
        Some((kind, prefix.to_owned(), thread))
    })
}

/// Reads the log `text` of `file`, whose name says what it is.
///
/// # Errors
/// When the name says nothing, or a line is none of fio's.
pub fn read(file: &str, text: &str) -> Result<Log, JudgeError> {
    let Some((kind, prefix, thread)) = by_name(file) else {
        let rename = "name it as fio does, such as x_bw.1.log, x_iops.1.log or x_lat.1.log";
        return Err(JudgeError::whole(file, "its name does not say what its values are", rename));
    };
    let lines = || text.lines().zip(1_u64..).filter(|(line, _)| !line.trim().is_empty());
    let is_direction = |column: usize| {
        let field =
            move |line: &str| line.split(',').nth(column).map(|field| field.trim().to_owned());
        lines().all(|(line, _)| matches!(field(line).as_deref(), Some("0" | "1" | "2")))
    };
    let has_both = !is_direction(2) && is_direction(3);
    let mut entries = Vec::new();
    unended(file, text)?;
    for (line, number) in lines() {
        entries.push(entry(line, has_both).ok_or_else(|| not_a_line(file, number, line))?);
    }
    let per_io = entries.iter().any(|entry| entry.block_bytes > 0);
    Ok(Log { file: file.to_owned(), kind, prefix, thread, entries, per_io })
}

/// A last line without its end, which fio always writes, was cut off, perhaps within a number.
pub(super) fn unended(file: &str, text: &str) -> Result<(), JudgeError> {
    if text.is_empty() || text.ends_with('\n') {
        return Ok(());
    }
    let remedy = "give the whole file, or remove this line; end it if it is whole";
    let number = text.lines().count() as u64;
    Err(JudgeError::at(file, number, "the last line has no end and may be cut off", remedy))
}

fn not_a_line(file: &str, number: u64, line: &str) -> JudgeError {
    let shown: String = line.chars().take(40).collect();
    JudgeError::at(
        file,
        number,
        format!("{shown:?} is no line of a log of fio (time, value, direction, block size)"),
        "give the file as fio wrote it; a last line that was cut off may be removed",
    )
}

fn entry(line: &str, has_both: bool) -> Option<Entry> {
    let mut fields = line.split(',').map(str::trim);
    let time_ms = fields.next()?.parse().ok()?;
    let value: f64 = fields.next()?.parse().ok()?;
    if has_both {
        fields.next()?.parse::<f64>().ok()?;
    }
    let direction = match fields.next()? {
        "0" => Direction::Read,
        "1" => Direction::Write,
        "2" => Direction::Trim,
        _ => return None,
    };
    let block_bytes = fields.next()?.parse().ok()?;
    // With five columns the last is the priority, with more of them the offset comes first.
    let rest: Vec<&str> = fields.collect();
    let offset = if rest.len() > 1 { rest.first()?.parse().ok() } else { None };
    (value.is_finite() && value >= 0.0).then_some(Entry {
        time_ms,
        value,
        direction,
        block_bytes,
        offset,
    })
}

/// From here on, stamps count from 1970 and not from the beginning of a job.
const DATES_MS: u64 = 1 << 40;

/// What the `logs` of one job's threads say of each direction.
///
/// Logs of single I/Os tell counts, bytes and latencies as they were; logs of windows tell rates, and of latencies only
/// the mean of the windows' means, which is no mean of the I/Os and is left out.
pub(super) fn measured(logs: &[&Log]) -> Vec<Measured> {
    let of_way = |(way, direction)| of_direction(logs, way, direction);
    [(Way::Read, Direction::Read), (Way::Write, Direction::Write)]
        .into_iter()
        .filter_map(of_way)
        .collect()
}

fn of_direction(logs: &[&Log], way: Way, direction: Direction) -> Option<Measured> {
    let entries = |log: &Log| {
        let own = log.entries.iter().filter(|entry| entry.direction == direction).copied();
        own.collect::<Vec<Entry>>()
    };
    let of_kind = |kind: Kind, per_io: bool| {
        let fits = |log: &&&Log| log.kind == kind && log.per_io == per_io;
        let found: Vec<Vec<Entry>> = logs.iter().filter(fits).map(|log| entries(log)).collect();
        found.into_iter().filter(|entries| !entries.is_empty()).collect::<Vec<_>>()
    };
    let latencies = [Kind::CompletionLatency, Kind::Latency]
        .into_iter()
        .map(|kind| of_kind(kind, true))
        .find(|threads| !threads.is_empty())
        .unwrap_or_default();
    let single = [Kind::Bandwidth, Kind::Iops].into_iter().map(|kind| of_kind(kind, true));
    let single = std::iter::once(latencies.clone()).chain(single).find(|all| !all.is_empty());
    let mut found = Measured { way, ..Measured::default() };
    let (rates, iops) = (of_kind(Kind::Bandwidth, false), of_kind(Kind::Iops, false));
    let length_ms =
        length_ms(single.as_ref().unwrap_or(if rates.is_empty() { &iops } else { &rates }));
    let seconds = length_ms as f64 / 1e3;
    if let Some(threads) = single {
        let each = || threads.iter().flatten();
        let bytes = each().fold(0_u64, |sum, entry| sum.saturating_add(entry.block_bytes));
        let ios = each().count() as u64;
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
fn of_single(threads: &[Vec<Entry>]) -> ToldLatency {
    let mut histogram = LatencyHistogram::new();
    threads.iter().flatten().for_each(|entry| histogram.record(entry.value as u64));
    ToldLatency {
        mean_ns: histogram.mean(),
        min_ns: histogram.min(),
        max_ns: histogram.max(),
        percentiles: Vec::new(),
        histogram: (!histogram.is_empty()).then_some(histogram),
    }
}

/// Each window's value by its length in seconds, added up; a window begins where the one before it ended.
fn over_time(threads: &[Vec<Entry>]) -> f64 {
    let of_thread = |entries: &Vec<Entry>| {
        let mut before = begin_ms(entries);
        let mut sum = 0.0;
        for entry in entries {
            sum += entry.value * entry.time_ms.saturating_sub(before) as f64 / 1e3;
            before = before.max(entry.time_ms);
        }
        sum
    };
    threads.iter().map(of_thread).sum()
}

/// When the first window began: with the job, or as long before its end as the second took.
fn begin_ms(entries: &[Entry]) -> u64 {
    match entries {
        [first, rest @ ..] if first.time_ms >= DATES_MS => {
            let step =
                rest.first().map_or(0, |second| second.time_ms.saturating_sub(first.time_ms));
            first.time_ms.saturating_sub(step)
        }
        _ => 0,
    }
}

/// From the first beginning to the last end.
fn length_ms(threads: &[Vec<Entry>]) -> u64 {
    let begin = threads.iter().map(|entries| begin_ms(entries)).min().unwrap_or(0);
    let end = threads.iter().flatten().map(|entry| entry.time_ms).max().unwrap_or(0);
    end.saturating_sub(begin)
}

#[cfg(test)]
mod tests {
    use super::*;

    // The number of the thread decides whose job a log is.
    #[test]
    fn names_tell_kind_prefix_and_thread() {
        let cases = [
            ("d/x_bw.12.log", Some((Kind::Bandwidth, "x".to_owned(), Some(12)))),
            ("x.out_iops.1.log", Some((Kind::Iops, "x.out".to_owned(), Some(1)))),
            ("x_clat.log", Some((Kind::CompletionLatency, "x".to_owned(), None))),
            ("x_lat.2.log", Some((Kind::Latency, "x".to_owned(), Some(2)))),
            ("x_clat_hist.1.log", None),
            ("x.json", None),
            ("lat.1.log", None),
        ];
        for (name, expected) in cases {
            assert_eq!(by_name(name), expected, "{name}");
        }
    }

    // A greatest value taken for a mean would make every window look better or worse than it was.
    #[test]
    fn windows_ios_and_windows_with_their_greatest() {
        let window = read("x_bw.1.log", "500, 1609, 1, 0, 0\n1000, 1596, 1, 0, 0\n").unwrap();
        assert!(!window.per_io);
        assert_eq!((window.entries[1].time_ms, window.entries[1].value), (1000, 1596.0));
        let io = read("x_lat.1.log", "0, 9087, 0, 4096, 61440, 0\n0, 456, 1, 4096, 774144, 0\n");
        let io = io.unwrap();
        assert!(io.per_io);
        assert_eq!(
            (io.entries[1].direction, io.entries[1].offset),
            (Direction::Write, Some(774_144))
        );
        let both = read("x_lat.1.log", "500, 100, 900, 1, 0, 0\n1000, 110, 1, 1, 0, 0\n").unwrap();
        assert_eq!((both.entries[0].value, both.entries[0].direction), (100.0, Direction::Write));
    }

    // What a log adds up to is the run that is imported from it: a thread or a window too few is a slower drive.
    #[test]
    fn logs_add_up_to_what_was_moved() {
        let log = |name: &str, text: &str| read(name, text).unwrap();
        let rates =
            "500, 1000, 0, 0, 0\n500, 500, 1, 0, 0\n1000, 3000, 0, 0, 0\n1000, 500, 1, 0, 0\n";
        let (one, two) = (log("x_bw.1.log", rates), log("x_bw.2.log", rates));
        let found = measured(&[&one, &two]);
        let told = |at: usize| (found[at].way, found[at].bytes, found[at].bytes_per_s);
        assert_eq!(told(0), (Way::Read, Some(4000 * 1024), 4_096_000.0));
        assert_eq!(told(1), (Way::Write, Some(1000 * 1024), 1_024_000.0));
        assert_eq!(found[0].ios, None);
        let each = log("x_clat.1.log", "1000, 100, 0, 4096, 0\n2000, 300, 0, 4096, 0\n");
        let found = measured(&[&each]);
        assert_eq!((found[0].ios, found[0].bytes, found[0].iops), (Some(2), Some(8192), Some(1.0)));
        assert_eq!(found[0].latency.histogram.as_ref().unwrap().max(), Some(300));
        let dated = "1795387727500, 10, 1, 0, 0\n1795387728000, 10, 1, 0, 0\n";
        assert_eq!(measured(&[&log("x_bw.1.log", dated)])[0].duration_ns, Some(1_000_000_000));
        // Means of windows are no latencies of I/Os.
        assert!(measured(&[&log("x_clat.1.log", "500, 100, 0, 0, 0\n")]).is_empty());
    }

    // An error without its line leaves the user alone with a million of them.
    #[test]
    fn a_bad_line_is_named() {
        let error = read("x_bw.1.log", "500, 1609, 1, 0, 0\n\n600, nonsense\n").unwrap_err();
        assert_eq!((error.line, error.file.as_str()), (Some(3), "x_bw.1.log"));
        assert!(error.to_string().starts_with("x_bw.1.log, line 3: "), "{error}");
        assert!(read("x.log", "").is_err());
        assert!(read("x_bw.1.log", "1, -5, 1, 0\n").is_err());
        assert!(read("x_bw.1.log", "1, NaN, 1, 0\n").is_err());
    }
}

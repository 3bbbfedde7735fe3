//! fio's logs of bandwidth, IOPS and latency: one file a thread, one line an I/O or a window.
//!
//! A line is `time in ms, value, direction, block size, …` (HOWTO, "Log File Formats"). With `log_avg_msec` a line is a
//! window, its block size 0 and its time the end of the window; without it a line is an I/O. With
//! `log_window_value=both` the greatest value of the window follows the mean.

use std::io::BufRead;

use super::error::JudgeError;
use super::fio_kind::{Direction, Kind};
use super::fio_log_sums::{Line, Sums};
use super::lines::Lines;

/// The log of one thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Log {
    /// The file.
    pub file: String,
    /// Quantity of its values.
    pub kind: Kind,
    /// Prefix of its name before `_bw.1.log`, without directories.
    pub prefix: String,
    /// The thread's number, from 1; none when all jobs share the file.
    pub thread: Option<u64>,
    /// Its totals.
    pub sums: Sums,
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

/// Reads the log of `file`, whose name says what it is.
///
/// # Errors
/// When the name does not give the format, or a line is not one of fio's.
pub fn read(file: &str, input: &mut dyn BufRead) -> Result<Log, JudgeError> {
    let Some((kind, prefix, thread)) = by_name(file) else {
        let rename = "name it as fio does, such as x_bw.1.log, x_iops.1.log or x_lat.1.log";
        return Err(JudgeError::whole(file, "its name does not say what its values are", rename));
    };
    let mut lines = Lines::of(file, input);
    // Whether there is a column of the greatest value is known at the end: until then it is read both ways.
    let (mut plain, mut greatest) = (Lane::default(), Lane::default());
    while let Some((line, number)) = lines.next()? {
        if line.trim().is_empty() {
            continue;
        }
        plain.add(kind, line, number, false);
        greatest.add(kind, line, number, true);
        if !plain.fits && !greatest.fits {
            break;
        }
    }
    let lane = if !plain.fits && greatest.fits { greatest } else { plain };
    match lane.fault {
        Some(Fault { line, number, is_endless: false }) => Err(not_a_line(file, number, &line)),
        Some(Fault { number, .. }) => {
            let what = "there are too many windows whose times do not go forward";
            let remedy = "give the logs of one thread each (per_job_logs=1)";
            Err(JudgeError::at(file, number, what, remedy))
        }
        None => {
            let mut sums = lane.sums;
            sums.end();
            Ok(Log { file: file.to_owned(), kind, prefix, thread, sums })
        }
    }
}

/// The lines of a log, read in one way.
struct Lane {
    sums: Sums,
    /// Each line so far has a direction where this way has it.
    fits: bool,
    fault: Option<Fault>,
}

/// The first line that could not be added.
struct Fault {
    line: String,
    number: u64,
    /// It is a line of a log, but there is no room for it.
    is_endless: bool,
}

impl Default for Lane {
    fn default() -> Lane {
        Lane { sums: Sums::default(), fits: true, fault: None }
    }
}

impl Lane {
    fn add(&mut self, kind: Kind, line: &str, number: u64, has_greatest: bool) {
        if !self.fits {
            return;
        }
        self.fits = direction(line, has_greatest).is_some();
        if self.fault.is_some() {
            return;
        }
        let is_endless = match entry(line, has_greatest) {
            Some(entry) if self.sums.add(kind, entry) => return,
            read => read.is_some(),
        };
        self.sums = Sums::default();
        let line = line.chars().take(SHOWN).collect();
        self.fault = Some(Fault { line, number, is_endless });
    }
}

/// Most characters of a line that an error shows.
const SHOWN: usize = 40;

fn not_a_line(file: &str, number: u64, line: &str) -> JudgeError {
    JudgeError::at(
        file,
        number,
        format!("{line:?} is not a line of a log of fio (time, value, direction, block size)"),
        "give the file as fio wrote it; a last line that was cut off may be removed",
    )
}

fn direction(line: &str, has_greatest: bool) -> Option<Direction> {
    match line.split(',').nth(2 + usize::from(has_greatest))?.trim() {
        "0" => Some(Direction::Read),
        "1" => Some(Direction::Write),
        "2" => Some(Direction::Trim),
        _ => None,
    }
}

/// True when `line` can be one of a log's.
pub(super) fn is_line(line: &str) -> bool {
    entry(line, false).or_else(|| entry(line, true)).is_some()
}

fn entry(line: &str, has_greatest: bool) -> Option<Line> {
    let direction = direction(line, has_greatest)?;
    let mut fields = line.split(',').map(str::trim);
    let time_ms = fields.next()?.parse().ok()?;
    let value: f64 = fields.next()?.parse().ok()?;
    if has_greatest {
        fields.next()?.parse::<f64>().ok()?;
    }
    // The priority, the offset and the time of issue may follow the block size.
    let block_bytes = fields.nth(1)?.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(Line { time_ms, value, direction, block_bytes })
}

#[cfg(test)]
mod tests {
    use super::super::fio_log_measured::measured;
    use super::super::measured::Way;
    use super::*;

    fn read(file: &str, text: &str) -> Result<Log, JudgeError> {
        super::read(file, &mut text.as_bytes())
    }

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
        assert!(!window.sums.per_io);
        let entries = &window.sums.entries;
        assert_eq!((entries[1].time_ms, entries[1].value), (1000, 1596.0));
        let io = read("x_lat.1.log", "0, 9087, 0, 4096, 61440, 0\n0, 456, 1, 4096, 774144, 0\n");
        let io = io.unwrap();
        assert!(io.sums.per_io);
        let [reads, writes] = &io.sums.ios;
        assert_eq!((reads.count, writes.count, writes.bytes), (1, 1, 4096));
        let both = read("x_lat.1.log", "500, 100, 900, 1, 0, 0\n1000, 110, 1, 1, 0, 0\n").unwrap();
        let first = both.sums.entries[0];
        assert_eq!((first.value, first.direction), (100.0, Direction::Write));
    }

    // The totals of a log become the imported run: with a thread or a window too few, the drive is slower.
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
        // Means of windows are not latencies of I/Os.
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

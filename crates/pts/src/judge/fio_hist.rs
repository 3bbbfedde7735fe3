//! fio's histogram logs (`write_hist_log`): a line an interval, thread and direction, with the counts of all bins.
//!
//! A line is `time in ms, direction, block size, count, count, …`. Of the 1,856 bins, `log_hist_coarseness` halves the
//! number as often as it says (HOWTO, "log_hist_coarseness"). Counts are of the interval, not since the beginning; fio
//! writes no line for the last interval when it was not full.

use std::collections::BTreeMap;
use std::io::BufRead;

use stats::fio_bins;

use super::error::JudgeError;
use super::lines::Lines;
use super::measured::{Measured, ToldLatency, Way, histogram};
use super::recorded::{Format, Pattern, Recorded};

/// Columns before the counts.
const HEAD: usize = 3;
/// How often the number of bins may be halved.
const COARSEST: u32 = 6;

/// True when the first line of `text` has as many columns as a line of fio's has.
pub(super) fn is_it(text: &str) -> bool {
    text.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| {
        let columns = || line.trim().trim_end_matches(',').split(',');
        coarseness(columns().count()).is_some()
            && columns().all(|column| column.trim().parse::<u64>().is_ok())
    })
}

fn coarseness(columns: usize) -> Option<u32> {
    (0..=COARSEST).find(|halved| HEAD + (fio_bins::COUNT >> halved) == columns)
}

/// Totals of one direction.
#[derive(Default)]
struct Sum {
    bins: BTreeMap<u64, u64>,
    ios: u64,
    bytes: u64,
    block_bytes: Option<u64>,
    end_ms: u64,
}

/// Reads the log of `file`.
///
/// # Errors
/// When a line is not one of fio's, with its number.
pub(super) fn read(file: &str, input: &mut dyn BufRead) -> Result<Recorded, JudgeError> {
    let mut sums = [Sum::default(), Sum::default()];
    let mut lines = Lines::of(file, input);
    while let Some((line, number)) = lines.next()? {
        if line.trim().is_empty() {
            continue;
        }
        let fault = || {
            let what =
                "is not a line of a histogram log of fio (time, direction, block size, counts)";
            JudgeError::at(file, number, what, "give the file as fio wrote it")
        };
        add(line, &mut sums).ok_or_else(fault)?;
    }
    let prefix = file.rsplit('/').next().unwrap_or(file);
    let name = prefix.split("_clat_hist").next().unwrap_or(prefix);
    let mut result = Recorded::of(name, Format::FioHistLog, file);
    result.load.block_bytes = sums.iter().find_map(|sum| sum.block_bytes);
    let [read, write] = &sums;
    if write.ios == 0 {
        result.load.pattern = Pattern::ReadsOnly;
    }
    result.written_bytes = Some(write.bytes);
    result.measured = [(Way::Read, read), (Way::Write, write)]
        .into_iter()
        .filter(|(_, sum)| sum.ios > 0 && sum.end_ms > 0)
        .map(|(way, sum)| measured(way, sum))
        .collect();
    result.doubt(
        "histogram_log_ends_early",
        "fio writes no line for the last, unfinished interval of a histogram log",
        stats::remedy::Command::WholeIntervals,
    );
    Ok(result)
}

fn add(line: &str, sums: &mut [Sum; 2]) -> Option<()> {
    let columns: Option<Vec<u64>> = (line.trim().trim_end_matches(',').split(','))
        .map(|column| column.trim().parse().ok())
        .collect();
    let columns = columns?;
    let halved = coarseness(columns.len())?;
    let (head, counts) = columns.split_at_checked(HEAD)?;
    let &[time_ms, direction, block] = head else { return None };
    let sum = match direction {
        0 | 1 => sums.get_mut(usize::from(direction == 1))?,
        // Trims move nothing.
        2 => return Some(()),
        _ => return None,
    };
    let width = 1_usize << halved;
    for (at, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        // Several bins merged into one are represented by the middle one.
        let bin = sum.bins.entry(fio_bins::middle_ns(at * width + width / 2)).or_default();
        *bin = bin.saturating_add(*count);
        sum.ios = sum.ios.saturating_add(*count);
        sum.bytes = sum.bytes.saturating_add(count.saturating_mul(block));
    }
    sum.end_ms = sum.end_ms.max(time_ms);
    sum.block_bytes = Some(block).filter(|block| *block > 0).or(sum.block_bytes);
    Some(())
}

fn measured(way: Way, sum: &Sum) -> Measured {
    let seconds = sum.end_ms as f64 / 1e3;
    Measured {
        way,
        bytes: Some(sum.bytes),
        ios: Some(sum.ios),
        duration_ns: Some(sum.end_ms.saturating_mul(1_000_000)),
        bytes_per_s: sum.bytes as f64 / seconds,
        iops: Some(sum.ios as f64 / seconds),
        submission_ns: None,
        latency: ToldLatency {
            histogram: histogram(sum.bins.iter().map(|(ns, count)| (*ns, *count)), None, None),
            ..ToldLatency::default()
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str, text: &str) -> Result<Recorded, JudgeError> {
        super::read(file, &mut text.as_bytes())
    }

    fn line(time: u64, direction: u8, halved: u32, counts: &[(usize, u64)]) -> String {
        let mut bins = vec![0; fio_bins::COUNT >> halved];
        counts.iter().for_each(|(at, count)| bins[*at] = *count);
        let bins: Vec<String> = bins.iter().map(u64::to_string).collect();
        format!("{time}, {direction}, 4096, {}\n", bins.join(", "))
    }

    // Bins of a coarse log read as fine ones would make latencies a power of two too short.
    #[test]
    fn lines_add_up_and_coarse_bins_are_where_they_belong() {
        for halved in 0..=COARSEST {
            let at = fio_bins::index_of(100_000) >> halved;
            let text = line(500, 0, halved, &[(at, 3)]) + &line(1000, 0, halved, &[(at, 1)]);
            let text = text + &line(1000, 1, halved, &[(at, 6)]);
            assert!(is_it(&text));
            let result = read("d/x_clat_hist.1.log", &text).unwrap();
            assert_eq!((result.name.as_str(), result.written_bytes), ("x", Some(6 * 4096)));
            let [read, write] = result.measured.as_slice() else { panic!("{result:?}") };
            assert_eq!((read.ios, read.bytes, read.iops), (Some(4), Some(4 * 4096), Some(4.0)));
            assert_eq!(write.ios, Some(6));
            let p50 = read.latency.histogram.as_ref().unwrap().percentile(50.0).unwrap() as f64;
            let off = (p50 / 100_000.0 - 1.0).abs();
            assert!(off < 0.016 * f64::from(1 << halved), "{halved}: {p50}");
        }
    }

    // A log of latencies one by one has as few columns as nothing that is a histogram.
    #[test]
    fn other_logs_are_none_and_a_bad_line_is_named() {
        assert!(!is_it("500, 1609, 1, 0, 0\n") && !is_it("") && !is_it("a,b\n"));
        let text = line(500, 0, 6, &[(1, 1)]) + "600, 0, 4096\n";
        assert_eq!(read("x_clat_hist.1.log", &text).unwrap_err().line, Some(2));
        let text = line(500, 7, 6, &[(1, 1)]);
        assert!(read("x_clat_hist.1.log", &text).is_err());
    }
}

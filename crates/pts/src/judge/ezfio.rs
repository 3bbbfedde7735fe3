//! ezFIO's CSV files: `ezfio_tests_….csv` with a line a test, `ezfio_timeseries_….csv` with a line a second of its
//! longest one. What it does before each is written down in its source, and is the same each time.

use super::error::JudgeError;
use super::recorded::{Figure, Format, Load, Pattern, Quantity, Recorded, Series, Window};

/// Fills in order before the first test, of a whole run.
const SEQUENTIAL_FILLS: u64 = 2;
/// Fills of uniform random writes between the tests that read and those that write at random, of a whole run.
const RANDOM_FILLS: u64 = 2;

/// The longest test, whose seconds are in the time series: 70% reads, 4 KiB, for 20 minutes.
const SERIES_BLOCK_BYTES: u64 = 4096;
const SERIES_WRITE_SHARE: f64 = 0.3;

/// True when `text` begins as its files do.
pub(super) fn is_it(text: &str) -> bool {
    text.starts_with("Drive,") && text.lines().any(|line| line.starts_with("TestedCapacity,"))
}

/// Header lines above the figures.
struct Head {
    drive: String,
    drive_bytes: Option<u64>,
    range_bytes: Option<u64>,
    is_quick: bool,
    is_fast: bool,
    version: Option<String>,
}

fn head(text: &str) -> Head {
    let field = |name: &str| {
        let of = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(',')?.trim().to_owned());
        text.lines().find_map(of)
    };
    let bare = |text: &str| {
        let text = text.strip_prefix("FASTPRECOND-").unwrap_or(text);
        text.strip_prefix("QUICKIE-INVALID-RESULTS-").unwrap_or(text).to_owned()
    };
    let gib = |text: String| {
        let digits: String = bare(&text).chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().ok()?.checked_mul(1 << 30)
    };
    let drive = field("Drive").unwrap_or_default();
    Head {
        drive: bare(&drive),
        drive_bytes: field("AvailCapacity").and_then(gib),
        range_bytes: field("TestedCapacity").and_then(gib),
        is_quick: drive.contains("QUICKIE"),
        is_fast: drive.starts_with("FASTPRECOND"),
        version: field("FIOVersion").map(|version| bare(&version)),
    }
}

/// Reads one of its files.
///
/// # Errors
/// When a line is not one of ezFIO's, with the line.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<Recorded>, JudgeError> {
    let head = head(text);
    let mut lines =
        text.lines().zip(1_u64..).skip_while(|(line, _)| !line.starts_with("FIOVersion,"));
    lines.next();
    let Some((columns, line)) = lines.next() else {
        let what = "ezFIO's file ends before its figures";
        return Err(JudgeError::whole(file, what, "give the file of a run that ended"));
    };
    let rows: Vec<(&str, u64)> = lines.filter(|(line, _)| !line.trim().is_empty()).collect();
    let results = match columns {
        _ if columns.starts_with("Type,Write %") => tests(file, &head, &rows)?,
        _ if columns.starts_with("IOPS") => vec![time_series(file, &head, &rows)?],
        _ if columns.starts_with("CLAT-") || columns.starts_with("SLAT-") => Vec::new(),
        _ => {
            let what = format!("{columns:?} heads no table of ezFIO's");
            return Err(JudgeError::at(file, line, what, "give ezfio_tests_ or ezfio_timeseries_"));
        }
    };
    Ok(results)
}

fn begun(file: &str, head: &Head, name: String, words: String) -> Recorded {
    let mut result = Recorded::of(name, Format::Ezfio, file);
    result.tool_version = head.version.clone();
    result.load = Load { words, pattern: Pattern::Uniform, block_bytes: None };
    result.drive_bytes = head.drive_bytes;
    result.range_bytes = head.range_bytes;
    if head.is_quick {
        let cause = "a quick run: ezFIO prepared 1 GiB of the drive, and says itself that such results are invalid";
        result.doubt("quick", cause, stats::remedy::Command::FullEzfio);
    } else {
        // Done before anything is measured.
        result.before.filled = head.range_bytes == head.drive_bytes;
    }
    result
}

/// The bytes that ezFIO writes before its tests that write at random.
fn prepared_bytes(head: &Head) -> u64 {
    let fills = match (head.is_quick, head.is_fast) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => SEQUENTIAL_FILLS + RANDOM_FILLS,
    };
    head.range_bytes.unwrap_or(0).saturating_mul(fills)
}

fn time_series(file: &str, head: &Head, rows: &[(&str, u64)]) -> Result<Recorded, JudgeError> {
    let words = "70% random reads, 30% random writes, 4k, 256 threads".to_owned();
    let mut result = begun(file, head, format!("stability, {}", head.drive), words);
    result.load.block_bytes = Some(SERIES_BLOCK_BYTES);
    result.before.written_bytes = prepared_bytes(head);
    let mut windows = Vec::with_capacity(rows.len());
    for ((row, line), second) in rows.iter().zip(0_u64..) {
        let first = row.split(',').next().unwrap_or_default().trim();
        let value: f64 = first
            .parse()
            .ok()
            .filter(|value: &f64| value.is_finite() && *value >= 0.0)
            .ok_or_else(|| {
                JudgeError::at(
                    file,
                    *line,
                    format!("{first:?} is not a count of I/Os"),
                    "give the file as ezFIO wrote it",
                )
            })?;
        let written = value * SERIES_WRITE_SHARE * SERIES_BLOCK_BYTES as f64;
        windows.push(Window {
            start_ns: second.saturating_mul(1_000_000_000),
            duration_ns: 1_000_000_000,
            written_bytes: Some(written as u64),
            value,
        });
    }
    let mean = windows.iter().map(|window| window.value).sum::<f64>() / windows.len().max(1) as f64;
    result.figures = vec![Figure { name: "mean".to_owned(), value: mean, unit: "IOPS" }];
    let series = Series {
        quantity: Quantity::Iops,
        windows,
        threads: 256,
        source: "ezFIO's time series",
        skipped_bytes: 0,
    };
    result.written_bytes = series.written_bytes();
    result.series = Some(series);
    Ok(result)
}

fn tests(file: &str, head: &Head, rows: &[(&str, u64)]) -> Result<Vec<Recorded>, JudgeError> {
    let mut results = Vec::new();
    for (row, line) in rows {
        let fields: Vec<&str> = row.split(',').map(str::trim).collect();
        // Headings have one field, and a failed test says so.
        let &[order, writes, block, threads, depth, iops, ..] = fields.as_slice() else { continue };
        let fault = || {
            let what = format!("{row:?} is not a test of ezFIO's");
            JudgeError::at(file, *line, what, "give the file as ezFIO wrote it")
        };
        let block: u64 = block.parse().map_err(|_| fault())?;
        let figure = |text: &str| {
            let figure = text.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0);
            figure.ok_or_else(fault)
        };
        let (iops, writes) = (figure(iops)?, figure(writes)?);
        let words = format!("{order}, {writes}% writes, {block} B, {threads} threads x {depth}");
        let mut result = begun(file, head, words.clone(), words);
        result.load.block_bytes = Some(block);
        if writes == 0.0 {
            result.load.pattern = Pattern::ReadsOnly;
            result.written_bytes = Some(0);
        } else if order == "Seq" {
            result.load.pattern = Pattern::Sequential;
        } else {
            result.before.written_bytes = prepared_bytes(head);
        }
        result.figures = vec![Figure { name: "mean".to_owned(), value: iops, unit: "IOPS" }];
        results.push(result);
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "Drive,/dev/nvme0n1\nModel,X\nSerial,1\nAvailCapacity,100,GiB\nTestedCapacity,100,GiB\n\
        CPU,c\nCores,4\nFrequency,1000\nOS,Linux\nFIOVersion,fio-3.33\n";

    #[test]
    fn the_time_series_has_a_line_a_second() {
        let results = read("t.csv", &format!("{HEAD}IOPS,/dev/nvme0n1\n1000\n2000\n")).unwrap();
        let result = &results[0];
        assert_eq!(result.drive_bytes, Some(100 << 30));
        assert_eq!(result.before.written_bytes, 400 << 30);
        let series = result.series.as_ref().unwrap();
        assert_eq!(series.windows.len(), 2);
        assert_eq!(series.windows[1].written_bytes, Some((2000.0_f64 * 0.3 * 4096.0) as u64));
    }

    // A quick run has prepared next to nothing, and says what a whole one says.
    #[test]
    fn a_quick_run_has_prepared_nothing() {
        let quick = HEAD.replace("Drive,", "Drive,QUICKIE-INVALID-RESULTS-");
        let results = read("t.csv", &format!("{quick}IOPS,x\n1\n")).unwrap();
        assert_eq!((results[0].before.written_bytes, results[0].before.filled), (0, false));
        assert_eq!(results[0].caveats[0].code, "quick");
    }

    #[test]
    fn tests_have_a_line_each() {
        let text = format!(
            "{HEAD}Type,Write %,Block Size,Threads,Queue Depth/Thread,IOPS,Bandwidth (MB/s),Read Latency (us),Write Latency (us)\n\
             Sustained 4KB Random Write Tests\nRand,100,4096,1,1,6700,26.1,0.0,140.1\nSeq,0,4096,1,256,9,1,1,0\n"
        );
        let results = read("t.csv", &text).unwrap();
        assert_eq!(results.len(), 2);
        assert_eq!(results[1].load.pattern, Pattern::ReadsOnly);
        let error = read("t.csv", &format!("{text}Rand,x,1,1,1,1,1\n")).unwrap_err();
        assert_eq!(error.line, Some(15));
    }
}

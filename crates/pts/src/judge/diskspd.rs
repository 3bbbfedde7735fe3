//! The text that diskspd prints, on Windows and on Linux: totals of one time span, and nothing of how they came to be.

use block::Nanos;
use workload::fio_units::bytes;

use super::error::JudgeError;
use super::measured::{Asked, Measured, ToldLatency, Way};
use super::recorded::{Figure, Format, Load, Pattern, Recorded};

/// True when `text` is diskspd's.
pub(super) fn is_it(text: &str) -> bool {
    text.contains("Input parameters:")
        && text.lines().any(|line| line.trim_start().starts_with("Results for "))
        && text.lines().any(|line| line.trim_start().starts_with("Total IO"))
}

/// Input parameters; with several targets, those of the first.
#[derive(Default)]
struct Input {
    path: Option<String>,
    size_bytes: Option<u64>,
    block_bytes: Option<u64>,
    is_random: Option<bool>,
    alignment_bytes: Option<u64>,
    targets: u64,
    asked: Asked,
    threads: Option<u16>,
    threads_per_file: Option<u16>,
}

/// Reads the time spans of `text`.
///
/// # Errors
/// When a table or the percentiles are missing or have no end, with the line.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<Recorded>, JudgeError> {
    let input = input(text);
    let mut results: Vec<Recorded> = Vec::new();
    let mut table: Option<(&str, u64)> = None;
    let mut columns = Columns::default();
    let mut is_percentiles = false;
    let mut awaited: Option<&str> = None;
    for (line, number) in text.lines().zip(1_u64..) {
        let line = line.trim();
        if let Some(span) = line.strip_prefix("Results for ") {
            whole(file, awaited, number)?;
            awaited = Some("Total IO");
            results.push(begun(file, span.trim_end_matches(':'), &input));
        }
        if line.starts_with("thread |") {
            columns = Columns::of(line);
        }
        is_percentiles = (is_percentiles && !line.is_empty()) || line.starts_with("%-ile");
        if let Some(result) = results.last_mut() {
            if is_percentiles {
                percentile(result, line);
                awaited = awaited.filter(|_| !is_last_percentile(line));
            } else if let Some(seconds) = test_time(line) {
                let time = nanos(seconds).ok_or_else(|| {
                    let what = format!("a test time of {seconds} s");
                    JudgeError::at(file, number, what, "give the text as diskspd printed it")
                })?;
                result.asked.duration = Some(time);
            }
        }
        let head =
            ["Total IO", "Read IO", "Write IO"].into_iter().find(|head| line.starts_with(head));
        if let Some(head) = head {
            unfinished(file, table)?;
            table = Some((head, number));
        } else if let (Some((head, _)), true) = (table, line.starts_with("total:")) {
            let total = total(line).ok_or_else(|| {
                let remedy = "give the text as diskspd printed it";
                JudgeError::at(file, number, "a total without bytes and I/Os", remedy)
            })?;
            table = None;
            awaited = match head {
                "Total IO" => Some("Read IO"),
                "Read IO" => Some("Write IO"),
                _ => columns.latency.map(|_| "max"),
            };
            if let Some(result) = results.last_mut() {
                take(result, head, total, &columns, line);
            }
        }
    }
    unfinished(file, table)?;
    whole(file, awaited, text.lines().count() as u64)?;
    for result in &mut results {
        if result.written_bytes == Some(0) {
            result.load.pattern = Pattern::ReadsOnly;
        }
    }
    if results.is_empty() {
        let remedy = "give the text of a run that ended";
        return Err(JudgeError::whole(file, "diskspd's text has no results", remedy));
    }
    Ok(results)
}

fn unfinished(file: &str, table: Option<(&str, u64)>) -> Result<(), JudgeError> {
    let Some((head, line)) = table else { return Ok(()) };
    let what = format!("the table {head} has no total");
    Err(JudgeError::at(
        file,
        line,
        what,
        "give the whole text, with the line that begins with total:",
    ))
}

/// A time span has all three tables, and with `-L` one of percentiles that goes up to `max`: without one of them a
/// direction would be taken for one that was not asked for.
fn whole(file: &str, awaited: Option<&str>, line: u64) -> Result<(), JudgeError> {
    let Some(name) = awaited else { return Ok(()) };
    let what = format!("the results end before {name}");
    Err(JudgeError::at(file, line, what, "give the whole text, as diskspd printed it"))
}

/// The row of the longest, with the column of each direction and that of both.
fn is_last_percentile(line: &str) -> bool {
    line.starts_with("max") && line.split('|').count() > 3
}

fn input(text: &str) -> Input {
    let mut input = Input::default();
    for line in text.lines().map(str::trim) {
        if line.starts_with("Results for ") {
            break;
        }
        asked(&mut input, line);
        let after = |name: &str| line.strip_prefix(name).map(str::trim);
        if let Some(path) = after("path:") {
            input.targets += 1;
            input.path.get_or_insert_with(|| path.trim_matches('\'').to_owned());
        } else if let (Some(size), None) =
            (after("size:").or_else(|| after("max file size:")), input.size_bytes)
        {
            input.size_bytes = size_of(size);
        } else if let (Some(size), None) = (after("block size:"), input.block_bytes) {
            input.block_bytes = size_of(size);
        } else if let (Some(alignment), None) =
            (after("using random I/O (alignment:"), input.is_random)
        {
            input.is_random = Some(true);
            input.alignment_bytes = size_of(alignment.trim_end_matches(')'));
        } else if input.is_random.is_none()
            && (line.starts_with("using sequential I/O")
                || line.starts_with("using interlocked sequential I/O"))
        {
            input.is_random = Some(false);
        }
    }
    input
}

/// Parses the load parameters of a line into the terms of our own runs.
fn asked(input: &mut Input, line: &str) {
    let after = |name: &str| line.strip_prefix(name).map(|rest| rest.trim_end_matches(')').trim());
    let count = |text: &str| text.parse::<u16>().ok().filter(|count| *count > 0);
    let seconds = |text: &str| text.trim_end_matches('s').parse::<f64>().ok().and_then(nanos);
    let asked = &mut input.asked;
    // The wording of Windows and of Linux: both give the queue depth of a thread.
    if let Some(depth) = after("number of outstanding I/O operations per thread:")
        .or_else(|| after("number of outstanding I/O operations:"))
    {
        asked.depth = count(depth);
    } else if let Some(threads) = after("threads per file:") {
        input.threads_per_file = count(threads);
    } else if let Some(threads) = after("total threads:") {
        input.threads = count(threads);
    } else if let Some(seed) = after("random seed:") {
        asked.seed = seed.parse().ok();
    } else if let Some(warm_up) = after("warm up time:") {
        asked.warm_up = seconds(warm_up);
    } else if let Some(ratio) = after("performing mix test (read/write ratio:") {
        asked.reads_percent = ratio.split('/').next().and_then(|share| share.parse().ok());
    }
    match line {
        "using O_DIRECT" | "software cache disabled" => asked.direct = Some(true),
        "using software cache" => asked.direct = Some(false),
        "using O_SYNC" | "hardware write cache disabled, writethrough on" => {
            asked.durable = Some(true);
        }
        "using hardware write cache, writethrough off" => asked.durable = Some(false),
        _ => {}
    }
}

fn nanos(seconds: f64) -> Option<Nanos> {
    (seconds.is_finite() && (0.0..1e9).contains(&seconds))
        .then_some(Nanos((seconds * 1e9).round() as u64))
}

/// `actual test time: 30.01s`, and on Linux `test time:         30s`.
fn test_time(line: &str) -> Option<f64> {
    let rest = line.strip_prefix("actual ").unwrap_or(line).strip_prefix("test time:")?;
    rest.trim().trim_end_matches('s').parse().ok()
}

/// Positions of the columns that only some tables have.
#[derive(Clone, Copy, Default)]
struct Columns {
    latency: Option<usize>,
}

impl Columns {
    fn of(head: &str) -> Columns {
        // The line of the total has no column for the thread.
        let columns = head.split('|').skip(1);
        Columns { latency: columns.map(str::trim).position(|name| name.starts_with("AvgLat")) }
    }
}

/// A line of the table of percentiles: `  3-nines |      0.067 |        N/A |      0.067`.
fn percentile(result: &mut Recorded, line: &str) {
    let mut columns = line.split('|').map(str::trim);
    let Some(name) = columns.next() else { return };
    let sides = columns.map(|text| text.parse::<f64>().ok().and_then(|ms| nanos(ms / 1e3)));
    for (way, ns) in [Way::Read, Way::Write, Way::Both].into_iter().zip(sides) {
        let latency = match way {
            Way::Both => Some(&mut result.together),
            _ => result.measured.iter_mut().find(|of| of.way == way).map(|of| &mut of.latency),
        };
        if let Some((latency, Nanos(ns))) = latency.zip(ns) {
            set_percentile(latency, name, ns);
        }
    }
}

/// Takes what diskspd calls `min`, `25th`, `3-nines` or `max`, or a percentage.
pub(super) fn set_percentile(latency: &mut ToldLatency, name: &str, ns: u64) {
    let percent = match (name, name.strip_suffix("-nines"), name.strip_suffix("th")) {
        ("min" | "0", ..) => return latency.min_ns = Some(ns),
        ("max" | "100", ..) => return latency.max_ns = Some(ns),
        (_, Some(nines), _) => {
            let nines = nines.parse::<i32>().ok().filter(|nines| (2..=9).contains(nines));
            nines.map(|nines| 100.0 * (1.0 - 10_f64.powi(-nines)))
        }
        (_, _, Some(percent)) => percent.parse().ok(),
        _ => name.parse().ok(),
    };
    if let Some(percent) = percent.filter(|percent| (0.0..100.0).contains(percent)) {
        latency.percentiles.push((percent, ns));
    }
}

/// `4KiB`, `4096` or `53687091200B`: diskspd's prefixes are those of the standard.
fn size_of(text: &str) -> Option<u64> {
    bytes(text.split_whitespace().next()?, 1000)
}

fn begun(file: &str, span: &str, input: &Input) -> Recorded {
    let mut result = Recorded::of(span.trim(), Format::Diskspd, file);
    let order = match input.is_random {
        Some(true) => "random",
        Some(false) => "in order",
        None => "order not recorded",
    };
    let block = input.block_bytes.map_or(String::new(), |bytes| format!(", {bytes} B"));
    let pattern = match input.is_random {
        Some(true) => Pattern::Random,
        Some(false) => Pattern::Sequential,
        None => Pattern::Unknown,
    };
    result.load =
        Load { words: format!("{order}{block}"), pattern, block_bytes: input.block_bytes };
    result.range_bytes = input.size_bytes.filter(|_| input.targets == 1);
    let targets = u16::try_from(input.targets).ok();
    let each = input.threads_per_file.zip(targets).and_then(|(each, of)| each.checked_mul(of));
    result.asked = Asked {
        target: input.path.clone().filter(|_| input.targets == 1),
        random: input.is_random,
        // Linux prints the total, and a count for each file only where it was asked for.
        threads: input.threads.or(each),
        seed: input.asked.seed.filter(|_| input.is_random == Some(true)),
        ..input.asked.clone()
    };
    let apart = input.alignment_bytes.zip(input.block_bytes).filter(|(apart, block)| apart > block);
    if let Some((apart, block)) = apart {
        result.doubt(
            "aligned_apart",
            format!("random I/Os of {block} B were {apart} B apart: only 1/{} of the range was addressed", apart / block.max(1)),
            stats::Remedy::AlignToBlock { bytes: block },
        );
    }
    result
}

/// Figures in the total line of a table.
#[derive(Clone, Copy)]
struct Total {
    bytes: u64,
    ios: u64,
    mib_per_s: f64,
    iops: f64,
}

/// `total: bytes | I/Os | MiB/s | I/O per s | …`.
fn total(line: &str) -> Option<Total> {
    let mut fields = line.strip_prefix("total:")?.split('|').map(str::trim);
    let bytes = fields.next()?.parse().ok()?;
    let ios = fields.next()?.parse().ok()?;
    let mib_per_s: f64 = fields.next()?.parse().ok()?;
    // Two places are always printed; fewer are a figure that was cut off.
    let iops = fields.next()?;
    iops.split_once('.').filter(|(_, places)| places.len() >= 2)?;
    let iops: f64 = iops.parse().ok()?;
    let can_be = |rate: f64| rate.is_finite() && rate >= 0.0;
    (can_be(mib_per_s) && can_be(iops)).then_some(Total { bytes, ios, mib_per_s, iops })
}

fn take(result: &mut Recorded, head: &str, total: Total, columns: &Columns, line: &str) {
    let (way, name) = match head {
        "Write IO" => {
            result.written_bytes = Some(total.bytes);
            (Way::Write, "write")
        }
        "Read IO" => (Way::Read, "read"),
        _ => return,
    };
    if total.bytes == 0 {
        return;
    }
    // The MB/s of diskspd on Linux are 2^20 bytes too, with two decimal places: for a slow drive, bytes divided by time are
    // more precise, if both are of the same span.
    let told = total.mib_per_s * f64::from(1 << 20);
    let seconds = result.asked.duration.map(|time| time.as_secs_f64()).filter(|time| *time > 0.0);
    let made = seconds.map(|seconds| total.bytes as f64 / seconds);
    let rounding = 0.0051 * f64::from(1 << 20);
    let bytes_per_s = made.filter(|made| (made - told).abs() <= rounding).unwrap_or(told);
    let figure = |value, unit| Figure { name: name.to_owned(), value, unit };
    result.figures.extend([figure(total.iops, "IOPS"), figure(bytes_per_s, "B/s")]);
    let latency_ms = columns.latency.and_then(|at| line.split('|').nth(at)?.trim().parse().ok());
    let mean_ns = latency_ms.filter(|ms: &f64| ms.is_finite() && *ms > 0.0).map(|ms| ms * 1e6);
    result.measured.push(Measured {
        way,
        bytes: Some(total.bytes),
        ios: Some(total.ios),
        duration_ns: result.asked.duration.map(|time| time.0),
        bytes_per_s,
        iops: Some(total.iops),
        submission_ns: None,
        latency: ToldLatency { mean_ns, ..ToldLatency::default() },
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Command Line: diskspd -b4K -r\n\nInput parameters:\n\n\tjob:   1\n\tduration: 30s\n\
        \tpath: 'F'\n\t\tsize: 1073741824B\n\t\tblock size: 4096\n\t\tusing random I/O (alignment: 65536)\n\
        Results for job 1:\ntest time: 30s\nTotal IO\nthread | bytes | I/Os | MB/s | I/O per s | file\n\
        total:  8192 | 2 | 0.50 | 2.00 |\n\nRead IO\ntotal: 0 | 0 | 0.00 | 0.00 |\n\nWrite IO\n\
        total: 8192 | 2 | 0.50 | 2.00 |\n";

    #[test]
    fn totals_and_what_was_asked() {
        assert!(is_it(TEXT));
        let results = read("d.txt", TEXT).unwrap();
        assert_eq!(results.len(), 1);
        let result = &results[0];
        assert_eq!((result.written_bytes, result.range_bytes), (Some(8192), Some(1 << 30)));
        assert_eq!(result.load.pattern, Pattern::Random);
        assert_eq!(result.figures.len(), 2);
        // -r without a number addresses every sixteenth block only.
        assert_eq!(result.caveats[0].code, "aligned_apart");
    }

    #[test]
    fn a_table_that_was_cut_off_is_named_with_its_line() {
        let cut = TEXT.rsplit_once("total:").unwrap().0;
        assert_eq!(read("d.txt", cut).unwrap_err().line, Some(20));
        assert!(read("d.txt", &TEXT.replace("| 2 |", "| x |")).unwrap_err().line.is_some());
        assert!(!is_it("nothing"));
    }

    // A text of Windows, in its documented form: figures that it has and Linux does not print would be lost.
    #[test]
    fn a_text_of_windows_tells_its_load_and_its_latencies() {
        let text = "Command Line: diskspd.exe -b8K -o4 -t2 -w25 -r -L -Sh f\n\nInput parameters:\n\n\ttimespan:   1\n\
            \tduration: 30s\n\twarm up time: 5s\n\trandom seed: 7\n\tpath: 'C:\\f'\n\t\tsoftware cache disabled\n\
            \t\thardware write cache disabled, writethrough on\n\t\tperforming mix test (read/write ratio: 75/25)\n\
            \t\tblock size: 8KiB\n\t\tusing random I/O (alignment: 8KiB)\n\
            \t\tnumber of outstanding I/O operations per thread: 4\n\t\tthreads per file: 2\n\n\
            Results for timespan 1:\n*****\nactual test time:\t30.02s\nthread count:\t\t2\n\n\
            Total IO\nthread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file\n\
            total:     3276800 |          400 |       0.10 |      13.32 |    0.500 |     0.313\n\n\
            Read IO\nthread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file\n\
            total:     2457600 |          300 |       0.08 |       9.99 |    0.400 |     0.313\n\n\
            Write IO\nthread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file\n\
            total:      819200 |          100 |       0.03 |       3.33 |    0.800 |     0.313\n\n\n\
            total latency distribution:\n  %-ile |  Read (ms) | Write (ms) | Total (ms)\n----\n    min |      0.067 |      0.100 |      0.067\n\
            \x20  50th |      0.350 |      0.700 |      0.360\n3-nines |      1.500 |        N/A |      1.600\n    max |      2.000 |      3.000 |      3.000\n";
        let result = &read("w.txt", text).unwrap()[0];
        let asked = &result.asked;
        assert_eq!((asked.depth, asked.threads, asked.reads_percent), (Some(4), Some(2), Some(75)));
        assert_eq!((asked.direct, asked.durable, asked.seed), (Some(true), Some(true), Some(7)));
        assert_eq!(asked.duration, Some(Nanos(30_020_000_000)));
        let [read, write] = result.measured.as_slice() else { panic!("{result:?}") };
        assert_eq!((read.ios, read.bytes, read.iops), (Some(300), Some(2_457_600), Some(9.99)));
        assert_eq!(
            (read.latency.mean_ns, write.latency.mean_ns),
            (Some(400_000.0), Some(800_000.0))
        );
        assert_eq!(read.latency.percentile(99.9), Some(1_500_000));
        assert_eq!(write.latency.percentiles, [(50.0, 700_000)]);
        assert_eq!((write.latency.min_ns, write.latency.max_ns), (Some(100_000), Some(3_000_000)));
        let all = result.all().unwrap();
        assert_eq!((all.ios, all.latency.percentile(50.0)), (Some(400), Some(360_000)));
        assert_eq!(all.latency.percentile(99.9), Some(1_600_000));
    }
}

//! The text that CrystalDiskMark copies and saves, of versions 3 to 9 (SaveText and GetResultString of its
//! DiskMarkDlg.cpp), and of programs that print the same, such as KDiskMark.
//!
//! A line is `SEQ    1MiB (Q=  8, T= 1):  3564.610 MB/s [   3399.5 IOPS] <  2351.79 us>` under `[Read]`, `[Write]` or `[Mix]`;
//! before version 8 the line itself has the direction, and before 7 there is no latency. MB are 10^6 bytes; the `KB` of
//! versions 3 and 4 are 1,024. What is shown is the best of N runs, and the least latency of N, each by itself.

use block::Nanos;
use workload::fio_units;

use super::error::JudgeError;
use super::measured::{Asked, Measured, ToldLatency, Way};
use super::recorded::{Figure, Format, Recorded};

/// True when `text` is such a text.
pub(super) fn is_it(text: &str) -> bool {
    text.contains("MB/s = 1,000,000 byte")
}

/// Values from the lines below the results, which apply to all of them.
#[derive(Default)]
struct Foot {
    version: Option<String>,
    range_bytes: Option<u64>,
    target: Option<String>,
    runs: Option<u64>,
    measure: Option<Nanos>,
    is_zeros: bool,
}

/// Direction of the results below a heading.
#[derive(Clone, Copy)]
struct Section {
    way: Way,
    reads_percent: Option<u8>,
}

/// Reads the results of `text`.
///
/// # Errors
/// At a line whose figures cannot be read, when there is no result, or when the text ends before its date.
pub(super) fn read(file: &str, text: &str) -> Result<Vec<Recorded>, JudgeError> {
    let foot = foot(text);
    let mut section = None;
    let mut results = Vec::new();
    let (mut is_below, mut is_whole) = (false, false);
    for (line, number) in text.lines().zip(1_u64..) {
        let line = line.trim();
        let name = line.split_once(':').map(|(name, _)| name.trim());
        is_below |= matches!(name, Some("Test" | "Date"));
        is_whole |= name == Some("Date");
        // Below the results is the user's own comment too, which may mention MB/s.
        if is_below {
            continue;
        }
        if line.starts_with('[') {
            section = heading(line);
        }
        if line.starts_with('*') || !line.contains(" MB/s") {
            continue;
        }
        let fault = || {
            let remedy = "give the text as it was copied, from its first line to its last";
            JudgeError::at(file, number, "a result whose figures cannot be read", remedy)
        };
        let (label, figures) = line.split_once(':').ok_or_else(fault)?;
        let figures = Figures::of(figures).ok_or_else(fault)?;
        let label = label.trim();
        let section = of_label(label).or(section).ok_or_else(fault)?;
        // Tests that were not run are printed as 0.
        if figures.mb_s > 0.0 {
            results.push(one(file, label, section, &figures, &foot));
        }
    }
    if results.is_empty() {
        let remedy = "run at least one test, and copy the text then";
        return Err(JudgeError::whole(file, "CrystalDiskMark's text has no results", remedy));
    }
    if !is_whole {
        let what = "the text ends before its date, and results may be missing";
        let remedy = "give the text as it was copied, from its first line to its last";
        return Err(JudgeError::at(file, text.lines().count() as u64, what, remedy));
    }
    Ok(results)
}

/// The figures of a line.
struct Figures {
    mb_s: f64,
    iops: Option<f64>,
    latency_us: Option<f64>,
}

impl Figures {
    fn of(text: &str) -> Option<Figures> {
        let number =
            |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
        let (mb_s, rest) = text.split_once("MB/s")?;
        let within = |open: char, unit: &str| {
            let (_, after) = rest.split_once(open)?;
            after.split_once(unit).map(|(figure, _)| number(figure))
        };
        // A bracket that is there has to hold a figure.
        let iops = within('[', "IOPS").map_or(Some(None), |iops| iops.map(Some))?;
        let latency_us = within('<', "us>").map_or(Some(None), |us| us.map(Some))?;
        Some(Figures { mb_s: number(mb_s)?, iops, latency_us })
    }
}

fn heading(line: &str) -> Option<Section> {
    let way = |way| Some(Section { way, reads_percent: None });
    match line.get(..line.find(']')? + 1)? {
        "[Read]" => way(Way::Read),
        "[Write]" => way(Way::Write),
        "[Mix]" => {
            let share = line.split("Read").nth(1)?.split('%').next()?.trim().parse().ok();
            Some(Section { way: Way::Both, reads_percent: share.filter(|s| *s <= 100) })
        }
        _ => None,
    }
}

/// The direction, where the line itself has it.
fn of_label(label: &str) -> Option<Section> {
    let way = if label.contains("Read") {
        Way::Read
    } else if label.contains("Write") {
        Way::Write
    } else {
        return None;
    };
    Some(Section { way, reads_percent: None })
}

fn one(file: &str, label: &str, section: Section, figures: &Figures, foot: &Foot) -> Recorded {
    let mut result = Recorded::of(label, Format::CrystalDiskMark, file);
    result.tool_version.clone_from(&foot.version);
    let is_random = label.starts_with("RND") || label.starts_with("Random");
    let block = block_of(label);
    result.load.words = label.to_owned();
    result.load.block_bytes = block;
    result.range_bytes = foot.range_bytes;
    let depth = after(label, "Q=").or_else(|| after(label, "QD="));
    result.asked = Asked {
        target: foot.target.clone(),
        engine: None,
        // FILE_FLAG_NO_BUFFERING is all that it can do.
        direct: Some(true),
        durable: Some(false),
        random: Some(is_random),
        depth,
        // Before version 4 there was one thread, and the text has none.
        threads: after(label, "T=").or(depth.map(|_| 1)),
        reads_percent: section.reads_percent,
        duration: foot.measure,
        ..Asked::default()
    };
    result.figures = vec![Figure {
        name: match section.way {
            Way::Read => "read",
            Way::Write => "write",
            Way::Both => "mix",
        }
        .to_owned(),
        value: figures.mb_s * 1e6,
        unit: "B/s",
    }];
    result.measured = vec![Measured {
        way: section.way,
        bytes_per_s: figures.mb_s * 1e6,
        iops: figures.iops.or(block.map(|bytes| figures.mb_s * 1e6 / bytes.max(1) as f64)),
        latency: ToldLatency {
            mean_ns: figures.latency_us.filter(|us| *us > 0.0).map(|us| us * 1e3),
            ..ToldLatency::default()
        },
        ..Measured::default()
    }];
    doubts(&mut result, figures, foot);
    result
}

fn doubts(result: &mut Recorded, figures: &Figures, foot: &Foot) {
    let of = foot.runs.map_or("its runs".to_owned(), |runs| format!("{runs} runs"));
    result.doubt(
        "best_of_runs",
        format!(
            "what is shown is the fastest of {of}, and the least latency of them, each by itself"
        ),
        stats::remedy::Command::CompareBest,
    );
    if foot.is_zeros {
        result.doubt(
            "zeros",
            "all that was written were zeros (<0Fill>), which a drive or a filesystem may leave out",
            stats::remedy::Command::MeasureRandomData,
        );
    }
    let expected = figures.iops.zip(result.load.block_bytes).map(|(iops, b)| iops * b as f64 / 1e6);
    // IOPS have one decimal place, and few of them are known to no more than that.
    let slack = result.load.block_bytes.map_or(0.0, |bytes| 0.06 * bytes as f64 / 1e6);
    if let Some(expected) = expected
        && (expected - figures.mb_s).abs() > figures.mb_s * 0.005 + slack
    {
        result.doubt(
            "units_disagree",
            format!(
                "{} MB/s are not what the IOPS make of the block size, which is {expected:.3} MB/s",
                figures.mb_s
            ),
            stats::remedy::Command::UseIops,
        );
    }
}

/// The number behind `name`, such as 8 of `(Q=  8, T= 1)`.
fn after(label: &str, name: &str) -> Option<u16> {
    let (_, rest) = label.split_once(name)?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok().filter(|count| *count > 0)
}

/// `1MiB`, `1 MiB`, `4KB`: all of powers of 1,024.
fn block_of(label: &str) -> Option<u64> {
    let front = label.split('(').next()?;
    let at = front.find(|c: char| c.is_ascii_digit())?;
    let compact: String = front.get(at..)?.chars().filter(|c| !c.is_whitespace()).collect();
    let unit = compact.trim_end_matches("iB").trim_end_matches('B');
    fio_units::bytes(unit, 1024).filter(|bytes| *bytes > 0)
}

fn foot(text: &str) -> Foot {
    let mut foot = Foot::default();
    for line in text.lines().map(str::trim) {
        if foot.version.is_none()
            && let Some((_, version)) = line.split_once("DiskMark ")
        {
            let number = version.trim_start_matches('(').split_whitespace().next();
            foot.version = number.map(|text| text.trim_end_matches([':', ')']).to_owned());
        }
        let Some((name, said)) = line.split_once(':') else { continue };
        match name.trim() {
            "Test" => of_test(&mut foot, said.trim()),
            "Mode" => foot.is_zeros |= said.contains("<0Fill>"),
            "Time" => foot.measure = seconds_behind(said, "Measure"),
            _ => {}
        }
        foot.is_zeros |= line.contains("<0Fill>");
    }
    foot
}

/// `1 GiB (x5) [C: 45% (210/465GiB)]`, in older versions with the brackets before the count.
fn of_test(foot: &mut Foot, said: &str) {
    let mut words = said.split_whitespace();
    let size = words.next().zip(words.next());
    // The MB of old versions may be either; nothing depends on them.
    foot.range_bytes = size.filter(|(_, unit)| unit.ends_with("iB")).and_then(|(count, unit)| {
        fio_units::bytes(&format!("{count}{}", unit.trim_end_matches("iB")), 1024)
    });
    foot.runs = said.split_once("(x").and_then(|(_, rest)| rest.split(')').next()?.parse().ok());
    let drive = said.split_once('[').and_then(|(_, rest)| rest.split([']', ' ']).next());
    foot.target = drive.filter(|drive| drive.ends_with(':')).map(str::to_owned);
}

fn seconds_behind(text: &str, name: &str) -> Option<Nanos> {
    let (_, rest) = text.split_once(name)?;
    let seconds: u64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(Nanos(seconds.checked_mul(1_000_000_000)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]\n";

    fn read_of(lines: &str) -> Vec<Recorded> {
        let text =
            format!("CrystalDiskMark 8.0.4 x64 (C) hiyohiyo\n{HEAD}{lines}   Date: 2026/11/02\n");
        assert!(is_it(&text));
        read("c.txt", &text).unwrap()
    }

    fn asked(result: &Recorded) -> (Way, Option<bool>, Option<u64>, Option<u16>, Option<u16>) {
        let asked = &result.asked;
        let way = result.measured[0].way;
        (way, asked.random, result.load.block_bytes, asked.depth, asked.threads)
    }

    // A load taken for another one would be compared with the wrong test of ours.
    #[test]
    fn each_version_tells_its_loads_in_a_form_of_its_own() {
        let new = read_of(
            "[Read]\n  SEQ    1MiB (Q=  8, T= 1):  5024.997 MB/s [   4792.2 IOPS] <  1667.96 us>\n\
             [Mix] Read 70%/Write 30%\n  RND    4KiB (Q= 32, T=16):    78.170 MB/s [  19084.5 IOPS] <    52.30 us>\n\
             \x20  Test: 1 GiB (x5) [C: 45% (210/465GiB)]\n   Mode: [Admin] <0Fill>\n\
             \x20  Time: Measure 5 sec / Interval 5 sec\n",
        );
        assert_eq!(asked(&new[0]), (Way::Read, Some(false), Some(1 << 20), Some(8), Some(1)));
        assert_eq!(asked(&new[1]), (Way::Both, Some(true), Some(4096), Some(32), Some(16)));
        assert_eq!(new[1].asked.reads_percent, Some(70));
        let latency = new[0].measured[0].latency.mean_ns.unwrap();
        assert!((latency - 1_667_960.0).abs() < 1e-3 && new[0].measured[0].iops == Some(4792.2));
        assert!((new[0].measured[0].bytes_per_s - 5_024_997_000.0).abs() < 1e-3);
        assert_eq!(
            (new[0].range_bytes, new[0].asked.target.as_deref()),
            (Some(1 << 30), Some("C:"))
        );
        assert_eq!(new[0].asked.duration, Some(Nanos::secs(5)));
        assert_eq!(new[0].tool_version.as_deref(), Some("8.0.4"));
        let codes: Vec<&str> = new[0].caveats.iter().map(|caveat| caveat.code.as_str()).collect();
        assert_eq!(codes, ["best_of_runs", "zeros"]);
        let six = read_of(
            "   Sequential Read (Q= 32,T= 1) :    91.559 MB/s\n Random Write 4KiB (Q=  8,T= 8) :     3.173 MB/s [    774.7 IOPS]\n",
        );
        assert_eq!(asked(&six[0]), (Way::Read, Some(false), None, Some(32), Some(1)));
        assert_eq!(asked(&six[1]), (Way::Write, Some(true), Some(4096), Some(8), Some(8)));
        let three = read_of(
            "  Sequential Write :   111.262 MB/s\n Random Read 512KB :    26.367 MB/s\n\
             Random Write 4KB (QD=32) :     0.789 MB/s [   192.6 IOPS]\n",
        );
        assert_eq!(asked(&three[0]), (Way::Write, Some(false), None, None, None));
        assert_eq!(asked(&three[1]), (Way::Read, Some(true), Some(512 << 10), None, None));
        assert_eq!(asked(&three[2]), (Way::Write, Some(true), Some(4096), Some(32), Some(1)));
    }

    // KDiskMark's MB are 2.4% larger than the MB that its text explains.
    #[test]
    fn another_programs_megabytes_are_noticed() {
        let result = read_of(
            "[Read]\nSequential 1 MiB (Q= 8, T= 1):   550.145 MB/s [    537.3 IOPS] < 14840.12 us>\n",
        );
        assert!(result[0].caveats.iter().any(|caveat| caveat.code == "units_disagree"));
        assert_eq!(result[0].load.block_bytes, Some(1 << 20));
        let result = read_of("   Random Read 4KB (QD=1) :     0.487 MB/s [   118.8 IOPS]\n");
        assert!(result[0].caveats.iter().all(|caveat| caveat.code != "units_disagree"));
    }

    // A result that was left out silently, or read as 0, would go unnoticed.
    #[test]
    fn what_cannot_be_read_is_named_and_what_was_not_run_is_left_out() {
        let line = |line: &str| read("c.txt", &format!("{HEAD}[Read]\n{line}\nDate: 1\n"));
        let error = line("  SEQ 1MiB (Q=  8, T= 1):  fast MB/s").unwrap_err();
        assert_eq!(error.line, Some(3));
        assert!(line("  SEQ 1MiB (Q=  8, T= 1):  5.0 MB/s [ x IOPS]").is_err());
        assert!(
            line("  SEQ 1MiB (Q=  8, T= 1):     0.000 MB/s [      0.0 IOPS] <     0.00 us>")
                .is_err()
        );
        let of_no_section =
            format!("{HEAD}  SEQ 1MiB (Q=  8, T= 1):  5.0 MB/s\n   Date: 2026/11/02\n");
        assert_eq!(read("c.txt", &of_no_section).unwrap_err().line, Some(2));
    }
}

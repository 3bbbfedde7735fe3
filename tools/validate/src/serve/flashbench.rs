//! Debian's flashbench on a served drive, beside what was published of the real one.
//!
//! Published figures: `sdcard-4m` is a model of the card in flashbench's README, `usb-8m` of the stick in
//! an article of 2013 about using flashbench.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail, ensure};

use super::server::Server;
use crate::binary::Binary;

/// How far a figure may lie from the published one.
pub const WITHIN: f64 = 0.15;

/// From the largest block to the smallest, a drive that keeps up with its open units loses less than this
/// factor, and one that does not loses more. (Published: 1.4 and 8.5; 1.6 and 5.5.)
pub const CLIFF: f64 = 3.0;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A row of `-a`: alignment in bytes; times before, across and after the boundary.
pub type Row = (u64, [f64; 3]);

/// A drive of which there are published tables.
#[derive(Debug)]
pub struct Case {
    pub model: &'static str,
    /// `--erasesize` of `-O`.
    pub erase_bytes: u64,
    /// `--blocksize` of `-O`.
    pub block_bytes: u64,
    /// `--open-au-nr`: the last that is fast, and the first that is not.
    pub open: [u64; 2],
    /// The published table of `-a --blocksize=1024`, in microseconds, from the largest alignment down.
    pub align: &'static [Row],
    /// The published table of `-O` in kB/s, from the largest block down, for both counts of units.
    pub rates: [&'static [f64]; 2],
    /// Between these two alignments lies the step of the erase block.
    pub erase_step: [u64; 2],
    /// Between these two lies that of the page.
    pub page_step: [u64; 2],
}

/// All of them.
pub const CASES: [Case; 2] = [
    Case {
        model: "sdcard-4m",
        erase_bytes: 4 * MIB,
        block_bytes: 256 * KIB,
        open: [2, 3],
        align: &[
            (128 * MIB, [735.0, 1080.0, 780.0]),
            (64 * MIB, [736.0, 1050.0, 763.0]),
            (32 * MIB, [722.0, 1040.0, 763.0]),
            (16 * MIB, [727.0, 1050.0, 772.0]),
            (8 * MIB, [724.0, 1040.0, 768.0]),
            (4 * MIB, [741.0, 1080.0, 788.0]),
            (2 * MIB, [745.0, 950.0, 811.0]),
            (MIB, [745.0, 945.0, 807.0]),
            (512 * KIB, [743.0, 936.0, 799.0]),
            (256 * KIB, [746.0, 948.0, 809.0]),
            (128 * KIB, [737.0, 935.0, 804.0]),
            (64 * KIB, [735.0, 925.0, 796.0]),
            (32 * KIB, [735.0, 925.0, 800.0]),
            (16 * KIB, [745.0, 911.0, 781.0]),
            (8 * KIB, [785.0, 808.0, 725.0]),
            (4 * KIB, [784.0, 788.0, 779.0]),
            (2 * KIB, [787.0, 793.0, 789.0]),
        ],
        rates: [
            &[8790.0, 7410.0, 6870.0, 6390.0, 6270.0],
            &[7750.0, 5030.0, 3240.0, 1760.0, 912.0],
        ],
        erase_step: [4 * MIB, 2 * MIB],
        page_step: [16 * KIB, 8 * KIB],
    },
    Case {
        model: "usb-8m",
        erase_bytes: 8 * MIB,
        block_bytes: 8 * KIB,
        open: [1, 2],
        align: &[
            (2048 * MIB, [501.0, 692.0, 495.0]),
            (1024 * MIB, [499.0, 685.0, 499.0]),
            (512 * MIB, [483.0, 679.0, 495.0]),
            (256 * MIB, [502.0, 684.0, 501.0]),
            (128 * MIB, [500.0, 680.0, 497.0]),
            (64 * MIB, [499.0, 679.0, 476.0]),
            (32 * MIB, [479.0, 675.0, 496.0]),
            (16 * MIB, [486.0, 667.0, 482.0]),
            (8 * MIB, [483.0, 660.0, 481.0]),
            (4 * MIB, [480.0, 552.0, 483.0]),
            (2 * MIB, [481.0, 555.0, 489.0]),
            (MIB, [486.0, 552.0, 483.0]),
            (512 * KIB, [484.0, 556.0, 486.0]),
            (256 * KIB, [485.0, 551.0, 488.0]),
            (128 * KIB, [484.0, 550.0, 485.0]),
            (64 * KIB, [481.0, 549.0, 482.0]),
            (32 * KIB, [482.0, 547.0, 481.0]),
            (16 * KIB, [484.0, 550.0, 481.0]),
            (8 * KIB, [482.0, 523.0, 480.0]),
            (4 * KIB, [484.0, 513.0, 480.0]),
            (2 * KIB, [483.0, 510.0, 483.0]),
        ],
        rates: [
            &[
                20400.0, 20300.0, 20300.0, 20000.0, 19700.0, 19200.0, 18700.0, 19800.0, 18700.0,
                16400.0, 12800.0,
            ],
            &[
                20400.0, 20300.0, 20400.0, 19900.0, 19600.0, 18900.0, 18300.0, 16400.0, 13200.0,
                8300.0, 3690.0,
            ],
        ],
        erase_step: [8 * MIB, 4 * MIB],
        page_step: [16 * KIB, 8 * KIB],
    },
];

/// Output of flashbench on a served drive.
#[derive(Debug)]
pub struct Made {
    pub case: &'static Case,
    /// All of it, with the commands.
    pub printed: String,
    /// The table of `-a`, in nanoseconds.
    pub align: Vec<Row>,
    /// In bytes per second, from the largest block down, for both counts of units.
    pub rates: [Vec<f64>; 2],
}

impl Made {
    /// The greatest distance of a figure of `-a` from the published one, as a share of it.
    pub fn align_off(&self) -> f64 {
        let published = self.case.align.iter();
        let off = |((_, want), (_, have)): (&Row, &Row)| {
            let offs = want.iter().zip(have).map(|(want, have)| (have / (want * 1e3) - 1.0).abs());
            offs.fold(0.0, f64::max)
        };
        published.zip(&self.align).map(off).fold(0.0, f64::max)
    }

    /// The same of `-O`, for one of both counts of units. Reported, not required: the largest blocks reach the
    /// drive in requests of 1 MiB.
    pub fn rates_off(&self, which: usize) -> f64 {
        let off = |(want, have): (&f64, &f64)| (have / (want * 1e3) - 1.0).abs();
        self.case.rates[which].iter().zip(&self.rates[which]).map(off).fold(0.0, f64::max)
    }

    /// Cost of crossing a boundary of this alignment, in nanoseconds.
    pub fn diff(&self, align: u64) -> f64 {
        let row = self.align.iter().find(|row| row.0 == align);
        row.map_or(f64::NAN, |(_, [pre, on, post])| on - (pre + post) / 2.0)
    }

    /// By how much `-O` falls from the largest block to the smallest.
    pub fn fall(&self, which: usize) -> f64 {
        match (self.rates[which].first(), self.rates[which].last()) {
            (Some(first), Some(last)) => first / last,
            _ => f64::NAN,
        }
    }

    /// True when it shows what was published: rows of `-a` within their bounds, both steps, and the cliff
    /// where the open units end.
    pub fn is_right(&self) -> bool {
        self.align_off() <= WITHIN
            && self.shows(self.case.erase_step)
            && self.shows(self.case.page_step)
            && self.has_cliff()
    }

    /// True when crossing gets cheaper by a fifth at least between these two alignments; published are
    /// two fifths and more.
    pub fn shows(&self, [above, below]: [u64; 2]) -> bool {
        self.diff(below) < 0.8 * self.diff(above)
    }

    /// True when small blocks collapse where the open units end, and not before.
    pub fn has_cliff(&self) -> bool {
        self.fall(0) < CLIFF && self.fall(1) > CLIFF
    }
}

/// Version of the flashbench package.
pub fn version() -> String {
    let query = ["-W", "-f", "${Version}", "flashbench"];
    let output = Command::new("dpkg-query").args(query).output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned());
    text.ok().filter(|v| !v.is_empty()).unwrap_or_else(|| "of unknown version".to_owned())
}

/// Runner of flashbench's tests: takes its options, the drive and the file for the points of `-s`, and returns
/// the output.
pub type Tester<'a> = &'a dyn Fn(&[String], &Path, &Path) -> Result<String>;

/// Runs all of a case's tests with `tester`, each on a fresh drive.
///
/// # Errors
/// Those of `tester`, and when it prints something else.
pub fn measure(
    case: &'static Case,
    binary: &Binary,
    tester: Tester<'_>,
    stop: &AtomicBool,
) -> Result<Made> {
    eprintln!("flashbench on {}", case.model);
    let mut printed = String::new();
    let mut on_fresh = |arguments: &[String]| -> Result<String> {
        ensure!(!stop.load(Ordering::Relaxed), "stopped");
        let server = Server::start(binary, case.model)?;
        let text = tester(arguments, server.file(), Path::new("/dev/null"))?;
        server.stop()?;
        printed += &format!("$ flashbench {} drive\n{text}\n", arguments.join(" "));
        Ok(text)
    };
    let align = on_fresh(&["-a".to_owned(), "--blocksize=1024".to_owned()])?;
    let mut rates = [Vec::new(), Vec::new()];
    for (open, rates) in case.open.iter().zip(&mut rates) {
        let arguments = [
            "-O".to_owned(),
            format!("--erasesize={}", case.erase_bytes),
            format!("--blocksize={}", case.block_bytes),
            format!("--open-au-nr={open}"),
        ];
        *rates = read_rates(&on_fresh(&arguments)?)?;
    }
    let made = Made { case, printed, align: read_align(&align)?, rates };
    ensure!(made.align.len() == case.align.len(), "flashbench -a printed another table");
    for (row, published) in made.align.iter().zip(case.align) {
        ensure!(row.0 == published.0, "flashbench -a printed a row of {}", row.0);
    }
    for (rates, published) in made.rates.iter().zip(&case.rates) {
        ensure!(rates.len() == published.len(), "flashbench -O printed another table");
    }
    Ok(made)
}

/// Runs Debian's flashbench, which opens what `--out` names for every test, and fails without.
///
/// # Errors
/// When it is missing or fails.
pub fn debians(arguments: &[String], drive: &Path, out: &Path) -> Result<String> {
    let output = Command::new("flashbench")
        .args(arguments)
        .arg(format!("--out={}", out.display()))
        .arg(drive)
        .stdin(Stdio::null())
        .output()
        .context("flashbench is missing; install it (apt-get install flashbench)")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("flashbench ended with {}: {}", output.status, said.trim());
    }
    Ok(text)
}

/// Rows of `align N pre T on T post T diff T`.
fn read_align(text: &str) -> Result<Vec<Row>> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["align", align, "pre", pre, "on", on, "post", post, ..] = words[..] else {
            return None;
        };
        Some((align.parse().ok()?, [time(pre)?, time(on)?, time(post)?]))
    };
    let rows =
        text.lines().map(|line| row(line).with_context(|| format!("{line:?}: no row of -a")));
    rows.collect()
}

/// `745µs`, `1.08ms`, `980ns`, in nanoseconds. The micro sign may be one of two, or be lost.
fn time(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.e".contains(c)))?;
    let (number, unit) = text.split_at(end);
    let scale = match unit {
        "ns" | "n" => 1.0,
        "µs" | "μs" | "us" | "µ" => 1e3,
        "ms" | "m" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * scale)
}

/// Rows of `4MiB 8.79M/s`; gives the rates in bytes per second.
fn read_rates(text: &str) -> Result<Vec<f64>> {
    let rate = |line: &str| {
        let (_, rate) = line.trim().split_once(char::is_whitespace)?;
        let rate = rate.trim();
        let kilo = rate.strip_suffix("K/s").map(|n| (n, 1e3));
        let mega = rate.strip_suffix("M/s").map(|n| (n, 1e6));
        let (number, scale) = kilo.or(mega).or(rate.strip_suffix("B/s").map(|n| (n, 1.0)))?;
        Some(number.parse::<f64>().ok()? * scale)
    };
    let rows =
        text.lines().map(|line| rate(line).with_context(|| format!("{line:?}: no row of -O")));
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of Debian's flashbench on the served models, as `scripts/validate serve` keeps them.
    const SDCARD: &str = include_str!("../../../../docs/validation/serve-sdcard-4m.txt");
    const USB: &str = include_str!("../../../../docs/validation/serve-usb-8m.txt");

    fn of(case: &'static Case, printed: &str) -> Made {
        let parts: Vec<String> = printed
            .split("$ flashbench ")
            .skip(1)
            .map(|part| part.split_once('\n').unwrap().1.trim().to_owned())
            .collect();
        let [align, fast, slow] = &parts[..] else { panic!("three tables") };
        let rates = [read_rates(fast).unwrap(), read_rates(slow).unwrap()];
        Made { case, printed: printed.to_owned(), align: read_align(align).unwrap(), rates }
    }

    // Breaks when flashbench's own tables are read wrongly, or a right one is judged wrong.
    #[test]
    fn kept_tables_show_what_was_published() {
        for (case, printed) in CASES.iter().zip([SDCARD, USB]) {
            let made = of(case, printed);
            assert_eq!(made.align.len(), case.align.len());
            let model = case.model;
            assert!(made.align_off() <= WITHIN, "{model}: {}", made.align_off());
            assert!(made.has_cliff(), "{model}: {:?}", made.rates);
            assert!(made.shows(case.erase_step), "{model}: {:?}", made.align);
            assert_eq!(made.is_right(), made.shows(case.page_step));
        }
    }

    // Breaks when a table without the step, or without the cliff, passes for the published one.
    #[test]
    fn a_table_without_its_step_or_its_cliff_is_wrong() {
        let made = || of(&CASES[0], SDCARD);
        let mut flat = made();
        flat.rates[1] = flat.rates[0].clone();
        assert!(!flat.is_right());
        let mut steep = made();
        steep.rates[0] = steep.rates[1].clone();
        assert!(!steep.is_right());
        let mut level = made();
        let high = level.diff(4 * MIB);
        for (align, [pre, on, post]) in &mut level.align {
            if *align == 2 * MIB {
                *on = (*pre + *post) / 2.0 + high;
            }
        }
        assert!(!level.is_right());
        let mut slow = made();
        slow.align[3].1[0] *= 1.3;
        assert!(!slow.is_right());
    }

    #[test]
    fn times_are_read_in_every_form_that_they_were_printed_in() {
        let read = ["745µs", "745μs", "745us", "1.08ms", "980ns", "1e+03µ", "1.234s"].map(time);
        assert_eq!(read.map(Option::unwrap), [745e3, 745e3, 745e3, 1.08e6, 980.0, 1e6, 1.234e9]);
        assert_eq!(time("fast"), None);
    }
}

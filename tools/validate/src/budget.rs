//! `budget`: what drivescope costs those who build it, test it and run it, against the bounds that were set.
//!
//! Sizes are exact, and one over its bound is a failure. Times are not: the machines that run this do not repeat them, so a
//! time over its aim is a warning.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use stats::median;

use crate::binary::Binary;
use crate::memory;
use crate::provenance::{self, Machine};
use crate::sheet;

/// Largest program, stripped as it is released.
const PROGRAM_BYTES_MAX: u64 = 20_000_000;
/// How often a start is timed.
const STARTS: usize = 21;
/// Runs in the store of which `runs list` is timed.
const RUNS: usize = 10_000;

/// Options of `budget`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Seconds that a cold release build took, instead of making one
    #[arg(long)]
    release_build_s: Option<f64>,
    /// Times of the stages of scripts/test [default: target/test-logs/times]
    #[arg(long)]
    stages: Option<PathBuf>,
    /// The program that is looked at [default: the one beside this]
    #[arg(long)]
    program: Option<PathBuf>,
    /// Print the table only
    #[arg(long)]
    no_page: bool,
}

/// One figure, and what it may be.
struct Row {
    what: String,
    value: f64,
    unit: &'static str,
    limit: Option<Limit>,
}

enum Limit {
    /// More than this fails.
    Bound(f64),
    /// More than this is a warning.
    Aim(f64),
}

impl Row {
    fn verdict(&self) -> &'static str {
        match self.limit {
            Some(Limit::Bound(most)) if self.value > most => "OVER ITS BOUND",
            Some(Limit::Aim(most)) if self.value > most => "over its aim",
            Some(_) => "met",
            None => "",
        }
    }

    fn cells(&self) -> Vec<String> {
        let show = |value: f64| match self.unit {
            "bytes" => format!("{value:.0}"),
            "s" if value >= 10.0 => format!("{value:.0} s"),
            unit => format!("{value:.1} {unit}"),
        };
        let limit = match self.limit {
            Some(Limit::Bound(most)) => format!("at most {}", show(most)),
            Some(Limit::Aim(most)) => format!("aim {}", show(most)),
            None => String::new(),
        };
        vec![self.what.clone(), show(self.value), limit, self.verdict().to_owned()]
    }
}

/// Measures, prints and writes the table; false when something is over its bound.
///
/// # Errors
/// When something cannot be measured.
pub fn run(options: &Options) -> Result<bool> {
    let load = provenance::load();
    let program = match &options.program {
        Some(path) => path.clone(),
        None => Binary::find()?.path().to_owned(),
    };
    let work = sheet::work_dir()?.join("budget");
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(&work).with_context(|| format!("{}: cannot be made", work.display()))?;
    let mut rows = Vec::new();
    let mut row = |what: &str, value: f64, unit, limit| {
        let row = Row { what: what.to_owned(), value, unit, limit };
        eprintln!("{}", row.cells().join("  "));
        rows.push(row);
    };

    let build_s = match options.release_build_s {
        Some(seconds) => seconds,
        None => cold_build(&work)?,
    };
    row("cold release build", build_s, "s", None);
    let first_s = first_result(&program, &work)?;
    row("the README's first command after it", first_s, "s", None);
    row(
        "cold `cargo run --release` to the first result",
        build_s + first_s,
        "s",
        Some(Limit::Aim(240.0)),
    );
    let size = fs::metadata(&program).with_context(|| program.display().to_string())?.len();
    row("program", size as f64, "bytes", Some(Limit::Bound(PROGRAM_BYTES_MAX as f64)));
    row("start: `--help`", start_ms(&program, &["--help"], &work)?, "ms", Some(Limit::Aim(20.0)));
    let store = store(&program, &work)?;
    row(
        "start: `runs list` of 10,000 runs",
        start_ms(&program, &["runs", "list"], &store)?,
        "ms",
        Some(Limit::Aim(200.0)),
    );
    for (what, arguments) in JOBS {
        let mut command = Command::new(&program);
        command.args(arguments.split(' ')).env("DRIVESCOPE_RUNS_DIR", work.join("jobs"));
        command.stderr(Stdio::null());
        let ran = memory::run(command).with_context(|| format!("drivescope {arguments}"))?;
        row(
            &format!("peak memory: {what}"),
            ran.peak_bytes as f64 / f64::from(1 << 20),
            "MiB",
            None,
        );
    }
    let stages = options.stages.clone().unwrap_or_else(|| "target/test-logs/times".into());
    let stages = stages_of(&stages)?;
    for (stage, seconds) in &stages {
        row(&format!("scripts/test: {stage}"), *seconds, "s", None);
    }
    if !stages.is_empty() {
        // A stage that runs beside another one has no time of its own.
        let all =
            stages.iter().filter(|(stage, _)| !stage.contains("beside")).map(|(_, s)| s).sum();
        row("scripts/test, all stages", all, "s", Some(Limit::Aim(840.0)));
    }

    let over = rows.iter().filter(|row| row.verdict() == "OVER ITS BOUND").count();
    let table: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
    let table = sheet::table(1, &["what", "measured", "limit", ""], &table);
    print!("{table}");
    if !options.no_page {
        let out = sheet::table_dir(None, false)?;
        let raw = rows.iter().fold("what,value,unit\n".to_owned(), |mut raw, row| {
            let _ = writeln!(raw, "\"{}\",{},{}", row.what, row.value, row.unit);
            raw
        });
        fs::write(out.join("budget.csv"), raw)?;
        let commit = provenance::commit()?;
        let more = [("Load average at the start", load)];
        let head = sheet::provenance(&commit, &Machine::here(), "budget.csv", &more);
        sheet::write(&out.join("budget.md"), &format!("# What drivescope costs\n\n{head}{table}"))?;
    }
    fs::remove_dir_all(&work)?;
    Ok(over == 0)
}

/// Common commands, on drives whose cost is the same everywhere.
const JOBS: [(&str, &str); 4] = [
    ("mark", "mark sim:tlc-pslc --quick --no-progress"),
    ("probe", "probe sim:usb-8m --no-progress"),
    ("pts", "pts throughput sim:enterprise-28op?capacity=4GiB --no-progress"),
    ("survey", "survey sim:usb-8m --no-progress"),
];

/// Seconds of a release build in an empty directory; what it builds from is fetched before.
fn cold_build(work: &Path) -> Result<f64> {
    let cargo = |arguments: &[&str]| -> Result<()> {
        let status = Command::new("cargo").args(arguments).stdin(Stdio::null()).status()?;
        ensure!(status.success(), "cargo {}: {status}", arguments.join(" "));
        Ok(())
    };
    cargo(&["fetch", "--locked"])?;
    let target = work.join("target");
    let begun = Instant::now();
    let target = target.to_string_lossy().into_owned();
    cargo(&["build", "--release", "--locked", "--quiet", "--target-dir", &target])?;
    Ok(begun.elapsed().as_secs_f64())
}

fn first_result(program: &Path, work: &Path) -> Result<f64> {
    let report = work.join("report.html");
    let begun = Instant::now();
    let status = Command::new(program)
        .args(["survey", "--report"])
        .arg(&report)
        .env("DRIVESCOPE_RUNS_DIR", work.join("first"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    // 1 says that something was found wanting: a result all the same.
    ensure!(matches!(status.code(), Some(0 | 1)) && report.is_file(), "survey: {status}");
    Ok(begun.elapsed().as_secs_f64())
}

/// Median of the time from start to end, in milliseconds, once all is in memory.
fn start_ms(program: &Path, arguments: &[&str], runs: &Path) -> Result<f64> {
    let once = || -> Result<f64> {
        let begun = Instant::now();
        let output = Command::new(program)
            .args(arguments)
            .env("DRIVESCOPE_RUNS_DIR", runs)
            .stdin(Stdio::null())
            .output()?;
        let took = begun.elapsed().as_secs_f64() * 1e3;
        ensure!(output.status.success(), "drivescope {}: {}", arguments.join(" "), output.status);
        Ok(took)
    };
    once()?;
    let took = (0..STARTS).map(|_| once()).collect::<Result<Vec<f64>>>()?;
    median(&took).context("nothing was timed")
}

/// A store of [`RUNS`] runs: one that was made, again and again under names of the same form.
fn store(program: &Path, work: &Path) -> Result<PathBuf> {
    let store = work.join("store");
    let status = Command::new(program)
        .args(["mark", "sim:hdd-7200", "--quick", "--no-progress"])
        .env("DRIVESCOPE_RUNS_DIR", &store)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(matches!(status.code(), Some(0 | 1)), "mark: {status}");
    let first = fs::read_dir(&store)?.filter_map(Result::ok).find(|entry| entry.path().is_dir());
    let Some(first) = first else { bail!("{}: no run was recorded", store.display()) };
    let id = first.file_name().to_string_lossy().into_owned();
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(first.path())? {
        let entry = entry?;
        files.insert(entry.file_name(), fs::read(entry.path())?);
    }
    let (when, _) = id.split_once('-').context("a run's name has no seed")?;
    for number in 1..RUNS {
        let name = format!("{when}-{number:08x}");
        let dir = store.join(&name);
        fs::create_dir(&dir)?;
        for (file, content) in &files {
            fs::write(dir.join(file), renamed(content, id.as_bytes(), name.as_bytes()))?;
        }
    }
    Ok(store)
}

/// `content` with `new`, as long as `old`, in its place.
fn renamed(content: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut content = content.to_vec();
    let mut at = 0;
    while let Some(found) = content[at..].windows(old.len()).position(|window| window == old) {
        at += found;
        content[at..at + old.len()].copy_from_slice(new);
        at += old.len();
    }
    content
}

/// Stages and their seconds, as scripts/test writes them; none where it did not run.
fn stages_of(path: &Path) -> Result<Vec<(String, f64)>> {
    let Ok(text) = fs::read_to_string(path) else { return Ok(Vec::new()) };
    let stage = |line: &str| {
        let (seconds, name) = line.trim().split_once(" s  ")?;
        Some((name.to_owned(), seconds.parse().ok()?))
    };
    let stages = text.lines().map(stage).collect::<Option<Vec<_>>>();
    stages.with_context(|| format!("{}: is not what scripts/test writes", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    // A program over its bound has to fail the run, and a slow machine must not.
    #[test]
    fn sizes_fail_and_times_warn() {
        let row = |value, limit| Row { what: String::new(), value, unit: "s", limit };
        assert_eq!(row(2.0, Some(Limit::Bound(1.0))).verdict(), "OVER ITS BOUND");
        assert_eq!(row(2.0, Some(Limit::Aim(1.0))).verdict(), "over its aim");
        assert_eq!(row(1.0, Some(Limit::Bound(1.0))).verdict(), "met");
        assert_eq!(row(1.0, None).verdict(), "");
    }

    #[test]
    fn a_run_under_another_name_has_that_name_everywhere() {
        assert_eq!(renamed(b"<ab> ab", b"ab", b"xy"), b"<xy> xy");
        assert_eq!(renamed(b"nothing", b"ab", b"xy"), b"nothing");
    }
}

//! `fuzz`: every reader of traces under libFuzzer, until its coverage stops growing.
//!
//! The minute that the tests give each reader finds what breaks at once. Here each gets at least ten million inputs
//! when its format is binary and a million when it is text, in rounds of a fifth of that, and more rounds while a
//! round still reaches code that none before it did. What is found stays in the directory of `scripts/fuzz`, so a later
//! run, and the tests, begin where this one ended.

mod table;

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::provenance::{self, Machine};
use crate::sheet;

/// Inputs that the table promises at least for a binary format.
const BINARY_MIN: u64 = 10_000_000;
/// And for one of text.
const TEXT_MIN: u64 = 1_000_000;
/// Targets whose format is binary.
const BINARY: [&str; 3] = ["drivescope", "blktrace", "vscsi"];
/// Rounds in which the least number of inputs is made.
const ROUNDS: u64 = 5;
/// Rounds after which a target is left that still grows; the table says so.
const ROUNDS_MAX: u64 = 20;

/// Options of `fuzz`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Inputs for a reader of a binary format
    #[arg(long, value_name = "N", default_value_t = BINARY_MIN)]
    binary: u64,
    /// Inputs for a reader of text
    #[arg(long, value_name = "N", default_value_t = TEXT_MIN)]
    text: u64,
    /// Only this target; may be given several times
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,
    /// Output directory of the table [default: docs/validation; target/validate for trials of fewer inputs]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Results of fuzzing one target.
#[derive(Clone, Debug, Default)]
struct Fuzzed {
    target: String,
    /// Inputs that were tried.
    executed: u64,
    seconds: f64,
    /// Edges between basic blocks that were reached: at the end, and how many of them in the last round alone.
    edges: u64,
    edges_of_last_round: u64,
    /// Inputs that are kept because each reaches something of its own.
    kept: u64,
    peak_mb: u64,
    /// Cause of the process's death.
    fault: Option<String>,
}

/// Figures that libFuzzer printed at the end of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Said {
    executed: u64,
    edges: u64,
    kept: u64,
    peak_mb: u64,
}

/// Fuzzes, and writes the table; false when a fault was found.
///
/// # Errors
/// When the targets cannot be built or run, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let program = built()?;
    let all = targets(&program)?;
    let wanted = if options.target.is_empty() { all.clone() } else { options.target.clone() };
    if let Some(unknown) = wanted.iter().find(|name| !all.contains(name)) {
        bail!("{unknown} is none of {}", all.join(", "));
    }
    let trial = options.binary < BINARY_MIN || options.text < TEXT_MIN || wanted.len() < all.len();
    let out = sheet::table_dir(options.out.as_deref(), trial)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let queue = Mutex::new(wanted.into_iter().collect::<VecDeque<_>>());
    let done = Mutex::new(Vec::new());
    let work = || -> Result<()> {
        loop {
            let next = queue.lock().map_err(|_| anyhow::anyhow!("a thread died"))?.pop_front();
            let Some(target) = next else {
                return Ok(());
            };
            let fuzzed = fuzz(&program, &target, options)?;
            eprintln!("{}", table::line(&fuzzed));
            done.lock().map_err(|_| anyhow::anyhow!("a thread died"))?.push(fuzzed);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a thread died")))
        })
    })?;
    let mut done = done.into_inner().map_err(|_| anyhow::anyhow!("a thread died"))?;
    done.sort_by_key(|fuzzed| all.iter().position(|name| *name == fuzzed.target));
    let path = out.join("fuzz.csv");
    fs::write(&path, table::csv(&done))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let more = [("Load average at the start", load)];
    let head = sheet::provenance(&commit, &Machine::here(), "fuzz.csv", &more);
    sheet::write(&out.join("fuzz.md"), &table::text(&head, &done))?;
    Ok(done.iter().all(|fuzzed| fuzzed.fault.is_none()))
}

/// Builds the targets, and says where the program is.
fn built() -> Result<PathBuf> {
    let output = Command::new("scripts/fuzz")
        .arg("build")
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start scripts/fuzz")?;
    let path = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    if !output.status.success() || !path.is_file() {
        bail!("the fuzz targets cannot be built; do Rust and g++ work?");
    }
    Ok(path)
}

fn targets(program: &Path) -> Result<Vec<String>> {
    let output = Command::new(program)
        .env("DRIVESCOPE_FUZZ", "list")
        .output()
        .context("the fuzz targets")?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// One target, round after round.
fn fuzz(program: &Path, target: &str, options: &Options) -> Result<Fuzzed> {
    let least = if BINARY.contains(&target) { options.binary } else { options.text };
    let mut fuzzed = Fuzzed { target: target.to_owned(), ..Fuzzed::default() };
    let begun = Instant::now();
    for round in 0..ROUNDS_MAX {
        let (said, fault) = one_round(program, target, least.div_ceil(ROUNDS))?;
        fuzzed.executed += said.executed;
        fuzzed.edges_of_last_round = said.edges.saturating_sub(fuzzed.edges);
        fuzzed.edges = fuzzed.edges.max(said.edges);
        fuzzed.kept = said.kept;
        fuzzed.peak_mb = fuzzed.peak_mb.max(said.peak_mb);
        fuzzed.fault = fault;
        let stands_still = round > 0 && fuzzed.edges_of_last_round == 0;
        if fuzzed.fault.is_some() || (fuzzed.executed >= least && stands_still) {
            break;
        }
    }
    fuzzed.seconds = begun.elapsed().as_secs_f64();
    Ok(fuzzed)
}

fn one_round(program: &Path, target: &str, runs: u64) -> Result<(Said, Option<String>)> {
    let place =
        program.ancestors().nth(4).context("the program is not where scripts/fuzz builds it")?;
    let (corpus, faults) = (place.join("corpus").join(target), place.join("faults"));
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&faults)?;
    let kept = Path::new("crates/trace/corpus").join(target);
    let output = Command::new(program)
        .env("DRIVESCOPE_FUZZ", target)
        .args(["-rss_limit_mb=512", "-timeout=10", "-print_final_stats=1"])
        .arg(format!("-runs={runs}"))
        .arg(format!("-artifact_prefix={}/{target}-", faults.display()))
        .arg(&corpus)
        .args(kept.is_dir().then_some(&kept))
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("the fuzz target {target}"))?;
    let log = String::from_utf8_lossy(&output.stderr);
    let fault = (!output.status.success()).then(|| last_words(&log));
    Ok((said(&log), fault))
}

/// Parses the figures at the end of libFuzzer's log.
fn said(log: &str) -> Said {
    let number = |text: &str| text.split(['/', ' ']).next().and_then(|text| text.parse().ok());
    let last = |before: &str| {
        log.lines()
            .rev()
            .find_map(|line| number(line.split_once(before)?.1.trim_start()))
            .unwrap_or(0)
    };
    Said {
        executed: last("stat::number_of_executed_units:"),
        edges: last(" cov: "),
        kept: last(" corp: "),
        peak_mb: last("stat::peak_rss_mb:"),
    }
}

/// Cause of a process's death, in a line.
fn last_words(log: &str) -> String {
    let mut lines = log.lines().skip_while(|line| !line.contains("panicked at")).take(2);
    let mut words = String::new();
    for line in lines.by_ref() {
        let _ = write!(words, "{} ", line.trim());
    }
    if words.is_empty() {
        let error = log.lines().rev().find(|line| line.contains("ERROR:"));
        words.push_str(error.unwrap_or("it ended without a word"));
    }
    words.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    // A figure taken from another line would be another figure under the table's name.
    #[test]
    fn what_libfuzzer_says_is_read_from_its_last_lines() {
        let log = "#2\tINITED cov: 70 ft: 71 corp: 1/1b exec/s: 0 rss: 30Mb\n\
                   #300814\tDONE   cov: 771 ft: 3500 corp: 812/40Kb lim: 4096 exec/s: 14324 rss: 33Mb\n\
                   Done 300814 runs in 21 second(s)\n\
                   stat::number_of_executed_units: 300814\n\
                   stat::peak_rss_mb:              33\n";
        let expected = Said { executed: 300_814, edges: 771, kept: 812, peak_mb: 33 };
        assert_eq!(said(log), expected);
        let died = "thread 'x' panicked at a.rs:1:2:\nattempt to add with overflow\nstack\n==1== ERROR: libFuzzer: x";
        assert_eq!(
            last_words(died),
            "thread 'x' panicked at a.rs:1:2: attempt to add with overflow"
        );
        assert_eq!(
            last_words("==1== ERROR: libFuzzer: timeout"),
            "==1== ERROR: libFuzzer: timeout"
        );
    }
}

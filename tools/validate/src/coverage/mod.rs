//! `coverage`: how often `mark`'s intervals hold the truth, and how often its verdicts are wrong, on a
//! virtual disk whose truth can be measured to any precision.
//!
//! The disk is stationary: nothing about it changes with time but its own noise and what was last
//! read or written. So an interval ought to hold the truth in 95% of the seeds, and a verdict of two
//! modes, of drift, or of runs that do not repeat is a false alarm.

mod score;
mod table;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::Value;

use crate::binary::{Binary, number, text};
use crate::provenance::{self, Machine};
use crate::sheet;
use crate::threads::on_threads;
use score::{Answer, Score};

/// Seeds that the table promises at least.
const SEEDS_MIN: u64 = 300;
/// The model: the one whose figures are checked against published ones.
const TARGET: &str = "sim:hdd-7200";
/// Runs of the mark whose medians count as true.
const TRUE_RUNS: u32 = 4000;
/// Length of the single run that is the long-run truth.
const LONG_RUN: &str = "1h";
/// Far from the seeds that are scored.
const TRUTH_SEED: u64 = 1 << 40;

/// Options of `coverage`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Count of seeds
    #[arg(long, default_value_t = SEEDS_MIN, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    /// Output directory of the table [default: docs/validation; target/validate for trials of under 300 seeds]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// How a mark is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Protocol {
    name: &'static str,
    duration: &'static str,
    warm_up: &'static str,
    pause: &'static str,
    runs: u32,
}

/// The lengths of `--quick` and the default ones, with the fewest runs that have an interval; and 20
/// runs, the fewest at which one mode is ever claimed.
const PROTOCOLS: [Protocol; 3] = [
    Protocol { name: "quick-6", duration: "500ms", warm_up: "100ms", pause: "50ms", runs: 6 },
    Protocol { name: "default-6", duration: "3s", warm_up: "1s", pause: "200ms", runs: 6 },
    Protocol { name: "default-20", duration: "3s", warm_up: "1s", pause: "200ms", runs: 20 },
];

impl Protocol {
    fn arguments(&self, seed: u64, runs: u32, duration: &str) -> Vec<String> {
        let (seed, runs) = (seed.to_string(), runs.to_string());
        ["mark", TARGET, "--size", "1GiB", "--seed", &seed, "--runs", &runs, "--duration", duration]
            .into_iter()
            .chain(["--warm-up", self.warm_up, "--pause", self.pause])
            .map(str::to_owned)
            .collect()
    }
}

/// True values of one test, in MB/s.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Truth {
    /// Median of very many runs of the protocol's length.
    of_runs: f64,
    /// Throughput of one very long run.
    long_run: f64,
}

/// Scores all seeds and writes the table; false when something falls short.
///
/// # Errors
/// When drivescope cannot be run, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let binary = Binary::find()?;
    let dir = sheet::table_dir(options.out.as_deref(), options.seeds < SEEDS_MIN)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let mut raw = "protocol,seed,test,low,median,high,reached,pattern,steady,repeatable,unhindered,undisturbed,two_modes\n".to_owned();
    let mut scores = Vec::new();
    eprintln!("measuring one run of {LONG_RUN}");
    let long_run = medians(&binary, &PROTOCOLS[1].arguments(TRUTH_SEED, 1, LONG_RUN))?;
    for protocol in PROTOCOLS {
        eprintln!("{}: measuring {TRUE_RUNS} runs", protocol.name);
        let truths = truths(&binary, protocol, &long_run)?;
        eprintln!("{}: scoring {} seeds", protocol.name, options.seeds);
        let seeds = options.first_seed..options.first_seed + options.seeds;
        let answers = answers(&binary, protocol, seeds)?;
        for (seed, answers) in &answers {
            for answer in answers {
                let _ = writeln!(raw, "{},{seed},{}", protocol.name, answer.line());
            }
        }
        scores.extend(Score::of(protocol.name, &truths, answers.values().flatten()));
    }
    let path = dir.join("coverage.csv");
    fs::write(&path, raw).with_context(|| format!("{}: cannot be written", path.display()))?;
    let head = sheet::provenance(
        &commit,
        &Machine::here(),
        "coverage.csv",
        &[
            ("Seeds", format!("{}–{}", options.first_seed, options.first_seed + options.seeds - 1)),
            ("Load average at the start", load),
        ],
    );
    sheet::write(&dir.join("coverage.md"), &table::text(&head, &scores))?;
    Ok(scores.iter().all(|score| score.shortfalls().is_empty()))
}

/// The truth of each test, by name.
fn truths(
    binary: &Binary,
    protocol: Protocol,
    long_run: &BTreeMap<String, f64>,
) -> Result<BTreeMap<String, Truth>> {
    let arguments = protocol.arguments(TRUTH_SEED, TRUE_RUNS, protocol.duration);
    let truth = |(name, of_runs): (String, f64)| {
        let long_run = *long_run.get(&name).context("a test is missing from the long run")?;
        Ok((name, Truth { of_runs, long_run }))
    };
    medians(binary, &arguments)?.into_iter().map(truth).collect()
}

/// The median of each test of a mark, by name, in MB/s.
fn medians(binary: &Binary, arguments: &[String]) -> Result<BTreeMap<String, f64>> {
    let median = |test: &Value| Ok((Answer::name(test)?, number(test, "/mb_s/median")?));
    tests(&binary.body(arguments)?)?.iter().map(median).collect()
}

/// Runs the benchmark with each seed, on as many threads as there are CPUs, which does not affect virtual time.
fn answers(
    binary: &Binary,
    protocol: Protocol,
    seeds: std::ops::Range<u64>,
) -> Result<BTreeMap<u64, Vec<Answer>>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let seeds: Vec<u64> = seeds.collect();
    let found = on_threads(threads, seeds.len(), &AtomicBool::new(false), |at| {
        let body = binary.body(&protocol.arguments(seeds[at], protocol.runs, protocol.duration))?;
        tests(&body)?.iter().map(|t| answer(&body, t)).collect::<Result<Vec<Answer>>>()
    })?;
    Ok(seeds.into_iter().zip(found).collect())
}

fn tests(body: &Value) -> Result<&Vec<Value>> {
    body.pointer("/tests").and_then(Value::as_array).context("the body has no tests")
}

/// Reads what `body` says of one of its tests.
fn answer(body: &Value, test: &Value) -> Result<Answer> {
    let name = Answer::name(test)?;
    let verdict = |proof: &&str| Ok(text(test, &format!("/proofs/{proof}/verdict"))?.to_owned());
    let proofs = score::PROOFS.iter().map(verdict).collect::<Result<Vec<String>>>()?;
    let caveats = body.pointer("/caveats").and_then(Value::as_array).context("no caveats")?;
    // One caveat may concern several tests, named one after the other.
    let concerns = |caveat: &Value| {
        caveat["code"] == "two_modes"
            && caveat["subject"].as_str().is_some_and(|s| s.split(", ").any(|one| one == name))
    };
    let two_modes = caveats.iter().any(concerns);
    let end = |pointer| test.pointer(pointer).and_then(Value::as_f64);
    Ok(Answer {
        median: number(test, "/mb_s/median")?,
        interval: end("/mb_s/low").zip(end("/mb_s/high")),
        proofs,
        two_modes,
        test: name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn body() -> Value {
        let proofs: serde_json::Map<String, Value> = score::PROOFS
            .iter()
            .map(|p| ((*p).to_owned(), json!({ "verdict": "proven", "reason": "" })))
            .collect();
        json!({
            "tests": [{
                "name": "RND4K Q1T1", "op": "read", "proofs": proofs,
                "mb_s": { "median": 0.6, "low": 0.5, "high": 0.7 },
            }],
            "caveats": [{ "code": "two_modes", "subject": "SEQ1M Q1T1 read, RND4K Q1T1 read" }],
        })
    }

    // A caveat that two tests share must count for both; one of another test for none.
    #[test]
    fn a_shared_caveat_counts_for_each_test_it_names() {
        let mut body = body();
        let read = |body: &Value| answer(body, &body["tests"][0]).unwrap();
        assert!(read(&body).two_modes);
        assert_eq!(read(&body).interval, Some((0.5, 0.7)));
        body["caveats"][0]["subject"] = json!("SEQ1M Q1T1 read, RND4K Q1T1 write");
        assert!(!read(&body).two_modes);
        body["caveats"][0] = json!({ "code": "drift", "subject": "RND4K Q1T1 read" });
        assert!(!read(&body).two_modes);
        body["tests"][0]["mb_s"]["low"] = Value::Null;
        assert_eq!(read(&body).interval, None);
    }
}

//! `kills`: a run of several steps is killed at random moments of its life, from the first instruction
//! to the last, and has to go on from what it had finished.
//!
//! Nothing is injected here: the process gets SIGKILL, as from the kernel when memory runs out, and the
//! runs directory is what it left. (A loss of power, which can also undo what was not yet synced, is
//! what the tests of the record simulate.) On a virtual drive the result must then be, to the bit, that of
//! a run that was never killed; on a directory, the steps that were finished must stay as they were and
//! the others be added, each once.

mod life;
mod table;
mod trial;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::binary::Binary;
use crate::provenance::{self, Machine};
use crate::sheet;
use life::Life;
use trial::{Bench, Trial};

/// Kills that the table promises at least.
const KILLS_MIN: u32 = 200;
/// Runs of each of the two tests, read and written.
const RUNS: u32 = 6;
/// Steps of the run that is killed.
const STEPS: u64 = 4 * RUNS as u64;
/// One in this many runs is killed once more while it is resumed.
const AGAIN: u64 = 4;

/// Options of `kills`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Count of kills
    #[arg(long, default_value_t = KILLS_MIN, value_parser = clap::value_parser!(u32).range(2..=1_000_000))]
    kills: u32,
    /// Seed of the moments [default: a fresh one, which is recorded]
    #[arg(long)]
    seed: Option<u64>,
    /// Output directory of the table [default: docs/validation; target/validate for trials of under 200 kills]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Target of the run that is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Virtual,
    Directory,
}

impl Target {
    fn word(self) -> &'static str {
        match self {
            Target::Virtual => "virtual drive",
            Target::Directory => "directory",
        }
    }

    fn arguments(self, bench: &Bench) -> Vec<String> {
        let dir = bench.dir.to_string_lossy().into_owned();
        let (target, size, duration, warm_up) = match self {
            Target::Virtual => ("sim:hdd-7200".to_owned(), "1GiB", "500ms", "100ms"),
            Target::Directory => (dir, "4MiB", "20ms", "2ms"),
        };
        let runs = RUNS.to_string();
        let tests = "SEQ64KQ1T1,RND4KQ4T1";
        ["mark", &target, "--tests", tests, "--runs", &runs, "--size", size, "--seed", "7"]
            .into_iter()
            .chain(["--duration", duration, "--warm-up", warm_up, "--pause", "1ms"])
            .chain(["--json", "--no-progress"])
            .map(str::to_owned)
            .collect()
    }
}

/// Kills and resumes, and writes the table; false when a run was lost.
///
/// # Errors
/// When drivescope cannot be run, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let binary = Binary::find()?;
    let out = sheet::table_dir(options.out.as_deref(), options.kills < KILLS_MIN)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let seed = options.seed.unwrap_or_else(provenance::fresh_seed);
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut raw = format!("{}\n", Trial::HEAD);
    let mut trials = Vec::new();
    for target in [Target::Virtual, Target::Directory] {
        let bench = Bench::new(&sheet::work_dir()?, binary.clone())?;
        let arguments = target.arguments(&bench);
        let (life, reference) = Life::measure(&bench, &arguments)?;
        eprintln!("{}: a run takes {:.0?}, then come the kills", target.word(), life.whole);
        let kills = match target {
            Target::Virtual => options.kills / 2,
            Target::Directory => options.kills - options.kills / 2,
        };
        for number in 0..kills {
            let trial = trial::make(&bench, target, &arguments, &life, &reference, &mut dice)?;
            if let Some(fault) = &trial.fault {
                eprintln!("kill {number} on a {}, {}: {fault}", target.word(), trial.moment);
            }
            let _ = writeln!(raw, "{}", trial.line());
            trials.push(trial);
        }
    }
    let path = out.join("kills.csv");
    fs::write(&path, raw).with_context(|| format!("{}: cannot be written", path.display()))?;
    let more = [("Seed of the moments", seed.to_string()), ("Load average at the start", load)];
    let head = sheet::provenance(&commit, &Machine::here(), "kills.csv", &more);
    sheet::write(&out.join("kills.md"), &table::text(&head, &trials))?;
    Ok(trials.iter().all(|trial| trial.fault.is_none()))
}

/// A number below `bound`. The bias of the remainder is one in 2^40 for bounds of microseconds.
fn below(dice: &mut Xoshiro256PlusPlus, bound: u64) -> u64 {
    dice.next_u64() % bound.max(1)
}

/// The binary with these arguments, recording in the bench's runs directory.
fn drivescope(bench: &Bench, arguments: &[String]) -> Command {
    let mut command = bench.binary.command();
    command.args(arguments).env("DRIVESCOPE_RUNS_DIR", &bench.runs);
    command
}

/// Returns the text after `"body":` in a printed document, unparsed: parsing could hide a difference.
fn body_text(json: &str) -> Result<&str> {
    let split = json.split_once("\"body\":");
    let (_, body) = split.context("a document has no body")?;
    ensure!(!body.is_empty(), "a document's body is empty");
    Ok(body)
}

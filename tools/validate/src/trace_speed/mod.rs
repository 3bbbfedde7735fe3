//! `trace-speed`: a recording of a million and a half events or more, from its files to phases with percentiles, beside
//! blkparse and btt.
//!
//! Both ways begin with the files that blktrace writes, one for each CPU, in the page cache. Debian's is `blkparse -d`
//! followed by btt, ours `trace analyze --only phases`. Rounds are interleaved, and every second one runs its arms
//! backwards ([`order::abba`]), so that whatever the machine does meanwhile touches both alike.

mod kernel;
mod recording;
mod table;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::binary::Binary;
use crate::provenance::{self, Machine};
use crate::stop::stop_flag;
use crate::{order, sheet};
use recording::Recording;

/// Rounds that the table promises at least.
const ROUNDS_MIN: u32 = 12;
/// Events that a recording has at least.
const EVENTS_MIN: u64 = 1_500_000;

/// Options of `trace-speed`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Rounds of each recording; an even count closes the last ABBA
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Events of each recording
    #[arg(long, default_value_t = EVENTS_MIN, value_parser = clap::value_parser!(u64).range(1000..=20_000_000))]
    events: u64,
    /// Only the recording that was made up, which takes no root
    #[arg(long)]
    made_only: bool,
    /// Seed of the orders [default: a fresh one, which is recorded]
    #[arg(long)]
    seed: Option<u64>,
    /// Output directory of the table [default: docs/validation; target/validate for trials: under 12 rounds, fewer events or
    /// --made-only]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Work that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arm {
    /// blkparse, then btt, each with its time.
    Debian,
    /// Files to phases.
    Phases,
    /// Files to everything that an analysis reports.
    Everything,
    /// Files to our own container.
    Parquet,
    /// Files to phases and exact reuse distances.
    Reuse,
}

impl Arm {
    const ALL: [Arm; 5] = [Arm::Debian, Arm::Phases, Arm::Everything, Arm::Parquet, Arm::Reuse];
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arm::Debian => "debian",
            Arm::Phases => "phases",
            Arm::Everything => "everything",
            Arm::Parquet => "parquet",
            Arm::Reuse => "reuse",
        })
    }
}

/// One run within a round.
#[derive(Clone, Debug)]
struct Row {
    recording: usize,
    round: u32,
    arm: Arm,
    /// Seconds from start to end; of Debian's, those of blkparse.
    seconds: f64,
    /// Seconds of btt; 0 for others.
    btt_seconds: f64,
}

/// Runs the rounds and writes the table; false when the speed that is promised is not reached.
///
/// # Errors
/// When something is missing or fails.
pub fn run(options: &Options) -> Result<bool> {
    let trial = options.rounds < ROUNDS_MIN || options.events < EVENTS_MIN || options.made_only;
    let dir = sheet::table_dir(options.out.as_deref(), trial)?;
    let work = sheet::work_dir()?.join("trace-speed");
    std::fs::create_dir_all(&work)
        .with_context(|| format!("{}: cannot be made", work.display()))?;
    let stop = stop_flag()?;
    let binary = Binary::find()?;
    let mut recordings = vec![Recording::made(&work, options.events)?];
    if !options.made_only {
        recordings.push(Recording::of_kernel(&work, options.events, &stop)?);
    }
    let seed = options.seed.unwrap_or_else(provenance::fresh_seed);
    let load = provenance::load();
    let mut rows = Vec::new();
    for round in 0..options.rounds {
        for (nth, recording) in recordings.iter().enumerate() {
            for arm in order::abba(Arm::ALL.to_vec(), &recording.name, seed, round) {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    bail!("stopped");
                }
                let (seconds, btt_seconds) = time(arm, recording, &binary, &work)?;
                eprintln!(
                    "round {}, {}, {arm}: {seconds:.3} s {btt_seconds:.3} s",
                    round + 1,
                    recording.name
                );
                rows.push(Row { recording: nth, round, arm, seconds, btt_seconds });
            }
        }
    }
    let agreed = recordings
        .iter()
        .map(|recording| recording.agreement(&binary, &work))
        .collect::<Result<Vec<_>>>()?;
    let findings = table::findings(&recordings, &rows);
    let csv = "trace-speed.csv";
    table::write_rows(&dir.join(csv), &recordings, &rows)?;
    let provenance = sheet::provenance(
        &provenance::commit()?,
        &Machine::here(),
        csv,
        &[
            ("Tools", version("blkparse", "-V")?),
            ("Seed of the orders", seed.to_string()),
            ("Load of the machine at the start", load),
        ],
    );
    let text = table::text(&provenance, &recordings, &agreed, &findings);
    sheet::write(&dir.join("trace-speed.md"), &text)?;
    recordings.iter().for_each(Recording::remove);
    Ok(findings.iter().all(table::Finding::reached))
}

fn version(program: &str, flag: &str) -> Result<String> {
    let output = Command::new(program)
        .arg(flag)
        .output()
        .with_context(|| format!("{program} is missing: install blktrace"))?;
    let text = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&text).lines().next().unwrap_or("unknown").trim().to_owned())
}

/// One run of an arm: seconds, and those of btt.
fn time(arm: Arm, recording: &Recording, binary: &Binary, work: &Path) -> Result<(f64, f64)> {
    let parquet = work.join("trace-speed.parquet");
    let analyze = |only: &[&str]| -> Result<f64> {
        let mut command = binary.command();
        command.args(["trace", "analyze"]).arg(&recording.base).args(only);
        seconds(&mut command)
    };
    match arm {
        Arm::Debian => {
            let parsed = seconds(&mut recording.blkparse())?;
            Ok((parsed, seconds(&mut recording.btt(work)?)?))
        }
        Arm::Phases => Ok((analyze(&["--only", "phases"])?, 0.0)),
        Arm::Everything => Ok((analyze(&[])?, 0.0)),
        Arm::Reuse => Ok((analyze(&["--only", "reuse"])?, 0.0)),
        Arm::Parquet => {
            let mut command = binary.command();
            command.args(["trace", "import"]).arg(&recording.base);
            command.arg("--output").arg(&parquet).arg("--force");
            let taken = seconds(&mut command);
            let _absent = std::fs::remove_file(&parquet);
            Ok((taken?, 0.0))
        }
    }
}

/// Runs a command to its end, and gives the seconds that it took.
fn seconds(command: &mut Command) -> Result<f64> {
    let began = Instant::now();
    let output = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let taken = began.elapsed().as_secs_f64();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{:?} ended with {}: {}", command.get_program(), output.status, said.trim());
    }
    Ok(taken)
}

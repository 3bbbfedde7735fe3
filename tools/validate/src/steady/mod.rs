//! `steady`: rules of steady state on drives whose long run is known.
//!
//! A drive's life is simulated once, in spans of a two-hundredth of a fill, and each rule gets it in its own rounds:
//! the standard's, fio's with its arithmetic, and ours.

mod rules;
mod score;
mod series;
mod table;
mod truth;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::provenance::{self, Machine};
use crate::sheet;
use crate::stop::stop_flag;
use crate::threads::on_threads;
use score::{RAW_HEAD, Scored};
use series::{Case, Load4k};
use truth::Truth;

/// Drives that the table promises at least.
const DRIVES_MIN: u64 = 1_000;
/// Seeds below were looked at while the rule was made.
const FIRST_SEED_MIN: u64 = 100_000;
/// Fills of each drive.
const FILLS: usize = 20;

/// Options of `steady`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Count of drives
    #[arg(long, default_value_t = DRIVES_MIN, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    drives: u64,
    /// First seed
    #[arg(long, default_value_t = FIRST_SEED_MIN)]
    first_seed: u64,
    /// Keep the drives' lives in this directory, and take those that are there
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Threads [default: as many as there are CPUs]
    #[arg(long)]
    threads: Option<usize>,
    /// Output directory of the table [default: docs/validation; target/validate for trials of under 1,000 drives or of seeds
    /// that were looked at before]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Scores all drives and writes the table; false when something falls short.
///
/// # Errors
/// When a drive cannot be opened, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let trial = options.drives < DRIVES_MIN || options.first_seed < FIRST_SEED_MIN;
    let dir = sheet::table_dir(options.out.as_deref(), trial)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let threads = options
        .threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let stop = stop_flag()?;
    let drives = on_threads(threads, options.drives as usize, &stop, |at| {
        if at % 50 == 0 {
            eprintln!("drive {at} of {}", options.drives);
        }
        let case = Case::of(options.first_seed + at as u64);
        let series = case
            .life(FILLS, options.keep.as_deref())
            .with_context(|| format!("seed {}", case.seed))?;
        Ok(Scored {
            over_provisioning: series.over_provisioning,
            truth: Truth::of(&series, case.load == Load4k::Passes),
            answers: rules::answers(&case, &series),
            case,
        })
    })?;
    let mut raw = RAW_HEAD.to_owned();
    for rule in rules::RULES {
        let _ = write!(raw, ",\"{rule}\",fills,off");
    }
    raw.push('\n');
    drives.iter().for_each(|drive| raw += &(drive.line() + "\n"));
    let path = dir.join("steady.csv");
    fs::write(&path, raw).with_context(|| format!("{}: cannot be written", path.display()))?;
    let last = options.first_seed + options.drives - 1;
    let more =
        [("Seeds", format!("{}–{last}", options.first_seed)), ("Load average at the start", load)];
    let head = sheet::provenance(&commit, &Machine::here(), "steady.csv", &more);
    sheet::write(&dir.join("steady.md"), &table::text(&head, &drives, FILLS))?;
    Ok(table::is_whole(&drives))
}

//! `logs`: logs of a latent process whose state is known at each half drive write, judged as a file of somebody else's.
//!
//! A second world beside the simulator, with which it shares no code: courses of a rate that no model of a drive has to make,
//! five kinds of noise, and parameters wider than those of any known product.

mod course;
mod draw;
mod score;
mod table;
mod world;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::provenance::{self, Machine};
use crate::sheet;
use crate::stop::stop_flag;
use crate::threads::on_threads;
use score::{HEAD, Scored};
use world::Log;

/// Logs that the table promises at least.
const LOGS_MIN: u64 = 3_000;
/// Seeds below were looked at while the rule was made.
const FIRST_SEED_MIN: u64 = 8_100_000_000;

/// Options of `logs`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Count of logs
    #[arg(long, default_value_t = 6_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    logs: u64,
    /// First seed; below 8,100,000,000 are those that the rule was made with
    #[arg(long, default_value_t = FIRST_SEED_MIN)]
    first_seed: u64,
    /// Threads [default: as many as there are CPUs]
    #[arg(long)]
    threads: Option<usize>,
    /// Write each log to this directory too
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Output directory of the table [default: docs/validation; target/validate for trials of under 3,000 logs or of seeds that were looked
    /// at before]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Scores all logs and writes the table; false when something falls short.
///
/// # Errors
/// When a log cannot be read back, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let trial = options.logs < LOGS_MIN || options.first_seed < FIRST_SEED_MIN;
    let dir = sheet::table_dir(options.out.as_deref(), trial)?;
    let commit = provenance::commit()?;
    let threads = options
        .threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    if let Some(keep) = &options.keep {
        fs::create_dir_all(keep).with_context(|| format!("{}: cannot be made", keep.display()))?;
    }
    let stop = stop_flag()?;
    let scored = on_threads(threads, options.logs as usize, &stop, |at| {
        let log = Log::draw(options.first_seed + at as u64);
        if let Some(keep) = &options.keep {
            let path = keep.join(format!("{}_bw.1.log", log.seed));
            fs::write(&path, &log.text)
                .with_context(|| format!("{}: cannot be written", path.display()))?;
        }
        let mut scored = Scored::of(log)?;
        // Thousands of them are held until all are judged.
        scored.log.text = String::new();
        Ok(scored)
    })?;
    let mut raw = HEAD.to_owned();
    scored.iter().for_each(|scored| raw += &(scored.line() + "\n"));
    let path = dir.join("logs.csv");
    fs::write(&path, raw).with_context(|| format!("{}: cannot be written", path.display()))?;
    let last = options.first_seed + options.logs - 1;
    let more = [("Seeds", format!("{}–{last}", options.first_seed))];
    let head = sheet::provenance(&commit, &Machine::here(), "logs.csv", &more);
    sheet::write(&dir.join("logs.md"), &table::text(&head, &scored))?;
    Ok(table::shortfalls(&scored).is_empty())
}

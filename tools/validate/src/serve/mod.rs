//! `serve`: virtual drives served as files, tried with other people's programs.
//!
//! Debian's flashbench has to show on them the steps and cliffs that were published of the drives that they
//! are models of; fio has to measure what our `mark` measures of the same models in virtual time; and the
//! table reports the microseconds that FUSE adds to a request.

mod cost;
pub mod flashbench;
pub mod server;
mod table;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::binary::Binary;
use crate::provenance::{self, Machine};
use crate::{fio, sheet, stop};

/// Rounds that the table promises at least: the fewest with a 95% interval of the median.
const ROUNDS_MIN: u32 = 6;

/// Options of `serve`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Rounds of fio and mark on each model
    #[arg(long, default_value_t = ROUNDS_MIN, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Output directory of the table [default: docs/validation; target/validate for trials of under 6 rounds]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Serves, runs the programs, and writes the table; false when something is not as it should be.
///
/// # Errors
/// When a program is missing or fails, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let binary = Binary::find()?;
    let out = sheet::table_dir(options.out.as_deref(), options.rounds < ROUNDS_MIN)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let testers = vec![
        ("Load average at the start", load),
        ("Beside", format!("{}, flashbench {}", fio::version()?, flashbench::version())),
    ];
    let stop = stop::stop_flag()?;
    let mut tables = Vec::new();
    for case in &flashbench::CASES {
        tables.push(flashbench::measure(case, &binary, &flashbench::debians, &stop)?);
    }
    let mut costs = Vec::new();
    for case in &cost::CASES {
        costs.push(cost::measure(case, options.rounds, &binary, &stop)?);
    }
    for made in &tables {
        let path = out.join(format!("serve-{}.txt", made.case.model));
        fs::write(&path, &made.printed)
            .with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    let path = out.join("serve.csv");
    fs::write(&path, cost::csv(&costs))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let head = sheet::provenance(&commit, &Machine::here(), "serve.csv", &testers);
    sheet::write(&out.join("serve.md"), &table::text(&head, &tables, &costs))?;
    Ok(tables.iter().all(flashbench::Made::is_right) && costs.iter().all(cost::Cost::is_right))
}

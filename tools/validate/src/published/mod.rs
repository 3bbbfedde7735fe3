//! `published`: outputs of real drives that others published, read and judged, and compared with what their pages state.
//!
//! The inputs are numbers with their addresses (`tools/validate/fixtures/published`). Half of them were set aside by the hash of
//! their address before anything was judged.

mod inputs;
mod score;
mod table;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::provenance::{self, Machine};
use crate::sheet;
use score::{Outcome, Scored};

/// Options of `published`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Score the half that was looked at, and leave the other alone; the table is then a trial
    #[arg(long)]
    open: bool,
    /// Output directory of the table [default: docs/validation; target/validate for trials]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Scores all inputs and writes the table; false when something falls short.
///
/// # Errors
/// When an input cannot be read, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let dir = sheet::table_dir(options.out.as_deref(), options.open)?;
    let commit = provenance::commit()?;
    let is_asked = |half| !options.open || half == inputs::Half::Open;
    let tables: Vec<_> =
        inputs::tables()?.into_iter().filter(|table| is_asked(table.half)).collect();
    let cells: Vec<_> = inputs::cells()?.into_iter().filter(|cell| is_asked(cell.half)).collect();
    let mut scored: Vec<Scored> = Vec::new();
    for table in &tables {
        scored.push(score::table(table)?);
    }
    for cell in &cells {
        scored.push(score::cell(cell)?);
    }
    let cards = score::cards(&tables, &scored);
    let path = dir.join("published.csv");
    fs::write(&path, table::raw(&scored))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let head = sheet::provenance(&commit, &Machine::here(), "published.csv", &[]);
    sheet::write(&dir.join("published.md"), &table::text(&head, &scored, &cards))?;
    let aside = |outcome| {
        let is = |one: &&Scored| one.half == inputs::Half::Aside && one.outcome == outcome;
        scored.iter().filter(is).count()
    };
    let all = [Outcome::Right, Outcome::Class, Outcome::Unknown, Outcome::Wrong].map(aside);
    let is_enough = options.open || all[0] * 10 >= all.iter().sum::<usize>() * 7;
    let no_wrong = scored.iter().all(|one| one.outcome != Outcome::Wrong)
        && cards.iter().all(|card| !card.contradicts);
    Ok(no_wrong && is_enough)
}

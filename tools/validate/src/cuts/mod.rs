//! `cuts`: the power goes while drivescope works, and nothing that it reported as saved may be lost.
//!
//! The crate `cuts` makes the cuts and checks the result; here it is done at every flush mark of three
//! filesystems, and counted.

mod table;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use cuts::{Format, Outcome, Scale, Trial};

use crate::binary::Binary;
use crate::provenance::{self, Machine};
use crate::sheet;

/// Cuts of each filesystem that the table promises at least: over 200 of the three.
const CUTS_MIN: usize = 70;
/// Of those, cuts that do not lie at a flush mark.
const BETWEEN: usize = 150;

/// Options of `cuts`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Cuts of each filesystem at most [default: one at and one before each flush mark, 150 more]
    #[arg(long)]
    most: Option<usize>,
    /// Seed of the cuts [default: a fresh one, which is recorded]
    #[arg(long)]
    seed: Option<u64>,
    /// A log device of dm-log-writes that drivescope's store was written through in a guest; its cuts come
    /// after the others
    #[arg(long, value_name = "FILE", requires = "log_format")]
    log: Option<PathBuf>,
    /// The filesystem on it
    #[arg(long, value_name = "NAME", value_parser = format_of)]
    log_format: Option<Format>,
    /// Output directory of the table [default: docs/validation; target/validate for trials of under 70 cuts of
    /// each filesystem]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// All filesystems at once: each has a disk and a log of its own.
fn filesystems<'a>(trial: &(impl Fn(Format) -> Trial<'a> + Sync)) -> Result<Vec<Series>> {
    thread::scope(|scope| {
        let one = |format: Format| {
            let begun = Instant::now();
            let outcomes = cuts::try_cuts(&trial(format), &mut tell)?;
            let name = format!("{}, log of the loop device's file", format.name());
            eprintln!("{}: {} cuts", format.name(), outcomes.len());
            Ok(Series { name, outcomes, took: begun.elapsed() })
        };
        let all = Format::ALL.map(|format| scope.spawn(move || one(format)));
        all.into_iter()
            .map(|series| {
                series.join().map_err(|_| anyhow!("a filesystem's thread has panicked"))?
            })
            .collect()
    })
}

fn format_of(name: &str) -> Result<Format, String> {
    let known = Format::ALL.into_iter().find(|format| format.name() == name);
    known.ok_or_else(|| "is none of ext4, xfs, btrfs".to_owned())
}

/// All cuts of one filesystem.
#[derive(Clone, Debug)]
struct Series {
    /// The filesystem, and who kept the log.
    name: String,
    outcomes: Vec<Outcome>,
    took: Duration,
}

/// Cuts, and writes the table; false when something was lost or went wrong.
///
/// # Errors
/// When a filesystem cannot be made or mounted, drivescope cannot be run, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let binary = Binary::find()?;
    let most = options.most.unwrap_or(usize::MAX);
    let out = sheet::table_dir(options.out.as_deref(), most < CUTS_MIN)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let seed = options.seed.unwrap_or_else(provenance::fresh_seed);
    let trial = |format| Trial {
        program: binary.path(),
        format,
        scale: Scale::Full,
        between: BETWEEN,
        most,
        seed,
    };
    let mut all = filesystems(&trial)?;
    if let (Some(path), Some(format)) = (&options.log, options.log_format) {
        let mut file = fs::File::open(path).with_context(|| path.display().to_string())?;
        let log = cuts::Log::read(&mut file).with_context(|| path.display().to_string())?;
        let begun = Instant::now();
        let outcomes = cuts::try_log(&trial(format), &log, &mut tell)?;
        let name = format!("{}, dm-log-writes in a guest", format.name());
        all.push(Series { name, outcomes, took: begun.elapsed() });
    }
    let path = out.join("cuts.csv");
    fs::write(&path, raw(&all))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let more = [("Seed of the cuts", seed.to_string()), ("Load average at the start", load)];
    let head = sheet::provenance(&commit, &Machine::here(), "cuts.csv", &more);
    sheet::write(&out.join("cuts.md"), &table::text(&head, &all, options.most))?;
    let is_right = |o: &Outcome| o.verdict.losses.is_empty() && o.verdict.faults.is_empty();
    Ok(all.iter().flat_map(|series| &series.outcomes).all(is_right))
}

/// Says at once what went wrong.
fn tell(outcome: &Outcome) {
    let verdict = &outcome.verdict;
    for what in verdict.losses.iter().chain(&verdict.faults) {
        eprintln!("{:?}: {what}", outcome.cut);
    }
}

fn raw(all: &[Series]) -> String {
    let mut raw = String::from(
        "filesystem,entries,cached,cached_bytes,promises,losses,faults,unfinished,resumed,offered\n",
    );
    for Series { name, outcomes, .. } in all {
        for Outcome { cut, cached_bytes, verdict } in outcomes {
            let (losses, faults) = (verdict.losses.len(), verdict.faults.len());
            let _ = writeln!(
                raw,
                "\"{name}\",{},{},{cached_bytes},{},{losses},{faults},{},{},{}",
                cut.entries,
                cut.cached.word(),
                verdict.promises,
                verdict.unfinished,
                verdict.resumed,
                verdict.offered,
            );
        }
    }
    raw
}

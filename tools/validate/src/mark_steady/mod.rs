//! `mark-steady`: how often the proof *steady* of a mark is right, on windows whose latent rate is known.
//!
//! The windows are drawn here and judged as those of a measured mark: by the public findings, so that all that the proof
//! looks at is in it.

mod course;
mod judged;
mod table;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::provenance::{self, Machine};
use crate::sheet;
use crate::stop::stop_flag;
use crate::threads::on_threads;
use course::{Course, Drawn};
use judged::Judged;

/// Tests of each kind of course at each noise that the table promises at least.
const TESTS_MIN: u64 = 200;
/// Seeds below were looked at while the study was made.
const FIRST_SEED_MIN: u64 = 1_200_000_000;
/// Standard deviations of a window's mean.
const NOISES: [f64; 4] = [0.01, 0.02, 0.05, 0.10];

/// Options of `mark-steady`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Tests of each kind of course at each noise
    #[arg(long, default_value_t = TESTS_MIN, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    tests: u64,
    /// First seed; below 1,200,000,000 are those that the study was made with
    #[arg(long, default_value_t = FIRST_SEED_MIN)]
    first_seed: u64,
    /// Output directory of the table [default: docs/validation; target/validate for trials of under 200 tests or of seeds that were looked
    /// at before]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Scores all tests and writes the table; false when a claim does not hold.
///
/// # Errors
/// When the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let trial = options.tests < TESTS_MIN || options.first_seed < FIRST_SEED_MIN;
    let dir = sheet::table_dir(options.out.as_deref(), trial)?;
    let commit = provenance::commit()?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let stop = stop_flag()?;
    let cells: Vec<(Course, f64)> =
        Course::ALL.into_iter().flat_map(|course| NOISES.map(|noise| (course, noise))).collect();
    let count = cells.len() * options.tests as usize;
    let judged = on_threads(threads, count, &stop, |at| {
        let (course, noise) = cells[at % cells.len()];
        Judged::of(Drawn::new(options.first_seed + at as u64, course, noise))
    })?;
    let mut raw = format!("{}\n", Judged::HEAD);
    for one in &judged {
        let _ = writeln!(raw, "{}", one.line());
    }
    let path = dir.join("mark-steady.csv");
    fs::write(&path, raw).with_context(|| format!("{}: cannot be written", path.display()))?;
    let seeds = format!("{}–{}", options.first_seed, options.first_seed + count as u64 - 1);
    let head = sheet::provenance(&commit, &Machine::here(), "mark-steady.csv", &[("Seeds", seeds)]);
    sheet::write(&dir.join("mark-steady.md"), &table::text(&head, &judged))?;
    Ok(table::shortfalls(&judged).is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    // The score is worth what the truth is worth: a step and a drift beyond the margin have to be seen as such.
    #[test]
    fn courses_have_the_change_that_was_drawn() {
        for seed in 0..40 {
            let of = |course| Drawn::new(seed, course, 0.01);
            assert!(!of(Course::Steady).is_beyond() && of(Course::Steady).change() < 1e-9);
            assert!(of(Course::Step).change() > 0.05, "{seed}");
            assert!((0.015..0.26).contains(&of(Course::Drift).change()), "{seed}");
            let drawn = of(Course::Wave);
            let sum: u64 = drawn.windows[0].iter().sum();
            assert_eq!(drawn.windows[0].len(), course::SLICES);
            assert!(sum > 0 && drawn.windows.len() >= 6);
        }
    }

    #[test]
    fn a_quiet_drive_is_proven_and_a_steep_fall_is_not() {
        let verdict =
            |course: Course, seed| Judged::of(Drawn::new(seed, course, 0.01)).unwrap().verdict;
        let steady = (0..20).filter(|s| verdict(Course::Steady, *s) == stats::Verdict::Proven);
        assert!(steady.count() > 10);
        // A step after the last run that was made is none.
        let is_overlooked = |seed: &u64| {
            let judged = Judged::of(Drawn::new(*seed, Course::Step, 0.01)).unwrap();
            judged.is_beyond && judged.verdict == stats::Verdict::Proven
        };
        assert!((0..20).filter(is_overlooked).count() < 3);
    }
}

//! `probe-world`: the probes asked about drives of a second world, which shares no code with the drives of `sim`.
//!
//! Verdicts on drives that our own simulator draws show that the probes fit that simulator. The models here
//! were written from what controllers are known to do, depend on `block` alone, and are drawn wider than anything sold.

mod card;
mod chance;
mod device;
mod disk;
mod draw;
mod score;
mod ssd;

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use ::probe::Name;
use anyhow::{Context as _, Result};
use clap::Args;
use engine::TargetBench;

use crate::probe::ask::{self, Questions};
use crate::probe::seeds;
use crate::provenance::{self, Machine};
use crate::threads::on_threads;
use crate::{sheet, stop};
use draw::Drawn;
use score::Answer;

/// Seeds of the final score.
const SEEDS: Range<u64> = 9_200_000_000..9_200_001_000;
/// Noise: its standard deviation over what the boundary of a unit costs.
const LEVELS: [f64; 3] = [0.1, 0.5, 1.0];
/// Findings that are scored, in the order in which they are shown.
const SCORED: [Name; 8] = [
    Name::EraseBlock,
    Name::Page,
    Name::MultiPlanePage,
    Name::OpenAuLinear,
    Name::OpenAuRandom,
    Name::FatZone,
    Name::CellBands,
    Name::WriteBuffer,
];

/// Options of `probe-world`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Seeds of the drives, the last one excluded: from 9000000000 on for calibration, from 9100000000 on for tests,
    /// from 9200000000 on for the final score [default: 9200000000..9200001000]
    #[arg(long, value_parser = seeds)]
    seeds: Option<Range<u64>>,
    /// Noise: its standard deviation over what the boundary of a unit costs [default: 0.1,0.5,1]
    #[arg(long, value_delimiter = ',')]
    levels: Vec<f64>,
    /// Only drives whose kind and state contain this, such as `card`
    #[arg(long)]
    kind: Option<String>,
    /// Threads
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Output directory of the table [default: docs/validation; target/validate for trials of less than everything]
    #[arg(long)]
    out: Option<PathBuf>,
}

impl Options {
    fn is_trial(&self) -> bool {
        let all = SEEDS.end - SEEDS.start;
        self.seeds.as_ref().is_some_and(|seeds| seeds.end - seeds.start < all)
            || !self.levels.is_empty()
            || self.kind.is_some()
    }
}

/// Scores and writes the table; false when more answers are wrong than may be.
///
/// # Errors
/// When the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let out = sheet::table_dir(options.out.as_deref(), options.is_trial())?;
    let (commit, stop) = (provenance::commit()?, stop::stop_flag()?);
    let seeds = options.seeds.clone().unwrap_or(SEEDS);
    let answers = answers(options, seeds.clone(), &stop)?;
    let path = out.join("probe-world.csv");
    fs::write(&path, score::raw(&answers))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let more = [("Seeds", format!("{}–{}", seeds.start, seeds.end - 1))];
    let head = sheet::provenance(&commit, &Machine::here(), "probe-world.csv", &more);
    let text = score::page(&head, &answers);
    if options.is_trial() {
        println!("{text}");
    }
    sheet::write(&out.join("probe-world.md"), &text)?;
    Ok(score::is_right(&answers))
}

fn answers(options: &Options, seeds: Range<u64>, stop: &AtomicBool) -> Result<Vec<Answer>> {
    let levels = if options.levels.is_empty() { LEVELS.to_vec() } else { options.levels.clone() };
    let wanted = |seed: &u64| {
        let kind = Drawn::new(*seed, 0.1).kind;
        options.kind.as_ref().is_none_or(|wanted| kind.contains(wanted.as_str()))
    };
    let seeds: Vec<u64> = seeds.filter(wanted).collect();
    let jobs: Vec<(f64, u64)> =
        levels.iter().flat_map(|&level| seeds.iter().map(move |&seed| (level, seed))).collect();
    let all = on_threads(options.jobs.into(), jobs.len(), stop, |at| {
        let (level, seed) = jobs[at];
        let answers = ask(level, seed)?;
        for answer in answers.iter().filter(|answer| answer.mark.is_wrong()) {
            eprintln!("{}", answer.line());
        }
        Ok(answers)
    })?;
    Ok(all.into_iter().flatten().collect())
}

/// Asks the drive of `seed` by the whole chain.
fn ask(level: f64, seed: u64) -> Result<Vec<Answer>> {
    let mut drawn = Drawn::new(seed, level);
    let questions =
        Questions { tasks: ask::tasks(&SCORED), given: Vec::new(), seed, may_write: true };
    let mut around = device::Nothing::new(&drawn.world.info.name);
    let going = AtomicBool::new(false);
    let mut bench = TargetBench::new(&mut drawn.world, &mut around, &going);
    let said = ask::ask(&mut bench, &questions, std::collections::BTreeMap::new())
        .with_context(|| format!("seed {seed}"))?;
    let answer = |name: &Name| {
        let about = (level, seed, drawn.kind);
        let mut answer = Answer::new(about, said.of(*name), drawn.truth(*name), &said);
        answer.shows = drawn.shows_units;
        answer
    };
    Ok(SCORED.iter().map(answer).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when the probes give wrong answers about drives that they were not tuned on. More than one would mean a
    // rate that the published score excludes.
    #[test]
    fn a_few_drives_of_this_world_are_told_right() {
        let options = Options { levels: vec![0.1], ..crate::defaults() };
        let answers = answers(&options, 9_100_000_000..9_100_000_008, &AtomicBool::new(false));
        let answers = answers.unwrap();
        assert_eq!(answers.len(), 8 * SCORED.len());
        let wrong: Vec<String> =
            answers.iter().filter(|a| a.mark.is_wrong()).map(Answer::line).collect();
        assert!(wrong.len() <= 1, "{wrong:#?}");
        let right = answers.iter().filter(|a| a.mark == score::Mark::Right).count();
        assert!(right >= 12, "{right} of {}", answers.len());
    }

    // Breaks when a seed no longer draws the drive that its score is of.
    #[test]
    fn one_seed_is_one_drive() {
        for seed in 0..40 {
            let (one, other) = (Drawn::new(seed, 0.1), Drawn::new(seed, 1.0));
            assert_eq!(one.truths, other.truths);
            assert_eq!((one.kind, one.world.info.clone()), (other.kind, other.world.info.clone()));
        }
    }
}

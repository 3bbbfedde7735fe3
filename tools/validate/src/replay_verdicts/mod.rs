//! `replay-verdicts`: does a replay know who was the limit? Cases in which that was planted, drawn from seeds.
//!
//! Drives of all kinds, traces of all sizes, mixes and arrivals, slots few and many, originals known and not. How fast
//! a drive serves a trace is found by a replay without times, which the verdicts of timed replays do not rest on.
//! *Slow* offers 1.4 to 5 times of that; *neither* a quarter to a twentieth; *starved* the same as *neither*, to a
//! submitter that gets its CPU in turns, by a quota, or not enough of it for each request.

mod case;
mod real;
mod starved;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use ::trace::replay::Limit;
use anyhow::{Context as _, Result};
use clap::Args;
use stats::proportion_interval;

use crate::provenance::{self, Machine};
use crate::sheet;
use case::Case;

/// Cases of each sort that the table promises.
const CASES: u64 = 100;

/// The same on a real device.
const REAL: u64 = 10;

/// Options of `replay-verdicts`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Cases of each sort
    #[arg(long, default_value_t = CASES, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    cases: u64,
    /// First seed
    #[arg(long, default_value_t = 3_000_000)]
    first_seed: u64,
    /// Cases of each sort on a real device, in real time
    #[arg(long, default_value_t = REAL, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    real: u64,
    /// Output directory of the table [default: docs/validation; target/validate for trials of fewer cases]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Planted limits, and their names.
const PLANTED: [(Limit, &str); 3] = [
    (Limit::ReplayerLimited, "starved submitter"),
    (Limit::DriveLimited, "slow drive"),
    (Limit::Faithful, "neither"),
];

/// Verdicts on the cases of one sort: the count of each.
type Said = [u64; 3];

/// Judges all cases; false when one is judged wrongly.
///
/// # Errors
/// When a case cannot be replayed, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let trial = options.cases < CASES || options.real < REAL;
    let dir = sheet::table_dir(options.out.as_deref(), trial)?;
    let commit = provenance::commit()?;
    let mut raw = "planted,seed,verdict,room,drive,requests,slots,starved,reason\n".to_owned();
    let mut all: Vec<Said> = Vec::new();
    for (planted, name) in PLANTED {
        eprintln!("{name}: judging {} cases", options.cases);
        let seeds = options.first_seed..options.first_seed + options.cases;
        all.push(judged(planted, seeds, &mut raw)?);
    }
    let real = of_real(options, &mut raw)?;
    let path = dir.join("replay-verdicts.csv");
    fs::write(&path, raw).with_context(|| format!("{}: cannot be written", path.display()))?;
    let head = sheet::provenance(
        &commit,
        &Machine::here(),
        "replay-verdicts.csv",
        &[("Seeds", format!("{} of each sort, from {}", options.cases, options.first_seed))],
    );
    let (text, right) = page(&head, &all, &real);
    sheet::write(&dir.join("replay-verdicts.md"), &text)?;
    Ok(right)
}

/// Judges the cases of one sort.
fn judged(planted: Limit, seeds: std::ops::Range<u64>, raw: &mut String) -> Result<Said> {
    let mut said = Said::default();
    for seed in seeds {
        let mut case = Case::draw(seed, planted)?;
        let fidelity = case.judged()?.fidelity;
        said[fidelity.verdict as usize] += 1;
        if fidelity.verdict != planted {
            eprintln!("seed {}: {} planted, {}", case.seed, planted.word(), fidelity.reason);
        }
        let _ = writeln!(
            raw,
            "{},{seed},{},{:.3},{},\"{}\"",
            planted.word(),
            fidelity.verdict.word(),
            case.room,
            case.line(),
            fidelity.reason
        );
    }
    Ok(said)
}

/// The cases on a real device, or why there are none.
fn of_real(options: &Options, raw: &mut String) -> Result<Result<Vec<Said>, String>> {
    if options.real == 0 {
        return Ok(Err("none was asked for".to_owned()));
    }
    if let Some(missing) = real::missing() {
        return Ok(Err(missing));
    }
    let bench = real::Bench::new(&sheet::work_dir()?)?;
    let mut all = Vec::new();
    for (planted, name) in PLANTED {
        eprintln!("{name}, real: judging {} cases", options.real);
        let mut said = Said::default();
        for seed in options.first_seed..options.first_seed + options.real {
            let (verdict, reason, drawn) = bench.judged(seed, planted)?;
            said[verdict as usize] += 1;
            if verdict != planted {
                eprintln!("seed {seed}: {} planted on {drawn}, {reason}", planted.word());
            }
            let _ = writeln!(
                raw,
                "{},{seed},{},,loop,,1024,\"{drawn}\",\"{reason}\"",
                planted.word(),
                verdict.word()
            );
        }
        all.push(said);
    }
    Ok(Ok(all))
}

/// A table of what was said, and how much of it was wrong.
fn tabled(all: &[Said]) -> (String, u64) {
    let mut rows = Vec::new();
    let mut wrong = 0;
    for ((planted, name), said) in PLANTED.iter().zip(all) {
        let cases: u64 = said.iter().sum();
        let hits = said[*planted as usize];
        wrong += cases - hits;
        let bound = proportion_interval(hits as usize, cases as usize, 0.95).map_or(0.0, |p| p.low);
        let mut row = vec![(*name).to_owned(), planted.word().to_owned(), cases.to_string()];
        row.extend(
            [Limit::Faithful, Limit::DriveLimited, Limit::ReplayerLimited]
                .map(|v| said[v as usize].to_string()),
        );
        row.push(format!("{:.1}%", 100.0 * bound));
        rows.push(row);
    }
    let columns = [
        "planted",
        "right answer",
        "cases",
        "faithful",
        "drive-limited",
        "replayer-limited",
        "right at least (95%)",
    ];
    (sheet::table(2, &columns, &rows), wrong)
}

fn page(head: &str, all: &[Said], real: &Result<Vec<Said>, String>) -> (String, bool) {
    let (table, mut wrong) = tabled(all);
    let real = match real {
        Err(why) => format!("None here: {why}.\n"),
        Ok(all) => {
            let (table, more) = tabled(all);
            wrong += more;
            table
        }
    };
    let verdict = match wrong {
        0 => "No case was judged wrongly.".to_owned(),
        n => format!("{n} cases were judged wrongly."),
    };
    let text = format!(
        "# Who was the limit\n\n{verdict}\n\n{head}## Virtual drives\n\nTimed replays of drawn traces on drawn \
         virtual drives. The last column is the lower end of Clopper and Pearson's interval.\n\n{table}\n\
         ## A real device\n\nReads at 200 to 1,000 a second for three seconds from a loop device with direct I/O, \
         through the binary. *Slow*: the kernel lets 30 to 70% of them pass (blkio). *Starved*: once \
         it has begun, the replayer's group gets 5 to 30 us of CPU for each read, at least 1 ms in 200 ms.\n\n{real}"
    );
    (text, wrong == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    // A wrong verdict sends its reader to buy a faster drive for a busy machine, or a faster machine for a slow drive.
    #[test]
    fn a_few_planted_cases_are_judged_rightly() {
        for (planted, name) in PLANTED {
            let mut raw = String::new();
            let said = judged(planted, 1..7, &mut raw).unwrap();
            assert_eq!(said[planted as usize], 6, "{name}:\n{raw}");
        }
    }
}

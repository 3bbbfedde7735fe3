//! Scores of all that is found by writing, on drawn cards:
//! `CARDS=1000 FIRST=0 cargo run -p drivescope-probe --example score_writing`.
//! Seeds below 10,000 are for tuning.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

#[path = "../tests/cards/mod.rs"]
mod cards;

use std::ops::Range;
use std::time::Instant;

use cards::{Score, at_desk, drawn};
use drivescope_probe::open_au::{Options, boundary, probe};
use drivescope_probe::{Desk, Finding, Known, Name, Verdict, fat};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|word| word.parse().ok()).unwrap_or(default)
}

fn main() {
    open_units();
    boundaries();
    zones();
    drives_without_any_of_it();
}

fn seeds() -> Range<u64> {
    let first = number("FIRST", 0);
    first..first + number("CARDS", 100)
}

fn truth_of(name: Name, truth: &sim::Truth) -> Option<u64> {
    match name {
        Name::EraseBlock => truth.erase_block_bytes.map(|n| n.0),
        Name::MultiPlanePage => {
            truth.page_bytes.zip(truth.planes).map(|(page, planes)| page.0 * u64::from(planes))
        }
        Name::OpenAuLinear => truth.open_au_linear.map(u64::from),
        Name::OpenAuRandom => truth.open_au_random.map(u64::from),
        Name::FatZone => truth.fat_zone_bytes.map(|n| n.0),
        _ => None,
    }
}

/// Scores `ask` at every level of noise; the erase block is given when `unit` is true.
fn score(what: &str, unit: bool, ask: impl Fn(&mut Desk<'_>, &Known) -> Vec<Finding>) {
    for level in [0.1, 0.5, 1.0] {
        let mut scores: Vec<(Name, Score)> = Vec::new();
        let (mut bytes, mut time, begin) = (0, 0.0, Instant::now());
        for seed in seeds() {
            let (spec, truth) = drawn(seed, level);
            let mut known = Known::new();
            if unit {
                known.give(Name::EraseBlock, truth.erase_block_bytes.unwrap().0);
            }
            let work = |desk: &mut Desk<'_>| ask(desk, &known);
            let (findings, spent) = at_desk(&spec, |terms| terms.seed = seed, work);
            bytes += spent.written_bytes.0;
            time += spent.elapsed_ns.0 as f64 / 1e9;
            for finding in &findings {
                if scores.iter().all(|(name, _)| *name != finding.name) {
                    scores.push((finding.name, Score::default()));
                }
                let score = scores.iter_mut().find(|(name, _)| *name == finding.name).unwrap();
                let truth = truth_of(finding.name, &truth);
                score.1.count(&format!("seed {seed} at {level}"), finding, truth);
            }
        }
        let count = seeds().count() as f64;
        println!(
            "{what} at {level}: {scores:?}; {:.0} MiB and {:.0} s of the drive, {:.3} s here a card",
            bytes as f64 / count / 1_048_576.0,
            time / count,
            begin.elapsed().as_secs_f64() / count
        );
    }
}

fn open_units() {
    let ask = |desk: &mut Desk<'_>, known: &Known| {
        probe(desk, known, &Options::default()).unwrap().findings
    };
    score("open units", true, ask);
    score("open units without the erase block", false, ask);
}

fn boundaries() {
    score("boundaries", false, |desk, known| boundary(desk, known).unwrap().findings);
}

fn zones() {
    score("zones", true, |desk, known| fat::probe(desk, known).unwrap().findings);
}

/// Drawn solid-state drives, whose garbage collection comes and goes, must get no number at all.
fn drives_without_any_of_it() {
    let mut found = Vec::new();
    for seed in seeds() {
        let spec = format!("sim:random-ssd?seed={seed}");
        let all = |desk: &mut Desk<'_>| {
            let known = Known::new();
            let mut all = probe(desk, &known, &Options::default()).unwrap().findings;
            all.extend(boundary(desk, &known).unwrap().findings);
            all.extend(fat::probe(desk, &known).unwrap().findings);
            all
        };
        let (findings, _) = at_desk(&spec, |_| {}, all);
        found.extend(
            findings.into_iter().filter(|f| f.verdict == Verdict::Found).map(|f| (seed, f)),
        );
    }
    println!("{} numbers on {} drives: {found:?}", found.len(), seeds().count());
}

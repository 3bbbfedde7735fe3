//! Scatter on many drives: what it says of the shipped ones, and its score on drawn cards.
//! `FROM=0 TO=100 cargo run -p drivescope-probe --example score_scatter`
#![allow(clippy::unwrap_used, reason = "these are tests")]

#[path = "../tests/reading/mod.rs"]
mod reading;

use std::time::Instant;

use drivescope_probe::scatter::{self, Evidence, Options};
use drivescope_probe::{Finding, Known, Name, Outcome, Verdict};
use reading::{DrawnCard, Limits, at_desk, finding, group};

/// Probes `spec`; gives the outcome, the time on the drive's clock and the count of reads.
fn run(spec: &str, known: &Known, seed: u64) -> (Outcome<Evidence>, f64, u64) {
    let limits = Limits { seed, ..Limits::default() };
    let (outcome, spent) =
        at_desk(spec, limits, |desk| scatter::probe(desk, known, &Options::default()).unwrap());
    (outcome, spent.elapsed_ns.as_secs_f64(), spent.ios)
}

fn main() {
    models();
    drawn_cards();
}

fn line(f: &Finding) -> String {
    let range = (f.low, f.high);
    format!("{:?} {:?} {:?} {range:?} {:?}: {}", f.name, f.verdict, f.value, f.confidence, f.reason)
}

/// Prints what is said of the shipped models.
fn models() {
    let cards = ["usb-8m", "usb-tlc", "sdcard-4m", "card-3m", "fake-64g"];
    let drives = [
        "optane",
        "hdd-7200",
        "enterprise-28op",
        "mlc-nvme",
        "tlc-pslc",
        "qlc-pslc",
        "sata-a",
        "enterprise-28op?state=filled",
        "mlc-nvme?state=filled",
        "tlc-pslc?state=filled",
        "enterprise-28op?state=steady",
        "hdd-wd",
    ];
    let both = |name: &&'static str| [(*name, group(16 << 10)), (*name, Known::new())];
    let other = drives.iter().map(|name| (*name, Known::new()));
    for (name, known) in cards.iter().flat_map(both).chain(other) {
        let at = Instant::now();
        let (outcome, seconds, reads) = run(&format!("sim:{name}"), &known, 1);
        let (evidence, given) = (&outcome.evidence, known.value(Name::MultiPlanePage));
        println!("{name} group {given:?}: {seconds:.1} s, {reads} reads, {:?} here", at.elapsed());
        println!("    noise {:?} bands {:?}", evidence.noise_ns, evidence.bands);
        println!("    periods {:?} stretches {:?}", evidence.periods, evidence.stretches);
        evidence.zones.iter().for_each(|zone| println!("    {zone:?}"));
        outcome.findings.iter().for_each(|finding| println!("    {}", line(finding)));
    }
}

/// Right, wrong, unknown.
type Score = [usize; 3];

fn judge(score: &mut Score, said: &Finding, truth: Option<u64>) -> usize {
    let at = match said.verdict {
        Verdict::Unknown => 2,
        Verdict::Found if said.value == truth => 0,
        Verdict::None if truth.is_none() => 0,
        _ => 1,
    };
    score[at] += 1;
    at
}

/// Scores drawn cards; FROM, TO, LEVELS, KNOWN=0 and VERBOSE=2 in the environment.
fn drawn_cards() {
    let env = |key: &str, default: &str| std::env::var(key).unwrap_or(default.to_owned());
    let (from, to): (u64, u64) =
        (env("FROM", "0").parse().unwrap(), env("TO", "100").parse().unwrap());
    for level in env("LEVELS", "0.1,0.5,1.0").split(',') {
        let mut scores = [[0; 3]; 3];
        let (mut seconds, mut longest, at) = (0.0, 0.0_f64, Instant::now());
        for seed in from..to {
            let card = DrawnCard::new(seed, level.parse().unwrap());
            let known = if env("KNOWN", "1") == "1" { card.known.clone() } else { Known::new() };
            let (outcome, spent, _) = run(&card.spec, &known, seed ^ 0x55);
            (seconds, longest) = (seconds + spent, longest.max(spent));
            let questions = [
                (Name::CellBands, card.bands),
                (Name::FatZone, card.fat),
                (Name::SlowZone, card.fat),
            ];
            for ((name, truth), score) in questions.into_iter().zip(&mut scores) {
                let said = finding(&outcome, name);
                let how = judge(score, said, truth);
                if how == 1 || how == 2 && env("VERBOSE", "1") == "2" {
                    println!("{level} {}: {truth:?}, {}", card.spec, line(said));
                    println!("    {spent:.0} s, {:?}", outcome.evidence.zones);
                }
            }
        }
        let (n, [bands, fat, slow]) = (to - from, scores);
        println!("{level}: right, wrong, unknown: bands {bands:?} fat {fat:?} slow {slow:?}");
        let here = at.elapsed() / n as u32;
        println!("    {:.1} s each, {longest:.0} s at most, {here:?} here", seconds / n as f64);
    }
}

//! Scores of `probe align` on drawn cards: right, wrong and unknown by level of noise.
//!
//! `FROM=4000 TO=5000 LEVEL=0.5 cargo run -p drivescope-probe --example score_align`
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

#[path = "../tests/bench/mod.rs"]
mod bench;
#[path = "../tests/cards/mod.rs"]
mod cards;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use drivescope_probe::align::{Options, probe};
use drivescope_probe::{Finding, Known, Verdict};
use sim::Truth;

/// Answer about one card that was not right.
struct Miss {
    seed: u64,
    word: &'static str,
    truth: u64,
    finding: Finding,
}

/// Each finding's score, and the misses.
fn judge(findings: &[Finding], truth: &Truth, seed: u64) -> Vec<(&'static str, Option<Miss>)> {
    let shows = truth.card.as_ref().unwrap().reads_show_boundaries;
    let page = truth.page_bytes.unwrap().0;
    let group = page * u64::from(truth.planes.unwrap());
    let truths = [truth.erase_block_bytes.unwrap().0, page, group];
    let score = |(finding, truth): (&Finding, u64)| {
        let word = match finding.verdict {
            Verdict::Unknown => "unknown",
            Verdict::None if !shows => "right",
            Verdict::Found if shows && finding.value == Some(truth) => "right",
            _ => "wrong",
        };
        let miss = || Miss { seed, word, truth, finding: finding.clone() };
        (word, (word != "right").then(miss))
    };
    findings.iter().zip(truths).map(score).collect()
}

fn main() {
    let set = |name: &str, default: &str| std::env::var(name).unwrap_or(default.to_owned());
    let next = AtomicU64::new(set("FROM", "4000").parse().unwrap());
    let to: u64 = set("TO", "5000").parse().unwrap();
    let level: f64 = set("LEVEL", "0.5").parse().unwrap();
    let from = next.load(Ordering::Relaxed);
    let tally: Mutex<BTreeMap<(String, &str), u64>> = Mutex::new(BTreeMap::new());
    let seconds = Mutex::new(0.0);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= to {
                return;
            }
            let (spec, truth) = cards::drawn(seed, level);
            let (outcome, spent) = bench::on_terms(
                &spec,
                |terms| (terms.seed, terms.may_write) = (seed, false),
                |desk| {
                    let outcome = probe(desk, &Known::new(), &Options::default()).unwrap();
                    (outcome, desk.spent())
                },
            );
            *seconds.lock().unwrap() += spent.elapsed_ns.as_secs_f64();
            for (word, miss) in judge(&outcome.findings, &truth, seed) {
                if let Some(Miss { seed, word, truth, finding }) = &miss {
                    println!("seed {seed} {word}: truth {truth}, {finding:?}");
                }
                let name = miss.map_or("any".to_owned(), |miss| format!("{:?}", miss.finding.name));
                *tally.lock().unwrap().entry((name, word)).or_default() += 1;
            }
        }
    };
    std::thread::scope(|scope| {
        for thread in [(); 2].map(|()| scope.spawn(work)) {
            thread.join().unwrap();
        }
    });
    let tally = tally.into_inner().unwrap();
    println!("{} cards at {level}: {tally:?}", to - from);
    println!(
        "{:.1} s of the drive's time each",
        seconds.into_inner().unwrap() / (to - from) as f64
    );
    let wrong: u64 = tally.iter().filter(|((_, word), _)| *word == "wrong").map(|(_, n)| n).sum();
    assert!(wrong * 250 <= 3 * (to - from), "{wrong} wrong");
}

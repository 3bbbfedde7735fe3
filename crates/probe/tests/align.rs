//! The probe on virtual drives.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::sync::atomic::AtomicBool;

use block::{Bytes, Nanos, Target};
use drivescope_probe::align::{Evidence, Options, probe};
use drivescope_probe::{Desk, Known, NoKeeper, Outcome, Spent, Terms};
use engine::TargetBench;
use workload::plan::Region;

fn run(spec: &str, seed: u64) -> (Outcome<Evidence>, Spent) {
    let mut target = sim::open(spec).unwrap();
    let mut environment = target.environment();
    let cancel = AtomicBool::new(false);
    let length = target.info().capacity_bytes;
    let mut bench = TargetBench::new(&mut target, &mut environment, &cancel);
    let terms = Terms {
        region: Region { offset: Bytes::ZERO, length },
        may_write: false,
        time_budget: Nanos::secs(3600),
        write_budget: Bytes::ZERO,
        seed,
    };
    let mut keeper = NoKeeper;
    let mut desk = Desk::new(&mut bench, terms, &mut keeper);
    let outcome = probe(&mut desk, &Known::new(), &Options::default()).unwrap();
    (outcome, desk.spent())
}

#[test]
fn show() {
    let specs = std::env::var("SPECS").unwrap_or_default();
    for spec in specs.split_whitespace() {
        let begin = std::time::Instant::now();
        let (outcome, spent) = run(spec, 1);
        println!("== {spec} {:?} {:?}", begin.elapsed(), spent);
        for f in &outcome.findings {
            println!("{f:?}");
        }
        if std::env::var("ROWS").is_ok() {
            for r in &outcome
                .evidence
                .blocks
                .iter()
                .find(|b| Some(b.block_bytes) == outcome.evidence.spoke_bytes)
                .unwrap()
                .rows
            {
                println!(
                    "{:>10} n {:>5} pre {:8.1} on {:8.1} post {:8.1} d {:7.2}±{:5.2} s {:7.2}±{:5.2} a {:7.2}±{:5.2}",
                    r.align_bytes,
                    r.places,
                    r.pre_ns / 1e3,
                    r.on_ns / 1e3,
                    r.post_ns / 1e3,
                    r.diff.value_ns / 1e3,
                    r.diff.error_ns / 1e3,
                    r.excess.value_ns / 1e3,
                    r.excess.error_ns / 1e3,
                    r.sides.value_ns / 1e3,
                    r.sides.error_ns / 1e3
                );
            }
            for c in &outcome
                .evidence
                .blocks
                .iter()
                .find(|b| Some(b.block_bytes) == outcome.evidence.spoke_bytes)
                .unwrap()
                .judgement
                .pages
            {
                println!("{c:?}");
            }
        }
    }
}

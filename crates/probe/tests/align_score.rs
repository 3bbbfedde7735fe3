//! Scores on drawn cards.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "test code")]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use block::{Bytes, Nanos, Target};
use drivescope_probe::align::{Evidence, Options, probe};
use drivescope_probe::{Desk, Known, NoKeeper, Outcome, Spent, Terms, Verdict};
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

fn spec(seed: u64, level: f64) -> String {
    let shown = sim::show(&format!("sim:random-card?seed={seed}")).unwrap();
    let parameters = serde_json::to_value(&shown.parameters).unwrap();
    let ns = |name: &str| parameters["read"][name].as_f64().unwrap();
    let step = if ns("lookup_ns") > 0.0 { ns("lookup_ns") } else { 50_000.0 };
    let jitter = (level * step * 12f64.sqrt()) as u64;
    let spike = (12.0 * (ns("command_ns") + 150_000.0)) as u64;
    format!(
        "sim:random-card?seed={seed}&link.jitter_ns={jitter}&link.spike_ppm=10000&link.spike_ns={spike}"
    )
}

#[test]
#[ignore = "minutes"]
fn score() {
    let env = |name: &str, default: &str| std::env::var(name).unwrap_or(default.to_owned());
    let from: u64 = env("FROM", "0").parse().unwrap();
    let to: u64 = env("TO", "200").parse().unwrap();
    let level: f64 = env("LEVEL", "0.1").parse().unwrap();
    let next = AtomicU64::new(from);
    let tally: Mutex<BTreeMap<(usize, &str), u64>> = Mutex::new(BTreeMap::new());
    let (times, elapsed) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= to {
                        break;
                    }
                    let spec = spec(seed, level);
                    let truth = sim::show(&spec).unwrap().truth;
                    let begin = std::time::Instant::now();
                    let (outcome, spent) = run(&spec, seed);
                    times.lock().unwrap().push(begin.elapsed().as_secs_f64());
                    elapsed.lock().unwrap().push(spent.elapsed_ns.as_secs_f64());
                    let shows = truth.card.as_ref().unwrap().reads_show_boundaries;
                    let page = truth.page_bytes.unwrap().0;
                    let planes = u64::from(truth.planes.unwrap());
                    let right = [truth.erase_block_bytes.unwrap().0, page, page * planes];
                    if std::env::var("VERBOSE").is_ok() {
                        println!("{:#?}", outcome.findings);
                        for b in &outcome.evidence.blocks {
                            println!("{:?} {:#?} {:#?}", b.block_bytes, b.judgement.findings, b.judgement.pages);
                        }
                    }
                    for (at, finding) in outcome.findings.iter().enumerate() {
                        let what = match (finding.verdict, shows) {
                            (Verdict::Unknown, _) => "unknown",
                            (Verdict::None, false) => "right",
                            (Verdict::Found, true) if finding.value == Some(right[at]) => "right",
                            _ => "wrong",
                        };
                        *tally.lock().unwrap().entry((at, what)).or_default() += 1;
                        if what != "right" {
                            println!(
                                "seed {seed} {what} {:?} truth {right:?} shows {shows} got {:?} {:?} {}",
                                finding.name, finding.value, finding.confidence, finding.reason
                            );
                        }
                    }
                }
            });
        }
    });
    for (key, count) in tally.into_inner().unwrap() {
        println!("TALLY {key:?} {count}");
    }
    let stat = |v: Vec<f64>| {
        (v.iter().sum::<f64>() / v.len() as f64, v.iter().copied().fold(0.0, f64::max))
    };
    println!(
        "host s {:?} drive s {:?}",
        stat(times.into_inner().unwrap()),
        stat(elapsed.into_inner().unwrap())
    );
}

//! Comparison of a mark with its repetition.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use drivescope_mark::Body;
use drivescope_mark::repeat::{Outcome, compare};
use serde_json::{Value, json};

/// A body with one test of these rates in MB/s.
fn body(rates: &[f64], headline: bool) -> Body {
    // Three seconds of 4 KiB each: some 73,000 I/Os, of which one more or less is nothing.
    let run = |rate: &f64| {
        let ios = (rate * 3e6 / 4096.0) as u64;
        json!({
            "bytes": ios * 4096, "ios": ios, "duration_ns": 3_000_000_000_u64, "mb_s": rate, "iops": rate * 1e6 / 4096.0,
            "latency_ns": latency(), "slat_ns": 0.0, "clat_ns": 0.0,
        })
    };
    let spread = json!({
        "median": rates.first().unwrap_or(&0.0), "low": null, "high": null, "n": rates.len(), "r_over_avg": 0.0,
        "cv": 0.0, "best": 0.0,
    });
    let proof =
        json!({"verdict": "proven", "reason": "so", "evidence": {"share": 0.5, "count": 7}});
    let proofs = ["reached", "pattern", "steady", "repeatable", "unhindered", "undisturbed"]
        .map(|name| (name.to_owned(), proof.clone()));
    let body = json!({
        "target": {
            "name": "a", "kind": "block_device", "model": null, "serial": null,
            "capacity_bytes": 1, "logical_block_bytes": 512, "physical_block_bytes": 512,
            "rotational": null, "write_cache": "write_back", "cache_bytes": null,
            "link_bytes_per_s": null,
        },
        "stack": {"layers": [], "leaves": [{"name": "sda", "medium": "device", "model": null}]},
        "extents": null,
        "setup": {
            "engine": "psync", "direct": true, "durable": false, "region_bytes": 1,
            "region_offset_bytes": 0, "duration_ns": 1, "warm_up_ns": 0, "pause_ns": 0, "seed": 1,
            "order": [],
        },
        "tests": [{
            "name": "RND4K Q1T1", "op": "read", "block_bytes": 4096, "depth": 1, "threads": 1,
            "headline": headline, "runs": rates.iter().map(run).collect::<Vec<Value>>(),
            "mb_s": spread, "iops": spread, "latency_ns": latency(),
            "proofs": proofs.into_iter().collect::<serde_json::Map<_, _>>(),
        }],
        "caveats": [],
        "interrupted": false,
    });
    serde_json::from_value(body).unwrap()
}

fn latency() -> Value {
    json!({"p50": 1, "p99": 1, "p999": 1, "max": 1, "mean": 1.0})
}

const BEFORE: [f64; 6] = [100.0, 101.0, 99.5, 100.5, 99.8, 100.2];

fn outcome(again: &[f64]) -> Outcome {
    compare(&body(&BEFORE, true), &body(again, true), 2.0).tests[0].outcome
}

#[test]
fn each_outcome_has_its_case() {
    let times = |factor: f64| BEFORE.map(|rate| rate * factor);
    assert_eq!(outcome(&times(1.001)), Outcome::Agrees);
    assert_eq!(outcome(&times(1.10)), Outcome::Faster);
    assert_eq!(outcome(&times(0.90)), Outcome::Slower);
    assert_eq!(outcome(&times(1.02)), Outcome::Undecided);
    assert_eq!(outcome(&times(1.10)[..2]), Outcome::Undecided, "two runs show nothing");
    assert_eq!(outcome(&[]), Outcome::NotComparable);
    let withdrawn = compare(&body(&BEFORE, false), &body(&BEFORE, true), 2.0);
    assert_eq!(withdrawn.tests[0].outcome, Outcome::NotComparable);
    assert!(!withdrawn.identical && !withdrawn.differs());
    assert!(compare(&body(&BEFORE, true), &body(&times(0.9), true), 2.0).differs());
}

/// Too few runs for an interval leave a virtual drive undecided, though nothing differs at all.
#[test]
fn the_same_runs_agree_however_few() {
    let repeat = compare(&body(&BEFORE[..1], true), &body(&BEFORE[..1], true), 2.0);
    assert!(repeat.identical);
    assert_eq!(repeat.tests[0].outcome, Outcome::Agrees);
}

/// The record of a body is read back as it was, or it could not be compared with.
#[test]
fn a_body_is_read_back_as_it_was_written() {
    let body = body(&BEFORE, true);
    let text = serde_json::to_string(&body).unwrap();
    assert_eq!(serde_json::from_str::<Body>(&text).unwrap(), body);
}

//! The profile of a database's log: what it costs to wait for the drive, and drives that do not make one wait.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use common::{Ran, run};
use serde_json::Value;

const SHORT: [&str; 9] = [
    "--profile=commit",
    "--runs=2",
    "--duration=200ms",
    "--warm-up=20ms",
    "--pause=0",
    "--seed=7",
    "--json",
    "--no-progress",
    "--no-record",
];

fn commits(drive: &str) -> Value {
    run(&[&["mark", drive], &SHORT[..]].concat()).exits(0).body()
}

/// The same of a drive that loses acknowledged writes: exit code 1.
fn unsafe_commits(drive: &str) -> Value {
    let line = [&["mark", drive], &SHORT[..]].concat();
    let text: Vec<&str> = line.iter().copied().filter(|word| *word != "--json").collect();
    let page = run(&text).exits(1).stdout;
    assert!(page.find("✗ UNSAFE WRITE CACHE").unwrap() < page.find("Write  ").unwrap(), "{page}");
    run(&line).exits(1).body()
}

/// Median latency of each size, in nanoseconds.
fn p50(body: &Value, op: &str) -> Vec<u64> {
    let tests = body["tests"].as_array().unwrap();
    let of = tests.iter().filter(|test| test["op"] == op);
    of.map(|test| test["latency_ns"]["p50"].as_u64().unwrap()).collect()
}

fn doubts(body: &Value) -> Vec<&str> {
    let caveats = body["caveats"].as_array().unwrap();
    let codes = caveats.iter().map(|caveat| caveat["code"].as_str().unwrap());
    codes.filter(|code| code.starts_with("flush")).collect()
}

// Breaks when durable writes are not: of blocks that follow each other, each takes the disk a turn.
#[test]
fn a_disk_turns_once_for_each_commit() {
    let body = commits("sim:hdd-wd");
    let (cached, durable) = (p50(&body, "write"), p50(&body, "commit"));
    assert_eq!((cached.len(), durable.len()), (3, 3), "4, 8 and 16 KiB");
    let turn_ns = 60e9 / 5400.0;
    assert!(cached.iter().all(|ns| (*ns as f64) < 0.1 * turn_ns), "{cached:?}");
    assert!(durable.iter().all(|ns| (0.9..1.2).contains(&(*ns as f64 / turn_ns))), "{durable:?}");
    assert_eq!((doubts(&body), &body["setup"]["durable"]), (vec![], &Value::Bool(false)));
}

// A drive that answers before the data is safe loses a database; nothing but its haste shows it.
#[test]
fn a_drive_that_does_not_wait_is_told() {
    assert_eq!(
        doubts(&unsafe_commits("sim:hdd-wd?faults.ignores_flush=true")),
        ["flush_too_short"]
    );
    let through = unsafe_commits("sim:mlc-nvme?faults.ignores_flush=true");
    assert_eq!(doubts(&through), ["flush_for_nothing"]);
    assert_eq!(doubts(&commits("sim:mlc-nvme")), [""; 0], "programming takes its time");
    // That there is nothing to flush is the word of the drive that is doubted.
    let through = commits("sim:mlc-nvme?write_cache=write_through");
    assert_eq!(doubts(&through), ["flush_for_nothing"]);
    let caveats = through["caveats"].as_array().unwrap();
    let told = caveats.iter().find(|caveat| caveat["code"] == "flush_for_nothing").unwrap();
    assert!(told["cause"].as_str().unwrap().contains("no volatile cache"), "{told}");
}

#[test]
fn flags_that_contradict_it_are_refused() {
    let told = |flag: &str| -> Ran { run(&[&["mark", "sim:hdd-wd", flag], &SHORT[..]].concat()) };
    for flag in ["--read-only", "--dsync"] {
        let ran = told(flag).exits(2);
        assert!(ran.stderr.contains(&format!("leave out {flag}")), "{}", ran.stderr);
    }
    // To a device it writes, so that it is asked first, as for any write.
    let plan = run(&["plan", "--profile=commit", "--seed=7"]).exits(0);
    assert_eq!(plan.stdout.matches("fua = true").count(), 6, "{}", plan.stdout);
}

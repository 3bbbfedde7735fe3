//! The history of a drive, from records that are made of one real document.
#![allow(clippy::unwrap_used, reason = "these are tests")]

use crate::common;

use std::fs;
use std::path::Path;

use common::{run, scratch_dir};
use serde_json::{Value, json};

const DRIVE: &str = "sim:hdd-wd?seed=3";

/// A mark as it is printed.
fn mark() -> Value {
    let tests = ["--tests", "RND4KQ1T1", "--read-only", "--quick", "--seed", "1", "--json"];
    run([&["mark", DRIVE, "--no-record"], &tests[..]].concat()).json()
}

/// Imports a run for each share of the speed, a day after the other, each changed by `change`.
fn import(shares: &[f64], runs: &Path, change: impl Fn(usize, &mut Value)) {
    let mark = mark();
    let dir = scratch_dir();
    let mut files = Vec::new();
    for (day, share) in shares.iter().enumerate() {
        let mut document = mark.clone();
        let envelope = &mut document["envelope"];
        envelope["date"] = json!(format!("2026-03-{:02}T10:00:00Z", day + 1));
        envelope["run_id"] = json!(format!("202603{:02}T100000Z-{day:08x}", day + 1));
        for rate in ["median", "low", "high"] {
            let mb_s = &mut document["body"]["tests"][0]["mb_s"][rate];
            *mb_s = json!(mb_s.as_f64().unwrap() * share);
        }
        change(day, &mut document);
        let path = dir.path().join(format!("{day}.json"));
        fs::write(&path, document.to_string()).unwrap();
        files.push(path.display().to_string());
    }
    let place = runs.display().to_string();
    let line = ["runs", "import", "--runs-dir", &place].map(str::to_owned);
    run(line.into_iter().chain(files)).exits(0);
}

const STILL: [f64; 12] = [1.0, 1.02, 0.98, 1.01, 0.99, 1.03, 0.97, 1.02, 1.0, 0.99, 1.01, 0.98];

fn lost_a_tenth() -> Vec<f64> {
    (0..12).map(|day| STILL[day] * if day < 6 { 1.0 } else { 0.9 }).collect()
}

// Purpose of the verb: since when, by how much, and whether the drive is the cause.
#[test]
fn a_drive_that_lost_a_tenth_is_slower_since_the_day_it_did() {
    let runs = scratch_dir();
    let place = runs.path().to_str().unwrap();
    import(&lost_a_tenth(), runs.path(), |day, document| {
        let kernel = if day < 6 { "6.1.0" } else { "6.12.0" };
        document["envelope"]["host"]["kernel"] = json!(kernel);
    });
    let ran = run(["trend", DRIVE, "--runs-dir", place, "--json"]);
    let body = ran.exits(1).body();
    assert_eq!((&body["verdict"], &body["drive"]), (&json!("slower"), &json!(DRIVE)));
    let history = &body["histories"][0];
    assert_eq!(history["points"].as_array().unwrap().len(), 12);
    assert_eq!(history["course"]["at"], 6, "{history}");
    let ratio = &history["course"]["ratio"];
    let of = |end: &str| ratio[end].as_f64().unwrap();
    assert!(of("low") < 0.9 && 0.9 < of("high") && of("high") < 0.95, "{ratio}");
    let caveat = &body["caveats"][0];
    assert_eq!(caveat["code"], "changed_around");
    assert!(caveat["cause"].as_str().unwrap().contains("from 6.1.0 to 6.12.0"), "{caveat}");
    run(["trend", DRIVE, "--runs-dir", place])
        .exits(1)
        .prints(&["slower since 2026-03-07 (20260307T100000Z-00000006)", "6 runs before, 6 since"]);
}

#[test]
fn a_drive_that_is_what_it_was_is_not() {
    let runs = scratch_dir();
    let place = runs.path().to_str().unwrap();
    import(&STILL, runs.path(), |_, _| ());
    let body =
        run(["trend", DRIVE, "--margin", "5%", "--runs-dir", place, "--json"]).exits(0).body();
    assert_eq!(body["verdict"], "unchanged", "{body}");
    // Five days are too few for a verdict, and the output says so.
    let few = scratch_dir();
    let place = few.path().to_str().unwrap();
    import(&STILL[..5], few.path(), |_, _| ());
    let ran = run(["trend", DRIVE, "--runs-dir", place]);
    ran.exits(0).prints(&["5 runs are too few; 1 more would decide", "No test was made 6 times"]);
}

// Held together, a drive that was formatted and one that was replaced would have become slower or faster.
#[test]
fn what_was_measured_otherwise_or_is_another_drive_is_held_apart() {
    let runs = scratch_dir();
    let place = runs.path().to_str().unwrap();
    import(&lost_a_tenth(), runs.path(), |day, document| {
        let region = if day < 6 { 1_u64 << 30 } else { 1 << 28 };
        document["body"]["setup"]["region_bytes"] = json!(region);
    });
    let body = run(["trend", DRIVE, "--runs-dir", place, "--json"]).exits(0).body();
    assert_eq!(body["histories"].as_array().unwrap().len(), 2, "{body}");

    let runs = scratch_dir();
    let place = runs.path().to_str().unwrap();
    import(&lost_a_tenth(), runs.path(), |day, document| {
        let seed = if day < 6 { 3 } else { 4 };
        document["envelope"]["drive"]["name"] = json!(format!("sim:hdd-wd?seed={seed}"));
    });
    let several = run(["trend", "sim:hdd-wd", "--runs-dir", place]);
    several.fails(2, &["is several drives", "sim:hdd-wd?seed=3; sim:hdd-wd?seed=4"]);
    let listed =
        run(["runs", "list", "--drive", "sim:hdd-wd?seed=4", "--runs-dir", place, "--json"]);
    let runs = listed.exits(0).body()["runs"].as_array().unwrap().len();
    assert_eq!(runs, 6);
    let none = run(["trend", "NOSUCHSERIAL", "--runs-dir", place]);
    none.fails(2, &["NOSUCHSERIAL", "no recorded run"]);
}

// A number that a cache made would be a day on which the drive was fast.
#[test]
fn a_number_that_was_withdrawn_is_left_out() {
    let runs = scratch_dir();
    let place = runs.path().to_str().unwrap();
    import(&STILL, runs.path(), |day, document| {
        let test = &mut document["body"]["tests"][0];
        if day % 4 == 0 {
            test["headline"] = json!(false);
        }
    });
    let body = run(["trend", DRIVE, "--runs-dir", place, "--json"]).exits(0).body();
    assert_eq!(body["histories"][0]["points"].as_array().unwrap().len(), 9);
    let codes = body["caveats"].to_string();
    assert!(codes.contains("3 numbers are left out"), "{codes}");
}

/// Breaks when short runs and long ones are one history: the drive then changed on the day that the flags did.
#[test]
fn what_was_measured_for_longer_is_another_history() {
    let runs = scratch_dir();
    let place = runs.path().to_str().unwrap();
    let drive = "sim:hdd-wd";
    let mark = ["mark", drive, "--tests=SEQ1MQ1T1", "--write-only", "--runs-dir", place];
    for more in [&["--quick"][..], &[]] {
        for _ in 0..6 {
            run([&mark[..], more].concat()).exits(0);
        }
    }
    let ran = run(["trend", drive, "--runs-dir", place, "--json"]).exits(0);
    let histories = ran.body()["histories"].as_array().unwrap().clone();
    let lengths = histories.iter().map(|history| history["settings"]["duration_ns"].as_u64());
    assert_eq!(lengths.collect::<Vec<_>>(), [Some(500_000_000), Some(3_000_000_000)]);
    let text = run(["trend", drive, "--runs-dir", place]).exits(0).stdout;
    assert!(text.contains("with 500 ms measured") && text.contains("with 3 s measured"), "{text}");
}

//! Probing from the outside: the `--json` contract, what is written and what is not, a record that goes on, survey
//! rows.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs;

use common::storage::{Loop, has_means};
use common::{Ran, drivescope, run, scratch_dir, written_file};
use serde_json::Value;

/// The words of the contract, in order.
const NAMES: [&str; 13] = [
    "erase_block",
    "page",
    "multi_plane_page",
    "open_au_linear",
    "open_au_random",
    "fat_zone",
    "cell_bands",
    "slow_zone",
    "chunk",
    "interleave",
    "write_buffer",
    "slc_cache",
    "real_capacity",
];

fn probe(args: &[&str]) -> Ran {
    drivescope(["probe"]).args(args).args(["--no-progress", "--no-record"]).output().unwrap().into()
}

fn finding<'a>(body: &'a Value, name: &str) -> &'a Value {
    let findings = body["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

/// Asserts that a finding has the fields of the contract, and no value where it claims none.
#[track_caller]
fn has_the_form(finding: &Value) {
    let fields: Vec<&str> = finding.as_object().unwrap().keys().map(String::as_str).collect();
    let mut sorted = fields.clone();
    sorted.sort_unstable();
    let expected =
        ["assessment", "confidence", "high", "low", "name", "reason", "unit", "value", "verdict"];
    assert_eq!(sorted, expected, "{finding}");
    assert!(NAMES.contains(&finding["name"].as_str().unwrap()), "{finding}");
    assert!(["bytes", "count"].contains(&finding["unit"].as_str().unwrap()), "{finding}");
    assert!(!finding["reason"].as_str().unwrap().is_empty(), "{finding}");
    let verdict = finding["verdict"].as_str().unwrap();
    assert!(["found", "none", "unknown"].contains(&verdict), "{finding}");
    for field in ["value", "low", "high"] {
        assert_eq!(finding[field].is_u64(), verdict == "found", "{finding}");
    }
    if verdict == "found" {
        let of = |field: &str| finding[field].as_u64().unwrap();
        assert!(of("low") <= of("value") && of("value") <= of("high"), "{finding}");
    }
    match finding["confidence"].as_f64() {
        Some(share) => assert!((0.0..=1.0).contains(&share) && verdict != "unknown", "{finding}"),
        None => assert_eq!(verdict, "unknown", "{finding}"),
    }
}

// Breaks when the contract does: scripts read these fields, and a value beside `unknown` would be believed.
#[test]
fn the_chain_answers_in_the_form_of_the_contract() {
    let ran = probe(&["sim:sdcard-4m", "--seed=7", "--json"]).exits(0);
    let body = ran.body();
    let findings = body["findings"].as_array().unwrap();
    findings.iter().for_each(has_the_form);
    let names: Vec<&str> = findings.iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert_eq!(names, NAMES[..12], "everything but the real capacity is asked by the chain");
    assert_eq!(finding(&body, "erase_block")["value"], 4 << 20);
    assert_eq!(finding(&body, "page")["value"], 8 << 10);
    assert_eq!(finding(&body, "multi_plane_page")["value"], 16 << 10);
    assert_eq!(finding(&body, "open_au_linear")["value"], 2);
    let commands: Vec<&str> =
        body["advice"].as_array().unwrap().iter().filter_map(|a| a["command"].as_str()).collect();
    assert!(commands.iter().any(|c| c.contains("stride=4,stripe-width=1024")), "{commands:?}");
    let again = probe(&["sim:sdcard-4m", "--seed=7", "--json"]).exits(0);
    assert_eq!(again.body(), body, "a function of plan, model and seed");
}

// Breaks when probing without consent writes: whatever the drive holds would be lost unasked.
#[test]
fn without_consent_nothing_is_written() {
    let dir = scratch_dir();
    let file = dir.path().join("image");
    written_file(&file, 64 << 20);
    let before = fs::read(&file).unwrap();
    let name = file.to_str().unwrap();
    let ran = probe(&[name, "--json", "--time-budget=20s"]);
    let body = ran.body();
    assert_eq!(body["spent"]["written_bytes"], 0);
    assert_eq!(body["setup"]["may_write"], false);
    assert!(fs::read(&file).unwrap() == before, "the file is another one now");
    for verb in ["open-au", "fat", "write-buffer", "slc-cache", "capacity", "speed-class"] {
        let ran: Ran = drivescope(["probe", verb, name, "--no-record"]).output().unwrap().into();
        ran.fails(3, &[name, verb, "--write"]);
    }
    assert!(fs::read(&file).unwrap() == before, "the file is another one now");
}

// Breaks when structure is made up for a device that has none: a loop device's times are those of a page cache, a
// scheduler and a disk.
#[test]
fn a_plain_loop_device_has_no_structure() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(256 << 20, true);
    let ran = probe(&[device.dev(), "--json", "--time-budget=20s"]);
    let body = ran.body();
    for name in ["erase_block", "page", "multi_plane_page", "cell_bands"] {
        let answer = finding(&body, name);
        has_the_form(answer);
        assert_ne!(answer["verdict"], "found", "{answer}");
    }
}

#[test]
fn what_cannot_be_probed_is_named() {
    let dir = scratch_dir();
    let name = dir.path().to_str().unwrap();
    probe(&[name]).fails(2, &[name, "directory", "name the device"]);
    probe(&["/nonexistent"]).fails(2, &["/nonexistent", "sim:usb-8m"]);
    probe(&["null:"]).fails(2, &["null:"]);
    probe(&["sim:usb-8m", "--region=16GiB"]).fails(2, &["--region", "sim:usb-8m"]);
    probe(&["sim:usb-8m", "--erase-block=1000"]).fails(2, &["1000", "512"]);
    probe(&[]).fails(2, &["<TARGET>"]);
}

// Breaks when a killed or finished probe run starts over, or resumes with other answers than its record has.
#[test]
fn a_probing_goes_on_where_its_record_ends() {
    let runs = scratch_dir();
    let dir = runs.path().to_str().unwrap();
    let at = ["--no-progress", "--json", "--runs-dir", dir];
    let whole: Ran =
        drivescope(["probe", "sim:card-3m", "--seed=7"]).args(at).output().unwrap().into();
    let whole = whole.exits(0).body();
    let run = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let run = run.into_iter().find(|path| path.is_dir()).unwrap();
    // State after a kill during the third probe.
    let journal = fs::read_to_string(run.join("journal.jsonl")).unwrap();
    let lines: Vec<&str> = journal.lines().collect();
    let two = lines.iter().position(|line| line.contains("\"fat\"")).unwrap();
    fs::write(run.join("journal.jsonl"), lines[..two].join("\n") + "\n").unwrap();
    for name in ["end.json", "SHA256SUMS", "document.json", "series.csv", "histograms.hlog"] {
        fs::remove_file(run.join(name)).unwrap();
    }
    let ran: Ran = drivescope(["probe", "--resume", "last"]).args(at).output().unwrap().into();
    let ran = ran.exits(0).says(&["going on with"]);
    assert_eq!(ran.body(), whole);
    let other: Ran =
        drivescope(["probe", "--resume", "last", "--seed=8"]).args(at).output().unwrap().into();
    other.fails(2, &["--seed", "record"]);
}

// Breaks when a row identifies the drive's owner, or a table loses or doubles rows.
#[test]
fn rows_are_redacted_and_merge_into_a_table() {
    let dir = scratch_dir();
    let ran = probe(&["sim:usb-8m?identity.serial=SECRET123", "--seed=7", "--row"]).exits(0);
    let row = ran.stdout.clone();
    assert_eq!(row.lines().count(), 1, "{row}");
    assert!(!row.contains("SECRET123"), "{row}");
    let file = dir.path().join("list.txt");
    let other = "drivescope-row/1 | SA04G | 3904897024 B | 4 MiB | 16 KiB | none | 3/? | 98.0%";
    fs::write(&file, format!("A mail:\n> {row}\n> {row}and {other}\n")).unwrap();
    let file = file.to_str().unwrap();
    let merged = run(&["rows", "merge", file]).exits(0);
    assert_eq!(merged.stdout.matches("SA04G").count(), 1, "{}", merged.stdout);
    assert_eq!(merged.stdout.matches("USB stick").count(), 1, "{}", merged.stdout);
    assert!(merged.stdout.lines().all(|line| line.starts_with('|')), "{}", merged.stdout);
    let json = run(&["rows", "merge", file, "--json"]).exits(0).body();
    assert_eq!(json["rows"].as_array().unwrap().len(), 2);
    fs::write(dir.path().join("bad.txt"), "\ndrivescope-row/1 | a | b\n").unwrap();
    let bad = dir.path().join("bad.txt");
    run(&["rows", "merge", bad.to_str().unwrap()]).fails(2, &["bad.txt", "line 2", "7 columns"]);
}

// Breaks when a probe that only reads cannot be run where writing was consented to: it begins with a script that has no
// accesses, for which the ring has no slot.
#[test]
fn a_probe_that_only_reads_runs_on_a_device_that_may_be_written_to() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(64 << 20, true);
    let limits = ["--time-budget=5s", "--no-progress", "--no-record"];
    let args = ["probe", "align", device.dev(), "--write", "--consent", device.name()];
    let ran = run(&[&args[..], &limits].concat());
    assert!(!ran.stderr.contains("cannot enter"), "{}", ran.stderr);
    assert!(matches!(ran.code, Some(0 | 1)), "{:?}: {}", ran.code, ran.stderr);
}

/// Breaks when a counterfeit drive looks like one that passed.
#[test]
fn a_drive_that_holds_less_than_it_reports_fails() {
    let fake = probe(&["capacity", "sim:fake-64g", "--seed", "7"]);
    assert_eq!(fake.code, Some(1), "{}", fake.stdout);
    let warning = "✗ COUNTERFEIT OR DAMAGED: holds 7.40 GiB of the 58.6 GiB it reports";
    assert!(fake.stdout.contains(warning), "{}", fake.stdout);
    assert!(fake.stdout.contains("✗ real capacity"), "{}", fake.stdout);

    let honest = probe(&["capacity", "sim:usb-8m", "--seed", "7"]);
    assert_eq!(honest.code, Some(0), "{}", honest.stdout);
    assert!(!honest.stdout.contains('✗'), "{}", honest.stdout);

    let dir = scratch_dir();
    let report = dir.path().join("page.html");
    let mut survey = drivescope(["survey", "sim:fake-64g", "--seed", "7", "--no-progress"]);
    let survey: Ran = survey.arg("--report").arg(&report).output().unwrap().into();
    assert_eq!(survey.code, Some(1), "{}", survey.stdout);
    let warning = "✗ COUNTERFEIT: holds at most 7.40 GiB of the 58.6 GiB it reports; do not use it";
    assert!(survey.stdout.contains(warning), "{}", survey.stdout);
    // Neither a partition nor a filesystem is made on it.
    assert!(!survey.stdout.contains("sfdisk") && !survey.stdout.contains("mkfs"));
    assert!(fs::read_to_string(report).unwrap().contains("COUNTERFEIT"));
}

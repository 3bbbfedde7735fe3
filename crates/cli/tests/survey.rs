//! `survey`: its parts, its conclusions, its record.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs;

use common::{run, scratch_dir};
use serde_json::Value;

fn said<'a>(body: &'a Value, topic: &str) -> &'a Value {
    let all = body["conclusions"].as_array().unwrap();
    all.iter().find(|said| said["topic"] == topic).unwrap_or_else(|| panic!("no {topic}"))
}

// Breaks when a conclusion is not what the model is, when the same survey says something else the next time, or when a
// part's command is not one that can be typed.
#[test]
fn a_stick_is_told_for_what_it_is() {
    let line = ["survey", "sim:usb-8m", "--seed=7", "--no-record", "--json"];
    let body = run(line).json()["body"].clone();
    assert_eq!(said(&body, "drive_kind")["value"], "memory card or stick");
    assert_eq!(said(&body, "erase_block")["value"]["value"], 8_388_608.0);
    assert_eq!(said(&body, "fat_zone")["value"]["value"], 4_194_304.0);
    assert_eq!(said(&body, "queue_depth")["verdict"], "none");
    assert_eq!(body, run(line).json()["body"]);
    let parts = body["parts"].as_array().unwrap();
    assert!(parts.iter().all(|part| part["command"].as_str().unwrap().starts_with("drivescope ")));
}

// Breaks when a disk is asked for what only flash has, or its rotation is read wrong.
#[test]
fn a_disk_is_asked_for_its_rotation() {
    let body =
        run(["survey", "sim:hdd-7200", "--seed=7", "--no-record", "--json"]).json()["body"].clone();
    assert_eq!(said(&body, "rotation")["value"]["value"], 7200.0);
    assert!(
        !body["conclusions"].as_array().unwrap().iter().any(|said| said["topic"] == "erase_block")
    );
}

// Breaks when the record does not lead to the parts' runs, or cannot be shown again.
#[test]
fn the_record_names_the_runs_of_its_parts() {
    let dir = scratch_dir();
    let place = format!("--runs-dir={}", dir.path().display());
    let json = run(["survey", "sim:hdd-7200", "--seed=7", "--json", &place]).json();
    let runs = json["envelope"]["parts"].as_array().unwrap();
    assert_eq!(runs.len(), json["body"]["parts"].as_array().unwrap().len());
    for id in runs.iter().chain([&json["envelope"]["run_id"]]) {
        let shown = run(["runs", "show", id.as_str().unwrap(), &place]);
        assert_eq!(shown.code, Some(0), "{id}");
    }
}

// A person who typed one command wants one thing to look at, and in it what each part saw.
#[test]
fn a_report_has_the_survey_and_the_charts_of_its_parts() {
    let dir = scratch_dir();
    let place = format!("--runs-dir={}", dir.path().display());
    let page = dir.path().join("page.html");
    let file = format!("--report={}", page.display());
    let ran = run(["survey", "sim:usb-8m", "--seed=7", "--no-progress", &place, &file]).exits(0);
    assert!(ran.stderr.trim_end().lines().last().unwrap().contains("page.html"), "{}", ran.stderr);
    let page = fs::read_to_string(page).unwrap();
    for words in ["survey: sim:usb-8m", "erase block", "Read: latency by share of I/Os", "<svg"] {
        assert!(page.contains(words), "{words} is missing");
    }
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
}

// If the current directory is in memory, nothing may be measured there. Users who only want to see the program get a survey of
// a virtual drive, and a note that it is one.
#[test]
fn without_a_disk_a_virtual_drive_is_surveyed_and_that_is_said() {
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        println!("skipped: needs /dev/shm");
        return;
    };
    let dir = scratch_dir();
    let place = format!("--runs-dir={}", dir.path().display());
    let mut survey = common::drivescope(["survey", "--no-progress", "--seed=7", "--json", &place]);
    let ran: common::Ran = survey.current_dir(memory.path()).output().unwrap().into();
    let body = ran.exits(0).json()["body"].clone();
    assert!(body["target"]["name"].as_str().unwrap().starts_with("sim:"), "{}", body["target"]);
    assert!(body["chosen"].as_str().is_some_and(|why| !why.is_empty()));
}

// A directory that turns out to take no file leaves no run behind that holds nothing and never ended.
#[test]
fn what_was_begun_where_nothing_can_be_measured_is_taken_back() {
    let dir = scratch_dir();
    let place = format!("--runs-dir={}", dir.path().display());
    let mut survey = common::drivescope(["survey", "--no-progress", "--seed=7", "--json", &place]);
    let ran: common::Ran = survey.current_dir("/sys").output().unwrap().into();
    assert!(ran.exits(0).json()["body"]["target"]["name"].as_str().unwrap().starts_with("sim:"));
    let listed = run(["runs", "list", "--json", &place]).json();
    let listed = listed["body"]["runs"].as_array().unwrap().clone();
    assert!(listed.len() > 1, "{listed:?}");
    assert!(listed.iter().all(|run| run["state"] == "finished"), "{listed:?}");
}

// The advice of a part names flags that a survey does not have.
#[test]
fn a_file_without_a_block_is_refused_in_the_words_of_a_survey() {
    let dir = scratch_dir();
    let file = dir.path().join("small");
    fs::write(&file, [7; 4096]).unwrap();
    let ran = run(["survey", file.to_str().unwrap(), "--no-record"]).exits(2);
    assert!(
        ran.stderr.contains("small has 4 KiB") && ran.stderr.contains("hint: name a larger file")
    );
}

/// A printed survey with `change` made to one of its conclusions, shown again.
fn shown(body: &Value, topic: &str, change: Value) -> String {
    let dir = scratch_dir();
    let mut document = body.clone();
    let all = document["body"]["conclusions"].as_array_mut().unwrap();
    let said = all.iter_mut().find(|said| said["topic"] == topic).unwrap();
    change.as_object().unwrap().iter().for_each(|(name, to)| said[name] = to.clone());
    let file = dir.path().join("survey.json");
    fs::write(&file, document.to_string()).unwrap();
    run(["show", file.to_str().unwrap()]).exits(0).stdout
}

// Breaks when one kind of bad conclusion is not first, or a rate that is not confirmed looks like one that is.
#[test]
fn each_bad_conclusion_comes_first_and_no_provisional_rate_is_ticked() {
    let json = run(["survey", "sim:sata-a", "--seed=7", "--no-record", "--json"]).json();
    let bad = |topic: &str, statement: &str| {
        let change = serde_json::json!({ "assessment": "bad", "statement": statement });
        let page = shown(&json, topic, change);
        let first = page.lines().find(|line| line.starts_with('✗')).unwrap().to_owned();
        assert!(first.contains(statement), "{page}");
        let row = page.lines().filter(|line| line.starts_with("✗ ")).count();
        assert_eq!(row, 2, "the warning, and the first row: {page}");
        assert!(page.find("\n✗ ").unwrap() < page.find("\n✓ ").unwrap(), "{page}");
    };
    bad("health", "a drive at its end");
    bad("trust", "each result failed");
    bad("erase_block", "off the grid");
    let mut rates = 0;
    for said in json["body"]["conclusions"].as_array().unwrap() {
        rates += usize::from(said["provisional"] == true);
    }
    let page =
        shown(&json, "random_read", serde_json::json!({ "provisional": true, "verdict": "found" }));
    let row = page.lines().find(|line| line.contains("random read")).unwrap();
    assert!(row.starts_with("! ") && row.ends_with("provisional"), "{page}");
    let marks = page.lines().filter(|line| line.ends_with("provisional")).count();
    assert!((rates..=rates + 1).contains(&marks), "{rates}: {page}");
}

// Breaks when a probe that found a partition within an erase block, or a test whose drive is not steady, says so at its end only.
#[test]
fn a_wrong_offset_and_an_unsteady_drive_are_said_first() {
    let dir = scratch_dir();
    let mut json =
        run(["probe", "interval", "sim:usb-8m", "--seed=7", "--no-record", "--json"]).json();
    let why = "it is partitioned: partition 1 begins at 1 MiB, 1 MiB into an erase block";
    let advice = serde_json::json!({ "topic": "partitions", "command": null, "why": why });
    json["body"]["advice"].as_array_mut().unwrap().push(advice);
    let file = dir.path().join("probe.json");
    fs::write(&file, json.to_string()).unwrap();
    let page = run(["show", file.to_str().unwrap()]).exits(0).stdout;
    let bad = page.lines().position(|line| line.starts_with("✗ PARTITION OFFSET: ")).unwrap();
    assert!(bad < 6, "{page}");

    let line = ["pts", "latency", "sim:enterprise-28op", "--minute=0.1%", "--no-purge", "--seed=7"];
    let page = run(line.into_iter().chain(["--no-record", "--no-progress"])).exits(1).stdout;
    let bad = page.find("✗ The drive is not steady").unwrap();
    assert!(bad < page.find("Steady state of").unwrap(), "{page}");
}

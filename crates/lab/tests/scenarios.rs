//! The scenarios of this repository, as far as they can be looked at without a machine to run them on.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use drivescope_lab::scenario::{DIRECTORY, Scenario, read_all};

fn scenarios() -> Vec<Scenario> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    read_all(&root.join(DIRECTORY)).unwrap()
}

/// Those of the core run whenever the tests do, and together within minutes.
#[test]
fn every_scenario_can_be_read_and_some_are_of_the_core() {
    let scenarios = scenarios();
    let core = scenarios.iter().filter(|s| s.tags.iter().any(|tag| tag == "core")).count();
    assert!(core >= 2, "{core} scenarios are of the core");
}

/// A serial number that two drives have would let the one pass for the other, unless the scenario is about that.
#[test]
fn drives_have_serial_numbers_of_their_own() {
    let mut owners: BTreeMap<String, String> = BTreeMap::new();
    for scenario in scenarios() {
        for drive in scenario.drives.iter().filter(|drive| drive.serial.is_none()) {
            let owner = format!("{}: {}", scenario.name, drive.name);
            let before = owners.insert(drive.serial(&scenario.name), owner.clone());
            assert!(before.is_none(), "{owner} has the serial number of {before:?}");
        }
    }
}

/// A machine without the emulator must say why nothing ran, in words that `scripts/means` knows.
#[test]
fn without_an_emulator_every_scenario_is_skipped_for_a_reason() {
    let empty = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_lab"))
        .args(["run", "--tag", "core", "--program", "/dev/null"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("LAB_PATH", empty.path())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.lines().any(|line| line == "skipped: busybox is not installed"), "{text}");
    assert!(text.contains(" passed; 0 failed; 0 ignored"), "{text}");
    assert!(text.trim_end().ends_with(" skipped"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("---- lab::")), "{text}");
}

#[test]
fn a_name_that_is_none_is_wrong_use() {
    let output = Command::new(env!("CARGO_BIN_EXE_lab"))
        .args(["run", "no-such-scenario"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("no scenario is named \"no-such-scenario\""), "{text}");
}

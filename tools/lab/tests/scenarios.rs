//! The scenarios of this repository, as far as they can be looked at without a machine to run them on.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use drivescope_lab::group::Batch;
use drivescope_lab::kernel::Kernel;
use drivescope_lab::modules::Index;
use drivescope_lab::run::Lab;
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

/// Tools by the package of Debian that contains them.
const PACKAGES: [(&str, &[&str]); 12] = [
    ("bcache-tools", &["make-bcache", "bcache-super-show"]),
    ("btrfs-progs", &["btrfs", "mkfs.btrfs"]),
    ("cryptsetup-bin", &["cryptsetup", "veritysetup", "integritysetup"]),
    ("dmsetup", &["dmsetup"]),
    ("dosfstools", &["mkfs.vfat", "fsck.vfat"]),
    ("e2fsprogs", &["mkfs.ext4", "e2fsck", "tune2fs", "dumpe2fs", "debugfs", "chattr"]),
    ("f2fs-tools", &["mkfs.f2fs"]),
    ("jfsutils", &["mkfs.jfs", "fsck.jfs"]),
    ("lvm2", &["lvm", "pvcreate", "vgcreate", "lvcreate", "vgchange", "vgremove", "pvremove"]),
    ("mdadm", &["mdadm"]),
    ("mount", &["losetup", "mount", "umount", "swapon"]),
    ("xfsprogs", &["mkfs.xfs", "xfs_repair"]),
];

/// A tool that no package brings is skipped for ever on a machine that has only what `scripts/packages` names.
#[test]
fn every_tool_is_of_a_package_that_is_installed_for_the_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let listed = std::fs::read_to_string(root.join("scripts/packages")).unwrap();
    for scenario in scenarios() {
        for tool in &scenario.tools {
            let package = PACKAGES.iter().find(|(_, tools)| tools.contains(&tool.as_str()));
            let Some((package, _)) = package else {
                panic!("{}: {tool}: which package is it in?", scenario.name);
            };
            let found = listed.lines().any(|line| line.split(' ').next() == Some(*package));
            assert!(found, "{}: {tool}: scripts/packages has no {package}", scenario.name);
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

/// Scenarios of a machine that cannot be made would else be missing from the table, unnoticed.
#[test]
fn a_machine_that_cannot_be_made_fails_every_scenario_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let none = directory.path().join("none");
    let kernel = Kernel {
        image: none.clone(),
        modules: none.clone(),
        index: Index::default(),
        release: "0".to_owned(),
    };
    let lab = Lab {
        kernel,
        program: none.clone(),
        agent: none,
        directory: directory.path().to_owned(),
        keep: false,
    };
    let batch = Batch { kernel: String::new(), scenarios: scenarios() };
    let told = Cell::new(0);
    let outcomes = lab.run(0, &batch, &|_| told.set(told.get() + 1));
    assert_eq!(outcomes.len(), batch.scenarios.len());
    assert_eq!(told.get(), outcomes.len());
    assert!(outcomes.iter().all(|outcome| !outcome.is_green() && !outcome.faults.is_empty()));
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

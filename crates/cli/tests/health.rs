//! The JSON of `health`, on recordings and on virtual drives, and what changed between two readings.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Ran, run, scratch_dir};
use serde_json::Value;

fn recording(name: &str) -> String {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts/health.in");
    format!("commands:{}", dir.join(name).display())
}

fn health(target: &str, more: &[&str]) -> Ran {
    run(["health", target, "--json"].iter().chain(more).copied())
}

// Breaks when health without a drive is an error, or does not say how to name one.
#[test]
fn without_a_drive_the_drives_are_listed() {
    let (ours, devices) = (run(["health"]), run(["devices"]));
    assert_eq!((ours.code, &ours.stdout), (devices.code, &devices.stdout));
    if ours.code == Some(0) {
        ours.says(&["drivescope health /dev/"]);
    }
}

/// Every fact is there or has a reason, and every finding says what to do.
fn contract(json: &Value) {
    assert_eq!(json["envelope"]["schema"], "drivescope.health/1");
    assert!(!json["body"]["stack"]["leaves"].as_array().unwrap().is_empty());
    let drives = json["body"]["drives"].as_array().unwrap();
    assert!(!drives.is_empty());
    for drive in drives {
        for (name, value) in drive.as_object().unwrap() {
            let has_reason = drive["missing"][name].as_str().is_some_and(|why| !why.is_empty());
            assert_eq!(value.is_null(), has_reason, "{name}: {value}");
        }
        for finding in drive["findings"].as_array().unwrap() {
            for field in ["code", "severity", "cause", "remedy"] {
                assert!(!finding[field].as_str().unwrap().is_empty(), "{finding}");
            }
        }
        let words = ["good", "attention", "bad", "not_told"];
        assert!(words.contains(&drive["standing"].as_str().unwrap()));
    }
}

#[test]
fn the_contract_holds_for_every_protocol() {
    for (name, code, protocol, standing) in [
        ("worn-nvme.commands", 1, "nvme", "bad"),
        ("qemu-nvme0n1.commands", 0, "nvme", "good"),
        ("failing-sata.commands", 1, "ata", "bad"),
        ("resting-sata.commands", 0, "ata", "not_told"),
        ("failing-sas.commands", 1, "scsi", "bad"),
    ] {
        let ran = health(&recording(name), &[]);
        assert_eq!(ran.code, Some(code), "{name}: {}", ran.stderr);
        let json = ran.json();
        contract(&json);
        let drive = &json["body"]["drives"][0];
        assert_eq!(
            (&drive["detail"]["protocol"], &drive["standing"]),
            (&protocol.into(), &standing.into())
        );
    }
    let json = health("sim:mlc-nvme", &[]).json();
    contract(&json);
    assert_eq!(json["body"]["drives"][0]["temperature_c"], 45);
}

// Breaks when a worn drive that has not failed passes for one that is well, or what is bad is not said first.
#[test]
fn a_worn_drive_is_bad_first_and_in_the_exit_code() {
    let dir = scratch_dir();
    let worn = fs::read_to_string(recording("worn-nvme.commands").trim_start_matches("commands:"))
        .unwrap();
    // Without critical warning, spare 100%.
    let worn = worn.replace(". 0000 01 5f 01 03 0a 68", ". 0000 00 5f 01 64 0a 68");
    let file = dir.path().join("worn.commands");
    fs::write(&file, worn).unwrap();
    let of = format!("commands:{}", file.display());
    let page = run(["health", &of]).exits(1).stdout;
    let lines: Vec<&str> = page.lines().collect();
    assert!(lines[1].starts_with("  ✗ worn or damaged"), "{page}");
    assert!(lines[2].starts_with("  ✗ life used: 104%"), "{page}");
    assert!(page.find("  ! 78 °C").unwrap() > page.find("  serial").unwrap(), "{page}");
    assert_eq!(run(["health", &of, "--json"]).json()["body"]["drives"][0]["standing"], "attention");
    let page = run(["health", &recording("failing-sata.commands")]).exits(1).stdout;
    assert!(page.lines().nth(1).unwrap().starts_with("  ✗ bad"), "{page}");
}

fn saved(dir: &Path, json: &Value) -> PathBuf {
    let path = dir.join("earlier.json");
    fs::write(&path, json.to_string()).unwrap();
    path
}

#[test]
fn what_changed_is_told_for_the_same_drive_alone() {
    let dir = scratch_dir();
    let target = recording("worn-nvme.commands");
    let mut earlier = health(&target, &[]).json();
    let drive = &mut earlier["body"]["drives"][0];
    drive["host_write_bytes"] = Value::from(drive["host_write_bytes"].as_u64().unwrap() - 512_000);
    drive["media_errors"] = Value::from(13);
    drive["findings"].as_array_mut().unwrap().retain(|f| f["code"] != "spare_low");
    let path = saved(dir.path(), &earlier);
    let since = format!("--since={}", path.display());
    let json = health(&target, &[&since]).json();
    let change = &json["body"]["changes"][0];
    let counter = |name: &str| {
        let all = change["counters"].as_array().unwrap();
        all.iter().find(|counter| counter["name"] == name).unwrap().clone()
    };
    let written = counter("host_write_bytes");
    assert_eq!(written["after"].as_u64().unwrap() - written["before"].as_u64().unwrap(), 512_000);
    assert_eq!(change["arisen"][0]["code"], "spare_low");
    let page = run(["health", &target, &since]).stdout;
    assert!(page.contains("writes by the host  +500 KiB"), "{page}");
    assert!(page.contains("went back from 13 to 12"), "{page}");
    assert!(page.contains("new: spare 3%"), "{page}");

    let other = health(&recording("failing-sata.commands"), &[&since]);
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("another drive"), "{}", other.stderr);
    let nothing = health(&target, &["--since=none.json"]);
    assert!(nothing.code == Some(2) && nothing.stderr.contains("none.json"), "{}", nothing.stderr);
    earlier["envelope"]["schema"] = "drivescope.mark/1".into();
    saved(dir.path(), &earlier);
    let form = health(&target, &[&since]).stderr;
    assert!(form.contains("has the form drivescope.mark/1"), "{form}");
}

//! `scripts/field-trial`: its archives can be imported again, and do not identify the drive's owner.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::common::storage::{Loop, has_means, tool};
use super::common::{Ran, drivescope, scratch_dir};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/field-trial");
const HOST: &str = "planted-host-of-alice";
const USER: &str = "alice-planted";
const SERIAL: &str = "PLANTED-SERIAL-0042";

/// A program in place of drivescope that gives each drive a serial number in what it exports: a loop device has none.
const WRAPPER: &str = r#"#!/bin/bash
set -e
"@PROGRAM@" "$@"
[[ $1 == runs && $2 == export ]] || exit 0
work=$(mktemp -d); cd "$work"
tar -xzf "$4"
for run in */; do
    cd "$run"
    sed -i -E 's/"serial": (null|"[^"]*")/"serial": "@SERIAL@"/' envelope.json document.json
    while read -r old file; do
        new=$(sha256sum "$file"); sed -i "s/$old/${new%% *}/" record.json
    done < <(grep -v record.json SHA256SUMS)
    sha256sum $(sed 's/.*  //' SHA256SUMS) >sums; mv sums SHA256SUMS
    cd ..
done
tar -czf "$4" */*
rm -rf "$work"
"#;

/// Runs the script on a machine of the planted name.
fn trial(dir: &Path, device: &str, archive: &Path) -> Ran {
    let wrapper = dir.join("drivescope");
    let program = env!("CARGO_BIN_EXE_drivescope");
    fs::write(&wrapper, WRAPPER.replace("@PROGRAM@", program).replace("@SERIAL@", SERIAL)).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    let inside = format!("hostname {HOST} && exec {SCRIPT} {device} {}", archive.display());
    let mut command = Command::new("unshare");
    command.args(["--uts", "bash", "-c", &inside]).env("DRIVESCOPE", &wrapper);
    command.env("FIELD_TRIAL_SECONDS", "12").env("USER", USER).env("TMPDIR", dir);
    command.output().unwrap().into()
}

// Breaks when an archive that people are asked to hand in names their machine, themselves or the very drive, or cannot be
// taken in.
#[test]
fn an_archive_names_nobody_and_is_taken_in() {
    if !has_means(&["losetup", "unshare", "hostname", "tar", "sha256sum"]) {
        return;
    }
    let home = scratch_dir();
    let dir = home.path().join(USER);
    fs::create_dir(&dir).unwrap();
    let image = dir.join("image");
    super::common::written_file(&image, 64 << 20);
    let device = Loop::attached(
        tool("losetup", &["--find", "--show", "--direct-io=on", image.to_str().unwrap()]),
        &image,
    );
    let before = fs::read(&image).unwrap();
    let archive = dir.join("trial.tar.gz");
    trial(&dir, device.dev(), &archive).exits(0);
    assert!(fs::read(&image).unwrap() == before, "it reads only");
    // Everything in it.
    let unpacked = dir.join("unpacked");
    fs::create_dir(&unpacked).unwrap();
    tool("tar", &["-xzf", archive.to_str().unwrap(), "-C", unpacked.to_str().unwrap()]);
    let text = unpacked.to_str().unwrap();
    for name in [HOST, USER, SERIAL, dir.to_str().unwrap()] {
        let found = Command::new("grep").args(["-rlaF", name, text]).output().unwrap();
        let files = String::from_utf8_lossy(&found.stdout);
        assert!(files.is_empty(), "{name} is in {files}");
    }
    let listed = tool("tar", &["-tvzf", archive.to_str().unwrap()]);
    assert!(listed.contains(".parquet") && listed.contains("rows.txt"), "{listed}");
    assert!(listed.lines().all(|line| line.contains(" 0/0 ")), "{listed}");
    // The planted serial number was there to be taken out.
    let envelopes =
        Command::new("grep").args(["-rlF", "\"serial\": \"private\"", text]).output().unwrap();
    assert!(!envelopes.stdout.is_empty());
    let runs = dir.join("runs");
    let on = |args: &[&str]| -> Ran {
        let mut command = drivescope(args);
        command.env("DRIVESCOPE_RUNS_DIR", &runs).output().unwrap().into()
    };
    on(&["runs", "import", archive.to_str().unwrap()]).exits(0);
    on(&["runs", "list"]).exits(0).prints(&["probe", "probe interval", "probe surface"]);
    on(&["runs", "show", "last"]).prints(&["drivescope probe surface: "]);
    on(&["rows", "merge", archive.to_str().unwrap()]).exits(0).prints(&["67108864 B"]);
}

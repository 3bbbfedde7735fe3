//! `probe capacity --full` on a loop device: what it says before it erases, and how it resumes after SIGKILL.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use std::fs;
use std::path::Path;

use super::common::storage::{Loop, has_means, tool};
use super::common::{Alive, Ran, drivescope, run, scratch_dir, wait_for};

const SIZE: u64 = 192 << 20;

fn full(device: &Loop, runs: &Path) -> std::process::Command {
    let args =
        ["probe", "capacity", device.dev(), "--full", "--write", "--no-progress", "--seed=7"];
    let mut command = drivescope(args);
    command.args(["--consent", device.name()]).arg(format!("--runs-dir={}", runs.display()));
    command
}

/// Lines of the journal of the only run, as far as it has come.
fn lines(runs: &Path) -> usize {
    let text = |dir: fs::DirEntry| fs::read_to_string(dir.path().join("journal.jsonl")).ok();
    let dirs = fs::read_dir(runs).into_iter().flatten().flatten();
    dirs.filter_map(text).map(|text| text.lines().count()).max().unwrap_or(0)
}

// Breaks when a drive is erased without that being said, though it holds something, or consent is not asked for.
#[test]
fn that_everything_is_erased_is_said_before() {
    if !has_means(&["losetup", "mkfs.ext4"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    tool("mkfs.ext4", &["-q", "-E", "nodiscard", device.dev()]);
    let before = fs::read(&device.image).unwrap();
    let words = [
        "--full writes up to 192 MiB, and erases everything that the drive holds",
        "--allow signature:ext4",
    ];
    run(["probe", "capacity", device.dev(), "--full"]).exits(3).says(&words);
    let runs = scratch_dir();
    let refused: Ran = full(&device, runs.path()).output().unwrap().into();
    let words =
        ["--full erases everything on it: all 192 MiB are written", "--allow signature:ext4"];
    refused.exits(3).says(&words);
    let little = full(&device, runs.path()).arg("--write-budget=1MiB").output().unwrap();
    Ran::from(little)
        .exits(2)
        .says(&["--full writes all 192 MiB of ", "hint: leave --write-budget out"]);
    assert!(fs::read(&device.image).unwrap() == before);
}

// Breaks when a run that was killed cannot go on, or says that what an earlier process wrote was lost.
#[test]
fn a_run_that_was_killed_resumes() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    for parts in [1, 9, 14, 20] {
        let runs = scratch_dir();
        let mut alive = Alive::start(&mut full(&device, runs.path()));
        wait_for("some parts", || {
            let is_over = alive.child().try_wait().unwrap().is_some();
            (is_over || lines(runs.path()) > parts).then_some(())
        });
        let _ = alive.child().kill();
        drop(alive);
        let mut resume =
            drivescope(["probe", "capacity", device.dev(), "--resume=last", "--write"]);
        resume.args(["--consent", device.name(), "--json", "--no-progress"]);
        resume.arg(format!("--runs-dir={}", runs.path().display()));
        let ran: Ran = resume.output().unwrap().into();
        // It may have got to its end before it was killed.
        if ran.code == Some(2) && ran.stderr.contains("finished") {
            continue;
        }
        let body = ran.exits(0).says(&["going on with "]).body();
        let evidence = &body["evidence"]["full"];
        assert_eq!(evidence["verified_bytes"], SIZE, "{evidence}");
        assert_eq!(evidence["bad_bytes"], 0, "{evidence}");
        assert_eq!(body["findings"][0]["value"], SIZE);
        // All sectors were written: no part was left out.
        let image = fs::read(&device.image).unwrap();
        let is_stamp = |sector: &[u8]| sector[..8] == image[..8];
        assert!(image.chunks(512).all(is_stamp), "a sector holds something else");
    }
}

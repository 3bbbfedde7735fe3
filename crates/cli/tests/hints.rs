//! What is told to do next can be done: each command that a recorded run is shown with, run as it stands.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::recorded::{Recorded, at, only};
use common::{Ran, names, scratch_dir};

/// Verbs that record, quick on virtual drives.
const VERBS: [&[&str]; 5] = [
    &["mark", "sim:hdd-7200", "--quick", "--seed=7", "--tests=RND4KQ1T1", "--runs=2"],
    &["probe", "align", "sim:usb-8m", "--seed=7"],
    &["survey", "sim:card-3m", "--seed=7", "--time-budget=1min", "--no-live"],
    &[
        "pts",
        "latency",
        "sim:enterprise-28op?capacity=512MiB",
        "--minute=0.1%",
        "--no-purge",
        "--seed=5",
        "--no-live",
    ],
    &["purge", "sim:enterprise-28op?capacity=512MiB"],
];

/// Makes of an ended run one that was killed before its first step was whole.
fn kill(run: &Recorded) {
    for name in ["end.json", "SHA256SUMS", "document.json", "series.csv", "histograms.hlog"] {
        // A purge that was killed is made anew, as another run.
        let _ = fs::remove_file(run.path(name));
    }
    fs::write(run.path("journal.jsonl"), "").unwrap();
}

/// The commands of drivescope that `text` tells; those that do something, not those that show.
fn told(text: &str) -> Vec<Vec<String>> {
    let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let commands = whole.split("drivescope ").skip(1);
    // What stands behind a command in a listing begins with a mark.
    let words = |line: &str| -> Vec<String> {
        line.split(' ')
            .take_while(|word| !["!", "✗", "✓"].contains(word))
            .map(str::to_owned)
            .collect()
    };
    let verbs: Vec<&str> = VERBS.iter().map(|verb| verb[0]).chain(["run", "rerun"]).collect();
    commands.map(words).filter(|words| verbs.contains(&words[0].as_str())).collect()
}

/// Runs the last command that `ran` told: the hint.
fn follow(ran: &Ran, runs: &Path) -> Ran {
    let text = format!("{} {}", ran.stdout, ran.stderr);
    // What the run was made with is told above it.
    let words = told(&text).pop().unwrap_or_else(|| panic!("no command is told: {text}"));
    let line = format!("{} {}", env!("CARGO_BIN_EXE_drivescope"), words.join(" "));
    let mut shell = Command::new("sh");
    shell.args(["-c", &line]).env("DRIVESCOPE_RUNS_DIR", runs).stdin(Stdio::null());
    let ran: Ran = shell.output().unwrap().into();
    assert!(matches!(ran.code, Some(0 | 1)), "{line}: {}", ran.stderr);
    ran
}

// Breaks when a run that was not finished is told to go on in a way that refuses it.
#[test]
fn a_run_that_was_killed_goes_on_as_it_is_told_everywhere() {
    for verb in VERBS {
        let dir = scratch_dir();
        at(dir.path(), verb);
        let first = common::recorded::recorded(dir.path()).remove(0);
        let whole = at(dir.path(), &["runs", "show", &first.id()]).exits(0).stdout;
        for ask in [&["runs", "show"][..], &["show"], &["rerun"], &["report"]] {
            kill(&first);
            let ran = at(dir.path(), &[ask, &[&first.id()]].concat());
            follow(&ran, dir.path());
            // A purge is made anew.
            if verb[0] != "purge" {
                let again = at(dir.path(), &["runs", "show", &first.id()]).exits(0).stdout;
                assert_eq!(again.lines().next(), whole.lines().next(), "{verb:?} after {ask:?}");
            }
        }
    }
}

// Breaks when a finished run is told to be repeated in a way that refuses it.
#[test]
fn a_finished_run_is_made_again_as_it_is_told() {
    for verb in VERBS {
        let dir = scratch_dir();
        at(dir.path(), verb);
        let first = common::recorded::recorded(dir.path()).remove(0);
        for ask in ["run", "probe", "survey", "pts"] {
            let ran = at(dir.path(), &[ask, "--resume", &first.id()]);
            assert_eq!(ran.code, Some(2), "{verb:?} went on with {ask}");
            follow(&ran, dir.path());
        }
    }
}

// Breaks when what failed before its first step is kept: it would be the last run, which nothing can be done with.
#[test]
fn what_fails_before_its_first_step_leaves_no_record() {
    let dir = scratch_dir();
    at(dir.path(), VERBS[0]).exits(0);
    let kept = only(dir.path()).id();
    for wrong in [
        &["mark", "sim:hdd-7200", "--quick", "--size=99TB"][..],
        &["sweep", "sim:hdd-7200", "--vary=block=4KiB,8KiB", "--size=99TB"],
        &["run", "docs/no-plan.toml", "sim:hdd-7200"],
        &["probe", "sim:usb-8m", "--region=16GiB"],
        &["pts", "iops", "sim:mlc-nvme", "--rounds-max=4"],
    ] {
        at(dir.path(), wrong).fails(2, &["error:"]);
        assert_eq!(only(dir.path()).id(), kept, "{wrong:?}: {:?}", names(dir.path()));
    }
}

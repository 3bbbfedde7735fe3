//! Announcements of runs: plan, time, bytes, and doubts that are known beforehand.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::path::Path;

use common::recorded::{VIRTUAL, at, only, recorded};
use common::storage::{Loop, Mounted, filesystem_is_known, has_means, skip};
use common::{Ran, drivescope, names, run, scratch_dir, written_file};
use serde_json::Value;

/// Least and most of a figure.
fn bounds(announced: &Value, figure: &str) -> (u64, Option<u64>) {
    (announced[figure]["least"].as_u64().unwrap(), announced[figure]["most"].as_u64())
}

fn warnings(announced: &Value) -> String {
    announced["warnings"].to_string()
}

/// Body of `--dry-run --json`.
fn dry(args: &[&str], code: i32) -> Value {
    let ran = run([args, &["--dry-run", "--json"]].concat()).exits(code);
    assert!(ran.said().is_empty(), "{args:?}: {}", ran.stderr);
    ran.body()
}

/// Asserts that bytes and time of a run of fixed length were foreseen; its body.
fn assert_foreseen(drive: &str, words: &[&str]) -> Value {
    let place = scratch_dir();
    let ran = at(place.path(), &[&["mark", drive], words].concat());
    let announced = ran.json()["envelope"]["announced"].take();
    let steps = only(place.path()).steps();
    let figures: Vec<&Value> = steps.iter().map(|step| &step["figures"]).collect();
    let totals = |direction: &str| -> u64 {
        let of = |kept: &&Value| kept["figures"]["totals"][direction].as_u64().unwrap();
        figures.iter().map(of).sum()
    };
    let took = figures.iter().map(|kept| kept["at_ns"].as_u64().unwrap()).max().unwrap();
    let near = |figure: &str, real: u64, share: f64| {
        let (least, most) = bounds(&announced, figure);
        let off = if least == real { 0.0 } else { (least as f64 / real as f64 - 1.0).abs() };
        assert!(off <= share, "{drive}: {figure} {least} of {real}");
        assert!(most.is_some_and(|most| most >= least), "{drive}: {announced}");
    };
    near("read_bytes", totals("read"), 0.1);
    near("written_bytes", totals("written"), 0.1);
    near("time_ns", took, 0.25);
    ran.body()
}

// Breaks when what a run of fixed length takes is foreseen wrongly where the drive's model knows it.
#[test]
fn bytes_and_time_of_a_virtual_drive_are_foreseen() {
    let fixed = ["--runs=3", "--settle=0s", "--seed=7", "--no-progress", "--json"];
    for drive in ["sim:hdd-7200", "sim:usb-8m"] {
        assert_foreseen(drive, &fixed);
    }
    // Fast drives take many I/Os in a second, and each costs.
    for drive in ["sim:sata-a", "sim:optane"] {
        assert_foreseen(drive, &[&fixed[..], &["--duration=1s"]].concat());
    }
}

// Breaks when writes are foreseen at the pace of an empty cache that they fill, or waits for the drive are not.
#[test]
fn a_cache_that_fills_is_foreseen() {
    let fixed = ["--runs=6", "--write-only", "--seed=7", "--no-progress", "--json"];
    let load = ["--tests=SEQ1MQ8T1,SEQ1MQ1T1", "--duration=2s"];
    let body = assert_foreseen("sim:tlc-pslc", &[&fixed[..], &load].concat());
    let rates = body["tests"][0]["runs"].as_array().unwrap().iter();
    let rates: Vec<f64> = rates.map(|run| run["mb_s"].as_f64().unwrap()).collect();
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(rates.iter().any(|rate| *rate > 2.0 * least), "the cache is not filled: {rates:?}");
}

// Breaks when the size of a plan that stops by bytes is inexact on a drive of unknown speed.
#[test]
fn bytes_of_a_plan_that_counts_them_are_exact() {
    let dir = scratch_dir();
    let file = dir.path().join("file");
    written_file(&file, 8 << 20);
    let plan = dir.path().join("plan.toml");
    std::fs::write(
        &plan,
        "schema = \"drivescope.plan/1\"\nseed = 7\n[schedule]\nruns = 3\n[[step]]\nname = \"a\"\nsubmitters = 2\n\
         [[step.phase]]\nname = \"all\"\nmeasured = true\nblock = \"64KiB\"\naddress = { pattern = \"random\" }\n\
         stop = { bytes = \"4MiB\" }\narrival = { kind = \"closed_loop\", depth = 4 }\n\
         ops = [{ op = \"read\", percent = 100 }]\n",
    )
    .unwrap();
    let words = ["run", plan.to_str().unwrap(), file.to_str().unwrap()];
    let announced = dry(&words, 0);
    assert_eq!(bounds(&announced, "read_bytes"), (12 << 20, Some(12 << 20)));
    assert_eq!(bounds(&announced, "written_bytes"), (0, Some(0)));
    assert_eq!(bounds(&announced, "time_ns"), (0, None));
}

/// Verbs that measure, as they are typed for a virtual drive.
const MEASURING: [&[&str]; 9] = [
    &["mark", "sim:usb-8m", "--quick"],
    &["compare", "sim:usb-8m", "sim:sdcard-4m", "--quick"],
    &["sweep", "sim:hdd-7200", "--vary", "depth=1,2"],
    &["survey", "sim:usb-8m"],
    &["probe", "sim:usb-8m"],
    &["probe", "capacity", "sim:fake-64g"],
    &["probe", "surface", "sim:hdd-7200"],
    &["pts", "wsat", "sim:sata-a"],
    &["pts", "all", "sim:sata-a"],
];

// Breaks when a verb says nothing before it begins, or a dry run measures, records or fails.
#[test]
fn every_measuring_verb_has_a_dry_run() {
    for line in MEASURING {
        let place = scratch_dir();
        let ran = at(place.path(), &[line, &["--dry-run"]].concat()).exits(0);
        for head in ["target: sim:", "plan:   ", "time:   ", "I/O:    "] {
            assert!(ran.stdout.contains(head), "{line:?}: {head} is missing: {}", ran.stdout);
        }
        let lines: Vec<&str> = ran.stdout.lines().collect();
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
        assert!(lines.len() <= 8, "{}", ran.stdout);
        assert!(recorded(place.path()).is_empty(), "{line:?}");
        let announced = dry(line, 0);
        assert!(announced["work"].is_string(), "{announced}");
    }
}

// Breaks when nothing is announced, when it is said twice, or where nothing but the result is wanted.
#[test]
fn a_run_is_announced_once() {
    let ran = run(VIRTUAL).exits(0);
    assert_eq!(ran.announced().matches("plan:   2 tests, 3 runs each").count(), 0);
    assert_eq!(
        ran.announced().matches("plan:   4 tests, 3 runs each").count(),
        1,
        "{}",
        ran.stderr
    );
    let quiet = run([&VIRTUAL[..], &["-q"]].concat()).exits(0);
    assert_eq!(quiet.stderr, "");
    assert_eq!(ran.body(), quiet.body());
    let of = |ran: &Ran| ran.json()["envelope"]["announced"].clone();
    assert_eq!(of(&ran), of(&quiet));
    assert_eq!(of(&ran), dry(&VIRTUAL[..8], 0));
    let sides = ["sim:usb-8m", "sim:sdcard-4m", "--quick", "--tests=RND4KQ1T1", "--read-only"];
    for line in [&[&["compare"], &sides[..]].concat()[..], &["survey", "sim:usb-8m", "--seed=7"]] {
        let ran = run([line, &["--no-progress"]].concat());
        assert_eq!(ran.announced().matches("plan: ").count(), 1, "{line:?}: {}", ran.stderr);
    }
}

// Breaks when a dry run makes a test file, or grows or changes what is there.
#[test]
fn a_dry_run_touches_nothing() {
    let (dir, place) = (scratch_dir(), scratch_dir());
    let here = dir.path().to_str().unwrap();
    let ran = at(place.path(), &["mark", here, "--size=64MiB", "--dry-run"]).exits(0);
    assert!(ran.stdout.contains("in a test file (64 MiB)"), "{}", ran.stdout);
    assert!(names(dir.path()).is_empty() && names(place.path()).is_empty());
    let file = dir.path().join("file");
    written_file(&file, 4 << 20);
    let before = std::fs::read(&file).unwrap();
    let file = file.to_str().unwrap();
    let write = ["--write", "--consent=file", "--allow=unknown:users,unknown:content"];
    let load = ["--tests=RND4KQ1T1", "--dry-run", "--json"];
    let announced = at(place.path(), &[&["mark", file][..], &load, &write].concat());
    let announced = announced.exits(0).body();
    assert!(bounds(&announced, "written_bytes").1.is_none_or(|most| most > 0), "{announced}");
    assert_eq!(std::fs::read(file).unwrap(), before);
    // A run that would be refused is refused by --dry-run, too.
    at(place.path(), &[&["mark", file, "--write-only"][..], &load].concat()).exits(3);
    let announced = dry(&["mark", file, "--tests=RND4KQ1T1"], 0);
    assert_eq!(bounds(&announced, "written_bytes"), (0, Some(0)));
    assert!(names(place.path()).is_empty());
}

/// Asserts that nothing is measured in memory, unless it is asked for, and that nothing is left there.
fn assert_no(target: &Path, verbs: &[&[&str]]) {
    let target = target.to_str().unwrap();
    for verb in verbs {
        let words = [verb, &[target][..]].concat();
        let ran = run([&words[..], &["--no-progress", "--no-record"]].concat()).exits(1);
        assert!(ran.stderr.contains("memory"), "{verb:?}: {}", ran.stderr);
        let announced = dry(&words, 1);
        assert!(warnings(&announced).contains("no drive to measure"), "{announced}");
    }
}

// Breaks when minutes go into measuring this machine's memory, by whatever verb.
#[test]
fn what_lies_in_memory_ends_at_once() {
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        return skip("needs /dev/shm");
    };
    let verbs: [&[&str]; 4] =
        [&["mark"], &["sweep", "--vary=depth=1,2"], &["survey"], &["compare", "sim:usb-8m"]];
    assert_no(memory.path(), &verbs);
    let file = memory.path().join("file");
    written_file(&file, 16 << 20);
    assert_no(&file, &[&["mark"], &["probe", "surface"], &["survey"]]);
    assert_eq!(names(memory.path()), ["file"]);
    let anyway = ["--anyway", "--no-record", "--no-progress", "--seed=7"];
    let words = ["probe", "interval", file.to_str().unwrap()];
    let ran = run([&words[..], &anyway].concat());
    assert!(!ran.stderr.contains("hint: add --anyway"), "{}", ran.stderr);
    assert!(ran.announced().contains("there is no drive to measure"), "{}", ran.stderr);
}

#[test]
fn a_loop_on_tmpfs_lies_in_memory() {
    if !has_means(&["losetup", "mount"]) {
        return;
    }
    let mounted = Mounted::new("tmpfs", "tmpfs", "size=64m");
    let image = mounted.path().join("image");
    written_file(&image, 32 << 20);
    let device = Loop::on(scratch_dir(), &image, &[]);
    assert_no(&device.path, &[&["mark"], &["probe", "surface"]]);
}

// Breaks when what is known against a result is only said after it.
#[test]
fn doubts_that_are_known_come_first() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(64 << 20, false);
    let words = ["mark", device.dev(), "--read-only", "--runs=2"];
    let announced = dry(&words, 0);
    assert!(warnings(&announced).contains("page cache"), "{announced}");
    assert!(warnings(&announced).contains("fewer than 6 runs"), "{announced}");
    if !has_means(&["mkfs.btrfs"]) || !filesystem_is_known("btrfs") {
        return skip("needs btrfs");
    }
    let device = Loop::new(256 << 20, true);
    device.mkfs("btrfs");
    let mounted = Mounted::new("btrfs", device.dev(), "compress=zstd");
    let words = ["mark", mounted.path().to_str().unwrap(), "--size=32MiB"];
    assert!(!warnings(&dry(&words, 0)).contains("compresses"));
    let packed = dry(&[&words[..], &["--compressible=50"]].concat(), 0);
    assert!(warnings(&packed).contains("btrfs compresses"), "{packed}");
    let mut command = drivescope(words);
    let short = ["--quick", "--tests=SEQ1MQ1T1", "--write-only", "--no-record", "--json"];
    let ran: Ran = command.args(short).output().unwrap().into();
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
}

/// Bytes that the runs of a body wrote.
fn written(body: &Value) -> u64 {
    body["written_bytes"].as_u64().unwrap_or(0)
}

// Breaks when a run writes more than it may, or says nothing of the runs that it left out.
#[test]
fn runs_end_before_they_exceed_the_write_budget() {
    let load = ["--runs=4", "--duration=500ms", "--warm-up=100ms", "--settle=0s", "--seed=7"];
    let lengths = |test: &Value| -> Vec<u64> {
        let runs = test["runs"].as_array().unwrap().iter();
        runs.map(|run| run["duration_ns"].as_u64().unwrap()).collect()
    };
    let mark = |budget: &str| {
        let place = scratch_dir();
        let words = ["mark", "sim:sata-a", "--json", "--no-progress", budget];
        let ran = at(place.path(), &[&words[..], &load].concat());
        let steps = only(place.path()).steps();
        let totals =
            |step: &Value| step["figures"]["figures"]["totals"]["written"].as_u64().unwrap();
        let body = ran.body();
        assert_eq!(written(&body), steps.iter().map(totals).sum::<u64>());
        assert!(body["read_bytes"].as_u64().unwrap() > 0);
        let codes = body["caveats"].as_array().unwrap().iter().map(|caveat| caveat["code"].clone());
        let codes: Vec<Value> = codes.collect();
        let tests = body["tests"].as_array().unwrap().iter();
        let runs: Vec<Vec<u64>> = tests.map(lengths).collect();
        (written(&body), steps.len(), codes, runs)
    };
    let (whole, all, codes, planned) = mark("--write-budget=1TiB");
    assert!(whole > 200 << 20 && !codes.contains(&"write_budget".into()), "{whole} {codes:?}");
    for share in [2, 10] {
        let budget = whole / share;
        let (bytes, steps, codes, runs) = mark(&format!("--write-budget={budget}B"));
        assert!(bytes <= budget && bytes > budget / 2, "{bytes} of {budget}");
        assert_eq!(steps, all, "each test has its runs");
        assert!(codes.contains(&"write_budget".into()), "{codes:?}");
        for (runs, planned) in runs.iter().zip(&planned) {
            let (shortest, longest) = (runs.iter().min().unwrap(), runs.iter().max().unwrap());
            assert!(10 * longest <= 11 * shortest, "runs of one length: {runs:?}");
            assert!(planned.iter().all(|planned| longest <= planned), "{runs:?} of {planned:?}");
        }
        let is_short = |at: &usize| 4 * runs[*at][0] < 3 * planned[*at][0];
        assert!((0..runs.len()).filter(is_short).count() >= 3, "{runs:?}");
    }
    let (bytes, steps, codes, runs) = mark("--write-budget=4KiB");
    assert!(bytes <= 4096 && steps < all, "{bytes}, {steps} of {all}");
    assert!(codes.contains(&"write_budget".into()), "{codes:?}");
    assert_eq!(runs.iter().filter(|runs| runs.is_empty()).count(), 4);
}

// Breaks when a test of large transfers, whose share is too small, uses up the runs of others, or is left out silently.
#[test]
fn tests_without_a_share_are_named() {
    let words = ["mark", "sim:sata-a", "--write-only", "--quick", "--runs=6", "--seed=7"];
    let more = ["--tests=SEQ1MQ1T1,RND4KQ1T1", "--write-budget=6MiB", "--no-record", "--json"];
    let body = run([&words[..], &more].concat()).body();
    let runs = |test: usize| body["tests"][test]["runs"].as_array().unwrap().len();
    assert_eq!((runs(0), runs(1)), (0, 6), "{body}");
    assert!(written(&body) > 1 << 20 && written(&body) <= 6 << 20, "{}", written(&body));
    let caveats = body["caveats"].to_string();
    assert!(caveats.contains("no run of SEQ1M Q1T1 write, whose share is less than"), "{caveats}");
}

// Breaks when a plan that is known to write more than it may begins, or a test file is not counted.
#[test]
fn what_is_known_to_exceed_the_write_budget_is_refused() {
    let dir = scratch_dir();
    let here = dir.path().to_str().unwrap();
    let words = ["mark", here, "--size=8MiB", "--write-budget=4MiB", "--no-record"];
    run(words).fails(3, &["test file write 8 MiB", "--write-budget is 4 MiB", "hint:"]);
    run([&words[..], &["--read-only"]].concat()).exits(3);
    assert!(names(dir.path()).is_empty());
    let sides = ["compare", here, "sim:usb-8m", "--size=8MiB", "--write-budget=4MiB"];
    run([&sides[..], &["--quick", "--no-record"]].concat()).exits(3);
    assert!(names(dir.path()).is_empty());
}

//! Plans through the command line: printed, read back, and run with every operation that they know.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use common::storage::{Loop, has_means};
use common::{Ran, assert_reached, drivescope, names, run, scratch_dir, tests};
use serde_json::Value;

const LOAD: [&str; 6] = [
    "--seed=7",
    "--tests=SEQ1MQ8T1,RND4KQ32T2",
    "--mix=70",
    "--duration=100ms",
    "--warm-up=20ms",
    "--pause=1ms",
];

/// Every operation but discard, closed and timed arrivals, a part of the region, a step of two measured phases.
const EVERYTHING: &str = r#"
schema = "drivescope.plan/1"
seed = 7
region = { offset = "0", length = "32MiB" }

[content]
compressible_percent = 50
dedup_percent = 25

[schedule]
runs = 2
order = "blocked"
discard_first = 1
pause = "1ms"

[[step]]
name = "fill, then read"
submitters = 2

[[step.phase]]
name = "fill"
measured = true
block = "64KiB"
address = { pattern = "sequential" }
stop = { bytes = "32MiB" }
arrival = { kind = "closed_loop", depth = 4 }
ops = [{ op = "write", percent = 100 }]

[[step.phase]]
name = "read"
measured = true
block = "4KiB"
address = { pattern = "random" }
stop = { ios = 500 }
arrival = { kind = "closed_loop", depth = 8 }
ops = [{ op = "read", percent = 100 }]

[[step]]
name = "log"
submitters = 1

[[step.phase]]
name = "appends"
measured = true
block = "4KiB"
address = { pattern = "sequential", share = "cursor" }
region = { offset = "16MiB", length = "4MiB" }
stop = { ios = 60 }
arrival = { kind = "timed", depth = 4, per_s = 500.0, gaps = "exponential" }
ops = [{ op = "write", fua = true, percent = 80 }, { op = "flush", percent = 20 }]
"#;

/// Disks that turn know no discard; files do.
const TRIM: &str = r#"
[[step]]
name = "trim"
submitters = 1

[[step.phase]]
name = "mixed"
measured = true
block = "128KiB"
address = { pattern = "random" }
stop = { after = "100ms" }
arrival = { kind = "timed", depth = 2, per_s = 200.0 }
ops = [{ op = "read", percent = 40 }, { op = "write", percent = 40 }, { op = "discard", percent = 20 }]
"#;

fn write(dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = dir.join(name);
    fs::write(&path, text).unwrap();
    path
}

fn run_plan(plan: &Path, target: &str, args: &[&str]) -> Ran {
    let mut command = drivescope(["run"]);
    command.arg(plan).arg(target).args(["--json", "--no-progress"]).args(args);
    command.output().unwrap().into()
}

/// `mark` does what `plan` prints: the bodies are the same on a virtual drive.
#[test]
fn a_printed_plan_run_is_the_mark_that_it_was_printed_for() {
    let dir = scratch_dir();
    let printed = run([&["plan"], &LOAD[..]].concat()).exits(0).stdout;
    let plan = write(dir.path(), "plan.toml", &printed);
    let args = ["--seed=7", "--size=256MiB"];
    let ran = run_plan(&plan, "sim:hdd-7200", &args).exits(0);
    let mark = [&["mark", "sim:hdd-7200", "--json", "--size=256MiB"], &LOAD[..]].concat();
    assert_eq!(ran.body(), run(mark).exits(0).body());
    assert_eq!(tests(&ran.body()).len(), 6);

    let mut child = drivescope(["run", "-", "sim:hdd-7200", "--json"])
        .args(args)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(printed.as_bytes()).unwrap();
    let piped: Ran = child.wait_with_output().unwrap().into();
    assert_eq!(piped.exits(0).body(), ran.body(), "from standard input");
}

#[test]
fn a_plan_as_json_is_the_plan() {
    let json = run([&["plan", "--json"], &LOAD[..]].concat()).exits(0).json();
    assert_eq!(json["envelope"]["schema"], "drivescope.plan/1");
    let body = &json["body"];
    assert_eq!((&body["seed"], &body["step"][0]["submitters"]), (&7.into(), &1.into()));
    assert_eq!(body["step"].as_array().unwrap().len(), 6);
}

/// The runs of each test, and whether all have moved something.
fn check_everything(body: &Value) {
    let names: Vec<&str> = tests(body).iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names[..2], ["fill, then read", "log"]);
    for test in &tests(body)[..2] {
        assert_eq!(test["runs"].as_array().unwrap().len(), 2, "the discarded one is not counted");
    }
    // The fill is exact: 32 MiB in blocks of 64 KiB, whatever the machine does.
    for run in tests(body)[0]["runs"].as_array().unwrap() {
        assert_eq!(run["bytes"], 32 << 20, "{run}");
        assert_eq!(run["ios"], 512, "{run}");
    }
    for run in tests(body)[1]["runs"].as_array().unwrap() {
        assert_eq!(run["ios"], 60, "{run}");
        // 60 arrivals at 500 a second are meant to take 118 ms; a machine may take longer, never less
        // than a run of gaps that short has in a million.
        assert!(run["duration_ns"].as_u64().unwrap() > 40_000_000, "{run}");
    }
}

#[test]
fn a_plan_with_every_operation_runs_on_a_virtual_drive() {
    let dir = scratch_dir();
    let plan = write(dir.path(), "everything.toml", EVERYTHING);
    let samples = dir.path().join("io.csv");
    let args = ["--samples", samples.to_str().unwrap()];
    let ran = run_plan(&plan, "sim:hdd-7200", &args);
    // The reads come back to what the disk's own cache holds: that, and no other, is the exit's reason.
    assert!(ran.code == Some(0) || ran.code == Some(1), "{}", ran.stderr);
    check_everything(&ran.body());
    let text = fs::read_to_string(samples).unwrap();
    for op in ["read", "write", "flush"] {
        // Counted from the end: the step's name, the first field, has a comma in it.
        assert!(text.lines().any(|l| l.rsplit(',').nth(5) == Some(op)), "no {op} was issued");
    }
    assert!(text.contains("\n\"fill, then read\",1,0,write,"), "a field with a comma is quoted");
    let again = run_plan(&plan, "sim:hdd-7200", &[]);
    assert_eq!(again.body(), ran.body());
    // A step that the drive does not support ends the run, with an error and all earlier results.
    let trim = write(dir.path(), "trim.toml", &format!("{EVERYTHING}{TRIM}"));
    let ran = run_plan(&trim, "sim:hdd-7200", &[]).exits(2);
    check_everything(&ran.says(&["sim:hdd-7200", "discard", "trim"]).body());
}

#[test]
fn a_plan_with_every_operation_runs_in_a_directory_with_every_engine() {
    let dir = scratch_dir();
    let plan = write(dir.path(), "everything.toml", &format!("{EVERYTHING}{TRIM}"));
    let target = dir.path().join("target");
    fs::create_dir(&target).unwrap();
    for engine in ["io_uring", "libaio", "psync"] {
        let ran = run_plan(&plan, target.to_str().unwrap(), &["--engine", engine]);
        assert!(ran.code == Some(0) || ran.code == Some(1), "{engine}: {}", ran.stderr);
        check_everything(&ran.body());
        assert_eq!(tests(&ran.body())[2]["runs"].as_array().unwrap().len(), 2);
        assert_eq!(ran.body()["extents"]["file_bytes"], 32 << 20, "as large as the plan's region");
        assert!(names(&target).is_empty());
    }
}

/// Two engines that were asked for the same must do the same: the same addresses, and as many.
#[test]
fn engines_issue_the_same_addresses() {
    if !has_means(&["losetup"]) {
        return;
    }
    let counted = r#"
schema = "drivescope.plan/1"
seed = 7
[schedule]
runs = 1
# What lies below the loop may hold a file so small, and has no part in which addresses are issued.
cache_probe = "0s"
[[step]]
name = "counted"
submitters = 2
[[step.phase]]
name = "measure"
measured = true
block = "4KiB"
address = { pattern = "random" }
stop = { ios = 4000 }
arrival = { kind = "closed_loop", depth = 8 }
ops = [{ op = "read", percent = 100 }]
"#;
    let dir = scratch_dir();
    let plan = write(dir.path(), "counted.toml", counted);
    let device = Loop::new(64 << 20, true);
    let mut seen = Vec::new();
    for engine in ["io_uring", "libaio", "psync"] {
        let body = run_plan(&plan, device.dev(), &["--engine", engine]).exits(0).body();
        assert_reached(&body);
        let test = &tests(&body)[0];
        let pattern = &test["proofs"]["pattern"];
        assert_eq!(pattern["verdict"], "proven", "{engine}: {pattern}");
        assert_eq!(test["runs"][0]["ios"], 4000, "{engine}");
        let evidence = &pattern["evidence"];
        assert_eq!(evidence["total_bytes"], 4000 * 4096, "{engine}");
        seen.push(evidence["unique_bytes_within_runs"].clone());
    }
    assert!(seen.iter().all(|unique| *unique == seen[0]), "distinct bytes by engine: {seen:?}");
}

/// psync has one I/O at a time. Passed off as 32, its figures would be another load's.
#[test]
fn psync_at_a_depth_is_said_to_be_hindered() {
    let dir = scratch_dir();
    let args = ["--size=16MiB", "--read-only", "--tests=RND4KQ32T1,RND4KQ1T1", "--engine=psync"];
    let body = common::mark(dir.path(), &args).body();
    let deep = &tests(&body)[0];
    assert_eq!(deep["depth"], 32);
    assert_eq!(common::verdict(deep, "unhindered"), "refuted", "{deep}");
    let share = deep["proofs"]["unhindered"]["evidence"]["achieved_depth_share"].as_f64().unwrap();
    assert!(share <= 1.05 / 32.0, "{share}");
    let caveats = body["caveats"].to_string();
    assert!(caveats.contains("hindered"), "{caveats}");
}

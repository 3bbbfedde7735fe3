//! Enterprise tests through the command line: on real loop devices and virtual drives, broken off and gone on with,
//! and refused where they must be.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use common::recorded::{lines_in, only};
use common::storage::{Loop, has_means};
use common::{Alive, Ran, drivescope, run, scratch_dir, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const SIZE: u64 = 256 << 20;
/// Small enough for a test, with a fresh plateau, a cliff and a steady state.
const VIRTUAL: &str = "sim:enterprise-28op?capacity=512MiB";

fn pts(args: &[&str]) -> Ran {
    run([&["pts"], args].concat())
}

fn hash(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    fs::read(path).unwrap().hash(&mut hasher);
    hasher.finish()
}

/// Entries of a record, by what each is of.
fn entries(runs: &Path, what: &str) -> usize {
    let steps = only(runs).steps();
    let kept = steps.iter().filter_map(|step| step["figures"].as_array()).flatten();
    kept.filter(|kept| kept.get(what).is_some()).count()
}

fn rounds(body: &Value) -> &Vec<Value> {
    body["rounds"].as_array().unwrap()
}

// The whole road on real parts. A purge that is not proven, a fill that leaves a part out or a round that counts what
// it did not write would make every figure that follows one of another state.
#[test]
fn a_loop_device_is_purged_filled_and_tested_in_rounds() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let consent = ["--write", "--consent", device.name()];
    let more = ["--minute", "20ms", "--rounds-max", "5", "--seed", "5", "--json"];
    let ran = pts(&[&["iops", device.dev()], &more[..], &consent].concat());
    let body = ran.body();
    assert!(body["ended_by"].is_null(), "{}", body["ended_by"]);
    let purge = &body["purge"];
    assert_eq!((&purge["method"], &purge["verdict"]), (&"discard".into(), &"proven".into()));
    let wipc = &body["preconditioning"][0];
    assert_eq!((&wipc["kind"], &wipc["coverage"]), (&"wipc".into(), &1.0.into()), "{wipc}");
    let filled = wipc["bytes_written"].as_u64().unwrap();
    // A stretch in which a hypervisor took the CPU is made again.
    assert_eq!(filled - wipc["bytes_again"].as_u64().unwrap(), 2 * SIZE, "{wipc}");
    let rounds = rounds(&body);
    assert!(rounds.len() >= 5, "{} rounds", rounds.len());
    // On a busy machine a window this short may pass without a single I/O.
    let with_any = rounds.iter().filter(|round| round["iops"].as_f64().unwrap() > 0.0);
    assert!(with_any.count() >= 3);
    let table = &body["tables"]["iops"];
    assert_eq!(table["columns"].as_array().unwrap().len(), 7, "{table}");
    assert_eq!(table["rows"].as_array().unwrap().len(), 8, "{table}");
    // The test wrote what the rounds and the fill wrote.
    let of_rounds: u64 = rounds.iter().map(|round| round["bytes_written"].as_u64().unwrap()).sum();
    let written = body["bytes_written"].as_u64().unwrap();
    assert_eq!(written, filled + of_rounds, "{}", body["caveats"]);
    let deviations = body["deviations"].to_string();
    assert!(deviations.contains("60 s"), "{deviations}");
    let id = ran.json()["envelope"]["run_id"].as_str().unwrap().to_owned();
    run(["runs", "show", &id]).exits(0).prints(&["IOPS", "purged by discard"]);
}

/// Starts a test, and kills it as soon as `parts` parts are whole.
fn killed(mut command: Command, runs: &Path, parts: usize) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("parts that are whole", || {
        let begun = |run: &Path| !run.file_name().unwrap().to_str().unwrap().starts_with('.');
        let mut all = fs::read_dir(runs).ok()?.flatten().map(|entry| entry.path());
        let made = all.any(|run| begun(&run) && run.join("journal.jsonl").exists());
        (made && entries(runs, "whole") >= parts).then_some(())
    });
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    child.wait().unwrap();
}

// A test of days that starts over after each power failure never ends; one that resumes from an unknown state is worse.
#[test]
fn a_test_that_was_killed_goes_on_from_its_last_whole_part() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE, true);
    let runs = scratch_dir();
    let place = ["--runs-dir", runs.path().to_str().unwrap()];
    let consent = ["--write", "--consent", device.name()];
    let test = ["pts", "wsat", device.dev(), "--minute", "50ms", "--seed", "5"];
    killed(drivescope([&test[..], &consent, &place].concat()), runs.path(), 3);
    let before = entries(runs.path(), "whole");
    assert_eq!(entries(runs.path(), "purged"), 1);
    // Without consent nothing goes on.
    let as_it_was = hash(&device.image);
    pts(&[&["--resume", "last"], &place[..]].concat()).fails(3, &["--write"]);
    assert_eq!(hash(&device.image), as_it_was);
    let ran = pts(&[&["--resume", "last", "--json"], &consent[..], &place].concat());
    let body = ran.body();
    assert!(body["ended_by"].is_null(), "{}", body["ended_by"]);
    assert_eq!(body["is_whole"], true);
    assert_eq!(entries(runs.path(), "purged"), 1, "it was not purged a second time");
    assert!(entries(runs.path(), "whole") > before);
    let written = body["bytes_written"].as_u64().unwrap();
    assert!(written >= 4 * SIZE, "{written}");
    let fills = body["preconditioning"][0]["fills"].as_f64().unwrap();
    assert!(fills >= 4.0, "{fills}");
}

// A run has to resume on the drive on which it began, and only if no other program has written to it.
#[test]
fn a_run_does_not_go_on_on_another_drive_or_after_foreign_writes() {
    if !has_means(&["losetup", "dd"]) {
        return;
    }
    let (device, other) = (Loop::new(SIZE, true), Loop::new(SIZE / 2, true));
    let runs = scratch_dir();
    let place = ["--runs-dir", runs.path().to_str().unwrap()];
    let consent = ["--write", "--consent", device.name()];
    let test = ["pts", "wsat", device.dev(), "--minute", "20ms", "--seed", "5"];
    // One that ended in order has counted what was written until then, also within its first part.
    let budget = |most: &'static str| ["--write-budget", most];
    let minute = ["pts", "wsat", device.dev(), "--minute", "2%", "--seed", "5"];
    let budgeted = scratch_dir();
    let there = ["--runs-dir", budgeted.path().to_str().unwrap()];
    let first = drivescope([&minute[..], &consent, &budget("8MiB"), &there].concat()).output();
    Ran::from(first.unwrap()).exits(3).says(&["--write-budget 8MiB does not suffice"]);
    let more = [&["--resume", "last"], &consent[..], &budget("40MiB"), &there].concat();
    pts(&more).exits(3).says(&["--write-budget 40MiB does not suffice"]);
    killed(drivescope([&test[..], &consent, &place].concat()), runs.path(), 4);
    let as_it_was = hash(&other.image);
    let swapped =
        ["--resume", "last", "--device", other.dev(), "--write", "--consent", other.name()];
    pts(&[&swapped[..], &place].concat()).fails(3, &["not the drive of the record"]);
    assert_eq!(hash(&other.image), as_it_was, "it was written to");
    let target = format!("of={}", device.dev());
    for _ in 0..4 {
        common::storage::tool(
            "dd",
            &["if=/dev/zero", &target, "bs=1M", "oflag=direct", "count=200"],
        );
    }
    let as_it_was = hash(&device.image);
    let resumed = pts(&[&["--resume", "last"], &consent[..], &place].concat());
    resumed.fails(3, &["start again"]);
    assert_eq!(hash(&device.image), as_it_was, "it was written to");
}

// One engine's figures under the name of another would compare nothing.
#[test]
fn a_sweep_of_depths_puts_the_kernels_engines_side_by_side() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE / 4, true);
    let runs = scratch_dir();
    let place = ["--runs-dir", runs.path().to_str().unwrap()];
    let sweep = ["qd-sweep", device.dev(), "--minute", "20ms", "--fills", "0", "--until", "1fills"];
    let consent = ["--write", "--consent", device.name(), "--json"];
    let body = pts(&[&sweep[..], &consent, &place].concat()).body();
    assert!(body["ended_by"].is_null(), "{}", body["ended_by"]);
    let columns = &body["tables"]["qd_sweep"]["columns"];
    let has = |column: &str| columns.as_array().unwrap().contains(&column.into());
    assert!(has("io_uring: IOPS") && has("libaio: IOPS"), "{columns}");
    assert_eq!(body["setup"]["engine"], "io_uring, libaio");
    let steps = only(runs.path()).steps();
    let kept = steps.iter().filter_map(|step| step["figures"].as_array()).flatten();
    let windows: Vec<&Value> = kept.filter_map(|kept| kept["window"].get("window")).collect();
    for depth in [1, 256] {
        let of_depth = windows.iter().filter(|window| window["depth"] == depth);
        // A stretch that the machine disturbed is made again.
        let mut engines: Vec<&str> =
            of_depth.map(|window| window["engine"].as_str().unwrap()).collect();
        engines.dedup();
        assert_eq!(engines, ["io_uring", "libaio"], "depth {depth}");
    }
}

#[test]
fn what_goes_beyond_a_limit_or_has_no_consent_is_refused_before_anything_is_written() {
    if !has_means(&["losetup"]) {
        return;
    }
    let device = Loop::new(SIZE / 4, true);
    let before = hash(&device.image);
    let consent = ["--write", "--consent", device.name()];
    let iops = ["iops", device.dev(), "--minute", "5ms"];
    pts(&iops).fails(3, &["--write --consent"]);
    for limit in [["--write-budget", "100MiB"], ["--tbw", "100MiB"]] {
        let words = ["128 MiB", limit[0], "nothing was written"];
        pts(&[&iops[..], &limit, &consent].concat()).fails(3, &words);
    }
    pts(&[&iops[..], &["--write", "--consent", "somebody-else"]].concat())
        .fails(3, &[device.name()]);
    // A plan is shown, and without a person to ask nothing follows.
    let shown = pts(&[&iops[..], &["--plan"], &consent].concat()).exits(0);
    shown.prints(&["writes at least", "128 MiB"]);
    assert_eq!(hash(&device.image), before, "it was written to");
}

// A budget that is only looked at before the run is none.
#[test]
fn a_budget_holds_to_the_byte_while_a_test_runs() {
    let runs = scratch_dir();
    let place = ["--runs-dir", runs.path().to_str().unwrap()];
    // The rated total of a drive is a limit of the same kind, and the lower of the two holds.
    let limits: [&[&str]; 3] = [
        &["--tbw", "600MiB"],
        &["--tbw", "600MiB", "--write-budget", "3GiB"],
        &["--write-budget", "600MiB"],
    ];
    for limit in limits {
        let test = ["wsat", VIRTUAL, "--minute", "2%", "--seed", "5", "--json"];
        let ran = pts(&[&test[..], limit, &place].concat());
        let body = ran.body();
        let written = body["bytes_written"].as_u64().unwrap();
        assert!(written <= 600 << 20, "{limit:?}: {written}");
        assert!(written > 590 << 20, "{limit:?}: {written}");
        assert!(body["ended_by"].as_str().unwrap().contains("600MiB"), "{}", body["ended_by"]);
        let ran = ran.exits(3).says(&[limit[0], "600MiB does not suffice"]);
        let goes_on = limit[0] == "--write-budget";
        assert_eq!(ran.stderr.contains("pts --resume"), goes_on, "{limit:?}: {}", ran.stderr);
        if !goes_on {
            // The rated total is not a budget, and a larger budget does not lift it.
            let more = ["--resume", "last", "--write-budget", "3GiB", "--json"];
            pts(&[&more[..], &place].concat()).exits(3).says(&["--tbw 600MiB does not suffice"]);
        }
    }
    let more = ["--resume", "last", "--write-budget", "3GiB", "--json"];
    let body = pts(&[&more[..], &place].concat()).body();
    assert_eq!(body["is_whole"], true, "{}", body["ended_by"]);
    assert!(body["bytes_written"].as_u64().unwrap() > 2 << 30);
}

// A virtual drive starts over with each process: it has to produce the recorded part again, or the rest is of another
// state.
#[test]
fn a_virtual_run_that_was_killed_ends_as_one_that_was_not() {
    let runs = scratch_dir();
    let place = ["--runs-dir", runs.path().to_str().unwrap()];
    let test = ["wsat", VIRTUAL, "--minute", "1%", "--seed", "5"];
    let whole = pts(&[&test[..], &["--json", "--no-record"]].concat()).body();
    killed(drivescope([&["pts"], &test[..], &place].concat()), runs.path(), 5);
    let resumed = pts(&[&["--resume", "last", "--json"], &place[..]].concat()).body();
    assert_eq!(whole, resumed);
}

// Result that source reviews published for months: a replayed order keeps a drive as fast as when it was empty.
#[test]
fn a_replayed_order_is_named_and_not_accepted() {
    let test = |addresses: &str| {
        let args = ["wsat", VIRTUAL, "--minute", "2%", "--seed", "5", "--json", "--no-record"];
        pts(&[&args[..], &["--addresses", addresses]].concat()).body()
    };
    // Over two passes, in which freshly drawn orders go up and down.
    let rate = |body: &Value| {
        let all = rounds(body);
        let last = &all[all.len() / 2..];
        last.iter().map(|round| round["iops"].as_f64().unwrap()).sum::<f64>() / last.len() as f64
    };
    let (uniform, replayed) = (test("uniform"), test("replayed"));
    assert!(rate(&replayed) > 1.5 * rate(&uniform), "{} {}", rate(&replayed), rate(&uniform));
    let stage = &replayed["preconditioning"][0];
    assert_eq!(stage["is_accepted"], false);
    assert!(stage["reason"].as_str().unwrap().contains("order of the first"), "{stage}");
    let caveats = replayed["caveats"].to_string();
    assert!(caveats.contains("not_preconditioned"), "{caveats}");
    assert_ne!(replayed["steady"]["ours"]["verdict"], "yes");
    let fresh = test("fresh");
    assert!(rate(&fresh) < 0.9 * rate(&replayed), "{} {}", rate(&fresh), rate(&replayed));
}

/// Breaks when a part that was killed is taken for what others wrote, so that nothing goes on; or when others are not noticed.
#[test]
fn a_round_that_was_killed_goes_on_unless_others_wrote() {
    if !has_means(&["losetup"]) {
        return;
    }
    let (dir, device) = (scratch_dir(), Loop::new(SIZE, true));
    let place = format!("--runs-dir={}", dir.path().display());
    let consent = ["--write", "--consent", device.name()];
    let iops = ["pts", "iops", device.dev(), "--minute=300ms", "--no-progress", &place];
    let killed = |args: Vec<&str>| {
        let mut alive = Alive::start(&mut drivescope(args));
        // The rounds' parts are many stretches each, and none of them is whole yet.
        let written = || {
            let journal = only(dir.path()).text("journal.jsonl");
            let whole = journal.rfind("\"whole\"").unwrap_or(0);
            (journal[whole..].matches("written so far").count() >= 20).then_some(())
        };
        wait_for("a run", || (lines_in(dir.path()) > 0).then_some(()));
        wait_for("the middle of a round", written);
        alive.child().kill().unwrap();
        alive.end();
    };
    killed([&iops[..], &consent].concat());
    let resume = ["pts", "--resume=last", "--no-progress", &place];
    let mut alive = Alive::start(&mut drivescope([&resume[..], &consent].concat()));
    let steps = || only(dir.path()).text("journal.jsonl").matches("written so far").count();
    let before = steps();
    wait_for("a stretch more", || (steps() > before).then_some(()));
    alive.child().kill().unwrap();
    let ran = alive.end();
    assert!(ran.stderr.contains("going on with"), "{}", ran.stderr);
    // A third process counts what both before it wrote.
    let mut alive = Alive::start(&mut drivescope([&resume[..], &consent].concat()));
    let before = steps();
    wait_for("a stretch more", || (steps() > before).then_some(()));
    alive.child().kill().unwrap();
    let ran = alive.end();
    assert!(ran.stderr.contains("going on with"), "{}", ran.stderr);
    // More than a fast drive may have written in the stretches that the killed processes did not report.
    let data = vec![7; 16 << 20];
    for _ in 0..1536 {
        fs::OpenOptions::new().write(true).open(&device.path).unwrap().write_all(&data).unwrap();
    }
    let refused = run([&resume[..], &consent].concat());
    refused.fails(3, &["were written to the drive since its last whole part", "start again"]);
}

/// Breaks when a rule's value has the unit of another's: fio's and ours are in IOPS, whatever is tracked.
#[test]
fn each_rule_tells_its_value_in_its_own_unit() {
    let dir = scratch_dir();
    let place = format!("--runs-dir={}", dir.path().display());
    for (test, until, unit) in [("throughput", "bytes", "mb_per_s"), ("latency", "pts", "ns")] {
        let until = format!("--until={until}");
        let args = [test, VIRTUAL, "--minute=20ms", "--seed=7", &until, "--rounds-max=30", &place];
        let body = pts(&[&args[..], &["--no-progress", "--json"]].concat()).body();
        let steady = &body["steady"];
        assert_eq!(steady["unit"], unit);
        let text = run(["runs", "show", "last", &place]).stdout;
        let row = |rule: &str| {
            let line = text.lines().find(|line| line.starts_with(rule)).expect(&text);
            line.split_whitespace().next_back().unwrap().to_owned()
        };
        let own = row("PTS ");
        assert!(if unit == "ns" { own.ends_with("µs") } else { own == "MB/s" }, "{text}");
        let others = [("fio ", &steady["fio"]["value"]), ("by bytes ", &steady["ours"]["value"])];
        for (rule, value) in others {
            assert!(value.is_null() || row(rule) == "IOPS", "{rule}: {text}");
        }
        assert!(others.iter().any(|(_, value)| !value.is_null()), "{body}");
        let deviations = body["deviations"].to_string();
        assert!(deviations.contains("30 rounds at most"), "{deviations}");
    }
    let wsat = ["wsat", VIRTUAL, "--minute=20ms", "--seed=7", "--rounds-max=30", "--in-place"];
    let body = pts(&[&wsat[..], &["--no-record", "--no-progress", "--json"]].concat()).body();
    assert!(!body["deviations"].to_string().contains("rounds at most"), "{}", body["deviations"]);
    assert_eq!(body["setup"]["in_place"], true);
}

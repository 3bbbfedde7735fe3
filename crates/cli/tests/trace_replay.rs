//! Replaying from the outside: the `--json` contract, what is written and what is not, what is refused, what is
//! recorded.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use common::recorded::{at, only, recorded};
use common::storage::{Loop, has_means};
use common::{Alive, Ran, drivescope, names, run, scratch_dir, wait_for, written_file};
use serde_json::Value;

/// A trace in MQSim's form, of 16 MiB and arrivals alone: `count` requests of 4 KiB, one each `gap` ns, every fourth a
/// write.
fn trace(dir: &Path, count: u64, gap: u64) -> PathBuf {
    let mut text = String::new();
    for i in 0..count {
        let (sector, read) = (i * 7919 % 4096 * 8, u8::from(i % 4 != 3));
        writeln!(text, "{} 0 {sector} 8 {read}", 1_000 + i * gap).unwrap();
    }
    let path = dir.join("app.trace");
    fs::write(&path, text).unwrap();
    path
}

fn replay(trace: &Path, target: &str, args: &[&str]) -> Ran {
    let always = ["--format=mqsim", "--no-progress", "--no-record", "--seed=7"];
    let mut command = drivescope(["trace", "replay"]);
    command.arg(trace).arg(target).args(always).args(args).output().unwrap().into()
}

// Breaks when the contract does, or when the same seed gives another body: then replays on virtual drives cannot be
// compared.
#[test]
fn a_replay_has_the_form_of_the_contract_and_repeats() {
    let dir = scratch_dir();
    let trace = trace(dir.path(), 400, 100_000);
    let body = replay(&trace, "sim:sata-a", &["--json"]).exits(0).body();
    assert_eq!(
        (&body["requests"], &body["reads"], &body["writes"]),
        (&400.into(), &300.into(), &100.into())
    );
    assert_eq!(body["bytes_read"], 300 * 4096);
    assert_eq!(body["bytes_written"], 100 * 4096);
    for field in ["completion_s", "q2c_sum_s"] {
        assert!(body[field].as_f64().unwrap() > 0.0, "{field}: {}", body[field]);
    }
    for field in ["n", "min_ns", "mean_ns", "max_ns", "p50_ns", "p99_ns", "p999_ns"] {
        assert!(body["phases"]["q2c"][field].is_number(), "{field}");
    }
    assert!(body["queue_depth"]["mean"].is_number() && body["queue_depth"]["max"].is_number());
    let fidelity = &body["fidelity"];
    assert_eq!(fidelity["verdict"], "faithful", "{fidelity}");
    for field in ["p50", "p99", "p999", "max"] {
        assert_eq!(fidelity["issue_error_ns"][field], 0, "in virtual time nothing is late");
    }
    assert_eq!((&fidelity["drift_ppm"], &fidelity["late"]), (&Value::from(0.0), &Value::from(0)));
    assert_eq!(fidelity["reordered"], 0);
    let again = replay(&trace, "sim:sata-a", &["--json"]).exits(0).body();
    assert_eq!(again, body, "a function of trace, plan, model and seed");
}

// Breaks when a trace without completions is given an outstanding number that was never measured.
#[test]
fn what_was_outstanding_is_not_made_up() {
    let dir = scratch_dir();
    // Few enough per second for either drive: idle time is what is left out then.
    let trace = trace(dir.path(), 300, 1_000_000);
    let outstanding = ["--mode=outstanding", "--json"];
    replay(&trace, "sim:sata-b", &outstanding).fails(2, &["--reference", "arrivals"]);
    let with = [&outstanding[..], &["--reference=sim:sata-a"]].concat();
    replay(&trace, "sim:sata-b", &with[1..])
        .fails(2, &["--reference sim:sata-a", "--mode outstanding"]);
    let body = replay(&trace, "sim:sata-b", &with).exits(0).body();
    assert_eq!(body["reference"]["drive"], "sim:sata-a");
    assert_eq!(body["plan"]["original"], "reference");
    let timed = replay(&trace, "sim:sata-b", &["--json"]).exits(0).body();
    let (fast, slow) = (&body["completion_s"], &timed["completion_s"]);
    assert!(fast.as_f64() < slow.as_f64(), "idle time is not replayed: {fast} and {slow}");
}

// Breaks when a replay writes to what it was not allowed to, or turns writes into something else in silence.
#[test]
fn nothing_is_written_that_was_not_consented_to() {
    let dir = scratch_dir();
    let trace = trace(dir.path(), 40, 1_000_000);
    let file = dir.path().join("image");
    written_file(&file, 32 << 20);
    let (before, name) = (fs::read(&file).unwrap(), file.to_str().unwrap());
    replay(&trace, name, &[]).fails(3, &[name, "10 writes", "--write --consent", "--reads-only"]);
    replay(&trace, name, &["--write", "--consent=other"]).fails(3, &[name]);
    let body = replay(&trace, name, &["--reads-only", "--json"]).body();
    assert_eq!((&body["reads"], &body["writes"]), (&30.into(), &0.into()));
    assert_eq!(body["planned"]["left_out"]["writes"], 10);
    let body = replay(&trace, name, &["--writes-as-reads", "--json"]).body();
    assert_eq!((&body["reads"], &body["planned"]["writes_as_reads"]), (&40.into(), &10.into()));
    assert!(fs::read(&file).unwrap() == before, "the file is another one now");
    let body = replay(&trace, name, &["--write", "--consent=image", "--json"]).body();
    assert_eq!((&body["reads"], &body["writes"]), (&30.into(), &10.into()));
    assert!(fs::read(&file).unwrap() != before, "what was consented to was not done");
}

// Breaks when one drive's data is lost for a comparison or a replay that the other drive's refusal makes impossible.
#[test]
fn neither_drive_is_written_to_when_the_other_is_refused() {
    let dir = scratch_dir();
    let trace = trace(dir.path(), 40, 1_000_000);
    let file = |name: &str| {
        let path = dir.path().join(name);
        written_file(&path, 32 << 20);
        path
    };
    let (mine, other) = (file("mine"), file("other"));
    let before = fs::read(&mine).unwrap();
    let (a, b) = (mine.to_str().unwrap(), other.to_str().unwrap());
    let always = ["--format=mqsim", "--no-progress", "--no-record", "--write", "--consent=mine"];
    let compare = |more: &[&str]| -> Ran {
        let mut command = drivescope(["trace", "compare"]);
        let args = [&["--rounds=1"], &always[..], more].concat();
        command.arg(&trace).args([a, b]).args(args).output().unwrap().into()
    };
    compare(&[]).fails(3, &[b, "--consent"]);
    compare(&["--consent=nonsense"]).fails(3, &[b, "nonsense"]);
    let reference = ["--mode=outstanding", "--reference", a, "--consent=nonsense"];
    replay(&trace, b, &[&["--write", "--consent=mine"], &reference[..]].concat())
        .fails(3, &[b, "nonsense"]);
    assert!(fs::read(&mine).unwrap() == before, "what was consented to was written for nothing");
    compare(&["--consent=other"]);
    assert!(fs::read(&mine).unwrap() != before, "the test compares what is written");
}

#[test]
fn what_cannot_be_replayed_is_named() {
    let dir = scratch_dir();
    let trace = trace(dir.path(), 10, 1_000);
    replay(Path::new("-"), "sim:sata-a", &[]).fails(2, &["standard input", "trace import"]);
    replay(&trace, "/nonexistent", &["--reads-only"]).fails(2, &["/nonexistent", "sim:"]);
    replay(&trace, "sim:sata-a", &["--factor=2"]).fails(2, &["--factor", "--mode scaled"]);
    replay(&trace, "sim:sata-a", &["--idle-only"]).fails(2, &["--idle-only", "--mode scaled"]);
    replay(&trace, "sim:sata-a", &["--verify"]).fails(2, &["sim:sata-a", "--verify"]);
    replay(&trace, "sim:sata-a", &["--region=1MiB"]).fails(2, &["--map"]);
    replay(&trace, "sim:sata-a", &["--space=disk9=0"]).fails(2, &["disk9"]);
    replay(&dir.path().join("no.trace"), "sim:sata-a", &[]).fails(2, &["no.trace"]);
    // Not first a word of consent that a directory has not.
    let directory = dir.path().to_str().unwrap();
    replay(&trace, directory, &[]).fails(2, &[directory, "is a directory", "name the device"]);
    let saved = dir.path().join("saved.parquet");
    fs::write(&saved, "mine").unwrap();
    let save = format!("--save={}", saved.display());
    replay(&trace, "sim:sata-a", &[&save]).fails(2, &["saved.parquet: exists", "another file"]);
    assert_eq!(fs::read_to_string(&saved).unwrap(), "mine");
}

// Breaks when a replay leaves no record, or one that is shown as something else than was printed.
#[test]
fn a_replay_and_a_comparison_are_recorded() {
    let (dir, runs) = (scratch_dir(), scratch_dir());
    let trace = trace(dir.path(), 50, 100_000);
    let (name, place) = (trace.to_str().unwrap(), ["--runs-dir", runs.path().to_str().unwrap()]);
    let args = ["trace", "replay", name, "sim:sata-a", "--format=mqsim", "--seed=7"];
    let page = run(&[&args[..], &place].concat()).exits(0).stdout;
    let record = only(runs.path());
    record.assert_sums();
    let shown = at(runs.path(), &["runs", "show", "last"]).exits(0).stdout;
    assert!(shown.starts_with(&page), "{shown}");
    let args = ["trace", "compare", name, "sim:sata-a", "sim:sata-b", "--format=mqsim", "--seed=7"];
    let page = run(&[&args[..], &place].concat()).exits(0).stdout;
    let shown = at(runs.path(), &["runs", "show", "last"]).exits(0).stdout;
    assert!(shown.starts_with(&page), "{shown}");
}

// Breaks when what wrote to a drive and was killed leaves no trace of itself, or one without a name.
#[test]
fn a_replay_and_a_comparison_that_were_killed_are_in_the_list() {
    let dir = scratch_dir();
    // An hour between its requests.
    let trace = trace(dir.path(), 4, 3_600_000_000_000);
    let file = dir.path().join("image");
    written_file(&file, 32 << 20);
    let (name, image) = (trace.to_str().unwrap(), file.to_str().unwrap());
    for (verb, targets) in [("replay", &[image][..]), ("compare", &[image, "sim:sata-b"])] {
        let runs = scratch_dir();
        let flags = ["--format=mqsim", "--no-progress", "--write", "--consent=image"];
        let args = [&["trace", verb, name], targets, &flags].concat();
        let mut alive = Alive::start(drivescope(args).env("DRIVESCOPE_RUNS_DIR", runs.path()));
        // Until it is whole, its name begins with a dot.
        let has_one = || names(runs.path()).iter().any(|name| !name.starts_with('.')).then_some(());
        wait_for("a record", has_one);
        alive.child().kill().unwrap();
        alive.end();
        let listed = at(runs.path(), &["runs", "list"]).exits(0).stdout;
        let listed = listed.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in [verb, &targets.join(" "), "broken off after 0 of"] {
            assert!(listed.contains(word), "{listed}");
        }
        let anew = format!("drivescope trace {verb} {name} {}", targets.join(" "));
        at(runs.path(), &["report", "last"]).fails(2, &["no result yet", &anew]);
    }
}

// Breaks when what I/O errors ended leaves no record, or one that cannot be read again, or passes for whole.
#[test]
fn what_a_drive_ended_is_recorded_as_far_as_it_came() {
    let dir = scratch_dir();
    let trace = trace(dir.path(), 50, 100_000);
    let name = trace.to_str().unwrap();
    let (whole, gone) = ("sim:sata-a", "sim:sata-a?faults.vanish_at_ns=2000000");
    let referring = ["--mode=outstanding", "--reads-only", "--reference", gone];
    for (verb, targets, other) in [
        ("replay", &[gone][..], &[][..]),
        ("replay", &[whole], &referring),
        // In its first round of B, and so without anything to hold against the other.
        ("compare", &[whole, gone], &[]),
    ] {
        let runs = scratch_dir();
        let flags = ["--format=mqsim", "--seed=7", "--no-progress"];
        let args = [&["trace", verb, name], targets, &flags, other].concat();
        let ran = at(runs.path(), &args).exits(2).says(&["1 I/O failed", "is no longer there"]);
        assert!(ran.stderr.contains("to make it again: drivescope trace"), "{}", ran.stderr);
        let record = only(runs.path());
        let shown = at(runs.path(), &["runs", "show", "last"]);
        if verb == "replay" {
            record.assert_sums();
            let shown = shown.exits(0).stdout;
            for words in ["1 of", "I/Os failed", "ended early", "ended by an error"] {
                assert!(shown.contains(words), "{words}: {shown}");
            }
        }
    }
    // Both were replayed on, so both are in the list; the one that was asked for is the last.
    let runs = scratch_dir();
    let flags = ["--format=mqsim", "--seed=7", "--mode=outstanding", "--reference=sim:sata-b"];
    let ran = at(runs.path(), &[&["trace", "replay", name, whole, "--json"], &flags[..]].concat());
    let json = ran.exits(0).json();
    assert_eq!(recorded(runs.path()).len(), 2);
    let shown = at(runs.path(), &["runs", "show", "last"]).exits(0).stdout;
    assert!(shown.contains(json["envelope"]["run_id"].as_str().unwrap()), "{shown}");
    let reference = json["envelope"]["parts"][0].as_str().unwrap();
    // A page of both would be twice as large.
    let page = at(runs.path(), &["report", "last", "--markdown=-"]).exits(0).stdout;
    assert!(page.contains("sim:sata-a") && !page.contains(reference), "{page}");
    let shown = at(runs.path(), &["runs", "show", reference]).exits(0).stdout;
    assert!(shown.contains("sim:sata-b"), "{shown}");
}

// Breaks when the drive that answers sooner is not named under a load that both can serve.
#[test]
fn the_drive_that_suits_is_named_although_completion_cannot_tell() {
    let dir = scratch_dir();
    let trace = trace(dir.path(), 500, 400_000);
    let always = ["--format=mqsim", "--no-progress", "--no-record", "--seed=7", "--json"];
    let compare = |a: &str, b: &str| -> Ran {
        let mut command = drivescope(["trace", "compare"]);
        command.arg(&trace).args([a, b]).args(always).output().unwrap().into()
    };
    for (a, b) in [("sim:sata-a", "sim:sata-b"), ("sim:sata-b", "sim:sata-a")] {
        let body = compare(a, b).exits(0).body();
        assert_eq!((&body["winner"], &body["by"]), (&"sim:sata-a".into(), &"q2c_sum".into()));
        assert_eq!(body["completion_tells"], "too_light");
        assert_eq!(body["drives"][0]["rounds"].as_array().unwrap().len(), 6);
    }
    let body = compare("sim:sata-a", "sim:sata-a").exits(1).body();
    assert_eq!((&body["winner"], &body["verdict"]), (&Value::Null, &"equivalent".into()));
}

// Breaks when what we say of the time of issue is not what the kernel saw, or when a request does not reach the device.
#[test]
fn the_kernel_saw_every_request() {
    if !has_means(&["losetup"]) {
        return;
    }
    let (dir, device) = (scratch_dir(), Loop::new(32 << 20, true));
    let trace = trace(dir.path(), 2_000, 200_000);
    let saved = dir.path().join("replayed.parquet");
    let save = format!("--save={}", saved.display());
    let ran = replay(&trace, device.dev(), &["--reads-only", "--verify", "--json", &save]);
    let body = ran.body();
    let kernel = &body["kernel"];
    assert_eq!(
        (&kernel["requests"], &kernel["matched"]),
        (&1_500.into(), &1_500.into()),
        "{kernel}"
    );
    assert_eq!((&kernel["missing"], &kernel["lost_events"]), (&0.into(), &0.into()));
    let of = |spans: &Value| spans["p50"].as_u64().unwrap();
    assert!(of(&kernel["issue_error_ns"]) >= of(&kernel["stamp_error_ns"]), "{kernel}");
    let analysis = run(&["trace", "analyze", saved.to_str().unwrap(), "--json"]).exits(0).body();
    assert_eq!((&analysis["reads"], &analysis["writes"]), (&1_500.into(), &0.into()));
    assert_eq!(analysis["q2c_sum_s"], body["q2c_sum_s"], "the replay as a trace of its own");
}

// Breaks when a scheduler that was set for a replay stays.
#[test]
fn a_scheduler_is_set_and_put_back() {
    if !has_means(&["losetup"]) {
        return;
    }
    let (dir, device) = (scratch_dir(), Loop::new(32 << 20, true));
    let trace = trace(dir.path(), 20, 1_000_000);
    let name = device.dev().trim_start_matches("/dev/");
    let file = format!("/sys/block/{name}/queue/scheduler");
    let chosen = || fs::read_to_string(&file).unwrap();
    let before = chosen();
    let body = replay(&trace, device.dev(), &["--reads-only", "--scheduler=none", "--json"]).body();
    assert_eq!(body["scheduler"]["set"], "none");
    assert_eq!(chosen(), before);
    replay(&trace, device.dev(), &["--reads-only", "--scheduler=nope"]).fails(2, &["nope", "none"]);
    assert_eq!(chosen(), before);
}

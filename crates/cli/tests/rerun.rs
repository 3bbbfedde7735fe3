//! A recorded run, made again: the same to the bit where that can be, a comparison where it cannot, and
//! never on another drive.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};

use common::recorded::{Recorded, STEPS, VIRTUAL, at, body_of, only, recorded};
use common::storage::{Loop, has_means, tool};
use common::{Ran, drivescope, mark, names, scratch_dir};
use serde_json::Value;

fn rerun(runs: &Path, args: &[&str]) -> Ran {
    at(runs, &[&["rerun", "--json", "--no-progress"], args].concat())
}

/// The run in `runs` that is not `original`.
fn other(runs: &Path, original: &Recorded) -> Recorded {
    let mut others = recorded(runs);
    others.retain(|run| run != original);
    assert_eq!(others.len(), 1, "{others:?}");
    others.remove(0)
}

/// Outcome of each test in the comparison, after checking its form.
fn outcomes(json: &Value) -> Vec<String> {
    let tests = json["comparison"]["tests"].as_array().unwrap();
    assert_eq!(tests.len(), json["body"]["tests"].as_array().unwrap().len());
    let known = ["agrees", "faster", "slower", "undecided", "not_comparable"];
    tests
        .iter()
        .zip(json["body"]["tests"].as_array().unwrap())
        .map(|(compared, test)| {
            assert_eq!((&compared["name"], &compared["op"]), (&test["name"], &test["op"]));
            assert_eq!(compared["repeated_mb_s"], test["mb_s"]["median"]);
            let outcome = compared["outcome"].as_str().unwrap().to_owned();
            assert!(known.contains(&&*outcome), "{outcome}");
            let ratio = &compared["ratio"];
            let number = |name: &str| ratio[name].as_f64();
            let value = number("ratio").unwrap();
            if let (Some(low), Some(high)) = (number("low"), number("high")) {
                assert!(low <= value && value <= high, "{ratio}");
            }
            assert!(value > 0.0 && compared["original_mb_s"].as_f64().unwrap() > 0.0, "{compared}");
            outcome
        })
        .collect()
}

/// If it failed, a seed in a record would be worth nothing.
#[test]
fn on_a_virtual_drive_the_body_is_identical() {
    let runs = scratch_dir();
    let before = at(runs.path(), &VIRTUAL).exits(0);
    let original = only(runs.path());
    let ran = rerun(runs.path(), &["last"]).exits(0);
    let json = ran.json();
    assert_eq!(json["body"], before.body());
    assert_eq!(json["comparison"]["identical"], true);
    assert_eq!(json["comparison"]["original"], original.id());
    assert!(outcomes(&json).iter().all(|outcome| outcome == "agrees"), "{json}");
    // The repetition is a run of its own.
    let again = other(runs.path(), &original);
    again.assert_sums();
    assert_eq!(json["envelope"]["run_id"], again.id());
    assert_eq!(json["envelope"]["schema"], "drivescope.mark/1");
    assert_eq!(again.json("setup.json")["repeats"], original.id());
    assert_eq!(again.json("setup.json")["verb"], "rerun");
    assert_eq!(again.text("plan.toml"), original.text("plan.toml"));
    assert_eq!((body_of(&again), again.steps().len() as u64), (before.body(), STEPS));
    // And can be repeated in turn, from wherever.
    let id = again.id();
    let third = rerun(runs.path(), &[&id]).exits(0).json();
    assert_eq!((&third["comparison"]["identical"], &third["body"]), (&true.into(), &json["body"]));
    let page = at(runs.path(), &["rerun", &original.id(), "--no-progress"]).exits(0).stdout;
    assert!(page.contains(&format!("compared with {}", original.id())), "{page}");
    assert!(page.contains("Identical to the last bit."), "{page}");
}

#[test]
fn a_seed_in_the_drives_name_and_one_of_the_flags_are_both_repeated() {
    for args in [
        &["mark", "sim:hdd-7200?seed=3", "--quick", "--json", "--tests=RND4KQ1T1"][..],
        &["mark", "sim:hdd-7200?seed=3", "--seed=4", "--quick", "--json", "--tests=RND4KQ1T1"],
        &["mark", "sim:hdd-7200", "--span=2GiB+1GiB", "--quick", "--json", "--tests=SEQ1MQ8T1"],
        &["mark", "sim:hdd-7200", "--span=all", "--quick", "--json", "--tests=RND4KQ1T1"],
    ] {
        let runs = scratch_dir();
        let before = at(runs.path(), args).exits(0).body();
        let json = rerun(runs.path(), &["last"]).exits(0).json();
        assert_eq!(json["body"], before, "{args:?}");
        assert_eq!(json["comparison"]["identical"], true, "{args:?}");
    }
}

/// A copy of the model whose platter turns at another speed.
fn model(dir: &Path, rpm: u32) -> PathBuf {
    let text = include_str!("../../sim/models/hdd-7200.toml");
    assert!(text.contains("rpm = 7200"));
    let path = dir.join("disk.toml");
    fs::write(&path, text.replace("rpm = 7200", &format!("rpm = {rpm}"))).unwrap();
    path
}

#[test]
fn a_number_that_differs_is_exit_code_1() {
    let (dir, runs) = (scratch_dir(), scratch_dir());
    let target = format!("sim:{}", model(dir.path(), 7200).display());
    let args = ["mark", &target, "--quick", "--json", "--seed=7", "--tests=SEQ1MQ8T1,RND4KQ1T1"];
    at(runs.path(), &args).exits(0);
    let id = only(runs.path()).id();
    rerun(runs.path(), &[&id]).exits(0);
    model(dir.path(), 5400);
    let ran = rerun(runs.path(), &[&id]).exits(1);
    let json = ran.json();
    assert_eq!(json["comparison"]["identical"], false);
    let found = outcomes(&json);
    assert!(
        found.contains(&"slower".to_owned()) && !found.contains(&"faster".to_owned()),
        "{json}"
    );
    let page = at(runs.path(), &["rerun", &id, "--no-progress"]).exits(1).stdout;
    assert!(page.contains("slower;") && page.contains("differ."), "{page}");
    // Within a wide margin each number agrees, and a virtual drive's have to be the same all the same.
    let wide = rerun(runs.path(), &[&id, "--margin=60%"]).exits(1).json();
    assert_eq!(wide["comparison"]["margin_percent"], 60.0);
    assert!(outcomes(&wide).iter().all(|outcome| outcome == "agrees"), "{wide}");
    rerun(runs.path(), &[&id, "--margin=0"]).fails(2, &["--margin"]);
}

/// On a real drive nothing comes out twice: what is said is a ratio, with its interval.
#[test]
fn on_a_directory_there_is_a_comparison() {
    let dir = scratch_dir();
    let pair = |longer: &[&str]| {
        let runs = scratch_dir();
        let here = runs.path().to_str().unwrap();
        let flags = ["--size=8MiB", "--tests=SEQ64KQ4T1,RND4KQ1T1", "--runs=6", "--runs-dir", here];
        let before = mark(dir.path(), &[&flags[..], longer].concat()).exits(0).body();
        // If nothing finished in the short window, `mark` has made a longer run after the first.
        let original = recorded(runs.path()).pop().unwrap();
        let ran = rerun(runs.path(), &["last", "--margin=90%"]);
        (runs, before, original, ran)
    };
    // The second one has the window of the first, in which a disk that others keep busy may finish nothing.
    let windows: [&[&str]; 3] = [&[], &["--duration=1s"], &["--duration=5s"]];
    let mut pairs = windows.into_iter().map(pair);
    let finished = |made: &(_, _, _, Ran)| !made.3.stdout.contains("\"nothing_finished\"");
    let (runs, before, original, ran) = pairs.find(finished).expect("nothing finished in 5 s");
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    let json = ran.json();
    assert_eq!(json["comparison"]["identical"], false);
    let found = outcomes(&json);
    let differs = found.iter().any(|outcome| outcome == "faster" || outcome == "slower");
    assert_eq!(ran.code == Some(1), differs, "{found:?}");
    for test in json["comparison"]["tests"].as_array().unwrap() {
        assert_eq!(test["runs"], serde_json::json!([6, 6]));
        assert!(test["ratio"]["low"].is_f64() && test["ratio"]["high"].is_f64(), "{test}");
    }
    // Made in the same way, and not on what the first one left.
    let again = recorded(runs.path()).pop().unwrap();
    assert_ne!(again.id(), original.id());
    assert_eq!(again.text("plan.toml"), original.text("plan.toml"));
    let setup = |body: &Value| body["setup"].clone();
    assert_eq!(setup(&json["body"]), setup(&before));
    assert_eq!(json["body"]["extents"]["file_bytes"], before["extents"]["file_bytes"]);
    assert!(names(dir.path()).is_empty());
    // Gone, or no longer what it was.
    fs::remove_dir(dir.path()).unwrap();
    rerun(runs.path(), &[&original.id()]).fails(2, &[dir.path().to_str().unwrap()]);
    fs::write(dir.path(), vec![7; 8 << 20]).unwrap();
    rerun(runs.path(), &[&original.id()]).fails(3, &["an existing file is only read"]);
    assert!(fs::read(dir.path()).unwrap() == vec![7; 8 << 20], "a file was written over");
    fs::remove_file(dir.path()).unwrap();
    fs::create_dir(dir.path()).unwrap();
}

/// If it failed, a drive would be blamed for, or credited with, what another one did.
#[test]
fn another_drive_under_the_same_name_is_refused() {
    if !has_means(&["losetup"]) {
        return;
    }
    let (device, runs) = (Loop::new(16 << 20, true), scratch_dir());
    let here = runs.path().to_str().unwrap();
    mark(&device.path, &["--tests=RND4KQ1T1", "--runs-dir", here]).exits(0);
    let original = only(runs.path());
    let json = rerun(runs.path(), &["last", "--margin=100%"]).json();
    assert_eq!(json["comparison"]["original"], original.id());
    outcomes(&json);
    let count = recorded(runs.path()).len();
    // The same node on another file of the same size, and on the same file from elsewhere.
    let second = scratch_dir();
    let image = second.path().join("image");
    fs::copy(&device.image, &image).unwrap();
    tool("losetup", &["-d", device.dev()]);
    tool("losetup", &["--direct-io=on", device.dev(), image.to_str().unwrap()]);
    let refused = |words: &[&str]| {
        let ran = rerun(runs.path(), &[&original.id()]).fails(2, &[device.dev(), "not the drive"]);
        ran.says(words);
        assert_eq!(recorded(runs.path()).len(), count, "a refused one left a record");
    };
    refused(&["inode"]);
    tool("losetup", &["-d", device.dev()]);
    let original_image = device.image.to_str().unwrap();
    tool("losetup", &["--direct-io=on", "--offset=1048576", device.dev(), original_image]);
    refused(&["size"]);
    tool("losetup", &["-d", device.dev()]);
    tool("losetup", &["--direct-io=on", device.dev(), original_image]);
    rerun(runs.path(), &[&original.id(), "--margin=100%"]);
    assert_eq!(recorded(runs.path()).len(), count + 1, "the right one is measured again");
}

#[test]
fn writing_needs_consent_again() {
    if !has_means(&["losetup"]) {
        return;
    }
    let (device, runs) = (Loop::new(16 << 20, true), scratch_dir());
    let here = runs.path().to_str().unwrap();
    let consent = ["--write", "--consent", device.name()];
    let flags = ["--tests=RND4KQ1T1", "--runs-dir", here];
    mark(&device.path, &[&flags[..], &consent].concat()).exits(0);
    let content = fs::read(&device.image).unwrap();
    rerun(runs.path(), &["last"]).fails(3, &["--write"]);
    rerun(runs.path(), &["last", "--write"]).fails(3, &["consent"]);
    assert!(fs::read(&device.image).unwrap() == content, "written without consent");
    let id = only(runs.path()).id();
    let ran = rerun(runs.path(), &[&[&*id, "--margin=100%"], &consent[..]].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    assert!(fs::read(&device.image).unwrap() != content);
}

#[test]
fn what_has_no_result_or_no_plan_is_said() {
    let runs = scratch_dir();
    rerun(runs.path(), &["last"]).fails(2, &["holds no runs"]);
    at(runs.path(), &VIRTUAL).exits(0);
    let made = only(runs.path());
    fs::remove_file(made.path("end.json")).unwrap();
    let resume = format!("--resume {}", made.id());
    rerun(runs.path(), &["last"]).fails(2, &[&made.id(), "no result yet", &resume]);
    let page = at(runs.path(), &["runs", "show", "last"]).exits(0).stdout;
    assert!(page.contains(&resume), "{page}");
    at(runs.path(), &["run", "--resume", "last", "--no-progress"]).exits(0);
    rerun(runs.path(), &["last"]).exits(0);
    fs::write(made.path("plan.toml"), "no plan").unwrap();
    rerun(runs.path(), &[&made.id()]).fails(2, &["plan.toml"]);
}

/// A repetition that is not kept is still compared; kept elsewhere it cannot be found.
#[test]
fn a_repetition_can_go_unrecorded() {
    let runs = scratch_dir();
    at(runs.path(), &VIRTUAL).exits(0);
    let mut command = drivescope(["rerun", "last", "--no-record", "--json", "--no-progress"]);
    command.env("DRIVESCOPE_RUNS_DIR", runs.path());
    let json = Ran::from(command.output().unwrap()).exits(0).json();
    assert_eq!(json["comparison"]["identical"], true);
    only(runs.path());
}

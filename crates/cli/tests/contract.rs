//! The `--json` contract, and how output behaves: every field with its type, JSON alone on stdout, no
//! colours in pipes, lines that fit.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::io::Read;
use std::process::{Command, Stdio};

use common::{Ran, drivescope, mark, mark_command, run, runs_dir, scratch_dir, tests};
use serde_json::Value;

fn number(value: &Value, at: &str) -> f64 {
    value[at].as_f64().unwrap_or_else(|| panic!("{at} is not a number in {value}"))
}

fn count(value: &Value, at: &str) -> u64 {
    value[at].as_u64().unwrap_or_else(|| panic!("{at} is not a whole number in {value}"))
}

fn latency(value: &Value) {
    let [p50, p99, p999, max] = ["p50", "p99", "p999", "max"].map(|p| count(value, p));
    // A percentile is the upper end of a bucket; the maximum is exact.
    assert!(p50 <= p99 && p99 <= p999 && p999 <= max + max / 500 + 1, "{value}");
    let mean = number(value, "mean");
    assert!(mean >= 0.0 && mean <= max as f64, "{value}");
}

fn spread(value: &Value, rates: &[f64]) {
    let n = rates.len();
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
    assert!((number(value, "median") - median).abs() <= 1e-9 * median, "{value} of {rates:?}");
    assert_eq!(count(value, "n"), n as u64);
    assert_eq!(number(value, "best"), sorted[n - 1]);
    let mean = rates.iter().sum::<f64>() / n as f64;
    let r_over_avg = (sorted[n - 1] - sorted[0]) / mean;
    assert!((number(value, "r_over_avg") - r_over_avg).abs() < 1e-9, "{value}");
    assert!(number(value, "cv") >= 0.0);
    for end in ["low", "high"] {
        assert!(value[end].is_null() || (n >= 6 && value[end].is_f64()), "{value}");
    }
}

fn test(test: &Value) {
    let fields = test.as_object().unwrap();
    assert!(test["name"].is_string() && test["op"].is_string() && test["headline"].is_boolean());
    let block = count(test, "block_bytes");
    assert!(block > 0 && count(test, "depth") > 0 && count(test, "threads") > 0);
    let runs = test["runs"].as_array().unwrap();
    assert!(!runs.is_empty());
    for run in runs {
        let (bytes, ns) = (count(run, "bytes"), count(run, "duration_ns"));
        assert_eq!(bytes, count(run, "ios") * block, "{run}");
        let mb_s = bytes as f64 * 1e3 / ns as f64;
        assert!((number(run, "mb_s") - mb_s).abs() <= 1e-9 * mb_s, "{run}");
        let iops = count(run, "ios") as f64 * 1e9 / ns as f64;
        assert!((number(run, "iops") - iops).abs() <= 1e-9 * iops, "{run}");
        latency(&run["latency_ns"]);
        assert!(number(run, "slat_ns") >= 0.0 && number(run, "clat_ns") >= 0.0);
    }
    // With several states, the numbers are of the runs in the one that the drive came to.
    let answer = test["states"]["answer"].as_u64().map(|answer| answer as usize);
    let counts = |run: &usize| {
        answer.is_none_or(|answer| {
            let of_state = test["states"]["states"][answer]["runs"].as_array().unwrap();
            of_state.contains(&Value::from(*run))
        })
    };
    let of = |field: &str| {
        let counted = (0..runs.len()).filter(counts);
        counted.map(|run| number(&runs[run], field)).collect::<Vec<_>>()
    };
    spread(&test["mb_s"], &of("mb_s"));
    spread(&test["iops"], &of("iops"));
    let proofs = test["proofs"].as_object().unwrap();
    let mut names: Vec<&str> = proofs.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["pattern", "reached", "repeatable", "steady", "undisturbed", "unhindered"],
        "six proofs"
    );
    for proof in proofs.values() {
        let verdict = proof["verdict"].as_str().unwrap();
        assert!(["proven", "refuted", "unprovable"].contains(&verdict), "{verdict}");
        assert!(!proof["reason"].as_str().unwrap().is_empty());
        assert!(proof["evidence"].is_object());
    }
    assert!(fields.contains_key("mb_s"));
}

fn contract(json: &Value) {
    let envelope = &json["envelope"];
    assert_eq!(envelope["schema"], "drivescope.mark/1");
    for field in ["date", "run_id", "version"] {
        assert!(envelope[field].is_string(), "{field}");
    }
    assert!(envelope["host"].is_object());
    let body = &json["body"];
    assert!(body["target"]["name"].is_string() && body["target"]["capacity_bytes"].is_u64());
    assert!(!body["stack"]["layers"].as_array().unwrap().is_empty());
    assert!(!body["stack"]["leaves"].as_array().unwrap().is_empty());
    for caveat in body["caveats"].as_array().unwrap() {
        for field in ["code", "subject", "cause", "remedy"] {
            assert!(!caveat[field].as_str().unwrap().is_empty(), "{caveat}");
        }
    }
    assert!(!tests(body).is_empty());
    tests(body).iter().for_each(test);
}

#[test]
fn the_contract_holds_on_a_real_target() {
    let dir = scratch_dir();
    let ran = mark(dir.path(), &["--size=64MiB", "--runs=6", "--mix=70", "--tests=RND4KQ4T2"]);
    let json = ran.json();
    contract(&json);
    let ops: Vec<&str> = tests(&json["body"]).iter().map(|t| t["op"].as_str().unwrap()).collect();
    assert_eq!(ops, ["read", "write", "mix70"]);
}

#[test]
fn the_contract_holds_on_a_virtual_target() {
    let json = run(["mark", "sim:hdd-7200", "--seed=7", "--quick", "--json"]).json();
    contract(&json);
    for test in tests(&json["body"]) {
        assert!(test["mb_s"]["low"].is_f64() && test["mb_s"]["high"].is_f64(), "{test}");
    }
}

/// Five runs cannot bound a median with 95% confidence: the widest interval holds it with 93.75%.
#[test]
fn fewer_than_six_runs_have_no_interval() {
    let args = ["mark", "sim:hdd-7200", "--seed=7", "--quick", "--json", "--tests=RND4KQ1T1"];
    for (runs, has) in [("--runs=1", false), ("--runs=5", false), ("--runs=6", true)] {
        let json = run([&args[..], &[runs]].concat()).json();
        for test in tests(&json["body"]) {
            for spread in [&test["mb_s"], &test["iops"]] {
                assert_eq!(spread["low"].is_f64(), has, "{runs}: {spread}");
                assert_eq!(spread["high"].is_f64(), has, "{runs}: {spread}");
            }
        }
    }
}

/// A drive that was pulled out: zero is not a speed, and running it again is not useful advice.
#[test]
fn a_drive_that_vanished_has_no_median_and_is_told_as_such() {
    for (at, word) in [("0", "RND4K Q1T1"), ("3000000", "RND4K Q1T1")] {
        let drive = format!("sim:hdd-7200?faults.vanish_at_ns={at}");
        let args = ["mark", &drive, "--seed=7", "--quick", "--json", "--tests=RND4KQ1T1"];
        let ran = run(args).exits(2).says(&["hdd-7200", word, "is no longer there"]);
        let body = ran.body();
        for test in tests(&body) {
            for spread in [&test["mb_s"], &test["iops"]] {
                assert_eq!((&spread["n"], &spread["median"]), (&0.into(), &Value::Null));
                assert_eq!(spread["best"], Value::Null);
            }
            assert_eq!(test["headline"], false);
        }
        let incomplete = body["caveats"].as_array().unwrap();
        let incomplete = incomplete.iter().find(|c| c["code"] == "incomplete").unwrap();
        assert!(incomplete["remedy"].as_str().unwrap().contains("connected"), "{incomplete}");
    }
}

/// Nothing was measured when nothing finished: zero is not the speed of a drive.
#[test]
fn a_window_in_which_nothing_finished_gives_no_number() {
    let dir = scratch_dir();
    let args = ["--size=4MiB", "--tests=RND4KQ1T1", "--duration=10ns"];
    let ran = Ran::from(mark_command(dir.path(), &args).output().unwrap()).exits(1);
    for test in tests(&ran.body()) {
        assert_eq!(test["headline"], false, "{test}");
    }
}

/// `drivescope mark | head -1` is what people type.
#[test]
fn a_reader_that_leaves_is_no_error() {
    for args in [
        &["mark", "sim:hdd-7200", "--seed=7", "--quick"][..],
        &["mark", "sim:hdd-7200", "--seed=7", "--quick", "--json"],
        &["plan"],
        &["devices"],
        &["man"],
        &["completions", "bash"],
        &["sim", "show", "hdd-7200"],
        &["--help"],
        &["mark", "--help"],
    ] {
        let mut child = drivescope(args).spawn().unwrap();
        drop(child.stdout.take());
        let status = child.wait().unwrap();
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let ran = Ran { code: status.code(), stdout: String::new(), stderr }.exits(0);
        assert_eq!(ran.said(), "", "{args:?}");
    }
}

fn text(args: &[&str]) -> Ran {
    let ran = run(args);
    assert!(ran.code == Some(0) || ran.code == Some(1), "{args:?}: {}", ran.stderr);
    ran
}

const PAGES: [&[&str]; 9] = [
    &["mark", "sim:hdd-7200", "--seed=7", "--mix=70"],
    &["mark", "sim:hdd-7200", "--seed=7", "--profile=nvme", "--mib"],
    &["mark", "sim:hdd-7200", "--seed=7", "--runs=1", "--tests=SEQ128KQ32T16"],
    &["devices"],
    &["sim", "list"],
    &["--help"],
    &["mark", "--help"],
    &["run", "--help"],
    &["devices", "--help"],
];

#[test]
fn pages_fit_80_columns_and_pipes_get_no_colours() {
    for args in PAGES {
        let ran = text(args);
        assert!(!ran.stdout.contains('\u{1b}') && !ran.stderr.contains('\u{1b}'), "{args:?}");
        for line in ran.stdout.lines() {
            let width = textwrap::core::display_width(line);
            assert!(width <= 80, "{width} columns in {args:?}: {line}");
            // The help's own layout pads the line before a flag's long description.
            let padded = line.trim_end() != line && !args.contains(&"--help");
            assert!(!padded, "spaces at the end of a line in {args:?}");
        }
    }
}

/// `NO_COLOR` wins over what forces colour upon a pipe.
#[test]
fn no_color_is_respected() {
    let colours = |set: &[(&str, &str)]| {
        let mut command = drivescope(["mark", "sim:hdd-7200", "--seed=7", "--quick"]);
        command.envs(set.iter().copied());
        Ran::from(command.output().unwrap()).exits(0).stdout.contains('\u{1b}')
    };
    assert!(colours(&[("CLICOLOR_FORCE", "1")]), "colour can be had");
    assert!(!colours(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

// Breaks when the program needs more stack than a shell lets it have (`ulimit -s`), and crashes instead of answering.
#[test]
fn a_small_stack_is_enough() {
    let program = env!("CARGO_BIN_EXE_drivescope");
    let quick = "--tests=RND4KQ1T1 --runs=1 --duration=5ms --seed=7 --no-progress";
    for line in [
        "--help".to_owned(),
        "mark --help".to_owned(),
        "nothing".to_owned(),
        format!("mark sim:hdd-7200 {quick}"),
        format!("mark null: {quick}"),
        "runs list".to_owned(),
        "runs show last --json".to_owned(),
        "show last".to_owned(),
        "probe align sim:usb-8m".to_owned(),
        "devices /dev/null".to_owned(),
        "diskspd -h".to_owned(),
        "completions bash".to_owned(),
    ] {
        let of = |limit: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("ulimit -s {limit}; exec {program} {line}")]);
            shell.env("DRIVESCOPE_RUNS_DIR", runs_dir()).stdin(Stdio::null());
            Ran::from(shell.output().unwrap())
        };
        let (small, usual) = (of("64"), of("8192"));
        assert!(usual.code.is_some(), "{line}: {usual:?}");
        assert_eq!(small.code, usual.code, "{line}: {small:?}");
    }
}

//! `sweep` as its users call it: on virtual drives, killed and gone on with, as rows and as pictures.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use common::recorded::{at, only, recorded};
use common::{Ran, drivescope, scratch_dir};
use serde_json::Value;

/// Four settings of short random reads, eight runs each.
const SMALL: [&str; 10] = [
    "sim:hdd-wd",
    "--vary=depth=1,4",
    "--vary=threads=1,2",
    "--base=RND4KQ1T1",
    "--runs=8",
    "--seed=7",
    "--duration=500ms",
    "--warm-up=100ms",
    "--pause=50ms",
    "--no-progress",
];

fn sweep(runs: &Path, args: &[&str]) -> Ran {
    at(runs, &[&["sweep"], args].concat())
}

fn small(runs: &Path, more: &[&str]) -> Ran {
    sweep(runs, &[&SMALL[..], more].concat())
}

/// A column of CSV by its head.
fn column(text: &str, name: &str) -> Vec<String> {
    let mut lines = text.lines();
    let place = lines.next().unwrap().split(',').position(|head| head == name).expect(name);
    lines.map(|line| line.split(',').nth(place).unwrap().to_owned()).collect()
}

// Breaks when a known effect is missed, or one is made up: on this disk depth matters and how it is divided among threads
// hardly does.
#[test]
fn what_matters_is_told_with_every_block_complete() {
    let runs = scratch_dir();
    let ran = small(runs.path(), &["--json", "--no-record"]).exits(0);
    let body = ran.body();
    let settings = body["settings"].as_array().unwrap();
    assert_eq!(settings.len(), 4);
    let mut blocks: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut positions = BTreeSet::new();
    for setting in settings {
        let made = setting["runs"].as_array().unwrap();
        assert_eq!(made.len(), 8, "{}", setting["name"]);
        for run in made {
            let position = run["position"].as_u64().unwrap();
            positions.insert(position);
            blocks.entry(run["block"].as_u64().unwrap()).or_default().insert(position / 4);
        }
    }
    assert_eq!(positions, (0..32).collect());
    assert!(blocks.iter().all(|(block, of)| *of == BTreeSet::from([*block])), "{blocks:?}");
    let terms = body["effects"]["terms"].as_array().unwrap();
    assert_eq!(terms.len(), 3);
    assert_eq!(
        (&terms[0]["factors"][0], &terms[0]["outcome"]),
        (&"depth".into(), &"matters".into())
    );
    assert!(terms[0]["levels"][1]["ratio"]["low"].as_f64().unwrap() > 1.2, "{}", terms[0]);
    // The same seed makes the same sweep, to the bit.
    let again = small(runs.path(), &["--json", "--no-record"]);
    assert_eq!(again.body(), body);
}

// Breaks when a column that scripts read is gone, or a row is not the run that it says.
#[test]
fn rows_have_the_columns_that_scripts_expect() {
    let runs = scratch_dir();
    let file = runs.path().join("sweep.csv");
    let csv = format!("--csv={}", file.display());
    let ran = small(runs.path(), &["--json", "--no-record", &csv]).exits(0);
    let text = fs::read_to_string(&file).unwrap();
    let head = text.lines().next().unwrap();
    assert!(head.starts_with("target,side,test,op,block_bytes,depth,threads,run,"), "{head}");
    assert_eq!(text.lines().count(), 33);
    let width = head.split(',').count();
    assert!(text.lines().all(|line| line.split(',').count() == width), "{text}");
    let positions: Vec<u32> =
        column(&text, "position").iter().map(|p| p.parse().unwrap()).collect();
    assert_eq!(positions, (0..32).collect::<Vec<u32>>());
    for (name, value) in [
        ("size_bytes", "1073741824"),
        ("block_bytes", "4096"),
        ("set_duration_ns", "500000000"),
        ("warm_up_ns", "100000000"),
        ("pattern", "rnd"),
    ] {
        assert!(column(&text, name).iter().all(|cell| cell == value), "{name}: {text}");
    }
    let seeds: BTreeSet<String> = column(&text, "seed").into_iter().collect();
    assert_eq!(seeds.len(), 32, "each run has a seed of its own");
    // Each row says what JSON says.
    let body = ran.body();
    let of_json: BTreeMap<u64, f64> = body["settings"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|setting| setting["runs"].as_array().unwrap())
        .map(|run| (run["position"].as_u64().unwrap(), run["mb_s"].as_f64().unwrap()))
        .collect();
    for (position, rate) in column(&text, "throughput_bytes_per_s").iter().enumerate() {
        let theirs = of_json[&(position as u64)] * 1e6;
        assert!((rate.parse::<f64>().unwrap() - theirs).abs() <= 0.5, "{position}");
    }
    let printed = small(runs.path(), &["--no-record", "--csv=-"]).exits(0);
    assert_eq!(printed.stdout, text, "standard output has the rows and nothing else");
}

// Breaks when a sweep that was killed loses what it had, makes something twice, or comes out otherwise.
#[test]
fn a_killed_sweep_goes_on_and_comes_out_the_same() {
    let whole = scratch_dir();
    let expected = small(whole.path(), &["--json"]).exits(0);
    for lines in [1, 9, 20] {
        let runs = scratch_dir();
        let mut command = drivescope([&["sweep"], &SMALL[..], &["--json"]].concat());
        let mut child = command.env("DRIVESCOPE_RUNS_DIR", runs.path()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        while made(runs.path()) < lines && child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < until, "nothing is recorded");
            std::thread::sleep(Duration::from_micros(200));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let run = only(runs.path());
        if run.is_ended() {
            continue;
        }
        // Killed at its first, gone on with by its own verb; later by the plans' own.
        let resumed = match lines {
            1 => at(runs.path(), &["run", "--resume=last", "--json", "--no-progress"]),
            _ => sweep(runs.path(), &["--resume=last", "--json", "--no-progress"]),
        };
        assert_eq!(resumed.exits(0).body(), expected.body(), "killed after {lines} lines");
        let steps = fs::read_to_string(only(runs.path()).path("journal.jsonl")).unwrap();
        let steps = steps.lines().filter(|line| line.contains("\"position\"")).count();
        assert!(steps >= 32, "{steps}");
        sweep(runs.path(), &["--resume=last"]).fails(2, &["is finished"]);
    }
}

/// Lines in the journals of a runs directory, also while they are written.
fn made(runs: &Path) -> usize {
    let journals = recorded(runs).into_iter().map(|run| run.path("journal.jsonl"));
    let texts = journals.filter_map(|path| fs::read(path).ok());
    texts.map(|text| text.iter().filter(|byte| **byte == b'\n').count()).sum()
}

#[test]
fn a_record_shows_the_sweep_again_and_says_all_of_it_already() {
    let runs = scratch_dir();
    let printed = small(runs.path(), &[]).exits(0);
    let shown = at(runs.path(), &["runs", "show", "last"]).exits(0);
    let (page, _) = printed.stdout.split_once("\n\n").unwrap();
    assert!(shown.stdout.starts_with(page), "{}", shown.stdout);
    sweep(runs.path(), &["--resume=last", "--runs=9"]).fails(2, &["--runs", "is in the record"]);
}

#[test]
fn both_orders_of_runs_are_held_against_each_other() {
    let runs = scratch_dir();
    let args = [
        "sim:hdd-wd",
        "--vary=order=blocked,interleaved",
        "--vary=depth=1..32",
        "--base=RND4KQ1T1",
        "--runs=6",
        "--seed=7",
        "--duration=300ms",
        "--warm-up=0",
        "--pause=0",
        "--no-progress",
        "--no-record",
        "--json",
    ];
    let body = sweep(runs.path(), &args).exits(0).body();
    let order = &body["order"];
    assert_eq!(order["settings"], 6);
    for ratio in ["spread", "throughput"] {
        assert!(order[ratio]["ratio"].as_f64().unwrap() > 0.0, "{order}");
        assert!(order[ratio]["low"].is_number(), "six settings have an interval: {order}");
    }
    // Effects are those of settings in turns.
    assert_eq!(body["effects"]["terms"].as_array().unwrap().len(), 1);
    assert_eq!(body["effects"]["blocks"], 6);
}

#[test]
fn sizes_times_and_words_are_swept_one_at_a_time() {
    let runs = scratch_dir();
    let args = [
        "sim:hdd-wd",
        "--vary=size=64M,1G",
        "--vary=warm-up=0,1",
        "--vary=op=read,write,mix70",
        "--vary=pattern=seq,rnd",
        "--one-at-a-time",
        "--runs=6",
        "--seed=7",
        "--duration=300ms",
        "--no-progress",
        "--no-record",
        "--json",
    ];
    let ran = sweep(runs.path(), &args);
    let body = ran.body();
    let names: Vec<&str> = body["settings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|setting| setting["name"].as_str().unwrap())
        .collect();
    let expected = ["base", "size=1GiB", "warm-up=0s", "op=write", "op=mix70", "pattern=rnd"];
    assert_eq!(names, expected, "{}", ran.stderr);
}

// Breaks when a number that a cache made counts among effects, or takes those of sound settings with it.
#[test]
fn withdrawn_levels_are_left_out_and_named() {
    let runs = scratch_dir();
    let args = [
        "sim:hdd-wd",
        "--vary=size=8M,1G",
        "--vary=depth=1,8",
        "--base=RND4KQ1T1",
        "--runs=6",
        "--seed=7",
        "--duration=2s",
        "--warm-up=2s",
        "--no-progress",
        "--no-record",
        "--json",
    ];
    let body = sweep(runs.path(), &args).exits(1).body();
    for setting in body["settings"].as_array().unwrap() {
        let is_small = setting["name"].as_str().unwrap().contains("8MiB");
        let standing = setting["stability"]["standing"].as_str().unwrap();
        assert_eq!(standing == "withdrawn", is_small, "{}", setting["name"]);
    }
    let effects = &body["effects"];
    assert_eq!(effects["left_out"][0], "size=8MiB");
    assert_eq!(effects["terms"].as_array().unwrap().len(), 1);
    assert_eq!(effects["terms"][0]["outcome"], "matters");
    assert!(body["caveats"].to_string().contains("left_out"));
}

#[test]
fn the_design_is_shown_before_anything_is_measured() {
    let runs = scratch_dir();
    let ran = small(runs.path(), &["--plan"]).exits(0);
    for word in ["depth", "1, 4", "4 settings", "8 of each, 32 in all"] {
        assert!(ran.stdout.contains(word), "{word}: {}", ran.stdout);
    }
    let document: Value =
        serde_json::from_str(&small(runs.path(), &["--plan", "--json"]).exits(0).stdout).unwrap();
    assert_eq!(document["body"]["runs"], 32);
    assert_eq!(document["body"]["time_ns"], 32 * 650_000_000_u64);
    assert!(recorded(runs.path()).is_empty(), "a plan is no run");
}

#[test]
fn slips_are_told_before_anything_is_measured() {
    let runs = scratch_dir();
    for (args, words) in [
        (&["sim:hdd-wd"][..], &["--vary"][..]),
        (&["sim:hdd-wd", "--vary=depth=1"], &["name two at least"]),
        (&["sim:hdd-wd", "--vary=deep=1,2"], &["cannot be varied", "depth"]),
        (&["sim:hdd-wd", "--vary=depth=3..32"], &["add a step"]),
        (&["sim:hdd-wd", "--vary=depth=1,2", "--vary=depth=4,8"], &["varied twice"]),
        (&["sim:hdd-wd", "--vary=size=1M,2M", "--size=1G"], &["--size", "is varied"]),
        (&["sim:hdd-wd", "--vary=size=1M,2M", "--span=1M"], &["--span", "2 MiB"]),
        (&["sim:hdd-wd", "--vary=size=1M,900T", "--no-record"], &["shorter --span"]),
        (&["sim:hdd-wd", "--vary=depth=1,2", "--csv=-", "--json"], &["--csv"]),
        (&["sim:hdd-wd", "--vary=engine=libaio,psync"], &["leave out --vary engine", "a file"]),
        (&["null:", "--vary=engine=libaio,psync"], &["leave out --vary engine"]),
        (&["/dev/zero", "--vary=engine=libaio,psync", "--iopoll"], &["--iopoll", "io_uring polls"]),
        (&["sim:hdd-wd", "--vary=depth=1,2", "--plot=x.gif"], &[".svg or .png"]),
        (&["sim:hdd-wd", "--vary=threads=1,1024", "--size=1M", "--no-record"], &["too small"]),
    ] {
        sweep(runs.path(), args).fails(2, words);
    }
}

#[test]
fn pictures_are_drawn_and_are_the_same_again() {
    let runs = scratch_dir();
    let (a, b) = (runs.path().join("a.svg"), runs.path().join("b.svg"));
    for file in [&a, &b] {
        let plot = format!("--plot={}", file.display());
        small(runs.path(), &["--no-record", &plot]).exits(0);
    }
    let svg = fs::read_to_string(&a).unwrap();
    assert_eq!(svg, fs::read_to_string(&b).unwrap());
    for words in ["Throughput by depth", "Spread of runs", "Runs over time", "threads 2", "limit"] {
        assert!(svg.contains(words), "{words}");
    }
    let png = runs.path().join("a.png");
    small(runs.path(), &["--no-record", &format!("--plot={}", png.display())]).exits(0);
    assert!(fs::read(&png).unwrap().starts_with(b"\x89PNG"));
}

/// Three engines on a file, eight outstanding, twice each.
const ENGINES: [&str; 7] = [
    "--vary=engine=io_uring,libaio,psync",
    "--base=RND4KQ8T1",
    "--runs=2",
    "--duration=100ms",
    "--warm-up=50ms",
    "--pause=0",
    "--no-progress",
];

/// Mean of outstanding I/Os as a share of the depth, by the name of the setting.
fn depth_shares(body: &Value) -> BTreeMap<String, f64> {
    let settings = body["settings"].as_array().unwrap().iter();
    let share = |setting: &Value| {
        assert_eq!(setting["runs"].as_array().unwrap().len(), 2, "{setting}");
        let evidence = &setting["proofs"]["unhindered"]["evidence"];
        evidence["achieved_depth_share"].as_f64().unwrap()
    };
    settings.map(|s| (s["load"]["engine"].as_str().unwrap().to_owned(), share(s))).collect()
}

// Breaks when a sweep over engines measures all settings with one of them, or a killed sweep resumes with another engine
// than the setting says. Of eight I/Os psync has one outstanding, whatever the drive.
#[test]
fn each_setting_is_issued_by_its_engine_also_when_it_goes_on() {
    let runs = scratch_dir();
    let file = runs.path().join("data");
    common::written_file(&file, 32 << 20);
    let target = file.to_str().unwrap();
    let csv = format!("--csv={}", runs.path().join("sweep.csv").display());
    let args = [&[target, "--json", csv.as_str()], &ENGINES[..]].concat();
    let mut command = drivescope([&["sweep"], &args[..]].concat());
    let mut child = command.env("DRIVESCOPE_RUNS_DIR", runs.path()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while made(runs.path()) < 2 && child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < until, "nothing is recorded");
        std::thread::sleep(Duration::from_micros(200));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let whole = match only(runs.path()).is_ended() {
        true => sweep(runs.path(), &args).body(),
        false => sweep(runs.path(), &["--resume=last", "--json", &csv, "--no-progress"]).body(),
    };
    assert_eq!(whole["setup"]["engine"], "io_uring, libaio, psync");
    let shares = depth_shares(&whole);
    assert_eq!(shares.keys().collect::<Vec<_>>(), ["io_uring", "libaio", "psync"]);
    assert!(shares["psync"] < 0.2, "{shares:?}");
    assert!(shares["io_uring"] > 2.0 * shares["psync"], "{shares:?}");
    assert!(shares["libaio"] > 2.0 * shares["psync"], "{shares:?}");
    let text = fs::read_to_string(runs.path().join("sweep.csv")).unwrap();
    let engines: BTreeSet<String> = column(&text, "engine").into_iter().collect();
    assert_eq!(engines.len(), 3, "{text}");
    let terms = whole["effects"]["terms"].as_array().map_or(0, Vec::len);
    let withdrawn = whole["settings"].to_string().contains("withdrawn");
    assert!(terms == 1 || withdrawn, "{}", whole["caveats"]);
}

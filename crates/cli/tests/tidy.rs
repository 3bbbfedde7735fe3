//! Files beside a result, whichever verb made it: the report, a picture, and rows for other programs.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::recorded::at;
use common::scratch_dir;
use serde_json::Value;

/// Columns that rows of runs have, whichever verb made them.
const COLUMNS: &str = "target,side,test,op,block_bytes,depth,threads,run,throughput_bytes_per_s,iops,latency_p50_ns,\
                       latency_p99_ns,latency_p999_ns,latency_max_ns,duration_ns,bytes,ios";

const MARK: [&str; 3] = ["mark", "sim:hdd-7200", "--seed=7"];
const COMPARE: [&str; 4] = ["compare", "sim:sata-a", "sim:hdd-wd", "--seed=7"];
const SHORT: [&str; 4] =
    ["--tests=SEQ1MQ8T1,RND4KQ32T1", "--runs=7", "--duration=50ms", "--warm-up=20ms"];

/// Rows of CSV as maps from column to cell.
fn rows(text: &str) -> Vec<BTreeMap<&str, &str>> {
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap();
    lines
        .map(|cells| {
            assert_eq!(cells.len(), head.len(), "{cells:?}");
            head.iter().copied().zip(cells).collect()
        })
        .collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() % 2 {
        1 => values[half],
        _ => f64::midpoint(values[half - 1], values[half]),
    }
}

/// The median of a column over the rows of one test and side.
fn of_rows(rows: &[BTreeMap<&str, &str>], side: &str, test: &Value, column: &str) -> f64 {
    let is_one = |row: &&BTreeMap<&str, &str>| {
        row["side"] == side && row["test"] == test["name"] && row["op"] == test["op"]
    };
    let cells = rows.iter().filter(is_one).map(|row| row[column].parse().unwrap());
    median(cells.collect())
}

/// Equal, but for the last place of what is written.
fn assert_same(ours: f64, theirs: &Value, scale: f64) {
    let theirs = theirs.as_f64().unwrap() * scale;
    assert!((ours - theirs).abs() <= 0.5, "{ours} {theirs}");
}

// Breaks when the medians of the rows are not those of --json, or a cell of a number is anything but a number.
#[test]
fn the_medians_of_rows_are_those_of_json() {
    let runs = scratch_dir();
    let csv = runs.path().join("runs.csv");
    let flag = format!("--csv={}", csv.display());
    let ran = at(runs.path(), &[&MARK[..], &SHORT, &["--json", &flag]].concat());
    let text = fs::read_to_string(&csv).unwrap();
    assert_eq!(text.lines().next(), Some(COLUMNS));
    let of_mark = rows(&text);
    let body = ran.body();
    let tests = body["tests"].as_array().unwrap();
    assert_eq!((tests.len(), of_mark.len()), (4, 28), "four tests of seven runs");
    for test in tests {
        assert_same(
            of_rows(&of_mark, "", test, "throughput_bytes_per_s"),
            &test["mb_s"]["median"],
            1e6,
        );
        assert_same(of_rows(&of_mark, "", test, "iops"), &test["iops"]["median"], 1.0);
    }
    for (name, cell) in of_mark.iter().flatten() {
        let is_word = ["target", "side", "test", "op"].contains(name);
        assert!(is_word || cell.parse::<f64>().is_ok(), "{name}: {cell}");
    }

    let ran = at(runs.path(), &[&COMPARE[..], &SHORT, &["--json", "--force", &flag]].concat());
    let text = fs::read_to_string(&csv).unwrap();
    assert_eq!(text.lines().next(), Some(COLUMNS));
    let of_sides = rows(&text);
    let body = ran.body();
    assert_eq!(of_sides.len(), 56, "two sides");
    for test in body["tests"].as_array().unwrap() {
        for (index, side) in ["A", "B"].into_iter().enumerate() {
            let ours = of_rows(&of_sides, side, test, "throughput_bytes_per_s");
            assert_same(ours, &test["sides"][index]["mb_s"]["median"], 1e6);
        }
    }
    assert!(
        of_sides
            .iter()
            .all(|row| row["target"]
                == ["sim:sata-a", "sim:hdd-wd"][usize::from(row["side"] == "B")])
    );

    let sweep = ["sweep", "sim:hdd-wd", "--vary=depth=1,4", "--runs=2", "--csv=-", "--no-record"];
    let text = at(runs.path(), &sweep).exits(0).stdout;
    assert!(text.starts_with(&format!("{COLUMNS},setting,")), "{text}");
}

/// Quick lines of verbs that measure, and how many charts a picture of each has at least.
const LINES: [&[&str]; 9] = [
    &["mark", "sim:hdd-7200", "--seed=7", "--quick", "--tests=RND4KQ1T1"],
    &["compare", "sim:sata-a", "sim:sata-b", "--seed=7", "--quick", "--tests=RND4KQ1T1"],
    &["sweep", "sim:hdd-wd", "--seed=7", "--vary=depth=1,4", "--runs=2", "--duration=100ms"],
    &["probe", "scatter", "sim:usb-8m", "--seed=7"],
    &["survey", "sim:card-3m", "--seed=7", "--time-budget=1min"],
    &["pts", "latency", "sim:enterprise-28op?capacity=512MiB", "--minute=0.1%", "--no-purge"],
    &["trace", "replay", "trace.csv", "sim:sata-a", "--seed=7"],
    &["trace", "compare", "trace.csv", "sim:sata-a", "sim:hdd-wd", "--seed=7"],
    &["purge", "sim:mlc-nvme", "--seed=7"],
];

fn trace(dir: &Path) -> String {
    let path = dir.join("trace.csv");
    let mut text = "device,op,offset,length,arrival\n".to_owned();
    for request in 0..200 {
        text += &format!("sda,R,{},4096,{}\n", request * 1_048_576, request * 1_000_000);
    }
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

// Breaks when a verb that measures cannot write its report, a picture or rows, when what it writes is another report than
// that of `report`, or when --quiet leaves more on standard error than nothing.
#[test]
fn every_result_is_written_beside_itself() {
    for line in LINES {
        let dir = scratch_dir();
        let trace = trace(dir.path());
        let line: Vec<&str> = line
            .iter()
            .map(|word| if *word == "trace.csv" { trace.as_str() } else { word })
            .collect();
        let file = |name: &str| dir.path().join(name);
        let flag = |flag: &str, name: &str| format!("--{flag}={}", file(name).display());
        let units = ["--time-unit=ns", "--address-unit=bytes"];
        let line = if line[0] == "trace" { [&line[..], &units].concat() } else { line };
        let mut flags = vec![flag("report", "a.html")];
        if line[0] != "purge" {
            flags.extend([flag("plot", "a.svg"), flag("csv", "a.csv")]);
        }
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let ran = at(dir.path(), &[&line[..], &["-q"], &flags].concat());
        assert!(matches!(ran.code, Some(0 | 1)), "{line:?}: {}", ran.stderr);
        assert_eq!(ran.stderr, "", "{line:?}");
        assert!(!ran.stdout.is_empty(), "{line:?}");
        at(dir.path(), &["report", "last", &flag("output", "b.html")]);
        let page = fs::read_to_string(file("a.html")).unwrap();
        let is_own = line[0] == "pts";
        assert!(is_own || page == fs::read_to_string(file("b.html")).unwrap(), "{line:?}");
        if line[0] == "purge" {
            continue;
        }
        assert!(fs::read_to_string(file("a.svg")).unwrap().contains("<svg"), "{line:?}");
        let rows = fs::read_to_string(file("a.csv")).unwrap();
        assert!(rows.lines().count() > 1, "{line:?}: {rows}");
        // Without a record the document is all there is, and its rows are the same.
        if !["survey", "pts"].contains(&line[0]) {
            let printed = at(dir.path(), &[&line[..], &["-q", "--no-record", "--csv=-"]].concat());
            assert_eq!(printed.stdout, rows, "{line:?}");
        }
    }
}

// Breaks when two results go into one file, or two to standard output, of which each would spoil the other.
#[test]
fn two_results_do_not_share_an_output() {
    let runs = scratch_dir();
    let line = [&MARK[..], &SHORT].concat();
    let with = |more: &[&str]| at(runs.path(), &[&line[..], more].concat());
    with(&["--csv=-", "--json"]).fails(2, &["--csv", "--json"]);
    with(&["--plot=x.svg", "--csv=x.svg"]).fails(2, &["x.svg"]);
    with(&["--report=x", "--csv=x"]).fails(2, &["x is named for two outputs"]);
    assert_eq!(common::recorded::recorded(runs.path()).len(), 0, "measured first");
}

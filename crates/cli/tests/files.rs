//! Files that are written beside a result: over another only by force, and found to be in the way before anything is
//! measured.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs;
use std::path::Path;

use common::recorded::recorded;
use common::{Ran, drivescope, names, scratch_dir};

const TESTED: &str = "sim:enterprise-28op?capacity=512MiB";

/// Each flag that names a file, with a quick line of its verb.
const LINES: [(&[&str], &str, &str); 18] = [
    (&["mark", "sim:hdd-7200", "--quick", "--tests=RND4KQ1T1", "--runs=1"], "--samples", "csv"),
    (&["mark", "sim:hdd-7200", "--quick", "--tests=RND4KQ1T1", "--runs=1"], "--csv", "csv"),
    (&["compare", "sim:sata-a", "sim:sata-b", "--quick", "--tests=RND4KQ1T1"], "--report", "html"),
    (&["purge", "sim:mlc-nvme"], "--report", "html"),
    (&["probe", "fat", "sim:usb-8m"], "--csv", "csv"),
    (&["sweep", "sim:hdd-7200", "--vary=block=4KiB,8KiB", "--runs=2"], "--csv", "csv"),
    (&["sweep", "sim:hdd-7200", "--vary=block=4KiB,8KiB", "--runs=2"], "--plot", "svg"),
    (&["survey", "sim:card-3m", "--time-budget=1min"], "--report", "html"),
    (&["probe", "align", "sim:usb-8m"], "--plot", "png"),
    (&["probe", "scatter", "sim:usb-8m"], "--data", "txt"),
    (&["pts", "latency", TESTED, "--minute=0.1%", "--no-purge"], "--report", "html"),
    (&["pts", "latency", TESTED, "--minute=0.1%", "--no-purge"], "--csv", "csv"),
    (&["pts", "latency", TESTED, "--minute=0.1%", "--no-purge"], "--plot", "svg"),
    (&["report", "last"], "--output", "html"),
    (&["report", "last"], "--markdown", "md"),
    (&["runs", "export"], "--output", "tar.gz"),
    (&["runs", "export", "last", "--format=fio-json"], "--output", "json"),
    (&["trace", "analyze", "trace.csv", "--time-unit=ns", "--address-unit=bytes"], "--plot", "svg"),
];

const TRACE: &str = "device,op,offset,length,arrival\nsda,R,0,4096,0\nsda,W,8192,4096,1000000\n";

/// Runs a line with its records in `runs`; not every verb takes a flag for that.
fn at(runs: &Path, line: &[&str]) -> Ran {
    drivescope(line).env("DRIVESCOPE_RUNS_DIR", runs).output().unwrap().into()
}

// Breaks when an afternoon's result is written over by the next, or a run of hours ends without the file that it was for.
#[test]
fn no_verb_writes_over_a_file_unasked() {
    for (line, flag, end) in LINES {
        let (dir, runs) = (scratch_dir(), scratch_dir());
        at(runs.path(), LINES[0].0).exits(0);
        fs::write(dir.path().join("trace.csv"), TRACE).unwrap();
        let path = dir.path().join(format!("mine.{end}"));
        let line: Vec<String> = line
            .iter()
            .map(|word| match *word {
                "trace.csv" => dir.path().join(word).display().to_string(),
                word => word.to_owned(),
            })
            .chain([format!("{flag}={}", path.display())])
            .collect();
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        fs::write(&path, "mine").unwrap();
        let before = recorded(runs.path()).len();
        at(runs.path(), &line).fails(2, &["mine", "exists", "--force"]);
        assert_eq!(recorded(runs.path()).len(), before, "{line:?} measured first");
        assert_eq!(fs::read(&path).unwrap(), b"mine", "{line:?}");
        let forced = at(runs.path(), &[&line[..], &["--force"]].concat());
        assert!(matches!(forced.code, Some(0 | 1)), "{line:?}: {}", forced.stderr);
        let written = fs::read(&path).unwrap();
        assert!(written != b"mine" && !written.is_empty(), "{line:?}");
        assert!(
            !names(dir.path()).iter().any(|name| name.starts_with('.') || name.ends_with(".part")),
            "{line:?}"
        );
        // A place where nothing can be made is as well found first.
        let nowhere = format!("{flag}={}", dir.path().join(format!("no/dir.{end}")).display());
        let lost = [&line[..line.len() - 1], &[&nowhere]].concat();
        let before = recorded(runs.path()).len();
        at(runs.path(), &lost).fails(2, &["no/dir"]);
        assert_eq!(recorded(runs.path()).len(), before, "{lost:?} measured first");
    }
}

// Breaks when a probe that has no plot runs before the error is printed.
#[test]
fn a_probe_without_a_plot_says_so_first() {
    let runs = scratch_dir();
    for probe in ["fat", "parallelism", "write-buffer", "capacity", "speed-class"] {
        let ran = at(runs.path(), &["probe", probe, "sim:usb-8m", "--plot=x.svg"]);
        ran.fails(2, &["--plot", probe, "no plot"]);
    }
    assert_eq!(recorded(runs.path()).len(), 0);
}

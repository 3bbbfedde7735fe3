//! The file that `--samples` writes: never over a device, never over the target, never half.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use crate::common;

use std::fs;

use common::{drivescope, mark, names, scratch_dir, written_file};

const SHORT: [&str; 4] = ["--tests=RND4KQ1T1", "--read-only", "--runs=2", "--size=1GiB"];

fn on_sim(samples: &std::path::Path, more: &[&str]) -> common::Ran {
    let mut command = drivescope(["mark", "sim:hdd-7200"]);
    command.args(SHORT).args(more).arg("--samples").arg(samples);
    command.output().unwrap().into()
}

#[test]
fn each_run_adds_its_ios() {
    let dir = scratch_dir();
    let path = dir.path().join("io.csv");
    on_sim(&path, &["--samples-max=100"]).exits(0);
    let text = fs::read_to_string(&path).unwrap();
    let rows: Vec<&str> = text.lines().collect();
    assert!(rows[0].starts_with("step,run,submitter,op,offset_bytes,length_bytes,intended_ns"));
    assert_eq!(rows.len(), 1 + 2 * 100, "two runs, each cut at a hundred");
    assert_eq!(names(dir.path()), ["io.csv"], "nothing temporary stays");
}

/// If it failed, a flag taken for a switch would put a table over somebody's data.
#[test]
fn what_is_no_regular_file_is_refused() {
    let dir = scratch_dir();
    on_sim(dir.path(), &[]).fails(3, &["not a regular file"]);
    on_sim(std::path::Path::new("/dev/null"), &[]).fails(3, &["/dev/null", "not a regular file"]);
    on_sim(&dir.path().join("no/such/io.csv"), &[]).fails(2, &["cannot be written"]);
    assert!(names(dir.path()).is_empty());
}

#[test]
fn the_target_is_not_written_over() {
    let dir = scratch_dir();
    let (path, link) = (dir.path().join("file"), dir.path().join("link"));
    written_file(&path, 4 << 20);
    fs::hard_link(&path, &link).unwrap();
    let before = fs::read(&path).unwrap();
    for samples in [&path, &link] {
        let args = ["--tests=RND4KQ1T1", "--samples", samples.to_str().unwrap()];
        mark(&path, &args).fails(3, &["is the target"]);
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_run_that_fails_leaves_the_earlier_file() {
    let dir = scratch_dir();
    let path = dir.path().join("io.csv");
    fs::write(&path, "earlier").unwrap();
    let mut command = drivescope(["mark", "sim:no-such-disk", "--force", "--samples"]);
    common::Ran::from(command.arg(&path).output().unwrap()).fails(2, &["no-such-disk"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "earlier");
    assert_eq!(names(dir.path()), ["io.csv"]);
}

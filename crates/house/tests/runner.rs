//! The scripts that count tests and judge skips: were they wrong, a red run could look green.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use drivescope_house::repository::{root, sources};

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// What the tally passes on, its counts, and its skips.
fn tally(log: &str, name: &str) -> (String, String, String) {
    let (log_file, counts, skips) = (
        scratch(&format!("{name}.log")),
        scratch(&format!("{name}.n")),
        scratch(&format!("{name}.s")),
    );
    fs::write(&log_file, log).unwrap();
    let output = Command::new("awk")
        .arg("-v")
        .arg(format!("counts={}", counts.display()))
        .arg("-v")
        .arg(format!("skips={}", skips.display()))
        .arg("-f")
        .arg(root().join("scripts/tally.awk"))
        .arg(&log_file)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    (text, fs::read_to_string(counts).unwrap(), fs::read_to_string(skips).unwrap())
}

const LOG: &str = "\
     Running unittests src/lib.rs (target/debug/deps/one-0123)

running 3 tests
test a ... ok
test b ... ok
test c ... ignored, takes hours

successes:

---- a stdout ----
skipped: needs zram
skipped: needs btrfs
4 passed; 4 failed; 4 ignored;

---- b stdout ----
not skipped: all is well

successes:
    a
    b

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.05s

     Running tests/two.rs (target/debug/deps/two-4567)

running 3 tests
test a ... ok
test d ... FAILED

successes:

---- a stdout ----
skipped: needs zram

successes:
    a

failures:

---- d stdout ----
skipped: needs zram
assertion failed

failures:
    d

test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.05s

   Doc-tests one

running 1 test
test src/lib.rs - f (line 3) ... ok

successes:

successes:
    src/lib.rs - f (line 3)

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.05s
";

#[test]
fn tests_are_counted_over_all_binaries_and_a_skipped_one_has_not_passed() {
    // 5 passed by the runner's count, of which `a` of both binaries said that it was skipped.
    let (_, counts, skips) = tally(LOG, "whole");
    assert_eq!(counts, "3 1 3\n");
    let lines: Vec<&str> = skips.lines().collect();
    assert_eq!(
        lines,
        ["needs zram\tsrc/lib.rs a", "needs btrfs\tsrc/lib.rs a", "needs zram\ttests/two.rs a"]
    );
}

#[test]
fn what_failed_is_shown_and_what_passing_tests_printed_is_not() {
    let (shown, _, _) = tally(LOG, "shown");
    assert!(shown.contains("assertion failed") && shown.contains("test d ... FAILED"), "{shown}");
    assert!(shown.contains("test result: FAILED"), "{shown}");
    assert!(!shown.contains("not skipped: all is well"), "{shown}");
}

#[test]
fn a_run_that_made_no_tests_counts_none() {
    // As when nothing compiled: the runner then fails by cargo's own status.
    assert_eq!(tally("error: could not compile\n", "empty").1, "0 0 0\n");
}

fn means(reason: &str) -> i32 {
    let mut command = Command::new(root().join("scripts/means"));
    command.arg(reason).stdout(Stdio::null()).status().unwrap().code().unwrap()
}

#[test]
fn a_skip_is_right_or_wrong_by_what_the_machine_has() {
    assert_eq!(means("this machine has no /proc"), 0);
    assert_eq!(means("this machine has no /no/such/place"), 1);
    assert_eq!(means("sh is not installed"), 0);
    assert_eq!(means("it is raining"), 2);
}

/// A test that skips for a reason that nobody can check would be skipped for ever, unseen.
#[test]
fn every_reason_for_a_skip_can_be_checked() {
    let mut seen = 0;
    for source in sources().unwrap() {
        let tests = source.path.contains("/tests/") && !source.path.starts_with("crates/house/");
        if !source.path.ends_with(".rs") || !tests {
            continue;
        }
        for (number, line) in source.lines() {
            for call in
                ["skip(\"", "skipped(\"", "skip(&format!(\"", "skipped(&format!(\"", "\"skipped: "]
            {
                let Some((_, rest)) = line.split_once(call) else { continue };
                let reason = rest.split('"').next().unwrap_or_default();
                if reason == "{why}" {
                    continue;
                }
                seen += 1;
                let reason = reason.replace("{path}", "/no/such/place").replace("{tool}", "sh");
                assert_ne!(means(&reason), 2, "{}:{number}: {reason}", source.path);
            }
        }
    }
    assert!(seen >= 5, "only {seen} reasons were found: is the search asleep?");
}

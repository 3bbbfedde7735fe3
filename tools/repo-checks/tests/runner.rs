//! The scripts that count tests and judge skips: were they wrong, a red run could look green.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use drivescope_repo_checks::packages::packages;
use drivescope_repo_checks::repository::{root, sources};

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Returns the lines that the tally passes on, its counts, and its skips.
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

/// Runs scripts/test with a cargo that prints `log` and ends with `status`, and fuzzing and a lab that find nothing; its
/// last line and exit code.
fn runner(name: &str, log: &str, status: i32, lint: bool, ci: bool) -> (String, i32) {
    runner_with(name, log, status, lint, ci, [("", 0), ("", 0)])
}

/// The same with fuzzing and a lab that print and end so.
fn runner_with(
    name: &str,
    log: &str,
    status: i32,
    lint: bool,
    ci: bool,
    [(fuzz_log, fuzz_status), (lab_log, lab_status)]: [(&str, i32); 2],
) -> (String, i32) {
    let dir = scratch(&format!("runner-{name}"));
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("log"), log).unwrap();
    let checks = if lint { "echo 'warning: unused variable'" } else { "exit 0" };
    let cargo = format!(
        "#!/bin/sh\ncase \"$*\" in *--no-run*) {checks} ;; test*) cat {}/log; exit {status} ;; esac\n",
        dir.display()
    );
    // Nothing is to be installed by a test.
    let installed = "#!/bin/sh\necho 'install ok installed'\n".to_owned();
    fs::write(dir.join("fuzz-log"), fuzz_log).unwrap();
    let fuzz = format!(
        "#!/bin/sh\ncase $1 in build) exit 0 ;; *) cat {}/fuzz-log; exit {fuzz_status} ;; esac\n",
        dir.display()
    );
    fs::write(dir.join("lab-log"), lab_log).unwrap();
    let lab = format!("#!/bin/sh\ncat {}/lab-log; exit {lab_status}\n", dir.display());
    let programs =
        [("cargo", cargo), ("dpkg-query", installed), ("no-fuzz", fuzz), ("no-lab", lab)];
    for (program, text) in programs {
        let path = dir.join(program);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", dir.display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .arg(root().join("scripts/test"))
        .env("PATH", path)
        .env("TEST_LOGS", &dir)
        .env("FUZZ", dir.join("no-fuzz"))
        .env("LAB", dir.join("no-lab"))
        .env("TESTS_LIST", "/dev/null")
        .env("CI", if ci { "true" } else { "" })
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (text.lines().last().unwrap_or_default().to_owned(), output.status.code().unwrap())
}

/// A run of one test that passed and one that said this.
fn log_with(said: &str) -> String {
    format!(
        "     Running tests/t.rs (target/debug/deps/t-1)\nsuccesses:\n\n---- a stdout ----\n{said}\n\n\
         successes:\n    a\n\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
    )
}

#[test]
fn a_green_run_says_so_in_its_last_line_and_ends_with_0() {
    let (last, code) = runner("green", &log_with("all is well"), 0, false, true);
    assert_eq!((last.as_str(), code), ("2 passed, 0 failed, 0 skipped", 0));
}

#[test]
fn a_red_run_of_any_kind_is_red() {
    let failed = runner("failed", LOG, 101, false, false);
    assert_eq!(failed, ("3 passed, 1 failed, 3 skipped".to_owned(), 1));
    // Nothing compiled, or a test binary was killed: no test failed, but the run did not succeed either.
    let broken = runner("broken", "error: could not compile\n", 101, false, false);
    assert_eq!(broken, ("0 passed, 1 failed, 0 skipped".to_owned(), 1));
    let lints = runner("lints", &log_with("all is well"), 0, true, false);
    assert_eq!(lints, ("2 passed, 1 failed, 0 skipped".to_owned(), 1));
}

/// Targets count as tests do, and fuzzing that did not run is a failure.
#[test]
fn what_fuzzing_finds_is_counted_and_red() {
    let fuzzed = |name: &str, log: &str, status: i32| {
        let beside = [(log, status), ("", 0)];
        runner_with(name, &log_with("all is well"), 0, false, false, beside)
    };
    let well =
        "test fuzz::a ... ok (9 executions)\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
    assert_eq!(fuzzed("fuzzed", well, 0), ("3 passed, 0 failed, 0 skipped".to_owned(), 0));
    let fault = "test fuzz::a ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n";
    assert_eq!(fuzzed("fault", fault, 1), ("2 passed, 1 failed, 0 skipped".to_owned(), 1));
    let unbuilt = "error: the fuzz targets cannot be built\n";
    assert_eq!(fuzzed("unbuilt", unbuilt, 2), ("2 passed, 1 failed, 0 skipped".to_owned(), 1));
}

/// Scenarios count as tests do, and a lab that did not run is a failure.
#[test]
fn what_the_lab_finds_is_counted_and_red() {
    let ran = |name: &str, log: &str, status: i32, ci: bool| {
        let beside = [("", 0), (log, status)];
        runner_with(name, &log_with("all is well"), 0, false, ci, beside)
    };
    let well = "test lab::a ... ok (2 of 2 steps, 9.1 s)\n\nscenario  steps\na  2\n\n\
                test result: ok. 1 passed; 0 failed; 0 ignored\n\n1 passed, 0 failed, 0 skipped\n";
    assert_eq!(ran("lab", well, 0, true), ("3 passed, 0 failed, 0 skipped".to_owned(), 0));
    let fault = "test lab::a ... FAILED\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored\n";
    assert_eq!(ran("lab-fault", fault, 1, false), ("2 passed, 1 failed, 0 skipped".to_owned(), 1));
    let dead = "error: the kernel was unpacked and is not there\n";
    assert_eq!(ran("lab-dead", dead, 2, false), ("2 passed, 1 failed, 0 skipped".to_owned(), 1));
    let hung = ran("lab-hung", "test lab::a ... ok\n", 124, false);
    assert_eq!(hung, ("2 passed, 1 failed, 0 skipped".to_owned(), 1));
    let skipped = |why: &str| {
        format!(
            "successes:\n\n---- lab::a stdout ----\nskipped: {why}\n\n\
             test result: ok. 1 passed; 0 failed; 0 ignored\n\n0 passed, 0 failed, 1 skipped\n"
        )
    };
    let needless = skipped("sh is not installed");
    let words = "2 passed, 0 failed, 1 skipped".to_owned();
    assert_eq!(ran("lab-skipped", &needless, 0, false), (words, 0));
    let words = "2 passed, 1 failed, 1 skipped".to_owned();
    assert_eq!(ran("lab-needless", &needless, 0, true), (words, 1));
}

#[test]
fn under_ci_a_skip_without_need_is_red() {
    let needless = log_with("skipped: this machine has no /proc");
    let skipped = "1 passed, 0 failed, 1 skipped".to_owned();
    let failed = ("1 passed, 1 failed, 1 skipped".to_owned(), 1);
    assert_eq!(runner("elsewhere", &needless, 0, false, false), (skipped.clone(), 0));
    assert_eq!(runner("needless", &needless, 0, false, true), failed);
    assert_eq!(runner("strange", &log_with("skipped: it is raining"), 0, false, true), failed);
    let needed = log_with("skipped: this machine has no /no/such/place");
    assert_eq!(runner("needed", &needed, 0, false, true), (skipped, 0));
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

/// A test that skips for a reason that cannot be checked would be skipped forever, unseen.
#[test]
fn every_reason_for_a_skip_can_be_checked() {
    let mut seen = 0;
    for source in sources().unwrap() {
        let tests =
            source.path.contains("/tests/") && !source.path.starts_with("tools/repo-checks/");
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
                let reason = reason
                    .replace("{path}", "/no/such/place")
                    .replace("{tool}", "sh")
                    .replace("{fstype}", "ext4");
                assert_ne!(means(&reason), 2, "{}:{number}: {reason}", source.path);
            }
        }
    }
    assert!(seen >= 5, "only {seen} reasons were found: is the search asleep?");
}

/// A module that no crate names would never run in a daily loop, and a crate without a line would have no test of the
/// program.
#[test]
fn quick_tests_name_every_module_and_every_crate() {
    let table = fs::read_to_string(root().join("scripts/quick-tests")).unwrap();
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    let lines: Vec<_> = lines.map(|line| line.split_once(": ").unwrap()).collect();
    let named: BTreeSet<&str> = lines.iter().flat_map(|(_, modules)| modules.split(' ')).collect();
    let suite = fs::read_to_string(root().join("crates/cli/tests/suite.rs")).unwrap();
    let modules: BTreeSet<&str> = suite
        .lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'))
        .filter(|module| *module != "common")
        .collect();
    assert_eq!(named, modules);
    let crates: BTreeSet<&str> = lines.iter().map(|(name, _)| *name).collect();
    let product = packages().unwrap();
    let product =
        product.iter().filter(|(_, package)| !package.is_tool).map(|(name, _)| name.as_str());
    assert_eq!(crates, product.collect());
}

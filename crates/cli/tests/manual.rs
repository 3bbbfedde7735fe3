//! The manual and the completions as a user meets them: through man and through a shell.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::storage::has_tools;
use common::{drivescope, run};

/// Broken markup shows as stray dots and letters in a terminal, and Debian refuses it in a package. And were a line wider
/// than 80 columns, every terminal of that width would break it.
#[test]
fn man_shows_every_page_without_a_complaint() {
    if !has_tools(&["man"]) {
        return;
    }
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manual");
    fs::create_dir_all(&dir).unwrap();
    let listed = run(["man", "--list"]).exits(0).stdout;
    assert!(listed.contains("\ndrivescope-trace-record trace record\n"), "{listed}");
    for line in listed.lines() {
        let mut words = line.split(' ');
        let file = dir.join(format!("{}.1", words.next().unwrap()));
        let args: Vec<&str> = ["man"].into_iter().chain(words).collect();
        fs::write(&file, run(args).exits(0).stdout).unwrap();
        let shown = Command::new("man")
            .args(["--warnings", "-Tutf8", "-l"])
            .arg(&file)
            .envs([("MANWIDTH", "80"), ("LC_ALL", "C.UTF-8"), ("GROFF_NO_SGR", "1")])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&shown.stderr);
        assert!(shown.status.success() && said.is_empty(), "{line}: {said}");
        let text = String::from_utf8_lossy(&shown.stdout);
        for line_shown in text.lines() {
            // A letter, a backspace and the letter again is a bold one.
            let backs = line_shown.chars().filter(|c| *c == '\u{8}').count();
            let columns = line_shown.chars().count() - 2 * backs;
            assert!(columns <= 80, "{line}: {columns} columns: {line_shown}");
        }
    }
}

/// Who asks for a page that is not there is to be told where the names are.
#[test]
fn a_page_that_is_not_there_is_refused() {
    run(["man", "trace", "recor"])
        .exits(2)
        .says(&["trace recor: there is no such page", "man --list"]);
}

/// What bash offers for a line, asked as readline asks: words parted at `:` and `=` too, the cursor at the end.
fn offered(words: &[&str], runs: &Path) -> Vec<String> {
    let script = run(["completions", "bash"]).exits(0).stdout;
    let line: String = words.concat();
    let parts: Vec<&str> = words.iter().map(|word| word.trim()).collect();
    let last = *parts.last().unwrap();
    let typed = if [":", "="].contains(&last) { "" } else { last };
    let program = Path::new(env!("CARGO_BIN_EXE_drivescope")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let asked = Command::new("bash")
        .args(["--norc", "-c"])
        .arg(format!(
            "{script}\nCOMP_LINE=$1 COMP_POINT=${{#1}} typed=$2; shift 2; COMP_WORDS=(\"$@\") \
             COMP_CWORD=$(($# - 1)); _drivescope drivescope \"$typed\" ''; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        ))
        .args(["bash", &line, typed])
        .args(parts)
        .env("PATH", path)
        .env("DRIVESCOPE_RUNS_DIR", runs)
        .output()
        .unwrap();
    let text = String::from_utf8(asked.stdout).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Were the parts of `sim:usb` not put together, bash would offer nothing behind the colon; were they not taken off the
/// answer, it would type `sim:sim:usb-8m`.
#[test]
fn bash_offers_verbs_flags_values_virtual_drives_and_runs() {
    let dir = tempfile::tempdir().unwrap();
    let runs = dir.path().join("runs");
    let none = offered(&["drivescope ", "runs ", "show ", "la"], &runs);
    assert!(!none.contains(&"last".to_owned()), "there is no run yet: {none:?}");
    let mark =
        ["mark", "sim:hdd-7200", "--quick", "--tests=RND4KQ1T1", "--no-progress", "--seed=7"];
    assert!(drivescope(mark).env("DRIVESCOPE_RUNS_DIR", &runs).status().unwrap().code().is_some());
    let cases: [(&[&str], &[&str]); 8] = [
        (&["drivescope ", "mar"], &["mark"]),
        (&["drivescope ", "trace ", "rec"], &["record"]),
        (&["drivescope ", "mark ", "--iop"], &["--iopoll"]),
        (&["drivescope ", "mark ", "--profile", "=", "real"], &["real-world"]),
        (&["drivescope ", "mark ", "--engine ", "lib"], &["libaio"]),
        (&["drivescope ", "mark ", "sim", ":", "usb"], &["usb-8m", "usb-tlc"]),
        (&["drivescope ", "sim ", "show ", "hdd-7"], &["hdd-7200"]),
        (&["drivescope ", "runs ", "show ", "la"], &["last"]),
    ];
    for (words, wanted) in cases {
        assert_eq!(offered(words, &runs), wanted, "{words:?}");
    }
    let all = offered(&["drivescope ", "mark ", "sim", ":"], &runs);
    assert!(all.contains(&"mlc-nvme".to_owned()) && all.len() > 10, "{all:?}");
}

/// A word with a blank in it, typed as it is, would be two.
#[test]
fn a_file_with_a_blank_is_offered_as_one_word() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("my plan.toml"), "").unwrap();
    let typed = format!("{}/my", dir.path().display());
    let wanted = format!("{}/my\\ plan.toml", dir.path().display());
    assert_eq!(offered(&["drivescope ", "run ", &typed], dir.path()), [wanted]);
}

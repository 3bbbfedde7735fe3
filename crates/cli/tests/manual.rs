//! The manual as a user meets it: through man.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::run;
use common::storage::has_tools;

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

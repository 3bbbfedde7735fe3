//! The manual as a user meets it, through man, and the sections of every page.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::args;
use crate::common;

use std::fs;
use std::path::Path;
use std::process::Command;

use ::manual::page::Page;
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

/// The error about a missing page says where the names are.
#[test]
fn a_page_that_is_not_there_is_refused() {
    run(["man", "trace", "recor"])
        .exits(2)
        .says(&["trace recor: there is no such page", "man --list"]);
}

fn pages() -> Vec<Page> {
    ::manual::page::pages(args::command())
}

fn page(words: &str) -> String {
    let pages = pages();
    let page = pages.iter().find(|page| page.words.join(" ") == words).unwrap();
    page.render("2026-01-02").unwrap()
}

/// Without a section, readers look for exit codes and files in the wrong place.
#[test]
fn every_page_has_the_sections_that_readers_look_for() {
    for page in pages() {
        let text = page.render("").unwrap();
        let mut rest = &*text;
        for section in [
            "NAME",
            "SYNOPSIS",
            "DESCRIPTION",
            "OPTIONS",
            "\"EXIT STATUS\"",
            "ENVIRONMENT",
            "\"SEE ALSO\"",
        ] {
            let at = rest.find(&format!("\n.SH {section}\n"));
            let at = at.unwrap_or_else(|| panic!("{}: no {section}, or not there", page.name));
            rest = &rest[at + 1..];
        }
        assert_eq!(text.matches(".TH ").count(), 1, "{}", page.name);
    }
}

/// An example that is broken over two lines, or flows into the next, cannot be copied.
#[test]
fn an_example_stands_in_a_line_of_its_own() {
    let text = page("mark");
    assert!(text.contains("\n\\fBdrivescope mark \\-\\-quick /mnt/usb\\fR\n.RS 4\n\\fIa shorter one, under 45 s\\fR\n.RE\n"), "{text}");
    assert!(page("sweep").contains("block=4K..1M \\\\\\fR\n.br\n\\fB"), "a broken command goes on");
}

/// clap does not know the options of compatibility modes: without these their pages would be empty.
#[test]
fn a_compatibility_mode_shows_the_options_of_what_it_imitates() {
    assert!(page("flashbench").contains("\\-\\-open\\-au\\-nr=N"));
    assert!(page("diskspd").contains("\\-\\-emulate=diskspd\\-linux"));
}

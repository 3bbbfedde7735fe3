//! Checks of the documents against the repository.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use drivescope_repo_checks::documents::{anchors, code_spans, links};
use drivescope_repo_checks::program::Printed;
use drivescope_repo_checks::repository::{Source, root, sources};
use drivescope_repo_checks::{program, transcript};

fn documents() -> Vec<Source> {
    let documents: Vec<_> =
        sources().unwrap().into_iter().filter(|s| s.path.ends_with(".md")).collect();
    assert!(documents.iter().any(|d| d.path == "README.md"));
    documents
}

/// A link that leads nowhere, or to a heading that was renamed.
#[test]
fn every_link_leads_somewhere() {
    for document in documents() {
        let path = root().join(&document.path);
        for link in links(&document.text) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                file => path.parent().unwrap_or(Path::new(".")).join(file),
            };
            assert!(target.exists(), "{}: {link} leads nowhere", document.path);
            if !anchor.is_empty() {
                let text = fs::read_to_string(&target).unwrap();
                let known = anchors(&text);
                assert!(known.contains(anchor), "{}: {link}: no such heading", document.path);
            }
        }
    }
}

/// A file that was renamed, and a document that still sends its reader there.
#[test]
fn every_path_that_is_named_exists() {
    let mut seen = 0;
    for document in documents() {
        for span in code_spans(&document.text) {
            let path = span.split_whitespace().next().unwrap_or_default();
            let ours = ["crates/", "tools/", "docs/", "scripts/", ".ci/"]
                .iter()
                .any(|p| path.starts_with(p));
            if ours && !path.contains(['*', '<', '{', '…']) {
                seen += 1;
                assert!(root().join(path).exists(), "{}: there is no {path}", document.path);
            }
        }
    }
    assert!(seen > 20, "only {seen} paths were found: is the search asleep?");
}

/// A flag that was renamed, and a document that still names the old one.
#[test]
fn every_flag_that_is_named_exists() {
    let binary = program::build("dev").unwrap();
    let mut help = String::new();
    let mut verbs = vec!["drivescope".to_owned()];
    while let Some(verb) = verbs.pop() {
        let printed = program::run(&format!("{verb} --help"), &binary, false).unwrap();
        assert_eq!(printed.code, 0, "{}", printed.text);
        verbs.extend(verbs_below(&printed.text).map(|below| format!("{verb} {below}")));
        help.push_str(&printed.text);
    }
    assert!(help.contains("drivescope trace replay"), "the verbs below a verb were not found");
    let word = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let known: BTreeSet<&str> = help.split(word).filter(|w| w.starts_with("--")).collect();
    // Flags of other programs and of scripts that the documents name.
    let others = [
        "--locked",
        "--release",
        "--direct-io",
        "--read_iolog",
        "--jobs",
        "--keep",
        "--program",
        "--fast-precondition",
        "--minutes",
    ];
    for document in documents() {
        for span in code_spans(&document.text).into_iter().filter(|s| s.starts_with("--")) {
            let flag = span.split([' ', '=']).next().unwrap_or_default();
            let exists = known.contains(flag) || others.contains(&flag);
            assert!(exists, "{}: there is no {flag}", document.path);
        }
    }
}

/// The verbs that a page of help lists, in groups on the first page; their descriptions continue further to the right.
fn verbs_below(help: &str) -> impl Iterator<Item = &str> {
    let is_first = help.contains("\nUsage: drivescope <COMMAND>\n");
    let begins = move |line: &str| match is_first {
        true => line.starts_with("Usage:"),
        false => line == "Commands:",
    };
    let listed = help.lines().skip_while(move |line| !begins(line)).skip(1);
    listed
        .take_while(move |line| if is_first { *line != "Options:" } else { !line.is_empty() })
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|verb| !verb.is_empty() && *verb != "help")
}

/// A transcript of what the program printed once. Those of virtual drives are the same everywhere.
#[test]
fn transcripts_show_what_is_printed_today() {
    let binary = program::build("dev").unwrap();
    let documents = documents();
    let mut commands = BTreeSet::new();
    for document in &documents {
        let note = |command: &str| {
            commands.insert(command.to_owned());
            Ok(Printed { text: String::new(), code: 0 })
        };
        transcript::renew(&document.text, false, note).unwrap();
    }
    assert!(!commands.is_empty(), "no document has a transcript that can be checked");
    let printed = printed(&commands.into_iter().collect::<Vec<_>>(), &binary);
    for document in &documents {
        let renewed =
            transcript::renew(&document.text, false, |command| Ok(printed[command].clone()));
        let renewed = renewed.unwrap();
        let differs = renewed.lines().zip(document.text.lines()).find(|(new, old)| new != old);
        assert!(
            renewed == document.text,
            "{}: run scripts/renew; first difference: {differs:?}",
            document.path
        );
    }
}

/// Runs the commands, as many at once as there are CPUs, and returns their output.
fn printed(commands: &[String], binary: &Path) -> BTreeMap<String, Printed> {
    let next = AtomicUsize::new(0);
    let printed = Mutex::new(BTreeMap::new());
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(command) = commands.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let ran = program::run(command, binary, false).unwrap();
                    printed.lock().unwrap().insert(command.clone(), ran);
                }
            });
        }
    });
    printed.into_inner().unwrap()
}

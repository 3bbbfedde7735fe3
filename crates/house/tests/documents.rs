//! What the documents say against what there is.

#![allow(clippy::unwrap_used, reason = "these are tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use drivescope_house::documents::{anchors, code_spans, links};
use drivescope_house::repository::{Source, root, sources};
use drivescope_house::{program, transcript};

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
            let ours = ["crates/", "docs/", "scripts/", ".ci/"].iter().any(|p| path.starts_with(p));
            if ours && !path.contains(['*', '<', '{', '…']) {
                seen += 1;
                assert!(root().join(path).exists(), "{}: there is no {path}", document.path);
            }
        }
    }
    assert!(seen > 20, "only {seen} paths were found: is the search asleep?");
}

/// A flag that was renamed, and a document that still tells to use it.
#[test]
fn every_flag_that_is_named_exists() {
    let binary = program::build("dev").unwrap();
    let mut help = String::new();
    let verbs =
        ["", "mark", "plan", "run", "rerun", "devices", "sim list", "sim show", "sim serve"];
    let runs = ["runs list", "runs show", "runs rm", "runs export", "runs import", "runs reindex"];
    let probe = ["probe", "probe align", "probe scatter", "probe capacity", "flashbench"];
    let rest = ["import flashbench", "judge", "pts", "rows merge", "health", "purge"];
    let trace = ["record", "import", "export", "analyze", "replay", "compare"];
    let trace = trace.map(|verb| format!("trace {verb}"));
    let trace = trace.iter().map(String::as_str);
    for verb in verbs.into_iter().chain(runs).chain(probe).chain(rest).chain(trace) {
        let printed = program::run(&format!("drivescope {verb} --help"), &binary, false).unwrap();
        assert_eq!(printed.code, 0, "{}", printed.text);
        help.push_str(&printed.text);
    }
    let word = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let known: BTreeSet<&str> = help.split(word).filter(|w| w.starts_with("--")).collect();
    // Flags of other programs that the documents name.
    let others =
        ["--live", "--release", "--direct-io", "--read_iolog", "--jobs", "--keep", "--program"];
    for document in documents() {
        for span in code_spans(&document.text).into_iter().filter(|s| s.starts_with("--")) {
            let flag = span.split([' ', '=']).next().unwrap_or_default();
            let exists = known.contains(flag) || others.contains(&flag);
            assert!(exists, "{}: there is no {flag}", document.path);
        }
    }
}

/// A transcript of what the program printed once. Those of virtual drives are the same everywhere.
#[test]
fn transcripts_show_what_is_printed_today() {
    let binary = program::build("dev").unwrap();
    let mut run = 0;
    for document in documents() {
        let renewed = transcript::renew(&document.text, false, |command| {
            run += 1;
            program::run(command, &binary, false)
        })
        .unwrap();
        let differs = renewed.lines().zip(document.text.lines()).find(|(new, old)| new != old);
        assert!(
            renewed == document.text,
            "{}: run scripts/renew; first difference: {differs:?}",
            document.path
        );
    }
    assert!(run > 0, "no document has a transcript that can be checked");
}

//! Remedies as programs and people read them: sentence and code in each verb's JSON, and documents of versions without codes.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use crate::common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use common::{run, scratch_dir};
use serde_json::Value;

/// Remedies in a document: codes with sentences.
fn remedies(value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            if let Some(code) = fields.get("remedy_code") {
                let sentence = fields.get("remedy").and_then(Value::as_str).unwrap_or_default();
                found.push((code.as_str().unwrap().to_owned(), sentence.to_owned()));
            }
            fields.values().for_each(|value| remedies(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| remedies(item, found)),
        _ => {}
    }
}

// Breaks when the body of a verb becomes JSON before its remedies are written, so that its readers have a code alone, or when
// a verb has remedies without a code.
#[test]
fn each_verb_has_sentence_and_code() {
    let dir = scratch_dir();
    let plan = dir.path().join("plan.toml");
    let quick = ["--tests", "RND4KQ1T1", "--seed", "7", "--quick", "--runs", "2"];
    fs::write(&plan, run([&["plan"][..], &quick].concat()).exits(0).stdout).unwrap();
    let plan = plan.to_str().unwrap();
    let data = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
        path.to_str().unwrap().to_owned()
    };
    let cdm = data("docs/examples/cdm.txt");
    let fio = data("crates/pts/tests/data/group/g.json");
    let shop = data("docs/examples/shop.spc");
    let lines: [(&str, &[&str], &str); 11] = [
        (
            "mark sim:hdd-wd --tests RND4KQ1T1 --seed 7 --quick --runs 2 --no-record",
            &[],
            "more_runs",
        ),
        ("run", &[plan, "sim:hdd-7200", "--no-record"], "more_runs"),
        (
            "sweep sim:hdd-wd --vary depth=1,2 --base RND4KQ1T1 --runs 2 --duration 100ms --seed 7 --no-record",
            &[],
            "more_runs",
        ),
        (
            "compare sim:hdd-wd sim:hdd-sg --tests RND4KQ1T1 --quick --duration 50ms --seed 7 --no-record --session-offset 1%",
            &[],
            "",
        ),
        ("explain", &["fio --name=x --rw=randread --size=1g"], "direct_reads"),
        ("judge", &[&fio], "asynchronous_io"),
        ("import --no-record", &[&cdm], "compare_best"),
        ("trace analyze", &[&shop], "replay_for_completions"),
        (
            "probe align sim:usb-8m?state=fresh --seed 7 --no-record",
            &[],
            "write_once_or_data_sheet filled_state",
        ),
        ("purge sim:sata-a --seed 7 --no-record", &[], "method_for_secrets"),
        ("trace replay", &[&shop, "sim:hdd-7200", "--seed", "7", "--no-record"], ""),
    ];
    for (line, more, codes) in lines {
        let words = line.split_whitespace().chain(more.iter().copied()).chain(["--json"]);
        let ran = run(words.collect::<Vec<_>>());
        let mut found = Vec::new();
        remedies(&ran.json(), &mut found);
        for (code, sentence) in &found {
            assert!(!sentence.is_empty(), "{line}: {code} has no sentence");
        }
        let found: BTreeSet<&str> = found.iter().map(|(code, _)| code.as_str()).collect();
        let is_there = codes.is_empty() || codes.split(' ').any(|code| found.contains(code));
        assert!(is_there, "{line}: {codes} is not among {found:?}");
    }
}

/// The document as a version without codes wrote it.
fn without_codes(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("remedy_code");
            fields.remove("remedy_values");
            fields.values_mut().for_each(without_codes);
        }
        Value::Array(items) => items.iter_mut().for_each(without_codes),
        _ => {}
    }
}

// Breaks when a document of an older version, with the sentence alone, is read or printed otherwise than one of today.
#[test]
fn documents_without_codes_are_printed_as_they_were() {
    let dir = scratch_dir();
    let plan = dir.path().join("plan.toml");
    let quick = ["--tests", "RND4KQ1T1", "--seed", "7", "--quick", "--runs", "2"];
    fs::write(&plan, run([&["plan"][..], &quick].concat()).exits(0).stdout).unwrap();
    let mark = [&["mark", "sim:hdd-wd", "--json", "--no-record"][..], &quick].concat();
    let of_plan = ["run", plan.to_str().unwrap(), "sim:hdd-wd", "--json", "--no-record"];
    let told = "take --runs 6 or more";
    for line in [mark, of_plan.to_vec()] {
        let new = run(&line).json();
        let mut old = new.clone();
        without_codes(&mut old);
        assert_ne!(new, old);
        let caveats = old["body"]["caveats"].as_array().unwrap();
        assert!(caveats.iter().any(|caveat| caveat["remedy"] == told), "{caveats:?}");
        let path = dir.path().join("document.json");
        let printed = |document: &Value| {
            fs::write(&path, document.to_string()).unwrap();
            let page = run(["report", path.to_str().unwrap(), "--markdown=-"]).exits(0).stdout;
            // The size of the document is another one.
            page.lines().filter(|line| !line.contains("(JSON, ")).collect::<Vec<_>>().join("\n")
        };
        let page = printed(&old);
        assert_eq!(page, printed(&new));
        assert!(page.contains(told), "{page}");
    }
}

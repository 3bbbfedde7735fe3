//! `runs`: what is recorded is found, shown, carried elsewhere and removed, and nothing is removed, replaced
//! or believed that should not be.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use crate::common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::recorded::{FILES, VIRTUAL, at, body_of, only, recorded};
use common::storage::{has_tools, tool};
use common::{Ran, drivescope, names, run, scratch_dir};
use serde_json::Value;
use tempfile::TempDir;

/// A runs directory with `count` short runs.
fn recorded_runs(count: usize) -> TempDir {
    let runs = scratch_dir();
    for seed in 1..=count {
        let seed = format!("--seed={seed}");
        let args =
            ["mark", "sim:hdd-7200", "--quick", "--tests=RND4KQ1T1", "--runs=6", "--json", &seed];
        at(runs.path(), &args).exits(0);
    }
    runs
}

fn runs(dir: &Path, args: &[&str]) -> Ran {
    at(dir, &[&["runs"], args].concat())
}

/// Ids of a listing, newest first.
fn listed(dir: &Path) -> Vec<String> {
    let body = runs(dir, &["list", "--json"]).exits(0).body();
    let rows = body["runs"].as_array().unwrap().clone();
    rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// Ids as the directory has them, newest first.
fn there(dir: &Path) -> Vec<String> {
    recorded(dir).iter().rev().map(|run| run.id()).collect()
}

#[test]
fn a_list_has_every_run_with_what_it_is() {
    let dir = recorded_runs(3);
    let json = runs(dir.path(), &["list", "--json"]).exits(0).json();
    assert_eq!(json["envelope"]["schema"], "drivescope.runs/1");
    let body = &json["body"];
    assert_eq!(body["dir"], dir.path().to_str().unwrap());
    assert_eq!(body["runs"].as_array().unwrap().len(), 3);
    assert_eq!(listed(dir.path()), there(dir.path()));
    for row in body["runs"].as_array().unwrap() {
        for (name, value) in [
            ("verb", "mark"),
            ("target", "sim:hdd-7200"),
            ("state", "finished"),
            ("version", env!("CARGO_PKG_VERSION")),
        ] {
            assert_eq!(row[name], value, "{row}");
        }
        assert_eq!((&row["steps_done"], &row["steps_known"]), (&12.into(), &12.into()), "{row}");
        assert_eq!(row["live"], false);
        let made = recorded(dir.path()).into_iter().find(|r| r.id() == row["id"]).unwrap();
        let bytes: u64 = FILES.iter().map(|f| made.path(f).metadata().unwrap().len()).sum();
        assert_eq!(row["bytes"], bytes, "{row}");
        assert!(row["headline"].as_str().unwrap().contains("MB/s"), "{row}");
    }
    let page = runs(dir.path(), &["list"]).exits(0).stdout;
    assert!(there(dir.path()).iter().all(|id| page.contains(id)), "{page}");
    let empty = scratch_dir();
    let page = runs(empty.path(), &["list"]).exits(0).stdout;
    assert!(page.contains("No run is recorded in"), "{page}");
    assert_eq!(listed(&empty.path().join("not-there")), Vec::<String>::new());
}

#[test]
fn a_run_is_shown_as_it_was_printed() {
    let dir = scratch_dir();
    let args = ["mark", "sim:hdd-7200", "--seed=7", "--quick", "--no-progress"];
    let page = at(dir.path(), &args).exits(0).stdout;
    let id = only(dir.path()).id();
    for name in ["last", &id, &id[..20]] {
        let shown = runs(dir.path(), &["show", name]).exits(0).stdout;
        assert!(shown.starts_with(&page), "{shown}");
        let about = &shown[page.len()..];
        for word in [&*id, "as recorded: 9 files have their checksums", "sha256", "sim:hdd-7200"] {
            assert!(about.contains(word), "{about}");
        }
        // A command is not wrapped, so that it can be copied.
        let mut lines = shown.lines().filter(|line| !line.trim_start().starts_with("command "));
        assert!(lines.all(|line| textwrap::core::display_width(line) <= 80), "{shown}");
    }
    let mut json = runs(dir.path(), &["show", "last", "--json"]).exits(0).json();
    let record = json.as_object_mut().unwrap().remove("record").unwrap();
    assert_eq!(
        (&record["state"], &record["integrity"]),
        (&"finished".into(), &"as_recorded".into())
    );
    assert_eq!(json, only(dir.path()).json("document.json"));
    let mib = runs(dir.path(), &["show", "last", "--mib"]).exits(0).stdout;
    assert!(mib.contains("MiB/s") && !page.contains("MiB/s"), "{mib}");
}

#[test]
fn names_that_mean_no_run_or_several_are_told() {
    let dir = recorded_runs(2);
    let ids = there(dir.path());
    runs(dir.path(), &["show", "nonsense"]).fails(2, &["nonsense", &ids[0], &ids[1]]);
    runs(dir.path(), &["show", "../.."]).fails(2, &["../.."]);
    runs(dir.path(), &["show", ""]).exits(2);
    runs(dir.path(), &["show", "2"]).fails(2, &["could be", &ids[0], &ids[1], "more of the name"]);
    runs(dir.path(), &["show"]).exits(2);
    let empty = scratch_dir();
    runs(empty.path(), &["show", "last"]).fails(2, &[empty.path().to_str().unwrap(), "no runs"]);
}

/// Records are evidence: all views report when one is not what was recorded.
#[test]
fn an_altered_run_is_not_believed() {
    let dir = recorded_runs(1);
    let made = only(dir.path());
    let sound: Vec<(&str, Vec<u8>)> =
        FILES.iter().map(|name| (*name, fs::read(made.path(name)).unwrap())).collect();
    for name in ["plan.toml", "document.json", "series.csv", "histograms.hlog", "envelope.json"] {
        let mut text = made.text(name);
        let digit = text.rfind(|c: char| c.is_ascii_digit()).unwrap();
        let other = if &text[digit..=digit] == "1" { "2" } else { "1" };
        text.replace_range(digit..=digit, other);
        fs::write(made.path(name), text).unwrap();
        let ran = runs(dir.path(), &["show", "last"]);
        let ran = ran.exits(1).says(&[&made.id(), "not those that were recorded"]);
        assert!(ran.stdout.contains(&format!("altered: {name} (changed)")), "{}", ran.stdout);
        runs(dir.path(), &["show", "last", "--json"]).exits(1);
        restore(&made, &sound);
    }
    fs::remove_file(made.path("series.csv")).unwrap();
    fs::write(made.path("more.txt"), "x").unwrap();
    let ran = runs(dir.path(), &["show", "last"]).exits(1);
    for fault in ["series.csv (missing)", "more.txt (added)"] {
        assert!(ran.stdout.contains(fault), "{}", ran.stdout);
    }
    fs::remove_file(made.path("more.txt")).unwrap();
    restore(&made, &sound);
    runs(dir.path(), &["show", "last"]).exits(0);
    // A run with a journal that fails its check is not a run, and the error names its line. A list does not read the
    // journal, and detects by its length that it is not the one of the end.
    let journal = made.text("journal.jsonl");
    fs::write(made.path("journal.jsonl"), journal.replacen("\"run\":0", "\"run\":99", 1)).unwrap();
    runs(dir.path(), &["show", "last"]).fails(2, &["journal.jsonl:1", "checksum"]);
    let body = runs(dir.path(), &["list", "--json"]).exits(0).body();
    assert_eq!(body["unreadable"].as_array().unwrap().len(), 1, "{body}");
    let page = runs(dir.path(), &["list"]).exits(0).stdout;
    assert!(page.contains("cannot be read") && page.contains("journal.jsonl"), "{page}");
    // It can still be removed.
    runs(dir.path(), &["rm", "last", "--yes"]).exits(0);
    assert!(there(dir.path()).is_empty());
}

fn restore(made: &common::recorded::Recorded, sound: &[(&str, Vec<u8>)]) {
    sound.iter().for_each(|(name, bytes)| fs::write(made.path(name), bytes).unwrap());
}

#[test]
fn nothing_is_removed_without_a_yes_nor_when_one_name_is_wrong() {
    let dir = recorded_runs(3);
    let ids = there(dir.path());
    runs(dir.path(), &["rm", &ids[0]]).fails(3, &[&ids[0], "--yes"]);
    runs(dir.path(), &["rm", &ids[0], "nonsense", "--yes"]).fails(2, &["nonsense"]);
    runs(dir.path(), &["rm", "2", "--yes"]).fails(2, &["could be"]);
    runs(dir.path(), &["rm", "--yes"]).exits(2);
    assert_eq!(there(dir.path()), ids);
    let ran = runs(dir.path(), &["rm", &ids[0], &ids[0], "last", "--yes"]).exits(0);
    ran.prints(&["removed", &ids[0]]);
    assert_eq!((there(dir.path()), listed(dir.path())), (ids[1..].to_vec(), ids[1..].to_vec()));
    runs(dir.path(), &["rm", &ids[1], &ids[2], "--yes"]).exits(0);
    assert_eq!(listed(dir.path()), Vec::<String>::new());
}

/// The index is a cache: it may go, be rubbish, or be of another time.
#[test]
fn the_index_is_made_anew_whatever_happens_to_it() {
    let dir = recorded_runs(2);
    let ids = there(dir.path());
    let index = dir.path().join("index.sqlite");
    let old = fs::read(&index).unwrap();
    fs::remove_file(&index).unwrap();
    assert_eq!(listed(dir.path()), ids);
    assert!(index.exists(), "listing puts it right");
    for rubbish in [&b""[..], b"rubbish", &old[..old.len() / 2], &old[..100]] {
        fs::write(&index, rubbish).unwrap();
        assert_eq!(listed(dir.path()), ids, "{} bytes", rubbish.len());
    }
    let mut flipped = old.clone();
    flipped.iter_mut().skip(200).step_by(37).for_each(|byte| *byte ^= 0x55);
    fs::write(&index, flipped).unwrap();
    assert_eq!(listed(dir.path()), ids);
    // Of a time when there was one run more.
    fs::write(&index, &old).unwrap();
    fs::remove_dir_all(dir.path().join(&ids[0])).unwrap();
    assert_eq!(listed(dir.path()), ids[1..]);
    fs::write(&index, b"rubbish").unwrap();
    runs(dir.path(), &["reindex"]).exits(0).prints(&["1 run is indexed"]);
    assert!(fs::read(&index).unwrap().starts_with(b"SQLite format 3\0"));
    // Not a word of it is asked when a run is shown.
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    runs(dir.path(), &["show", "last"]).exits(0);
    assert_eq!(listed(dir.path()), ids[1..]);
}

#[test]
fn runs_go_elsewhere_and_come_back_the_same() {
    let (dir, elsewhere) = (recorded_runs(2), scratch_dir());
    let archive = elsewhere.path().join("runs.tar.gz");
    let file = archive.to_str().unwrap();
    runs(dir.path(), &["export", "--output", file]).exits(0).prints(&[file, "2 runs"]);
    let other = elsewhere.path().join("runs");
    let ids = there(dir.path());
    runs(&other, &["import", file]).exits(0).prints(&["took", &ids[0], &ids[1]]);
    assert_eq!(listed(&other), ids);
    for (here, there) in recorded(dir.path()).iter().zip(recorded(&other)) {
        there.assert_sums();
        for name in FILES {
            let same = fs::read(here.path(name)).unwrap() == fs::read(there.path(name)).unwrap();
            assert!(same, "{name}");
        }
    }
    runs(&other, &["import", file]).exits(0).prints(&["is here already"]);
    // Imported runs can be repeated, too.
    at(&other, &["rerun", &ids[0], "--json", "--no-progress"]).exits(0);
    // An existing archive is not overwritten.
    let before = fs::read(&archive).unwrap();
    runs(dir.path(), &["export", "last", "--output", file]).fails(2, &[file, "exists"]);
    assert!(fs::read(&archive).unwrap() == before);
    runs(dir.path(), &["export", "--output", "/proc/no/x.tar.gz"]).fails(2, &["/proc/no/x.tar.gz"]);
    runs(dir.path(), &["export", "nonsense", "--output", "x.tar.gz"]).fails(2, &["nonsense"]);
    assert_eq!(names(elsewhere.path()), ["runs", "runs.tar.gz"]);
    if has_tools(&["tar", "gzip"]) {
        let list = tool("tar", &["-tzf", file]);
        assert!(FILES.iter().all(|name| list.contains(&format!("{}/{name}", ids[0]))), "{list}");
    }
    let mut command = drivescope(["runs", "export", "last", "--output", "-"]);
    let out = command.env("DRIVESCOPE_RUNS_DIR", dir.path()).output().unwrap();
    assert!(out.status.success() && out.stdout.starts_with(&[0x1f, 0x8b]));
    let empty = scratch_dir();
    runs(empty.path(), &["export", "--output", "none.tar.gz"]).fails(2, &["holds no runs"]);
}

/// Somebody else's file is not trusted: it is taken whole and sound, or not at all.
#[test]
fn rubbish_is_not_imported() {
    let (dir, work) = (recorded_runs(1), scratch_dir());
    let id = only(dir.path()).id();
    let path = |name: &str| work.path().join(name).to_str().unwrap().to_owned();
    runs(dir.path(), &["export", "--output", &path("good.tar.gz")]).exits(0);
    let good = fs::read(path("good.tar.gz")).unwrap();
    fs::write(path("cut.tar.gz"), &good[..good.len() / 2]).unwrap();
    let mut flipped = good.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    fs::write(path("flipped.tar.gz"), flipped).unwrap();
    fs::write(path("empty"), "").unwrap();
    fs::write(path("text"), "no archive").unwrap();
    fs::write(path("list.json"), "[1, 2]").unwrap();
    fs::write(path("other.json"), "{\"envelope\": {}, \"body\": {}}").unwrap();
    let other = work.path().join("runs");
    for name in ["cut.tar.gz", "flipped.tar.gz", "empty", "text", "list.json", "other.json"] {
        runs(&other, &["import", &path(name)]).fails(2, &[name]);
        assert!(there(&other).is_empty(), "{name}");
    }
    runs(&other, &["import", &path("gone.tar.gz")]).fails(2, &["gone.tar.gz"]);
    if has_tools(&["tar", "gzip"]) {
        // Changed by somebody who can pack archives, and one that would lead out of the directory.
        fs::create_dir(path("unpacked")).unwrap();
        tool("tar", &["-xzf", &path("good.tar.gz"), "-C", &path("unpacked")]);
        let plan = work.path().join("unpacked").join(&id).join("plan.toml");
        let text = fs::read_to_string(&plan).unwrap();
        fs::write(&plan, text.replace("runs = 6", "runs = 7")).unwrap();
        let pack = |to: &str, args: &[&str]| {
            let flags = ["--format=ustar", "-czf", to, "-C", &path("unpacked")];
            tool("tar", &[&flags[..], args].concat())
        };
        pack(&path("altered.tar.gz"), &[&id]);
        runs(&other, &["import", &path("altered.tar.gz")]).fails(2, &["altered", "plan.toml"]);
        let out = format!("--transform=s,^{id},../{id},");
        pack(&path("out.tar.gz"), &["-P", &out, &id]);
        runs(&other, &["import", &path("out.tar.gz")]).fails(2, &["out.tar.gz"]);
        assert!(there(&other).is_empty() && !work.path().join(&id).exists());
    }
    // The same name with other content: neither is lost.
    runs(&other, &["import", &path("good.tar.gz")]).exits(0);
    let made = only(&other);
    fs::write(made.path("plan.toml"), "mine").unwrap();
    runs(&other, &["import", &path("good.tar.gz")]).fails(2, &["other content"]);
    assert_eq!(made.text("plan.toml"), "mine");
}

/// Output of version 0.1: an envelope without binary and machine. Its users have no other documents.
#[test]
fn a_document_of_the_first_version_is_imported_and_shown() {
    let (dir, work) = (scratch_dir(), scratch_dir());
    let ran = run([&VIRTUAL[..], &["--no-record"]].concat()).exits(0);
    let mut old: Value = ran.json();
    let envelope = old["envelope"].as_object_mut().unwrap();
    envelope.remove("binary");
    envelope["host"].as_object_mut().unwrap().remove("machine");
    let path = work.path().join("old.json");
    fs::write(&path, serde_json::to_string_pretty(&old).unwrap()).unwrap();
    let file = path.to_str().unwrap();
    let id = old["envelope"]["run_id"].as_str().unwrap().to_owned();
    runs(dir.path(), &["import", file]).exits(0).prints(&["took", &id]);
    runs(dir.path(), &["import", file]).exits(0).prints(&["is here already"]);
    let made = only(dir.path());
    made.assert_sums();
    assert_eq!(body_of(&made), ran.body());
    let mut shown = runs(dir.path(), &["show", "last", "--json"]).exits(0).json();
    shown.as_object_mut().unwrap().remove("record");
    assert_eq!(shown, old);
    let page = runs(dir.path(), &["show", &id]).exits(0).stdout;
    assert!(page.contains("RND4K Q1T1") && page.contains("sim:hdd-7200"), "{page}");
    assert_eq!(listed(dir.path()), std::slice::from_ref(&id));
    // A document alone has the result, and not how to measure it again.
    for args in [&["rerun", &id][..], &["mark", "--resume", &id]] {
        at(dir.path(), args).fails(2, &[&id, "imported as a document alone"]);
    }
    runs(dir.path(), &["export", "--output", work.path().join("x.tar.gz").to_str().unwrap()])
        .exits(0);
}

/// A directory that may only be read can be looked at.
#[test]
fn a_read_only_directory_can_be_listed_and_shown() {
    if !common::storage::has_means(&["mount"]) {
        return;
    }
    let dir = recorded_runs(1);
    let ids = there(dir.path());
    let point = scratch_dir();
    let at_point = point.path().to_str().unwrap();
    tool("mount", &["--bind", dir.path().to_str().unwrap(), at_point]);
    tool("mount", &["-o", "remount,bind,ro", at_point]);
    fs::remove_file(dir.path().join("index.sqlite")).unwrap();
    let looked = std::panic::catch_unwind(|| {
        assert_eq!(listed(point.path()), ids);
        runs(point.path(), &["show", "last"]).exits(0);
        runs(point.path(), &["rm", "last", "--yes"]).fails(2, &["ead-only"]);
        let args = ["mark", "sim:hdd-7200", "--quick", "--tests=RND4KQ1T1"];
        at(point.path(), &args).fails(2, &["ead-only"]);
    });
    assert!(Command::new("umount").arg(at_point).status().unwrap().success());
    looked.unwrap();
}

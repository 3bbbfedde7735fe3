//! One life of a run, over every instrument from one table: killed at any moment, stopped by a signal, out of room. What of it
//! can be resumed comes out as if nothing had happened; of the rest it is said how to make it again.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use crate::common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use common::kills::{Dice, Moment, killed};
use common::recorded::{Recorded, VIRTUAL, at, recorded};
use common::storage::{Mounted, has_means, tool};
use common::{Ran, drivescope, scratch_dir};
use rustix::process::Signal;
use serde_json::Value;

/// An instrument: its documents, a command line, and the verb that resumes it.
struct Life {
    /// The form of its documents.
    schema: &'static str,
    /// A command line that takes a moment on a virtual drive.
    words: Vec<String>,
    /// The verb that resumes it, where one does.
    resumed_by: Option<&'static str>,
}

fn life(schema: &'static str, words: &str, resumed_by: Option<&'static str>) -> Life {
    let words = words.split(' ').map(str::to_owned).collect();
    Life { schema, words, resumed_by }
}

/// All instruments that keep a record. Their traces lie in `dir`.
fn lives(dir: &Path) -> Vec<Life> {
    let trace = trace(dir);
    let trace = trace.to_str().unwrap();
    let load = "--tests=RND4KQ1T1 --runs=6 --seed=5";
    let play = "--format=mqsim --seed=7";
    vec![
        life("drivescope.mark/1", &VIRTUAL.join(" "), Some("mark")),
        life(
            "drivescope.mark/1",
            "sweep sim:hdd-wd --vary=depth=1,4 --base=RND4KQ1T1 --runs=4 --seed=7 --duration=200ms --warm-up=50ms --pause=50ms",
            Some("sweep"),
        ),
        life(
            "drivescope.comparison/1",
            &format!("compare sim:hdd-7200 sim:hdd-wd {load}"),
            Some("compare"),
        ),
        life("drivescope.probe/1", "probe sim:usb-8m --seed=5", Some("probe")),
        life(
            "drivescope.pts/1",
            "pts wsat sim:enterprise-28op?capacity=512MiB --minute=1% --seed=5",
            Some("pts"),
        ),
        life("drivescope.survey/1", "survey sim:usb-8m --seed=5", Some("survey")),
        life("drivescope.purge/1", "purge sim:mlc-nvme --seed=5", None),
        life("drivescope.trace-replay/1", &format!("trace replay {trace} sim:sata-a {play}"), None),
        life(
            "drivescope.trace-compare/1",
            &format!("trace compare {trace} sim:sata-a sim:hdd-7200 {play} --rounds=3"),
            None,
        ),
    ]
}

/// A trace in MQSim's form, of arrivals alone.
fn trace(dir: &Path) -> std::path::PathBuf {
    let mut text = String::new();
    for i in 0..20_000_u64 {
        let (sector, read) = (i * 7919 % 4096 * 8, u8::from(i % 4 != 3));
        writeln!(text, "{} 0 {sector} 8 {read}", 1_000 + i * 50_000).unwrap();
    }
    let path = dir.join("app.trace");
    fs::write(&path, text).unwrap();
    path
}

impl Life {
    fn command(&self) -> Command {
        let is_json = self.words.iter().any(|word| word == "--json");
        let more: &[&str] = if is_json { &[] } else { &["--json", "--no-progress"] };
        let words = self.words.iter().map(String::as_str);
        drivescope(words.chain(more.iter().copied()).collect::<Vec<_>>())
    }

    /// Made from beginning to end, without a record.
    fn undisturbed(&self) -> String {
        let ran: Ran = self.command().arg("--no-record").output().unwrap().into();
        assert!(matches!(ran.code, Some(0 | 1)), "{}: {}", self.words.join(" "), ran.stderr);
        body(&ran.stdout)
    }

    /// Its record, which has those of its parts beside it.
    fn record(&self, runs: &Path) -> Option<Recorded> {
        let mut all = recorded(runs).into_iter();
        all.find(|run| {
            let is_part = run.json("setup.json")["part_of"].is_string();
            !is_part && run.json("envelope.json")["schema"] == self.schema
        })
    }

    fn resume(&self, verb: &str, id: &str, runs: &Path) -> Ran {
        at(runs, &[verb, "--resume", id, "--json", "--no-progress"])
    }
}

/// The body of a document, without what names runs and dates.
fn body(json: &str) -> String {
    fn mask(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, field) in fields.iter_mut() {
                    match name.as_str() {
                        "run_id" | "run" | "date" | "blocks" if !field.is_object() => {
                            *field = Value::Null;
                        }
                        _ => mask(field),
                    }
                }
            }
            Value::Array(all) => all.iter_mut().for_each(mask),
            _ => {}
        }
    }
    let mut document: Value = serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {json}"));
    let mut body = document["body"].take();
    mask(&mut body);
    body.to_string()
}

/// The end of a run that was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Became {
    NoRecord,
    Finished,
    Resumed,
    ToBeMadeAgain,
}

/// Ends a run at a moment within `span`, and asks for the rest of it.
fn outlived(life: &Life, dice: &mut Dice, span: std::time::Duration, whole: &str) -> Became {
    let name = life.words.join(" ");
    let runs = scratch_dir();
    let signal = [Signal::KILL, Signal::KILL, Signal::INT, Signal::TERM][dice.below(4) as usize];
    let moment = Moment::draw(dice, span, 8);
    let ran = killed(life.command(), runs.path(), moment, signal);
    let Some(record) = life.record(runs.path()) else { return Became::NoRecord };
    let id = record.id();
    if record.is_ended() && record.json("end.json")["state"] == "finished" {
        record.assert_sums();
        if let Some(verb) = life.resumed_by {
            life.resume(verb, &id, runs.path()).fails(2, &[&id, "is finished"]);
        }
        return Became::Finished;
    }
    let Some(verb) = life.resumed_by else {
        // Its list shows it, and how to make it again.
        let shown = at(runs.path(), &["runs", "show", &id]);
        let said: Vec<&str> = shown.stdout.split_whitespace().collect();
        let said = said.join(" ");
        assert!(said.contains("to make it again: drivescope"), "{name}, {moment:?}: {said}");
        assert!(said.contains(&life.words[0]), "{name}: {said}");
        return Became::ToBeMadeAgain;
    };
    if ran.code == Some(130) && !ran.stdout.is_empty() {
        let command = format!("{verb} --resume {id}");
        assert!(ran.stderr.contains(&command), "{name}, {moment:?}: {}", ran.stderr);
    }
    let ran = life.resume(verb, &id, runs.path());
    assert!(matches!(ran.code, Some(0 | 1)), "{name}, {moment:?}, {signal:?}: {}", ran.stderr);
    assert_eq!(body(&ran.stdout), whole, "{name}, {moment:?}, {signal:?}");
    assert_eq!(record.json("end.json")["state"], "finished");
    record.assert_sums();
    Became::Resumed
}

/// Kills of each instrument; DRIVESCOPE_KILLS asks for more.
fn kills() -> u32 {
    std::env::var("DRIVESCOPE_KILLS").map_or(3, |count| count.parse().unwrap())
}

// Breaks when an instrument has a life of its own: a run of it that is killed cannot be resumed as it says, or comes out
// otherwise than one that was left alone.
#[test]
fn killed_runs_of_every_instrument_are_resumed_or_say_how_to_make_them_again() {
    let (mut dice, dir) = (Dice::new(), scratch_dir());
    let only = std::env::var("DRIVESCOPE_KILLS_OF").unwrap_or_default();
    let mut all: BTreeMap<Became, u32> = BTreeMap::new();
    for life in lives(dir.path()).iter().filter(|life| life.words[0].contains(&only)) {
        let began = Instant::now();
        let whole = life.undisturbed();
        let span = began.elapsed();
        let mut became = BTreeMap::new();
        for _ in 0..kills() {
            let one = outlived(life, &mut dice, span, &whole);
            *became.entry(one).or_insert(0) += 1;
            *all.entry(one).or_insert(0) += 1;
        }
        println!("{}: {became:?}", life.words[..2].join(" "));
    }
    assert!(all.contains_key(&Became::Resumed), "{all:?}");
}

// Breaks when a full disk takes the result with it, when a record that ends early is not said to, or when the run cannot be
// resumed from there once there is room.
#[test]
fn a_full_disk_ends_the_record_of_every_instrument_and_not_its_result() {
    if !has_means(&["mount"]) {
        return;
    }
    let dir = scratch_dir();
    let mut stopped = Vec::new();
    for life in lives(dir.path()) {
        let name = life.words[..2].join(" ");
        let whole = life.undisturbed();
        for kib in [32, 64, 128, 256] {
            let runs = Mounted::new("tmpfs", "tmpfs", &format!("size={kib}k"));
            let ran: Ran =
                life.command().env("DRIVESCOPE_RUNS_DIR", runs.path()).output().unwrap().into();
            if matches!(ran.code, Some(0 | 1)) {
                break;
            }
            let ran = ran.exits(2).says(&["error:", "No space left"]);
            if ran.stdout.is_empty() {
                // Not even a beginning: said before anything was measured.
                continue;
            }
            assert_eq!(body(&ran.stdout), whole, "{name}: the result is whole");
            assert!(!ran.stderr.contains("drivescope report last"), "{name}: {}", ran.stderr);
            stopped.push(name.clone());
            let (Some(verb), Some(record)) = (life.resumed_by, life.record(runs.path())) else {
                continue;
            };
            let point = runs.path().to_str().unwrap();
            tool("mount", &["-o", "remount,size=16m", point]);
            let ran = life.resume(verb, &record.id(), runs.path());
            assert!(matches!(ran.code, Some(0 | 1)), "{name}: {}", ran.stderr);
            assert_eq!(body(&ran.stdout), whole, "{name}");
            record.assert_sums();
        }
    }
    println!("records that ended early: {stopped:?}");
    assert!(stopped.len() >= 4, "{stopped:?}");
}

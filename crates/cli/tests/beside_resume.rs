//! Flags beside `--resume`, taken from the definitions of all verbs that have it: each is marked as allowed there, or is
//! refused when it contradicts the record.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use crate::args::{self, BesideResume};
use crate::common;

use std::fs;
use std::path::Path;

use clap::{Arg, Command};
use common::recorded::{at, only};
use common::scratch_dir;

/// Verbs that take flags which say the same as the record, so that the first command can be called back and added to.
const COMPARING: [&str; 3] = ["mark", "run", "sweep"];

/// The verbs that have `--resume`, with their words.
fn resuming() -> Vec<(Vec<String>, Command)> {
    fn collect(command: &Command, words: &[String], into: &mut Vec<(Vec<String>, Command)>) {
        for verb in command.get_subcommands() {
            let words = [words, &[verb.get_name().to_owned()]].concat();
            if verb.get_arguments().any(|argument| argument.get_id() == "resume") {
                into.push((words.clone(), verb.clone()));
            }
            collect(verb, &words, into);
        }
    }
    let mut found = Vec::new();
    collect(&args::command(), &[], &mut found);
    found
}

/// The arguments of a verb without a mark, but for `--resume` itself.
fn unmarked(verb: &Command) -> impl Iterator<Item = &Arg> {
    verb.get_arguments().filter(|argument| {
        argument.get_id() != "resume" && argument.get::<BesideResume>().is_none()
    })
}

/// An argument as it is typed, with a value other than its default and than those of the records here.
fn typed(argument: &Arg, plan: &str) -> Vec<String> {
    let name = argument.get_value_names().map(|names| names[0].as_str());
    let default = argument.get_default_values().first();
    let possible = argument.get_possible_values();
    let chosen = possible.iter().find(|value| default.is_none_or(|is| is != value.get_name()));
    let value = match (chosen, argument.get_id().as_str(), name.unwrap_or_default()) {
        (Some(chosen), ..) => chosen.get_name(),
        (_, "tests" | "base", _) => "SEQ1MQ4T1",
        (_, "blocksize", _) => "4KiB",
        (_, "cpus", _) => "0",
        (_, "op", _) => "mix70",
        (_, "vary", _) => "depth=1,8",
        (_, "until", "RULE") => "bytes",
        (_, "purge_method", _) => "discard",
        (_, "plan", "PLAN.toml") => plan,
        // Words without a flag.
        (_, "sides", _) => return ["sim:usb-8m", "sim:hdd-wd"].map(str::to_owned).to_vec(),
        (_, "target", _) => return ["iops", "sim:usb-8m"].map(str::to_owned).to_vec(),
        (_, _, "SIZE" | "SPAN") => "12MiB",
        (_, _, "TIME" | "TIME|SHARE") => "7s",
        (_, _, "SHARE" | "PERCENT") => "7%",
        (_, _, "N") => "7",
        (_, _, "ENGINE") => "psync",
        (_, _, "RUN" | "DIR" | "FILE") => "x",
        (_, id, name) => panic!("{id}: which value is a {name}?"),
    };
    let value = argument.get_action().takes_values().then(|| value.to_owned());
    match argument.get_long() {
        Some(flag) => std::iter::once(format!("--{flag}")).chain(value).collect(),
        None => value.into_iter().collect(),
    }
}

/// Refusals by the definitions: of flags that exclude each other, or need one that is not there.
const BY_DEFINITION: [&str; 2] = ["cannot be used with", "were not provided"];

/// Were a flag ignored beside `--resume`, the run would go on as its record says, and its user would believe otherwise.
#[test]
fn what_is_not_marked_is_refused() {
    let runs = scratch_dir();
    let mut refused = 0;
    for (words, verb) in resuming() {
        if COMPARING.contains(&words[0].as_str()) {
            continue;
        }
        for argument in unmarked(&verb) {
            let flag = typed(argument, "");
            let line = [&words[..], &["--resume".to_owned(), "x".to_owned()], &flag].concat();
            let line: Vec<&str> = line.iter().map(String::as_str).collect();
            let ran = at(runs.path(), &line);
            let id = argument.get_id().as_str().replace('_', "-");
            let wanted = [
                format!("--{id}: a run goes on as its record says; leave it out with --resume"),
                format!("the {id} is in the record; leave it out"),
                "the test is in the record; leave it out".to_owned(),
            ];
            let is_refused = wanted.iter().any(|text| ran.stderr.contains(text))
                || BY_DEFINITION.iter().any(|text| ran.stderr.contains(text));
            assert!(ran.code == Some(2) && is_refused, "{line:?}: {:?} {}", ran.code, ran.stderr);
            refused += 1;
        }
    }
    assert!(refused > 150, "{refused}");
}

/// Makes the last run one that was killed after its last step.
fn unfinish(runs: &Path) -> String {
    let run = only(runs);
    for file in ["SHA256SUMS", "document.json", "end.json"] {
        fs::remove_file(run.0.join(file)).unwrap();
    }
    run.id()
}

/// The same for verbs that compare: a flag that says something else than the record would be ignored.
#[test]
fn what_is_not_marked_is_compared_with_the_record() {
    let dir = scratch_dir();
    let plan = dir.path().join("plan.toml");
    fs::write(&plan, common::run(["plan", "--tests=SEQ1MQ4T1"]).exits(0).stdout).unwrap();
    let mark = "mark sim:hdd-7200 --tests=SEQ1MQ1T2 --runs=2 --duration=50ms --size=1GiB --seed=5";
    let sweep = "sweep sim:hdd-7200 --vary=depth=1,2 --base=SEQ1MQ1T2 --op=write --runs=2 --duration=50ms --size=1GiB --seed=5";
    for (verb, made_by, again) in
        [("mark", mark, mark), ("run", mark, "run"), ("sweep", sweep, sweep)]
    {
        let runs = scratch_dir();
        let made = at(runs.path(), &made_by.split(' ').collect::<Vec<_>>());
        assert!(matches!(made.code, Some(0 | 1)), "{}", made.stderr);
        let id = unfinish(runs.path());
        let all = resuming();
        let (_, verb) = all.iter().find(|(words, _)| words[0] == verb).unwrap();
        for argument in unmarked(verb) {
            let flag = typed(argument, plan.to_str().unwrap());
            let is_same = |word: &&str| word.starts_with(&format!("{}=", flag[0]));
            let mut line: Vec<&str> = again.split(' ').filter(|word| !is_same(word)).collect();
            line.extend(["--resume", &id]);
            line.extend(flag.iter().map(String::as_str));
            let ran = at(runs.path(), &line);
            let is_refused = ran.stderr.contains("its record says otherwise")
                || BY_DEFINITION.iter().any(|text| ran.stderr.contains(text));
            assert!(ran.code == Some(2) && is_refused, "{line:?}: {:?} {}", ran.code, ran.stderr);
        }
        // Marked flags are accepted, and so are the first command's, repeated.
        let mut line: Vec<&str> = again.split(' ').collect();
        line.extend(["--resume", &id, "--json", "--no-progress", "--mib"]);
        let ran = at(runs.path(), &line);
        assert!(matches!(ran.code, Some(0 | 1)), "{line:?}: {}", ran.stderr);
    }
}

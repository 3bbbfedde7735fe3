//! Writes of each verb to a device, compared with the commands that the laboratory tries on devices in every state.
//!
//! A verb that can write and was forgotten there would be a hole in the proof that nothing is written without consent.
//! So this walks the tree of commands: each verb, and each flag that takes a path, is said here to read or to write,
//! and what writes has lines in the scenarios. A new verb fails the test until somebody has decided.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

pub mod lines;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::{Arg, Command};
use lines::{Access, FILES, Line, VERBS, outputs};

use crate::args;

/// Set to `overwrite`, it rewrites the lines in the scenarios.
const RENEW: &str = "LAB_MATRIX";
/// The lines are between these two.
const BEGIN: &str = "# Lines, made from the commands' own definitions (docs/lab.md).\n";
const END: &str = "# End of lines.\n";

/// Every verb that does something itself, with its words: `trace replay`.
fn verbs() -> BTreeMap<String, Command> {
    fn collect(command: &Command, words: &str, into: &mut BTreeMap<String, Command>) {
        let with = |name: &str| format!("{words} {name}").trim().to_owned();
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            collect(inner, &with(inner.get_name()), into);
        }
        // `probe` is a verb of its own and has others under it.
        let itself = !command.is_subcommand_required_set() && !words.is_empty();
        if itself {
            into.insert(words.to_owned(), command.clone());
        }
    }
    let mut command = args::command();
    command.build();
    let mut verbs = BTreeMap::new();
    collect(&command, "", &mut verbs);
    verbs
}

fn has(command: &Command, name: &str) -> bool {
    command.get_arguments().any(|argument| argument.get_id() == name)
}

/// Breaks when a new verb is not classified as reading or writing: it would not be in the matrix.
#[test]
fn every_verb_is_said_to_read_or_to_write() {
    let found = verbs();
    let said: BTreeSet<&str> = VERBS.iter().map(|(verb, _)| *verb).collect();
    assert_eq!(said.len(), VERBS.len(), "a verb is named twice");
    for verb in found.keys() {
        assert!(
            said.contains(verb.as_str()),
            "{verb}: say in matrix/lines.rs what it may write to"
        );
    }
    for (verb, access) in VERBS {
        let Some(command) = found.get(*verb) else { panic!("{verb}: there is no such verb") };
        let asks = ["write", "consent", "allow"].map(|name| has(command, name));
        match access {
            Access::Reads => {
                assert_eq!(asks, [false; 3], "{verb}: takes a word of consent, and reads")
            }
            // The words of a face are those of what it imitates, and those of consent are taken out before.
            Access::Writes(_) if ["flashbench", "diskspd"].contains(verb) => {}
            Access::Writes(_) => assert!(asks[1], "{verb}: writes, and takes no word of consent"),
        }
        let Access::Writes(lines) = access else { continue };
        assert!(!lines.is_empty(), "{verb}: writes, and has no line");
        for line in *lines {
            let begins = format!("drivescope {verb} ");
            let called = line.run.contains(&begins) || line.run.contains(&format!("/{verb} "));
            assert!(called, "{verb}: the line {:?} calls something else", line.name);
            assert!(
                line.run.contains("{consent}"),
                "{verb}: {:?} is never consented to",
                line.name
            );
        }
    }
    let names: Vec<&str> = all_lines().map(|line| line.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "two lines of one name");
}

/// Breaks when a new flag that writes a file was never pointed at a device.
#[test]
fn every_path_is_said_to_be_read_or_written() {
    let takes_path =
        |argument: &Arg| argument.get_value_parser().type_id() == ValueParser::path_buf().type_id();
    let mut found = BTreeSet::new();
    for (verb, command) in verbs() {
        let paths = command.get_arguments().filter(|argument| takes_path(argument));
        found.extend(paths.map(|argument| format!("{verb} {}", argument.get_id())));
    }
    let read: BTreeSet<String> = FILES
        .iter()
        .flat_map(|(name, verbs)| verbs.iter().map(move |verb| format!("{verb} {name}")))
        .collect();
    let written: BTreeSet<String> =
        outputs().iter().map(|(verb, name, _)| format!("{verb} {name}")).collect();
    assert!(read.is_disjoint(&written), "both read and written");
    let said: BTreeSet<String> = read.union(&written).cloned().collect();
    for path in &found {
        assert!(said.contains(path), "{path}: say in matrix/lines.rs whether it is written");
    }
    // Outputs of flashbench are not flags of ours.
    let gone = said.difference(&found).filter(|path| !path.starts_with("flashbench "));
    assert_eq!(gone.collect::<Vec<_>>(), Vec::<&String>::new(), "no such flag");
}

fn all_lines() -> impl Iterator<Item = &'static Line> {
    VERBS.iter().flat_map(|(_, access)| match access {
        Access::Reads => &[][..],
        Access::Writes(lines) => lines,
    })
}

/// For each verb that writes: the name of its first line, the preparation, and the line.
pub fn core() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    core_lines().map(|line| (line.name, line.before, line.run))
}

/// Of each verb the first line alone: what runs with every test, in seconds.
fn core_lines() -> impl Iterator<Item = &'static Line> {
    VERBS.iter().filter_map(|(_, access)| match access {
        Access::Reads => None,
        Access::Writes(lines) => lines.first(),
    })
}

fn quoted(text: &str) -> String {
    assert!(!text.contains("'''"), "{text}");
    if text.contains(['\'', '\n']) { format!("'''{text}'''") } else { format!("'{text}'") }
}

fn table<'a>(lines: impl Iterator<Item = &'a Line>) -> String {
    let (mut needs, mut text) = (Vec::new(), String::new());
    for line in lines {
        if !line.before.is_empty() && !needs.contains(&line.before) {
            needs.push(line.before);
        }
        // 1 is the word for a number that was refuted, and for a probe that found nothing; 130 for who was stopped.
        let exit = if line.run.contains("timeout ") { "[0, 1, 130]" } else { "[0, 1]" };
        text.push_str(&format!("\n[[line]]\nname = {}\nexit = {exit}\n", quoted(line.name)));
        if !line.reads.is_empty() {
            text.push_str(&format!("unchanging = {}\n", quoted(line.reads)));
        }
        text.push_str(&format!("run = {}\n", quoted(line.run)));
    }
    let needs = needs.join("\n");
    format!("\n[[step]]\nname = 'what the lines need is made'\nrun = '''\n{needs}\n'''\n{text}")
}

fn output_table() -> String {
    let line = |(verb, flag, run): &(&str, &str, String)| {
        let name = quoted(&format!("{verb}: {flag}"));
        format!("\n[[line]]\nname = {name}\nrun = {}\n", quoted(run))
    };
    let needs = quoted(lines::TRACE);
    let lines: String = outputs().iter().map(line).collect();
    format!("\n[[step]]\nname = 'what the lines need is made'\nrun = {needs}\n{lines}")
}

/// Breaks when the laboratory tries other commands than there are.
#[test]
fn the_scenarios_have_these_lines() {
    let scenarios = [
        ("matrix-states", table(all_lines())),
        ("matrix-signatures", table(all_lines())),
        ("matrix-core", table(core_lines())),
        ("matrix-outputs", output_table()),
    ];
    for (name, lines) in scenarios {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let path = path.join("../../lab/scenarios").join(name).with_extension("toml");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let (before, rest) = text.split_once(BEGIN).expect("the mark where lines begin");
        let (held, after) = rest.split_once(END).expect("the mark where lines end");
        if std::env::var(RENEW).is_ok_and(|said| said == "overwrite") {
            fs::write(&path, format!("{before}{BEGIN}{lines}\n{END}{after}")).expect("writable");
            continue;
        }
        assert!(
            held.trim() == lines.trim(),
            "{name}: its lines are not those of the commands; make them again with {RENEW}=overwrite"
        );
    }
}

//! Tests of the help of every verb: whether it fits a terminal of 80 columns, and whether its examples can be typed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "these are tests")]

use ::manual::help::Help;
use ::manual::page::Page;
use clap::{Command, FromArgMatches};

use crate::args::{self, Cli};

const COLUMNS: usize = 80;

fn pages() -> Vec<Page> {
    ::manual::page::pages(args::command())
}

/// The page of help, with or without its long form.
fn shown(command: &Command, long: bool) -> String {
    let mut command = command.clone().term_width(COLUMNS).max_term_width(COLUMNS);
    let help = if long { command.render_long_help() } else { command.render_help() };
    help.to_string()
}

/// If a line of ours were a column too long, clap would break it, and the next line would begin where ours does, after a
/// line of one word. So each line has to appear as it was written. Text that clap lays out itself has no breaks of ours.
#[test]
fn help_fits_80_columns_and_no_line_is_broken_twice() {
    for page in pages() {
        let name = &page.name;
        for shown in [true, false].map(|long| shown(&page.command, long)) {
            for line in shown.lines() {
                let columns = line.chars().count();
                assert!(columns <= COLUMNS, "{name}: {columns} columns: {line}");
            }
            let after = page.command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in after.lines() {
                assert!(shown.lines().any(|one| one == line), "{name}: is broken: {line}");
            }
        }
        for argument in page.command.get_arguments() {
            let helps = [argument.get_help(), argument.get_long_help()].into_iter().flatten();
            for help in helps.map(ToString::to_string) {
                let broken = help.replace("\n\n", "").contains('\n');
                assert!(!broken, "{name}: {}: is broken by hand: {help}", argument.get_id());
            }
        }
    }
}

/// The commands of a line as a shell parts it, without files that they are joined to.
fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut commands, mut word) = (vec![Vec::new()], None::<String>);
    let mut quote = None;
    let mut is_file = false;
    for letter in line.chars().chain(['\n']) {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => word.get_or_insert_default().push(letter),
            None if ['\'', '"'].contains(&letter) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            None if " \n|;<>()".contains(letter) => {
                if let Some(word) = word.take().filter(|_| !std::mem::take(&mut is_file)) {
                    commands.last_mut().expect("there is one").push(word);
                }
                match letter {
                    '|' | ';' | '(' | ')' => {
                        commands.push(Vec::new());
                        is_file = false;
                    }
                    '<' | '>' => is_file = true,
                    _ => {}
                }
            }
            None => word.get_or_insert_default().push(letter),
        }
    }
    assert_eq!(quote, None, "a quotation is not closed: {line}");
    commands.retain(|words| !words.is_empty());
    commands
}

/// Takes the words as `main` does, up to the point where they would be carried out.
fn parse(words: &[String]) -> Result<(), String> {
    let error = |error: &dyn std::fmt::Display| error.to_string();
    let is_ours = |word: &&String| word.starts_with("--consent=") || word.starts_with("--allow=");
    match words.get(1).map(String::as_str) {
        Some("diskspd") => {
            let (_, rest) =
                diskspd_cli::OwnOptions::take(words[2..].to_vec()).map_err(|e| error(&e))?;
            mark::diskspd::Options::parse(&rest).map(drop).map_err(|e| error(&e))
        }
        Some("flashbench") => {
            let rest = words[2..].iter().filter(|word| !is_ours(word));
            probe::flashbench::face::Options::parse(rest).map(drop).map_err(|e| error(&e))
        }
        _ => {
            let matches = <Cli as clap::CommandFactory>::command().try_get_matches_from(words);
            let matches = matches.map_err(|e| error(&e))?;
            Cli::from_arg_matches(&matches).map(drop).map_err(|e| error(&e))
        }
    }
}

/// Users new to a verb read its examples before its flags, and type them.
#[test]
fn every_verb_has_examples_and_all_can_be_typed() {
    for page in pages() {
        let name = &page.name;
        let after = page.command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(shown(&page.command, true).contains("\nExamples:\n"), "{name}: shows no examples");
        let (mut own, called) = (0, name.replace("drivescope-", "drivescope "));
        for example in Help::of(&after).examples {
            let line = example.command.join("\n").replace("\\\n", " ");
            for mut words in commands(&line) {
                words.retain(|word| word != "sudo");
                if words[0] != "drivescope" {
                    continue;
                }
                own += usize::from(words.join("-").starts_with(&name.replace(' ', "-")));
                if let Err(error) = parse(&words) {
                    panic!("{name}: {line}: {error}");
                }
            }
        }
        assert!(own > 0, "{name}: no example calls {called}");
    }
}

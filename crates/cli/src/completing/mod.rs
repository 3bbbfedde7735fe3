//! What the Tab key offers: verbs, flags and their values, and what only the program knows: virtual drives, recorded runs,
//! devices.
//!
//! The shell's script asks the program. A script that holds all words, which clap can also make, would know neither runs
//! nor drives, and in bash it offers no files.

mod faces;
mod offers;
mod shells;

use std::ffi::OsStr;

use anyhow::{Context as _, Result};
use block::text::is_hostile;
use clap::builder::ArgExt;
use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{EnvCompleter, Shells};
use clap_complete::{CompleteEnv, Shell};

use crate::args::Cli;
use crate::messages;
use shells::{BASH, ZSH};

/// Set by the scripts, to the shell's name.
const VARIABLE: &str = "DRIVESCOPE_COMPLETE";

/// The program's name.
const NAME: &str = "drivescope";

/// What is offered for an argument.
type Offer = fn(&OsStr) -> Vec<CompletionCandidate>;

/// By the verb and the argument's name; the first that fits. Without a verb it holds for all, so that a new verb offers
/// what the others do. Words of consent are not offered: they are to be typed.
const OFFERS: [(&str, &[&str], Offer); 37] = [
    ("probe", &["target"], offers::drives),
    ("probe scatter", &["span"], offers::nothing),
    ("pts", &["target"], offers::drives),
    ("pts", &["device"], offers::whole_drives),
    ("pts", &["until"], offers::rules),
    ("purge", &["device"], offers::whole_drives),
    ("trace replay", &["target"], offers::drives_and_null),
    ("trace record", &["devices"], offers::recordable),
    ("health", &["device"], offers::patients),
    ("devices", &["devices"], offers::disks),
    ("flashbench", &["arguments"], faces::flashbench),
    ("diskspd", &["arguments"], faces::diskspd),
    ("report", &["png", "svg", "csv"], offers::directories),
    ("man", &["verb"], offers::verbs),
    ("", &["target", "drive"], offers::targets),
    ("", &["reference", "a", "b"], offers::drives_and_null),
    ("", &["sides"], offers::sides),
    ("", &["runs", "run", "resume", "restore", "part_of"], offers::runs),
    ("", &["model"], offers::models),
    ("", &["mountpoint", "runs_dir", "keep_originals", "store"], offers::directories),
    ("", &["command"], offers::paths),
    ("", &["engine"], offers::engines),
    ("", &["allow"], offers::hazards),
    ("", &["span", "region", "range"], offers::spans),
    ("", &["tests", "base"], offers::tests),
    ("", &["op"], offers::operations),
    ("", &["vary"], offers::factors),
    ("", &["method", "purge_method"], offers::methods),
    ("", &["ses"], offers::secure_erases),
    ("", &["sanitize"], offers::sanitizings),
    ("", &["only"], offers::lenses),
    ("", &["format"], offers::formats),
    ("", &["time_unit"], offers::time_units),
    ("", &["read_flag"], offers::read_flags),
    ("", &["address_unit"], offers::address_units),
    ("", &["spaces"], offers::spaces),
    ("", &["scheduler"], offers::schedulers),
];

/// Answers a shell that asks what may come next; false when nobody asked.
pub fn complete() -> bool {
    let shells = Shells(&[
        &BASH,
        &clap_complete::env::Elvish,
        &clap_complete::env::Fish,
        &clap_complete::env::Powershell,
        &ZSH,
    ]);
    let here = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(command).var(VARIABLE).shells(shells);
    match asked.try_complete(std::env::args_os(), here.as_deref()) {
        Ok(answered) => answered,
        // A shell shows nobody what went wrong; it offers nothing then.
        Err(error) => {
            messages::error(&error.into());
            true
        }
    }
}

/// The script that makes a shell ask.
///
/// # Errors
/// When the shell is unknown.
pub fn script(shell: Shell) -> Result<String> {
    let mut text = Vec::new();
    let name = shell.to_string();
    let builtin = Shells::builtins();
    let completer: &dyn EnvCompleter = match shell {
        Shell::Bash => &BASH,
        Shell::Zsh => &ZSH,
        _ => builtin.completer(&name).with_context(|| format!("{name}: no such shell"))?,
    };
    completer.write_registration(VARIABLE, NAME, NAME, NAME, &mut text)?;
    Ok(String::from_utf8(text)?.trim_start().to_owned())
}

/// The command with what is offered for its arguments.
fn command() -> Command {
    with_offers(Cli::command(), "")
}

fn with_offers(command: Command, verb: &str) -> Command {
    command.mut_args(|argument| with_offer(argument, verb)).mut_subcommands(|inner| {
        let verb = format!("{verb} {}", inner.get_name());
        with_offers(inner, verb.trim())
    })
}

fn with_offer(argument: Arg, verb: &str) -> Arg {
    // A flag that is given or not has no value to offer, and clap offers those that it knows itself.
    let takes_value = argument.get_action().takes_values();
    if !takes_value || !argument.get_possible_values().is_empty() {
        return argument;
    }
    match offer(argument.get_id().as_str(), verb) {
        Some(offer) => argument.add(completer(offer)),
        None => argument,
    }
}

fn offer(id: &str, verb: &str) -> Option<Offer> {
    let fits = |of: &str| of.is_empty() || verb == of || verb.starts_with(&format!("{of} "));
    let found = OFFERS.iter().find(|(of, ids, _)| fits(of) && ids.contains(&id));
    found.map(|(_, _, offer)| *offer)
}

/// Names of files that a terminal would obey are not offered: shells print what they offer.
fn completer(offer: Offer) -> impl ArgExt {
    let is_shown = |c: &CompletionCandidate| !c.get_value().to_string_lossy().contains(is_hostile);
    ArgValueCompleter::new(move |typed: &OsStr| {
        offer(typed).into_iter().filter(is_shown).collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use clap::ValueHint;

    use super::*;

    /// Names of values that are numbers, or words that only the user knows.
    const FREE: [&str; 14] = [
        "N",
        "X",
        "SIZE",
        "TIME",
        "SHARE",
        "PERCENT",
        "TIME|SHARE",
        "DATE",
        "WORD",
        "NAME",
        "MAP",
        "SPACE=OFFSET",
        "LIST",
        "DEVICE",
    ];

    /// Were a flag forgotten that takes one of a few words, Tab would be silent where it helps most.
    #[test]
    fn every_value_is_offered_or_is_the_users() {
        let mut left = vec![(String::new(), Cli::command())];
        while let Some((verb, command)) = left.pop() {
            for argument in command.get_arguments() {
                let takes_value = argument.get_action().takes_values();
                let name = argument.get_value_names().and_then(|names| names.first());
                let known = !takes_value
                    || offer(argument.get_id().as_str(), &verb).is_some()
                    || !argument.get_possible_values().is_empty()
                    || argument.get_value_hint() == ValueHint::AnyPath
                    || name.is_some_and(|name| FREE.contains(&name.as_str()));
                assert!(known, "{verb}: {}: nothing is offered for it", argument.get_id());
            }
            left.extend(command.get_subcommands().map(|inner| {
                (format!("{verb} {}", inner.get_name()).trim().to_owned(), inner.clone())
            }));
        }
    }
}

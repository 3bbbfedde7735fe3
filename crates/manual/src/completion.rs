//! Offers at the Tab key: verbs, flags and their values, also those that only the program knows: virtual drives, recorded
//! runs, devices.
//!
//! The shell's script asks the program. A script that holds all words, which clap can also make, would know neither runs
//! nor drives, and in bash it offers no files.

mod compatibility;
mod offers;
mod shells;

use std::ffi::OsStr;
use std::io;

use block::text::is_hostile;
use clap::builder::ArgExt;
use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{EnvCompleter, Shells};
use clap_complete::{CompleteEnv, Shell};

use crate::help::options_of;
use crate::page::verbs_of;
use shells::{BASH, ZSH};

/// Set by the scripts, to the shell's name.
const VARIABLE: &str = "DRIVESCOPE_COMPLETE";

/// The program's name.
const NAME: &str = "drivescope";

/// Function that makes the offers for an argument from the beginning that was typed.
type Offer = fn(&OsStr) -> Vec<CompletionCandidate>;

/// By the verb and the argument's name; the first that fits. Without a verb it holds for all, so that a new verb offers
/// what the others do. Words of consent are not offered: they are to be typed.
const OFFERS: [(&str, &[&str], Offer); 35] = [
    ("probe", &["target"], offers::drives),
    ("probe scatter", &["span"], offers::nothing),
    ("pts", &["target"], offers::drives),
    ("pts", &["device"], offers::whole_drives),
    ("pts", &["until"], offers::rules),
    ("purge", &["device"], offers::whole_drives),
    ("trace replay", &["target"], offers::drives_and_null),
    ("trace record", &["devices"], offers::recordable),
    ("health", &["device"], offers::health_sources),
    ("devices", &["devices"], offers::disks),
    ("report", &["png", "svg", "csv"], offers::directories),
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
    ("runs export", &["repetition"], offers::repetitions),
    ("", &["format"], offers::formats),
    ("", &["time_unit"], offers::time_units),
    ("", &["read_flag"], offers::read_flags),
    ("", &["address_unit"], offers::address_units),
    ("", &["spaces"], offers::spaces),
    ("", &["scheduler"], offers::schedulers),
];

/// Answers a shell that asks what may come next; false when no shell asked.
///
/// # Errors
/// The shell is unknown, or cannot be answered.
pub fn complete(command: impl Fn() -> Command) -> Result<bool, clap::Error> {
    let shells = Shells(&[
        &BASH,
        &clap_complete::env::Elvish,
        &clap_complete::env::Fish,
        &clap_complete::env::Powershell,
        &ZSH,
    ]);
    let here = std::env::current_dir().ok();
    CompleteEnv::with_factory(|| with_offers(command()))
        .var(VARIABLE)
        .shells(shells)
        .try_complete(std::env::args_os(), here.as_deref())
}

/// The script that makes a shell ask.
///
/// # Errors
/// The shell is unknown.
pub fn script(shell: Shell) -> io::Result<String> {
    let mut text = Vec::new();
    let name = shell.to_string();
    let builtin = Shells::builtins();
    let completer: &dyn EnvCompleter = match shell {
        Shell::Bash => &BASH,
        Shell::Zsh => &ZSH,
        _ => builtin
            .completer(&name)
            .ok_or_else(|| io::Error::other(format!("{name}: no such shell")))?,
    };
    completer.write_registration(VARIABLE, NAME, NAME, NAME, &mut text)?;
    Ok(String::from_utf8_lossy(&text).trim_start().to_owned())
}

/// The command with what is offered for its arguments.
pub fn with_offers(command: Command) -> Command {
    let mut words = words_of(&command);
    words.sort();
    words.dedup();
    let mut command = offers_below(command, "");
    command = command.mut_subcommand("man", |man| {
        man.mut_arg("verb", |verb| {
            verb.add(completer(move |typed: &OsStr| offers::these(typed, &words)))
        })
    });
    for (verb, values) in compatibility::VALUES {
        command = command.mut_subcommand(verb, |mode| {
            let options = options_of(&mode).unwrap_or_default();
            mode.mut_arg("arguments", |arguments| {
                let offer = move |typed: &OsStr| compatibility::offered(typed, &options, values);
                arguments.add(completer(offer))
            })
        });
    }
    command
}

/// The words of all verbs.
fn words_of(command: &Command) -> Vec<String> {
    let below = verbs_of(command)
        .flat_map(|verb| [vec![verb.get_name().to_owned()], words_of(verb)].concat());
    below.collect()
}

fn offers_below(command: Command, verb: &str) -> Command {
    command.mut_args(|argument| with_offer(argument, verb)).mut_subcommands(|inner| {
        let verb = format!("{verb} {}", inner.get_name());
        offers_below(inner, verb.trim())
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
fn completer(
    offer: impl Fn(&OsStr) -> Vec<CompletionCandidate> + Send + Sync + 'static,
) -> impl ArgExt {
    let is_shown = |c: &CompletionCandidate| !c.get_value().to_string_lossy().contains(is_hostile);
    ArgValueCompleter::new(move |typed: &OsStr| {
        offer(typed).into_iter().filter(is_shown).collect::<Vec<_>>()
    })
}

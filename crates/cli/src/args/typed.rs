//! Flags in command lines that were typed before.

use clap::CommandFactory as _;

use super::Cli;
use super::given::{Given, innermost};

/// Values typed for these flags in `words`, a command without the program's name; nothing of a command that this
/// version does not take.
pub fn values_of(words: &[String], flags: &[&'static str]) -> Vec<(&'static str, String)> {
    let mut command = Cli::command().no_binary_name(true);
    let Ok(matches) = command.try_get_matches_from_mut(words) else { return Vec::new() };
    let Some((_, verb)) = innermost(&command, &matches) else { return Vec::new() };
    let given = Given::of(&command, &matches);
    let value = |flag: &&'static str| {
        let value = verb.try_get_raw(flag).ok()??.next()?;
        Some((*flag, value.to_string_lossy().into_owned()))
    };
    flags.iter().filter(|flag| given.has(flag)).filter_map(value).collect()
}

/// True when the verb has this flag.
pub fn takes(verb: &str, flag: &str) -> bool {
    let command = Cli::command();
    let verb = command.find_subcommand(verb);
    verb.is_some_and(|verb| verb.get_arguments().any(|argument| argument.get_id() == flag))
}

//! Flags that the user typed, as opposed to those that have their default.

use std::collections::BTreeSet;

use clap::builder::ArgExt;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};

/// Marks a flag that is allowed beside `--resume` whatever the record says, such as consent or the output format. The record
/// has all other flags.
#[derive(Clone, Copy, Debug)]
pub struct BesideResume;

impl ArgExt for BesideResume {}

/// The names of the flags and arguments that were typed.
#[derive(Clone, Debug, Default)]
pub struct Given {
    typed: BTreeSet<String>,
    /// Those of them that have no [`BesideResume`].
    recorded: BTreeSet<String>,
}

impl Given {
    /// Those of the verb that was called, the innermost one; `command` is the program's, which found `matches`.
    pub fn of(command: &Command, matches: &ArgMatches) -> Given {
        let Some((definition, verb)) = innermost(command, matches) else { return Given::default() };
        // Ids include those of groups of flags, which are named as the types that define them.
        let typed = |id: &&str| {
            !id.starts_with(char::is_uppercase)
                && verb.try_contains_id(id).is_ok()
                && verb.value_source(id) == Some(ValueSource::CommandLine)
        };
        let typed: BTreeSet<String> =
            verb.ids().map(clap::Id::as_str).filter(typed).map(str::to_owned).collect();
        let is_recorded = |name: &str| {
            let mut arguments = definition.get_arguments();
            let argument = arguments.find(|argument| argument.get_id() == name);
            name != "resume" && argument.is_some_and(|one| one.get::<BesideResume>().is_none())
        };
        let recorded = typed.iter().filter(|name| is_recorded(name)).cloned().collect();
        Given { typed, recorded }
    }

    /// True when this flag or argument was typed.
    pub fn has(&self, name: &str) -> bool {
        self.typed.contains(name)
    }

    /// With this one more.
    pub fn and(mut self, name: &str) -> Given {
        self.typed.insert(name.to_owned());
        self
    }

    /// Those that say what the record of a run says too: all without [`BesideResume`].
    pub fn recorded(&self) -> impl Iterator<Item = &str> {
        self.recorded.iter().map(String::as_str)
    }

    /// True when a flag of this part of a verb was typed.
    pub fn any_of<A: Args>(&self) -> bool {
        self.of_part::<A>().next().is_some()
    }

    /// The flags of this part of a verb that were typed, in the order of their definition.
    pub fn of_part<A: Args>(&self) -> impl Iterator<Item = String> {
        let part = A::augment_args(Command::new("part"));
        let names = part.get_arguments().map(|argument| argument.get_id().to_string());
        names.filter(|name| self.has(name)).collect::<Vec<_>>().into_iter()
    }
}

/// Definition of the verb that was called, the innermost one, and what was typed for it.
pub(super) fn innermost<'a>(
    command: &'a Command,
    matches: &'a ArgMatches,
) -> Option<(&'a Command, &'a ArgMatches)> {
    let (name, typed) = matches.subcommand()?;
    let verb = command.find_subcommand(name)?;
    innermost(verb, typed).or(Some((verb, typed)))
}

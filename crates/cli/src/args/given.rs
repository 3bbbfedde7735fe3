//! Which flags the user typed, as opposed to those that stand at their default.

use std::collections::BTreeSet;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};

/// The names of the flags and arguments that were typed.
#[derive(Clone, Debug, Default)]
pub struct Given(BTreeSet<String>);

impl Given {
    /// Of the verb that was called, the innermost one.
    pub fn of(matches: &ArgMatches) -> Given {
        let Some(verb) = innermost(matches) else { return Given::default() };
        // Ids include those of groups of flags, which are named as the types that define them.
        let typed = |id: &&str| {
            !id.starts_with(char::is_uppercase)
                && verb.try_contains_id(id).is_ok()
                && verb.value_source(id) == Some(ValueSource::CommandLine)
        };
        Given(verb.ids().map(clap::Id::as_str).filter(typed).map(str::to_owned).collect())
    }

    /// True when this flag or argument was typed.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// With this one more.
    pub fn and(mut self, name: &str) -> Given {
        self.0.insert(name.to_owned());
        self
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
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

/// What was typed for the verb that was called, the innermost one.
pub(super) fn innermost(matches: &ArgMatches) -> Option<&ArgMatches> {
    let (_, mut verb) = matches.subcommand()?;
    while let Some((_, inner)) = verb.subcommand() {
        verb = inner;
    }
    Some(verb)
}

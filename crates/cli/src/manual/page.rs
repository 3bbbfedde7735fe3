//! A page of the manual, before it is rendered.

use clap::Command;

/// A page of the manual.
pub struct Page {
    /// Its name, such as `drivescope-trace-record`.
    pub name: String,
    /// The words of the verb, such as `trace record`; none for the program itself.
    pub words: Vec<String>,
    /// Its definition.
    pub(super) command: Command,
}

/// The verbs under a command that have pages.
pub(super) fn verbs_of(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| verb.get_name() != "help" && !verb.is_hide_set())
}

//! The pages of the manual: one for the program and one for each verb.

use clap::Command;

/// A page of the manual, before it is rendered.
pub struct Page {
    /// Its name, such as `drivescope-trace-record`.
    pub name: String,
    /// The words of the verb, such as `trace record`; empty for the program itself.
    pub words: Vec<String>,
    /// Its definition.
    pub command: Command,
}

/// All pages of a program's command: the program first, then each verb before those under it.
pub fn pages(mut command: Command) -> Vec<Page> {
    fn collect(command: &Command, words: &[String], into: &mut Vec<Page>) {
        let mut name = "drivescope".to_owned();
        words.iter().for_each(|word| name += &format!("-{word}"));
        into.push(Page { name, words: words.to_vec(), command: command.clone() });
        for verb in verbs_of(command) {
            let words = [words, &[verb.get_name().to_owned()]].concat();
            collect(verb, &words, into);
        }
    }
    command.build();
    let mut pages = Vec::new();
    collect(&command, &[], &mut pages);
    pages
}

/// The verbs under a command that have pages.
pub(crate) fn verbs_of(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| verb.get_name() != "help" && !verb.is_hide_set())
}

impl Page {
    /// Description of the verb in one line.
    pub(crate) fn about(&self) -> String {
        self.command.get_about().map(ToString::to_string).unwrap_or_default()
    }

    /// True when the verb has this flag or argument.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.command.get_arguments().any(|argument| argument.get_id() == id)
    }
}

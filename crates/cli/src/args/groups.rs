//! Verbs in groups, for the first page of help.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::StyledStr;

/// Headings, each with its verbs in order.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure", &["mark", "probe", "pts", "sweep"]),
    ("Compare", &["compare", "trend", "trace"]),
    ("Inspect", &["survey", "devices", "health", "explain"]),
    ("Results of other tools", &["import", "judge", "flashbench", "diskspd"]),
    ("Records", &["runs", "show", "report", "rerun"]),
    ("Advanced", &["run", "plan", "sim", "purge", "rows", "completions", "man"]),
];

/// `command`, with its verbs in groups on its first page of help.
pub fn grouped(command: Command) -> Command {
    let template = template(&command);
    command.help_template(template)
}

fn template(command: &Command) -> StyledStr {
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let width = GROUPS.iter().flat_map(|(_, verbs)| *verbs).map(|verb| verb.len()).max();
    let width = width.unwrap_or_default();
    let mut text = StyledStr::new();
    let _ = write!(text, "{{about}}\n\n{{usage-heading}} {{usage}}\n");
    for (heading, verbs) in GROUPS {
        let _ = write!(text, "\n{header}{heading}:{header:#}\n");
        for name in verbs {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {literal}{name:width$}{literal:#}  {about}");
        }
    }
    let _ = write!(text, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    /// A verb that was added and is in no group would not be found by anybody.
    #[test]
    fn every_verb_is_in_one_group() {
        let command = Cli::command();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| *verbs).copied().collect();
        let mut verbs: Vec<&str> = command
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set())
            .map(Command::get_name)
            .collect();
        grouped.sort_unstable();
        verbs.sort_unstable();
        assert_eq!(grouped, verbs);
    }
}

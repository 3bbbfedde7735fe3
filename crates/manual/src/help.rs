//! The text below the flags in the help of a verb, taken apart: examples, exit codes and paragraphs.

use clap::Command;

/// An example of a verb.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// The command, in one or more lines.
    pub command: Vec<String>,
    /// Its comment; empty when it has none.
    pub comment: String,
}

/// The parts of that text.
#[derive(Debug, Default)]
pub struct Help {
    /// The examples, in their order.
    pub examples: Vec<Example>,
    /// Exit codes with a meaning of their own here.
    pub codes: Vec<(u8, String)>,
    /// All other text.
    pub paragraphs: Vec<String>,
}

impl Help {
    /// Takes `text` apart.
    pub fn of(text: &str) -> Help {
        let mut help = Help::default();
        for part in text.split("\n\n").map(str::trim_end).filter(|part| !part.trim().is_empty()) {
            let (first, rest) = part.split_once('\n').unwrap_or((part, ""));
            if ["Example:", "Examples:"].contains(&first.trim()) {
                rest.lines().for_each(|line| help.example(line));
            } else if let Some(codes) = one_line(part).strip_prefix("Exit codes: ") {
                help.codes = exit_codes(codes);
            } else {
                help.paragraphs.push(one_line(part));
            }
        }
        help
    }

    /// A line of the examples: a command, perhaps with a comment far to its right, or what goes on from the line before.
    fn example(&mut self, line: &str) {
        let is_new = line.starts_with("  ") && !line.starts_with("   ");
        let text = line.trim();
        let last = self.examples.last_mut();
        match last {
            Some(last) if !is_new && last.command.last().is_some_and(|c| c.ends_with('\\')) => {
                last.command.push(format!("    {text}"));
            }
            Some(last) if !is_new => {
                last.comment = format!("{} {text}", last.comment).trim().to_owned();
            }
            _ => {
                let (command, comment) = text.split_once("  ").unwrap_or((text, ""));
                let command = vec![command.to_owned()];
                self.examples.push(Example { command, comment: comment.trim().to_owned() });
            }
        }
    }
}

/// The options of a command whose help is not clap's, because clap does not parse them (a compatibility mode), as that help
/// has them: without the examples.
pub(crate) fn options_of(command: &Command) -> Option<String> {
    if !command.is_disable_help_flag_set() {
        return None;
    }
    let help = command.clone().render_help().to_string();
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let help = help.trim_end();
    Some(help.strip_suffix(&examples).unwrap_or(help).trim_end().to_owned())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `0 done; 1 done, and not steady; 130 stopped by Ctrl-C.` as its items. What has no number in front belongs to the
/// item before it.
fn exit_codes(text: &str) -> Vec<(u8, String)> {
    let mut codes: Vec<(u8, String)> = Vec::new();
    for item in text.trim_end_matches('.').split("; ") {
        let numbered = item.split_once(' ').and_then(|(n, said)| Some((n.parse().ok()?, said)));
        match (numbered, codes.last_mut()) {
            (Some((code, said)), _) => codes.push((code, said.to_owned())),
            (None, Some(last)) => last.1 += &format!("; {item}"),
            (None, None) => {}
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If a comment were taken for a part of the command, the manual page would list it as something to type.
    #[test]
    fn commands_comments_codes_and_prose_are_told_apart() {
        let help = Help::of(
            "Examples:\n  a b              what it does\n  a --long\n                   said below\n  c \\\n      d\n\n\
             Some words\nover two lines.\n\nExit codes: 0 done; 1 not steady, or\nworse; or so; 130 stopped.",
        );
        let example = |command: &[&str], comment: &str| Example {
            command: command.iter().map(|line| (*line).to_owned()).collect(),
            comment: comment.to_owned(),
        };
        let wanted = [
            example(&["a b"], "what it does"),
            example(&["a --long"], "said below"),
            example(&["c \\", "    d"], ""),
        ];
        assert_eq!(help.examples, wanted);
        assert_eq!(help.paragraphs, ["Some words over two lines."]);
        let codes = [(0, "done"), (1, "not steady, or worse; or so"), (130, "stopped")];
        assert_eq!(help.codes, codes.map(|(code, said)| (code, said.to_owned())));
    }
}

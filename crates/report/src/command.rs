//! Command lines to be copied: they may be longer than a line, and have to stay what they are.

use block::text::harmless;

use crate::styled::Styled;
use crate::terminal::Style;

/// Indents of the first line of a command and of its continuation lines.
const LEAD: &str = "  ";
const REST: &str = "      ";
/// End of a line that continues on the next.
const JOINED: &str = " \\";

/// `commands`, one a line, with a line feed at its end. One that is too wide goes on in the next line behind a backslash,
/// as shells take it; it is parted before a flag, where there is one, so that flags keep their values.
pub fn render_commands(commands: &[String], style: Style) -> Styled {
    let mut text = String::new();
    for command in commands {
        let mut line = LEAD.to_owned();
        let mut is_begun = false;
        for part in parts(&harmless(command)) {
            let width =
                textwrap::core::display_width(&line) + 1 + textwrap::core::display_width(&part);
            if is_begun && width + JOINED.len() > style.width {
                text.push_str(&line);
                text.push_str(JOINED);
                text.push('\n');
                line = REST.to_owned();
            } else if is_begun {
                line.push(' ');
            }
            line.push_str(&part);
            is_begun = true;
        }
        text.push_str(&line);
        text.push('\n');
    }
    Styled::of_lines(&text)
}

/// Words, with the value of a flag beside it.
fn parts(command: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut is_quoted = false;
    for word in command.split(' ') {
        let begins = word.starts_with("--");
        let follows =
            parts.last().is_some_and(|last| last.starts_with("--") && !last.contains(' '));
        match parts.last_mut() {
            Some(last) if is_quoted || (follows && !begins) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => parts.push(word.to_owned()),
        }
        if word.matches('\'').count() % 2 == 1 {
            is_quoted = !is_quoted;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    // A line that is cut elsewhere is another command.
    #[test]
    fn a_wide_command_goes_on_behind_a_backslash() {
        let command =
            "drivescope mark '/mnt/a b' --tests SEQ1MQ8T1 --read-only --duration 5s --size 1GiB";
        let style = Style { width: 40, ..Style::default() };
        let text = render_commands(&[command.to_owned()], style).plain();
        assert!(text.lines().all(|line| line.len() <= 40), "{text}");
        assert!(text.lines().any(|line| line.trim().starts_with("--tests SEQ1MQ8T1")), "{text}");
        let joined = text.replace(" \\\n      ", " ");
        assert_eq!(joined.trim(), command);
    }
}

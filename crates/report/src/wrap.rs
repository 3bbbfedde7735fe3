//! Lines broken at word ends. Commands, quoted names and paths are copied from here, so they stay whole.

use textwrap::core::display_width;

/// Longest head of a message (`warning:`) below whose text the next lines begin.
const HEAD: usize = 8;

/// Each line of `text` broken at word ends before column `columns`; continuation lines are indented below the text of the
/// first. Colours take no columns.
pub fn lines(text: &str, columns: usize) -> String {
    let broken = text.split_inclusive('\n').map(|line| {
        let (words, end) = line.strip_suffix('\n').map_or((line, ""), |words| (words, "\n"));
        match display_width(words) <= columns {
            true => line.to_owned(),
            false => hanging(words, columns, indent_below(words)) + end,
        }
    });
    broken.collect()
}

/// One line broken at word ends before column `columns`, indented by `indent` from the second on. The first word may be a
/// head, and nothing is gained by a break behind it.
pub fn hanging(text: &str, columns: usize, indent: usize) -> String {
    let (mut lines, mut column) = (String::new(), 0);
    for unit in units(text) {
        if column > indent && column + display_width(unit.trim_end()) > columns {
            lines.truncate(lines.trim_end().len());
            lines.push('\n');
            lines.push_str(&" ".repeat(indent));
            column = indent;
        }
        lines.push_str(unit);
        column += display_width(unit);
    }
    lines
}

/// The column below which a line goes on: behind its head, if it has one.
fn indent_below(line: &str) -> usize {
    let blanks = line.len() - line.trim_start_matches(' ').len();
    let head = line.trim_start_matches(' ').split(' ').next().unwrap_or_default();
    let width = display_width(head);
    match anstream::adapter::strip_str(head).to_string().ends_with(':') && width <= HEAD {
        true => blanks + width + 1,
        false => blanks.max(2),
    }
}

/// Words that stay on one line with the next.
enum Open {
    /// Up to the closing mark.
    Quoted(char),
    /// A command, up to the end of its clause.
    Command,
    /// A command's name within a sentence, up to its verb.
    Name,
}

/// Parts of a line between which it may be broken, each with the blanks behind it.
fn units(line: &str) -> Vec<&str> {
    let (mut units, mut start, mut at) = (Vec::new(), 0, 0);
    let (mut open, mut before): (Option<Open>, &str) = (None, "");
    for piece in line.split_inclusive(' ') {
        let word = piece.trim_end();
        if matches!(open, Some(Open::Command)) && word.starts_with('(') {
            open = None;
        }
        if open.is_none() && start < at {
            units.push(&line[start..at]);
            start = at;
        }
        at += piece.len();
        open = match open {
            None => opened(word, before),
            Some(Open::Quoted(mark)) => (!is_closing(word, mark)).then_some(Open::Quoted(mark)),
            Some(Open::Command) => (!word.ends_with([';', ','])).then_some(Open::Command),
            Some(Open::Name) => None,
        };
        before = word;
    }
    units.push(&line[start..]);
    units
}

/// The mark or command that `word` opens.
fn opened(word: &str, before: &str) -> Option<Open> {
    let bare = word.trim_start_matches('(');
    let mark = bare.chars().next().filter(|first| ['`', '\''].contains(first));
    match (mark, bare) {
        (Some(mark), _) => (!is_closing(&bare[1..], mark)).then_some(Open::Quoted(mark)),
        (None, "drivescope" | "sudo") if before.ends_with(':') => Some(Open::Command),
        (None, "drivescope" | "sudo") => Some(Open::Name),
        (None, _) => None,
    }
}

fn is_closing(word: &str, mark: char) -> bool {
    word.trim_end_matches(|end: char| end != mark && end.is_ascii_punctuation()).ends_with(mark)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a line is broken within a word, or grows beyond its columns though it has a word end before.
    #[test]
    fn lines_break_at_word_ends_below_their_text() {
        let text = "note: the drive was busy with other reads\nshort\n";
        let broken = "note: the drive was\n      busy with other\n      reads\nshort\n";
        assert_eq!(lines(text, 22), broken);
        assert_eq!(lines("\u{1b}[33mnote:\u{1b}[0m one two three", 14), {
            "\u{1b}[33mnote:\u{1b}[0m one two\n      three"
        });
        assert_eq!(lines("  name other words", 12), "  name other\n  words");
        assert_eq!(lines("Go on? [y/N] ", 60), "Go on? [y/N] ");
    }

    // Breaks when a command or a quoted name cannot be copied from one line.
    #[test]
    fn commands_and_names_stay_whole() {
        let command = "drivescope mark --resume 20261128T2150 --csv a.csv";
        assert_eq!(
            lines(&format!("note: resume it: {command}; or wait for more"), 40),
            format!("note: resume it:\n      {command};\n      or wait for more")
        );
        assert_eq!(
            lines("error: see `drivescope health` or 'my file.txt', and more", 24),
            "error: see\n       `drivescope health`\n       or 'my file.txt',\n       and more"
        );
        assert_eq!(
            lines("note: report: drivescope report last (recorded as x)", 40),
            "note: report: drivescope report last\n      (recorded as x)"
        );
        let long = "x".repeat(50);
        assert_eq!(hanging(&format!("target: {long} (x)"), 40, 8), {
            format!("target: {long}\n        (x)")
        });
    }
}

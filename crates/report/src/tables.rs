//! Pages of tables whose columns are as wide as their contents: many things, each with a few numbers.
//!
//! A [`crate::Sheet`] has columns of one width, so that runs can be compared from page to page; here a column may hold
//! seconds or gibibytes.

use anstyle::Style as Ansi;
use block::text::harmless;
use stats::Caveat;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::sheet::Tone;
use crate::styled::Styled;
use crate::terminal::{BOLD, DIM, Page, Style, of_tone, paint};

/// A page.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Heading: the command and its subject.
    pub title: String,
    /// Circumstances, as short lines.
    pub facts: Vec<String>,
    /// The tables.
    pub tables: Vec<Table>,
    /// Doubts.
    pub caveats: Vec<Caveat>,
    /// One sentence.
    pub closing: String,
    /// How the closing sentence stands.
    pub tone: Tone,
}

/// A table. Its text is ready: numbers are written by [`crate::number`].
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Head of the first column.
    pub title: String,
    /// Heads of the other columns.
    pub columns: Vec<String>,
    /// The rows: a name, and a field for each column; an empty field stays blank.
    pub rows: Vec<(String, Vec<String>)>,
    /// Remarks, under the rows.
    pub notes: Vec<String>,
}

/// Blank columns between two columns.
const GAP: usize = 2;
/// A name is not cut shorter than this.
const LEAST_NAME: usize = 8;
/// Lines of a head of columns.
const HEAD_LINES_MAX: usize = 6;

/// A page as text, with a line feed at its end.
pub fn render_tables(tables: &Tables, style: Style) -> Styled {
    let mut page = Page::new(style);
    page.wrapped("", &tables.title, BOLD);
    for fact in &tables.facts {
        page.wrapped("  ", fact, DIM);
    }
    page.bad(tables.tone, &tables.closing);
    for table in &tables.tables {
        page.blank();
        draw(&mut page, table, style.width);
    }
    if !tables.caveats.is_empty() {
        page.blank();
        page.caveats(&tables.caveats);
    }
    page.blank();
    page.wrapped("", &tables.closing, of_tone(tables.tone));
    page.text
}

fn draw(page: &mut Page, table: &Table, width: usize) {
    let fields: Vec<usize> = (0..table.columns.len())
        .map(|index| {
            let fields = table.rows.iter().filter_map(|(_, fields)| fields.get(index));
            fields.map(|field| display_width(&harmless(field))).fold(0, usize::max)
        })
        .collect();
    let names = table.rows.iter().map(|(name, _)| display_width(&harmless(name)));
    let names = names.fold(0, usize::max);
    let title = display_width(&harmless(&table.title));
    let taken = |heads: &[Vec<String>]| -> usize {
        heads.iter().zip(&fields).map(|(head, field)| GAP + broad(head).max(*field)).sum()
    };
    let room = width.saturating_sub(names.max(LEAST_NAME));
    // In as few lines as it takes for all columns to fit.
    let heads = (1..=HEAD_LINES_MAX)
        .map(|lines| table.columns.iter().map(|head| broken(head, lines)).collect::<Vec<_>>())
        .find(|heads| taken(heads) <= room)
        .unwrap_or_else(|| table.columns.iter().map(|head| vec![head.clone()]).collect());
    let widths: Vec<usize> =
        heads.iter().zip(&fields).map(|(head, field)| broad(head).max(*field)).collect();
    let left = width.saturating_sub(taken(&heads)).max(LEAST_NAME);
    let is_beside = title <= left;
    let name = if is_beside { names.max(title).min(left) } else { names.max(LEAST_NAME).min(left) };
    let line = |first: &str, fields: &[String]| {
        let mut line = fit(first, name);
        for (index, width) in widths.iter().enumerate() {
            let field = fields.get(index).map_or_else(Default::default, |field| harmless(field));
            line.push_str(&" ".repeat(GAP + width - display_width(&field)));
            line.push_str(&field);
        }
        line
    };
    // A title that would be cut beside its columns is above them.
    if !is_beside {
        page.wrapped("", &table.title, BOLD);
    }
    let lines = heads.iter().map(Vec::len).max().unwrap_or(1);
    for at in 0..lines {
        let field = |head: &Vec<String>| {
            // The last line of each head is directly above its column.
            (at + head.len()).checked_sub(lines).map_or_else(String::new, |at| head[at].clone())
        };
        let head: Vec<String> = heads.iter().map(field).collect();
        let first = if is_beside && at + 1 == lines { table.title.as_str() } else { "" };
        page.line(&paint(BOLD, line(first, &head).trim_end()));
    }
    for (name, fields) in &table.rows {
        page.line(&line(name, fields).into());
    }
    for note in &table.notes {
        page.hanging(&"  ".into(), "    ", note, Ansi::new());
    }
}

/// Width of the longest line of a head.
fn broad(head: &[String]) -> usize {
    head.iter().map(|line| display_width(line)).fold(0, usize::max)
}

/// Breaks a head into at most `lines` lines, as narrow as possible.
fn broken(head: &str, lines: usize) -> Vec<String> {
    let head = harmless(head);
    let wrap = |width: usize| {
        let mut lines: Vec<String> = vec![String::new()];
        for word in head.split(' ') {
            match lines.last_mut() {
                Some(line) if line.is_empty() => line.push_str(word),
                Some(line) if display_width(line) + 1 + display_width(word) <= width => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines
    };
    let whole = display_width(&head);
    (1..=whole).map(wrap).find(|made| made.len() <= lines).unwrap_or_else(|| vec![head.to_string()])
}

/// Columns that `text` takes. textwrap's own measure takes every sign beyond the alphabets for two.
fn display_width(text: &str) -> usize {
    text.width()
}

/// `text` in exactly `width` columns: filled up with blanks, or cut before the last, which is then an ellipsis.
pub(crate) fn fit(text: &str, width: usize) -> String {
    let text = harmless(text);
    let mut cut = String::new();
    if display_width(&text) > width {
        for letter in text.chars() {
            if display_width(&cut) + letter.width().unwrap_or(0) >= width {
                break;
            }
            cut.push(letter);
        }
        cut.push('…');
    } else {
        cut.push_str(&text);
    }
    let missing = width.saturating_sub(display_width(&cut));
    cut.push_str(&" ".repeat(missing));
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(rows: Vec<(String, Vec<String>)>) -> Tables {
        Tables {
            title: "title".to_owned(),
            facts: vec!["fact".to_owned()],
            tables: vec![Table {
                title: "Device".to_owned(),
                columns: vec!["I/Os".to_owned(), "µs".to_owned()],
                rows,
                notes: vec!["a note".to_owned()],
            }],
            caveats: Vec::new(),
            closing: "Done.".to_owned(),
            tone: Tone::Good,
        }
    }

    // Breaks when a column is not aligned to its contents, including letters of two bytes.
    #[test]
    fn columns_are_as_wide_as_what_stands_in_them() {
        let rows = vec![
            ("sda".to_owned(), vec!["12345678".to_owned(), "1".to_owned()]),
            ("nvme0n1".to_owned(), vec!["9".to_owned()]),
        ];
        let text = render_tables(&page(rows), Style::default()).plain();
        let expected = concat!(
            "title\n  fact\n\n",
            "Device       I/Os  µs\nsda      12345678   1\nnvme0n1         9\n",
            "  a note\n\nDone.\n"
        );
        assert_eq!(text, expected);
    }

    // Breaks when a title is cut though there is a line for it, or columns with long heads run over the edge.
    #[test]
    fn long_heads_are_broken_and_long_titles_stand_over_them() {
        let heads =
            ["first 10 writes after pauses, IOPS", "last 10 writes after pauses, IOPS", "gain, %"];
        let table = Table {
            title: "What a pause gains, by its length in seconds".to_owned(),
            columns: heads.map(str::to_owned).into(),
            rows: vec![("50".to_owned(), ["686.2k", "750.7k", "1017"].map(str::to_owned).into())],
            notes: Vec::new(),
        };
        let tables = Tables { tables: vec![table], ..page(Vec::new()) };
        let text = render_tables(&tables, Style { width: 50, ..Style::default() }).plain();
        let expected = concat!(
            "What a pause gains, by its length in seconds\n",
            "              first 10       last 10\n",
            "          writes after  writes after  gain,\n",
            "          pauses, IOPS  pauses, IOPS      %\n",
            "50              686.2k        750.7k   1017\n",
        );
        assert!(text.lines().all(|line| display_width(line) <= 50), "{text}");
        assert!(text.contains(expected), "{text}");
    }

    // Breaks when a long or hostile name pushes the numbers out of their columns.
    #[test]
    fn long_names_are_cut() {
        let rows = vec![("x\u{1b}".repeat(100), vec!["1".to_owned(), "2".to_owned()])];
        let text = render_tables(&page(rows), Style::default()).plain();
        assert!(text.lines().all(|line| display_width(line) <= 80), "{text}");
        assert!(text.contains("…     1   2"), "{text}");
        let narrow = Style { width: 10, ..Style::default() };
        let rows = vec![("abcdefghij".to_owned(), vec![])];
        let text = render_tables(&page(rows), narrow).plain();
        assert!(text.contains("Device    I/Os  µs\nabcdefg…\n"), "{text}");
    }
}

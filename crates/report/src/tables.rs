//! Pages of tables whose columns are as wide as what stands in them: many things, each with a few numbers.
//!
//! A [`crate::Sheet`] has columns of one width, so that runs can be compared from page to page; here a column may hold
//! seconds or gibibytes.

use anstyle::Style as Ansi;
use stats::Caveat;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::sheet::Tone;
use crate::terminal::{BOLD, DIM, Page, Style, harmless, of_tone, paint};

/// A page.
#[derive(Clone, Debug)]
pub struct Tables {
    /// What was done to what.
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

/// A page as text, with a line feed at its end.
pub fn render_tables(tables: &Tables, style: Style) -> String {
    let mut page = Page::new(style);
    page.wrapped("", &tables.title, BOLD);
    for fact in &tables.facts {
        page.wrapped("  ", fact, DIM);
    }
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
    let widths: Vec<usize> = table
        .columns
        .iter()
        .enumerate()
        .map(|(index, head)| {
            let fields = table.rows.iter().filter_map(|(_, fields)| fields.get(index));
            fields
                .map(|field| display_width(&harmless(field)))
                .fold(display_width(head), usize::max)
        })
        .collect();
    let taken: usize = widths.iter().map(|width| width + GAP).sum();
    let names = table.rows.iter().map(|(name, _)| display_width(&harmless(name)));
    let wanted = names.fold(display_width(&harmless(&table.title)), usize::max);
    let name = wanted.min(width.saturating_sub(taken).max(LEAST_NAME));
    let line = |first: &str, fields: &[String]| {
        let mut line = fit(first, name);
        for (index, width) in widths.iter().enumerate() {
            let field = fields.get(index).map_or_else(Default::default, |field| harmless(field));
            line.push_str(&" ".repeat(GAP + width - display_width(&field)));
            line.push_str(&field);
        }
        line
    };
    page.line(&paint(BOLD, line(&table.title, &table.columns).trim_end()));
    for (name, fields) in &table.rows {
        page.line(&line(name, fields));
    }
    for note in &table.notes {
        page.hanging("  ", "    ", note, Ansi::new());
    }
}

/// Columns that `text` takes. textwrap's own measure takes every sign beyond the alphabets for two.
fn display_width(text: &str) -> usize {
    text.width()
}

/// `text` in exactly `width` columns: filled up with blanks, or cut before the last, which is then an ellipsis.
fn fit(text: &str, width: usize) -> String {
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

    fn plain(text: &str) -> String {
        let mut parts = text.split('\u{1b}');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |all, part| all + part.split_once('m').map_or("", |(_, rest)| rest))
    }

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

    // Breaks when a column is not aligned to what stands in it, letters of two bytes among it.
    #[test]
    fn columns_are_as_wide_as_what_stands_in_them() {
        let rows = vec![
            ("sda".to_owned(), vec!["12345678".to_owned(), "1".to_owned()]),
            ("nvme0n1".to_owned(), vec!["9".to_owned()]),
        ];
        let text = plain(&render_tables(&page(rows), Style::default()));
        let expected = concat!(
            "title\n  fact\n\n",
            "Device       I/Os  µs\nsda      12345678   1\nnvme0n1         9\n",
            "  a note\n\nDone.\n"
        );
        assert_eq!(text, expected);
    }

    // Breaks when a long or hostile name pushes the numbers out of their columns.
    #[test]
    fn long_names_are_cut() {
        let rows = vec![("x\u{1b}".repeat(100), vec!["1".to_owned(), "2".to_owned()])];
        let text = plain(&render_tables(&page(rows), Style::default()));
        assert!(text.lines().all(|line| display_width(line) <= 80), "{text}");
        assert!(text.contains("…     1   2"), "{text}");
        let narrow = Style { width: 10, ..Style::default() };
        let rows = vec![("abcdefghij".to_owned(), vec![])];
        let text = plain(&render_tables(&page(rows), narrow));
        assert!(text.contains("Device    I/Os  µs\nabcdefg…\n"), "{text}");
    }
}

//! A report as Markdown, for wikis, issues and notebooks.

use std::fmt::Write as _;

use report::chart::Chart;
use report::html::{Block, Document, Facts, NOT_STATED, Table};

/// The report. `picture` makes the lines that represent a chart.
///
/// # Errors
/// When a chart cannot be drawn.
pub fn markdown<E>(
    document: &Document,
    mut picture: impl FnMut(&Chart) -> Result<String, E>,
) -> Result<String, E> {
    let mut text = format!("# {}\n", inline(&document.title));
    for page in &document.pages {
        // Writing to a string does not fail.
        let _ = write!(text, "\n## {}\n\n", inline(&page.title));
        if !page.banner.is_empty() {
            let _ = write!(text, "**{}**\n\n", inline(&page.banner));
        }
        page.header.iter().for_each(|of| facts(&mut text, of));
        for block in &page.blocks {
            match block {
                Block::Heading(words) => {
                    let _ = write!(text, "### {}\n\n", inline(words));
                }
                Block::Paragraph(words) => {
                    let _ = write!(text, "{}\n\n", inline(words));
                }
                Block::Command { command, why } => {
                    let fence = fence(command);
                    let command = block::text::harmless(command);
                    let _ = write!(text, "{fence}sh\n{command}\n{fence}\n\n{}\n\n", inline(why));
                }
                Block::Facts(of) => facts(&mut text, of),
                Block::Table(of) => table(&mut text, of),
                Block::Chart(chart) => {
                    let _ = write!(text, "{}\n\n", picture(chart)?);
                }
                Block::Caveat(doubt) => {
                    let words =
                        [doubt.subject.as_str(), &doubt.cause, doubt.sentence()].map(inline);
                    let [subject, cause, remedy] = words;
                    let _ = write!(text, "- **{subject}**: {cause}. *{remedy}.*\n\n");
                }
                // As long as all else, and for programs: the record has it.
                Block::Data(data) => {
                    let _ = write!(text, "{}: not repeated here.\n\n", inline(&data.caption));
                }
            }
        }
    }
    let _ = writeln!(text, "---\n\n{}", inline(&document.imprint));
    Ok(text)
}

/// Fence of a block of code, longer than any run of backticks in it.
fn fence(code: &str) -> String {
    let runs = code.split(|letter| letter != '`').map(str::len);
    "`".repeat(runs.max().unwrap_or(0).max(2) + 1)
}

/// Words that Markdown takes for words. A drive states its own name.
pub fn inline(words: &str) -> String {
    let mut text = String::new();
    for letter in block::text::harmless(words).chars() {
        if "\\`*_{}[]<>#|~&".contains(letter) {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

fn facts(text: &mut String, of: &Facts) {
    if !of.title.is_empty() {
        let _ = write!(text, "**{}**\n\n", inline(&of.title));
    }
    for (name, fact) in &of.facts {
        let fact = if fact.is_empty() { NOT_STATED } else { fact };
        let _ = writeln!(text, "- {}: {}", inline(name), inline(fact));
    }
    text.push('\n');
}

fn table(text: &mut String, of: &Table) {
    let _ = write!(text, "**{}**\n\n", inline(&of.caption));
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    *text += &line(&of.columns.iter().map(|head| inline(head)).collect::<Vec<_>>());
    let is_of_words = |column: usize| {
        column == 0 || of.rows.iter().any(|r| r.cells.get(column - 1).is_some_and(|c| c.is_words))
    };
    let rules = (0..of.columns.len()).map(|at| if is_of_words(at) { "---" } else { "---:" });
    *text += &line(&rules.map(str::to_owned).collect::<Vec<_>>());
    for row in &of.rows {
        let cells = row.cells.iter().map(|cell| match cell.text.as_str() {
            "" => "–".to_owned(),
            text => inline(text),
        });
        *text += &line(&std::iter::once(inline(&row.name)).chain(cells).collect::<Vec<_>>());
    }
    text.push('\n');
    for note in &of.notes {
        let _ = write!(text, "{}\n\n", inline(note));
    }
}

#[cfg(test)]
mod tests {
    use report::html::{Cell, Page, Row};

    use super::*;

    // Breaks when a drive's name becomes a link, a tag or a column of a wiki's page.
    #[test]
    fn names_stay_words() {
        let table = Table {
            caption: "Read".to_owned(),
            columns: vec!["Test".to_owned(), "MB/s".to_owned()],
            rows: vec![Row { name: "a|b".to_owned(), cells: vec![Cell::number("1.5")] }],
            notes: vec!["<script>".to_owned()],
        };
        let page = Page {
            title: "[x](http://evil)".to_owned(),
            blocks: vec![Block::Table(table)],
            ..Page::default()
        };
        let document = Document { pages: vec![page], ..Document::default() };
        let text = markdown(&document, |_| Ok::<_, ()>(String::new())).unwrap();
        assert!(text.contains("| a\\|b | 1.5 |\n"), "{text}");
        assert!(text.contains("| --- | ---: |"), "{text}");
        assert!(text.contains("\\<script\\>") && text.contains("\\[x\\](http"), "{text}");
    }
}

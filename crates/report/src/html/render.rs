//! A document as one file.

use askama::Template as _;

use super::view::View;
use super::{Document, HtmlError};

/// The document as HTML. The same document gives the same file, to the byte.
///
/// # Errors
///
/// When a chart has a value that cannot be drawn.
pub fn render(document: &Document) -> Result<String, HtmlError> {
    let view = View::of(document)?;
    Ok(view.render()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Axis, Chart, Hue, Layer, Line, LinePoint};
    use crate::html::{Block, Cell, Data, Facts, NOT_STATED, Page, Row, Table};
    use crate::sheet::Tone;
    use stats::{Caveat, Remedy, Unit};

    const HOSTILE: &str = "<script>alert(\"1\")</script>";

    fn chart(title: &str) -> Chart {
        let mut chart = Chart::new(title, Axis::new("x", Unit::Count), Axis::new("y", Unit::Iops));
        let points = vec![LinePoint::new(0.0, 1.0), LinePoint::new(1.0, 2.0)];
        chart.layers.push(Layer::Line(Line::new(HOSTILE, Hue::Blue, points)));
        chart
    }

    fn document() -> Document {
        let words = || HOSTILE.to_owned();
        let facts = || Facts {
            title: words(),
            facts: vec![(words(), words()), ("NAND".into(), "".into())],
        };
        let table = Table {
            caption: words(),
            columns: vec![words(), "IOPS".to_owned()],
            rows: vec![Row {
                name: words(),
                cells: vec![Cell::number(words()).shaded(0.99).toned(Tone::Bad)],
            }],
            notes: vec![words()],
        };
        let page = |title: &str| Page {
            part: words(),
            title: title.to_owned(),
            banner: words(),
            header: vec![facts()],
            blocks: vec![
                Block::Heading(words()),
                Block::Paragraph(words()),
                Block::Command { command: words(), why: words() },
                Block::Facts(facts()),
                Block::Table(table.clone()),
                Block::Chart(Box::new(chart(HOSTILE))),
                Block::Caveat(Caveat::new(&words(), &words(), words(), Remedy::Words(words()))),
            ],
        };
        let pages = vec![page("first"), page("second")];
        Document { title: words(), imprint: words(), pages, ..Document::default() }
    }

    /// The same with all that a page has which answers.
    fn answering() -> Document {
        let mut document = document();
        let (caption, file, text) = (HOSTILE.into(), HOSTILE.into(), HOSTILE.into());
        document.pages[0].blocks.push(Block::Data(Data { caption, file, text }));
        Document { answers: true, ..document }
    }

    // Breaks when one field of a page that runs our script is run as well: its chart's values and data are in attributes
    // that the script reads.
    #[test]
    fn a_page_that_answers_runs_our_script_alone() {
        let html = render(&answering()).unwrap();
        let (before, rest) = html.split_once("<script>").unwrap();
        let (_, after) = rest.split_once("</script>").unwrap();
        for part in [before, after] {
            assert!(!part.contains("<script") && !part.contains("alert(\"1\")"), "{part}");
        }
        assert!(html.matches("&lt;script&gt;").count() > 40);
        assert!(html.contains("script-src 'sha256-") && html.contains("default-src 'none'"));
        // Wide and narrow, each once.
        assert_eq!(html.matches("id=\"chart-2-1-title\"").count(), 1);
        assert_eq!(html.matches("id=\"chart-2-1-narrow-title\"").count(), 1);
        assert!(html.contains("2 values as a table") && html.contains("class=\"skip\""));
    }

    // Breaks when one field of a page reaches the file as it is: a drive states its own model and serial number.
    #[test]
    fn no_text_is_obeyed_by_a_browser() {
        let html = render(&document()).unwrap();
        assert!(!html.contains("<script") && !html.contains("alert(\"1\")"), "{html}");
        // Title, imprint, list of parts, and every field of both pages.
        assert!(html.matches("&lt;script&gt;").count() > 30);
        for forbidden in
            ["javascript:", "http://", "https://", "<link", "<img", "@import", "onload"]
        {
            let html = html.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
            assert!(!html.contains(forbidden), "{forbidden}");
        }
        assert!(html.contains("default-src 'none'"), "browsers are asked to run nothing");
    }

    // Breaks when a reader of the screen loses which head a number belongs to, or a page its number.
    #[test]
    fn pages_have_numbers_and_tables_have_heads() {
        let html = render(&document()).unwrap();
        assert!(html.contains("page 1 of 2") && html.contains("page 2 of 2"), "{html}");
        assert!(html.contains("id=\"page-2\"") && html.contains("href=\"#page-2\""));
        assert_eq!(html.matches("<th scope=\"col\">").count(), 4);
        assert_eq!(html.matches("<th scope=\"row\">").count(), 2);
        assert_eq!(html.matches("<caption>").count(), 2);
        assert_eq!(html.matches("role=\"img\"").count(), 2);
        assert_eq!(html.matches("id=\"chart-2-1-title\"").count(), 1, "names of charts differ");
        assert!(html.contains(NOT_STATED));
        assert_eq!(html, render(&document()).unwrap());
    }

    // Breaks when one value spoils the file silently.
    #[test]
    fn a_chart_that_cannot_be_drawn_is_named() {
        let mut bad = chart("Rates");
        bad.layers.push(Layer::Line(Line::new("", Hue::Blue, vec![LinePoint::new(0.0, f64::NAN)])));
        let page = Page { blocks: vec![Block::Chart(Box::new(bad))], ..Page::default() };
        let document = Document { pages: vec![page], ..Document::default() };
        assert!(render(&document).unwrap_err().to_string().contains("\"Rates\""));
    }

    // Breaks when the reason of a row is off a phone's screen, or a wide table is no longer read by its columns.
    #[test]
    fn small_tables_fold_and_wide_ones_do_not() {
        let table = |numbers: usize, last: Cell| {
            let cells: Vec<Cell> = (0..numbers).map(|_| Cell::number("1")).chain([last]).collect();
            let columns = vec!["column".to_owned(); numbers + 2];
            let rows = vec![Row { name: "row".to_owned(), cells }];
            let table = Table { caption: "table".to_owned(), columns, rows, notes: Vec::new() };
            let pages = vec![Page { blocks: vec![Block::Table(table)], ..Page::default() }];
            render(&Document { pages, ..Document::default() }).unwrap()
        };
        assert!(table(4, Cell::words("why")).contains("<table class=\"folds\">"));
        assert!(table(5, Cell::words("why")).contains("<table>"));
        assert!(table(1, Cell::number("2")).contains("<table>"));
    }
}

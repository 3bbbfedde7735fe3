//! A document as its template wants it: charts drawn, shades and tones turned into names of styles.

use askama::Template;
use stats::Caveat;

use super::figure::{CANVAS, Figure};
use super::{Block, Cell, Data, Document, Facts, HtmlError, NOT_STATED, Page};
use crate::chart::{Canvas, Chart, Inks, inline};
use crate::sheet::Tone;

/// Script of the page. No template looks into it.
const SCRIPT: &str = include_str!("../../templates/report.js");
/// Its SHA-256 in base64, for the content security policy; a test verifies it.
const SCRIPT_SHA256: &str = "ViHP1M9+ujfxirtdfxfZx/PmqBnVQlV7hsT+pYvu1ck=";
/// Charts from which on each is drawn once.
const MANY: usize = 30;
/// Shades of cells: eyes do not distinguish more.
const SHADES: f64 = 10.0;

/// All of it.
#[derive(Template)]
#[template(path = "report.html")]
pub(super) struct View<'a> {
    title: &'a str,
    imprint: &'a str,
    parts: Vec<PartView<'a>>,
    pages: Vec<PageView<'a>>,
    inks: Inks,
    answers: bool,
}

/// Pages of one part.
pub(super) struct PartView<'a> {
    pub title: &'a str,
    /// Number and title of each.
    pub pages: Vec<(usize, &'a str)>,
}

struct PageView<'a> {
    number: usize,
    page: &'a Page,
    blocks: Vec<BlockView<'a>>,
}

enum BlockView<'a> {
    Heading(&'a str),
    Paragraph(&'a str),
    Command {
        command: &'a str,
        why: &'a str,
    },
    Facts(&'a Facts),
    Table(&'a super::Table),
    /// Drawn; the only text that a template takes for markup.
    Chart(String),
    Figure(Figure<'a>),
    Caveat(&'a Caveat),
    Data(&'a Data),
}

impl<'a> View<'a> {
    pub(super) fn of(document: &'a Document) -> Result<View<'a>, HtmlError> {
        let mut inks = Inks::default();
        let mut pages = Vec::new();
        for (at, page) in document.pages.iter().enumerate() {
            pages.push(PageView::of(at + 1, page, document, &mut inks)?);
        }
        let Document { title, imprint, answers, .. } = document;
        Ok(View { title, imprint, parts: parts(document), pages, inks, answers: *answers })
    }
}

impl<'a> PageView<'a> {
    fn of(
        number: usize,
        page: &'a Page,
        document: &Document,
        inks: &mut Inks,
    ) -> Result<PageView<'a>, HtmlError> {
        let mut charts = 0;
        let mut blocks = Vec::new();
        for block in &page.blocks {
            blocks.push(match block {
                Block::Heading(words) => BlockView::Heading(words),
                Block::Paragraph(words) => BlockView::Paragraph(words),
                Block::Command { command, why } => BlockView::Command { command, why },
                Block::Facts(facts) => BlockView::Facts(facts),
                Block::Table(table) => BlockView::Table(table),
                Block::Caveat(caveat) => BlockView::Caveat(caveat),
                Block::Data(data) => BlockView::Data(data),
                Block::Chart(chart) => {
                    charts += 1;
                    let id = format!("chart-{number}-{charts}");
                    match document.answers {
                        true => {
                            let how = (document.rate, document.charts() > MANY);
                            BlockView::Figure(Figure::of(chart, &id, how, inks)?)
                        }
                        false => BlockView::Chart(draw(chart, &id, inks)?),
                    }
                }
            });
        }
        Ok(PageView { number, page, blocks })
    }
}

/// Runs of pages of one part, with their numbers.
fn parts(document: &Document) -> Vec<PartView<'_>> {
    let mut parts: Vec<PartView<'_>> = Vec::new();
    for (at, page) in document.pages.iter().enumerate() {
        let entry = (at + 1, page.title.as_str());
        match parts.last_mut() {
            Some(part) if part.title == page.part => part.pages.push(entry),
            _ => parts.push(PartView { title: &page.part, pages: vec![entry] }),
        }
    }
    parts
}

fn draw(chart: &Chart, id: &str, inks: &mut Inks) -> Result<String, HtmlError> {
    let (width, height) = CANVAS;
    let canvas = Canvas { width, height, ..Canvas::default() };
    let failed = |error| HtmlError::Chart { title: chart.title.clone(), error };
    inline(chart, canvas, id, inks).map_err(failed)
}

/// Text of a fact.
fn stated(fact: &str) -> &str {
    if fact.is_empty() { NOT_STATED } else { fact }
}

/// Text of a cell.
fn filled(cell: &Cell) -> &str {
    if cell.text.is_empty() { "–" } else { &cell.text }
}

/// Names of a cell's styles, in a column of words or of numbers.
fn style(cell: &Cell, is_of_words: bool) -> String {
    let mut names = Vec::new();
    if is_of_words {
        names.push("words".to_owned());
    }
    if let Some(share) = cell.share {
        let step = (share.clamp(0.0, 1.0) * SHADES).min(SHADES - 1.0) as u8;
        names.push(format!("shade-{step}"));
    }
    if let Some(tone) = cell.tone {
        let name = match tone {
            Tone::Good => "good",
            Tone::Bad => "bad",
            _ => "mixed",
        };
        names.push(name.to_owned());
    }
    names.join(" ")
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::chart::contrast;

    // Breaks when the script was changed and its checksum was not: no browser would run it.
    #[test]
    fn browsers_are_told_the_script_that_is_there() {
        let sum = STANDARD.encode(Sha256::digest(SCRIPT));
        assert_eq!(sum, SCRIPT_SHA256, "of templates/report.js");
        assert!(!SCRIPT.contains("</script"), "it would end there");
    }

    /// The colour of a name in a rule of the style, as `#rgb` or `#rrggbb`.
    fn colour(rule: &str, name: &str) -> [u8; 3] {
        let (_, rest) = rule.split_once(&format!("{name}:#")).unwrap();
        let digits: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
        let whole = |at: usize| match digits.len() {
            3 => digits[at..=at].repeat(2),
            _ => digits[2 * at..2 * at + 2].to_owned(),
        };
        [0, 1, 2].map(|at| u8::from_str_radix(&whole(at), 16).unwrap())
    }

    // Breaks when words of the page cannot be read by those who need contrast (WCAG 2.2, 1.4.3: 4.5 : 1), by day or night.
    #[test]
    fn words_stand_out_from_either_page() {
        let style = include_str!("../../templates/report.css");
        let rules: Vec<&str> = style.lines().filter(|line| line.contains("--paper:")).collect();
        assert_eq!(rules.len(), 2, "light and dark");
        for rule in rules {
            let inks = ["--ink", "--muted", "--link", "--good", "--bad", "--warn-ink"];
            let on = |ink, ground| (ink, ground, contrast(colour(rule, ink), colour(rule, ground)));
            let mut all: Vec<_> = inks.map(|ink| on(ink, "--paper")).into();
            all.extend([
                on("--warn-ink", "--warn"),
                on("--ink", "--warn"),
                on("--bad", "--alarm"),
                on("--muted", "--tint"),
            ]);
            let faint: Vec<_> = all.into_iter().filter(|(_, _, ratio)| *ratio < 4.5).collect();
            assert!(faint.is_empty(), "{faint:?}");
        }
    }
}

//! Recorded runs as one report, of which all forms are made: the page, pictures, Markdown, CSV, and what a terminal shows.

mod about;
mod files;
mod laid;
mod markdown;

use report::chart::Chart;
use report::html::{Block, Cell, Document, Page, Row, Table};
use report::{RateUnit, Style};

pub use files::{csv_of_chart, csv_of_table, slug};
pub use laid::Laid;
pub use markdown::{inline as plain, markdown};

pub use crate::tidy::rows;

use documents::recorded::{Recorded, ResultBody};

/// One report of all runs, in the order named; of several with an index behind them.
pub fn document(all: &[Recorded], rate: RateUnit) -> Document {
    let mut pages = Vec::new();
    let mut rows = Vec::new();
    let is_several = all.len() > 1;
    for recorded in all {
        let before = pages.len();
        // A survey's rates are those of its mark, which is another run of the report.
        let leading = match recorded.found {
            ResultBody::Survey(_) => {
                let is_mark = |other: &&Recorded| matches!(other.found, ResultBody::Mark(..));
                all.iter().filter(is_mark).map(|mark| leading(&mark.found)).collect()
            }
            _ => vec![leading(&recorded.found)],
        };
        let leading = leading.into_iter().flatten().collect();
        let mut of_run = of_run(recorded, rate, (is_several, leading));
        of_run.iter_mut().for_each(|page| moved(page, before));
        rows.push(row(recorded, before + 1));
        pages.extend(of_run);
    }
    if is_several {
        pages.push(index(rows));
    }
    let title = match all {
        [one] => format!("{} of {}: drivescope report", one.verb, target(one)),
        all => format!("{} runs: drivescope report", all.len()),
    };
    let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    let imprint = format!("drivescope {}; {}", env!("CARGO_PKG_VERSION"), names.join(", "));
    Document { title, imprint, pages, answers: true, rate }
}

fn target(recorded: &Recorded) -> &str {
    if recorded.target.is_empty() { &recorded.name } else { &recorded.target }
}

/// Pages of one run: the answer and the charts that show it, the numbers, and what is known of the run.
fn of_run(
    recorded: &Recorded,
    rate: RateUnit,
    (is_several, leading): (bool, Vec<Chart>),
) -> Vec<Page> {
    let date = recorded.envelope.date.trim_end_matches('Z').replacen('T', " ", 1);
    let own = format!("{} {}, {date}", recorded.verb, target(recorded));
    let part = if is_several { format!("{own} ({})", recorded.name) } else { own };
    let mut pages = match &recorded.found {
        // The specification says what is on which page.
        ResultBody::Tests(bodies) => crate::pts::pages::pages(bodies, &recorded.envelope, ""),
        found => {
            let style = Style { rate, ..Style::default() };
            let laying = laid(recorded, rate).laying(style);
            let mut blocks = laying.blocks;
            if let Some(Block::Heading(words)) = blocks.first_mut() {
                *words = answer(recorded, words);
            }
            // The answer, and what it is seen by; then the numbers.
            let is_answer = |block: &&Block| matches!(block, Block::Heading(_));
            let at = blocks.iter().take(1).filter(is_answer).count();
            let is_leading = |chart: &Chart| leading.iter().any(|lead| lead.title == chart.title);
            let of_chart = |chart| Block::Chart(Box::new(chart));
            let others: Vec<Block> = charts(found)
                .into_iter()
                .filter(|chart| !is_leading(chart))
                .map(of_chart)
                .collect();
            if !others.is_empty() {
                blocks.push(Block::Heading("More charts".to_owned()));
            }
            blocks.extend(others);
            blocks.splice(at..at, leading.into_iter().map(of_chart));
            let (title, banner) = (laying.title, laying.banner);
            vec![Page { part: part.clone(), title, banner, header: Vec::new(), blocks }]
        }
    };
    if is_several {
        for page in &mut pages {
            page.part.clone_from(&part);
        }
    }
    pages.push(about::page(recorded, &part));
    pages
}

/// The answer that a page begins with, where the result is closed by `closing`.
fn answer(recorded: &Recorded, closing: &str) -> String {
    match &recorded.found {
        ResultBody::Survey(_) | ResultBody::Probe(_) => recorded.headline.clone(),
        ResultBody::Mark(body, _) => match crate::mark::first_rates(body) {
            Some(rates) => format!("{rates}. {closing}"),
            None => closing.to_owned(),
        },
        _ => closing.to_owned(),
    }
}

/// The charts that a page begins with: throughput and latency by test for a mark, all of a comparison, else the first one.
fn leading(found: &ResultBody) -> Vec<Chart> {
    match found {
        ResultBody::Mark(body, runs) => crate::mark_plots::by_test(body, runs),
        ResultBody::Comparison(_) | ResultBody::Compare(_) => charts(found),
        found => charts(found).into_iter().take(1).collect(),
    }
}

/// The result as it was printed when it was made, without its plot.
pub fn laid(recorded: &Recorded, rate: RateUnit) -> Laid {
    match &recorded.found {
        ResultBody::Mark(body, _) => {
            Laid::Sheet(Box::new(crate::mark::sheet(&recorded.verb, body, rate)))
        }
        ResultBody::Sweep(body) => Laid::Tables(Box::new(crate::sweep::page(body, rate))),
        ResultBody::Probe(body) => {
            Laid::Answers(Box::new(crate::probe::answers(&recorded.verb, body)))
        }
        ResultBody::Survey(body) => {
            Laid::Answers(Box::new(crate::survey::answers(body, &recorded.envelope.parts)))
        }
        ResultBody::Comparison(body) => Laid::Sheet(Box::new(crate::compare::sheet(body))),
        ResultBody::Purge(body) => Laid::Listing(crate::purge::listing(body)),
        ResultBody::Replay(body) => Laid::Tables(Box::new(crate::replay::tables(body))),
        ResultBody::Compare(body) => Laid::Tables(Box::new(crate::replay::compared(body))),
        ResultBody::Analysis(body) => {
            let files: Vec<_> = body.trace.files.iter().map(Into::into).collect();
            Laid::Tables(Box::new(crate::analyze::tables(body, &files)))
        }
        ResultBody::Tests(bodies) => Laid::Several(bodies.iter().map(crate::pts::page).collect()),
    }
}

/// All charts of an instrument's result, the most important first.
fn charts(found: &ResultBody) -> Vec<Chart> {
    match found {
        ResultBody::Mark(body, runs) => crate::mark_plots::charts(body, runs),
        ResultBody::Sweep(body) => crate::sweep::charts::all(body),
        ResultBody::Probe(body) => crate::plots::charts(body),
        ResultBody::Replay(body) => crate::replay_plots::charts(body),
        ResultBody::Comparison(body) => crate::compare_plots::charts(body),
        ResultBody::Compare(body) => crate::compare_plots::of_trace(body),
        ResultBody::Analysis(body) => {
            crate::trace_plots::charts(body).into_iter().map(|(_, chart)| chart).collect()
        }
        // Of tests the pages of the specification have them.
        // A survey's are those of its parts.
        ResultBody::Purge(_) | ResultBody::Tests(_) | ResultBody::Survey(_) => Vec::new(),
    }
}

/// The most important charts of a result, for one picture of it; for a survey those of its parts, which follow it.
pub fn main_charts(all: &[Recorded]) -> Vec<Chart> {
    let of_one = |recorded: &Recorded| match &recorded.found {
        ResultBody::Mark(body, runs) => crate::mark_plots::main(body, runs),
        ResultBody::Probe(body) => crate::plots::charts(body).into_iter().take(1).collect(),
        ResultBody::Tests(bodies) => bodies.iter().filter_map(crate::pts::charts::main).collect(),
        ResultBody::Replay(body) => crate::replay_plots::main(body),
        found => charts(found),
    };
    all.iter().flat_map(of_one).collect()
}

/// All charts of a report, each with a unique name that can be part of a file name.
pub fn named_charts(document: &Document) -> Vec<(String, &Chart)> {
    let mut named: Vec<(String, &Chart)> = Vec::new();
    for block in document.pages.iter().flat_map(|page| &page.blocks) {
        let Block::Chart(chart) = block else { continue };
        let stem = slug(&chart.title);
        let is_taken = |name: &str| named.iter().any(|(other, _)| other == name);
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        let name = std::iter::once(stem.clone()).chain(numbered).find(|name| !is_taken(name));
        named.push((name.unwrap_or(stem), chart));
    }
    named
}

/// Renumbers the links of a page that is moved behind others.
fn moved(page: &mut Page, by: usize) {
    let tables = page.blocks.iter_mut().filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    for cell in tables.flat_map(|table| &mut table.rows).flat_map(|row| &mut row.cells) {
        if let Some(to) = cell.to_page {
            *cell = Cell { to_page: Some(to + by), text: (to + by).to_string(), ..cell.clone() };
        }
    }
}

fn row(recorded: &Recorded, page: usize) -> Row {
    let words = [recorded.verb.as_str(), target(recorded), recorded.headline.as_str()];
    let mut cells: Vec<Cell> = words.map(Cell::words).into();
    cells.push(Cell::words(recorded.envelope.date.clone()));
    cells.push(Cell::page(page));
    Row { name: recorded.name.clone(), cells }
}

fn index(rows: Vec<Row>) -> Page {
    let table = Table {
        caption: "Runs in this report".to_owned(),
        columns: ["Run", "verb", "target", "result", "begun", "page"].map(str::to_owned).into(),
        rows,
        notes: Vec::new(),
    };
    Page {
        part: "Index".to_owned(),
        title: "Runs".to_owned(),
        blocks: vec![Block::Table(table)],
        ..Page::default()
    }
}

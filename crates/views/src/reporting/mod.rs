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

/// One report of all runs, in the order named; of several with an index before them.
pub fn document(all: &[Recorded], rate: RateUnit) -> Document {
    let mut pages = Vec::new();
    let mut rows = Vec::new();
    let is_several = all.len() > 1;
    for recorded in all {
        let before = pages.len() + usize::from(is_several);
        let mut of_run = of_run(recorded, rate, is_several);
        of_run.iter_mut().for_each(|page| moved(page, before));
        rows.push(row(recorded, before + 1));
        pages.extend(of_run);
    }
    if is_several {
        pages.insert(0, index(rows));
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

/// Pages of one run: its result, its charts, and what is known of it.
fn of_run(recorded: &Recorded, rate: RateUnit, is_several: bool) -> Vec<Page> {
    let own = format!("{} {}", recorded.verb, target(recorded));
    let part = if is_several { format!("{own}, {}", recorded.name) } else { own };
    let mut pages = match &recorded.found {
        // The specification says what is on which page.
        ResultBody::Tests(bodies) => crate::pts::pages::pages(bodies, &recorded.envelope, ""),
        found => {
            let style = Style { rate, ..Style::default() };
            let laying = laid(recorded, rate).laying(style);
            let mut blocks = laying.blocks;
            let charts = charts(found).into_iter().map(|chart| Block::Chart(Box::new(chart)));
            let charts: Vec<Block> = charts.collect();
            let is_compared = matches!(found, ResultBody::Comparison(_) | ResultBody::Compare(_));
            if is_compared {
                // The answer, and what it is seen by; then the numbers.
                let is_answer = |block: &&Block| matches!(block, Block::Heading(_));
                let at = blocks.iter().take(1).filter(is_answer).count();
                blocks.splice(at..at, charts);
            } else {
                if !charts.is_empty() {
                    blocks.push(Block::Heading("Charts".to_owned()));
                }
                blocks.extend(charts);
            }
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

/// All that an instrument has to show, the most telling first.
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

/// The charts that tell most of a result, for one picture of it; of a survey those of its parts, which are behind it.
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

/// All charts of a report, each with a name of its own that can stand in a file's.
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

/// Links lead on to where pages stand behind others.
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

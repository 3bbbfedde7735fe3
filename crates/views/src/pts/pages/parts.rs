//! Parts of pages that several tests share.

use pts::body::Body;
use pts::table::Table;
use report::chart::Chart;
use report::html::{Block, Cell, Facts, Page, Row, Table as HtmlTable};
use report::number;

use crate::capital;
use crate::pts::charts::rounds::{Tracked, window};
use crate::pts::tables::{caption, has_values, long as figure, micro, without_shared_unit};
use crate::pts::verdicts;

/// The pages of one test, while they are made.
pub struct Part<'a> {
    /// The test.
    pub body: &'a Body,
    /// Its pages so far.
    pub pages: Vec<Page>,
    header: Vec<Facts>,
}

/// How the cells of a table are shaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shade {
    /// Not at all.
    None,
    /// By how much each is, on a logarithmic scale.
    Log,
    /// On a linear one.
    Linear,
}

impl<'a> Part<'a> {
    /// No page yet.
    pub fn new(body: &'a Body, header: Vec<Facts>) -> Part<'a> {
        Part { body, pages: Vec::new(), header }
    }

    /// A table of the test.
    pub fn table(&self, key: &str) -> Option<&'a Table> {
        self.body.tables.get(key)
    }

    /// Adds a page; without anything to be seen it says so, since the specification asks for it.
    pub fn page(&mut self, title: &str, blocks: Vec<Option<Block>>) {
        let mut blocks: Vec<Block> = blocks.into_iter().flatten().collect();
        if blocks.is_empty() {
            blocks.push(Block::Paragraph(match &self.body.ended_by {
                Some(why) => format!("Not measured: the test ended before its end ({why})."),
                None => {
                    "There is nothing to show: too little was measured, or the drive does not report it."
                        .to_owned()
                }
            }));
        }
        let (part, banner) = (self.body.test.title().to_owned(), banner(self.body));
        let (title, header) = (title.to_owned(), self.header.clone());
        self.pages.push(Page { part, title, banner, header, blocks });
    }

    /// Adds the pages of a steady-state window: the plot with the verdicts, and the data that they rest on.
    pub fn steady(&mut self, title: &str, tracked: Option<Tracked>, with_verdicts: bool) {
        let verdicts = if with_verdicts { verdicts_table(self.body) } else { None };
        let picture = tracked.as_ref().and_then(|tracked| window(self.body, tracked));
        self.page(
            &format!("Steady-state window: {title}"),
            vec![chart(picture), tracked.as_ref().map(determination), verdicts],
        );
    }
}

/// Warning for readers who see one page alone.
pub fn banner(body: &Body) -> String {
    let mut said = Vec::new();
    if !body.is_whole {
        said.push("INCOMPLETE: the test ended before its end".to_owned());
    }
    if !body.deviations.is_empty() {
        let n = body.deviations.len();
        let plural = if n == 1 { "" } else { "s" };
        said.push(format!(
            "NOT CONFORMING to the specification: {n} deviation{plural}, listed with the conclusions"
        ));
    }
    if !body.is_steady() {
        said.push("not shown to be steady by bytes".to_owned());
    }
    said.join("; ")
}

/// A chart, where there is one.
pub fn chart(chart: Option<Chart>) -> Option<Block> {
    chart.map(|chart| Block::Chart(Box::new(chart)))
}

/// A paragraph.
pub fn words(words: &str) -> Option<Block> {
    Some(Block::Paragraph(words.to_owned()))
}

/// A table of a test, all of its rows.
pub fn table(table: Option<&Table>, shade: Shade) -> Option<Block> {
    let table = table.filter(|table| has_values(table))?;
    let (names, unit) = without_shared_unit(table);
    let mut columns = vec![capital(&micro(&table.rows_are))];
    columns.extend(names.iter().map(|name| capital(name)));
    let values = || table.rows.iter().flat_map(|row| row.values.iter().flatten().copied());
    let (least, most) =
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let share = |value: f64| match shade {
        Shade::None => None,
        _ if most <= least => None,
        Shade::Linear => Some((value - least) / (most - least)),
        Shade::Log if least <= 0.0 => None,
        Shade::Log => Some((value / least).ln() / (most / least).ln()),
    };
    let cell = |value: &Option<f64>| match value {
        None => Cell::default(),
        Some(value) => {
            let cell = Cell::number(figure(*value));
            share(*value).map_or(cell.clone(), |share| cell.shaded(share))
        }
    };
    let row = |row: &pts::table::Row| Row {
        name: row.label.clone(),
        cells: row.values.iter().map(cell).collect(),
    };
    Some(Block::Table(HtmlTable {
        caption: caption(table, unit.as_deref()),
        columns,
        rows: table.rows.iter().map(row).collect(),
        notes: Vec::new(),
    }))
}

/// The specification's figures of the five rounds.
fn determination(tracked: &Tracked) -> Block {
    let window = &tracked.window;
    let value = |value: f64| match tracked.axis.unit {
        stats::Unit::Ns => number::nanoseconds(value),
        _ => figure(value),
    };
    let met = |passes: bool| if passes { "met" } else { "not met" };
    let row = |name: &str, measured: String, allowed: String, passes: Option<bool>| Row {
        name: name.to_owned(),
        cells: vec![
            Cell::number(measured),
            Cell::number(allowed),
            match passes {
                None => Cell::words(""),
                Some(true) => Cell::words(met(true)).toned(report::Tone::Good),
                Some(false) => Cell::words(met(false)).toned(report::Tone::Bad),
            },
        ],
    };
    let bound = |measured: f64, allowed: f64| {
        (value(measured), format!("≤ {}", value(allowed)), Some(measured <= allowed))
    };
    let (range, range_allowed, range_met) = bound(window.range, window.allowed_range);
    let (slope, slope_allowed, slope_met) =
        bound(window.slope_excursion, window.allowed_slope_excursion);
    let mut rows: Vec<Row> = tracked
        .five()
        .into_iter()
        .map(|(round, v)| row(&format!("Round {round}"), value(v), String::new(), None))
        .collect();
    rows.push(row("Average", value(window.average), String::new(), None));
    rows.push(row("Data excursion: greatest less least", range, range_allowed, range_met));
    rows.push(row("Slope excursion: change of the best fit", slope, slope_allowed, slope_met));
    let verdict = if tracked.passes { "is met" } else { "is not met" };
    Block::Table(HtmlTable {
        caption: format!("Steady-state determination data: {}", tracked.name),
        columns: ["Of the five rounds", "measured", "allowed", "rule"].map(str::to_owned).into(),
        rows,
        notes: vec![format!(
            "Best fit: {}. The specification's rule for steady state {verdict}.",
            tracked.formula()
        )],
    })
}

/// The three rules' verdicts with their reasons.
pub fn verdicts_table(body: &Body) -> Option<Block> {
    let steady = body.steady.as_ref()?;
    let row = |verdict: verdicts::Verdict| Row {
        name: verdict.rule.to_owned(),
        cells: vec![
            Cell::words(verdict.word).toned(verdict.tone),
            Cell::number(verdict.at),
            Cell::number(verdict.value),
            Cell::words(verdict.reason),
        ],
    };
    Some(Block::Table(HtmlTable {
        caption: format!("Steady state of {}, by three rules", steady.tracked),
        columns: ["Rule", "verdict", "at", "value", "why"].map(str::to_owned).into(),
        rows: verdicts::of(body).into_iter().map(row).collect(),
        notes: Vec::new(),
    }))
}

/// The page of requests that arrived on their own, beside those one after the other; none where they were not asked for.
pub fn open_loop(part: &mut Part<'_>) {
    use crate::pts::charts::latency;
    let Some(percentiles) = part.table("open_loop_percentiles") else { return };
    let levels = latency::confidence(part.body, &latency::LOOPS);
    let numbers = table(Some(percentiles), Shade::None);
    let about = words(
        "One after the other, a request is not issued while the drive holds those before it up, and what it would have \
         waited is in no figure. Of requests that arrive on their own that wait is part of the response time.",
    );
    part.page("Response times from when each request was due", vec![chart(levels), numbers, about]);
}

/// The pages of a histogram and of the confidence levels of one run of requests.
pub fn response_times(part: &mut Part<'_>, title: &str, (histogram, percentiles): (&str, &str)) {
    use crate::pts::charts::latency;
    let bars = latency::histogram(part.body, histogram);
    let levels = latency::confidence(part.body, &[("all requests", histogram)]);
    let numbers = table(part.table(percentiles), Shade::None);
    part.page(title, vec![chart(bars), chart(levels), numbers]);
}

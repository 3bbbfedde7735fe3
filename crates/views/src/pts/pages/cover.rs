//! The first page: the conclusions of all tests, what was not kept of the specification, and doubts.

use pts::body::Body;
use pts::options::Test;
use record::Envelope;
use report::html::{Block, Cell, Page, Row, Table};
use report::{Tone, number};
use stats::Caveat;

use super::header;
use crate::pts::charts::time::phases;
use crate::pts::tables::long as figure;
use crate::pts::verdicts;
use crate::remedies;

/// The page. `first_pages` has the number of each test's first page.
pub fn page(bodies: &[Body], envelope: &Envelope, written: &str, first_pages: &[usize]) -> Page {
    let headline = crate::pts::headline(bodies);
    let is_steady = bodies.iter().all(Body::is_steady);
    let mut blocks = Vec::new();
    if is_steady {
        blocks.push(Block::Heading(headline.clone()));
    }
    blocks.push(conclusions(bodies, first_pages));
    if let [body] = bodies {
        let chart = crate::pts::charts::main(body);
        blocks.extend(chart.map(|chart| Block::Chart(Box::new(chart))));
    }
    blocks.push(Block::Paragraph(
        "Steady state is judged by three rules: that of the specification (five rounds, which are minutes), fio's, for \
         comparison, and one that counts bytes, since a drive's state depends on what was written and not on the clock. A \
         value is that of the steady state where the rule by bytes says so; otherwise it is that of a drive on its way."
            .to_owned(),
    ));
    blocks.push(Block::Heading("What of the specification was not kept".to_owned()));
    blocks.push(deviations(bodies));
    blocks.push(Block::Heading("Caveats and what to do".to_owned()));
    let doubts = doubts(bodies);
    if doubts.is_empty() {
        blocks.push(Block::Paragraph("None.".to_owned()));
    }
    blocks.extend(remedies::written(&doubts).into_iter().map(Block::Caveat));
    let conforms = bodies.iter().all(|body| body.deviations.is_empty() && body.is_whole);
    let not_steady = (!is_steady).then(|| format!("✗ {headline}"));
    let not_kept = "NOT CONFORMING to the specification: see below what was not kept".to_owned();
    let not_kept = (!conforms).then_some(not_kept);
    let banner: Vec<String> = not_steady.into_iter().chain(not_kept).collect();
    let banner = banner.join(". ");
    let name = |body: &Body| body.device.model.clone().unwrap_or_else(|| body.device.name.clone());
    Page {
        part: "Conclusions".to_owned(),
        title: bodies.first().map_or_else(
            || "Nothing was tested".to_owned(),
            |body| format!("Conclusions: {}", name(body)),
        ),
        banner,
        header: bodies.first().map_or_else(Vec::new, |body| {
            let mut groups = header::header(body, envelope, written);
            // Of the last group only the tests' own pages know.
            groups.truncate(3);
            groups
        }),
        blocks,
    }
}

fn conclusions(bodies: &[Body], first_pages: &[usize]) -> Block {
    let verdict = |body: &Body, rule: &str| {
        let found = verdicts::of(body).into_iter().find(|verdict| verdict.rule == rule);
        found.map_or_else(|| Cell::words(""), |v| Cell::words(v.word).toned(v.tone))
    };
    let row = |(body, page): (&Body, &usize)| Row {
        name: body.test.title().to_owned(),
        cells: vec![
            Cell::words(result(body)),
            verdict(body, "PTS"),
            verdict(body, "fio"),
            verdict(body, "by bytes"),
            conforming(body),
            Cell::page(*page),
        ],
    };
    Block::Table(Table {
        caption: "Conclusions of all tests".to_owned(),
        columns: [
            "Test",
            "result",
            "steady, PTS",
            "steady, fio",
            "steady, by bytes",
            "conforms",
            "page",
        ]
        .map(str::to_owned)
        .into(),
        rows: bodies.iter().zip(first_pages).map(row).collect(),
        notes: Vec::new(),
    })
}

fn conforming(body: &Body) -> Cell {
    let is_of_pts = Test::PTS.contains(&body.test);
    match (is_of_pts, body.is_whole, body.deviations.len()) {
        (_, false, _) => Cell::words("broken off").toned(Tone::Bad),
        (false, ..) => Cell::words("not of the PTS"),
        (true, true, 0) => Cell::words("yes").toned(Tone::Good),
        (true, true, n) => Cell::words(format!("no: {n}")).toned(Tone::Bad),
    }
}

/// A cell of a table of a test, by its names.
fn cell(body: &Body, table: &str, row: &str, column: &str) -> Option<f64> {
    let table = body.tables.get(table)?;
    let at = table.columns.iter().position(|name| name == column)?;
    table.rows.iter().find(|found| found.label == row)?.values.get(at).copied().flatten()
}

/// The numbers that a test is remembered by.
fn result(body: &Body) -> String {
    let part = |name: &str, value: Option<f64>, unit: &str| {
        value.map(|value| format!("{name} {}{unit}", figure(value)))
    };
    let parts = match body.test {
        Test::Iops => ["100/0", "65/35", "0/100"]
            .map(|mix| {
                part(
                    &format!("4 KiB {mix}:"),
                    cell(body, "iops", "4 KiB", &format!("{mix}, IOPS")),
                    " IOPS",
                )
            })
            .to_vec(),
        Test::Throughput => ["1024 KiB", "128 KiB"]
            .into_iter()
            .flat_map(|size| {
                ["write", "read"].map(|way| {
                    let value = cell(body, "throughput", size, &format!("{way}, MB/s"));
                    part(&format!("{size} {way}"), value, " MB/s")
                })
            })
            .collect(),
        Test::Latency => vec![
            part(
                "4 KiB writes, T1 Q1: mean",
                cell(body, "percentiles", "mean (ART)", "value, us"),
                " µs",
            ),
            part("99.99%", cell(body, "percentiles", "99.99%", "value, us"), " µs"),
            part("greatest", cell(body, "percentiles", "greatest (MRT)", "value, us"), " µs"),
        ],
        Test::Wsat => saturation(body),
        Test::Hir => {
            vec![part("gain of pauses of 50 s", cell(body, "recovery", "50", "gain, %"), "%")]
        }
        Test::Xsr => vec![
            part("end of G1", group(body, 0, 0), " MB/s"),
            part("G2", group(body, 1, 0), " MB/s"),
            part("G3", group(body, 2, 0), " MB/s"),
            Some(match group(body, 2, 3) {
                Some(minutes) => format!("recovered after {} min", figure(minutes)),
                None => "not recovered".to_owned(),
            })
            .filter(|_| group(body, 2, 0).is_some()),
        ],
        Test::Cbw | Test::Dirth => {
            let table = body.tables.get("demand_iops");
            let values = table.map(|table| {
                table.rows.iter().flat_map(|row| row.values.iter().flatten().copied())
            });
            let most = values.and_then(|values| values.reduce(f64::max));
            vec![
                part("most", most, " IOPS"),
                part("T32 Q32", cell(body, "demand_iops", "32", "depth 32"), " IOPS"),
                part("T1 Q1", cell(body, "demand_iops", "1", "depth 1"), " IOPS"),
            ]
        }
        Test::QdSweep => {
            let table = body.tables.get("qd_sweep");
            let rate = |depth: &str| {
                table?.rows.iter().find(|row| row.label == depth)?.values.first().copied()?
            };
            ["1", "32", "256"]
                .map(|depth| part(&format!("depth {depth}:"), rate(depth), " IOPS"))
                .to_vec()
        }
        Test::Ezfio => {
            let rates = body.tables.get("long").and_then(|table| table.column("IOPS"));
            let rates: Vec<f64> = rates.into_iter().flatten().flatten().collect();
            vec![part("4 KiB 70/30, 256 threads:", stats::median(&rates), " IOPS")]
        }
    };
    let words: Vec<String> = parts.into_iter().flatten().collect();
    match (words.is_empty(), &body.ended_by) {
        (false, _) => words.join("; "),
        (true, Some(why)) => why.clone(),
        (true, None) => String::new(),
    }
}

fn group(body: &Body, group: usize, column: usize) -> Option<f64> {
    body.tables.get("groups")?.rows.get(group)?.values.get(column).copied().flatten()
}

fn saturation(body: &Body) -> Vec<Option<String>> {
    let fresh = phases(body).map(|phases| phases.plateau);
    let samples = body.tables.get("samples").and_then(|table| table.column("IOPS"));
    let rates: Vec<f64> = samples.into_iter().flatten().flatten().collect();
    let end = stats::median(&rates[rates.len().saturating_sub(5)..]);
    let word = |name: &str, value: f64| format!("{name} {} IOPS", figure(value));
    vec![
        fresh.map(|value| word(if body.setup.in_place { "at first" } else { "fresh" }, value)),
        end.map(|value| word("at the end", value)),
        fresh.zip(end.filter(|end| *end > 0.0)).map(|(a, b)| format!("{}×", number::digits(a / b))),
    ]
}

fn deviations(bodies: &[Body]) -> Block {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for body in bodies {
        for words in &body.deviations {
            match found.iter_mut().find(|(known, _)| known == words) {
                Some((_, tests)) => tests.push(body.test.word()),
                None => found.push((words, vec![body.test.word()])),
            }
        }
    }
    if found.is_empty() {
        return Block::Paragraph("All of it was kept, as far as this program knows it.".to_owned());
    }
    let row = |(words, tests): (&str, Vec<&str>)| Row {
        name: if tests.len() == bodies.len() { "all".to_owned() } else { tests.join(", ") },
        cells: vec![Cell::words(words)],
    };
    Block::Table(Table {
        caption: "Deviations".to_owned(),
        columns: ["Tests", "what is other"].map(str::to_owned).into(),
        rows: found.into_iter().map(row).collect(),
        notes: Vec::new(),
    })
}

/// Doubts of all tests; one that several have is told once, with their names.
fn doubts(bodies: &[Body]) -> Vec<Caveat> {
    let mut found: Vec<(Caveat, Vec<&str>)> = Vec::new();
    for body in bodies {
        for caveat in &body.caveats {
            let same = |(known, _): &&mut (Caveat, Vec<&str>)| {
                known.cause == caveat.cause && known.remedy == caveat.remedy
            };
            match found.iter_mut().find(same) {
                Some((_, tests)) => tests.push(body.test.word()),
                None => found.push((caveat.clone(), vec![body.test.word()])),
            }
        }
    }
    let named = |(caveat, mut tests): (Caveat, Vec<&str>)| {
        tests.dedup();
        Caveat { subject: tests.join(", "), ..caveat }
    };
    found.into_iter().map(named).collect()
}

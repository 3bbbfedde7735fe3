//! The first page: the conclusions of all tests, what was not kept of the specification, and doubts.

use pts::body::Body;
use pts::options::Test;
use record::Envelope;
use report::Tone;
use report::html::{Block, Cell, Page, Row, Table};
use stats::Caveat;

use super::header;
use crate::pts::results::{headline, result};
use crate::pts::verdicts;
use crate::remedies;

/// The page. `first_pages` has the number of each test's first page.
pub fn page(bodies: &[Body], envelope: &Envelope, written: &str, first_pages: &[usize]) -> Page {
    let headline = headline(bodies);
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

/// Caveats of all tests; one that several have is listed once, with their names.
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

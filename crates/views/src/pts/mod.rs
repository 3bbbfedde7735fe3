//! Enterprise tests for people, and for other programs.

pub mod charts;
mod csv;
pub mod pages;
mod results;
mod tables;
mod verdicts;

use anyhow::Result;
use block::Nanos;
use pts::body::{Body, RuleVerdict, StageKind, Steady};
use pts::estimate::Estimate;
use pts::kept::Standing;
use pts::table::Table;
use report::chart::terminal;
use report::{Entry, Listing, Style, Styled, Tables, Tone, number, render_tables};
use stats::steady::{State, Verdict};

pub use csv::csv;
pub use results::headline;
use verdicts::state_words;

/// Rows of a table that a terminal shows; all are in JSON, CSV and the report.
const ROWS_MAX: usize = 12;
/// Tables whose rows are samples over time: shown as a plot.
const SERIES: [&str; 6] =
    ["samples", "curve", "series", "preconditioning", "between_rounds", "long"];

/// How a test stands, in two lines: the course of what is tracked, then the verdicts and the time that is left.
pub fn standing(standing: &Standing) -> [String; 2] {
    let last = standing.values.last().copied().unwrap_or(f64::NAN);
    let value = verdicts::figure(None, &standing.tracked, last);
    let course = report::spark(&standing.values, SPARK_WIDTH);
    let time = |Nanos(ns): Nanos| duration(ns as f64 / 1e9);
    let left = match (standing.left.least, standing.left.most) {
        (Nanos::ZERO, Some(Nanos::ZERO)) => String::new(),
        (Nanos::ZERO, None) => "; time left unknown".to_owned(),
        (least, None) => format!("; {} left at least", time(least)),
        (least, Some(most)) if least == most => format!("; {} left", time(most)),
        (least, Some(most)) => format!("; {} to {} left", time(least), time(most)),
    };
    [
        format!("{course} {value} after {:.2} fills", standing.fills),
        format!("{}{left}", verdicts_so_far(standing)),
    ]
}

/// The verdicts on a test that goes on.
pub fn verdicts_so_far(standing: &Standing) -> String {
    let pts = if standing.pts == RuleVerdict::Steady { "steady" } else { "not yet" };
    format!("by bytes {}, by PTS {pts}", state_words(standing.ours))
}

/// Characters of a course in the progress.
const SPARK_WIDTH: usize = 24;

/// Estimate of a run's time and bytes.
pub fn plan(estimate: &Estimate) -> Listing {
    let mut facts = Vec::new();
    let mut fact = |name: &str, text: String| facts.push((name.to_owned(), text));
    fact("range", number::bytes(estimate.range_bytes as f64));
    let time = |ns: Option<u64>| ns.map(|ns| duration(ns as f64 / 1e9));
    match (time(estimate.timed_ns_min), time(estimate.timed_ns_max)) {
        (Some(least), Some(most)) if least == most => {
            fact("time", format!("{least}, and the fills"))
        }
        (Some(least), Some(most)) => fact("time", format!("{least} to {most}, and the fills")),
        _ => fact("time", "as the drive is fast: a minute is a share of the range".to_owned()),
    }
    fact("writes at least", number::bytes(estimate.bytes_min as f64));
    match estimate.bytes_max {
        Some(most) => fact("writes at most", number::bytes(most as f64)),
        None => fact(
            "writes at most",
            "what the drive takes in that time; --write-budget bounds it".to_owned(),
        ),
    }
    for test in &estimate.tests {
        let minutes = match test.minutes_min == test.minutes_max {
            true => format!("{:.0}", test.minutes_min),
            false => format!("{:.0} to {:.0}", test.minutes_min, test.minutes_max),
        };
        let fills = match test.fills == test.fills_max {
            true => format!("{:.0}", test.fills),
            false => format!("{:.0} to {:.0}", test.fills, test.fills_max),
        };
        let plural = |count: &str| if count == "1" { "" } else { "s" };
        let (s, of_fills) = (plural(&minutes), plural(&fills));
        fact(test.test.word(), format!("{minutes} minute{s}, {fills} fill{of_fills}"));
    }
    let notes = estimate.deviations.iter().map(|words| (Tone::Mixed, words.clone())).collect();
    let entry = Entry {
        title: "plan".to_owned(),
        summary: "nothing is written yet".to_owned(),
        facts,
        notes,
        leads: false,
    };
    Listing { entries: vec![entry], empty: String::new() }
}

/// A time as people say it.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 180.0 => format!("{} s", number::digits(s)),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// All tests as text.
///
/// # Errors
/// When a curve cannot be drawn.
pub fn text(bodies: &[Body]) -> Result<Styled> {
    let mut all = Styled::default();
    for (at, body) in bodies.iter().enumerate() {
        if at > 0 {
            all += &Styled::of_lines("\n");
        }
        all += &render_tables(&page(body), Style::default());
        if let Some(chart) = charts::main(body) {
            all += &Styled::of_lines("\n");
            all += &terminal(&chart, Style::default())?;
        }
    }
    Ok(all)
}

/// A test as tables.
pub fn page(body: &Body) -> Tables {
    let mut facts = Vec::new();
    let device = &body.device;
    let name = device.model.clone().unwrap_or_else(|| device.name.clone());
    facts.push(format!("{name}, {}", number::bytes(device.capacity_bytes as f64)));
    let (from, range) = (body.setup.range_offset_bytes, body.setup.range_bytes);
    if range < device.capacity_bytes {
        let (range, from) = (number::bytes(range as f64), number::bytes(from as f64));
        facts.push(format!("of it, {range} from {from} on: a fill is of those"));
    }
    facts.push(match &body.purge {
        Some(purge) => format!("purged by {}, {}", purge.method, purge.words),
        None => "not purged".to_owned(),
    });
    for stage in &body.preconditioning {
        let word = if stage.is_accepted { "" } else { "not accepted: " };
        facts.push(format!(
            "{}: {}, {} ({:.2} fills); {word}{}",
            stage.kind.text(StageKind::abbreviation),
            stage.load,
            number::bytes(stage.bytes_written as f64),
            stage.fills,
            stage.reason
        ));
    }
    facts.extend(body.deviations.iter().map(|words| format!("not of the specification: {words}")));
    let is_series = |key: &str| {
        SERIES.contains(&key) || key.ends_with("_samples") || key.ends_with("histogram")
    };
    let shown = body.tables.iter().filter(|(key, _)| !is_series(key));
    let shown = shown.flat_map(|(_, table)| tables::by_engine(table)).filter(tables::has_values);
    let mut tables: Vec<report::Table> = shown.map(|table| of(&table)).collect();
    tables.extend(body.steady.as_ref().map(|steady| verdicts_of(steady, body)));
    let (closing, tone) = closing(body);
    Tables {
        title: format!("{} of {}", body.test.title(), device.name),
        facts,
        tables,
        caveats: crate::remedies::written(&body.caveats),
        closing,
        tone,
    }
}

/// A table for a terminal. A unit that all columns share is shown once.
fn of(table: &Table) -> report::Table {
    let field = |value: &Option<f64>| value.map_or(String::new(), tables::short);
    let rows = table.rows.iter().take(ROWS_MAX);
    let mut notes = Vec::new();
    if table.rows.len() > ROWS_MAX {
        notes.push(format!("{} more rows in --json", table.rows.len() - ROWS_MAX));
    }
    let (columns, unit) = tables::without_shared_unit(table);
    let caption = tables::caption(table, unit.as_deref());
    let by = format!("by {}", table.rows_are);
    report::Table {
        title: if caption.contains(&by) { caption } else { format!("{caption}, {by}") },
        columns,
        rows: rows.map(|row| (row.label.clone(), row.values.iter().map(field).collect())).collect(),
        notes,
    }
}

/// Verdicts of the three rules, with their reasons.
fn verdicts_of(steady: &Steady, body: &Body) -> report::Table {
    let all = verdicts::of(body);
    let reason = |verdict: &verdicts::Verdict| {
        (!verdict.reason.is_empty()).then(|| format!("{}: {}", verdict.rule, verdict.reason))
    };
    report::Table {
        title: format!("Steady state of {}", steady.tracked),
        columns: ["verdict", "at", "value"].map(str::to_owned).into(),
        notes: all.iter().filter_map(reason).collect(),
        rows: all.into_iter().map(|v| (v.rule.to_owned(), vec![v.word, v.at, v.value])).collect(),
    }
}

fn closing(body: &Body) -> (String, Tone) {
    if let Some(why) = &body.ended_by {
        return (format!("Ended before its end: {why}."), Tone::Bad);
    }
    let written = number::bytes(body.bytes_written as f64);
    match &body.steady {
        None => (format!("Done; {written} written."), Tone::Good),
        Some(steady) if steady.ours.verdict == Verdict::Yes => (
            format!("The drive is {}; {written} written.", steady.ours.state.text(state_words)),
            if steady.ours.state == State::Periodic { Tone::Mixed } else { Tone::Good },
        ),
        Some(steady) if steady.ours.reason.is_empty() => {
            (format!("The drive is not shown to be steady; {written} written."), Tone::Bad)
        }
        Some(steady) if steady.ours.state == State::Inconclusive => {
            (format!("Inconclusive: {}; {written} written.", steady.ours.reason), Tone::Mixed)
        }
        Some(steady) => (
            format!("The drive is not steady: {}; {written} written.", steady.ours.reason),
            Tone::Bad,
        ),
    }
}

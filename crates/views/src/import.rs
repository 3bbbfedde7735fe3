//! Tables that others printed, and what they say, as a page.

use probe::Finding;
use probe::flashbench::tables::{Parsed, Source, Table};
use report::{Answers, number};

/// Lays out what `tables` say.
pub fn answers(tables: &[Parsed], findings: &[Finding]) -> Answers {
    let device = tables.iter().find_map(|parsed| parsed.told.device.as_deref());
    let title = match device {
        Some(device) => format!("drivescope import flashbench: {device}"),
        None => "drivescope import flashbench".to_owned(),
    };
    let facts = tables.iter().map(fact).collect();
    let remarks = tables.iter().flat_map(|parsed| {
        let place = |line: u32| format!("{}, line {line}:", parsed.file);
        parsed.notes.iter().map(move |note| (place(note.line), note.to_string()))
    });
    let remarks = remarks.collect();
    Answers { remarks, ..crate::probe::of_findings(title, facts, findings) }
}

/// One line about a table.
fn fact(parsed: &Parsed) -> String {
    let size = |bytes: u64| number::bytes(bytes as f64);
    let what = match &parsed.table {
        Table::Align(table) => format!("align, {}", number::counted(table.rows.len(), "row")),
        Table::OpenAu(table) => {
            let units = match (table.nr, table.nr_from) {
                (None, _) => {
                    "an unknown count of units (a name such as nr3.txt gives it)".to_owned()
                }
                (Some(nr), Some(Source::Order)) => format!(
                    "{} by the file's place among those given (nr3.txt would give it)",
                    number::counted(nr as usize, "unit")
                ),
                (Some(nr), _) => number::counted(nr as usize, "unit"),
            };
            let order = if table.random == Some(true) { "at random" } else { "in order" };
            let rows = number::counted(table.rows.len(), "row");
            format!("open-au, {units} {order}, {rows}")
        }
        Table::FindFat(table) => format!("find-fat, {}", number::counted(table.rows.len(), "row")),
        Table::Scatter(table) => {
            format!("scatter, {}", number::counted(table.points.len(), "place"))
        }
        Table::Other(other) => {
            format!("{:?}, {} lines, from which nothing is inferred", other.kind, other.lines)
        }
    };
    let block =
        parsed.told.block_bytes.map_or(String::new(), |b| format!(", blocks of {}", size(b)));
    format!("{}: {what}{block}", parsed.file)
}

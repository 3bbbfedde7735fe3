//! Survey rows: what a probing found, in one line that people share.
//!
//! A row has no serial number, no name of a machine or of a file, and nothing else that identifies the drive's owner.

use std::collections::BTreeSet;

use block::text::harmless;
use probe::{Body, Finding, Name, Verdict};
use report::{confidence, number};
use serde::Serialize;

/// Begins each row, so that it is found among other lines.
const MARK: &str = "drivescope-row/1";

/// The columns, in order.
const COLUMNS: [&str; 7] =
    ["model", "size", "erase block", "page", "FAT zone", "open AUs (linear/random)", "sure"];

/// A row, taken apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SurveyRow {
    /// Model as the drive states it.
    pub model: String,
    /// Capacity in bytes, exactly: two lots of one model differ in it.
    pub size: String,
    /// Erase block.
    pub erase_block: String,
    /// Page, and multi-plane page where it is another.
    pub page: String,
    /// Zone for file allocation tables.
    pub fat_zone: String,
    /// Open allocation units, linear and random.
    pub open_au: String,
    /// How sure the least sure of the values found is.
    pub sure: String,
}

/// The row of a probing, with a line feed at its end.
pub fn of(body: &Body) -> String {
    let row = SurveyRow {
        model: model(body),
        size: format!("{} B", body.target.capacity_bytes.0),
        erase_block: value(body.finding(Name::EraseBlock)),
        page: page(body),
        fat_zone: value(body.finding(Name::FatZone)),
        open_au: format!(
            "{}/{}",
            value(body.finding(Name::OpenAuLinear)),
            value(body.finding(Name::OpenAuRandom))
        ),
        sure: sure(body),
    };
    row.text()
}

fn model(body: &Body) -> String {
    let leaf = body.stack.leaves.first().and_then(|leaf| leaf.model.clone());
    let model = body.target.model.clone().or(leaf).unwrap_or_else(|| "?".to_owned());
    // A bar would begin another column.
    harmless(model.trim()).replace('|', "/")
}

fn value(finding: Option<&Finding>) -> String {
    match finding.map(|finding| (finding.verdict, finding.value, finding.unit)) {
        Some((Verdict::Found, Some(value), probe::Unit::Bytes)) => number::bytes(value as f64),
        Some((Verdict::Found, Some(value), probe::Unit::Count)) => value.to_string(),
        Some((Verdict::None, ..)) => "none".to_owned(),
        _ => "?".to_owned(),
    }
}

fn page(body: &Body) -> String {
    let (page, multi) = (body.finding(Name::Page), body.finding(Name::MultiPlanePage));
    let of = |finding: Option<&Finding>| finding.and_then(|finding| finding.value);
    match (of(page), of(multi)) {
        (Some(one), Some(all)) if one != all => {
            format!("{} x {}", number::bytes(one as f64), all / one.max(1))
        }
        (None, Some(all)) => format!("<= {}", number::bytes(all as f64)),
        _ => value(page),
    }
}

fn sure(body: &Body) -> String {
    let shown =
        [Name::EraseBlock, Name::Page, Name::FatZone, Name::OpenAuLinear, Name::OpenAuRandom];
    let sure = shown.iter().filter_map(|name| body.finding(*name)?.confidence);
    sure.reduce(f64::min).map_or("?".to_owned(), confidence)
}

impl SurveyRow {
    fn cells(&self) -> [&str; 7] {
        [
            &self.model,
            &self.size,
            &self.erase_block,
            &self.page,
            &self.fat_zone,
            &self.open_au,
            &self.sure,
        ]
    }

    /// The row as it is shared.
    pub fn text(&self) -> String {
        format!("{MARK} | {}\n", self.cells().join(" | "))
    }

    /// Reads a row; `None` for a line without one. Text before the row, such as the marks of a quoted mail, is ignored.
    ///
    /// # Errors
    /// When the line begins as a row and has other columns.
    pub fn parse(line: &str) -> Option<Result<SurveyRow, String>> {
        let (_, row) = line.split_once(MARK)?;
        let cells: Vec<String> =
            row.split('|').skip(1).map(|cell| cell.trim().to_owned()).collect();
        let count = cells.len();
        let Ok([model, size, erase_block, page, fat_zone, open_au, sure]) =
            <[String; 7]>::try_from(cells)
        else {
            return Some(Err(format!("a row has 7 columns, and this one has {count}")));
        };
        Some(Ok(SurveyRow { model, size, erase_block, page, fat_zone, open_au, sure }))
    }
}

/// Rows as a table that is read as it is, and by what reads Markdown: each row once, by model and size.
pub fn table(rows: &BTreeSet<SurveyRow>) -> String {
    let mut widths = COLUMNS.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row.cells()) {
            *width = (*width).max(harmless(cell).chars().count());
        }
    }
    let line = |cells: [&str; 7]| {
        let cells =
            cells.iter().zip(widths).map(|(cell, width)| format!("{:width$}", harmless(cell)));
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let rule = widths.map(|width| "-".repeat(width + 2)).join("|");
    let head = format!("{}|{rule}|\n", line(COLUMNS));
    rows.iter().fold(head, |table, row| table + &line(row.cells()))
}

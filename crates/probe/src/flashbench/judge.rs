//! Published tables, judged by the same inference as a drive's own answers.

use super::tables::{AlignTable, FindFatTable, OpenAuTable, Scatter, Table};
use crate::finding::{Finding, Name};
use crate::known::Known;
use crate::{align, fat, open_au, scatter};

/// Judges `tables`, all of one device. `erase_block` in bytes, if present, is taken as given.
///
/// Several tables of one kind are judged together where they complete each other, as those of `--open-au` with 1, 2,
/// 3 … units do, and one by one where they repeat each other; answers that contradict each other leave it open.
pub fn judge(tables: &[Table], erase_block: Option<u64>) -> Vec<Finding> {
    let mut known = Known::new();
    erase_block.into_iter().for_each(|bytes| known.give(Name::EraseBlock, bytes));
    for table in tables {
        match table {
            Table::Align(table) => known.learn(&aligned(table, erase_block)),
            Table::FindFat(table) => known.learn(&[zoned(table, erase_block)]),
            Table::Scatter(table) => known.learn(&scattered(table)),
            Table::OpenAu(_) | Table::Other(_) => {}
        }
    }
    known.learn(&open(tables));
    known.findings().into_iter().map(|finding| known.stated(finding)).collect()
}

fn aligned(table: &AlignTable, erase_block: Option<u64>) -> Vec<Finding> {
    let rows = table.rows.iter().filter_map(|row| {
        let times = [row.pre_ns, row.on_ns, row.post_ns];
        // Of reads that failed nothing is known, and of figures that contradict each other too little.
        let sound = times.iter().all(|ns| *ns > 0.0) && row.agrees_with_itself();
        sound.then(|| align::Row::published(row.align_bytes, times, row.diff_ns)).flatten()
    });
    let rows: Vec<align::Row> = rows.collect();
    align::infer(&rows, align::Source::Published, erase_block).findings
}

fn zoned(table: &FindFatTable, erase_block: Option<u64>) -> Finding {
    let rows = table.rows.iter().map(|row| fat::Row {
        len_bytes: row.len_bytes,
        ns_per_io: row.rates.iter().map(|r| row.len_bytes as f64 * 1e9 / r.bytes_per_s).collect(),
    });
    let erase_block_bytes = erase_block.or(table.erase_block).unwrap_or(0);
    fat::infer(&fat::Table { erase_block_bytes, rows: rows.collect() })
}

/// The length of the reads is not known: at least the distance of the places.
fn scattered(table: &Scatter) -> Vec<Finding> {
    let offsets = table.points.windows(2).map(|pair| pair[1].offset_bytes - pair[0].offset_bytes);
    let len = offsets.filter(|apart| *apart > 0).min().unwrap_or(0);
    let point = |point: &super::tables::Point| scatter::Point {
        part: scatter::Part::Beginning,
        offset: point.offset_bytes,
        len,
        n: 1,
        min_ns: point.ns as u64,
        median_ns: point.ns as u64,
        mean_ns: point.ns,
        band: None,
        zone: None,
    };
    scatter::infer(&table.points.iter().map(point).collect::<Vec<_>>()).findings
}

fn open(tables: &[Table]) -> Vec<Finding> {
    let of = |table: &Table| match table {
        Table::OpenAu(table) => timed(table),
        _ => None,
    };
    let timed: Vec<open_au::Table> = tables.iter().filter_map(of).collect();
    let orders = [open_au::Order::Linear, open_au::Order::Random];
    let asked = orders.into_iter().filter(|order| timed.iter().any(|t| t.order == *order));
    asked.map(|order| open_au::infer_order(&timed, order)).collect()
}

/// A table of rates as one of times. A table without an order is taken as flashbench's default, linear.
fn timed(table: &OpenAuTable) -> Option<open_au::Table> {
    let rows = table.rows.iter().filter(|row| row.rate.bytes_per_s > 0.0).map(|row| {
        let ns_per_io = row.len_bytes as f64 * 1e9 / row.rate.bytes_per_s;
        // Rounding is uniform: its standard deviation is the step over the root of 12.
        let error = row.rate.step_bytes_per_s / row.rate.bytes_per_s / 12f64.sqrt();
        open_au::Row { len_bytes: row.len_bytes, ns_per_io, error_ns: Some(ns_per_io * error) }
    });
    let order = match table.random {
        Some(true) => open_au::Order::Random,
        _ => open_au::Order::Linear,
    };
    Some(open_au::Table { nr: table.nr?, order, rows: rows.collect() })
}

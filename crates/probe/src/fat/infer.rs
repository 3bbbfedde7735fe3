//! Inference from flashbench's find-fat tables.
//!
//! Each column is an erase block from the beginning on, each line a size of writes. A zone for file allocation tables
//! takes small writes better than what follows: its columns are faster, the more so the smaller the writes. A first
//! column that is slower is not such a zone; it has been seen where the first blocks hold what is written often.

use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Name};

/// A column is faster from this ratio of times on, in the middle of its small writes...
const FASTER: f64 = 1.3;
/// ...and from this one in nearly each line.
const EACH: f64 = 1.12;
/// Zones are known up to this length, in bytes: what is alike all over less may lie in one.
const ZONE_MAX: u64 = 128 << 20;
/// Columns within this ratio are alike.
const ALIKE: f64 = 1.12;

/// One line: writes of one size to each erase block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Size of a write, in bytes.
    pub len_bytes: u64,
    /// Time of one write in each erase block, from the beginning on, in nanoseconds. A published rate gives it as
    /// size / rate.
    pub ns_per_io: Vec<f64>,
}

/// Writes to the first erase blocks, one after the other, by size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Size of an erase block, in bytes: the distance of columns. Zero if it is not known: then no value is found.
    pub erase_block_bytes: u64,
    /// The lines, in any order.
    pub rows: Vec<Row>,
}

/// Looks for columns at the beginning that are faster. Pure, and for any source.
///
/// *Found* needs at least two columns behind the zone that are alike, *none* that all columns are alike.
pub fn infer(table: &Table) -> Finding {
    let unknown = |reason: String| Finding::unknown(Name::FatZone, reason);
    let mut rows: Vec<&Row> = table.rows.iter().filter(|row| row.len_bytes > 0).collect();
    rows.sort_by_key(|row| row.len_bytes);
    let columns = rows.iter().map(|row| row.ns_per_io.len()).max().unwrap_or(0);
    let sane = |row: &&&Row| row.ns_per_io.iter().all(|ns| ns.is_finite() && *ns > 0.0);
    let whole: Vec<&&Row> =
        rows.iter().filter(|row| row.ns_per_io.len() == columns).filter(sane).collect();
    if columns < 3 || whole.len() < 3 {
        return unknown("the table has too few columns or lines".to_owned());
    }
    // The largest writes fill erase blocks and are alike everywhere, or wild: they say nothing.
    let small = &whole[..(whole.len() * 2).div_ceil(3).max(3)];
    let speeds: Vec<Speed> = (0..columns).map(|column| Speed::of(small, column)).collect();
    let zone = speeds.iter().take_while(|speed| speed.faster()).count();
    let behind = &speeds[zone..];
    if zone > 0 {
        return found(table, zone, &speeds);
    }
    let seen = columns as u64 * table.erase_block_bytes;
    if behind.iter().all(Speed::alike) && seen <= ZONE_MAX {
        return unknown(format!(
            "{columns} erase blocks from the beginning on are written alike, which a zone that is longer does not exclude"
        ));
    }
    if behind.iter().all(Speed::alike) {
        let reason = format!("{columns} erase blocks from the beginning on are written alike");
        return Finding::none(Name::FatZone, 0.85, reason);
    }
    unknown(
        "the first erase blocks are not written faster, and not all are written alike".to_owned(),
    )
}

/// A zone of `zone` columns, when what follows is plain.
fn found(table: &Table, zone: usize, speeds: &[Speed]) -> Finding {
    let (unit, behind) = (table.erase_block_bytes, &speeds[zone..]);
    if behind.len() < 2 || !behind.iter().all(Speed::alike) || unit == 0 {
        let reason =
            format!("{zone} erase blocks are written faster, and what follows is not plain");
        return Finding::unknown(Name::FatZone, reason);
    }
    let speeds = &speeds[..zone];
    if speeds.iter().any(|speed| speed.middle > ALIKE * speeds[zone - 1].middle) {
        let reason = format!("the zone ends inside erase block {}, counted from 0", zone - 1);
        return Finding::unknown(Name::FatZone, reason);
    }
    let reason = format!(
        "small writes to the first {zone} erase blocks are faster than to the {} behind them",
        behind.len()
    );
    let bytes = zone as u64 * unit;
    // With a single column it is not known whether the zone fills it.
    let confidence = if zone > 1 { 0.9 } else { 0.8 };
    Finding::found(Name::FatZone, bytes, confidence, reason).between(bytes - unit + 1, bytes)
}

/// How much faster a column is than what lies at the end of the table.
struct Speed {
    /// In the middle of its lines.
    middle: f64,
    /// In all lines but the least tenth.
    least: f64,
}

impl Speed {
    fn of(rows: &[&&Row], column: usize) -> Speed {
        let ratio = |row: &&&Row| {
            let end = &row.ns_per_io[row.ns_per_io.len() / 2..];
            stats::quantile(end, 0.5).unwrap_or(f64::NAN) / row.ns_per_io[column]
        };
        let ratios: Vec<f64> = rows.iter().map(ratio).collect();
        let at = |p| stats::quantile(&ratios, p).unwrap_or(1.0);
        Speed { middle: at(0.5), least: at(0.1) }
    }

    fn faster(&self) -> bool {
        self.middle >= FASTER && self.least >= EACH
    }

    fn alike(&self) -> bool {
        (1.0 / ALIKE..=ALIKE).contains(&self.middle)
    }
}

//! Results of the tests, row by row, and the tables that the rows make up.

use super::super::tables::{
    AlignRow, AlignTable, DiffFrom, FindFatRow, FindFatTable, OpenAuRow, OpenAuTable, Point, Rate,
    Resolution, Scatter, Source, Table,
};
use super::options::{Options, Test};

/// Least size of reads that show the rate: below, access time is nearly all.
const LINE_FROM: u64 = 4096;

/// A row. Lengths and offsets in bytes, times in whole nanoseconds, rates in whole bytes per second.
#[derive(Clone, Debug, PartialEq)]
pub enum Row {
    /// `-s`: the least time of reads at a place. Given when the test is over, by ascending offset.
    Scatter {
        /// Offset of the place.
        offset: u64,
        /// Least time.
        ns: u64,
    },
    /// `-f`: rates of writing each of the first erase blocks in pieces.
    FindFat {
        /// Length of a piece.
        len: u64,
        /// One for each erase block.
        bytes_per_s: Vec<u64>,
    },
    /// `-a`: mean over the places of the least time at each.
    Align {
        /// Boundaries are multiples of this, and but for the first row not of twice this.
        align: u64,
        /// Reads that end at the boundary.
        pre_ns: u64,
        /// Reads that lie across it.
        on_ns: u64,
        /// Reads that begin at it.
        post_ns: u64,
        /// Places: 7, or fewer where others lie beyond the end of the device.
        places: u32,
    },
    /// `-O`: rate of writing erase blocks in turns, in pieces.
    OpenAu {
        /// Length of a piece.
        len: u64,
        /// The rate.
        bytes_per_s: u64,
    },
    /// `-i`: times of reads of one size.
    Interval {
        /// The size.
        len: u64,
        /// Least time.
        min_ns: u64,
        /// Mean time.
        mean_ns: u64,
        /// Greatest time.
        max_ns: u64,
    },
    /// `-i`: the line through the least times of sizes from 4 KiB on (least squares).
    Line {
        /// Rate beyond the access time.
        bytes_per_s: f64,
        /// Time of a read of nothing.
        access_ns: f64,
    },
    /// `-i`: how far a size lies above that line.
    Overhead {
        /// The size.
        len: u64,
        /// Its least time.
        min_ns: u64,
        /// Beyond the line; negative below it.
        overhead_ns: f64,
    },
    /// `-p`: rates of one erase block in pieces, in eight ways: in order zeroes, ones, 0x5a and reads; then the same
    /// out of order.
    Program {
        /// Length of a piece.
        len: u64,
        /// The rates.
        bytes_per_s: [u64; 8],
    },
}

/// Mean in whole nanoseconds, rounded down as flashbench does; 0 of nothing.
pub(super) fn mean(times: &[u64]) -> u64 {
    let sum: u64 = times.iter().fold(0, |sum, time| sum.saturating_add(*time));
    sum.checked_div(times.len() as u64).unwrap_or(0)
}

/// Bytes per second of `len` bytes in a time; that of 1 ns where the clock saw none.
pub(super) fn rate(len: u64, ns: u64) -> u64 {
    let rate = u128::from(len) * 1_000_000_000 / u128::from(ns.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

/// Rows on their way to the caller, and those of the current test.
pub(super) struct Rows<'r> {
    each: &'r mut dyn FnMut(&Row),
    kept: Vec<Row>,
}

impl<'r> Rows<'r> {
    pub(super) fn new(each: &'r mut dyn FnMut(&Row)) -> Rows<'r> {
        Rows { each, kept: Vec::new() }
    }

    /// Hands one on.
    pub(super) fn give(&mut self, row: Row) {
        (self.each)(&row);
        self.kept.push(row);
    }

    /// The line through the least times by size, and what lies above it. Nothing where there are too few sizes.
    pub(super) fn line(&mut self, least: &[(u64, u64)]) {
        let fitted: Vec<(f64, f64)> = least
            .iter()
            .filter(|(len, _)| *len >= LINE_FROM)
            .map(|(len, ns)| (*len as f64, *ns as f64))
            .collect();
        let Some((slope, access_ns)) = least_squares(&fitted) else { return };
        self.give(Row::Line { bytes_per_s: 1e9 / slope, access_ns });
        for &(len, min_ns) in least {
            let overhead_ns = min_ns as f64 - access_ns - len as f64 * slope;
            self.give(Row::Overhead { len, min_ns, overhead_ns });
        }
    }

    /// The table of the test that is over; `None` for those of which none is kept.
    pub(super) fn table(&mut self, test: Test, options: &Options) -> Option<Table> {
        let rows = std::mem::take(&mut self.kept);
        let rate = |rate: u64| Rate { bytes_per_s: rate as f64, step_bytes_per_s: 1.0 };
        match test {
            Test::Align => {
                let rows = rows.iter().filter_map(align).collect();
                Some(Table::Align(AlignTable { rows, cut: None }))
            }
            Test::OpenAu => {
                let row = |row: &Row| match row {
                    Row::OpenAu { len, bytes_per_s } => {
                        Some(OpenAuRow { len_bytes: *len, rate: rate(*bytes_per_s) })
                    }
                    _ => None,
                };
                Some(Table::OpenAu(OpenAuTable {
                    nr: u32::try_from(options.open_au_nr).ok(),
                    nr_from: Some(Source::Command),
                    random: Some(options.random),
                    random_from: Some(Source::Command),
                    erase_block: Some(options.erasesize),
                    rows: rows.iter().filter_map(row).collect(),
                    ..OpenAuTable::default()
                }))
            }
            Test::FindFat => {
                let row = |row: &Row| match row {
                    Row::FindFat { len, bytes_per_s } => Some(FindFatRow {
                        len_bytes: *len,
                        rates: bytes_per_s.iter().map(|bytes| rate(*bytes)).collect(),
                    }),
                    _ => None,
                };
                Some(Table::FindFat(FindFatTable {
                    erase_block: Some(options.erasesize),
                    random: Some(options.random),
                    rows: rows.iter().filter_map(row).collect(),
                    cut: None,
                }))
            }
            Test::Scatter => {
                let point = |row: &Row| match row {
                    Row::Scatter { offset, ns } => {
                        Some(Point { offset_bytes: *offset, ns: *ns as f64 })
                    }
                    _ => None,
                };
                let points = rows.iter().filter_map(point).collect();
                Some(Table::Scatter(Scatter { points, cut: None }))
            }
            Test::Interval | Test::Program => None,
        }
    }
}

fn align(row: &Row) -> Option<AlignRow> {
    let &Row::Align { align, pre_ns, on_ns, post_ns, .. } = row else { return None };
    let [pre, on, post] = [pre_ns, on_ns, post_ns].map(|ns| ns as f64);
    Some(AlignRow {
        align_bytes: align,
        pre_ns: pre,
        on_ns: on,
        post_ns: post,
        diff_ns: Some(on - (pre + post) / 2.0),
        diff_from: DiffFrom::Printed,
        resolution: Resolution { pre_ns: 1.0, on_ns: 1.0, post_ns: 1.0, diff_ns: 1.0 },
    })
}

/// Slope and intercept of the line with the least squares, in f64: flashbench's are in single precision, whose sums
/// of squares lose the small sizes. `None` for fewer than two different abscissas, and for a line that falls.
fn least_squares(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let covariance: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let variance: f64 = points.iter().map(|p| (p.0 - x) * (p.0 - x)).sum();
    let slope = covariance / variance;
    (slope.is_finite() && slope > 0.0).then_some((slope, y - slope * x))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a rate overflows, or a clock that saw nothing ends the program, as it did flashbench.
    #[test]
    fn rates_and_means_are_whole_numbers() {
        assert_eq!(rate(4 << 20, 477_000_000), 8_793_090);
        assert_eq!(rate(4 << 20, 0), (4 << 20) * 1_000_000_000);
        assert_eq!((mean(&[1, 2, 4]), mean(&[])), (2, 0));
    }

    // Breaks when the access time is taken for a part of the rate.
    #[test]
    fn a_line_is_rate_and_access_time() {
        let mut given = Vec::new();
        let mut each = |row: &Row| given.push(row.clone());
        let mut rows = Rows::new(&mut each);
        let times: Vec<(u64, u64)> =
            (9..=16).map(|order| (1 << order, 500_000 + 50 * (1 << order))).collect();
        rows.line(&times);
        rows.line(&times[..4]);
        let Row::Line { bytes_per_s, access_ns } = given[0] else { panic!("{given:?}") };
        assert!((bytes_per_s / 2e7 - 1.0).abs() < 1e-9 && (access_ns - 5e5).abs() < 1e-3);
        assert_eq!(given.len(), 9, "one size above 4 KiB makes no line");
    }
}

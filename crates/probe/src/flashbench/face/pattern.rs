//! Access patterns of flashbench's tests, as places: pure functions of the options and of the size of the device.

use std::ops::Range;

use block::Bytes;

use super::lengths::lengths;
use super::options::{Options, Test, Writes};
use super::order;

/// Places of a row of `-a`.
pub(super) const PLACES: u64 = 7;
/// Distance of the erase blocks of `-O`, in erase blocks (since June 2012; 4 before, and 2 in early 2011).
const APART: u64 = 12;
/// Byte range of `-p`.
pub(super) const PROGRAM: Range<u64> = 16 << 20..20 << 20;
/// Distance of the reads of `-i`, in sizes of a read.
const INTERVAL_APART: u64 = 9;

/// A place: offset and length, in bytes.
pub(super) type Place = (u64, u64);

/// The three kinds of reads of a row of `-a`, in the order in which they are made: first offset of each, from the
/// boundary backwards.
pub(super) fn around(blocksize: u64) -> [u64; 3] {
    [blocksize, blocksize / 2, 0]
}

/// Up to `count` other boundaries of the class of `align`, odd multiples of it, spread evenly over `size` bytes.
pub(super) fn elsewhere(align: u64, size: u64, count: u64) -> impl Iterator<Item = u64> {
    let odd = (size / align).div_ceil(2);
    (0..count).map(move |at| (2 * (odd * (2 * at + 1) / (2 * count)) + 1) * align)
}

/// Alignments of `-a`, from the largest down: the largest is the least power of two times two blocks that is not
/// below a seventh of `size`. The smallest is two blocks.
pub(super) fn alignments(blocksize: u64, size: u64) -> Vec<u64> {
    let smallest = 2 * blocksize;
    let largest = std::iter::successors(Some(smallest), |align| align.checked_mul(2))
        .find(|align| *align >= size / PLACES)
        .unwrap_or(smallest);
    std::iter::successors(Some(largest), |align| Some(align / 2))
        .take_while(|align| *align >= smallest)
        .collect()
}

/// Offsets of the erase blocks of `-O`, in the order in which they take turns.
pub(super) fn open_aus(options: &Options) -> Option<Vec<u64>> {
    let at = |au: u64| options.first_au() + au * APART * options.erasesize;
    Some(order::shuffled(options.open_au_nr)?.into_iter().map(at).collect())
}

/// Writes of a row of `-O`, in order: at each place of an erase block, all erase blocks in turn.
pub(super) fn open_au(options: &Options, len: u64) -> Option<Vec<Place>> {
    let aus = open_aus(options)?;
    let places = order::places(options.erasesize / len, options.random)?;
    let turn = |place: u64| aus.iter().map(move |au| (au + place * len, len));
    Some(places.into_iter().flat_map(turn).collect())
}

/// Writes of one erase block of a row of `-f`, in order.
pub(super) fn find_fat(options: &Options, au: u64, len: u64) -> Option<Vec<Place>> {
    let places = order::places(options.erasesize / len, options.random)?;
    Some(places.into_iter().map(|place| (au * options.erasesize + place * len, len)).collect())
}

/// Reads of `-s`, in order; the number of a place times the block is its offset.
pub(super) fn scatter(options: &Options) -> Option<Vec<Place>> {
    let len = options.scatter_span * options.blocksize;
    let places = order::scattered(options.scatter_order)?;
    Some(places.map(|place| (place * options.blocksize, len)).collect())
}

/// Sizes of `-i`.
pub(super) fn sizes(options: &Options) -> impl Iterator<Item = u64> + use<> {
    (0..options.interval_order).map(|order| 512 << order)
}

/// Reads of one size of `-i`.
pub(super) fn interval(options: &Options, size: u64) -> Vec<Place> {
    (0..u64::from(options.count)).map(|at| (at * size * INTERVAL_APART, size)).collect()
}

/// Sizes of the rows of `-p`, from the largest down.
pub(super) fn program_lengths() -> impl Iterator<Item = u64> {
    (9..=21).rev().map(|order| 1 << order)
}

/// Accesses of one column of `-p`, in order.
pub(super) fn program(len: u64, random: bool) -> Option<Vec<Place>> {
    let places = order::places((PROGRAM.end - PROGRAM.start) / len, random)?;
    Some(places.into_iter().map(|place| (PROGRAM.start + place * len, len)).collect())
}

impl Options {
    /// Extent of the writes; `None` when all requested tests only read.
    pub fn writes(&self) -> Option<Writes> {
        let tests: Vec<Test> = self.tests().into_iter().filter(|test| test.writes()).collect();
        let each = tests.iter().map(|test| writes(*test, self));
        let (bytes, span) = each.reduce(|(bytes, span), (more, other)| {
            let span = span.start.min(other.start)..span.end.max(other.end);
            (bytes.saturating_add(more), span)
        })?;
        Some(Writes { tests, bytes: Bytes(bytes), span })
    }
}

/// Bytes that a test writes, and the span that they lie in; zero and empty for a test that only reads.
pub(super) fn writes(test: Test, options: &Options) -> (u64, Range<u64>) {
    let rows = lengths(options.erasesize, options.blocksize).len() as u64;
    let erasesize = options.erasesize;
    match test {
        Test::OpenAu => {
            let first = options.first_au();
            let last = (options.open_au_nr - 1).saturating_mul(APART * erasesize);
            let end = first.saturating_add(last).saturating_add(erasesize);
            (rows.saturating_mul(options.open_au_nr).saturating_mul(erasesize), first..end)
        }
        Test::FindFat => {
            let span = options.fat_nr.saturating_mul(erasesize);
            (rows.saturating_mul(span), 0..span)
        }
        // Of the eight columns, six write.
        Test::Program => {
            let rows = program_lengths().count() as u64;
            (6 * rows * (PROGRAM.end - PROGRAM.start), PROGRAM)
        }
        Test::Scatter | Test::Align | Test::Interval => (0, 0..0),
    }
}

/// End of the range of a test that cannot leave places out.
pub(super) fn end(test: Test, options: &Options) -> u64 {
    match test {
        Test::Scatter => {
            let places = (1_u64 << options.scatter_order) - 1 + options.scatter_span;
            places.saturating_mul(options.blocksize)
        }
        Test::Interval => {
            let last = u64::from(options.count - 1) * INTERVAL_APART + 1;
            sizes(options).last().unwrap_or(0).saturating_mul(last)
        }
        Test::Align => 2 * options.blocksize,
        Test::OpenAu | Test::FindFat | Test::Program => writes(test, options).1.end,
    }
}

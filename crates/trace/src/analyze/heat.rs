//! Heat maps of reads and writes: address by time.

use serde::{Deserialize, Serialize};

use super::reach::{Touches, reach};
use crate::{Io, Kind};

/// Most rows of a map: ranges of addresses. A row begins as 4 KiB and doubles whenever there would be more.
pub const ROWS: usize = 64;
/// Most columns: ranges of time. A column begins as 1.024 µs and doubles.
pub const COLUMNS: usize = 128;
/// Most maps: one for each of the first address spaces of a trace.
pub const MAPS: usize = 16;
const FIRST_ROW: u32 = 12;
const FIRST_COLUMN: u32 = 10;

/// Transfers in one range of addresses and time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    /// Range of addresses, the lowest 0.
    pub row: u32,
    /// Range of time, the first 0.
    pub column: u32,
    /// Reads that begin here.
    pub reads: u64,
    /// Writes that begin here.
    pub writes: u64,
    /// Bytes read here.
    pub bytes_read: u64,
    /// Bytes written here.
    pub bytes_written: u64,
}

/// The map of one address space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatMap {
    /// Number of the space.
    pub space: u32,
    /// Offset of row 0.
    pub from_bytes: u64,
    /// Length of a row.
    pub row_bytes: u64,
    /// How many rows there are, to the last that was touched.
    pub rows: u32,
    /// Spots that are not empty, by row and column.
    pub spots: Vec<Spot>,
}

/// Maps of all address spaces, with one scale of time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeatBody {
    /// Length of a column; the first begins at the first arrival.
    pub column_ns: u64,
    /// How many columns there are, to that of the last arrival.
    pub columns: u32,
    /// In the order in which the spaces appeared.
    pub maps: Vec<HeatMap>,
    /// Reads and writes in spaces beyond these.
    pub unmapped_ios: u64,
}

/// Draws maps. Memory: 256 KiB for each, at most 4 MiB.
#[derive(Clone, Debug)]
pub struct Heat {
    /// log2 of a column.
    shift: u32,
    columns: usize,
    maps: Vec<Map>,
    unmapped: u64,
    last: u64,
}

#[derive(Clone, Debug)]
struct Map {
    space: u32,
    /// log2 of a row.
    shift: u32,
    /// Number of row 0 among all of this length from address 0 on.
    base: u64,
    /// Lowest and highest byte touched.
    lowest: u64,
    highest: u64,
    /// Row by row.
    cells: Vec<Touches>,
}

impl Default for Heat {
    fn default() -> Self {
        Heat::new()
    }
}

impl Heat {
    /// Nothing seen.
    pub fn new() -> Heat {
        Heat { shift: FIRST_COLUMN, columns: 0, maps: Vec::new(), unmapped: 0, last: 0 }
    }

    /// Notes a transfer.
    #[inline]
    pub fn see(&mut self, io: &Io) {
        let Some((first, last)) = reach(io) else { return };
        let known = self.maps.iter().position(|map| map.space == io.space);
        if known.is_none() && self.maps.len() == MAPS {
            self.unmapped += 1;
            return;
        }
        self.last = self.last.max(io.arrival.0);
        while self.last >> self.shift >= COLUMNS as u64 {
            self.maps.iter_mut().for_each(Map::coarsen);
            self.shift += 1;
        }
        let column = (self.last >> self.shift) as usize;
        self.columns = column + 1;
        let index = known.unwrap_or_else(|| {
            self.maps.push(Map::new(io.space, first));
            self.maps.len() - 1
        });
        self.maps[index].add(io.kind, column, first, last);
    }

    /// Returns the result.
    pub fn finish(&self) -> HeatBody {
        HeatBody {
            column_ns: 1 << self.shift,
            columns: self.columns as u32,
            maps: self.maps.iter().map(Map::finish).collect(),
            unmapped_ios: self.unmapped,
        }
    }
}

impl Map {
    fn new(space: u32, at: u64) -> Map {
        Map {
            space,
            shift: FIRST_ROW,
            base: at >> FIRST_ROW,
            lowest: at,
            highest: at,
            cells: vec![Touches::default(); ROWS * COLUMNS],
        }
    }

    #[inline]
    fn add(&mut self, kind: Kind, column: usize, first: u64, last: u64) {
        if first < self.lowest || last > self.highest {
            self.reach(first, last);
        }
        let direction = kind as usize;
        let (top, mut row) = (last >> self.shift, first >> self.shift);
        self.cell(row, column).ios[direction] += 1;
        let mut from = first;
        while row < top {
            let next = (row + 1) << self.shift;
            self.cell(row, column).add_bytes(direction, next - from);
            (from, row) = (next, row + 1);
        }
        self.cell(row, column).add_bytes(direction, last - from + 1);
    }

    #[inline]
    fn cell(&mut self, row: u64, column: usize) -> &mut Touches {
        &mut self.cells[(row - self.base) as usize * COLUMNS + column]
    }

    /// Makes rows for new addresses: moves them while there is room at the other end, and else doubles them.
    fn reach(&mut self, first: u64, last: u64) {
        let down = first < self.lowest;
        self.lowest = self.lowest.min(first);
        self.highest = self.highest.max(last);
        let within = |base: u64, shift: u32| {
            self.lowest >> shift >= base && self.highest >> shift < base + ROWS as u64
        };
        if within(self.base, self.shift) {
            return;
        }
        let mut shift = self.shift;
        while (self.highest >> shift) - (self.lowest >> shift) >= ROWS as u64 {
            shift += 1;
        }
        // Room is left on the side to which addresses grow.
        let base = if down {
            (self.highest >> shift).saturating_sub(ROWS as u64 - 1)
        } else {
            self.lowest >> shift
        };
        let mut cells = vec![Touches::default(); ROWS * COLUMNS];
        for (row, old) in (self.base..).zip(self.cells.chunks(COLUMNS)) {
            let row = row >> (shift - self.shift);
            // Rows that were never touched may lie beyond.
            if row >= base && row < base + ROWS as u64 {
                let from = (row - base) as usize * COLUMNS;
                cells[from..from + COLUMNS]
                    .iter_mut()
                    .zip(old)
                    .for_each(|(new, old)| new.merge(old));
            }
        }
        (self.cells, self.base, self.shift) = (cells, base, shift);
    }

    /// Joins columns two by two.
    fn coarsen(&mut self) {
        for row in self.cells.chunks_mut(COLUMNS) {
            for column in 0..COLUMNS / 2 {
                let mut sum = row[2 * column];
                sum.merge(&row[2 * column + 1]);
                row[column] = sum;
            }
            row[COLUMNS / 2..].fill(Touches::default());
        }
    }

    fn finish(&self) -> HeatMap {
        let first = (self.lowest >> self.shift) - self.base;
        let last = (self.highest >> self.shift) - self.base;
        let spot = |(index, cell): (usize, &Touches)| Spot {
            row: (index / COLUMNS) as u32 - first as u32,
            column: (index % COLUMNS) as u32,
            reads: cell.ios[0],
            writes: cell.ios[1],
            bytes_read: cell.bytes[0],
            bytes_written: cell.bytes[1],
        };
        let filled = self.cells.iter().enumerate().filter(|(_, cell)| **cell != Touches::default());
        HeatMap {
            space: self.space,
            from_bytes: (self.base + first) << self.shift,
            row_bytes: 1 << self.shift,
            rows: (last - first) as u32 + 1,
            spots: filled.map(spot).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::{Bytes, Nanos};
    use proptest::prelude::*;

    fn seen(ios: &[Io]) -> HeatBody {
        let mut lens = Heat::new();
        ios.iter().for_each(|io| lens.see(io));
        lens.finish()
    }

    fn io(at: u64, kind: Kind, offset: u64, length: u64) -> Io {
        Io::arriving(Nanos(at), kind, Bytes(offset), Bytes(length))
    }

    proptest! {
        /// Against the same matrix, made with the final scales known. If it failed, growing the scales would move
        /// what was there, or lose it.
        #[test]
        fn maps_are_as_if_their_scales_had_been_known(
            steps in prop::collection::vec(
                (0..30_000_000u64, prop::bool::ANY, 0..1u64 << 34, 0..34u32, 1..3_000_000u64), 1..200)
        ) {
            let mut at = 0;
            let ios: Vec<Io> = steps
                .iter()
                .map(|&(gap, read, offset, less, length)| {
                    at += gap;
                    let kind = if read { Kind::Read } else { Kind::Write };
                    io(at, kind, (1 << 39) + (1 << 33) - (offset >> less), length)
                })
                .collect();
            let body = seen(&ios);
            let map = &body.maps[0];
            prop_assert!(map.rows as usize <= ROWS && body.columns as usize <= COLUMNS);
            prop_assert_eq!(u64::from(body.columns), at / body.column_ns + 1);
            let mut expected = vec![[0u64; 4]; map.rows as usize * COLUMNS];
            for io in &ios {
                let column = (io.arrival.0 / body.column_ns) as usize;
                let direction = io.kind as usize;
                for row in 0..u64::from(map.rows) {
                    let from = map.from_bytes + row * map.row_bytes;
                    let to = from + map.row_bytes;
                    let spot = &mut expected[row as usize * COLUMNS + column];
                    spot[direction] += u64::from((from..to).contains(&io.offset.0));
                    spot[2 + direction] += io.end().0.min(to).saturating_sub(io.offset.0.max(from));
                }
            }
            let mut told = vec![[0u64; 4]; map.rows as usize * COLUMNS];
            for spot in &map.spots {
                told[spot.row as usize * COLUMNS + spot.column as usize] =
                    [spot.reads, spot.writes, spot.bytes_read, spot.bytes_written];
            }
            prop_assert_eq!(told, expected);
            // As fine as it can be: with half the rows' length there would be too many.
            prop_assert!(map.row_bytes == 4096 || map.rows as usize > ROWS / 2);
        }
    }

    /// If it failed, one broken line would take all memory, or end the program.
    #[test]
    fn any_address_has_a_row() {
        let ends = [0, u64::MAX, 1, u64::MAX - 4096, 1 << 63];
        let ios: Vec<Io> =
            ends.iter().map(|end| io(u64::MAX - 5, Kind::Read, *end, u64::MAX)).collect();
        let body = seen(&ios);
        assert_eq!(body.maps[0].spots.iter().map(|spot| spot.reads).sum::<u64>(), 5);
        assert_eq!(body.maps[0].row_bytes, 1 << 58);
    }

    #[test]
    fn spaces_have_maps_of_their_own_and_a_crowd_is_counted() {
        let crowd = (0..20u32).map(|space| Io { space, ..io(0, Kind::Write, 0, 512) });
        let body = seen(&crowd.collect::<Vec<_>>());
        assert_eq!((body.maps.len(), body.unmapped_ios), (MAPS, 4));
        assert!(body.maps.iter().zip(0..).all(|(map, space)| map.space == space && map.rows == 1));
        assert_eq!(
            seen(&[io(0, Kind::Flush, 0, 0)]),
            HeatBody { column_ns: 1024, ..HeatBody::default() }
        );
    }
}

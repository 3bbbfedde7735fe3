//! Totals of a fio log, in bounded memory however long it is.
//!
//! For a log with a line for each I/O: counts, bytes and a histogram, and amounts in cells of time. When there are too many
//! cells, each pair becomes one of twice the length, so that bins of whole cells stay exact. For a log of windows: the
//! windows; when there are too many, each pair becomes one.

use std::collections::BTreeMap;

use stats::LatencyHistogram;

use super::fio_kind::{DATES_MS, Direction, Kind};

/// Most cells of a log: a series of a thousand bins has 16 of them in each.
const CELLS_MAX: usize = 1 << 14;
/// Most windows of a log: 36 hours of a window a second.
const WINDOWS_MAX: usize = 1 << 17;

/// A line of a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// End of the window, or of the I/O: since the job began, or since 1970.
    pub time_ms: u64,
    /// As [`Kind`] says.
    pub value: f64,
    /// Its direction.
    pub direction: Direction,
    /// Bytes of the I/O; 0 for a window.
    pub block_bytes: u64,
}

/// A window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Its end: since the job began, or since 1970.
    pub time_ms: u64,
    /// Its mean, as [`Kind`] says.
    pub value: f64,
    /// Its direction.
    pub direction: Direction,
    /// Lines of the log that it was made of.
    pub lines: u32,
}

/// I/Os of one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ios {
    /// How many.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// When the first and the second ended.
    first_ms: [Option<u64>; 2],
    /// When the last ended.
    pub last_ms: u64,
    /// Their latencies, of a log of latencies.
    pub latencies: Option<Box<LatencyHistogram>>,
}

impl Ios {
    /// When the first began: with the job, or as long before its end as the second took.
    pub fn begin_ms(&self) -> u64 {
        begin_ms(self.first_ms[0], self.first_ms[1])
    }
}

/// When the first of several lines began, by the times of the first two.
pub(super) fn begin_ms(first: Option<u64>, second: Option<u64>) -> u64 {
    let Some(first) = first.filter(|first| *first >= DATES_MS) else { return 0 };
    first.saturating_sub(second.map_or(0, |second| second.saturating_sub(first)))
}

/// Amounts in a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Bytes of a log of bandwidth, else I/Os; trims are none.
    pub amount: u64,
    /// Bytes written.
    pub written: u64,
}

impl Cell {
    fn add(&mut self, other: Cell) {
        self.amount = self.amount.saturating_add(other.amount);
        self.written = self.written.saturating_add(other.written);
    }
}

/// Amounts over time. A cell has what ended after the one before it and no later than its own end.
#[derive(Clone, Debug, PartialEq)]
pub struct Cells {
    /// Length of a cell: a power of 2.
    pub tick_ms: u64,
    cells: BTreeMap<u64, Cell>,
    /// The cell that was added to last, which is mostly the next one's too.
    last: (u64, Cell),
}

impl Default for Cells {
    fn default() -> Cells {
        Cells { tick_ms: 1, cells: BTreeMap::new(), last: Default::default() }
    }
}

impl Cells {
    fn add(&mut self, time_ms: u64, cell: Cell) {
        if time_ms.div_ceil(self.tick_ms) != self.last.0 {
            self.flush();
            self.last.0 = time_ms.div_ceil(self.tick_ms);
        }
        self.last.1.add(cell);
    }

    fn flush(&mut self) {
        let (at, cell) = std::mem::take(&mut self.last);
        if cell != Cell::default() {
            self.cells.entry(at).or_default().add(cell);
        }
        while self.cells.len() > CELLS_MAX {
            let Some(twice) = self.tick_ms.checked_mul(2) else { return };
            self.tick_ms = twice;
            for (at, cell) in std::mem::take(&mut self.cells) {
                self.cells.entry(at.div_ceil(2)).or_default().add(cell);
            }
        }
    }

    /// The end of each cell that has something, and what it has.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Cell)> + '_ {
        self.cells.iter().map(|(at, cell)| (at.saturating_mul(self.tick_ms), *cell))
    }
}

/// Totals of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    /// Count of its lines.
    pub lines: u64,
    /// Whether a line is an I/O.
    pub per_io: bool,
    /// Windows in the order of the file, of a log of windows.
    pub entries: Vec<Entry>,
    /// I/Os read and written, of a log that has a line for each.
    pub ios: [Ios; 2],
    /// The same over time.
    pub cells: Cells,
    /// The least and the greatest time.
    pub span_ms: Option<(u64, u64)>,
}

impl Sums {
    /// Adds a line of a log of `kind`; false when it cannot be kept: the windows are too many, and their times do not go
    /// forward.
    pub fn add(&mut self, kind: Kind, line: Line) -> bool {
        self.lines += 1;
        let (first, last) = self.span_ms.unwrap_or((line.time_ms, line.time_ms));
        self.span_ms = Some((first.min(line.time_ms), last.max(line.time_ms)));
        let Line { time_ms, value, direction, block_bytes } = line;
        let entry = Entry { time_ms, value, direction, lines: 1 };
        if block_bytes > 0 && !self.per_io {
            self.per_io = true;
            // Windows in a log of I/Os are I/Os without bytes.
            for entry in std::mem::take(&mut self.entries) {
                self.count(kind, entry, 0);
            }
        }
        if self.per_io {
            self.count(kind, entry, block_bytes);
            return true;
        }
        self.entries.push(entry);
        if self.entries.len() > WINDOWS_MAX {
            self.entries = halved(kind, std::mem::take(&mut self.entries));
            return self.entries.len() <= WINDOWS_MAX / 4 * 3;
        }
        true
    }

    fn count(&mut self, kind: Kind, entry: Entry, block_bytes: u64) {
        let at = match entry.direction {
            Direction::Read => 0,
            Direction::Write => 1,
            Direction::Trim => return,
        };
        let count = u64::from(entry.lines);
        let ios = &mut self.ios[at];
        ios.count += count;
        ios.bytes = ios.bytes.saturating_add(block_bytes);
        ios.last_ms = ios.last_ms.max(entry.time_ms);
        if let Some(next) = ios.first_ms.iter_mut().find(|time| time.is_none()) {
            *next = Some(entry.time_ms);
        }
        if matches!(kind, Kind::Latency | Kind::CompletionLatency) {
            ios.latencies.get_or_insert_default().record_n(entry.value as u64, count);
        }
        let amount = if kind == Kind::Bandwidth { block_bytes } else { count };
        let written = if at == 1 { block_bytes } else { 0 };
        self.cells.add(entry.time_ms, Cell { amount, written });
    }

    /// Ends the log.
    pub fn end(&mut self) {
        self.cells.flush();
        self.entries.shrink_to_fit();
    }
}

/// Merges the windows of a direction in pairs, except the first two, from which the start of the first is known. Rates of
/// windows whose times do not increase are not merged: it is not known when they began.
fn halved(kind: Kind, entries: Vec<Entry>) -> Vec<Entry> {
    let is_rate = matches!(kind, Kind::Bandwidth | Kind::Iops);
    let mut left = Vec::with_capacity(entries.len() / 2 + 8);
    // Of each direction: windows so far, the end of the one before, and one that waits for its other half.
    let mut of: [(u64, u64, Option<Entry>); 3] = Default::default();
    for entry in entries {
        let (seen, before, waits) = &mut of[entry.direction as usize];
        *seen += 1;
        match waits.take() {
            None if *seen <= 2 => {
                *before = entry.time_ms;
                left.push(entry);
            }
            None => *waits = Some(entry),
            Some(one) if !is_rate || (*before < one.time_ms && one.time_ms < entry.time_ms) => {
                let weight = |entry: &Entry, from: u64| match is_rate {
                    true => (entry.time_ms - from) as f64,
                    false => f64::from(entry.lines),
                };
                let (first, second) = (weight(&one, *before), weight(&entry, one.time_ms));
                let value = (one.value * first + entry.value * second) / (first + second);
                let lines = one.lines.saturating_add(entry.lines);
                *before = entry.time_ms;
                left.push(Entry { value, lines, ..entry });
            }
            Some(one) => {
                *before = one.time_ms;
                left.push(one);
                *waits = Some(entry);
            }
        }
    }
    left.extend(of.into_iter().filter_map(|(_, _, waits)| waits));
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(time_ms: u64, value: f64, block_bytes: u64) -> Line {
        Line { time_ms, value, direction: Direction::Write, block_bytes }
    }

    // A log of days would need memory for each of its lines, or lose some of what was written.
    #[test]
    fn a_long_log_of_ios_keeps_all_of_them_in_few_cells() {
        let mut sums = Sums::default();
        for at in 1..=200_000_u64 {
            assert!(sums.add(Kind::CompletionLatency, line(at, 100.0, 4096)));
        }
        sums.end();
        assert!(sums.cells.iter().count() <= CELLS_MAX && sums.cells.tick_ms == 16);
        let all = sums.cells.iter().map(|(_, cell)| (cell.amount, cell.written));
        let all = all.fold((0, 0), |sum, cell| (sum.0 + cell.0, sum.1 + cell.1));
        assert_eq!(all, (200_000, 200_000 * 4096));
        // A cell ends where the count of its I/Os says.
        let (end, _) = sums.cells.iter().nth(99).unwrap();
        let before: u64 = sums.cells.iter().take(100).map(|(_, cell)| cell.amount).sum();
        assert_eq!(end, before);
        assert_eq!((sums.ios[1].count, sums.ios[1].bytes), (200_000, 200_000 * 4096));
        assert_eq!(sums.ios[1].latencies.as_ref().unwrap().count(), 200_000);
    }

    // Windows made longer must move the same bytes.
    #[test]
    fn many_windows_become_longer_and_add_up_to_the_same() {
        let mut sums = Sums::default();
        let count = 3 * WINDOWS_MAX as u64;
        let value = |at: u64| (at % 7 * 100) as f64;
        for at in 1..=count {
            assert!(sums.add(Kind::Bandwidth, line(at * 500, value(at), 0)), "{at}");
        }
        sums.end();
        assert!(sums.entries.len() <= WINDOWS_MAX);
        let (mut before, mut moved) = (0, 0.0);
        for entry in &sums.entries {
            assert!(entry.time_ms > before);
            moved += entry.value * (entry.time_ms - before) as f64;
            before = entry.time_ms;
        }
        let expected: f64 = (1..=count).map(|at| value(at) * 500.0).sum();
        assert!((moved / expected - 1.0).abs() < 1e-9, "{moved} {expected}");
        assert_eq!(sums.entries.iter().map(|entry| u64::from(entry.lines)).sum::<u64>(), count);
    }

    #[test]
    fn windows_that_do_not_go_forward_are_no_log_without_end() {
        let mut sums = Sums::default();
        let kept =
            (0..=2 * WINDOWS_MAX as u64).all(|_| sums.add(Kind::Bandwidth, line(500, 1.0, 0)));
        assert!(!kept);
    }
}

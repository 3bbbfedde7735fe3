//! History of writes, in cells of equal bytes.

use super::judgement::Span;

/// Cells of a fill, at least as long as a span.
pub(super) const CELLS_PER_FILL: u64 = 32;

/// A stretch of writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    /// Bytes written before it.
    pub(super) from_bytes: u64,
    /// Bytes written at its end.
    pub(super) to_bytes: u64,
    /// Time in which a value was measured, in nanoseconds.
    pub(super) duration_ns: f64,
    /// Mean of the value over that time.
    pub(super) value: f64,
    /// Of all spans, or not at all.
    pub(super) amplification: Option<f64>,
}

impl Cell {
    fn bytes(&self) -> u64 {
        self.to_bytes - self.from_bytes
    }
}

/// A cell that fills.
#[derive(Clone, Copy, Debug, Default)]
struct Partial {
    bytes: u64,
    duration_ns: f64,
    /// Value times time.
    amount: f64,
    /// Bytes of the medium.
    media_bytes: f64,
    media_known: bool,
}

/// All cells since the beginning, and where the last interruption was.
#[derive(Clone, Debug)]
pub(super) struct History {
    range_bytes: u64,
    written_bytes: u64,
    cells: Vec<Cell>,
    partial: Option<Partial>,
    /// First cell after the last interruption.
    resumed: usize,
    /// Bytes written when something else last held the drive up.
    disturbed_bytes: Option<u64>,
}

impl History {
    pub(super) fn new(range_bytes: u64) -> History {
        History {
            range_bytes,
            written_bytes: 0,
            cells: Vec::new(),
            partial: None,
            resumed: 0,
            disturbed_bytes: None,
        }
    }

    /// Takes a span; true when a cell was closed by it.
    pub(super) fn push(&mut self, span: &Span) -> bool {
        self.written_bytes = self.written_bytes.saturating_add(span.bytes_written);
        if span.idle_ns > 0 || span.disturbed {
            self.partial = None;
            self.resumed = self.cells.len();
        }
        if span.disturbed {
            self.disturbed_bytes = Some(self.written_bytes);
            return false;
        }
        let mut partial =
            self.partial.unwrap_or(Partial { media_known: true, ..Partial::default() });
        partial.bytes += span.bytes_written;
        if span.value.is_finite() && span.value > 0.0 && span.duration_ns > 0 {
            partial.duration_ns += span.duration_ns as f64;
            partial.amount += span.value * span.duration_ns as f64;
        }
        match span.amplification.filter(|waf| waf.is_finite() && *waf >= 0.0) {
            Some(waf) => partial.media_bytes += waf * span.bytes_written as f64,
            None => partial.media_known &= span.bytes_written == 0,
        }
        self.partial = Some(partial);
        let is_long = partial.bytes >= (self.range_bytes / CELLS_PER_FILL).max(1);
        if !is_long || partial.duration_ns == 0.0 {
            return false;
        }
        self.partial = None;
        self.cells.push(self.cell(partial));
        true
    }

    /// Closes the cell at hand, however short it is: nothing comes after it.
    pub(super) fn close(&mut self) {
        let Some(partial) = self.partial.take_if(|partial| partial.duration_ns > 0.0) else {
            return;
        };
        self.cells.push(self.cell(partial));
    }

    fn cell(&self, partial: Partial) -> Cell {
        Cell {
            from_bytes: self.written_bytes.saturating_sub(partial.bytes),
            to_bytes: self.written_bytes,
            duration_ns: partial.duration_ns,
            value: partial.amount / partial.duration_ns,
            amplification: partial.media_known.then(|| partial.media_bytes / partial.bytes as f64),
        }
    }

    /// Since the beginning.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Since the beginning, in fills.
    pub(super) fn fills(&self) -> f64 {
        self.fills_of(self.written_bytes)
    }

    pub(super) fn fills_of(&self, bytes: u64) -> f64 {
        bytes as f64 / self.range_bytes as f64
    }

    /// Bytes written since something else held the drive up, in fills.
    pub(super) fn undisturbed_fills(&self) -> f64 {
        let since = self.written_bytes - self.disturbed_bytes.unwrap_or(0);
        if self.disturbed_bytes.is_some() { self.fills_of(since) } else { f64::INFINITY }
    }

    pub(super) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The last cells that hang together and begin `from_fills` or later.
    pub(super) fn since(&self, from_fills: f64) -> &[Cell] {
        let together = &self.cells[self.resumed..];
        let first =
            together.partition_point(|cell| self.fills_of(cell.from_bytes) < from_fills - 1e-9);
        &together[first..]
    }

    /// Length of the cells, in fills; zero when there are none.
    pub(super) fn cell_fills(&self, cells: &[Cell]) -> f64 {
        let bytes: u64 = cells.iter().map(Cell::bytes).sum();
        self.fills_of(bytes) / cells.len().max(1) as f64
    }
}

/// The same stretch in cells of equal bytes, as long as most are: spans that are longer than a cell, of a rate that changes,
/// make cells of different lengths. Without amplification.
pub(super) fn even(cells: &[Cell]) -> Vec<Cell> {
    let mut lengths: Vec<u64> = cells.iter().map(Cell::bytes).collect();
    lengths.sort_unstable();
    let (Some(first), Some(last)) = (cells.first(), cells.last()) else { return Vec::new() };
    let length = lengths[(lengths.len() * 3 / 4).min(lengths.len() - 1)].max(1);
    let count = (last.to_bytes - first.from_bytes) / length;
    if lengths.first() == lengths.last() || count == 0 {
        return cells.to_vec();
    }
    let mut even = Vec::with_capacity(cells.len());
    // Bytes that do not fill a cell are dropped at the beginning: the end counts.
    let mut from_bytes = last.to_bytes - count * length;
    let mut at = 0;
    while from_bytes < last.to_bytes {
        let to_bytes = from_bytes + length;
        let (mut duration_ns, mut work) = (0.0, 0.0);
        while let Some(cell) = cells.get(at) {
            let inside =
                cell.to_bytes.min(to_bytes).saturating_sub(cell.from_bytes.max(from_bytes));
            let share = inside as f64 / cell.bytes().max(1) as f64;
            duration_ns += share * cell.duration_ns;
            work += inside as f64 / cell.value;
            if cell.to_bytes > to_bytes {
                break;
            }
            at += 1;
        }
        let value = length as f64 / work;
        even.push(Cell { from_bytes, to_bytes, duration_ns, value, amplification: None });
        from_bytes = to_bytes;
    }
    even
}

/// Time for each unit of what is counted: what adds up over bytes, where rates do not.
pub(super) fn costs(cells: &[Cell]) -> Vec<f64> {
    cells.iter().map(|cell| 1.0 / cell.value).collect()
}

/// Bytes of the medium for each of the host's; `None` unless all cells have it.
pub(super) fn amplifications(cells: &[Cell]) -> Option<Vec<f64>> {
    cells.iter().map(|cell| cell.amplification).collect()
}

/// Mean rate over time.
pub(super) fn mean_rate(cells: &[Cell]) -> f64 {
    let amount: f64 = cells.iter().map(|cell| cell.value * cell.duration_ns).sum();
    amount / cells.iter().map(|cell| cell.duration_ns).sum::<f64>()
}

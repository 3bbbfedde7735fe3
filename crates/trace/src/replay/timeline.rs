//! Load over time, in slices that grow with the time they have to hold.

use block::{Bytes, Nanos};

use crate::series::{Join, Series};

/// Most slices. A quarter of a thousand is about what a chart can show, and what it says of each still has hundreds of
/// I/Os behind it in a trace that is worth replaying.
pub(super) const SLICES: usize = 256;

/// I/Os issued and outstanding, by slices of time. When time runs beyond the last slice, neighbours are joined and
/// slices become twice as wide, so that the memory is bounded whatever the time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Timeline {
    slices: Series<Held>,
    end: u64,
}

/// Content of a slice. I/Os come with their ends and in no order, and many may be outstanding over all slices: those
/// that fill whole slices are recorded only in the first of these and in the one after the last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Held {
    ios: u64,
    bytes: u64,
    /// Nanoseconds outstanding in the slice, summed over I/Os that do not fill it.
    partly: u64,
    /// How many more I/Os fill this slice than fill the one before it.
    more: i64,
}

impl Join for Held {
    fn join(&mut self, behind: Held) {
        self.ios += behind.ios;
        self.bytes = self.bytes.saturating_add(behind.bytes);
        self.partly = self.partly.saturating_add(behind.partly);
    }

    /// All goes to `partly`: what fills a slice may not fill the one that it becomes part of.
    fn settle(cells: &mut [Held], step: u64) {
        let filled = filled(cells);
        for (cell, filled) in cells.iter_mut().zip(filled) {
            cell.partly = cell.partly.saturating_add(filled.saturating_mul(step));
            cell.more = 0;
        }
    }
}

/// How many I/Os fill each slice.
fn filled(cells: &[Held]) -> Vec<u64> {
    let running = cells.iter().scan(0_i64, |sum, cell| {
        *sum += cell.more;
        Some((*sum).max(0) as u64)
    });
    running.collect()
}

/// One slice.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Slice {
    /// I/Os issued in it.
    pub ios: u64,
    /// Bytes of those.
    pub bytes: Bytes,
    /// Mean outstanding.
    pub depth: f64,
}

impl Timeline {
    /// For about `span`; it holds more by wider slices. Timelines of the same span can be laid over each other.
    pub(super) fn of_span(span: Nanos) -> Timeline {
        // Rounded up, so that the span's own end does not double the width at once.
        let width = (span.0 / (SLICES as u64 * 3 / 4)).max(1000);
        Timeline { slices: Series::new(0, width, SLICES), end: 0 }
    }

    /// An I/O of `bytes` was issued at `issued` and was outstanding until `done`, where that is known.
    pub(super) fn add(&mut self, issued: Nanos, done: Option<Nanos>, bytes: Bytes) {
        let (issued, last) = (issued.0, done.unwrap_or(issued).0.max(issued.0));
        self.end = self.end.max(last);
        // First, so that slices are not joined on the way.
        self.slices.cell(last);
        let width = self.slices.step();
        let (first, until) = (self.slices.index(issued), self.slices.index(last));
        let cells = self.slices.cells_mut();
        cells[first].ios += 1;
        cells[first].bytes = cells[first].bytes.saturating_add(bytes.0);
        if first == until {
            cells[first].partly += last - issued;
            return;
        }
        cells[first].partly += (first as u64 + 1) * width - issued;
        cells[until].partly += last - until as u64 * width;
        cells[first + 1].more += 1;
        cells[until].more -= 1;
    }

    /// Slices of at least `width`, up to the last instant seen, and how wide they are.
    pub(super) fn slices(&self, width: Nanos) -> (Nanos, Vec<Slice>) {
        let mut wide = self.slices.clone();
        wide.widen(width.0);
        let width = wide.step();
        let slice = |(cell, filled): (&Held, u64)| Slice {
            ios: cell.ios,
            bytes: Bytes(cell.bytes),
            depth: cell.partly as f64 / width as f64 + filled as f64,
        };
        let mut slices: Vec<Slice> =
            wide.cells().iter().zip(filled(wide.cells())).map(slice).collect();
        // The beginning is there even if nothing came.
        slices.resize(slices.len().max(1), Slice::default());
        (Nanos(width), slices)
    }

    /// The last instant seen.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// How wide slices are.
    pub(super) fn width(&self) -> Nanos {
        Nanos(self.slices.step())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outstanding_is_the_same_however_wide_slices_become() {
        // The integral of depth over time is the sum of Q2C, and no slice may lose any of it.
        let mut timeline = Timeline::of_span(Nanos::micros(300));
        let mut sum = 0;
        for i in 0..2000_u64 {
            let (issued, lasts) = (i * 977, 1 + (i * i) % 90_000);
            timeline.add(Nanos(issued), Some(Nanos(issued + lasts)), Bytes(512));
            sum += lasts;
        }
        let (width, slices) = timeline.slices(Nanos::ZERO);
        let integral: f64 = slices.iter().map(|s| s.depth * width.0 as f64).sum();
        assert!((integral / sum as f64 - 1.0).abs() < 1e-12, "{integral} and {sum}");
        assert_eq!(slices.iter().map(|s| s.ios).sum::<u64>(), 2000);
        assert_eq!(slices.iter().map(|s| s.bytes.0).sum::<u64>(), 2000 * 512);
        let (wider, coarse) = timeline.slices(Nanos(width.0 * 3));
        let again: f64 = coarse.iter().map(|s| s.depth * wider.0 as f64).sum();
        assert!(wider == Nanos(width.0 * 4) && (again / integral - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_io_that_fills_slices_counts_one_in_each() {
        let mut timeline = Timeline::of_span(Nanos(SLICES as u64 * 3 / 4 * 1000));
        let width = timeline.width().0;
        timeline.add(Nanos(width / 2), Some(Nanos(width * 4)), Bytes(512));
        let (_, slices) = timeline.slices(Nanos::ZERO);
        let depths: Vec<f64> = slices.iter().map(|s| s.depth).collect();
        assert_eq!(depths, [0.5, 1.0, 1.0, 1.0, 0.0]);
    }
}

//! Load over time, in slices that grow with the time they have to hold.

use block::{Bytes, Nanos};

/// Most slices. A quarter of a thousand is about what a chart can show, and what it says of each still has hundreds of
/// I/Os behind it in a trace that is worth replaying.
pub(super) const SLICES: usize = 256;

/// What was issued and what was outstanding, by slices of time. When time runs beyond the last slice, neighbours are
/// joined and slices become twice as wide, so that the memory is bounded whatever the time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Timeline {
    width: u64,
    ios: Vec<u64>,
    bytes: Vec<u64>,
    /// Nanoseconds outstanding in the slice, summed over I/Os that do not fill it.
    partly: Vec<u64>,
    /// How many more I/Os fill this slice than fill the one before it.
    steps: Vec<i64>,
    end: u64,
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
        Timeline {
            width,
            ios: vec![0; SLICES],
            bytes: vec![0; SLICES],
            partly: vec![0; SLICES],
            steps: vec![0; SLICES],
            end: 0,
        }
    }

    /// An I/O of `bytes` was issued at `issued` and was outstanding until `done`, where that is known.
    pub(super) fn add(&mut self, issued: Nanos, done: Option<Nanos>, bytes: Bytes) {
        let last = done.unwrap_or(issued).0.max(issued.0);
        self.reach(last);
        let slice = (issued.0 / self.width) as usize;
        self.ios[slice] += 1;
        self.bytes[slice] = self.bytes[slice].saturating_add(bytes.0);
        let (first, until) = (slice, (last / self.width) as usize);
        if first == until {
            self.partly[first] += last - issued.0;
            return;
        }
        self.partly[first] += (first as u64 + 1) * self.width - issued.0;
        self.partly[until] += last - until as u64 * self.width;
        self.steps[first + 1] += 1;
        self.steps[until] -= 1;
    }

    /// Makes slices wide enough for `instant`.
    fn reach(&mut self, instant: u64) {
        self.end = self.end.max(instant);
        while instant / self.width >= SLICES as u64 {
            self.widen();
        }
    }

    fn widen(&mut self) {
        let filled = self.filled();
        let half = SLICES / 2;
        for i in 0..half {
            self.ios[i] = self.ios[2 * i] + self.ios[2 * i + 1];
            self.bytes[i] = self.bytes[2 * i].saturating_add(self.bytes[2 * i + 1]);
            let whole = filled[2 * i].saturating_add(filled[2 * i + 1]).saturating_mul(self.width);
            self.partly[i] = (self.partly[2 * i] + self.partly[2 * i + 1]).saturating_add(whole);
        }
        for list in [&mut self.ios, &mut self.bytes, &mut self.partly] {
            list[half..].fill(0);
        }
        // All of it is in `partly` now.
        self.steps.fill(0);
        self.width = self.width.saturating_mul(2);
    }

    /// How many I/Os fill each slice.
    fn filled(&self) -> Vec<u64> {
        let running = self.steps.iter().scan(0_i64, |sum, step| {
            *sum += step;
            Some((*sum).max(0) as u64)
        });
        running.collect()
    }

    /// Slices of at least `width`, up to the last instant seen, and how wide they are.
    pub(super) fn slices(&self, width: Nanos) -> (Nanos, Vec<Slice>) {
        let mut wide = self.clone();
        while wide.width < width.0 {
            wide.widen();
        }
        let filled = wide.filled();
        let count = ((wide.end / wide.width) as usize + 1).min(SLICES);
        let slice = |i: usize| Slice {
            ios: wide.ios[i],
            bytes: Bytes(wide.bytes[i]),
            depth: wide.partly[i] as f64 / wide.width as f64 + filled[i] as f64,
        };
        (Nanos(wide.width), (0..count).map(slice).collect())
    }

    /// The last instant seen.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// How wide slices are.
    pub(super) fn width(&self) -> Nanos {
        Nanos(self.width)
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

//! A course over time in bounded memory: steps of one length, which doubles when there are too many of them.

/// What a step of a series holds.
pub(super) trait Join: Default + Clone {
    /// Takes up what the step behind held.
    fn join(&mut self, other: &Self);
}

/// Steps of time, each with what it held.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Series<T> {
    from: u64,
    /// Length of a step, as a power of two: a division for each I/O would cost more than all else.
    shift: u32,
    most: usize,
    end: u64,
    cells: Vec<T>,
}

impl<T: Join> Series<T> {
    /// Begins at `from` with steps of 2 to the power of `shift` nanoseconds; keeps at most `most` of them (at least 2).
    pub(super) fn new(from: u64, shift: u32, most: usize) -> Series<T> {
        Series { from, shift, most: most.max(2), end: from, cells: Vec::new() }
    }

    #[inline]
    fn index(&self, at: u64) -> usize {
        (at.saturating_sub(self.from) >> self.shift) as usize
    }

    /// The step that `at` lies in; what lies before the beginning is in the first.
    pub(super) fn cell(&mut self, at: u64) -> &mut T {
        self.end = self.end.max(at.saturating_add(1));
        let mut index = self.index(at);
        while index >= self.most {
            self.halve();
            index = self.index(at);
        }
        if self.cells.len() <= index {
            self.cells.resize_with(index + 1, T::default);
        }
        &mut self.cells[index]
    }

    /// Hands each step between `from` and `to` the part of that stretch that lies in it, in nanoseconds.
    pub(super) fn spread(&mut self, from: u64, to: u64, mut take: impl FnMut(&mut T, u64)) {
        let (mut from, to) = (from.max(self.from), to);
        if from >= to {
            return;
        }
        // First, so that no step is halved on the way.
        self.cell(to - 1);
        self.end = self.end.max(to);
        while from < to {
            let index = self.index(from);
            let ends = (index as u128 + 1) << self.shift;
            let next = u64::try_from(u128::from(self.from) + ends).unwrap_or(u64::MAX).min(to);
            take(&mut self.cells[index], next - from);
            from = next;
        }
    }

    fn halve(&mut self) {
        let halves = self.cells.chunks(2).map(|pair| {
            let mut cell = pair[0].clone();
            pair[1..].iter().for_each(|other| cell.join(other));
            cell
        });
        self.cells = halves.collect();
        self.shift += 1;
    }

    /// Length of a step, in nanoseconds.
    pub(super) fn step(&self) -> u64 {
        1 << self.shift
    }

    /// The steps, and how much of each there was, in nanoseconds: all but the last are whole.
    pub(super) fn cells(&self) -> impl Iterator<Item = (&T, u64)> {
        let ends = self.end - self.from;
        self.cells.iter().enumerate().map(move |(index, cell)| {
            let begins = (index as u64) << self.shift;
            (cell, self.step().min(ends.saturating_sub(begins)).max(1))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Join for u64 {
        fn join(&mut self, other: &u64) {
            *self += other;
        }
    }

    proptest! {
        // Breaks when a stretch is lost at the edge of a step, or joined steps do not hold what their parts held.
        #[test]
        fn nothing_is_lost_between_steps(
            stretches in proptest::collection::vec((0u64..100_000, 0u64..5_000), 1..50),
            from in 0u64..100,
        ) {
            let mut series: Series<u64> = Series::new(from, 3, 16);
            let mut total = 0;
            for (begin, length) in stretches {
                let begin = begin + from;
                series.spread(begin, begin + length, |cell, part| *cell += part);
                total += length;
            }
            prop_assert!(series.cells().count() <= 16);
            prop_assert_eq!(series.cells().map(|(cell, _)| *cell).sum::<u64>(), total);
        }
    }

    #[test]
    fn steps_double_when_there_are_too_many() {
        let mut series: Series<u64> = Series::new(1000, 3, 4);
        for at in [1000, 1008, 1020, 1031] {
            *series.cell(at) += 1;
        }
        let cells =
            |series: &Series<u64>| series.cells().map(|(n, ns)| (*n, ns)).collect::<Vec<_>>();
        assert_eq!(cells(&series), [(1, 8), (1, 8), (1, 8), (1, 8)]);
        *series.cell(1032) += 5;
        assert_eq!(series.step(), 16);
        assert_eq!(cells(&series), [(2, 16), (2, 16), (5, 1)]);
        *series.cell(u64::MAX) += 1;
        assert!(series.cells().count() <= 4);
    }
}

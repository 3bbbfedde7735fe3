//! Series over time in bounded memory: steps of one length, which doubles when there are too many of them.
//!
//! All code that collects over a time of unknown length uses it, so that there is one way of doubling. Only the maps
//! of [`crate::analyze::heat`] double their columns themselves, which lie across the rows of all maps.

/// Content of a step of a series.
pub(crate) trait Join: Default {
    /// Takes up what the step behind held.
    fn join(&mut self, behind: Self);

    /// Before steps of `step` nanoseconds are joined, settles what one of them says of those behind it.
    fn settle(_cells: &mut [Self], _step: u64) {}
}

/// Steps of time, each with what it held.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series<T> {
    from: u64,
    /// Length of a step that is doubled `shift` times. 1 where it is a power of two, which `shift` then holds: a
    /// division for each I/O would cost more than all else.
    unit: u64,
    shift: u32,
    most: usize,
    end: u64,
    cells: Vec<T>,
}

impl<T: Join> Series<T> {
    /// Begins at `from` with steps of `step` nanoseconds (at least 1), those of a power of two being the quickest; keeps
    /// at most `most` of them (at least 2).
    pub(crate) fn new(from: u64, step: u64, most: usize) -> Series<T> {
        let (unit, shift) =
            if step.is_power_of_two() { (1, step.trailing_zeros()) } else { (step.max(1), 0) };
        Series { from, unit, shift, most: most.max(2), end: from, cells: Vec::new() }
    }

    /// Returns the index of the step that `at` lies in; times before the beginning are in the first.
    #[inline]
    pub(crate) fn index(&self, at: u64) -> usize {
        let since = at.saturating_sub(self.from);
        let units = if self.unit == 1 { since } else { since / self.unit };
        (units >> self.shift) as usize
    }

    /// Returns the content of the step that `at` lies in. Steps may be longer afterwards.
    #[inline]
    pub(crate) fn cell(&mut self, at: u64) -> &mut T {
        let index = self.reach(at);
        &mut self.cells[index]
    }

    /// Makes a step for `at`, and says which it is.
    #[inline]
    fn reach(&mut self, at: u64) -> usize {
        self.end = self.end.max(at.saturating_add(1));
        let mut index = self.index(at);
        while index >= self.most {
            self.double();
            index = self.index(at);
        }
        if self.cells.len() <= index {
            self.cells.resize_with(index + 1, T::default);
        }
        index
    }

    /// Hands each step between `from` and `to` the part of that stretch that lies in it, in nanoseconds.
    #[inline]
    pub(crate) fn spread(&mut self, from: u64, to: u64, mut take: impl FnMut(&mut T, u64)) {
        let mut from = from.max(self.from);
        if from >= to {
            return;
        }
        // First, so that steps are not doubled on the way.
        let last = self.reach(to - 1);
        let mut index = self.index(from);
        // Most stretches lie in one step.
        if index == last {
            take(&mut self.cells[index], to - from);
            return;
        }
        let step = self.step();
        while from < to {
            let next = step.saturating_mul(index as u64 + 1).saturating_add(self.from).min(to);
            take(&mut self.cells[index], next - from);
            (from, index) = (next, index + 1);
        }
    }

    /// Joins steps two by two; a last one alone stays.
    #[cold]
    fn double(&mut self) {
        let step = self.step();
        T::settle(&mut self.cells, step);
        let mut joined: Vec<T> = Vec::with_capacity(self.cells.capacity());
        for (index, cell) in std::mem::take(&mut self.cells).into_iter().enumerate() {
            match joined.get_mut(index / 2) {
                Some(first) => first.join(cell),
                None => joined.push(cell),
            }
        }
        self.cells = joined;
        self.shift += 1;
    }

    /// Doubles steps until they are at least `step` nanoseconds long, or half of all time.
    pub(crate) fn widen(&mut self, step: u64) {
        while self.step() < step && self.shift < u64::BITS - 1 {
            self.double();
        }
    }

    /// Length of a step, in nanoseconds.
    #[inline]
    pub(crate) fn step(&self) -> u64 {
        self.unit.saturating_mul(1 << self.shift)
    }

    /// Content of each step, to the last that was asked for.
    pub(crate) fn cells(&self) -> &[T] {
        &self.cells
    }

    /// The same, to be changed.
    pub(crate) fn cells_mut(&mut self) -> &mut [T] {
        &mut self.cells
    }

    /// The same, and how much of each step there was, in nanoseconds: all but the last are whole.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = (&T, u64)> {
        let (step, ends) = (self.step(), self.end - self.from);
        self.cells.iter().zip(0..).map(move |(cell, index)| {
            let begins = step.saturating_mul(index);
            (cell, step.min(ends.saturating_sub(begins)).max(1))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl Join for u64 {
        fn join(&mut self, behind: u64) {
            *self += behind;
        }
    }

    proptest! {
        // Breaks when a stretch is lost at the edge of a step, or joined steps do not hold what their parts held.
        #[test]
        fn nothing_is_lost_between_steps(
            stretches in proptest::collection::vec((0u64..100_000, 0u64..5_000), 1..50),
            from in 0u64..100,
            first in 1u64..100,
        ) {
            let mut series: Series<u64> = Series::new(from, first, 16);
            let mut total = 0;
            for (begin, length) in stretches {
                let begin = begin + from;
                series.spread(begin, begin + length, |cell, part| *cell += part);
                total += length;
            }
            prop_assert!(series.cells().len() <= 16);
            prop_assert_eq!(series.cells().iter().sum::<u64>(), total);
            // Doubled from the first one, and no other.
            prop_assert!(series.step().is_multiple_of(first) && (series.step() / first).is_power_of_two());
        }
    }

    #[test]
    fn steps_double_when_there_are_too_many() {
        let mut series: Series<u64> = Series::new(1000, 8, 4);
        for at in [1000, 1008, 1020, 1031] {
            *series.cell(at) += 1;
        }
        let cells =
            |series: &Series<u64>| series.lengths().map(|(n, ns)| (*n, ns)).collect::<Vec<_>>();
        assert_eq!(cells(&series), [(1, 8), (1, 8), (1, 8), (1, 8)]);
        *series.cell(1032) += 5;
        assert_eq!(series.step(), 16);
        assert_eq!(cells(&series), [(2, 16), (2, 16), (5, 1)]);
        *series.cell(u64::MAX) += 1;
        assert!(series.cells().len() <= 4);
    }
}

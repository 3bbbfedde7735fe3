//! The part of the drive's memory that holds what was written and is not yet on the platters.

use std::collections::{BTreeMap, BTreeSet};

/// A run of dirty bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent<S> {
    end: u64,
    /// Order of arrival.
    age: u64,
    /// Location of its beginning on the platters.
    spot: S,
}

/// A run that may be written next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dirty<S> {
    /// First byte.
    pub(super) start: u64,
    /// One beyond the last byte.
    pub(super) end: u64,
    /// Location of its beginning on the platters.
    pub(super) spot: S,
}

/// Dirty runs, disjoint, found by address and by age. `S` is what the caller keeps of the place where
/// a run begins, so that choosing among runs needs no geometry.
#[derive(Clone, Debug)]
pub(super) struct WriteCache<S> {
    by_start: BTreeMap<u64, Extent<S>>,
    by_age: BTreeSet<(u64, u64)>,
    bytes: u64,
    clock: u64,
}

impl<S: Copy> WriteCache<S> {
    pub(super) fn new() -> WriteCache<S> {
        WriteCache { by_start: BTreeMap::new(), by_age: BTreeSet::new(), bytes: 0, clock: 0 }
    }

    /// Bytes that are dirty.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Runs that are dirty.
    pub(super) fn runs(&self) -> usize {
        self.by_start.len()
    }

    /// Makes `start..end` dirty. What was dirty there is superseded; a run that ends at `start` is
    /// lengthened, so that a sequential writer's data stays one run.
    pub(super) fn insert(&mut self, start: u64, end: u64, spot: impl Fn(u64) -> S) {
        self.clear(start, end, &spot);
        self.bytes += end - start;
        if let Some((_, before)) = self.by_start.range_mut(..start).next_back()
            && before.end == start
        {
            before.end = end;
            return;
        }
        self.clock += 1;
        self.add(start, Extent { end, age: self.clock, spot: spot(start) });
    }

    /// Makes `start..end` clean; what remains of a run on either side keeps its age.
    pub(super) fn clear(&mut self, start: u64, end: u64, spot: impl Fn(u64) -> S) {
        while let Some((&at, &extent)) =
            self.by_start.range(..end).next_back().filter(|(_, extent)| extent.end > start)
        {
            self.by_start.remove(&at);
            self.by_age.remove(&(extent.age, at));
            self.bytes -= extent.end - at;
            if extent.end > end {
                self.bytes += extent.end - end;
                self.add(end, Extent { spot: spot(end), ..extent });
            }
            if at < start {
                self.bytes += start - at;
                self.add(at, Extent { end: start, ..extent });
                return;
            }
        }
    }

    fn add(&mut self, start: u64, extent: Extent<S>) {
        self.by_age.insert((extent.age, start));
        self.by_start.insert(start, extent);
    }

    /// One beyond the last dirty byte without a gap from `at`; `at` itself when it is clean.
    pub(super) fn held_until(&self, at: u64) -> u64 {
        match self.by_start.range(..=at).next_back() {
            Some((_, extent)) if extent.end > at => extent.end,
            _ => at,
        }
    }

    /// The last run of which some byte lies in the range.
    pub(super) fn overlapping(&self, start: u64, end: u64) -> Option<Dirty<S>> {
        let (&at, extent) = self.by_start.range(..end).next_back()?;
        (extent.end > start).then_some(Dirty { start: at, end: extent.end, spot: extent.spot })
    }

    /// The oldest runs, oldest first.
    pub(super) fn oldest(&self) -> impl Iterator<Item = Dirty<S>> {
        self.by_age.iter().filter_map(|&(_, start)| {
            self.by_start.get(&start).map(|e| Dirty { start, end: e.end, spot: e.spot })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(cache: &WriteCache<u64>) -> Vec<(u64, u64)> {
        let runs: Vec<(u64, u64)> = cache.by_start.iter().map(|(s, e)| (*s, e.end)).collect();
        assert_eq!(runs.iter().map(|(s, e)| e - s).sum::<u64>(), cache.bytes());
        assert_eq!(cache.by_age.len(), cache.runs());
        assert!(
            cache.by_start.iter().all(|(s, e)| e.spot == *s && cache.by_age.contains(&(e.age, *s)))
        );
        runs
    }

    fn cache(writes: &[(u64, u64)]) -> WriteCache<u64> {
        let mut cache = WriteCache::new();
        for (start, end) in writes {
            cache.insert(*start, *end, |at| at);
        }
        cache
    }

    #[test]
    fn runs_join_at_the_end_and_stay_disjoint() {
        assert_eq!(runs(&cache(&[(0, 10), (10, 20), (30, 40)])), [(0, 20), (30, 40)]);
        assert_eq!(runs(&cache(&[(0, 30), (10, 20)])), [(0, 20), (20, 30)]);
        assert_eq!(runs(&cache(&[(0, 10), (20, 30), (5, 25)])), [(0, 25), (25, 30)]);
    }

    // Breaks when cleaning a range forgets a piece of it: a flush would then wait for ever, or not
    // long enough.
    #[test]
    fn cleaning_leaves_what_lies_outside() {
        let mut cache = cache(&[(0, 10), (20, 30), (40, 50)]);
        cache.clear(5, 45, |at| at);
        assert_eq!(runs(&cache), [(0, 5), (45, 50)]);
        let found =
            |start, end| cache.overlapping(start, end).map(|dirty| (dirty.start, dirty.end));
        assert_eq!(
            [found(4, 6), found(5, 45), found(44, 46)],
            [Some((0, 5)), None, Some((45, 50))]
        );
        assert_eq!([cache.held_until(2), cache.held_until(5), cache.held_until(47)], [5, 5, 50]);
        cache.clear(0, 100, |at| at);
        assert_eq!((runs(&cache), cache.bytes()), (vec![], 0));
    }

    #[test]
    fn the_oldest_run_comes_first_and_keeps_its_age_when_split() {
        let mut cache = cache(&[(100, 110), (0, 30), (200, 210)]);
        cache.clear(10, 20, |at| at);
        let order: Vec<u64> = cache.oldest().map(|d| d.start).collect();
        assert_eq!(order, [100, 0, 20, 200]);
    }
}

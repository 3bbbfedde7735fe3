//! The part of the drive's memory that holds what was read: segments, the least recently used given up first.

use std::collections::{BTreeMap, BTreeSet};

/// A contiguous run of bytes in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// First byte held.
    pub(super) start: u64,
    /// One beyond the last byte held.
    pub(super) end: u64,
    /// One beyond the last byte that the host asked for: read-ahead is counted from here.
    pub(super) wanted: u64,
    used: u64,
}

/// All segments. At most `count` of them, at most `segment_bytes` each, at most `bytes` together.
///
/// They may overlap. Found by address through the order of their beginnings: none is longer than
/// `segment_bytes`, so what holds an address begins at most that far before it. A plain list, looked
/// through from end to end, took longer than all the rest of the drive once there were thousands.
#[derive(Clone, Debug)]
pub(super) struct ReadCache {
    segments: BTreeMap<u64, Segment>,
    /// (first byte, name) of each.
    by_start: BTreeSet<(u64, u64)>,
    /// (last use, name) of each.
    by_use: BTreeSet<(u64, u64)>,
    /// Bytes of all segments together.
    held: u64,
    count: usize,
    segment_bytes: u64,
    bytes: u64,
    clock: u64,
}

/// Names a segment for as long as it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentId(u64);

impl ReadCache {
    pub(super) fn new(count: usize, segment_bytes: u64, bytes: u64) -> ReadCache {
        ReadCache {
            segments: BTreeMap::new(),
            by_start: BTreeSet::new(),
            by_use: BTreeSet::new(),
            held: 0,
            count,
            segment_bytes,
            bytes,
            clock: 0,
        }
    }

    /// Segments that begin no later than `last` and may reach to `first`, with their names.
    fn near(&self, first: u64, last: u64) -> impl Iterator<Item = (u64, &Segment)> {
        let from = first.saturating_sub(self.segment_bytes);
        let names = self.by_start.range((from, 0)..=(last, u64::MAX));
        names.filter_map(|(_, id)| self.segments.get(id).map(|segment| (*id, segment)))
    }

    /// One beyond the last byte held without a gap from `at`; `at` itself when it is not held.
    pub(super) fn held_until(&self, at: u64) -> u64 {
        self.near(at, at).map(|(_, segment)| segment.end).fold(at, u64::max)
    }

    /// Marks the segments that hold parts of the range as used, and the range as wanted.
    pub(super) fn touch(&mut self, start: u64, end: u64) {
        self.clock += 1;
        let near = self.near(start, end);
        let touched: Vec<u64> =
            near.filter(|(_, s)| s.start < end && start < s.end).map(|(id, _)| id).collect();
        for id in touched {
            self.use_now(id, end);
        }
    }

    /// Marks a segment as used, and as wanted up to `wanted` or its end, whichever comes first.
    fn use_now(&mut self, id: u64, wanted: u64) {
        if let Some(segment) = self.segments.get_mut(&id) {
            self.by_use.remove(&(segment.used, id));
            self.by_use.insert((self.clock, id));
            segment.used = self.clock;
            segment.wanted = segment.wanted.max(wanted.min(segment.end));
        }
    }

    /// The segment that a read beginning at `at` would lengthen, the last used if there are several,
    /// or a new, empty one.
    pub(super) fn open(&mut self, at: u64, wanted: u64) -> SegmentId {
        self.clock += 1;
        let ending = self.near(at, at).filter(|(_, segment)| segment.end == at);
        if let Some((id, _)) = ending.max_by_key(|(id, segment)| (segment.used, *id)) {
            self.use_now(id, wanted);
            self.want(SegmentId(id), wanted);
            return SegmentId(id);
        }
        let (id, used) = (self.clock, self.clock);
        self.segments.insert(id, Segment { start: at, end: at, wanted, used });
        self.by_start.insert((at, id));
        self.by_use.insert((used, id));
        self.give_up(id);
        SegmentId(id)
    }

    pub(super) fn get(&self, SegmentId(id): SegmentId) -> Option<&Segment> {
        self.segments.get(&id)
    }

    /// The host wants the segment to reach at least to `end`.
    pub(super) fn want(&mut self, SegmentId(id): SegmentId, end: u64) {
        if let Some(segment) = self.segments.get_mut(&id) {
            segment.wanted = segment.wanted.max(end);
        }
    }

    /// The segment now reaches to `end`: it lets go of its oldest bytes, and others of theirs, when
    /// there is no room.
    pub(super) fn grow(&mut self, SegmentId(id): SegmentId, end: u64) {
        let Some(segment) = self.segments.get_mut(&id) else { return };
        if end <= segment.end {
            return;
        }
        let before = *segment;
        segment.end = end;
        segment.start = segment.start.max(end.saturating_sub(self.segment_bytes));
        let start = segment.start;
        self.held = self.held - (before.end - before.start) + (end - start);
        self.by_start.remove(&(before.start, id));
        self.by_start.insert((start, id));
        let inside = self.by_start.range((start, 0)..=(end, u64::MAX)).map(|(_, other)| *other);
        let inside: Vec<u64> = inside.filter(|other| *other != id).collect();
        for other in inside {
            if self.segments.get(&other).is_some_and(|s| s.end <= end) {
                self.remove(other);
            }
        }
        self.give_up(id);
    }

    fn remove(&mut self, id: u64) {
        if let Some(segment) = self.segments.remove(&id) {
            self.by_start.remove(&(segment.start, id));
            self.by_use.remove(&(segment.used, id));
            self.held -= segment.end - segment.start;
        }
    }

    /// Gives up least recently used segments, but not `kept`, until all bounds hold.
    fn give_up(&mut self, kept: u64) {
        while self.segments.len() > self.count || self.held > self.bytes {
            let oldest = self.by_use.iter().map(|(_, id)| *id).find(|id| *id != kept);
            let Some(oldest) = oldest else { return };
            self.remove(oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COUNT: usize = 6;
    const SEGMENT: u64 = 50;
    const BYTES: u64 = 170;

    /// The same memory as a plain list that is looked through from end to end.
    #[derive(Default)]
    struct Plain {
        segments: Vec<(u64, Segment)>,
        clock: u64,
    }

    impl Plain {
        fn open(&mut self, at: u64, wanted: u64) -> u64 {
            self.clock += 1;
            let ending = self.segments.iter_mut().filter(|(_, s)| s.end == at);
            if let Some((id, segment)) = ending.max_by_key(|(id, s)| (s.used, *id)) {
                segment.used = self.clock;
                segment.wanted = segment.wanted.max(wanted);
                return *id;
            }
            let segment = Segment { start: at, end: at, wanted, used: self.clock };
            self.segments.push((self.clock, segment));
            self.give_up(self.clock);
            self.clock
        }

        fn touch(&mut self, start: u64, end: u64) {
            self.clock += 1;
            for (_, s) in &mut self.segments {
                if s.start < end && start < s.end {
                    (s.used, s.wanted) = (self.clock, s.wanted.max(end.min(s.end)));
                }
            }
        }

        fn grow(&mut self, id: u64, end: u64) {
            let Some((_, s)) = self.segments.iter_mut().find(|(own, _)| *own == id) else { return };
            if end <= s.end {
                return;
            }
            (s.start, s.end) = (s.start.max(end.saturating_sub(SEGMENT)), end);
            let start = s.start;
            self.segments.retain(|(own, s)| *own == id || s.start < start || s.end > end);
            self.give_up(id);
        }

        fn give_up(&mut self, kept: u64) {
            while self.segments.len() > COUNT || self.held() > BYTES {
                let others = self.segments.iter().filter(|(id, _)| *id != kept);
                let Some((id, _)) = others.min_by_key(|(id, s)| (s.used, *id)).copied() else {
                    return;
                };
                self.segments.retain(|(own, _)| *own != id);
            }
        }

        fn held(&self) -> u64 {
            self.segments.iter().map(|(_, s)| s.end - s.start).sum()
        }

        fn held_until(&self, at: u64) -> u64 {
            let holding = self.segments.iter().filter(|(_, s)| s.start <= at && at < s.end);
            holding.map(|(_, s)| s.end).max().unwrap_or(at)
        }
    }

    proptest! {
        // Breaks when an index no longer agrees with the segments: a read would then be answered from
        // what is not held, or room be counted that is not there.
        #[test]
        fn whatever_is_read_memory_is_that_of_a_plain_list(
            steps in proptest::collection::vec((0_u8..3, 0_u64..300, 1_u64..90), 1..200),
        ) {
            let mut cache = ReadCache::new(COUNT, SEGMENT, BYTES);
            let mut plain = Plain::default();
            let mut last = 0;
            for (step, at, len) in steps {
                match step {
                    0 => {
                        last = plain.open(at, at + len);
                        prop_assert_eq!(cache.open(at, at + len), SegmentId(last));
                    }
                    1 => {
                        plain.grow(last, at);
                        cache.grow(SegmentId(last), at);
                    }
                    _ => {
                        plain.touch(at, at + len);
                        cache.touch(at, at + len);
                    }
                }
                plain.segments.sort_unstable_by_key(|(id, _)| *id);
                let held: Vec<(u64, Segment)> =
                    cache.segments.iter().map(|(id, segment)| (*id, *segment)).collect();
                prop_assert_eq!(held, plain.segments.clone());
                prop_assert_eq!(cache.held, plain.held());
                for at in 0..400 {
                    prop_assert_eq!(cache.held_until(at), plain.held_until(at));
                }
            }
        }
    }

    #[test]
    fn a_segment_is_a_window_that_follows_its_reader() {
        let mut cache = ReadCache::new(4, 100, 300);
        let id = cache.open(1_000, 1_010);
        cache.grow(id, 1_150);
        assert_eq!(cache.held_until(1_049), 1_049);
        assert_eq!(cache.held_until(1_050), 1_150);
        assert_eq!(cache.open(1_150, 1_160), id, "a read at its end lengthens it");
    }

    #[test]
    fn the_least_recently_used_segment_goes_first() {
        let mut cache = ReadCache::new(3, 100, 300);
        for at in [0, 1_000, 2_000] {
            let id = cache.open(at, at + 50);
            cache.grow(id, at + 50);
        }
        cache.touch(0, 10);
        let id = cache.open(3_000, 3_050);
        cache.grow(id, 3_050);
        let held = [0, 1_000, 2_000, 3_000].map(|at| cache.held_until(at) > at);
        assert_eq!(held, [true, false, true, true]);
    }

    #[test]
    fn the_bytes_of_all_segments_together_are_bounded() {
        let mut cache = ReadCache::new(8, 100, 150);
        for at in [0, 1_000] {
            let id = cache.open(at, at);
            cache.grow(id, at + 100);
        }
        assert_eq!([cache.held_until(0), cache.held_until(1_000)], [0, 1_100]);
    }
}

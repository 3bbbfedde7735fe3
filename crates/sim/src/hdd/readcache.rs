//! The part of the drive's memory that holds what was read: segments, the least recently used given up first.

/// A contiguous run of bytes in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    id: u64,
    /// First byte held.
    pub(super) start: u64,
    /// One beyond the last byte held.
    pub(super) end: u64,
    /// One beyond the last byte that the host asked for: read-ahead is counted from here.
    pub(super) wanted: u64,
    used: u64,
}

/// All segments. At most `count` of them, at most `segment_bytes` each, at most `bytes` together.
#[derive(Clone, Debug)]
pub(super) struct ReadCache {
    segments: Vec<Segment>,
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
        ReadCache { segments: Vec::with_capacity(count + 1), count, segment_bytes, bytes, clock: 0 }
    }

    /// One beyond the last byte held without a gap from `at`; `at` itself when it is not held.
    pub(super) fn held_until(&self, at: u64) -> u64 {
        let held = self.segments.iter().filter(|s| s.start <= at && at < s.end);
        held.map(|s| s.end).max().unwrap_or(at)
    }

    /// Marks the segments that hold parts of the range as used, and the range as wanted.
    pub(super) fn touch(&mut self, start: u64, end: u64) {
        self.clock += 1;
        for segment in &mut self.segments {
            if segment.start < end && start < segment.end {
                segment.used = self.clock;
                segment.wanted = segment.wanted.max(end.min(segment.end));
            }
        }
    }

    /// The segment that a read beginning at `at` would lengthen, or a new, empty one.
    pub(super) fn open(&mut self, at: u64, wanted: u64) -> SegmentId {
        self.clock += 1;
        let used = self.clock;
        if let Some(segment) = self.segments.iter_mut().find(|s| s.end == at) {
            segment.used = used;
            segment.wanted = segment.wanted.max(wanted);
            return SegmentId(segment.id);
        }
        self.segments.push(Segment { id: used, start: at, end: at, wanted, used });
        self.give_up(used);
        SegmentId(used)
    }

    pub(super) fn get(&self, SegmentId(id): SegmentId) -> Option<&Segment> {
        self.segments.iter().find(|s| s.id == id)
    }

    /// The host wants the segment to reach at least to `end`.
    pub(super) fn want(&mut self, SegmentId(id): SegmentId, end: u64) {
        if let Some(segment) = self.segments.iter_mut().find(|s| s.id == id) {
            segment.wanted = segment.wanted.max(end);
        }
    }

    /// The segment now reaches to `end`: it lets go of its oldest bytes, and others of theirs, when
    /// there is no room.
    pub(super) fn grow(&mut self, SegmentId(id): SegmentId, end: u64) {
        let Some(segment) = self.segments.iter_mut().find(|s| s.id == id) else { return };
        if end <= segment.end {
            return;
        }
        segment.end = end;
        segment.start = segment.start.max(end.saturating_sub(self.segment_bytes));
        let (start, end) = (segment.start, segment.end);
        self.segments.retain(|s| s.id == id || s.start < start || s.end > end);
        self.give_up(id);
    }

    /// Gives up least recently used segments, but not `kept`, until all bounds hold.
    fn give_up(&mut self, kept: u64) {
        loop {
            let total: u64 = self.segments.iter().map(|s| s.end - s.start).sum();
            if self.segments.len() <= self.count && total <= self.bytes {
                return;
            }
            let others = self.segments.iter().enumerate().filter(|(_, s)| s.id != kept);
            let Some((oldest, _)) = others.min_by_key(|(_, s)| s.used) else { return };
            self.segments.swap_remove(oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

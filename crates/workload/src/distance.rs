//! LRU stack distances: how many other different blocks are accessed before a block is accessed again.
//!
//! After Mattson, Gecsei, Slutz and Traiger ("Evaluation techniques for storage hierarchies", 1970): a cache of the
//! least recently used kind that holds `c` blocks serves exactly the accesses whose distance is below `c`, whatever `c`
//! is. Distances are counted over the positions of last accesses, as Bennett and Kruskal ("LRU stack processing", 1975)
//! and Olken (1981) do with trees.

use std::collections::HashMap;

use crate::rng::Mixed;

/// Positions that share a counter: eight words of marks, which are one line of a processor's cache.
const GROUP: usize = 512;
const WORDS: usize = GROUP / 64;
/// Positions at first.
const POSITIONS: usize = 8 * GROUP;

/// Stack distances of one access after the other.
///
/// Each access takes O(log n) for n different blocks, and memory is 40 to 80 bytes for each of them: a table from block
/// to the position of its last access, a bit for each position that still is one, and a Fenwick tree over groups of 512
/// bits. Rejected: a Fenwick tree over positions, whose counters are sixty times as large as the bits, and wait for
/// memory at each step.
#[derive(Clone, Debug)]
pub struct StackDistances {
    /// Position of each block's last access.
    latest: HashMap<u64, usize, Mixed>,
    /// A bit for each position that is one.
    marks: Vec<u64>,
    /// Fenwick tree of the marks in each group; its first counter is not used.
    groups: Vec<u32>,
    /// Position of the next access.
    next: usize,
}

impl Default for StackDistances {
    fn default() -> Self {
        StackDistances::new()
    }
}

impl StackDistances {
    /// No accesses.
    pub fn new() -> StackDistances {
        StackDistances {
            latest: HashMap::default(),
            marks: vec![0; POSITIONS / 64],
            groups: vec![0; POSITIONS / GROUP + 1],
            next: 0,
        }
    }

    /// Different blocks accessed, without those that were dropped.
    pub fn len(&self) -> usize {
        self.latest.len()
    }

    /// True when no block was accessed.
    pub fn is_empty(&self) -> bool {
        self.latest.is_empty()
    }

    /// Accesses a block: the count of other blocks accessed since it was accessed last, or `None` at its first.
    #[inline]
    pub fn access(&mut self, block: u64) -> Option<u64> {
        if self.next == 64 * self.marks.len() {
            self.make_room();
        }
        let now = self.next;
        self.next += 1;
        let before = self.latest.insert(block, now);
        let distance = before.map(|before| {
            // As many marks as blocks; those up to `before` are of blocks not accessed since, and of this one.
            let distance = self.latest.len() as u64 - self.marked_until(before);
            self.unmark(before);
            distance
        });
        self.mark(now);
        distance
    }

    /// Drops the blocks that `keep` is false for, as if they had never been accessed.
    pub fn retain(&mut self, mut keep: impl FnMut(u64) -> bool) {
        let mut dropped = Vec::new();
        self.latest.retain(|block, position| {
            let kept = keep(*block);
            if !kept {
                dropped.push(*position);
            }
            kept
        });
        dropped.into_iter().for_each(|position| self.unmark(position));
    }

    fn mark(&mut self, position: usize) {
        self.marks[position / 64] |= 1 << (position % 64);
        let mut group = position / GROUP + 1;
        while let Some(count) = self.groups.get_mut(group) {
            *count += 1;
            group += group & group.wrapping_neg();
        }
    }

    fn unmark(&mut self, position: usize) {
        self.marks[position / 64] &= !(1 << (position % 64));
        let mut group = position / GROUP + 1;
        while let Some(count) = self.groups.get_mut(group) {
            *count -= 1;
            group += group & group.wrapping_neg();
        }
    }

    /// Marks at positions up to and with this one.
    fn marked_until(&self, position: usize) -> u64 {
        let (mut group, mut sum) = (position / GROUP, 0u64);
        let words = &self.marks[group * WORDS..=position / 64];
        while group > 0 {
            sum += u64::from(self.groups[group]);
            group &= group - 1;
        }
        if let Some((last, whole)) = words.split_last() {
            sum += whole.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            sum += u64::from((last << (63 - position % 64)).count_ones());
        }
        sum
    }

    /// Renumbers the last accesses from 0, in their order; and doubles the positions where most of them are
    /// last accesses, so that this happens once in as many accesses as there are blocks.
    #[cold]
    fn make_room(&mut self) {
        let mut before = 0usize;
        let rank = |word: &u64| {
            let rank = before;
            before += word.count_ones() as usize;
            rank
        };
        let ranks: Vec<usize> = self.marks.iter().map(rank).collect();
        for position in self.latest.values_mut() {
            let below = self.marks[*position / 64] & ((1 << (*position % 64)) - 1);
            *position = ranks[*position / 64] + below.count_ones() as usize;
        }
        let live = self.latest.len();
        let mut positions = 64 * self.marks.len();
        if 2 * live > positions {
            positions *= 2;
        }
        self.marks = vec![0; positions / 64];
        self.marks[..live / 64].fill(u64::MAX);
        self.marks[live / 64] = (1 << (live % 64)) - 1;
        self.groups = vec![0; positions / GROUP + 1];
        for group in 1..self.groups.len() {
            // A counter of a Fenwick tree covers, from here down, as many groups as its lowest bit.
            let from = (group - (group & group.wrapping_neg())) * GROUP;
            self.groups[group] = (group * GROUP).min(live).saturating_sub(from) as u32;
        }
        self.next = live;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use proptest::prelude::*;

    /// The definition, word by word: a list, the last accessed first.
    fn naive(stack: &mut Vec<u64>, block: u64) -> Option<u64> {
        let place = stack.iter().position(|other| *other == block);
        place.map(|place| stack.remove(place));
        stack.insert(0, block);
        place.map(|place| place as u64)
    }

    proptest! {
        /// If it failed, a miss-ratio curve would be that of no cache.
        #[test]
        fn distances_are_places_in_a_list(
            blocks in prop::collection::vec((0..400u64, 0..3u32), 1..3_000), drop in 0..400u64
        ) {
            let (mut stack, mut distances) = (Vec::new(), StackDistances::new());
            for (index, (block, skew)) in blocks.iter().enumerate() {
                if index == blocks.len() / 2 {
                    stack.retain(|block| *block >= drop);
                    distances.retain(|block| block >= drop);
                }
                let block = block >> (3 * skew);
                prop_assert_eq!(distances.access(block), naive(&mut stack, block));
                prop_assert_eq!(distances.len(), stack.len());
            }
        }
    }

    /// Long enough that positions are renumbered many times, and doubled.
    #[test]
    fn a_long_run_is_as_exact() {
        let mut rng = Rng::for_path(9, &[]);
        let (mut stack, mut distances) = (Vec::new(), StackDistances::new());
        for access in 0..60_000u64 {
            let block = rng.below(1 + access / 10) * GOLDEN_STEP;
            assert_eq!(distances.access(block), naive(&mut stack, block), "access {access}");
        }
        assert!(!distances.is_empty() && distances.len() == stack.len());
    }

    /// Blocks need not be near each other.
    const GOLDEN_STEP: u64 = 0x9e37_79b9_7f4a_7c15 >> 16;
}

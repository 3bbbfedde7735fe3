//! Index of waiting I/Os by 64 KiB of their device: a hash table whose entries head rings of slots.
//!
//! A tree ordered by sector would find ranges too, at several times the cost for each of the five events or so that
//! an I/O has. A table by sector alone would not find what lies inside a range, or what holds a sector.

/// No slot.
pub const NONE: u32 = u32::MAX;

/// Sectors of a granule, as a power of two: 128 of 512 bytes, the most that page writeback usually merges at once
/// and few enough that a ring is short.
pub const SHIFT: u32 = 7;

/// The granule of `sector`.
pub const fn of(sector: u64) -> u64 {
    sector >> SHIFT
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    granule: u64,
    space: u32,
    /// Oldest slot of the ring; [`NONE`] where the entry is free.
    head: u32,
}

const FREE: Entry = Entry { granule: 0, space: 0, head: NONE };

/// The table: linear probing, backward shift on removal, never more than half full.
#[derive(Debug)]
pub struct Granules {
    entries: Vec<Entry>,
    used: usize,
}

impl Default for Granules {
    fn default() -> Granules {
        Granules { entries: vec![FREE; 1 << 10], used: 0 }
    }
}

impl Granules {
    fn home(&self, space: u32, granule: u64) -> usize {
        // The finalizer of splitmix64: neighbours must not be neighbours in the table, or their runs would join.
        let mut mixed = granule ^ (u64::from(space) << 57) ^ (u64::from(space) << 25);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as usize & (self.entries.len() - 1)
    }

    /// Position of the entry of a granule, or of the free one where it would be.
    fn position(&self, space: u32, granule: u64) -> usize {
        let mask = self.entries.len() - 1;
        let mut at = self.home(space, granule);
        loop {
            let entry = &self.entries[at];
            if entry.head == NONE || (entry.granule == granule && entry.space == space) {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Oldest slot of a granule; [`NONE`] when it has none.
    pub fn head(&self, space: u32, granule: u64) -> u32 {
        self.entries[self.position(space, granule)].head
    }

    /// Makes `head` the oldest slot of a granule.
    pub fn set(&mut self, space: u32, granule: u64, head: u32) {
        let at = self.position(space, granule);
        if self.entries[at].head == NONE {
            self.used += 1;
        }
        self.entries[at] = Entry { granule, space, head };
        if self.used * 2 > self.entries.len() {
            self.grow();
        }
    }

    fn grow(&mut self) {
        let larger = vec![FREE; self.entries.len() * 2];
        let old = std::mem::replace(&mut self.entries, larger);
        for entry in old.into_iter().filter(|entry| entry.head != NONE) {
            let at = self.position(entry.space, entry.granule);
            self.entries[at] = entry;
        }
    }

    /// Forgets a granule that has no slot any more.
    pub fn clear(&mut self, space: u32, granule: u64) {
        let mask = self.entries.len() - 1;
        let mut hole = self.position(space, granule);
        if self.entries[hole].head == NONE {
            return;
        }
        self.used -= 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let entry = self.entries[at];
            if entry.head == NONE {
                break;
            }
            // It may move into the hole unless its home lies behind the hole.
            let home = self.home(entry.space, entry.granule);
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.entries[hole] = entry;
                hole = at;
            }
        }
        self.entries[hole] = FREE;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Breaks when growing or removing loses an entry, or leaves one that cannot be found.
        #[test]
        fn the_table_holds_what_a_map_holds(
            steps in prop::collection::vec((0u32..3, 0u64..2_000, prop::option::of(0u32..9)), 0..4_000)
        ) {
            let mut table = Granules::default();
            let mut map = HashMap::new();
            for (space, granule, head) in steps {
                match head {
                    Some(head) => {
                        table.set(space, granule, head);
                        map.insert((space, granule), head);
                    }
                    None => {
                        table.clear(space, granule);
                        map.remove(&(space, granule));
                    }
                }
            }
            prop_assert_eq!(table.used, map.len());
            for space in 0..3 {
                for granule in 0..2_000 {
                    let expected = map.get(&(space, granule)).copied().unwrap_or(NONE);
                    prop_assert_eq!(table.head(space, granule), expected);
                }
            }
        }
    }
}

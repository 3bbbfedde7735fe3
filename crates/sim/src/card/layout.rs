//! Layout of bytes on a card: groups of pages, and the allocation units that they make up.

use std::ops::Range;

use super::model::CardModel;

/// The layout. A *group* is the pages of all planes that are read or programmed at once; numbers of
/// groups and units count from the beginning of the card.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) capacity: u64,
    /// Bytes of an allocation unit.
    pub(super) unit: u64,
    pub(super) page: u64,
    /// Bytes of a group.
    pub(super) group: u64,
    pub(super) codeword: u64,
    /// Bytes at the beginning that are not block-mapped.
    pub(super) fat: u64,
    /// Kinds of pages, and groups of one kind in a row.
    kinds: u64,
    run: u64,
}

impl Layout {
    pub(super) fn new(model: &CardModel) -> Layout {
        let (g, cells) = (&model.geometry, &model.cells);
        Layout {
            capacity: g.capacity_bytes,
            unit: g.erase_block_bytes,
            page: g.page_bytes,
            group: g.page_bytes * g.planes,
            codeword: cells.codeword_bytes,
            fat: model.fat.as_ref().map_or(0, |fat| fat.bytes),
            kinds: cells.read_ns.len() as u64,
            run: cells.run_groups,
        }
    }

    /// Count of groups on the card.
    pub(super) fn groups(&self) -> u64 {
        self.capacity / self.group
    }

    /// Count of allocation units on the card.
    pub(super) fn units(&self) -> u64 {
        self.capacity / self.unit
    }

    /// Groups of a unit that are block-mapped: those beyond the zone at the beginning.
    pub(super) fn unit_groups(&self, unit: u64) -> Range<u64> {
        let begin = (unit * self.unit).max(self.fat.min((unit + 1) * self.unit));
        begin / self.group..(unit + 1) * self.unit / self.group
    }

    /// The allocation unit of a group.
    pub(super) fn unit_of(&self, group: u64) -> u64 {
        group * self.group / self.unit
    }

    /// True when a group lies in the zone at the beginning.
    pub(super) fn in_fat(&self, group: u64) -> bool {
        group * self.group < self.fat
    }

    /// Returns the bit of the cell in which a group's pages are kept, from 0. The place in the order of kinds at
    /// which an allocation unit begins differs from unit to unit: data that is appended to a block begins wherever
    /// the block was. Were it the same in all, boundaries of one class would all lie between pages of the same two
    /// kinds, and the published tables, which are means over units far apart, show that they do not.
    pub(super) fn kind(&self, group: u64) -> usize {
        let groups = self.unit / self.group;
        let (unit, in_unit) = (group / groups, group % groups);
        // Multiplicative hashing (Knuth); the high half is well mixed.
        let begins = unit.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((begins + in_unit / self.run) % self.kinds) as usize
    }

    /// The groups that a range of bytes touches, each with the part of the range that is in it.
    pub(super) fn pieces(&self, from: u64, to: u64) -> impl Iterator<Item = Piece> + use<> {
        let size = self.group;
        (from / size..to.div_ceil(size)).map(move |group| {
            let begin = group * size;
            Piece { group, from: from.max(begin) - begin, to: to.min(begin + size) - begin }
        })
    }
}

/// A part of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) group: u64,
    /// First byte, from the group's beginning.
    pub(super) from: u64,
    /// One beyond its last byte, likewise.
    pub(super) to: u64,
}

/// One bit for each group: does it hold data?
#[derive(Clone, Debug)]
pub(super) struct GroupSet(Vec<u64>);

impl GroupSet {
    /// A set over `count` groups, all in it or none.
    pub(super) fn new(count: u64, full: bool) -> GroupSet {
        let words = count.div_ceil(64) as usize;
        GroupSet(vec![if full { u64::MAX } else { 0 }; words])
    }

    pub(super) fn has(&self, group: u64) -> bool {
        let word = self.0.get((group / 64) as usize).copied().unwrap_or(0);
        word >> (group % 64) & 1 == 1
    }

    /// Puts a group in; true when it was not.
    pub(super) fn insert(&mut self, group: u64) -> bool {
        let bit = 1 << (group % 64);
        let Some(word) = self.0.get_mut((group / 64) as usize) else { return false };
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Takes a group out.
    pub(super) fn remove(&mut self, group: u64) {
        if let Some(word) = self.0.get_mut((group / 64) as usize) {
            *word &= !(1 << (group % 64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout() -> Layout {
        Layout {
            capacity: 12 << 20,
            unit: 3 << 20,
            page: 8192,
            group: 16384,
            codeword: 1024,
            fat: 1 << 20,
            kinds: 3,
            run: 2,
        }
    }

    // Breaks when the zone at the beginning is counted to a unit, or a unit loses a group: it could
    // never be complete then, and each rewrite would end in a merge.
    #[test]
    fn units_have_what_the_zone_leaves_them() {
        let layout = layout();
        assert_eq!(layout.unit_groups(0), 64..192);
        assert_eq!(layout.unit_groups(1), 192..384);
        let large = Layout { fat: 4 << 20, ..layout };
        assert!(large.unit_groups(0).is_empty());
        assert_eq!(large.unit_groups(1), 256..384);
        assert!(large.in_fat(255) && !large.in_fat(256));
        assert_eq!((layout.unit_of(191), layout.unit_of(192)), (0, 1));
    }

    // Breaks when the kinds no longer take turns, or all units begin with the same one: a class of boundaries
    // would then lie between pages of the same two kinds everywhere.
    #[test]
    fn kinds_take_turns_from_a_beginning_of_each_units_own() {
        let layout = Layout { capacity: 600 << 20, ..layout() };
        let mut begins = [0; 3];
        for unit in 0..200 {
            let kinds: Vec<usize> = (0..8).map(|at| layout.kind(unit * 192 + at)).collect();
            let first = kinds[0];
            let turns = [0, 0, 1, 1, 2, 2, 0, 0].map(|step| (first + step) % 3);
            assert_eq!(kinds, turns, "unit {unit}");
            begins[first] += 1;
        }
        // A third of 200 is 67, its standard deviation 6.7.
        assert!(begins.iter().all(|count| (40..95).contains(count)), "{begins:?}");
    }

    #[test]
    fn pieces_cover_a_range_once() {
        let pieces: Vec<Piece> = layout().pieces(16_000, 33_000).collect();
        assert_eq!(pieces.len(), 3);
        assert_eq!(pieces[0], Piece { group: 0, from: 16_000, to: 16_384 });
        assert_eq!(pieces[1], Piece { group: 1, from: 0, to: 16_384 });
        assert_eq!(pieces[2], Piece { group: 2, from: 0, to: 232 });
    }

    #[test]
    fn a_set_keeps_what_was_put_in() {
        let mut set = GroupSet::new(130, false);
        assert!(set.insert(129) && !set.insert(129) && set.has(129) && !set.has(1));
        set.remove(129);
        assert!(!set.has(129));
        assert!(GroupSet::new(130, true).has(64));
    }
}

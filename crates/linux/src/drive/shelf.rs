//! Places of different length in one stretch of memory: which are taken, and which are free.
//!
//! Blocks are of 2^k units and begin at multiples of their length; a block is halved until it fits, and joined with its
//! other half again when both are free (Knuth's buddy system). Taking and giving back cost a few steps each, nothing is
//! allocated, and when all is given back the largest blocks are whole again, whatever was taken in which order.
//! Rejected: one list of places of the largest size, of which a small transfer would take up as much as a large one.

/// No unit.
const NONE: u32 = u32::MAX;

/// A block that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// Its first unit.
    pub start: u32,
    /// It is 2^order units long.
    pub order: u8,
}

/// A unit, as the beginning of a free block.
#[derive(Clone, Copy)]
struct Unit {
    /// Order of the free block that begins here; `u8::MAX` if none does.
    order: u8,
    before: u32,
    after: u32,
}

const TAKEN: Unit = Unit { order: u8::MAX, before: NONE, after: NONE };

/// Allocator of blocks, with lists of the free ones.
pub(crate) struct Shelf {
    units: Box<[Unit]>,
    /// First free block, by order.
    free: Box<[u32]>,
}

impl Shelf {
    /// `count` free blocks of the largest order.
    pub fn new(order_max: u8, count: u32) -> Shelf {
        let units = (count as usize) << order_max;
        let mut shelf = Shelf {
            units: vec![TAKEN; units].into_boxed_slice(),
            free: vec![NONE; usize::from(order_max) + 1].into_boxed_slice(),
        };
        for block in (0..count).rev() {
            shelf.put(Block { start: block << order_max, order: order_max });
        }
        shelf
    }

    /// The order of a block of at least `units`.
    #[inline]
    pub fn order(units: usize) -> u8 {
        units.max(1).next_power_of_two().trailing_zeros() as u8
    }

    /// True when there is a free block of `order`, or one to be halved for it.
    #[inline]
    pub fn has(&self, order: u8) -> bool {
        self.free.get(usize::from(order)..).is_some_and(|free| free.iter().any(|&f| f != NONE))
    }

    /// Takes a block; `None` when none of that order is left.
    #[inline]
    pub fn take(&mut self, order: u8) -> Option<Block> {
        let from = (usize::from(order)..self.free.len()).find(|&o| self.free[o] != NONE)?;
        let start = self.free[from];
        self.remove(start);
        // The lower half is taken, so that the stretch's end stays whole the longest.
        for half in (order..from as u8).rev() {
            self.put(Block { start: start + (1 << half), order: half });
        }
        Some(Block { start, order })
    }

    /// Gives a block back that was taken.
    #[inline]
    pub fn give(&mut self, block: Block) {
        let Block { mut start, mut order } = block;
        while usize::from(order) + 1 < self.free.len() {
            let buddy = start ^ (1 << order);
            if self.units[buddy as usize].order != order {
                break;
            }
            self.remove(buddy);
            start = start.min(buddy);
            order += 1;
        }
        self.put(Block { start, order });
    }

    fn put(&mut self, Block { start, order }: Block) {
        let after = std::mem::replace(&mut self.free[usize::from(order)], start);
        if after != NONE {
            self.units[after as usize].before = start;
        }
        self.units[start as usize] = Unit { order, before: NONE, after };
    }

    fn remove(&mut self, start: u32) {
        let Unit { order, before, after } =
            std::mem::replace(&mut self.units[start as usize], TAKEN);
        match before {
            NONE => self.free[usize::from(order)] = after,
            before => self.units[before as usize].after = after,
        }
        if after != NONE {
            self.units[after as usize].before = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(state: &mut u64, below: usize) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*state >> 33) as usize % below
    }

    // Two transfers in one place: a read would overwrite what is being written.
    #[test]
    fn blocks_never_overlap_and_all_comes_back() {
        const UNITS: usize = 4 << 8;
        let mut shelf = Shelf::new(8, 4);
        let (mut state, mut taken) = (1, Vec::<Block>::new());
        let mut owner = vec![false; UNITS];
        let range = |b: &Block| b.start as usize..(b.start as usize) + (1 << b.order);
        for round in 0..200_000 {
            // It fills up in one phase and empties in the next.
            let fills = (round / 5_000) % 2 == 0;
            if draw(&mut state, 10) < if fills { 7 } else { 3 } {
                let order = Shelf::order(1 + draw(&mut state, 256));
                let has = shelf.has(order);
                let block = shelf.take(order);
                assert_eq!(has, block.is_some());
                if let Some(block) = block {
                    assert_eq!(block.start % (1 << order), 0, "{block:?}");
                    for unit in range(&block) {
                        assert!(!std::mem::replace(&mut owner[unit], true), "{block:?}");
                    }
                    taken.push(block);
                }
            } else if !taken.is_empty() {
                let block = taken.swap_remove(draw(&mut state, taken.len()));
                range(&block).for_each(|unit| owner[unit] = false);
                shelf.give(block);
            }
        }
        taken.drain(..).for_each(|block| shelf.give(block));
        let whole: Vec<_> = std::iter::from_fn(|| shelf.take(8)).collect();
        assert_eq!(whole.len(), 4, "what was halved is joined again");
        assert!(!shelf.has(0));
    }

    #[test]
    fn small_blocks_use_up_no_more_than_they_are_long() {
        let mut shelf = Shelf::new(8, 2);
        assert_eq!(std::iter::from_fn(|| shelf.take(0)).count(), 512);
        assert_eq!([1, 2, 3, 4, 5, 256].map(Shelf::order), [0, 1, 2, 2, 3, 8]);
        assert!(!shelf.has(9) && shelf.take(9).is_none(), "longer than the longest");
    }
}

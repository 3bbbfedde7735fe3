//! The blocks that are full, and which of them is to be collected next.

use super::collection::Collection;
use crate::noise::Noise;

/// No block.
const NONE: u32 = u32::MAX;

/// Memory of [`Closed`] for each block, in bytes.
pub(super) const BYTES_PER_BLOCK: u64 = 16;
/// The same of each list.
pub(super) const BYTES_PER_LIST: u64 = 8;

/// Full blocks with the count of valid units in each, in the order that the policy needs.
#[derive(Debug)]
pub(super) struct Closed {
    policy: Collection,
    /// Of all blocks, whether closed or not. What a write touches of a block lies together, on one line of the
    /// processor's cache.
    blocks: Vec<Block>,
    /// Closed blocks in no order (choices).
    members: Vec<u32>,
    /// Doubly linked lists through the blocks: one for each count of valid units (greedy), or one alone, oldest
    /// first (FIFO).
    lists: Vec<Ends>,
    /// No list below this one has a block.
    lowest: usize,
    noise: Noise,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    /// Valid units.
    valid: u32,
    /// Its place among `members`, for choices, else anything; [`NONE`] when it is not closed.
    place: u32,
    /// Its neighbours in its list.
    before: u32,
    after: u32,
}
const _: () = assert!(size_of::<Block>() as u64 == BYTES_PER_BLOCK);

impl Block {
    const OPEN: Block = Block { valid: 0, place: NONE, before: NONE, after: NONE };
}

#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
}

impl Closed {
    pub(super) fn new(policy: Collection, blocks: u32, units_per_block: u32, seed: u64) -> Closed {
        let lists = match policy {
            Collection::Greedy => units_per_block as usize + 1,
            Collection::Fifo => 1,
            Collection::Choices(_) => 0,
        };
        Closed {
            policy,
            blocks: vec![Block::OPEN; blocks as usize],
            members: Vec::new(),
            lists: vec![Ends { first: NONE, last: NONE }; lists],
            lowest: lists,
            noise: Noise::new(seed),
        }
    }

    /// Valid units of a block.
    #[inline]
    pub(super) fn valid(&self, block: u32) -> u32 {
        self.blocks[block as usize].valid
    }

    /// A unit of `block` became valid; it is open.
    #[inline]
    pub(super) fn gain(&mut self, block: u32) {
        self.blocks[block as usize].valid += 1;
    }

    /// Sets the count of a block that is not closed.
    pub(super) fn set(&mut self, block: u32, valid: u32) {
        self.blocks[block as usize].valid = valid;
    }

    /// A unit of `block` became stale.
    #[inline]
    pub(super) fn lose(&mut self, block: u32) {
        let valid = self.blocks[block as usize].valid - 1;
        if self.policy == Collection::Greedy && self.blocks[block as usize].place != NONE {
            self.unlink(block, valid as usize + 1);
            self.append(block, valid as usize);
        }
        self.blocks[block as usize].valid = valid;
    }

    /// `block` is full from now on.
    pub(super) fn add(&mut self, block: u32) {
        match self.policy {
            Collection::Greedy => {
                self.blocks[block as usize].place = 0;
                self.append(block, self.blocks[block as usize].valid as usize);
            }
            Collection::Fifo => {
                self.blocks[block as usize].place = 0;
                self.append(block, 0);
            }
            Collection::Choices(_) => {
                self.blocks[block as usize].place = self.members.len() as u32;
                self.members.push(block);
            }
        }
    }

    /// Takes the block that the policy collects next; `None` when none is closed.
    pub(super) fn take(&mut self) -> Option<u32> {
        let block = match self.policy {
            Collection::Greedy | Collection::Fifo => self.first()?,
            Collection::Choices(choices) => self.choose(choices)?,
        };
        self.remove(block);
        Some(block)
    }

    /// Takes `block` out, wherever it stands.
    fn remove(&mut self, block: u32) {
        match self.policy {
            Collection::Greedy => self.unlink(block, self.blocks[block as usize].valid as usize),
            Collection::Fifo => self.unlink(block, 0),
            Collection::Choices(_) => {
                let place = self.blocks[block as usize].place as usize;
                self.members.swap_remove(place);
                if let Some(&moved) = self.members.get(place) {
                    self.blocks[moved as usize].place = place as u32;
                }
            }
        }
        self.blocks[block as usize].place = NONE;
    }

    fn first(&mut self) -> Option<u32> {
        while self.lists.get(self.lowest)?.first == NONE {
            self.lowest += 1;
        }
        Some(self.lists[self.lowest].first)
    }

    /// The one with the fewest valid units among `choices` drawn at random, with replacement.
    fn choose(&mut self, choices: u32) -> Option<u32> {
        let count = self.members.len() as u64;
        let draws = (0..choices).map(|_| self.noise.below(count) as usize);
        let drawn = draws.filter_map(|at| self.members.get(at).copied());
        drawn.min_by_key(|&block| self.blocks[block as usize].valid)
    }

    #[inline]
    fn append(&mut self, block: u32, list: usize) {
        let last = self.lists[list].last;
        self.blocks[block as usize].before = last;
        self.blocks[block as usize].after = NONE;
        match last {
            NONE => self.lists[list].first = block,
            last => self.blocks[last as usize].after = block,
        }
        self.lists[list].last = block;
        self.lowest = self.lowest.min(list);
    }

    #[inline]
    fn unlink(&mut self, block: u32, list: usize) {
        let (before, after) =
            (self.blocks[block as usize].before, self.blocks[block as usize].after);
        match before {
            NONE => self.lists[list].first = after,
            before => self.blocks[before as usize].after = after,
        }
        match after {
            NONE => self.lists[list].last = before,
            after => self.blocks[after as usize].before = before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Closed {
        /// The closed blocks, in the order of their lists; panics where the lists contradict themselves.
        pub(in super::super) fn audit(&self) -> Vec<u32> {
            let mut found = self.members.clone();
            for (place, &block) in self.members.iter().enumerate() {
                assert_eq!(
                    self.blocks[block as usize].place as usize, place,
                    "place of block {block}"
                );
            }
            for (list, ends) in self.lists.iter().enumerate() {
                let (mut block, mut before) = (ends.first, NONE);
                assert!(block == NONE || list >= self.lowest, "list {list} is below the lowest");
                while block != NONE {
                    assert_eq!(self.blocks[block as usize].before, before);
                    if self.policy == Collection::Greedy {
                        assert_eq!(
                            self.blocks[block as usize].valid as usize, list,
                            "list of {block}"
                        );
                    }
                    found.push(block);
                    (block, before) = (self.blocks[block as usize].after, block);
                }
                assert_eq!(ends.last, before, "end of list {list}");
            }
            for block in 0..self.blocks.len() as u32 {
                let is_in = self.blocks[block as usize].place != NONE;
                assert_eq!(is_in, found.contains(&block), "block {block}");
            }
            found
        }

        fn with(policy: Collection, valid: &[u32]) -> Closed {
            let mut closed = Closed::new(policy, valid.len() as u32, 9, 1);
            for (block, &valid) in valid.iter().enumerate() {
                closed.set(block as u32, valid);
                closed.add(block as u32);
            }
            closed
        }
    }

    fn taken(closed: &mut Closed) -> Vec<u32> {
        std::iter::from_fn(|| closed.take()).collect()
    }

    // Breaks when a block that loses a unit stays in its list, when `lowest` does not follow it down, or when ties
    // are not broken by age: another block would be collected than the policy says.
    #[test]
    fn greedy_takes_the_emptiest_and_of_equals_the_one_that_has_been_so_for_longest() {
        let mut closed = Closed::with(Collection::Greedy, &[5, 3, 9, 3, 4]);
        assert_eq!(closed.take(), Some(1));
        closed.lose(0);
        closed.lose(0);
        closed.lose(2);
        assert_eq!(closed.audit(), [3, 0, 4, 2]);
        for _ in 0..8 {
            closed.lose(2);
        }
        assert_eq!(closed.audit(), [2, 3, 0, 4]);
        assert_eq!(taken(&mut closed), [2, 3, 0, 4]);
        assert_eq!(closed.take(), None);
        closed.add(1);
        assert_eq!(taken(&mut closed), [1], "after the lists were empty");
    }

    #[test]
    fn fifo_takes_the_oldest_whatever_it_holds() {
        let mut closed = Closed::with(Collection::Fifo, &[5, 3, 9]);
        closed.lose(1);
        assert_eq!(closed.take(), Some(0));
        closed.add(0);
        assert_eq!(closed.audit(), [1, 2, 0]);
        assert_eq!(taken(&mut closed), [1, 2, 0]);
    }

    // With d draws of n, the emptiest is among them with 1 - (1 - 1/n)^d: 0.41 of the takes for 5 of 10. One draw
    // would give 0.10, and looking at all of them 1.
    #[test]
    fn choices_take_the_best_of_so_many_draws() {
        let mut closed = Closed::with(Collection::Choices(5), &[9, 8, 7, 6, 1, 9, 8, 7, 6, 5]);
        let mut best = 0;
        for _ in 0..4000 {
            let block = closed.take().unwrap();
            assert_eq!(closed.audit().len(), 9);
            best += u32::from(block == 4);
            closed.add(block);
        }
        // 5 standard deviations of a binomial count about 1638.
        assert!((1480..1796).contains(&best), "{best}");
    }

    // A unit of a block that is being written or emptied must not drag it into a list.
    #[test]
    fn losing_a_unit_leaves_a_block_that_is_not_closed_out_of_the_lists() {
        for policy in [Collection::Greedy, Collection::Fifo, Collection::Choices(2)] {
            let mut closed = Closed::with(policy, &[4, 6]);
            let block = closed.take().unwrap();
            closed.lose(block);
            assert_eq!(closed.audit(), [1 - block]);
            assert_eq!(closed.valid(block) + closed.valid(1 - block), 9);
        }
    }
}

//! The flash translation layer of one die: a log of units, and the collection that keeps it going.
//!
//! It has no clock. The device asks where a unit goes, does the work on its own clock, and does the collection when
//! this layer reports that it is due. Logical units are spread over the dies by address, so that each die is a drive
//! of its own, and the theory of write amplification applies to each.
//!
//! A block is the same block of all planes. A slot holds one unit; slots of a block are written in order.

mod closed;
mod collection;
mod map;
mod profile;
mod state;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use self::closed::Closed;
pub(crate) use self::collection::Collection;
use self::map::Map;

/// Blocks beyond those that hold data and over-provisioning: one that the host writes, one that the collection
/// writes, and two that are free, so that neither ever waits for a whole block. Over-provisioning is stated net of
/// them: a block is chosen for collection as soon as their slots are all that is unwritten, so that what theory
/// calls the physical size is `data_blocks`, to the slot.
pub(crate) const SPARE_BLOCKS: u32 = 4;
/// Free blocks that are left to the collection.
const FREE_FOR_MOVES: usize = 1;

/// Size of a die's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Logical units.
    pub(crate) units: u32,
    /// Blocks for data and over-provisioning, [`SPARE_BLOCKS`] not counted.
    pub(crate) data_blocks: u32,
    /// Slots of a block.
    pub(crate) units_per_block: u32,
    /// Single-bit cache, if the die has one.
    pub(crate) slc: Option<SlcShape>,
}

impl Shape {
    /// True when a die of this size can always go on: there is something to collect whenever space is short. Stale
    /// data in blocks that are still being written cannot be collected, so that it takes one block more than the
    /// units fill, and another where a single-bit block may be half written for ever.
    pub(crate) fn is_workable(&self) -> bool {
        let open = match self.slc {
            Some(slc) if slc.blocks == 0 || !self.fits(slc) => return false,
            Some(slc) if !slc.is_static => 2,
            _ => 1,
        };
        let slots = u64::from(self.blocks()) * u64::from(self.units_per_block);
        let full =
            u64::from(self.data_blocks.saturating_sub(open)) * u64::from(self.units_per_block);
        // A slot plus one, and the mark of a unit that holds nothing, are 32 bits.
        self.units > 0 && u64::from(self.units) < full && slots < u64::from(u32::MAX) - 1
    }

    /// Blocks that a die in its initial state could lend to the single-bit cache.
    pub(crate) fn blocks_to_lend(&self, state: InitialState) -> u32 {
        let held = match state {
            InitialState::Fresh => 0,
            InitialState::Filled => self.units.div_ceil(self.units_per_block),
            InitialState::Steady => self.data_blocks,
        };
        self.data_blocks.saturating_sub(held)
    }

    /// Bytes of memory that a die takes up before anything is written to it: tables that begin as zeroes cost none
    /// until they are used, and a steady die has used them. Only of a shape that [is
    /// workable](Shape::is_workable).
    pub(crate) fn bytes_at_first(&self, policy: Collection, state: InitialState) -> u64 {
        let (blocks, units) = (u64::from(self.blocks()), u64::from(self.units));
        let slots = blocks * u64::from(self.units_per_block);
        let lists = match policy {
            Collection::Greedy => u64::from(self.units_per_block) * closed::BYTES_PER_LIST,
            Collection::Fifo | Collection::Choices(_) => 0,
        };
        let map = match state {
            InitialState::Fresh => 0,
            InitialState::Filled => units / 8,
            InitialState::Steady => 4 * (units + slots) + slots / 8,
        };
        // Besides what `closed` keeps of a block: its place among those that are free, and its mode.
        blocks * (closed::BYTES_PER_BLOCK + 5) + lists + map
    }

    fn fits(&self, slc: SlcShape) -> bool {
        (1..=self.units_per_block).contains(&slc.units_per_block)
    }

    /// All blocks of the die.
    fn blocks(&self) -> u32 {
        let set_aside = self.slc.filter(|slc| slc.is_static).map_or(0, |slc| slc.blocks);
        self.data_blocks + SPARE_BLOCKS + set_aside
    }
}

/// Part of a die that is written with one bit a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlcShape {
    /// Most blocks in this mode at once.
    pub(crate) blocks: u32,
    /// Slots that are used of a block in this mode: those of all bits, divided by the bits of a cell.
    pub(crate) units_per_block: u32,
    /// The blocks are set aside for it, on top of `data_blocks`; else they are taken from those that are free.
    pub(crate) is_static: bool,
}

/// Content of the die when the drive is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InitialState {
    /// Nothing.
    Fresh,
    /// Every unit once, in order.
    Filled,
    /// As after endless writes to random units.
    Steady,
}

/// Destination of a host's write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// To blocks with all bits of a cell.
    Main,
    /// To blocks with one bit a cell.
    Slc,
}

/// The blocks that are being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Front {
    Host(Stream),
    Moves,
}

/// Result of a step of collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collected {
    /// Nothing: there is nothing to collect.
    Nothing,
    /// Units were moved, and their slots reported.
    Moved,
    /// This block holds nothing more and is erased; it can be written again.
    Erased(u32),
}

impl Front {
    fn index(self) -> usize {
        match self {
            Front::Host(Stream::Main) => 0,
            Front::Host(Stream::Slc) => 1,
            Front::Moves => 2,
        }
    }
}

/// A block that is being written.
#[derive(Clone, Copy, Debug)]
struct Frontier {
    next: u32,
    end: u32,
}

/// A block that is being emptied.
#[derive(Clone, Copy, Debug)]
struct Victim {
    block: u32,
    /// Slots before this one were looked at.
    next: u32,
    /// Valid units when it was chosen.
    held: u32,
    /// Units moved out of it.
    moved: u32,
}

/// The log of one die.
#[derive(Debug)]
pub(crate) struct Ftl {
    shape: Shape,
    map: Map,
    closed: Closed,
    /// Blocks in single-bit mode, oldest first, the one being written last.
    slc: VecDeque<u32>,
    /// By block: it is among `slc`.
    single_bit: Vec<bool>,
    /// The one that was erased first comes first.
    free: VecDeque<u32>,
    fronts: [Option<Frontier>; 3],
    victim: Option<Victim>,
    /// The single-bit block that is being folded.
    folding: Option<Victim>,
}

impl Ftl {
    /// A die in its initial state. `seed` is for what is drawn: the choices, and the places of a steady die. Only of
    /// a shape that [is workable](Shape::is_workable) can a host write for ever.
    pub(crate) fn new(shape: Shape, policy: Collection, state: InitialState, seed: u64) -> Ftl {
        let blocks = shape.blocks();
        let filled = state == InitialState::Filled;
        let mut ftl = Ftl {
            shape,
            map: Map::new(shape.units, blocks * shape.units_per_block, filled),
            closed: Closed::new(policy, blocks, shape.units_per_block, seed),
            slc: VecDeque::new(),
            single_bit: vec![false; blocks as usize],
            free: (0..blocks).collect(),
            fronts: [None; 3],
            victim: None,
            folding: None,
        };
        match state {
            InitialState::Fresh => {}
            InitialState::Filled => ftl.fill(),
            InitialState::Steady => ftl.age(policy, seed),
        }
        ftl
    }

    /// Returns the slot of `unit`; `None` when it was never written or is trimmed.
    #[inline]
    pub(crate) fn slot(&self, unit: u32) -> Option<u32> {
        self.map.slot(unit)
    }

    /// Says that `unit` will be asked for soon: what that needs of memory is fetched meanwhile, and not waited for.
    #[inline]
    pub(crate) fn touch(&self, unit: u32) {
        self.map.touch(unit);
    }

    /// Says that `unit` will be written very soon, some time after [`Ftl::touch`].
    #[inline]
    pub(crate) fn touch_to_write(&self, unit: u32) {
        self.map.touch_valid(unit);
    }

    /// True when `slot` is of a block that is written with one bit a cell.
    pub(crate) fn is_slc(&self, slot: u32) -> bool {
        self.single_bit[self.block(slot) as usize]
    }

    /// How many of `count` slots from `slot` on are valid.
    pub(crate) fn valid_in(&self, slot: u32, count: u32) -> u32 {
        self.map.valid_in(slot, slot + count)
    }

    #[inline]
    fn block(&self, slot: u32) -> u32 {
        slot / self.shape.units_per_block
    }

    /// Free blocks that multi-bit data may take: not those that are set aside.
    fn free_for_main(&self) -> usize {
        let set_aside = match self.shape.slc {
            Some(slc) if slc.is_static => (slc.blocks as usize).saturating_sub(self.slc.len()),
            _ => 0,
        };
        self.free.len().saturating_sub(set_aside)
    }

    /// Slots that multi-bit data could still be written to: of free blocks and of those being written.
    fn room(&self) -> u32 {
        let open = |front: Front| {
            self.fronts[front.index()].map_or(0, |open: Frontier| open.end - open.next)
        };
        self.free_for_main() as u32 * self.shape.units_per_block
            + open(Front::Host(Stream::Main))
            + open(Front::Moves)
    }

    /// True when the host's next unit has a slot: in the open block, or in a free one that the collection does not
    /// need. Where it has none, collecting ([`Stream::Main`]) or folding ([`Stream::Slc`], as long as
    /// [`Ftl::can_fold`]) makes room.
    #[inline]
    pub(crate) fn has_room(&self, stream: Stream) -> bool {
        self.fronts[Front::Host(stream).index()].is_some()
            || match stream {
                Stream::Main => self.free_for_main() > FREE_FOR_MOVES,
                Stream::Slc => self.blocks_for_slc() > 0,
            }
    }

    /// Blocks that could be put into single-bit mode now.
    fn blocks_for_slc(&self) -> usize {
        let Some(slc) = self.shape.slc else { return 0 };
        let allowed = (slc.blocks as usize).saturating_sub(self.slc.len());
        // Of blocks that are not set aside, only those that the collection will not need.
        let kept = if slc.is_static { 0 } else { SPARE_BLOCKS as usize };
        allowed.min(self.free.len().saturating_sub(kept))
    }

    /// Gives the host's `unit` its new slot; what it had becomes stale. `None` without room
    /// ([`Ftl::has_room`]): collect or fold first.
    #[inline]
    pub(crate) fn write(&mut self, unit: u32, stream: Stream) -> Option<u32> {
        if !self.has_room(stream) {
            return None;
        }
        let front = Front::Host(stream);
        let slot = self.next_slot(front)?;
        if let Some(old) = self.map.slot(unit) {
            self.spoil(old);
        }
        self.fill_slot(unit, slot);
        self.advance(front);
        Some(slot)
    }

    /// The next slot of a front, which is given a free block if it has none.
    #[inline]
    fn next_slot(&mut self, front: Front) -> Option<u32> {
        match self.fronts[front.index()] {
            Some(open) => Some(open.next),
            None => self.open_block(front),
        }
    }

    #[cold]
    fn open_block(&mut self, front: Front) -> Option<u32> {
        let block = self.free.pop_front()?;
        let mut slots = self.shape.units_per_block;
        if let (Front::Host(Stream::Slc), Some(slc)) = (front, self.shape.slc) {
            slots = slc.units_per_block;
            self.slc.push_back(block);
            self.single_bit[block as usize] = true;
        }
        let next = block * self.shape.units_per_block;
        self.fronts[front.index()] = Some(Frontier { next, end: next + slots });
        Some(next)
    }

    /// The next slot of an open block was used; a full block is closed.
    #[inline]
    fn advance(&mut self, front: Front) {
        let Some(open) = &mut self.fronts[front.index()] else { return };
        open.next += 1;
        if open.next == open.end {
            let last = open.next - 1;
            self.fronts[front.index()] = None;
            if front != Front::Host(Stream::Slc) {
                self.closed.add(self.block(last));
            }
        }
    }

    /// True when a drive that never writes past its single-bit blocks must not take more before [`Ftl::fold`] has done
    /// more. The last block that is free fills in step with the one that is folded meanwhile: if folding began only when
    /// all are full, the host would stop for a whole block, and then run at full speed for one.
    #[inline]
    pub(crate) fn fold_is_due(&self) -> bool {
        let Some(slc) = self.shape.slc else { return false };
        let open = self.fronts[Front::Host(Stream::Slc).index()];
        let open = open.map_or(0, |front: Frontier| front.end - front.next);
        if self.blocks_for_slc() > 0 || open >= slc.units_per_block {
            return false;
        }
        let missing = u64::from(slc.units_per_block - open);
        match self.folding {
            Some(victim) => {
                u64::from(victim.moved) * u64::from(slc.units_per_block)
                    < missing * u64::from(victim.held)
            }
            None => self.can_fold(),
        }
    }

    /// Leaves the host's next slots unused up to a multiple of `slots`: what is programmed at once. Returns how many.
    pub(crate) fn pad(&mut self, slots: u32, stream: Stream) -> u32 {
        let front = Front::Host(stream);
        let mut padded = 0;
        while let Some(open) = self.fronts[front.index()]
            && !open.next.is_multiple_of(slots)
        {
            self.advance(front);
            padded += 1;
        }
        padded
    }

    /// The host no longer wants what `unit` holds.
    pub(crate) fn trim(&mut self, unit: u32) {
        if let Some(slot) = self.map.slot(unit) {
            self.spoil(slot);
            self.map.forget(unit);
        }
    }

    #[inline]
    fn spoil(&mut self, slot: u32) {
        self.map.spoil(slot);
        self.closed.lose(self.block(slot));
    }

    #[inline]
    fn fill_slot(&mut self, unit: u32, slot: u32) {
        self.map.put(unit, slot);
        self.closed.gain(self.block(slot));
    }

    // ---- collection

    /// True when the host must not write on before [`Ftl::collect`] has done more. What a block to be freed holds is
    /// moved in step with the use of the space that it will leave, so that the drive slows down evenly and not by
    /// whole blocks. The step follows from the space alone, and not from counts of writes, so that what is left
    /// unused ([`Ftl::pad`]) or taken by folding is made up for as well.
    #[inline]
    pub(crate) fn is_behind(&self) -> bool {
        let per_block = self.shape.units_per_block;
        let missing = (SPARE_BLOCKS * per_block).saturating_sub(self.room());
        if missing == 0 {
            return false;
        }
        match self.making_room() {
            Some(victim) => {
                u64::from(victim.moved) * u64::from(per_block)
                    < u64::from(missing) * u64::from(victim.held)
                    || missing >= per_block
            }
            None => true,
        }
    }

    /// The block being emptied whose end will leave room for multi-bit data.
    fn making_room(&self) -> Option<Victim> {
        let shared = self.shape.slc.is_some_and(|slc| !slc.is_static);
        self.victim.or(if shared { self.folding } else { None })
    }

    /// Moves up to `most` units (at least 1) out of the block that the policy collects, or erases it when it is
    /// empty. Calls `each` with the slots from and to. Single-bit blocks that share their space with the others are
    /// folded first: none leaves more room for as little.
    pub(crate) fn collect(&mut self, most: u32, each: impl FnMut(u32, u32)) -> Collected {
        if self.victim.is_none()
            && self.shape.slc.is_some_and(|slc| !slc.is_static)
            && self.can_fold()
        {
            return self.empty_single_bit(0, most, each);
        }
        let victim = match self.victim.take() {
            Some(victim) => victim,
            None => match self.closed.take() {
                Some(block) => self.victim_of(block),
                None => return Collected::Nothing,
            },
        };
        let (victim, collected) = self.empty(victim, self.shape.units_per_block, 0, most, each);
        self.victim = victim;
        collected
    }

    /// True when there is a single-bit block that is full.
    pub(crate) fn can_fold(&self) -> bool {
        let open = self.fronts[Front::Host(Stream::Slc).index()].is_some();
        self.folding.is_some() || self.slc.len() > usize::from(open)
    }

    /// As [`Ftl::collect`], with the oldest single-bit block. Leaves to the collection the room that it needs, and
    /// does nothing when there is no more: while [`Ftl::is_behind`], collect first.
    pub(crate) fn fold(&mut self, most: u32, each: impl FnMut(u32, u32)) -> Collected {
        self.empty_single_bit(FREE_FOR_MOVES, most, each)
    }

    fn empty_single_bit(
        &mut self,
        keep: usize,
        most: u32,
        each: impl FnMut(u32, u32),
    ) -> Collected {
        let Some(slc) = self.shape.slc else { return Collected::Nothing };
        let victim = match self.folding.take() {
            Some(victim) => victim,
            None if self.can_fold() => match self.slc.front() {
                Some(&block) => self.victim_of(block),
                None => return Collected::Nothing,
            },
            None => return Collected::Nothing,
        };
        let (victim, collected) = self.empty(victim, slc.units_per_block, keep, most, each);
        self.folding = victim;
        if let Collected::Erased(block) = collected {
            self.slc.retain(|&b| b != block);
        }
        collected
    }

    fn victim_of(&self, block: u32) -> Victim {
        let next = block * self.shape.units_per_block;
        Victim { block, next, held: self.closed.valid(block), moved: 0 }
    }

    /// Moves up to `most` units out of the first `slots` slots of a block, as long as `keep` blocks stay free; erases
    /// the block when there are none left.
    fn empty(
        &mut self,
        mut victim: Victim,
        slots: u32,
        keep: usize,
        most: u32,
        mut each: impl FnMut(u32, u32),
    ) -> (Option<Victim>, Collected) {
        let end = victim.block * self.shape.units_per_block + slots;
        let mut moved = 0;
        while moved < most
            && let Some(from) = self.map.next_valid(victim.next, end)
        {
            let opens = self.fronts[Front::Moves.index()].is_none();
            if self.free_for_main() < keep + usize::from(opens) {
                break;
            }
            let Some(to) = self.next_slot(Front::Moves) else { break };
            let unit = self.map.unit(from);
            self.spoil(from);
            self.fill_slot(unit, to);
            self.advance(Front::Moves);
            each(from, to);
            victim.next = from + 1;
            moved += 1;
        }
        victim.moved += moved;
        if moved > 0 {
            return (Some(victim), Collected::Moved);
        }
        if self.map.next_valid(victim.next, end).is_some() {
            // No slot to move to. To the collection this does not happen: of the free blocks it is left one, which is
            // as much as any block holds, and gets one back for each that it empties.
            return (Some(victim), Collected::Nothing);
        }
        self.free.push_back(victim.block);
        self.single_bit[victim.block as usize] = false;
        (None, Collected::Erased(victim.block))
    }
}

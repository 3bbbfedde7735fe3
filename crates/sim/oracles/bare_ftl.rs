//! A page-mapped log with greedy collection and nothing else: no time, no dies, no queue, no latency. It shares no
//! line with the virtual drives. Whatever a drive of flash simulates, it has to do this much; so its time is what
//! theirs is measured by, and its write amplification a second opinion.

/// Holds nothing, or belongs to no block.
const NONE: u32 = u32::MAX;

/// The log.
#[derive(Debug)]
pub struct BareFtl {
    units_per_block: usize,
    /// By unit: its slot.
    slots: Vec<u32>,
    /// By slot: its unit, or [`NONE`] when that has moved on.
    units: Vec<u32>,
    /// By block: units that are still there.
    held: Vec<u32>,
    /// By block: it is full and may be collected.
    is_full: Vec<bool>,
    free: Vec<usize>,
    host: Cursor,
    moves: Cursor,
    /// Units that collection has written.
    pub moved: u64,
}

/// Position of a stream of writes.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    next: usize,
    end: usize,
}

impl BareFtl {
    /// A log that holds `units`, in order, with `blocks` blocks of `units_per_block` slots for them and for
    /// over-provisioning, and two more that are being written. They must have more slots than there are units, by a
    /// block at least.
    pub fn filled(units: usize, blocks: usize, units_per_block: usize) -> BareFtl {
        assert!(units + units_per_block < blocks * units_per_block, "no over-provisioning");
        let all = blocks + 2;
        let closed = Cursor { next: 0, end: 0 };
        let mut log = BareFtl {
            units_per_block,
            slots: vec![NONE; units],
            units: vec![NONE; all * units_per_block],
            held: vec![0; all],
            is_full: vec![false; all],
            free: (0..all).rev().collect(),
            host: closed,
            moves: closed,
            moved: 0,
        };
        for unit in 0..units {
            log.write(unit as u32);
        }
        log
    }

    /// Writes `unit`, and collects a block when none but one is free.
    #[inline]
    pub fn write(&mut self, unit: u32) {
        if self.host.next == self.host.end {
            self.host = self.open(self.host);
            while self.free.len() < 2 {
                self.collect();
            }
        }
        let old = self.slots[unit as usize];
        if old != NONE {
            self.units[old as usize] = NONE;
            self.held[old as usize / self.units_per_block] -= 1;
        }
        let slot = self.host.next;
        self.host.next += 1;
        self.put(unit, slot);
    }

    #[inline]
    fn put(&mut self, unit: u32, slot: usize) {
        self.slots[unit as usize] = slot as u32;
        self.units[slot] = unit;
        self.held[slot / self.units_per_block] += 1;
    }

    /// A free block, in place of one that is full.
    fn open(&mut self, done: Cursor) -> Cursor {
        if done.end > 0 {
            self.is_full[done.end / self.units_per_block - 1] = true;
        }
        let block = self
            .free
            .pop()
            .unwrap_or_else(|| unreachable!("a block is kept free for the collection"));
        let next = block * self.units_per_block;
        Cursor { next, end: next + self.units_per_block }
    }

    /// Empties the full block that holds least.
    fn collect(&mut self) {
        let full = (0..self.held.len()).filter(|&block| self.is_full[block]);
        let victim = full
            .min_by_key(|&block| self.held[block])
            .unwrap_or_else(|| unreachable!("some block is full"));
        for slot in victim * self.units_per_block..(victim + 1) * self.units_per_block {
            let unit = self.units[slot];
            if unit == NONE {
                continue;
            }
            if self.moves.next == self.moves.end {
                self.moves = self.open(self.moves);
            }
            let to = self.moves.next;
            self.moves.next += 1;
            self.units[slot] = NONE;
            self.put(unit, to);
            self.moved += 1;
        }
        self.held[victim] = 0;
        self.is_full[victim] = false;
        self.free.push(victim);
    }
}

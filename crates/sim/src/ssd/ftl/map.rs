//! Map from logical units to slots and from slots to units: 8 bytes and a bit per physical slot.

/// Entry of a unit that holds nothing.
const NOTHING: u32 = u32::MAX;

/// The two tables and the bits of a die. Tables begin as zeroes, which the system hands out without touching memory;
/// so zero means "as in the beginning", and what the beginning was is one flag: a drive of terabytes that was
/// filled in order is made in no time.
#[derive(Debug)]
pub(super) struct Map {
    /// In the beginning each unit lies in the slot of the same number, or nowhere.
    filled: bool,
    /// By unit: 0 as in the beginning, [`NOTHING`], else its slot plus one.
    slots: Vec<u32>,
    /// By slot: 0 as in the beginning, else its unit plus one. Says nothing of a slot that is not valid.
    units: Vec<u32>,
    /// A bit per slot: it holds the present data of its unit.
    valid: Vec<u64>,
}

impl Map {
    /// Tables for `units` in `slots`; filled in order, or empty.
    pub(super) fn new(units: u32, slots: u32, filled: bool) -> Map {
        let mut valid = vec![0; (slots as usize).div_ceil(64)];
        if filled {
            let (whole, rest) = (units as usize / 64, units % 64);
            valid[..whole].fill(u64::MAX);
            if rest > 0 {
                valid[whole] = (1 << rest) - 1;
            }
        }
        Map { filled, slots: vec![0; units as usize], units: vec![0; slots as usize], valid }
    }

    /// Returns the slot of `unit`; `None` when it was never written or is trimmed.
    #[inline]
    pub(super) fn slot(&self, unit: u32) -> Option<u32> {
        match self.slots[unit as usize] {
            0 => self.filled.then_some(unit),
            NOTHING => None,
            slot => Some(slot - 1),
        }
    }

    /// Brings into the processor's cache where `unit` lies.
    #[inline]
    pub(super) fn touch(&self, unit: u32) {
        std::hint::black_box(self.slots[unit as usize]);
    }

    /// Brings into the processor's cache whether that slot is valid.
    #[inline]
    pub(super) fn touch_valid(&self, unit: u32) {
        if let Some(slot) = self.slot(unit) {
            std::hint::black_box(self.valid[slot as usize / 64]);
        }
    }

    /// Returns the unit that `slot` was last given. Only in a valid slot would the drive also read it.
    #[inline]
    pub(super) fn unit(&self, slot: u32) -> u32 {
        match self.units[slot as usize] {
            0 => slot,
            unit => unit - 1,
        }
    }

    /// Puts `unit` into `slot`, which is free.
    #[inline]
    pub(super) fn put(&mut self, unit: u32, slot: u32) {
        self.slots[unit as usize] = slot + 1;
        self.units[slot as usize] = unit + 1;
        self.valid[slot as usize / 64] |= 1 << (slot % 64);
    }

    /// Makes what `slot` holds stale.
    #[inline]
    pub(super) fn spoil(&mut self, slot: u32) {
        self.valid[slot as usize / 64] &= !(1 << (slot % 64));
    }

    /// Forgets where `unit` lies.
    #[inline]
    pub(super) fn forget(&mut self, unit: u32) {
        self.slots[unit as usize] = NOTHING;
    }

    /// First valid slot in `from..to`.
    #[inline]
    pub(super) fn next_valid(&self, from: u32, to: u32) -> Option<u32> {
        let mut at = from;
        while at < to {
            let bits = self.valid[at as usize / 64] >> (at % 64);
            if bits != 0 {
                let found = at + bits.trailing_zeros();
                return (found < to).then_some(found);
            }
            at = (at / 64 + 1) * 64;
        }
        None
    }

    /// Count of valid slots in `from..to`.
    pub(super) fn valid_in(&self, from: u32, to: u32) -> u32 {
        let next = |after: &u32| self.next_valid(after + 1, to);
        std::iter::successors(self.next_valid(from, to), next).count() as u32
    }
}

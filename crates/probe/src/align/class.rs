//! Classes of boundaries: which multiples of what they are, and where on a drive.

use std::fmt;

use serde::{Deserialize, Serialize};
use workload::rng::Rng;

/// A multi-plane page is hardly larger than this: above it rows are compared for the erase block at first.
pub(super) const GROUP_LOG2_MAX: u32 = 17;

/// A class of boundaries, all of which are multiples of the same powers.
///
/// With factor 1: odd multiples of 2^log2 that are not multiples of 3. With factor 3: odd multiples of 3 x 2^log2. So a
/// boundary of an erase block of 2^e bytes is one of each class with log2 >= e; of 3 x 2^e bytes, one of those with
/// factor 3 alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Class {
    /// The power of two.
    pub log2: u32,
    /// 1 or 3.
    pub factor: u8,
}

impl Class {
    /// The class that the boundaries at odd multiples of `align` bytes belong to; `None` unless `align` is 2^k or
    /// 3 x 2^k.
    pub fn of(align: u64) -> Option<Class> {
        let log2 = align.checked_ilog2()?.min(align.trailing_zeros());
        match align >> log2 {
            1 => Some(Class { log2, factor: 1 }),
            3 => Some(Class { log2, factor: 3 }),
            _ => None,
        }
    }

    /// The least boundary of the class, in bytes.
    pub fn align(self) -> u64 {
        u64::from(self.factor) << self.log2
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.align())
    }
}

/// The boundaries of one class within a part of a drive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    class: Class,
    /// Odd multiples of the class's size: first and last, as m in (2 m + 1).
    first: u64,
    last: u64,
}

impl Places {
    /// The boundaries in `from..to` that have `room` bytes before and after them within it. `None` where there are
    /// none.
    pub(super) fn new(class: Class, from: u64, to: u64, room: u64) -> Option<Places> {
        let align = class.align();
        let (low, high) = (from.checked_add(room)?, to.checked_sub(room)?);
        let first = low.saturating_sub(align).div_ceil(2 * align);
        let last = high.checked_sub(align)? / (2 * align);
        let places = Places { class, first, last };
        (first <= last && (0..3).any(|more| places.at(first + more).is_some())).then_some(places)
    }

    /// How many there are, about.
    pub(super) fn count(self) -> u64 {
        let odd = self.last - self.first + 1;
        if self.class.factor == 3 { odd } else { (odd * 2).div_ceil(3) }
    }

    /// One of them, each as likely as any other.
    pub(super) fn draw(self, rng: &mut Rng) -> Option<u64> {
        (0..64).find_map(|_| self.at(self.first + rng.below(self.last - self.first + 1)))
    }

    /// The boundary at (2 m + 1) times the class's size, if it belongs to it.
    fn at(self, m: u64) -> Option<u64> {
        let odd = 2 * m + 1;
        let belongs = m <= self.last && (self.class.factor == 3 || !odd.is_multiple_of(3));
        belongs.then(|| odd * self.class.align())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a boundary is counted to a class whose cost is another's: a step would be smeared over rows.
    #[test]
    fn places_are_multiples_of_their_class_and_of_no_larger_one() {
        let mut rng = Rng::for_path(1, &[1]);
        for (log2, factor) in [(10, 1), (22, 1), (20, 3), (25, 3)] {
            let class = Class { log2, factor };
            let places = Places::new(class, 0, 1 << 30, 65536).unwrap();
            for _ in 0..100 {
                let at = places.draw(&mut rng).unwrap();
                assert!(at >= 65536 && at + 65536 <= 1 << 30);
                assert_eq!(at.trailing_zeros(), log2);
                assert_eq!(at.is_multiple_of(3), factor == 3, "{at}");
            }
        }
    }

    #[test]
    fn there_are_as_many_as_fit() {
        let class = Class { log2: 20, factor: 1 };
        // 1, 5 and 7 MiB; 3 MiB is of another class, and 9 ends beyond.
        assert_eq!(Places::new(class, 0, 9 << 20, 1024).unwrap().count(), 3);
        assert!(Places::new(class, (2 << 20) + 1, 4 << 20, 1024).is_none());
        assert!(Places::new(class, 0, 1 << 20, 1024).is_none());
        assert_eq!(Class::of(3 << 20), Some(Class { log2: 20, factor: 3 }));
        assert_eq!(Class::of(5 << 20), None);
        assert_eq!(Class::of(0), None);
    }
}

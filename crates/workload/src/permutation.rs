//! Orders in which each of many blocks comes once.

use crate::rng::Rng;

/// An order of `0..count`, drawn from a key: a bijection, worked out at each place, without a table.
///
/// Rounds of multiplication by odd numbers, addition and xor with the upper half, each of which is a bijection of the
/// numbers below a power of two; what falls beyond `count` goes through again until it does not (cycle walking, Black
/// and Rogaway, "Ciphers with arbitrary finite domains", 2002), which takes less than two turns in the mean.
///
/// Rejected: a shuffled table, 8 bytes a block; and a linear congruence alone, whose neighbours keep their distance.
#[derive(Clone, Debug)]
pub struct Permutation {
    count: u64,
    mask: u64,
    shift: u32,
    rounds: [(u64, u64); ROUNDS],
}

const ROUNDS: usize = 4;

impl Permutation {
    /// The order of `count` numbers that `key` draws.
    pub fn new(count: u64, mut key: Rng) -> Permutation {
        let bits = 64 - count.saturating_sub(1).leading_zeros();
        Permutation {
            count,
            mask: if bits == 64 { u64::MAX } else { (1 << bits) - 1 },
            shift: bits.div_ceil(2).max(1),
            rounds: std::array::from_fn(|_| (key.next_u64() | 1, key.next_u64())),
        }
    }

    /// Returns the value at `place`, which is below the count.
    #[inline]
    pub fn at(&self, place: u64) -> u64 {
        let mut value = place;
        loop {
            for (factor, summand) in self.rounds {
                value = value.wrapping_mul(factor).wrapping_add(summand) & self.mask;
                value ^= value >> self.shift;
            }
            // A place that does not exist would walk for ever; it has no block.
            if value < self.count || place >= self.count {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(count: u64, key: u64) -> Vec<u64> {
        let permutation = Permutation::new(count, Rng::for_path(key, &[]));
        (0..count).map(|place| permutation.at(place)).collect()
    }

    // A block that comes twice is one that never comes: a pass that is said to have written all of a drive has not.
    #[test]
    fn each_block_comes_once() {
        for count in [1, 2, 3, 4, 5, 7, 8, 100, 1_000, 4_096, 65_537] {
            let mut all = order(count, 7);
            all.sort_unstable();
            assert!(all.into_iter().eq(0..count), "{count}");
        }
    }

    // Breaks when the order has a pattern: in a random load, accesses that are close in time are far apart in place.
    #[test]
    fn neighbours_in_time_are_far_apart_in_place() {
        let count = 1 << 16;
        let blocks = order(count, 3);
        let steps: Vec<f64> = blocks.windows(2).map(|w| w[0].abs_diff(w[1]) as f64).collect();
        let mean = steps.iter().sum::<f64>() / steps.len() as f64 / count as f64;
        // The distance of two uniform draws is a third in the mean, with a deviation of 0.236.
        assert!((mean - 1.0 / 3.0).abs() < 0.01, "{mean}");
        let near = steps.iter().filter(|step| **step < 656.0).count() as f64 / steps.len() as f64;
        assert!((near - 0.02).abs() < 0.004, "{near}");
        let same = order(count, 4).iter().zip(&blocks).filter(|(a, b)| a == b).count();
        assert!(same < 20, "{same}");
    }
}

//! A permutation of numbers that needs no table.

/// Rounds of the network. Four make it indistinguishable from chance to an observer of at most the square root of all
/// numbers (Luby and Rackoff, SIAM J. Computing 17, 1988); addresses need less.
const ROUNDS: u64 = 4;

/// A permutation of `0..n` drawn by a seed: a balanced Feistel network over the next power of four, walked along its
/// cycle until it comes back below n (Black and Rogaway, CT-RSA 2002).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Permutation {
    n: u64,
    half_bits: u32,
    seed: u64,
}

impl Permutation {
    /// Of `0..n`; `n` is at least 1 and at most 2^62.
    pub(super) fn new(n: u64, seed: u64) -> Permutation {
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        Permutation { n, half_bits: bits.div_ceil(2).max(1), seed }
    }

    /// Returns the image of `x`, which is below n.
    pub(super) fn of(&self, x: u64) -> u64 {
        let mut y = self.once(x);
        // The cycle that begins below n comes back below n, at the latest at x itself. On average that takes less
        // than four steps, since the power of four is less than four times n.
        while y >= self.n {
            y = self.once(y);
        }
        y
    }

    fn once(&self, x: u64) -> u64 {
        let mask = (1_u64 << self.half_bits) - 1;
        let (mut left, mut right) = (x >> self.half_bits, x & mask);
        for round in 0..ROUNDS {
            let mixed = mix(right ^ mix(self.seed ^ (round << 56))) & mask;
            (left, right) = (right, left ^ mixed);
        }
        (left << self.half_bits) | right
    }
}

/// The output function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_reached_once() {
        // Two parts of a trace that meet on the target would turn reads of different data into reads of the same.
        for n in [1, 2, 3, 4, 5, 16, 17, 1000, 4096, 5000] {
            let permutation = Permutation::new(n, 7);
            let mut seen = vec![false; n as usize];
            for x in 0..n {
                let y = permutation.of(x) as usize;
                assert!(!std::mem::replace(&mut seen[y], true), "{n}: {y} twice");
            }
        }
    }

    #[test]
    fn seeds_differ_and_neighbours_part() {
        let (a, b) = (Permutation::new(1 << 20, 1), Permutation::new(1 << 20, 2));
        let same = (0..1000).filter(|&x| a.of(x) == b.of(x)).count();
        let neighbours = (0..1000).filter(|&x| a.of(x).abs_diff(a.of(x + 1)) == 1).count();
        assert!(same < 5 && neighbours < 5, "{same}, {neighbours}");
    }
}

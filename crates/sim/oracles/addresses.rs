//! Addresses to write to.

/// Addresses: SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Clone, Copy, Debug)]
pub struct Addresses(pub u64);

impl Addresses {
    /// The next one below `bound`.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ (mixed >> 31)) * u128::from(bound)) >> 64) as u64
    }
}

/// A permutation of the numbers below a bound, which takes no memory: a balanced Feistel network (Luby and Rackoff
/// 1988) over the next even power of two, walked on until it falls below the bound (Black and Rogaway 2002).
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    bound: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// One of many; another seed gives another.
    pub fn new(bound: u64, seed: u64) -> Permutation {
        let bits = (u64::BITS - (bound - 1).leading_zeros()).max(2);
        let mut keys = Addresses(seed);
        let keys = std::array::from_fn(|_| keys.below(u64::MAX));
        Permutation { bound, half_bits: bits.div_ceil(2), keys }
    }

    /// The number at `place`, which is below the bound too.
    #[inline]
    pub fn at(&self, place: u64) -> u64 {
        let mut number = place;
        loop {
            number = self.mixed(number);
            if number < self.bound {
                return number;
            }
        }
    }

    #[inline]
    fn mixed(&self, number: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let (mut left, mut right) = (number >> self.half_bits, number & mask);
        for key in self.keys {
            let mixed = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (left, right) = (right, left ^ (mixed >> 40) & mask);
        }
        left << self.half_bits | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A number that came twice would be overwritten early, and one that was left out never.
    #[test]
    fn a_permutation_has_each_number_once_and_in_no_order() {
        for bound in [1, 2, 3, 64, 1000, 65_537] {
            let permutation = Permutation::new(bound, 5);
            let order: Vec<u64> = (0..bound).map(|place| permutation.at(place)).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..bound).collect::<Vec<u64>>());
            if bound >= 1000 {
                let rises = order.windows(2).filter(|w| w[0] < w[1]).count() as f64;
                assert!((rises / bound as f64 - 0.5).abs() < 0.05, "{rises} of {bound}");
                let other = Permutation::new(bound, 6);
                let same = order.iter().zip(0..).filter(|&(n, place)| *n == other.at(place));
                assert!(same.count() < 10);
            }
        }
    }
}

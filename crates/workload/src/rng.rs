//! The frozen random stream. Seeds are part of the record: a seed of today must replay the same
//! requests with every later version, so nothing in this file may change what is drawn.
//!
//! The generator is xoshiro256++ 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number
//! generators", 2021). Distributions are made here rather than taken from the `rand` crates, which
//! do not promise the same values from one version to the next.

use std::hash::{BuildHasherDefault, Hasher};

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Purpose of a stream: the first element of every path, so that no two uses share a stream.
///
/// The numbers are frozen with the streams.
pub(crate) mod purpose {
    /// Order of the steps in one block of the schedule.
    pub const ORDER: u64 = 1;
    /// Seed of one run of one step.
    pub const RUN: u64 = 2;
    /// Offsets of random accesses.
    pub const ADDRESS: u64 = 3;
    /// First block of a sequential cursor.
    pub const START: u64 = 4;
    /// Choice of the next operation.
    pub const OPS: u64 = 5;
    /// Content of written data.
    pub const CONTENT: u64 = 6;
    /// Order of the blocks in a pass.
    pub const PASS: u64 = 7;
}

/// SplitMix64's increment: 2^64 divided by the golden ratio, made odd.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's output function: a bijection in which each input bit reaches each output bit
/// (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). Zero stays zero.
#[inline]
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Hashes whole numbers for tables, well and fast. Not SipHash, which takes five times as long: in tables that are
/// bounded, numbers chosen to collide would only be slow.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mixing(u64);

impl Hasher for Mixing {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.0 = mix((self.0 ^ value).wrapping_add(GOLDEN));
    }
}

/// For tables whose keys are whole numbers.
pub type Mixed = BuildHasherDefault<Mixing>;

/// A stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream of `path` below `root`, such as `[purpose, phase, submitter]`.
    ///
    /// The key begins as `mix(root + G)` and takes in each element `e` as
    /// `key = mix((key + G) ^ mix(e + G))`, where `mix` is SplitMix64's output function and `G` its
    /// increment; the four words of state are the next four outputs of SplitMix64 from that key.
    /// Each step is a bijection of the key, so two paths of one length that differ in one element
    /// never share a stream; other pairs do so with the odds of 64-bit chance.
    ///
    /// Rejected: `seed + submitter`, as in diskspd, where the streams of two runs with neighbouring
    /// seeds are those of each other's submitters; and xoshiro's `jump`, which must be called as
    /// often as there are streams before this one.
    pub fn for_path(root: u64, path: &[u64]) -> Rng {
        let key = path.iter().fold(mix(root.wrapping_add(GOLDEN)), |key, element| {
            mix(key.wrapping_add(GOLDEN) ^ mix(element.wrapping_add(GOLDEN)))
        });
        Rng(Xoshiro256PlusPlus::seed_from_u64(key))
    }

    /// Uniform over all of `u64`.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform over `0..n`, without bias for any `n`; 0 when `n` is 0.
    ///
    /// Multiply-shift with rejection (Lemire, "Fast random integer generation in an interval", 2019),
    /// in 64 bits throughout: 32 would end at 16 TiB of 4 KiB blocks.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        let mut product = u128::from(self.next_u64()) * u128::from(n);
        if (product as u64) < n {
            let biased = n.wrapping_neg() % n;
            while (product as u64) < biased {
                product = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// Uniform over the multiples of 2^-53 in `[0, 1)`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Exponential with mean 1, in `[0, 37)`.
    ///
    /// By inversion with `libm`'s logarithm, which is the same bits on every platform; the standard
    /// library's is the platform's own.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// Puts `items` in an order drawn uniformly from all orders (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first<const N: usize>(root: u64, path: &[u64]) -> [u64; N] {
        let mut rng = Rng::for_path(root, path);
        std::array::from_fn(|_| rng.next_u64())
    }

    #[test]
    fn mixing_is_splitmix64() {
        // Vigna's reference splitmix64.c, seed 1234567: its published first outputs.
        let state = |n: u64| 1_234_567u64.wrapping_add(GOLDEN.wrapping_mul(n));
        let outputs = [1, 2, 3].map(|n| mix(state(n)));
        assert_eq!(
            outputs,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn the_stream_is_frozen() {
        // A change here makes every recorded seed a lie. The figures are those of tests/frozen.py.
        assert_eq!(
            first(0, &[]),
            [
                0x84f0_9bf3_07c1_073a,
                0xc82f_fb59_7cee_e51b,
                0xadf9_6905_c5df_4417,
                0xe9d9_a848_9d04_2c93
            ],
            "root 0"
        );
        assert_eq!(
            first(7, &[1]),
            [
                0x22c9_c80a_07dd_6ceb,
                0xf961_8889_5f35_ad14,
                0x6656_5994_888e_32ed,
                0xc747_8031_7237_2d9f
            ],
            "one element"
        );
        assert_eq!(
            first(u64::MAX, &[3, 0, u64::MAX]),
            [
                0xa661_583d_ba99_7a55,
                0x1e8e_bb31_c0ef_7c8f,
                0x93a0_3d84_b9ce_feb4,
                0xad62_cb68_4dc8_a6cf
            ],
            "the ends of the range"
        );
    }

    #[test]
    fn the_distributions_are_frozen() {
        let mut rng = Rng::for_path(42, &[9]);
        let below: [u64; 4] = std::array::from_fn(|_| rng.below(1_000_003));
        assert_eq!(below, [237_557, 369_938, 959_575, 405_313]);
        let wide: [u64; 2] = std::array::from_fn(|_| rng.below(u64::MAX / 3 * 2));
        assert_eq!(wide, [2_091_311_526_024_622_932, 2_125_755_939_323_401_734]);
        let units: [u64; 2] = std::array::from_fn(|_| rng.unit().to_bits());
        assert_eq!(units, [0x3fc0_a34c_d1d2_0d58, 0x3fea_9afb_4f39_a61c]);
        let exponentials: [u64; 4] = std::array::from_fn(|_| rng.exponential().to_bits());
        assert_eq!(
            exponentials,
            [
                0x3ffe_3374_37d1_1cbe,
                0x3fe0_a720_1ab8_e631,
                0x4003_54c8_4a73_c82a,
                0x3fb2_7d8f_2fa1_f394
            ]
        );
        let mut order: [u8; 10] = std::array::from_fn(|i| i as u8);
        rng.shuffle(&mut order);
        assert_eq!(order, [4, 9, 8, 6, 0, 7, 1, 3, 5, 2]);
    }

    #[test]
    fn paths_do_not_run_into_each_other() {
        // Neighbouring roots, elements, lengths and swapped elements: all streams differ.
        let mut paths = vec![vec![], vec![0], vec![0, 0], vec![0, 0, 0], vec![1, 2], vec![2, 1]];
        paths.extend((1..100).map(|n| vec![n]));
        let mut seen = std::collections::HashSet::new();
        for root in 0..50 {
            for path in &paths {
                assert!(seen.insert(first::<2>(root, path)), "root {root}, path {path:?}");
            }
        }
    }

    #[test]
    fn below_reaches_both_ends_and_favours_none() {
        let mut rng = Rng::for_path(1, &[]);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[rng.below(6) as usize] += 1;
        }
        // Six standard deviations of a binomial count are 550.
        assert!(counts.iter().all(|c| c.abs_diff(10_000) < 550), "{counts:?}");
        assert_eq!(rng.below(1), 0);
        assert_eq!(rng.below(0), 0);
        // At exactly 3/4 of 2^64, multiply-shift without rejection gives every third value twice the
        // odds of the others.
        let n = 3 << 62;
        let thirds = (0..30_000).filter(|_| rng.below(n).is_multiple_of(3)).count();
        assert!(thirds.abs_diff(10_000) < 550, "{thirds}");
    }

    #[test]
    fn unit_and_exponential_have_their_moments() {
        let mut rng = Rng::for_path(2, &[]);
        let n = 100_000;
        let (mut unit, mut mean, mut square) = (0.0, 0.0, 0.0);
        for _ in 0..n {
            let u = rng.unit();
            assert!((0.0..1.0).contains(&u));
            unit += u;
            let e = rng.exponential();
            assert!((0.0..37.0).contains(&e));
            mean += e;
            square += e * e;
        }
        let n = f64::from(n);
        assert!((unit / n - 0.5).abs() < 0.006, "{}", unit / n);
        assert!((mean / n - 1.0).abs() < 0.02, "{}", mean / n);
        assert!((square / n - 2.0).abs() < 0.09, "second moment {}", square / n);
    }

    #[test]
    fn shuffle_makes_every_order_equally_often() {
        let mut rng = Rng::for_path(3, &[]);
        let mut counts = std::collections::HashMap::new();
        for _ in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            rng.shuffle(&mut items);
            *counts.entry(items).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 24);
        assert!(counts.values().all(|c| c.abs_diff(1000) < 190), "{counts:?}");
    }
}

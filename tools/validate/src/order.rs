//! In which order the arms of a round run.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// `arms` in the order to run in `round`, which counts from 0; `name` distinguishes comparisons of
/// one seed. An even round draws an order; the odd one after it runs the same backwards. So each pair
/// of arms makes ABBA over two rounds, which cancels whatever grows or falls evenly meanwhile, and
/// which of them starts is left to chance.
pub fn abba<T>(mut arms: Vec<T>, name: &str, seed: u64, round: u32) -> Vec<T> {
    let name = name.bytes().fold(0u64, |hash, byte| hash.rotate_left(7) ^ u64::from(byte));
    shuffle(&mut arms, &[seed, u64::from(round / 2), name]);
    if round % 2 == 1 {
        arms.reverse();
    }
    arms
}

/// Shuffles `items` (Fisher and Yates), as the words of `seed` together say.
pub fn shuffle<T>(items: &mut [T], seed: &[u64]) {
    let mix = |state: u64, word: &u64| Xoshiro256PlusPlus::seed_from_u64(state ^ *word).next_u64();
    let mut noise = Xoshiro256PlusPlus::seed_from_u64(seed.iter().fold(0, mix));
    for last in (1..items.len()).rev() {
        let bound = last as u128 + 1;
        let chosen = (u128::from(noise.next_u64()) * bound) >> 64;
        items.swap(last, chosen as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Blocks of AAAA BBBB would let a machine that slows down pass for a slower program.
    #[test]
    fn two_rounds_make_abba_for_each_pair_of_arms() {
        for arms in [2, 3, 7] {
            let all: Vec<u32> = (0..arms).collect();
            for pair in 0..20 {
                let first = abba(all.clone(), "case", 7, 2 * pair);
                let mut second = abba(all.clone(), "case", 7, 2 * pair + 1);
                second.reverse();
                assert_eq!(first, second);
                let mut sorted = first.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, all, "each arm once");
            }
        }
    }

    // If one arm always came first, whatever the first place gives would be counted as its own.
    #[test]
    fn each_arm_comes_first_in_its_share_of_rounds() {
        for count in [3u32, 4] {
            let all: Vec<u32> = (0..count).collect();
            let rounds = 2000;
            for arm in &all {
                let leads = |round: &u32| abba(all.clone(), "case", 1, *round)[0] == *arm;
                let first = (0..rounds).filter(leads).count() as f64;
                let share = f64::from(rounds) / f64::from(count);
                // Pairs of rounds are independent: 5 deviations of a binomial count.
                assert!((first - share).abs() < 5.0 * share.sqrt(), "{arm}: {first} of {share}");
            }
        }
    }

    #[test]
    fn the_order_is_a_function_of_seed_and_name() {
        let orders = |name, seed| {
            (0..16).map(|round| abba(vec![1, 2, 3, 4], name, seed, round)).collect::<Vec<_>>()
        };
        assert_eq!(orders("a", 3), orders("a", 3));
        assert_ne!(orders("a", 3), orders("a", 4));
        assert_ne!(orders("a", 3), orders("b", 3));
    }
}

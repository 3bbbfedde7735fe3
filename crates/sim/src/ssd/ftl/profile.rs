//! How full uniform random writes leave the blocks of a die, once they have gone on for ever.
//!
//! With nothing but additions, multiplications and divisions, which are the same on every machine.

/// Valid shares of `blocks` blocks, oldest first, that sum up to `sum`, where the oldest is collected.
///
/// Of what was written at one time a share is overwritten in each unit of time, so that from block to block, by age,
/// the valid share falls by the same factor; the factor is that with which all units find their place (Desnoyers
/// 2012, for FIFO cleaning, which large blocks bring greedy cleaning near to).
pub(super) fn by_age(blocks: u32, sum: f64) -> Vec<f64> {
    let total = |factor: f64| (0..blocks).fold((0.0, 1.0), |(t, x), _| (t + x, x * factor)).0;
    let factor = halve(1.0, |factor| total(factor) < sum);
    let mut shares: Vec<f64> = Vec::with_capacity(blocks as usize);
    let mut share = 1.0;
    for _ in 0..blocks {
        shares.push(share);
        share *= factor;
    }
    shares.reverse();
    shares
}

/// As [`by_age`], emptiest first, where the best of `choices` drawn at random is collected: some blocks escape for
/// long, so that age alone says little.
pub(super) fn by_chance(blocks: u32, sum: f64, units_per_block: u32, choices: u32) -> Vec<f64> {
    let levels = units_per_block.min(LEVELS) as usize;
    let held = sum / f64::from(blocks) * levels as f64;
    // The more is gained from a block, the emptier they all are.
    let gain = halve(levels as f64, |gain| {
        fullness(levels, held, gain, choices).iter().sum::<f64>() > held
    });
    let at_least = fullness(levels, held, gain, choices);
    let share = |block: u32| {
        let rank = (f64::from(block) + 0.5) / f64::from(blocks);
        let full = at_least.iter().filter(|&&share| share >= 1.0 - rank).count();
        full as f64 / levels as f64
    };
    let shares: Vec<f64> = (0..blocks).map(share).collect();
    // Correction for the coarseness of the levels.
    let scale = sum / shares.iter().sum::<f64>();
    shares.into_iter().map(|share| (share * scale).min(1.0)).collect()
}

/// Units that blocks are thought to have at most: more change the shares by less than a part in 100.
const LEVELS: u32 = 64;

/// Share of blocks with at least 1, 2, … `levels` valid units when each collection gains `gain` and blocks hold
/// `held` on average.
///
/// In balance as many blocks come above a level as fall below it: each collection adds one that is full and takes
/// one, which is above the level if all `choices` are, and the writes between two collections, `gain` of them, hit
/// each valid unit alike (the mean field of Van Houdt 2013).
fn fullness(levels: usize, held: f64, gain: f64, choices: u32) -> Vec<f64> {
    let mut shares = vec![0.0; levels];
    let mut above = 0.0;
    for level in (1..=levels).rev() {
        let hits = gain * level as f64 / held;
        above = halve(1.0, |share| 1.0 - power(share, choices) > hits * (share - above));
        shares[level - 1] = above;
    }
    shares
}

/// Returns the end of the range in which `is_low` holds, within `0..high`, to 1 part in 2^40.
fn halve(high: f64, is_low: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, high);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if is_low(middle) { low = middle } else { high = middle }
    }
    high
}

/// `base^exponent` by squaring: `powi` may round otherwise from machine to machine.
fn power(base: f64, exponent: u32) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, exponent);
    while left > 0 {
        if left % 2 == 1 {
            result *= square;
        }
        square *= square;
        left /= 2;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fall_with_age_by_one_factor_and_sum_up() {
        let shares = by_age(1000, 800.0);
        assert!((shares.iter().sum::<f64>() - 800.0).abs() < 1e-4);
        assert!((shares[999] - 1.0).abs() < 1e-12);
        let factors: Vec<f64> = shares.windows(2).map(|w| w[1] / w[0]).collect();
        assert!(factors.iter().all(|f| (f - factors[0]).abs() < 1e-9 && *f > 1.0));
    }

    // One choice is a block at random, which holds what blocks hold on average.
    #[test]
    fn of_one_choice_the_mean_is_collected() {
        for held in [20.0, 50.0, 60.0] {
            let total = |gain: f64| fullness(64, held, gain, 1).iter().sum::<f64>();
            let gain = halve(64.0, |gain| total(gain) > held);
            assert!((gain - (64.0 - held)).abs() < 1e-6, "{gain}");
        }
    }

    #[test]
    fn shares_by_chance_sum_up_for_any_count_of_choices_and_units() {
        for choices in [1, 2, 3, 10, 100] {
            for per_block in [3, 16, 64, 4096] {
                let shares = by_chance(900, 700.0, per_block, choices);
                assert!((shares.iter().sum::<f64>() / 700.0 - 1.0).abs() < 0.01);
                assert!(shares.windows(2).all(|w| w[0] <= w[1]) && shares[899] <= 1.0);
            }
        }
    }
}

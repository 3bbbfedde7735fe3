//! The order in which flashbench visits places: a shift register with feedback, which sees each number once.

/// Fewest bits of the register.
pub(super) const BITS_MIN: u32 = 8;
/// Most bits of the register.
pub(super) const BITS_MAX: u32 = 16;
/// Initial value of the register, as far as its bits go.
const START: u32 = 0xace1;

/// Places whose number is fed back, for each length from 8 bits on: a maximal sequence for each (flashbench's own
/// choice; its names for them are polynomials such as x^8 + x^6 + x^5 + x^4 + 1, which count from the other end).
const TAPS: [&[u32]; 9] = [
    &[0, 2, 3, 4],
    &[0, 4],
    &[0, 3],
    &[0, 2],
    &[0, 1, 2, 8],
    &[0, 1, 2, 5],
    &[0, 1, 2, 12],
    &[0, 1],
    &[0, 2, 3, 5],
];

/// All numbers below 2^`bits` once each, from 0 on. `None` outside 8 to 16 bits.
pub(super) fn scattered(bits: u32) -> Option<impl Iterator<Item = u64>> {
    let taps = *TAPS.get(bits.checked_sub(BITS_MIN)? as usize)?;
    let start = START & ((1 << bits) - 1);
    let step = move |value: &u32| {
        // No register comes to 0 by itself: 0 comes before the start and is not fed back.
        let from = if *value == 0 { start } else { *value };
        let bit = taps.iter().fold(0, |bit, tap| bit ^ (from >> tap & 1));
        Some(from >> 1 | bit << (bits - 1))
    };
    Some(std::iter::successors(Some(0), step).take(1 << bits).map(u64::from))
}

/// All numbers below `count` once each, in the order of `--random`; the 0 comes last. `None` for more than 65,535.
pub(super) fn shuffled(count: u64) -> Option<Vec<u64>> {
    let bits = (u64::BITS - count.leading_zeros()).max(BITS_MIN);
    let numbers = scattered(bits)?.skip(1).filter(|number| *number < count);
    Some(numbers.chain((count > 0).then_some(0)).collect())
}

/// All numbers below `count` in the order that was asked for; `None` where [`shuffled`] has none.
pub(super) fn places(count: u64, random: bool) -> Option<Vec<u64>> {
    if random { shuffled(count) } else { Some((0..count).collect()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a place is visited twice or never: its time would be another's.
    #[test]
    fn each_number_comes_once() {
        for bits in BITS_MIN..=BITS_MAX {
            let mut seen: Vec<u64> = scattered(bits).unwrap().collect();
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..1 << bits), "{bits} bits");
        }
        for count in [0, 1, 2, 255, 256, 1000, 65_535] {
            let mut seen = shuffled(count).unwrap();
            seen.sort_unstable();
            assert!(seen.iter().copied().eq(0..count), "{count}");
        }
        assert!(shuffled(65_536).is_none() && scattered(7).is_none() && scattered(17).is_none());
    }

    // Breaks when the order is another than flashbench's: its tables and ours would be of different loads. Seen in
    // the calls that Debian's flashbench made, from which these are taken.
    #[test]
    fn the_order_is_that_of_flashbench() {
        let last = |bits| -> Vec<u64> { scattered(bits).unwrap().skip((1 << bits) - 3).collect() };
        assert_eq!(last(8), [134, 195, 225]);
        assert_eq!(last(12), [902, 2499, 3297]);
        assert_eq!(last(16), [45_959, 22_979, 44_257]);
        assert_eq!(shuffled(5).unwrap(), [2, 1, 3, 4, 0]);
        assert_eq!(
            shuffled(20).unwrap(),
            [17, 8, 18, 12, 6, 10, 15, 11, 5, 2, 1, 16, 14, 7, 3, 19, 9, 4, 13, 0]
        );
    }
}

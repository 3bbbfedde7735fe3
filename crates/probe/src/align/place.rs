//! Boundaries with their costs, and which numbers divide them.

/// Primes and the powers of them that decide which sizes divide a boundary.
pub(super) const PRIMES: [(u64, u32); 8] =
    [(3, 3), (5, 2), (7, 1), (11, 1), (13, 1), (17, 1), (19, 1), (23, 1)];

/// One boundary, and what crossing it cost in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) at: u64,
    pub(super) cost: f64,
    /// Cost beyond the slower of its sides.
    pub(super) beyond: f64,
}

/// The product of the prime powers that divide `at`, with its power of two: equal for boundaries of one group.
pub(super) fn signature(at: u64) -> u64 {
    let divides = |&(prime, most): &(u64, u32)| {
        let power = (1..=most).take_while(|power| at.is_multiple_of(prime.pow(*power))).count();
        prime.pow(power as u32)
    };
    let odd: u64 = PRIMES.iter().map(divides).product();
    odd << at.trailing_zeros().min(27)
}

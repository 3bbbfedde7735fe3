//! When requests are meant to be issued.

use block::Nanos;

use crate::plan::{Arrival, Gaps};
use crate::rng::Rng;

/// The intended times of one submitter in one phase.
///
/// [`Arrivals::next_due`] and [`Arrivals::next_gap`] are two views of the same sequence, and each
/// call of either takes one arrival from it.
#[derive(Clone, Debug)]
pub struct Arrivals {
    kind: Kind,
    /// Intended time of the arrival taken last.
    last: Nanos,
}

#[derive(Clone, Debug)]
enum Kind {
    ClosedLoop,
    Constant(Constant),
    Exponential {
        rng: Rng,
        mean_ns: f64,
        /// Part of a nanosecond that the times so far have rounded off.
        rest: f64,
    },
}

/// Arrival `i` is due at `i * 1e9 / per_s` ns, rounded down, with `per_s` taken as the exact fraction
/// that the floating-point number is: `per_s = odd * 2^-shift`.
///
/// Rejected: adding up a rounded gap, which at 3,000 per second is a third of a nanosecond short each
/// time, and a floating-point product, which loses whole nanoseconds after some weeks.
#[derive(Clone, Debug)]
struct Constant {
    index: u64,
    odd: u64,
    shift: i32,
}

impl Constant {
    fn new(per_s: f64) -> Constant {
        const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;
        let bits = per_s.to_bits();
        let fraction = bits & ((1 << FRACTION_BITS) - 1);
        let exponent = (bits >> FRACTION_BITS) as i32 & 0x7ff;
        // Numbers below 2^-1022 have no hidden bit and the exponent of the smallest that have one.
        let whole = if exponent == 0 { fraction } else { fraction | (1 << FRACTION_BITS) };
        let power = exponent.max(1) - 1023 - FRACTION_BITS as i32;
        let zeros = whole.trailing_zeros().min(63);
        Constant { index: 0, odd: (whole >> zeros).max(1), shift: -(power + zeros as i32) }
    }

    fn next(&mut self) -> u64 {
        const NS_PER_S: u128 = 1_000_000_000;
        let index = self.index;
        self.index = index.saturating_add(1);
        if index == 0 {
            return 0;
        }
        let scaled = u128::from(index) * NS_PER_S;
        let odd = u128::from(self.odd);
        if self.shift < 0 {
            // A divisor that exceeds 128 bits is far above `scaled`, which has 94.
            let shift = self.shift.unsigned_abs();
            let fits = shift <= odd.leading_zeros();
            return if fits {
                u64::try_from(scaled / (odd << shift)).unwrap_or(u64::MAX)
            } else {
                0
            };
        }
        // `odd` has at most 53 bits, so where this product leaves 128 bits the time leaves 64.
        if (self.shift as u32) >= scaled.leading_zeros() {
            return u64::MAX;
        }
        u64::try_from((scaled << self.shift) / odd).unwrap_or(u64::MAX)
    }
}

impl Arrivals {
    /// The arrivals of a phase that has this `arrival`, from the phase's beginning. `rng` is the
    /// submitter's own stream for it, used by [`Gaps::Exponential`] alone; `per_s` is above 0, which
    /// [`Plan::check`](crate::plan::Plan::check) ensures.
    pub fn new(arrival: &Arrival, rng: Rng) -> Arrivals {
        let kind = match *arrival {
            Arrival::ClosedLoop { .. } => Kind::ClosedLoop,
            Arrival::Timed { per_s, gaps: Gaps::Constant, .. } => {
                Kind::Constant(Constant::new(per_s))
            }
            Arrival::Timed { per_s, gaps: Gaps::Exponential, .. } => {
                Kind::Exponential { rng, mean_ns: 1e9 / per_s, rest: 0.0 }
            }
        };
        Arrivals { kind, last: Nanos::ZERO }
    }

    /// When the next request is meant to be issued, since the phase's beginning; `None` in a closed
    /// loop, where a completion says when. Never earlier than the one before.
    ///
    /// Constant arrivals begin at 0; exponential ones after a first gap, as a Poisson process does.
    #[inline]
    pub fn next_due(&mut self) -> Option<Nanos> {
        let due = match &mut self.kind {
            Kind::ClosedLoop => return None,
            Kind::Constant(constant) => constant.next(),
            Kind::Exponential { rng, mean_ns, rest } => {
                let gap = rng.exponential() * *mean_ns + *rest;
                let whole = gap as u64;
                *rest = gap - whole as f64;
                self.last.0.saturating_add(whole)
            }
        };
        self.last = Nanos(due);
        Some(self.last)
    }

    /// Time from the arrival before (at first: from the phase's beginning) to the next one; `None` in
    /// a closed loop.
    #[inline]
    pub fn next_gap(&mut self) -> Option<Nanos> {
        let before = self.last;
        self.next_due().map(|due| due - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(per_s: f64, gaps: Gaps) -> Arrivals {
        Arrivals::new(&Arrival::Timed { depth: 1, per_s, gaps }, Rng::for_path(5, &[]))
    }

    fn constant_at(per_s: f64, index: u64) -> u64 {
        Constant { index, ..Constant::new(per_s) }.next()
    }

    #[test]
    fn a_closed_loop_has_no_intended_times() {
        let mut none = Arrivals::new(&Arrival::ClosedLoop { depth: 8 }, Rng::for_path(5, &[]));
        assert_eq!((none.next_due(), none.next_gap()), (None, None));
    }

    #[test]
    fn constant_arrivals_do_not_drift() {
        // 3 per second: the gap is not a whole number of nanoseconds, but every third arrival is.
        let mut thirds = arrivals(3.0, Gaps::Constant);
        let due: Vec<u64> = (0..7).filter_map(|_| thirds.next_due().map(|d| d.0)).collect();
        assert_eq!(
            due,
            [
                0,
                333_333_333,
                666_666_666,
                1_000_000_000,
                1_333_333_333,
                1_666_666_666,
                2_000_000_000
            ]
        );
        // After a year at 3,000 per second the arrival is still due on the second.
        let year = 365 * 86_400;
        assert_eq!(constant_at(3000.0, 3000 * year), year * 1_000_000_000);
        assert_eq!(constant_at(0.5, 1 << 32), 1_000_000_000 << 33);
    }

    #[test]
    fn constant_arrivals_are_exact_for_rates_that_are_no_whole_number() {
        // 0.1 as a float is 3602879701896397 / 2^55; by hand: floor(i * 1e9 * 2^55 / that).
        let by_hand = |i: u128| (i * 1_000_000_000 * (1 << 55)) / 3_602_879_701_896_397;
        for index in [1, 7, 1000, 123_456_789] {
            assert_eq!(u128::from(constant_at(0.1, index)), by_hand(index.into()), "{index}");
        }
    }

    #[test]
    fn rates_at_the_ends_of_the_range_saturate() {
        for tiny in [f64::MIN_POSITIVE, f64::from_bits(1), 1e-30] {
            assert_eq!((constant_at(tiny, 0), constant_at(tiny, 1)), (0, u64::MAX));
        }
        assert_eq!(
            constant_at(1e-9, 1),
            999_999_999_999_999_937,
            "the float is a little above 1e-9"
        );
        for vast in [1e20, 1e50, f64::MAX] {
            assert_eq!(constant_at(vast, 1 << 20), 0);
        }
        assert_eq!(constant_at(1e9, u64::MAX), u64::MAX);
        let mut rare = arrivals(f64::MIN_POSITIVE, Gaps::Exponential);
        assert_eq!(
            (rare.next_due(), rare.next_due()),
            (Some(Nanos(u64::MAX)), Some(Nanos(u64::MAX)))
        );
    }

    #[test]
    fn gaps_and_times_are_one_sequence() {
        for gaps in [Gaps::Constant, Gaps::Exponential] {
            let (mut by_time, mut by_gap) = (arrivals(777.7, gaps), arrivals(777.7, gaps));
            let mut at = Nanos::ZERO;
            for _ in 0..10_000 {
                at += by_gap.next_gap().unwrap();
                assert_eq!(by_time.next_due(), Some(at));
            }
        }
    }

    #[test]
    fn exponential_arrivals_are_a_poisson_process() {
        // At 10^8 per second a gap is 10 ns: cutting each to whole nanoseconds would make the rate 5%
        // too high. The mean of 10^6 gaps has a standard error of 0.1%.
        let mut fast = arrivals(1e8, Gaps::Exponential);
        let last = (0..1_000_000).filter_map(|_| fast.next_due()).last().unwrap();
        assert!(last.0.abs_diff(10_000_000) < 50_000, "{last}");
        // Counts in slices of 10 expected arrivals have the variance of their mean.
        let mut slow = arrivals(1000.0, Gaps::Exponential);
        let mut counts = vec![0u32; 10_000];
        while let Some(count) = counts.get_mut((slow.next_due().unwrap().0 / 10_000_000) as usize) {
            *count += 1;
        }
        let mean = f64::from(counts.iter().sum::<u32>()) / 10_000.0;
        let square: f64 = counts.iter().map(|c| (f64::from(*c) - mean).powi(2)).sum();
        let dispersion = square / 9_999.0 / mean;
        assert!(
            (mean - 10.0).abs() < 0.2 && (dispersion - 1.0).abs() < 0.08,
            "{mean} {dispersion}"
        );
    }
}

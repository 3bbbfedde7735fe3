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
        self.index += 1;
        if index == 0 {
            return 0;
        }
        let scaled = u128::from(index) * NS_PER_S;
        let odd = u128::from(self.odd);
        if self.shift < 0 {
            // Where the divisor leaves 128 bits it is far above `scaled`, which has 94.
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

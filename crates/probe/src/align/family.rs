//! Sizes of erase blocks of any odd number up to 27 times a power of two, from what single boundaries cost.
//!
//! Rows of 2^k and 3 x 2^k see a size such as 5 x 2^k as a fifth of a step at 2^k. Here each boundary counts by all
//! numbers that divide it: boundaries that the same numbers divide make a group, and every size predicts for each group
//! whether it steps. There are two more hypotheses: no step at all, and any other pattern, in which each group has a
//! cost of its own. The second wins where no size fits, and no size wins clearly against it in noise.

use super::groups::{Fit, Groups, Levelled};
use super::model::ln_sum;
use super::place::PRIMES;

pub(super) use super::place::Place;

/// From this power of two on, values are fenced together.
const LEVELS: u32 = 21;
/// Greatest odd number that is distinguished.
const ODD_MAX: u64 = 27;
/// Sizes that are distinguished, in bytes. The least are there so that a size too small to be an answer is not taken
/// for its double.
const SIZES: std::ops::RangeInclusive<u64> = 48 << 10..=128 << 20;
/// The least size that is an answer.
pub(super) const LEAST: u64 = 128 << 10;
/// Prior probabilities of no step and of any other pattern.
const NONE: f64 = 0.3;
const OTHER: f64 = 0.1;
/// Least probability of an answer, and the least step in its standard errors.
const SURE: f64 = 0.999;
const ERRORS: f64 = 5.0;
/// The median and the lower quartile of the boundaries must step by this share of the mean.
const ALL_STEP: f64 = 0.4;
/// Beyond the slower side boundaries step by at least this share.
const BEYOND: f64 = 0.4;
/// Groups may lie off the fit by this much, as a mean square in their errors.
const FIT_MAX: f64 = 1.6;

/// A size with its probability and its step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    pub(super) bytes: u64,
    pub(super) probability: f64,
    pub(super) step_ns: f64,
    pub(super) error_ns: f64,
}

/// Inference from single boundaries.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Family {
    /// Sizes, the most probable first.
    pub(super) sizes: Vec<Size>,
    /// Probability that nothing steps.
    pub(super) none: f64,
    /// Bytes from which on the first of the sizes has all boundaries below it cost the same: those of a line of groups
    /// that are read at once, or of a page.
    pub(super) line: u64,
    /// Why the first of the sizes is not the answer; `None` when it is.
    pub(super) doubt: Option<String>,
}

impl Family {
    /// The answer.
    pub(super) fn decided(&self) -> Option<Size> {
        self.sizes.first().copied().filter(|_| self.doubt.is_none())
    }
}

/// Largest odd divisor that matters, and the power of two.
fn odd_and_log2(bytes: u64) -> (u64, u32) {
    (bytes >> bytes.trailing_zeros(), bytes.trailing_zeros())
}

/// All sizes.
pub(super) fn sizes() -> Vec<u64> {
    let odd = (1..=ODD_MAX).step_by(2);
    let all = odd.flat_map(|odd| (11..28).map(move |log2| odd << log2));
    all.filter(|size| SIZES.contains(size)).collect()
}

/// Weighs all sizes by `places`. `spread` is what groups differ in beyond their errors, `time` that of a read, both in
/// nanoseconds.
pub(super) fn weigh(places: &[Place], spread: f64, time: f64) -> Family {
    let kept = within_fences(places, time);
    let Some(groups) = Groups::new(&kept, spread, time) else {
        return Family {
            doubt: Some("too few boundaries were read".to_owned()),
            ..Family::default()
        };
    };
    let scored: Vec<(Fit, u64)> =
        sizes().into_iter().filter_map(|size| Some((groups.fit(size)?, size))).collect();
    let each = ((1.0 - NONE - OTHER) / scored.len().max(1) as f64).ln();
    let none = NONE.ln() + groups.nothing();
    let other = OTHER.ln() + groups.any_pattern();
    let mut terms: Vec<f64> = scored.iter().map(|(fit, _)| each + fit.ln_evidence).collect();
    terms.extend([none, other]);
    let all = ln_sum(&terms);
    let mut sizes: Vec<Size> = scored
        .iter()
        .map(|(fit, bytes)| Size {
            bytes: *bytes,
            probability: (each + fit.ln_evidence - all).exp(),
            step_ns: fit.step,
            error_ns: fit.error,
        })
        .collect();
    sizes.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    let fit = sizes.first().and_then(|best| scored.iter().find(|(_, bytes)| *bytes == best.bytes));
    let doubt = fit.zip(sizes.first()).and_then(|((fit, _), best)| {
        let others = ((none - all).exp(), (other - all).exp());
        doubt((best, others), fit, &kept, &groups)
    });
    let line = fit.map_or(0, |(fit, _)| 1 << fit.line);
    sizes.truncate(8);
    Family { sizes, none: (none - all).exp(), line, doubt }
}

/// Values without those that some other delay has made: off the middle of those of the same power of two by far more
/// than steps and kinds of pages explain.
fn within_fences(places: &[Place], time: f64) -> Vec<Place> {
    let level = |place: &Place| place.at.trailing_zeros().min(LEVELS) as usize;
    let mut by: Vec<Vec<f64>> = vec![Vec::new(); LEVELS as usize + 1];
    places.iter().for_each(|place| by[level(place)].push(place.cost));
    let middles: Vec<f64> = by.iter_mut().map(|of| super::estimate::median(of)).collect();
    let off = |place: &Place| place.cost - middles[level(place)];
    let mut offs: Vec<f64> = places.iter().map(off).collect();
    offs.sort_by(f64::total_cmp);
    let at = |share: f64| offs.get((offs.len() as f64 * share) as usize).copied().unwrap_or(0.0);
    let beyond = (3.0 * (at(0.95) - at(0.05))).max(0.3 * time);
    places.iter().copied().filter(|place| off(place).abs() <= beyond).collect()
}

/// Returns the reason to doubt the most probable size, if there is one.
fn doubt(
    (best, (none, other)): (&Size, (f64, f64)),
    fit: &Fit,
    places: &[Place],
    groups: &Groups,
) -> Option<String> {
    let bytes = block::Bytes(best.bytes).about();
    if best.probability < SURE || best.step_ns < ERRORS * best.error_ns {
        return Some(format!(
            "boundaries step at a fraction of places, or noise hides at which: {bytes} has probability {:.2}, no step \
             {none:.2}, another pattern {other:.2}",
            best.probability
        ));
    }
    if best.bytes < LEAST {
        return Some(format!(
            "boundaries step at each {bytes}, which is too small for an erase block"
        ));
    }
    let (misfit, count) = groups.misfit(fit, best.bytes);
    if misfit > FIT_MAX.max(1.0 + 4.0 * (2.0 / count).sqrt()) {
        return Some(format!("{bytes} fits best, and boundaries differ by more than their errors"));
    }
    let costs = Levelled::new(places, best.bytes, fit.line, |place| place.cost);
    let (above, below) = (costs.sorted(true), costs.sorted(false));
    let holds = [0.25, 0.5].iter().all(|share| {
        let (high, low) = (quantile(&above, *share), quantile(&below, *share));
        high.0 - low.0 - 2.0 * high.1.hypot(low.1) >= ALL_STEP * best.step_ns
    });
    if !holds {
        return Some(format!(
            "boundaries step at a fraction of the places at multiples of {bytes}"
        ));
    }
    if let Some(prime) = fraction(best, &costs) {
        return Some(format!(
            "of the boundaries at multiples of {bytes}, those at multiples of {} alone are seen to step",
            block::Bytes(prime * best.bytes).about()
        ));
    }
    // If both sides are read at once and the slower one is waited for, a boundary between pages of unlike kinds costs
    // more than one between like pages, which all lie within a stripe over the drive's dies. Beyond the slower side alone
    // the step then vanishes.
    let beyond = Levelled::new(places, best.bytes, fit.line, |place| place.beyond);
    let step = beyond.mean(|at| at.is_multiple_of(best.bytes));
    let below = beyond.mean(|at| !at.is_multiple_of(best.bytes));
    let stands = step.zip(below).is_some_and(|(above, below)| {
        let step = above.value_ns - below.value_ns;
        step >= 3.0 * above.error_ns.hypot(below.error_ns) && step >= BEYOND * best.step_ns
    });
    (!stands).then(|| {
        format!(
            "from {bytes} on the sides of a boundary differ, and the slower one is waited for: a stripe over dies \
             looks like that"
        )
    })
}

/// The number by which the true size is perhaps a multiple of `best`: the boundaries that it does not divide must step as
/// all do. A size outside the family shares some boundaries with one in it.
fn fraction(best: &Size, costs: &Levelled) -> Option<u64> {
    let below = costs.mean(|at| !at.is_multiple_of(best.bytes))?;
    let steps = |number: &u64| {
        let few =
            |at: u64| at.is_multiple_of(best.bytes) && !(at / best.bytes).is_multiple_of(*number);
        costs.mean(few).is_some_and(|few| {
            let (step, error) = (few.value_ns - below.value_ns, few.error_ns.hypot(below.error_ns));
            step - 2.0 * error >= ALL_STEP * best.step_ns
        })
    };
    [2, 3, 5, 7, 11, 13].into_iter().find(|number| !steps(number))
}

/// A quantile of sorted values with its standard error, from those a standard error of the rank to either side.
fn quantile(sorted: &[f64], share: f64) -> (f64, f64) {
    let count = sorted.len() as f64;
    let wide = (share * (1.0 - share) / count.max(1.0)).sqrt();
    let at = |share: f64| {
        let rank = ((count - 1.0) * share.clamp(0.0, 1.0)).round().max(0.0) as usize;
        sorted.get(rank).copied().unwrap_or(0.0)
    };
    (at(share), (at(share + wide) - at(share - wide)) / 2.0)
}

/// Places to ask about next between `from` and `to`: each size that is still possible at its own boundaries and
/// halfway between them, and in the `first` round each odd number at the largest power of two that has enough.
pub(super) fn next(
    family: &Family,
    (from, to): (u64, u64),
    (count, first): (u64, bool),
    rng: &mut workload::rng::Rng,
) -> Vec<u64> {
    let mut places = Vec::new();
    // Multiples of `step`: odd ones alone, or any.
    let mut ask = |step: u64, odd: bool, count: u64| {
        let (low, high) = (from.div_ceil(step) + 1, (to / step).saturating_sub(1));
        if high <= low {
            return;
        }
        for _ in 0..count {
            let n = low + rng.below(high - low + 1);
            places.push(if odd { (n | 1).min(high) } else { n } * step);
        }
    };
    if first {
        for odd in (1..=ODD_MAX).step_by(2) {
            let room = (to - from) / 16 / odd;
            if room >= LEAST {
                ask(odd << room.ilog2().min(26), false, 2 * count);
            }
        }
    }
    for size in family.sizes.iter().filter(|size| size.probability > 1e-5).take(6) {
        let (odd, log2) = odd_and_log2(size.bytes);
        ask(size.bytes, false, count);
        ask(size.bytes / 2, true, count);
        for (prime, _) in PRIMES.iter().filter(|(prime, _)| odd.is_multiple_of(*prime)) {
            ask((odd / prime) << log2, false, count);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use workload::rng::Rng;

    use super::*;

    /// Asks about a drive of erase blocks of `size` with noise of `noise` steps, as the probe does.
    fn asked(size: u64, noise: f64, seed: u64) -> Family {
        let (range, step) = ((0, 16 << 30), 50_000.0);
        let mut rng = Rng::for_path(seed, &[1]);
        let mut places: Vec<Place> = Vec::new();
        let mut family = Family::default();
        for round in 0..6 {
            let mut asked = next(&family, range, (16 << round, round == 0), &mut rng);
            asked.extend((0..400).map(|_| (1 + rng.below(60_000)) << 17));
            for at in asked {
                let normal: f64 = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
                let cost = f64::from(u8::from(at.is_multiple_of(size))) * step;
                let cost = cost + noise * step * normal;
                places.push(Place { at, cost, beyond: cost });
            }
            family = weigh(&places, 0.0, 500_000.0);
        }
        family
    }

    // Breaks when an odd size is taken for the power of two in it, or is not found at all in little noise.
    #[test]
    fn odd_sizes_are_found() {
        for (seed, size) in
            (0..).zip([5 << 20, 9 << 21, 20 << 20, 27 << 17, 3 << 16, 1 << 22, 12 << 20])
        {
            let family = asked(size, 0.1, seed);
            assert_eq!(family.decided().map(|size| size.bytes), Some(size), "{family:?}");
        }
    }

    // Breaks when noise strengthens: a size that is wrong, or one where nothing steps.
    #[test]
    fn noise_weakens() {
        for (seed, size) in (0..).zip([5 << 20, 9 << 20, 18 << 20, 36 << 20, 29 << 18, 1 << 22]) {
            for noise in [0.5, 2.0, 8.0] {
                let decided = asked(size, noise, seed).decided().map(|size| size.bytes);
                assert!(
                    decided.is_none_or(|bytes| bytes == size),
                    "{size} at {noise}: {decided:?}"
                );
            }
        }
        assert_eq!(asked(u64::MAX, 0.1, 7).decided(), None);
        // Steps at each 29th multiple of 2^20: no size that is looked for.
        assert_eq!(asked(29 << 20, 0.1, 8).decided(), None);
    }
}

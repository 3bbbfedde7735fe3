//! What a die holds before anybody looks.

use super::{Front, Frontier, Ftl, SPARE_BLOCKS, Stream};
use crate::noise::Noise;

impl Ftl {
    /// Every unit once, in order: the map begins like that already ([`super::map::Map`]).
    pub(super) fn fill(&mut self) {
        let (units, per_block) = (self.shape.units, self.shape.units_per_block);
        for _ in 0..units / per_block {
            if let Some(block) = self.free.pop_front() {
                self.closed.set(block, per_block);
                self.closed.add(block);
            }
        }
        if units % per_block > 0
            && let Some(block) = self.free.pop_front()
        {
            self.closed.set(block, units % per_block);
            let end = (block + 1) * per_block;
            self.fronts[Front::Host(Stream::Main).index()] = Some(Frontier { next: units, end });
        }
    }

    /// As after endless writes to random units. Of what was written at one time a share is overwritten in each
    /// unit of time, so that from block to block, by age, the valid share falls by the same factor; the factor is
    /// that with which all units find their place (Desnoyers 2012, for FIFO cleaning, which large blocks bring
    /// greedy cleaning near to).
    pub(super) fn age(&mut self, seed: u64) {
        let per_block = self.shape.units_per_block;
        // As many as are full when the collection is at work.
        let full = (self.shape.data_blocks + SPARE_BLOCKS).saturating_sub(3).max(1);
        let shares = shares(full, f64::from(self.shape.units) / f64::from(per_block));
        let mut noise = Noise::new(seed);
        let mut units = Shuffled::new(self.shape.units, &mut noise);
        let (mut due, mut given) = (0.0, 0);
        for share in shares {
            let Some(block) = self.free.pop_front() else { break };
            due += share * f64::from(per_block);
            let count = ((due + 0.5) as u32).min(self.shape.units) - given;
            let count = count.min(per_block);
            given += count;
            self.scatter(block, count, &mut units, &mut noise);
            self.closed.add(block);
        }
        // What rounding left over goes where the host would write next.
        while given < self.shape.units
            && let Some(unit) = units.next()
            && self.write(unit, Stream::Main).is_some()
        {
            given += 1;
        }
    }

    /// Puts `count` units into slots of `block` that are drawn at random.
    fn scatter(&mut self, block: u32, count: u32, units: &mut Shuffled, noise: &mut Noise) {
        let per_block = self.shape.units_per_block;
        let mut left = count;
        for at in 0..per_block {
            if noise.below(u64::from(per_block - at)) < u64::from(left)
                && let Some(unit) = units.next()
            {
                self.map.put(unit, block * per_block + at);
                left -= 1;
            }
        }
        self.closed.set(block, count);
    }
}

/// Valid shares of `blocks` blocks, oldest first, each by the same factor above the one before, that sum up to
/// `sum`. Found by halving, with nothing but multiplications and additions, which are the same on every machine.
fn shares(blocks: u32, sum: f64) -> Vec<f64> {
    let total = |factor: f64| (0..blocks).fold((0.0, 1.0), |(t, x), _| (t + x, x * factor)).0;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if total(middle) < sum { low = middle } else { high = middle }
    }
    let mut shares: Vec<f64> = Vec::with_capacity(blocks as usize);
    let mut share = 1.0;
    for _ in 0..blocks {
        shares.push(share);
        share *= high;
    }
    shares.reverse();
    shares
}

/// The numbers below a bound, each once, neighbours far apart: multiples of a step without a common divisor.
struct Shuffled {
    bound: u64,
    step: u64,
    next: u64,
    left: u32,
}

impl Shuffled {
    fn new(bound: u32, noise: &mut Noise) -> Shuffled {
        let bound = u64::from(bound);
        // Near the golden section, where multiples spread most evenly.
        let mut step = (bound * 618 / 1000 + noise.below(bound / 100 + 1)).max(1);
        while divisor(step, bound) != 1 {
            step += 1;
        }
        Shuffled { bound, step, next: noise.below(bound), left: bound as u32 }
    }
}

impl Iterator for Shuffled {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        let number = self.next as u32;
        self.next = (self.next + self.step) % self.bound;
        Some(number)
    }
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_fall_with_age_by_one_factor_and_sum_up() {
        let shares = shares(1000, 800.0);
        assert!((shares.iter().sum::<f64>() - 800.0).abs() < 1e-6);
        assert!((shares[999] - 1.0).abs() < 1e-12);
        let factors: Vec<f64> = shares.windows(2).map(|w| w[1] / w[0]).collect();
        assert!(factors.iter().all(|f| (f - factors[0]).abs() < 1e-9 && *f > 1.0));
    }

    #[test]
    fn shuffled_numbers_come_once_each() {
        for bound in [1, 2, 7, 1000, 65_536] {
            let mut noise = Noise::new(u64::from(bound));
            let mut seen: Vec<u32> = Shuffled::new(bound, &mut noise).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..bound).collect::<Vec<u32>>());
        }
    }
}

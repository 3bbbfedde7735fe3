//! Content of a die when the drive is opened.

use super::{Collection, Front, Frontier, Ftl, Stream, profile};
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

    /// As after endless writes to random units, of which [`profile`] says how full they leave each block.
    pub(super) fn age(&mut self, policy: Collection, seed: u64) {
        let per_block = self.shape.units_per_block;
        // As many as are full when the next one is chosen for collection.
        let full = self.shape.data_blocks;
        let sum = f64::from(self.shape.units) / f64::from(per_block);
        let shares = match policy {
            Collection::Greedy | Collection::Fifo => profile::by_age(full, sum),
            Collection::Choices(choices) => profile::by_chance(full, sum, per_block, choices),
        };
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
        // Units left over by rounding go where the host would write next.
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
    fn shuffled_numbers_come_once_each() {
        for bound in [1, 2, 7, 1000, 65_536] {
            let mut noise = Noise::new(u64::from(bound));
            let mut seen: Vec<u32> = Shuffled::new(bound, &mut noise).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..bound).collect::<Vec<u32>>());
        }
    }
}

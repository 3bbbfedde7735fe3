//! Random numbers of this world, which shares no code with the drives of `sim`.

/// A stream of random numbers (SplitMix64; Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(super) struct Chance {
    state: u64,
}

impl Chance {
    pub(super) fn new(seed: u64, purpose: u64) -> Chance {
        Chance { state: seed.wrapping_mul(0xd134_2543_de82_ef95) ^ purpose }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 up to 1.
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number from 0 to below `n`.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        (self.unit() * n as f64) as u64
    }

    /// True in `n` of a hundred draws.
    pub(super) fn percent(&mut self, n: u64) -> bool {
        self.below(100) < n
    }

    /// One of `items`.
    pub(super) fn one<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }

    /// A duration between two others in nanoseconds, even in its logarithm.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        (low as f64 * (high as f64 / low as f64).powf(self.unit())) as u64
    }

    /// A draw from a standard normal distribution (Box and Muller 1958).
    pub(super) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().max(1e-300).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

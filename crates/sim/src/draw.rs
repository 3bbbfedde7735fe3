//! Drawing models from a seed.

use crate::noise::Noise;

/// The stream that a model is drawn from.
pub(crate) struct Draw(Noise);

impl Draw {
    /// The stream of `seed` for a kind of device; `stream` keeps it apart from that of the device's own noise.
    pub(crate) fn new(seed: u64, stream: u64) -> Draw {
        Draw(Noise::new(seed ^ stream.rotate_left(32)))
    }

    /// Evenly from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.below(high - low + 1)
    }

    /// One of `choices`, each as likely.
    pub(crate) fn one<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.0.below(choices.len() as u64) as usize]
    }

    /// True in `percent` of a hundred cases.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.0.below(100) < percent
    }

    /// A time of `low` doubled up to `octaves` times, and up to twice that: small ones are as likely
    /// as large ones.
    pub(crate) fn scaled(&mut self, low: u64, octaves: u64) -> u64 {
        let base = low << self.0.below(octaves);
        self.between(base, 2 * base)
    }
}

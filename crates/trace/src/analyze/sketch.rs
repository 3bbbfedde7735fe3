//! How many different blocks there are, in a few KiB: HyperLogLog.

/// Counts different numbers with `2^P` registers of a byte. Of what was counted, only hashes are looked at.
///
/// After Flajolet, Fusy, Gandouet and Meunier ("HyperLogLog", 2007), with the estimator of Ertl ("New cardinality
/// estimation algorithms for HyperLogLog sketches", 2017), which needs no tables for small counts. Standard error
/// `1.04 / sqrt(2^P)`, and less while there are fewer numbers than registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch<const P: u32> {
    /// Longest run of zeros, plus one, of the hashes in each register; none before the first.
    registers: Vec<u8>,
}

impl<const P: u32> Default for Sketch<P> {
    fn default() -> Self {
        Sketch { registers: Vec::new() }
    }
}

impl<const P: u32> Sketch<P> {
    /// Standard error of the count, relative.
    pub fn error() -> f64 {
        1.04 / libm::sqrt(libm::exp2(f64::from(P)))
    }

    /// Counts a number by its hash, all of whose bits are as good as drawn by lot.
    #[inline]
    pub fn add(&mut self, hash: u64) {
        if self.registers.is_empty() {
            self.registers = vec![0; 1 << P];
        }
        // The bit at the end bounds the run.
        let run = ((hash << P) | (1 << (P - 1))).leading_zeros() as u8 + 1;
        let register = &mut self.registers[(hash >> (64 - P)) as usize];
        *register = run.max(*register);
    }

    /// Adds what `other` counted; what both counted counts once.
    pub fn merge(&mut self, other: &Sketch<P>) {
        if self.registers.is_empty() {
            self.registers.clone_from(&other.registers);
        }
        let registers = self.registers.iter_mut().zip(&other.registers);
        registers.for_each(|(mine, theirs)| *mine = (*theirs).max(*mine));
    }

    /// About how many different numbers were counted.
    pub fn count(&self) -> u64 {
        if self.registers.is_empty() {
            return 0;
        }
        let longest = 64 - P as usize;
        let mut with = vec![0u32; longest + 2];
        self.registers.iter().for_each(|register| with[usize::from(*register)] += 1);
        let m = self.registers.len() as f64;
        let share = |run: usize| f64::from(with[run]) / m;
        let mut sum = m * tau(1.0 - share(longest + 1));
        for run in (1..=longest).rev() {
            sum = 0.5 * (sum + f64::from(with[run]));
        }
        sum += m * sigma(share(0));
        (m * m / (2.0 * std::f64::consts::LN_2) / sum).round() as u64
    }
}

/// x + the sum over k of x^(2^k) 2^(k-1): the contribution of empty registers.
fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut weight, mut sum) = (1.0, x);
    loop {
        x *= x;
        let before = sum;
        sum += x * weight;
        weight += weight;
        if sum == before {
            return sum;
        }
    }
}

/// (1 - x - the sum over k of (1 - x^(2^-k))^2 2^-k) / 3: the contribution of full registers.
fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut weight, mut sum) = (1.0, 1.0 - x);
    loop {
        x = libm::sqrt(x);
        let before = sum;
        weight *= 0.5;
        sum -= (1.0 - x) * (1.0 - x) * weight;
        if sum == before {
            return sum / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::rng::mix;

    fn of(numbers: std::ops::Range<u64>) -> Sketch<12> {
        let mut sketch = Sketch::default();
        numbers.for_each(|number| sketch.add(mix(number + 1)));
        sketch
    }

    /// If it failed, a reported working set would be off by more than its error.
    #[test]
    fn counts_are_right_to_their_error_at_every_size() {
        assert_eq!(Sketch::<12>::default().count(), 0);
        for count in [1, 2, 10, 100, 1_000, 4_096, 10_000, 20_000, 100_000, 1_000_000] {
            let mut off = Vec::new();
            for draw in 0..20u64 {
                let from = draw << 32;
                let told = of(from..from + count).count() as f64;
                off.push(told / count as f64 - 1.0);
            }
            let mean = off.iter().sum::<f64>() / 20.0;
            let root = libm::sqrt(off.iter().map(|off| off * off).sum::<f64>() / 20.0);
            let error = Sketch::<12>::error();
            assert!(root < 1.5 * error, "{count}: {root} for {error}");
            assert!(mean.abs() < 3.5 * error / libm::sqrt(20.0), "{count}: biased by {mean}");
        }
    }

    #[test]
    fn what_two_sketches_share_counts_once() {
        let mut both = of(0..50_000);
        both.merge(&of(25_000..75_000));
        assert_eq!(both, of(0..75_000));
        let mut none = Sketch::<12>::default();
        none.merge(&both);
        assert_eq!(none, both);
        none.merge(&Sketch::default());
        assert_eq!(none, both);
    }
}

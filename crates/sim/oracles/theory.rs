//! Theory of write amplification under uniform random writes, with `a` the physical slots for each unit.

/// Share of valid slots in a block that is collected first in, first out: `u = e^-(1-u)a`, below 1.
fn fifo_share(a: f64) -> f64 {
    let mut u = 0.0;
    // Rises to its fixed point, by a factor u·a below 1 a step.
    for _ in 0..10_000 {
        u = f64::exp((u - 1.0) * a);
    }
    u
}

/// FIFO: `a / (a + W(-a e^-a))` (Xiang and Kurkoski 2011; Desnoyers 2012; the equation of Menon's log), where
/// `W(-a e^-a) = -a u`.
pub fn fifo(a: f64) -> f64 {
    1.0 / (1.0 - fifo_share(a))
}

/// Greedy with `n` units a block: `n / (n - (X - 1))`, `X = 1/2 - (n/a) W(-k a e^-ka)`, `k = 1 + 1/2n`
/// (Desnoyers 2012).
pub fn greedy(a: f64, n: f64) -> f64 {
    let k = 1.0 + 1.0 / (2.0 * n);
    let held = 0.5 + n * k * fifo_share(k * a);
    n / (n - (held - 1.0))
}

/// The best of `d` blocks drawn at random, of `n` units each: the fixed point of Van Houdt's mean field (2013). `S(j)`
/// is the share of blocks with at least `j` valid units; `1 - S(j)^d = G j (S(j) - S(j+1)) / (n/a)`, where `G` units
/// are gained by a collection, such that all `S` sum up to `n/a`.
pub fn choices(a: f64, n: u32, d: i32) -> f64 {
    let held = f64::from(n) / a;
    let sum = |gain: f64| {
        let (mut next, mut sum) = (0.0, 0.0);
        for j in (1..=n).rev() {
            let rate = gain * f64::from(j) / held;
            // Newton: the left side falls and bends down, the right rises in a line.
            let mut s: f64 = 1.0;
            for _ in 0..60 {
                let off = 1.0 - s.powi(d) - rate * (s - next);
                s -= off / (-f64::from(d) * s.powi(d - 1) - rate);
            }
            next = s;
            sum += s;
        }
        sum
    };
    let (mut low, mut high) = (0.0, f64::from(n));
    for _ in 0..60 {
        let gain = f64::midpoint(low, high);
        if sum(gain) > held { low = gain } else { high = gain }
    }
    f64::from(n) / low
}

/// Times that a die spends on writes, in nanoseconds.
#[derive(Clone, Debug)]
pub struct WriteTimes {
    /// A row of pages is programmed, on average over the types of page.
    pub program_ns: f64,
    /// A row of pages is read, on average.
    pub read_ns: f64,
    /// A block is erased.
    pub erase_ns: f64,
    /// Rows of a block.
    pub rows_per_block: f64,
    /// Units of a row.
    pub units_per_row: f64,
}

impl WriteTimes {
    /// Time of a die for each row that the host fills, when writes are amplified by `w` and neither channels nor link
    /// hold it up.
    ///
    /// For each row of the host `w` are programmed, and `w` rows' share of an erase is spent. Of a block that is
    /// collected a share of `1 - 1/w` is valid; a row is read unless none of its units is, and the block leaves room
    /// for a share `1/w` of its rows: so `w (1 - w^-n)` rows are read, `n` units each.
    pub fn row_ns(&self, w: f64) -> f64 {
        let read = if w > 1.0 { w * (1.0 - (1.0 / w).powf(self.units_per_row)) } else { 0.0 };
        w * self.program_ns + read * self.read_ns + w * self.erase_ns / self.rows_per_block
    }

    /// Units a second of `dies` dies that are never collected.
    pub fn plateau(&self, dies: f64) -> f64 {
        // Blocks are taken that were erased before.
        dies * self.units_per_row * 1e9 / self.program_ns
    }

    /// The rate with amplification `w`, as a share of [`WriteTimes::plateau`].
    pub fn share(&self, w: f64) -> f64 {
        self.program_ns / self.row_ns(w)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The formulas were worked out elsewhere as well, with another solver of W.
    #[test]
    fn the_formulas_give_their_known_values() {
        let known = [
            (0.07, 7.817, 7.001, 7.595),
            (0.15, 4.016, 3.799, 3.959),
            (0.28, 2.481, 2.402, 2.461),
            (0.50, 1.716, 1.681, 1.707),
            (1.00, 1.255, 1.239, 1.251),
        ];
        for (op, fifo_value, greedy_64, greedy_256) in known {
            let a = 1.0 + op;
            assert!((fifo(a) - fifo_value).abs() < 0.0006, "{op}: {}", fifo(a));
            assert!((greedy(a, 64.0) - greedy_64).abs() < 0.0006, "{op}: {}", greedy(a, 64.0));
            assert!((greedy(a, 256.0) - greedy_256).abs() < 0.0006, "{op}: {}", greedy(a, 256.0));
            // A block at random holds what blocks hold on average.
            assert!((choices(a, 64, 1) / (a / (a - 1.0)) - 1.0).abs() < 1e-6);
            // All blocks are looked at, nearly.
            assert!(
                (choices(a, 64, 300) / greedy_64 - 1.0).abs() < 0.01,
                "{}",
                choices(a, 64, 300)
            );
        }
        assert!((choices(1.07, 64, 3) - 8.841).abs() < 0.0006, "{}", choices(1.07, 64, 3));
        assert!((choices(1.28, 64, 10) - 2.471).abs() < 0.0006, "{}", choices(1.28, 64, 10));
    }
}

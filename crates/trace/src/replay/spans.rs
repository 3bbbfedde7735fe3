//! Spans of time per I/O, with intervals that know of neighbours that resemble each other.

use serde::{Deserialize, Serialize};
use stats::{Better, LatencyHistogram, Quantity, Unit, effective_sample_size};

/// Means of batches that are kept.
const BATCHES: usize = 1024;

/// Fewer batches than this have no interval.
const BATCHES_MIN: usize = 20;

/// Confidence of intervals, and the quantile of the normal distribution that belongs to it.
const CONFIDENCE: f64 = 0.95;
const Z: f64 = 1.959_963_984_540_054;

/// A distribution of spans per I/O.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spans {
    /// Mean.
    pub mean: Quantity,
    /// Median.
    pub p50: Quantity,
    /// 99th percentile.
    pub p99: Quantity,
    /// 99.9th percentile.
    pub p999: Quantity,
    /// The greatest, in nanoseconds.
    pub max_ns: u64,
}

/// Gathers spans in the order of the plan, in bounded memory.
#[derive(Clone, Debug)]
pub(super) struct Gather {
    pub histogram: LatencyHistogram,
    squares: f64,
    means: Vec<f64>,
    size: u64,
    sum: f64,
    count: u64,
}

impl Gather {
    pub(super) fn new() -> Gather {
        let means = Vec::with_capacity(BATCHES);
        Gather {
            histogram: LatencyHistogram::new(),
            squares: 0.0,
            means,
            size: 1,
            sum: 0.0,
            count: 0,
        }
    }

    pub(super) fn add(&mut self, ns: u64) {
        self.histogram.record(ns);
        let value = ns as f64;
        self.squares += value * value;
        self.sum += value;
        self.count += 1;
        if self.count < self.size {
            return;
        }
        self.means.push(self.sum / self.count as f64);
        (self.sum, self.count) = (0.0, 0);
        if self.means.len() == BATCHES {
            self.means = self.means.chunks_exact(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
            self.size *= 2;
        }
    }

    /// Mean and percentiles; `None` when there are none.
    ///
    /// The variance of the mean is that of the batches' means over their effective number (batch means; the rest of the
    /// correlation by Geyer's sequence). The effective number n of spans is that of independent spans whose mean would
    /// have that variance. A percentile lies between the percentiles p ± z sqrt(p (1-p) / n).
    pub(super) fn finish(&self) -> Option<Spans> {
        let n = self.histogram.count();
        let mean = self.histogram.mean()?;
        let spread = (self.squares / n as f64 - mean * mean).max(0.0);
        let error = self.variance_of_mean();
        let worth = error.map(|error| if error > 0.0 { spread / error } else { n as f64 });
        let worth = worth.map(|worth| worth.clamp(1.0, n as f64));
        let quantity = |value: f64, ends: Option<(f64, f64)>| Quantity {
            value,
            low: ends.map(|(low, _)| low),
            high: ends.map(|(_, high)| high),
            confidence: CONFIDENCE,
            unit: Unit::Ns,
            n: n as usize,
            n_effective: worth.unwrap_or(n as f64),
            better: Better::Lower,
        };
        let percentile = |p: f64| {
            let at = |p: f64| self.histogram.percentile(p * 100.0).map(|ns| ns as f64);
            let ends = worth.and_then(|worth| {
                let reach = Z * (p * (1.0 - p) / worth).sqrt();
                let inside = p - reach > 0.0 && p + reach < 1.0;
                inside.then(|| at(p - reach).zip(at(p + reach))).flatten()
            });
            at(p).map(|value| quantity(value, ends))
        };
        let reach = error.map(|error| Z * error.sqrt());
        Some(Spans {
            mean: quantity(mean, reach.map(|reach| (mean - reach, mean + reach))),
            p50: percentile(0.5)?,
            p99: percentile(0.99)?,
            p999: percentile(0.999)?,
            max_ns: self.histogram.max()?,
        })
    }

    fn variance_of_mean(&self) -> Option<f64> {
        let n = self.means.len();
        if n < BATCHES_MIN {
            return None;
        }
        let mean = self.means.iter().sum::<f64>() / n as f64;
        let squares: f64 = self.means.iter().map(|x| (x - mean).powi(2)).sum();
        Some(squares / (n - 1) as f64 / effective_sample_size(&self.means)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::rng::Rng;

    /// How many of 300 intervals of mean and median hold the truth.
    fn covered(
        mut next: impl FnMut(&mut Rng, &mut f64) -> f64,
        mean: f64,
        median: f64,
    ) -> (usize, usize) {
        let (mut means, mut medians) = (0, 0);
        for seed in 0..300 {
            let (mut rng, mut state, mut gather) = (Rng::for_path(seed, &[4]), 0.0, Gather::new());
            for _ in 0..20_000 {
                gather.add(next(&mut rng, &mut state).round() as u64);
            }
            let found = gather.finish().unwrap();
            let holds =
                |q: Quantity, truth: f64| q.low.unwrap() <= truth && truth <= q.high.unwrap();
            means += usize::from(holds(found.mean, mean));
            medians += usize::from(holds(found.p50, median));
        }
        (means, medians)
    }

    #[test]
    fn intervals_hold_the_truth_whether_or_not_neighbours_resemble_each_other() {
        // Latencies of a queue resemble those before them; intervals that deny it are many times too narrow.
        let (means, medians) = covered(|rng, _| 1e6 * rng.exponential(), 1e6, 1e6 * 2_f64.ln());
        assert!(means >= 275 && medians >= 275, "independent: {means}, {medians} of 300");
        let walk = |rng: &mut Rng, state: &mut f64| {
            *state = 0.95 * *state + (rng.unit() - 0.5);
            1e6 + 1e5 * *state
        };
        let (means, medians) = covered(walk, 1e6, 1e6);
        assert!(means >= 270 && medians >= 270, "correlated: {means}, {medians} of 300");
    }

    #[test]
    fn few_spans_have_no_interval() {
        let mut gather = Gather::new();
        assert!(gather.finish().is_none());
        (0..19).for_each(|ns| gather.add(ns));
        let found = gather.finish().unwrap();
        assert_eq!((found.mean.value, found.mean.low, found.p99.high), (9.0, None, None));
    }
}

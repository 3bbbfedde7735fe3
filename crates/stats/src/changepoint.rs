//! Change points of a series: the exact best segmentation, by PELT (Killick, Fearnhead and Eckley,
//! JASA 107, 2012).

use crate::sample;
use serde::Serialize;

/// Model of a change: the cost of a segment is minus twice its greatest log-likelihood (less what
/// is common to all segmentations).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cost {
    /// Normal noise of this known standard deviation; the mean changes.
    MeanKnownScale(f64),
    /// Normal noise of one unknown standard deviation; the mean changes. The deviation is estimated
    /// from the differences of neighbours, which changes of the mean hardly touch: 1.4826 / √2 times
    /// the median of their absolute values, or, when more than half of the neighbours are equal, their
    /// root mean square / √2. Noise that is positively correlated makes it too small and changes too
    /// many: take batch means, or a greater penalty.
    Mean,
    /// Normal noise; mean and standard deviation change together. The deviation of a segment is not
    /// taken to be below 0.1% of that of the whole series, so that a stretch of equal values has a
    /// finite cost.
    MeanAndVariance,
}

impl Cost {
    /// Parameters of a segment.
    fn parameters(self) -> f64 {
        match self {
            Cost::MeanKnownScale(_) | Cost::Mean => 1.0,
            Cost::MeanAndVariance => 2.0,
        }
    }
}

/// Gain required of a further change, in units of minus twice the log-likelihood. n values, q
/// parameters a segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Penalty {
    /// Schwarz's criterion: (q + 1) ln n a change, its place counted as a parameter (Yao 1988).
    Bic,
    /// Its modification for change points: (q + 2) ln n a change, and ln(length / n) a segment, which
    /// favours changes that divide evenly (Zhang and Siegmund, Biometrics 63, 2007). Fewer false
    /// changes than [`Penalty::Bic`].
    Mbic,
    /// This much a change.
    PerChange(f64),
}

/// A stretch without a change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Segment {
    /// Index of its first value.
    pub start: usize,
    /// Index after its last value.
    pub end: usize,
    /// Mean of its values.
    pub mean: f64,
    /// Standard deviation of its values with n - 1; zero for a single one.
    pub deviation: f64,
}

/// The best segmentation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Segmentation {
    /// The segments in order, without gaps.
    pub segments: Vec<Segment>,
    /// Their cost with penalties.
    pub cost: f64,
    /// The penalty of each change.
    pub penalty_per_change: f64,
}

impl Segmentation {
    /// Indices at which a new segment begins; the beginning of the series is not among them.
    pub fn changes(&self) -> impl Iterator<Item = usize> + '_ {
        self.segments.iter().skip(1).map(|segment| segment.start)
    }
}

/// The segmentation with the least cost, no segment being shorter than `min_len`. Exact: pruning
/// leaves out only what cannot be best. Time is of order n when changes keep coming, n² when there are
/// none.
///
/// `None` when `xs` is empty, holds NaN or an infinity or is shorter than `min_len`; when `min_len` is
/// zero, or below two for [`Cost::MeanAndVariance`]; or when a scale is not positive or a penalty is
/// negative or not finite.
pub fn pelt(xs: &[f64], cost: Cost, penalty: Penalty, min_len: usize) -> Option<Segmentation> {
    let least = if cost == Cost::MeanAndVariance { 2 } else { 1 };
    if !sample::usable(xs) || min_len < least || xs.len() < min_len {
        return None;
    }
    let log_n = (xs.len() as f64).ln();
    let (per_change, by_length) = match penalty {
        Penalty::Bic => ((cost.parameters() + 1.0) * log_n, false),
        Penalty::Mbic => ((cost.parameters() + 2.0) * log_n, true),
        Penalty::PerChange(gain) => (gain, false),
    };
    if !(per_change >= 0.0 && per_change.is_finite()) {
        return None;
    }
    let search = Search { sums: Sums::new(xs, cost)?, per_change, by_length, min_len };
    let (starts, total) = search.run();
    let ends = starts.iter().skip(1).copied().chain([xs.len()]);
    let segments = starts.iter().zip(ends).map(|(&start, end)| Segment {
        start,
        end,
        mean: sample::mean(&xs[start..end]),
        deviation: sample::standard_deviation(&xs[start..end]).unwrap_or(0.0),
    });
    Some(Segmentation { segments: segments.collect(), cost: total, penalty_per_change: per_change })
}

/// A place at which the last segment may begin.
struct Candidate {
    start: usize,
    /// From this end on it cannot be best any more.
    useless_from: usize,
}

struct Search {
    sums: Sums,
    per_change: f64,
    by_length: bool,
    min_len: usize,
}

impl Search {
    /// Starts of the best segments, and their cost.
    fn run(&self) -> (Vec<usize>, f64) {
        let n = self.sums.len();
        // best[t]: least cost of the first t values, each segment with a penalty, less one penalty.
        let mut best = vec![f64::INFINITY; n + 1];
        let mut last_start = vec![0; n + 1];
        best[0] = -self.per_change;
        let mut candidates: Vec<Candidate> = Vec::new();
        for end in self.min_len..=n {
            // Only now can a segment of the least length begin here.
            candidates.push(Candidate { start: end - self.min_len, useless_from: usize::MAX });
            candidates.retain(|c| c.useless_from > end && best[c.start].is_finite());
            let mut raw = Vec::with_capacity(candidates.len());
            for candidate in &candidates {
                let without = best[candidate.start] + self.sums.cost(candidate.start, end);
                raw.push(without);
                let total = without + self.per_change + self.length_term(end - candidate.start);
                if total < best[end] {
                    best[end] = total;
                    last_start[end] = candidate.start;
                }
            }
            self.prune(&mut candidates, &raw, best[end], end);
        }
        let mut starts = Vec::new();
        let mut end = n;
        while end > 0 {
            end = last_start[end];
            starts.push(end);
        }
        starts.reverse();
        (starts, best[n])
    }

    /// Marks the starts that are beaten by beginning a segment at `end` instead.
    ///
    /// That is possible only for series that go on for `min_len` values, so until then they stay: to
    /// drop them at once, as is often done, is not exact when `min_len` is above one. The length
    /// term needs no room of its own: the longer segment pays the greater one.
    fn prune(&self, candidates: &mut [Candidate], raw: &[f64], best: f64, end: usize) {
        // Rounding must not decide that a candidate is useless.
        let slack = 1e-9 * best.abs().max(1.0);
        for (candidate, without) in candidates.iter_mut().zip(raw) {
            if *without > best + slack {
                candidate.useless_from = candidate.useless_from.min(end + self.min_len);
            }
        }
    }

    fn length_term(&self, length: usize) -> f64 {
        if self.by_length { (length as f64 / self.sums.len() as f64).ln() } else { 0.0 }
    }
}

/// Running sums, from which the cost of any segment follows at once.
struct Sums {
    sum: Vec<f64>,
    squares: Vec<f64>,
    model: Model,
}

#[derive(Clone, Copy)]
enum Model {
    /// The known variance.
    Mean(f64),
    /// The least variance of a segment.
    MeanAndVariance(f64),
}

impl Sums {
    fn new(xs: &[f64], cost: Cost) -> Option<Sums> {
        let mean = sample::mean(xs);
        let variance = sample::sum_of_squares(xs, mean) / xs.len() as f64;
        // In a constant series nothing changes, whatever the unit.
        let or_one = |variance: f64| if variance > 0.0 { variance } else { 1.0 };
        let model = match cost {
            Cost::MeanKnownScale(scale) if scale > 0.0 && scale.is_finite() => {
                Model::Mean(scale * scale)
            }
            Cost::MeanKnownScale(_) => return None,
            Cost::Mean => Model::Mean(or_one(neighbour_variance(xs))),
            Cost::MeanAndVariance => Model::MeanAndVariance(or_one(variance) * 1e-6),
        };
        // Sums of deviations from the mean, since those of the values would cancel badly.
        let mut sums = Sums { sum: vec![0.0], squares: vec![0.0], model };
        let (mut sum, mut squares) = (0.0, 0.0);
        for x in xs {
            sum += x - mean;
            squares += (x - mean) * (x - mean);
            sums.sum.push(sum);
            sums.squares.push(squares);
        }
        squares.is_finite().then_some(sums)
    }

    fn len(&self) -> usize {
        self.sum.len() - 1
    }

    fn cost(&self, start: usize, end: usize) -> f64 {
        let length = (end - start) as f64;
        let sum = self.sum[end] - self.sum[start];
        let about_mean = (self.squares[end] - self.squares[start] - sum * sum / length).max(0.0);
        match self.model {
            Model::Mean(variance) => about_mean / variance,
            Model::MeanAndVariance(least) => {
                let variance = (about_mean / length).max(least);
                length * (std::f64::consts::TAU * variance).ln() + about_mean / variance
            }
        }
    }
}

/// Variance of the noise from the differences of neighbours; see [`Cost::Mean`].
fn neighbour_variance(xs: &[f64]) -> f64 {
    let steps: Vec<f64> = xs.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let Some(ordered) = sample::sorted(&steps) else { return 0.0 };
    let robust = 1.4826 * sample::median_of_sorted(&ordered);
    let variance = if robust > 0.0 {
        robust * robust
    } else {
        sample::sum_of_squares(&steps, 0.0) / steps.len() as f64
    };
    variance / 2.0
}

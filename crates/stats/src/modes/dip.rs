//! Hartigan's dip: how far the sample is from every distribution with one mode.

use crate::rng::Stream;
use crate::sample;

/// The dip of `xs`: the least greatest distance between its distribution function and one that is
/// convex up to some point and concave from there on. From 1 / (2n) to 1/4. `None` for empty input,
/// NaN or an infinity. Meant for values without ties, see [`super::two_modes_against`].
pub fn dip(xs: &[f64]) -> Option<f64> {
    sample::sorted(xs).map(|ordered| dip_of_sorted(&ordered))
}

/// Dips of uniform samples, for p-values.
#[derive(Clone, Debug)]
pub struct DipNull {
    n: usize,
    ordered: Vec<f64>,
}

impl DipNull {
    /// Draws `draws` uniform samples of `n` from xoshiro256++ of `seed`. `None` when either is zero.
    /// Takes of order n times `draws` steps.
    pub fn simulate(n: usize, draws: usize, seed: u64) -> Option<DipNull> {
        if n == 0 || draws == 0 {
            return None;
        }
        let mut stream = Stream::new(seed);
        let mut values = vec![0.0; n];
        let mut ordered = Vec::with_capacity(draws);
        for _ in 0..draws {
            // Running sums of exponential gaps are an ordered uniform sample but for their scale,
            // which the dip does not see; so nothing has to be sorted.
            let mut sum = 0.0;
            values.fill_with(|| {
                sum -= stream.open01().ln();
                sum
            });
            ordered.push(dip_of_sorted(&values));
        }
        ordered.sort_unstable_by(f64::total_cmp);
        Some(DipNull { n, ordered })
    }

    /// The size of the samples drawn.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Share of the draws, the sample itself counted as one, with a dip of at least `dip`. Never zero,
    /// so that the test keeps its level for any count of draws.
    pub fn p_value(&self, dip: f64) -> f64 {
        // Equal but for rounding counts as equal.
        let smaller = self.ordered.partition_point(|d| *d < dip - 1e-12);
        (self.ordered.len() - smaller + 1) as f64 / (self.ordered.len() + 1) as f64
    }
}

/// The dip of an ordered, usable sample, by narrowing the interval of the mode (Hartigan and Hartigan
/// 1985, section 4; Hartigan, Applied Statistics 34, 1985).
///
/// Heights are counts, so that the distribution function rises from i to i + 1 at value i. Left of the
/// mode the best fit is half a dip above the greatest convex function below it, right of the mode half
/// a dip below the least concave function above it.
pub(crate) fn dip_of_sorted(xs: &[f64]) -> f64 {
    let n = xs.len();
    let (mut low, mut high) = (0, n - 1);
    let mut height = 1.0_f64;
    loop {
        let convex = Hull::below(xs, low, high);
        let concave = Hull::above(xs, low, high);
        let (left, right, gap) = modal_interval(xs, &convex, &concave);
        if gap <= height || (left, right) == (low, high) {
            return height / (2 * n) as f64;
        }
        let convex_misfit = (low..=left).map(|i| (i + 1) as f64 - convex.at(xs, i));
        let concave_misfit = (right..=high).map(|i| concave.at(xs, i) - i as f64);
        height = convex_misfit.chain(concave_misfit).fold(height, f64::max);
        (low, high) = (left, right);
    }
}

/// The corners between which the two hulls are farthest apart, and how far that is.
fn modal_interval(xs: &[f64], convex: &Hull, concave: &Hull) -> (usize, usize, f64) {
    let mut best = (0, 0, f64::NEG_INFINITY);
    for &corner in &convex.corners {
        let gap = concave.at(xs, corner) - convex.at(xs, corner);
        if gap > best.2 {
            best = (corner, concave.corner_from(corner), gap);
        }
    }
    for &corner in &concave.corners {
        let gap = concave.at(xs, corner) - convex.at(xs, corner);
        if gap > best.2 {
            best = (convex.corner_up_to(corner), corner, gap);
        }
    }
    best
}

/// The greatest convex function below the steps of the distribution function, or the least concave
/// one above them, between two values.
struct Hull {
    /// Indices of its corners, ascending, the two ends among them.
    corners: Vec<usize>,
    /// Offset added to an index to get the height of a corner.
    lift: f64,
}

impl Hull {
    fn below(xs: &[f64], low: usize, high: usize) -> Hull {
        // A convex hull turns left at each corner.
        Hull { corners: corners(xs, low, high, |turn| turn > 0.0), lift: 0.0 }
    }

    fn above(xs: &[f64], low: usize, high: usize) -> Hull {
        Hull { corners: corners(xs, low, high, |turn| turn < 0.0), lift: 1.0 }
    }

    /// Height over value `index`.
    fn at(&self, xs: &[f64], index: usize) -> f64 {
        let after = self.corners.partition_point(|&corner| corner < index);
        let right = self.corners[after];
        if right == index {
            return index as f64 + self.lift;
        }
        let left = self.corners[after - 1];
        let slope = (right - left) as f64 / (xs[right] - xs[left]);
        left as f64 + self.lift + (xs[index] - xs[left]) * slope
    }

    /// The first corner at `index` or after.
    fn corner_from(&self, index: usize) -> usize {
        self.corners[self.corners.partition_point(|&corner| corner < index)]
    }

    /// The last corner at `index` or before.
    fn corner_up_to(&self, index: usize) -> usize {
        self.corners[self.corners.partition_point(|&corner| corner <= index) - 1]
    }
}

/// Corners of the hull through (value, index), each of which turns the way that `keeps` wants.
fn corners(xs: &[f64], low: usize, high: usize, keeps: impl Fn(f64) -> bool) -> Vec<usize> {
    let mut hull: Vec<usize> = Vec::new();
    for index in low..=high {
        while let [.., before, last] = hull[..] {
            let turn = (xs[last] - xs[before]) * (index - last) as f64
                - (xs[index] - xs[last]) * (last - before) as f64;
            if keeps(turn) {
                break;
            }
            hull.pop();
        }
        hull.push(index);
    }
    hull
}

//! Levels of places as a mixture of bands: how many there are, where they lie, and how sure that is.
//!
//! The level of place i in window w is
//!
//! ```text
//! x_i = o_w + a z_i + c_b(i) + e_i,    e_i ~ N(0, s_i² + τ²)
//! ```
//!
//! with centres c of k bands and their shares, the error s_i known from repeats, τ the spread inside a band that is
//! no noise of reading, an offset o of each window (sum 0) where windows differ as a whole, and a difference a of two
//! planes, of which the address says which one it is (z = 0 or 1). Fitted by expectation and maximisation (Dempster,
//! Laird and Rubin, JRSS B 39, 1977) from the division that k-means would choose, which in one dimension is found
//! exactly; models are compared by Schwarz's criterion.

use super::spots::Level;

/// Iterations, at most; a fit that gains less than [`GAIN_MIN`] is done before.
const ITERATIONS: usize = 100;
const GAIN_MIN: f64 = 1e-3;

/// The level of one place, with what is known of where it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Datum {
    pub(super) level: Level,
    /// Number of its window, from 0.
    pub(super) window: usize,
    /// Byte offset.
    pub(super) offset: u64,
}

/// Components of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    /// Count of bands.
    pub(super) bands: usize,
    /// True when each window may lie higher or lower as a whole.
    pub(super) offsets: bool,
    /// Bytes after which the other plane has its turn.
    pub(super) plane: Option<u64>,
}

/// A fitted model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fit {
    pub(super) shape: Shape,
    /// Centres in ascending order, ns.
    pub(super) centers: Vec<f64>,
    /// Their standard errors, ns.
    pub(super) center_errors: Vec<f64>,
    pub(super) shares: Vec<f64>,
    /// τ², ns².
    pub(super) spread2: f64,
    /// One for each window.
    pub(super) offsets: Vec<f64>,
    /// Extra time of the odd plane, ns.
    pub(super) plane_ns: f64,
    pub(super) log_likelihood: f64,
    /// Schwarz's criterion, -2 ln L + parameters x ln n: less is better.
    pub(super) bic: f64,
}

impl Fit {
    /// The band that a datum most likely belongs to, and how likely.
    pub(super) fn band(&self, datum: &Datum) -> (usize, f64) {
        let odds = self.odds(datum);
        let sum: f64 = odds.iter().sum();
        let best = (0..odds.len()).max_by(|a, b| odds[*a].total_cmp(&odds[*b])).unwrap_or(0);
        (best, if sum > 0.0 { odds[best] / sum } else { 0.0 })
    }

    /// Level of a datum of the fit, without what its window and plane add.
    pub(super) fn own(&self, datum: &Datum) -> f64 {
        self.bare(datum, self.offsets.get(datum.window).copied().unwrap_or(0.0))
    }

    /// Level of any datum without `offset` and what its plane adds.
    pub(super) fn bare(&self, datum: &Datum, offset: f64) -> f64 {
        let plane = if odd(datum, self.shape.plane) { self.plane_ns } else { 0.0 };
        datum.level.mean - offset - plane
    }

    /// Density of each band at the datum, times its share.
    fn odds(&self, datum: &Datum) -> Vec<f64> {
        let (x, variance) = (self.own(datum), datum.level.error.powi(2) + self.spread2);
        let bands = self.centers.iter().zip(&self.shares);
        bands.map(|(center, share)| share * normal(x - center, variance)).collect()
    }

    /// Parameters.
    fn parameters(&self) -> f64 {
        let windows = if self.shape.offsets { self.offsets.len().saturating_sub(1) } else { 0 };
        let plane = usize::from(self.shape.plane.is_some());
        // Centres, shares that sum to 1, τ.
        (2 * self.shape.bands + windows + plane) as f64
    }
}

/// Density of N(0, variance).
pub(super) fn normal(x: f64, variance: f64) -> f64 {
    (-0.5 * x * x / variance).exp() / (std::f64::consts::TAU * variance).sqrt()
}

/// True in the second of two planes.
fn odd(datum: &Datum, plane: Option<u64>) -> bool {
    plane.is_some_and(|bytes| (datum.offset / bytes) % 2 == 1)
}

/// Fits `shape`; none when there are fewer data than twice its bands.
pub(super) fn fit(data: &[Datum], shape: Shape) -> Option<Fit> {
    if data.len() < 2 * shape.bands || shape.bands == 0 {
        return None;
    }
    let windows = data.iter().map(|datum| datum.window + 1).max().unwrap_or(1);
    let mut fit = begin(data, shape, windows)?;
    fit.log_likelihood = f64::NEG_INFINITY;
    for _ in 0..ITERATIONS {
        let before = fit.log_likelihood;
        step(data, &mut fit);
        if fit.log_likelihood - before < GAIN_MIN {
            break;
        }
    }
    fit.bic = -2.0 * fit.log_likelihood + fit.parameters() * (data.len() as f64).ln();
    Some(fit)
}

/// Initial fit: the windows' and the planes' means taken out, the rest divided as k-means does.
fn begin(data: &[Datum], shape: Shape, windows: usize) -> Option<Fit> {
    let mean = |of: &dyn Fn(&Datum) -> bool| {
        let some = data.iter().filter(|datum| of(datum)).map(|datum| datum.level.mean);
        let (sum, n) = some.fold((0.0, 0_usize), |(sum, n), x| (sum + x, n + 1));
        if n == 0 { 0.0 } else { sum / n as f64 }
    };
    let all = mean(&|_| true);
    let offset = |w| if shape.offsets { mean(&|datum| datum.window == w) - all } else { 0.0 };
    let mut fit = Fit {
        shape,
        centers: Vec::new(),
        center_errors: vec![0.0; shape.bands],
        shares: Vec::new(),
        spread2: 0.0,
        offsets: (0..windows).map(offset).collect(),
        plane_ns: 0.0,
        log_likelihood: f64::NEG_INFINITY,
        bic: f64::INFINITY,
    };
    if shape.plane.is_some() {
        fit.plane_ns = mean(&|d| odd(d, shape.plane)) - mean(&|d| !odd(d, shape.plane));
    }
    let mut bare: Vec<f64> = data.iter().map(|datum| fit.own(datum)).collect();
    bare.sort_unstable_by(f64::total_cmp);
    let groups = divide(&bare, shape.bands)?;
    let n = bare.len() as f64;
    let mut within = 0.0;
    for group in groups {
        let part = &bare[group];
        let center = part.iter().sum::<f64>() / part.len() as f64;
        within += part.iter().map(|x| (x - center).powi(2)).sum::<f64>();
        fit.centers.push(center);
        fit.shares.push(part.len() as f64 / n);
    }
    let known = data.iter().map(|datum| datum.level.error.powi(2)).sum::<f64>() / n;
    fit.spread2 = (within / n - known).max(0.05 * known);
    Some(fit)
}

/// One step of expectation and maximisation.
fn step(data: &[Datum], fit: &mut Fit) {
    let k = fit.centers.len();
    let mut share = vec![0.0; k];
    let mut center = vec![(0.0, 0.0); k];
    let mut window = vec![(0.0, 0.0); fit.offsets.len()];
    let (mut plane, mut spread, mut log_likelihood) = ((0.0, 0.0), 0.0, 0.0);
    for datum in data {
        let variance = datum.level.error.powi(2) + fit.spread2;
        let (odds, bare) = (fit.odds(datum), fit.own(datum));
        let sum: f64 = odds.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        log_likelihood += sum.ln();
        let (mut expected, mut square) = (0.0, 0.0);
        for band in 0..k {
            let r = odds[band] / sum;
            share[band] += r;
            center[band].0 += r / variance * bare;
            center[band].1 += r / variance;
            expected += r * fit.centers[band];
            square += r * (bare - fit.centers[band]).powi(2);
        }
        let slot = &mut window[datum.window];
        *slot = (slot.0 + (bare - expected) / variance, slot.1 + 1.0 / variance);
        if odd(datum, fit.shape.plane) {
            plane = (plane.0 + (bare - expected) / variance, plane.1 + 1.0 / variance);
        }
        let gain = fit.spread2 / variance;
        spread += gain * gain * square + gain * datum.level.error.powi(2);
    }
    fit.log_likelihood = log_likelihood;
    let n = data.len() as f64;
    for band in 0..k {
        fit.shares[band] = (share[band] / n).max(1e-9);
        if center[band].1 > 0.0 {
            fit.centers[band] = center[band].0 / center[band].1;
            fit.center_errors[band] = center[band].1.recip().sqrt();
        }
    }
    fit.spread2 = spread / n;
    if fit.shape.offsets {
        let moves = window.iter().map(|(x, weight)| if *weight > 0.0 { x / weight } else { 0.0 });
        fit.offsets.iter_mut().zip(moves).for_each(|(offset, more)| *offset += more);
        let mean = fit.offsets.iter().sum::<f64>() / fit.offsets.len() as f64;
        fit.offsets.iter_mut().for_each(|offset| *offset -= mean);
    }
    if plane.1 > 0.0 {
        fit.plane_ns += plane.0 / plane.1;
    }
}

/// Divides ascending values into k groups with the least sum of squares within, exactly: the groups of an optimum
/// are runs (Fisher, JASA 53, 1958), so the best division of the first j values into m runs follows from those into
/// m - 1. None when there are fewer values than groups.
pub(super) fn divide(sorted: &[f64], k: usize) -> Option<Vec<std::ops::Range<usize>>> {
    let n = sorted.len();
    if k == 0 || n < k {
        return None;
    }
    // Sums about the middle, for precision.
    let middle = sorted[n / 2];
    let (mut sums, mut squares) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    for (at, x) in sorted.iter().map(|x| x - middle).enumerate() {
        sums[at + 1] = sums[at] + x;
        squares[at + 1] = squares[at] + x * x;
    }
    let within = |from: usize, to: usize| {
        let sum: f64 = sums[to] - sums[from];
        (squares[to] - squares[from] - sum * sum / (to - from) as f64).max(0.0)
    };
    let mut best: Vec<f64> = (0..=n).map(|to| if to == 0 { 0.0 } else { within(0, to) }).collect();
    let mut cuts: Vec<Vec<usize>> = Vec::new();
    for groups in 2..=k {
        let mut next = vec![f64::INFINITY; n + 1];
        let mut cut = vec![0; n + 1];
        for to in groups..=n {
            let froms = best.iter().enumerate().take(to).skip(groups - 1);
            let costs = froms.map(|(from, cost)| (cost + within(from, to), from));
            if let Some(least) = costs.min_by(|a, b| a.0.total_cmp(&b.0)) {
                (next[to], cut[to]) = least;
            }
        }
        best = next;
        cuts.push(cut);
    }
    let mut to = n;
    let mut groups = Vec::with_capacity(k);
    for cut in cuts.iter().rev() {
        groups.push(cut[to]..to);
        to = cut[to];
    }
    groups.push(0..to);
    groups.reverse();
    Some(groups)
}

//! The model of noise, and how probable what was seen is under it.
//!
//! A row is its level plus an error: Student's t with four degrees of freedom, so that one wild row in a table costs
//! little, scaled by the row's own standard error and a spread that all rows share (places differ from each other in
//! ways that no count of samples removes).

/// Degrees of freedom of a row's error.
const FREEDOM: f64 = 4.0;

/// A fit has settled when its last step was this small beside its error.
const SETTLED: f64 = 1e-3;

/// A row as the fit sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// How much of the step it shows: 0, 1, or a part where classes mix.
    pub(super) x: f64,
    pub(super) y: f64,
    /// Its own standard error.
    pub(super) error: f64,
    /// Density of a row that went wrong and may lie anywhere, times how often that happens.
    pub(super) wild: f64,
}

/// A fit of `y = base + step x`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fit {
    /// Natural logarithm of the probability density of the rows, the base and the step integrated out.
    pub(super) ln_evidence: f64,
    pub(super) base: f64,
    pub(super) base_error: f64,
    pub(super) step: f64,
    pub(super) step_error: f64,
}

/// Prior of a step: a normal distribution of its logarithm.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepPrior {
    /// The median step, in nanoseconds.
    pub(super) median: f64,
    /// Standard deviation of its natural logarithm.
    pub(super) width: f64,
    /// Below this nothing is a step.
    pub(super) least: f64,
}

impl StepPrior {
    fn ln_density(self, step: f64) -> f64 {
        let z = (step / self.median).ln() / self.width;
        -0.5 * z * z - (step * self.width).ln() - 0.5 * TAU.ln()
    }
}

/// Logarithm of the density of an error `r` at scale `scale`, but for a constant.
pub(super) fn ln_t(r: f64, scale: f64) -> f64 {
    -(FREEDOM + 1.0) / 2.0 * (r * r / (FREEDOM * scale * scale)).ln_1p() - scale.ln()
        + LN_T_CONSTANT
}

/// ln(gamma(5/2) / (gamma(2) sqrt(4 pi))).
const LN_T_CONSTANT: f64 = -0.980_829_253_011_726_2;

/// Fits one level to all points, or, with `step`, two: the second is above the first, as crossing more can not cost
/// less. The common spread is `spread`.
pub(super) fn fit(points: &[Point], spread: f64, step: Option<StepPrior>) -> Fit {
    let Some(prior) = step else { return level(points, 0.0, spread) };
    let free = two_levels(points, spread);
    if free.step > prior.least {
        let ln_evidence = free.ln_evidence + prior.ln_density(free.step);
        return Fit { ln_evidence, ..free };
    }
    // No step, or one the wrong way: as probable as the least that there can be, which few are as small as.
    let bound = level(points, prior.least, spread);
    let ln_evidence = bound.ln_evidence + prior.ln_density(prior.least) + prior.least.ln();
    Fit { ln_evidence, step: free.step, step_error: free.step_error, ..bound }
}

/// Fits a straight line, whose slope is about as large as `usual` either way.
pub(super) fn trend(points: &[Point], spread: f64, usual: f64) -> Fit {
    let free = two_levels(points, spread);
    let z = free.step / usual;
    let ln_prior = -0.5 * z * z - usual.ln() - 0.5 * TAU.ln();
    Fit { ln_evidence: free.ln_evidence + ln_prior, ..free }
}

/// Fits `y = step x`, with a step of a sign that is known (`prior`) or about as large as `usual` either way.
pub(super) fn through_zero(
    points: &[Point],
    spread: f64,
    prior: Option<StepPrior>,
    usual: f64,
) -> Fit {
    let mut step = 0.0;
    for _ in 0..25 {
        let sums = normal(points, |p| weight(p, p.y - step * p.x, spread));
        let new = if sums.wxx > 0.0 { sums.wxy / sums.wxx } else { 0.0 };
        let last = std::mem::replace(&mut step, new);
        if (step - last).abs() * sums.wxx.sqrt() < SETTLED {
            break;
        }
    }
    let information = normal(points, |p| information(p, spread)).wxx.max(f64::MIN_POSITIVE);
    let step_error = information.sqrt().recip();
    let seen = |step: f64| likelihood(points, 0.0, step, spread);
    let ln_evidence = match prior {
        Some(prior) if step > prior.least => {
            seen(step) + 0.5 * (TAU / information).ln() + prior.ln_density(step)
        }
        Some(prior) => seen(prior.least) + prior.ln_density(prior.least) + prior.least.ln(),
        // A normal prior and a normal likelihood make one normal integral.
        None => {
            let shrunk = step * information / (information + usual.powi(-2));
            let z = shrunk / usual;
            seen(shrunk) - 0.5 * z * z - 0.5 * (usual * usual * information).ln_1p()
        }
    };
    Fit { ln_evidence, step, step_error, ..Fit::default() }
}

/// One free level under a step that is given.
fn level(points: &[Point], step: f64, spread: f64) -> Fit {
    let mut values: Vec<f64> = points.iter().map(|p| p.y - step * p.x).collect();
    let mut base = super::estimate::median(&mut values);
    for _ in 0..25 {
        let (mut weights, mut sum) = (0.0, 0.0);
        for p in points {
            let w = weight(p, p.y - step * p.x - base, spread);
            weights += w;
            sum += w * (p.y - step * p.x);
        }
        let last = std::mem::replace(&mut base, sum / weights);
        if (base - last).abs() * weights.sqrt() < SETTLED {
            break;
        }
    }
    let information: f64 = points.iter().map(|p| information(p, spread)).sum();
    let ln = likelihood(points, base, step, spread) + 0.5 * (TAU / information).ln();
    Fit { ln_evidence: ln, base, base_error: information.sqrt().recip(), step, step_error: 0.0 }
}

const TAU: f64 = std::f64::consts::TAU;

/// A free level and a free step, by reweighted least squares; Laplace's approximation integrates them out.
pub(super) fn two_levels(points: &[Point], spread: f64) -> Fit {
    let side = |with: bool| {
        let wanted = |p: &&Point| (p.x > 0.0) == with;
        super::estimate::median(&mut points.iter().filter(wanted).map(|p| p.y).collect::<Vec<_>>())
    };
    let share = points.iter().map(|p| p.x).fold(0.0, f64::max).max(1e-9);
    let mut base = side(false);
    let mut step = (side(true) - base) / share;
    for _ in 0..25 {
        let sums = normal(points, |p| weight(p, p.y - base - step * p.x, spread));
        let Some((b, s)) = sums.solve() else { break };
        let moved = (base - b).abs().max((step - s).abs());
        (base, step) = (b, s);
        if moved * sums.w.sqrt() < SETTLED {
            break;
        }
    }
    let information = normal(points, |p| information(p, spread));
    let determinant = information.determinant().max(f64::MIN_POSITIVE);
    let ln = likelihood(points, base, step, spread) + TAU.ln() - 0.5 * determinant.ln();
    let step_error = (information.w / determinant).sqrt();
    let base_error = (information.wxx / determinant).sqrt();
    Fit { ln_evidence: ln, base, base_error, step, step_error }
}

fn scale(p: &Point, spread: f64) -> f64 {
    p.error.hypot(spread).max(1e-9)
}

fn likelihood(points: &[Point], base: f64, step: f64, spread: f64) -> f64 {
    let density = |p: &Point| {
        let ln = ln_t(p.y - base - step * p.x, scale(p, spread));
        if p.wild > 0.0 { (ln.exp() + p.wild).ln() } else { ln }
    };
    points.iter().map(density).sum()
}

fn weight(p: &Point, r: f64, spread: f64) -> f64 {
    let scale = scale(p, spread);
    (FREEDOM + 1.0) / (FREEDOM * scale * scale + r * r)
}

/// Expected information of one point about its level.
fn information(p: &Point, spread: f64) -> f64 {
    let scale = scale(p, spread);
    (FREEDOM + 1.0) / (FREEDOM + 3.0) / (scale * scale)
}

/// Sums of the normal equations of a straight line.
#[derive(Clone, Copy, Debug, Default)]
struct Normal {
    w: f64,
    wx: f64,
    wxx: f64,
    wy: f64,
    wxy: f64,
}

impl Normal {
    fn determinant(self) -> f64 {
        self.w * self.wxx - self.wx * self.wx
    }

    /// Base and step; `None` when all points have the same x.
    fn solve(self) -> Option<(f64, f64)> {
        let determinant = self.determinant();
        (determinant > 0.0).then(|| {
            let base = (self.wy * self.wxx - self.wxy * self.wx) / determinant;
            (base, (self.w * self.wxy - self.wx * self.wy) / determinant)
        })
    }
}

fn normal(points: &[Point], weight: impl Fn(&Point) -> f64) -> Normal {
    points.iter().fold(Normal::default(), |sums, p| {
        let w = weight(p);
        Normal {
            w: sums.w + w,
            wx: sums.wx + w * p.x,
            wxx: sums.wxx + w * p.x * p.x,
            wy: sums.wy + w * p.y,
            wxy: sums.wxy + w * p.x * p.y,
        }
    })
}

/// ln(e^a + e^b + ...), minus infinity of nothing.
pub(super) fn ln_sum(values: &[f64]) -> f64 {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    most + values.iter().map(|value| (value - most).exp()).sum::<f64>().ln()
}

/// Spreads that all rows may share, each with the logarithm of its prior probability: none as probable as all others
/// together, if there can be none; the others from `least` to `most` in equal ratios.
pub(super) fn spreads(none: bool, least: f64, most: f64) -> Vec<(f64, f64)> {
    const COUNT: i32 = 8;
    let ratio = (most / least).max(1.0).powf(1.0 / f64::from(COUNT - 1));
    let each = if none { 0.5 } else { 1.0 } / f64::from(COUNT);
    let some = (0..COUNT).map(|n| (least * ratio.powi(n), each.ln()));
    none.then_some((0.0, 0.5f64.ln())).into_iter().chain(some).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIOR: StepPrior = StepPrior { median: 50.0, width: 1.5, least: 1.0 };

    /// Twelve rows, six of which show a step.
    fn rows(step: f64, wild: Option<usize>) -> Vec<Point> {
        let noise = [0.3, -0.8, 0.5, -0.1, 0.9, -0.6, 0.2, -0.4, 0.7, -0.9, 0.1, 0.4];
        let point = |(at, noise): (usize, &f64)| {
            let x = f64::from(u8::from(at >= 6));
            let far = if wild == Some(at) { 80.0 } else { 0.0 };
            Point { x, y: 100.0 + step * x + noise + far, error: 1.0, wild: 0.0 }
        };
        noise.iter().enumerate().map(point).collect()
    }

    // Breaks when a step is found that is not there, missed that is, or moved by one wild row.
    #[test]
    fn a_step_is_told_from_none() {
        let none = |points: &[Point]| fit(points, 0.0, None).ln_evidence;
        let there = fit(&rows(20.0, None), 0.0, Some(PRIOR));
        assert!(there.ln_evidence > none(&rows(20.0, None)) + 15.0);
        assert!((there.step - 20.0).abs() < 2.0 * there.step_error, "{there:?}");
        assert!((0.5..0.9).contains(&there.step_error), "{there:?}");
        let absent = fit(&rows(0.0, None), 0.0, Some(PRIOR));
        assert!(absent.ln_evidence < none(&rows(0.0, None)));
        let wild = fit(&rows(20.0, Some(2)), 0.0, Some(PRIOR));
        assert!((wild.step - 20.0).abs() < 1.5, "{wild:?}");
        // Crossing more cannot cost less.
        let down = fit(&rows(-20.0, None), 0.0, Some(PRIOR));
        assert!(down.ln_evidence < none(&rows(-20.0, None)));
    }

    #[test]
    fn sums_of_logarithms() {
        assert!((ln_sum(&[0.0, 0.0]) - 2f64.ln()).abs() < 1e-12);
        assert!((ln_sum(&[-1000.0, -1000.0]) - (2f64.ln() - 1000.0)).abs() < 1e-9);
        assert_eq!(ln_sum(&[]), f64::NEG_INFINITY);
        let prior: f64 = spreads(true, 1.0, 100.0).iter().map(|(_, ln)| ln.exp()).sum();
        assert!((prior - 1.0).abs() < 1e-12);
        assert!((ln_t(0.0, 2.0).exp() - 0.1875).abs() < 1e-9);
    }
}

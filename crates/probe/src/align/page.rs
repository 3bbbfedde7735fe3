//! The page and the multi-plane page: where the plateau of boundaries below the erase block's begins, and whether
//! planes show there.
//!
//! Above the boundary of a multi-plane page each crossing costs another array read, so all classes from it up to the
//! erase block's cost the same. Where planes differ, the sides show the boundary between two pages of one group: before
//! it lies the plane that lies *after* every boundary of groups. So the difference of the sides has one sign in all
//! rows of the plateau and the other one in the row right below it.

use serde::{Deserialize, Serialize};

use super::estimate::Estimate;
use super::model::{self, Point, StepPrior};
use super::row::{Row, Source};

/// How much planes differ, where they do, in nanoseconds: about as much as an array read does from place to place.
const PLANES_NS: f64 = 30_000.0;

/// How far the first row of a published plateau may lie off the others, as a share of the plateau: two kinds of pages
/// that differ by half of it, over seven places.
const FIRST_APART: f64 = 0.09;

/// Start of the plateau, and the page layout below it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layout {
    /// The multi-plane page in bytes: the class with which the plateau begins.
    pub group_bytes: u64,
    /// Planes, as far as they differ: 1 or 2.
    pub planes: u8,
    /// Its probability, given the rows.
    pub probability: f64,
    /// Cost of a boundary of the plateau, in nanoseconds.
    pub plateau_ns: f64,
    /// Standard error of that, in nanoseconds.
    pub plateau_error_ns: f64,
    /// Extra time of the slower plane, in nanoseconds.
    pub plane_ns: f64,
    /// Standard error of that, in nanoseconds.
    pub plane_error_ns: f64,
    /// Standard deviation between rows of the plateau beyond their own errors, in nanoseconds.
    pub spread_ns: f64,
}

/// Cost of one class, over both factors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub(super) log2: u32,
    pub(super) diff: Estimate,
    pub(super) sides: Estimate,
    /// See [`Point`].
    wild: f64,
}

/// All layouts, the most probable first; empty when there are too few rows. `rows` are those below the erase block.
pub(super) fn judge(rows: &[Row], source: Source, time: f64) -> Vec<Layout> {
    let levels = levels(rows, source.wild(time));
    if levels.len() < 4 || time <= 0.0 {
        return Vec::new();
    }
    // The first layout is the one in which all rows are of the plateau: then it begins below them.
    let starts = 0..levels.len() - 2;
    let mut scored: Vec<(f64, Layout)> = starts
        .flat_map(|start| [1, 2].map(|planes| score(&levels, start, planes, source, time)))
        .collect();
    let all = model::ln_sum(&scored.iter().map(|(ln, _)| *ln).collect::<Vec<_>>());
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored
        .into_iter()
        .map(|(ln, layout)| Layout { probability: (ln - all).exp(), ..layout })
        .collect()
}

/// Rows of both factors that belong to one power of two, taken together.
fn levels(rows: &[Row], wild: f64) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by_key(|row| (row.class.log2, row.class.factor));
    for row in sorted {
        let new = Level { log2: row.class.log2, diff: row.diff, sides: row.sides, wild };
        match levels.last_mut().filter(|last| last.log2 == new.log2) {
            Some(last) => {
                last.diff = pooled(last.diff, new.diff);
                last.sides = pooled(last.sides, new.sides);
            }
            None => levels.push(new),
        }
    }
    levels
}

/// Two estimates of one thing, each weighted by its precision.
fn pooled(a: Estimate, b: Estimate) -> Estimate {
    let weight = |estimate: Estimate| 1.0 / estimate.error_ns.max(1e-3).powi(2);
    let sum = weight(a) + weight(b);
    let value_ns = (weight(a) * a.value_ns + weight(b) * b.value_ns) / sum;
    Estimate { value_ns, error_ns: sum.sqrt().recip() }
}

/// Logarithm of the probability of the rows when the plateau begins at `levels[start]`, with the layout.
fn score(levels: &[Level], start: usize, planes: u8, source: Source, time: f64) -> (f64, Layout) {
    let mut terms = Vec::new();
    let mut best = (
        f64::NEG_INFINITY,
        Layout {
            group_bytes: 1 << levels[start].log2,
            planes,
            probability: 0.0,
            plateau_ns: 0.0,
            plateau_error_ns: 0.0,
            plane_ns: 0.0,
            plane_error_ns: 0.0,
            spread_ns: 0.0,
        },
    );
    let range = levels.iter().map(|level| level.diff.value_ns.abs()).fold(0.05 * time, f64::max);
    for (spread, ln_prior) in spreads(levels, source, time, |level| level.diff) {
        let (ln_diff, base, error) = plateau(levels, (start, planes), spread, 1.5 * range, source);
        terms.push(ln_diff + ln_prior);
        if ln_diff + ln_prior > best.0 {
            let layout =
                Layout { plateau_ns: base, plateau_error_ns: error, spread_ns: spread, ..best.1 };
            best = (ln_diff + ln_prior, layout);
        }
    }
    let ln_diff = model::ln_sum(&terms);
    let (ln_sides, plane_ns, plane_error_ns) = if planes == 1 && source == Source::Published {
        uneven_sides(levels, start, time)
    } else {
        sides(levels, start, planes, source, time)
    };
    let layout = Layout { plane_ns, plane_error_ns, ..best.1 };
    (ln_diff + ln_sides, layout)
}

fn spreads(
    levels: &[Level],
    source: Source,
    time: f64,
    of: impl Fn(&Level) -> Estimate,
) -> Vec<(f64, f64)> {
    let mut errors: Vec<f64> = levels.iter().map(|level| of(level).error_ns).collect();
    let usual = super::estimate::median(&mut errors).max(1e-5 * time);
    if source == Source::Measured {
        model::spreads(true, 0.3 * usual, (3.0 * usual).max(0.05 * time))
    } else {
        model::spreads(false, usual.max(1e-3 * time), 0.1 * time)
    }
}

/// The costs: one level from `start` on; below it anything up to that, evenly, and in the row of a page on two planes
/// anything at all, as a boundary between pages may cost more than one between groups.
fn plateau(
    levels: &[Level],
    (start, planes): (usize, u8),
    spread: f64,
    range: f64,
    source: Source,
) -> (f64, f64, f64) {
    let point = |level: &Level| Point {
        x: 0.0,
        y: level.diff.value_ns,
        error: level.diff.error_ns,
        wild: level.wild,
    };
    let points: Vec<Point> = levels[start..].iter().map(point).collect();
    let fit = model::fit(&points, spread, None);
    let lower: f64 = levels[..start]
        .iter()
        .enumerate()
        .map(|(at, level)| {
            if planes == 2 && at + 1 == start {
                return -range.ln();
            }
            let scale = level.diff.error_ns.hypot(spread).max(1e-9);
            let below = fit.base - level.diff.value_ns;
            // Density 3 (1 - u)^2 of what is missing to the plateau: nothing inside a page costs nearly as much as
            // another array read. Seen through an error it is never less than that error's own square.
            let missing = below.max(0.0).hypot(scale).min(range) / range;
            let ln_density = (3.0 * missing * missing / range).ln();
            let above = if below >= 0.0 {
                0.0
            } else {
                model::ln_t(below, scale) - model::ln_t(0.0, scale)
            };
            ((ln_density + above).exp() + level.wild).ln()
        })
        .sum();
    let ln_evidence = match source {
        Source::Published => with_first_apart(&points, spread, fit.ln_evidence),
        Source::Measured => fit.ln_evidence,
    };
    (ln_evidence + lower, fit.base, fit.base_error)
}

/// The evidence of a plateau whose first row may lie farther off than the others, as likely as not: its boundaries lie
/// between pages that follow each other, which where two of one kind do are of that kind on both sides. All others lie
/// between pages of any kinds, and over seven places a row that makes a difference.
fn with_first_apart(points: &[Point], spread: f64, ln_together: f64) -> f64 {
    let [first, rest @ ..] = points else { return ln_together };
    if rest.len() < 3 {
        return ln_together;
    }
    let fit = model::fit(rest, spread, None);
    let scale = first.error.hypot(spread).hypot(FIRST_APART * fit.base).max(1e-9);
    let off = (first.y - fit.base) / scale;
    // Normal: unlike the noise of a row this has no long tail, because there are only a few kinds of pages.
    let ln_first = -0.5 * off * off - scale.ln() - 0.5 * std::f64::consts::TAU.ln();
    model::ln_sum(&[ln_together, fit.ln_evidence + ln_first]) - std::f64::consts::LN_2
}

/// The sides of a published table without planes: seven places a row are so few that which kinds of pages lie on either
/// side makes a row's sides differ, and the rows of the larger boundaries alike, which share places. So the rows whose
/// sides differ may begin anywhere on the plateau.
fn uneven_sides(levels: &[Level], start: usize, time: f64) -> (f64, f64, f64) {
    let begins = start..levels.len() - 2;
    let fits: Vec<(f64, f64, f64)> =
        begins.map(|begin| sides(levels, begin, 1, Source::Published, time)).collect();
    let evidence: Vec<f64> = fits.iter().map(|(ln, ..)| *ln).collect();
    let best = fits.iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let (_, plane_ns, error_ns) = best.copied().unwrap_or((f64::NEG_INFINITY, 0.0, 0.0));
    (model::ln_sum(&evidence) - (evidence.len() as f64).ln(), plane_ns, error_ns)
}

/// The sides: with planes that differ, one sign on the plateau, the other in the row below it, none further below;
/// otherwise none below the plateau.
fn sides(levels: &[Level], start: usize, planes: u8, source: Source, time: f64) -> (f64, f64, f64) {
    if planes == 2 && start == 0 {
        return (f64::NEG_INFINITY, 0.0, 0.0);
    }
    let point = |(at, level): (usize, &Level)| {
        let x = match (planes, at) {
            (1, at) if at >= start => 1.0,
            (2, at) if at >= start => -1.0,
            (2, at) if at + 1 == start => 1.0,
            _ => 0.0,
        };
        Point { x, y: level.sides.value_ns, error: level.sides.error_ns, wild: level.wild }
    };
    let points: Vec<Point> = levels.iter().enumerate().map(point).collect();
    let mut terms = Vec::new();
    let mut best = (f64::NEG_INFINITY, 0.0, 0.0);
    for (spread, ln_prior) in spreads(levels, source, time, |level| level.sides) {
        let fit = if planes == 2 {
            let median = PLANES_NS.min(0.05 * time);
            let prior = StepPrior { median, width: 0.8, least: 0.15 * median };
            model::through_zero(&points, spread, Some(prior), 0.0)
        } else {
            model::through_zero(&points, spread, None, 0.03 * time)
        };
        terms.push(fit.ln_evidence + ln_prior);
        if fit.ln_evidence + ln_prior > best.0 {
            best = (fit.ln_evidence + ln_prior, fit.step, fit.step_error);
        }
    }
    (model::ln_sum(&terms), best.1, best.2)
}

//! Grids of shades: how much lies where, on a logarithmic scale of colour.

use stats::Unit;

use super::describe::Heat;
use super::frame::Frame;
use super::ground::Ground;
use super::hue::Hue;
use super::plot::Plot;
use super::shape::{Rgb, Shape};
use super::tick::{figure, figures};
use crate::number::RateUnit;

/// Shades of a picture: eyes do not distinguish more.
pub(super) const SHADES: u8 = 32;
/// Glyphs of a terminal, from little to much: each covers more of its cell than the one before.
const GLYPHS: [char; 5] = ['·', '░', '▒', '▓', '█'];

/// From which value to which shades go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// Of all values; `None` when there are none.
    pub(super) fn of(heat: &Heat) -> Option<Scale> {
        let values = || heat.cells.iter().map(|cell| cell.value);
        let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
        Some(Scale { low, high })
    }

    /// Index of the step that holds a value, among `steps`; the smallest value is in step 0.
    fn step(&self, value: f64, steps: u8) -> u8 {
        let span = libm::log2(self.high / self.low);
        let share = if span > 0.0 { libm::log2(value / self.low) / span } else { 1.0 };
        ((share * f64::from(steps)) as u8).min(steps - 1)
    }

    /// The value at a share of the way from the least to the greatest.
    fn value(&self, share: f64) -> f64 {
        self.low * libm::exp2(share * libm::log2(self.high / self.low))
    }
}

/// Colour of a step. Larger values have more contrast with the page: from dull yellow to dark violet on a light page,
/// from dull violet to bright yellow on a dark one.
pub(super) fn shade(step: u8, ground: Ground) -> Rgb {
    match ground {
        Ground::Light => Hue::Step { index: SHADES - 1 - step, of: SHADES }.rgb(),
        Ground::Dark => Hue::on_dark(step, SHADES),
    }
}

/// The grid as boxes. Neighbours of one shade in a row are one box, and boxes reach under their neighbours by a little,
/// so that no seam is seen between them.
pub(super) fn boxes(frame: &Frame<'_>, heat: &Heat, plot: &Plot, shapes: &mut Vec<Shape>) {
    const SEAM: f64 = 0.4;
    let Some(scale) = Scale::of(heat) else { return };
    let mut cells: Vec<(u32, u32, u8)> =
        heat.cells.iter().map(|c| (c.row, c.column, scale.step(c.value, SHADES))).collect();
    cells.sort_unstable();
    for run in cells.chunk_by(|a, b| (a.0, a.1 + 1, a.2) == (b.0, b.1, b.2)) {
        let (row, column, step) = run[0];
        let (from, to) = heat.corners(column, row);
        let wide = heat.step.0 * (run.len() - 1) as f64;
        let (Some(from), Some(to)) = (frame.spot(from), frame.spot((to.0 + wide, to.1))) else {
            continue;
        };
        let (left, right) = (plot.x(from.0), (plot.x(to.0) + SEAM).min(plot.right));
        let (top, bottom) = (plot.y(to.1), (plot.y(from.1) + SEAM).min(plot.bottom));
        // Never so small that it is not seen.
        let (width, height) = ((right - left).max(1.0), (bottom - top).max(1.0));
        let (x, y, fill) = (left, top, shade(step, plot.ground));
        shapes.push(Shape::Shade { x, y, width, height, fill });
    }
}

/// Text before the shades of a legend, and the labels of both ends.
pub(super) fn legend(heat: &Heat, rate: RateUnit) -> Option<(String, String, String)> {
    let scale = Scale::of(heat)?;
    let end = |value: f64| figure(value, heat.unit, rate);
    Some((heat.name.clone(), end(scale.low), end(scale.high)))
}

/// A bar of all shades, from little to much.
pub(super) fn bar(
    (x, y): (f64, f64),
    (width, height): (f64, f64),
    ground: Ground,
    shapes: &mut Vec<Shape>,
) {
    let each = width / f64::from(SHADES);
    for step in 0..SHADES {
        let (x, fill) = (x + each * f64::from(step), shade(step, ground));
        let width = if step + 1 == SHADES { each } else { each + 0.4 };
        shapes.push(Shape::Shade { x, y, width, height, fill });
    }
}

/// The glyph and the colour of a value in a terminal.
pub(super) fn glyph(scale: &Scale, value: f64) -> (char, Hue) {
    let step = scale.step(value, GLYPHS.len() as u8);
    (GLYPHS[usize::from(step)], Hue::Step { index: step, of: GLYPHS.len() as u8 })
}

/// Range of values of each glyph in a terminal.
pub(super) fn glyphs(heat: &Heat, rate: RateUnit) -> Vec<(char, Hue, String)> {
    let Some(scale) = Scale::of(heat) else { return Vec::new() };
    let steps = GLYPHS.len() as f64;
    let all = (0..GLYPHS.len()).map(|step| {
        // Of things there are no parts.
        let round = |value: f64| if heat.unit == Unit::Count { value.round() } else { value };
        let end = |step: usize| round(scale.value(step as f64 / steps));
        let (low, high) = (end(step), end(step + 1));
        let hue = Hue::Step { index: step as u8, of: GLYPHS.len() as u8 };
        (GLYPHS[step], hue, figures(low, high, heat.unit, rate))
    });
    if scale.low == scale.high {
        let (glyph, hue) = glyph(&scale, scale.high);
        return vec![(glyph, hue, figure(scale.high, heat.unit, rate))];
    }
    all.collect()
}

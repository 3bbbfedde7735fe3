//! Layers of data as shapes.

use super::clip::Place;
use super::describe::{Layer, Line, Points};
use super::frame::{Frame, Knot};
use super::heat;
use super::plot::Plot;
use super::shape::{Shape, Spot};

/// Opacity of zones: data and grid are seen through them.
pub(super) const SHADE: f64 = 0.16;

/// Least distance of a line's values, in pixels, at which each has a dot; and each an interval of its own
/// instead of a band around the line.
const APART: f64 = 12.0;

/// Shapes of a layer of data; zones and marks have none here.
pub(super) fn layer(frame: &Frame<'_>, layer: &Layer, plot: &Plot, shapes: &mut Vec<Shape>) {
    match layer {
        Layer::Points(points) => dots(frame, points, plot, shapes),
        Layer::Line(line) => course(frame, line, plot, shapes),
        Layer::Heat(grid) => heat::boxes(frame, grid, plot, shapes),
        Layer::Mark(_) | Layer::Zone(_) => {}
    }
}

/// Positions of all points and lines in the picture.
pub(super) fn spots(frame: &Frame<'_>, plot: &Plot) -> Vec<Spot> {
    let places = |layer: &Layer| match layer {
        Layer::Points(points) => frame.dots(points).inside,
        Layer::Line(line) => frame.course(line).concat(),
        Layer::Mark(_) | Layer::Zone(_) | Layer::Heat(_) => vec![],
    };
    frame.chart.layers.iter().flat_map(places).map(|place| plot.spot(place)).collect()
}

/// The more there are, the smaller and the fainter, so that where many lie is darker.
fn dots(frame: &Frame<'_>, points: &Points, plot: &Plot, shapes: &mut Vec<Shape>) {
    let (radius, opacity) = match points.points.len() {
        0..=100 => (4.5, 0.9),
        101..=1000 => (3.0, 0.65),
        1001..=6000 => (2.4, 0.6),
        _ => (1.8, 0.5),
    };
    let fill = points.hue.rgb();
    let dots = frame.dots(points);
    let spots = thinned(dots.inside.iter().map(|&place| plot.spot(place)), 0.5);
    if !spots.is_empty() {
        shapes.push(Shape::Dots { spots, radius, fill, opacity });
    }
    for (places, up) in [(dots.above, true), (dots.below, false)] {
        arrows(places, up, points.hue.rgb(), plot, shapes);
    }
}

/// Spots on a grid of `grain` pixels, each once, by rows. Thousands of reads that took the same time at almost
/// the same place are one disc; without this, large pictures would hold little else.
fn thinned(spots: impl Iterator<Item = Spot>, grain: f64) -> Vec<Spot> {
    let mut cells: Vec<(i64, i64)> =
        spots.map(|(x, y)| ((y / grain).round() as i64, (x / grain).round() as i64)).collect();
    cells.sort_unstable();
    cells.dedup();
    cells.into_iter().map(|(y, x)| (x as f64 * grain, y as f64 * grain)).collect()
}

/// Triangles at the edge, where something lies beyond.
fn arrows(places: Vec<f64>, up: bool, fill: [u8; 3], plot: &Plot, shapes: &mut Vec<Shape>) {
    let (tip, foot) =
        if up { (plot.top, plot.top + 9.0) } else { (plot.bottom, plot.bottom - 9.0) };
    for (x, _) in thinned(places.into_iter().map(|u| (plot.x(u), 0.0)), 3.0) {
        let spots = vec![(x, tip), (x + 5.0, foot), (x - 5.0, foot)];
        shapes.push(Shape::Area { spots, fill, opacity: 0.9 });
    }
}

fn course(frame: &Frame<'_>, line: &Line, plot: &Plot, shapes: &mut Vec<Shape>) {
    let stroke = line.hue.rgb();
    let knots = frame.knots(line);
    let apart = line.walk == super::Walk::Apart
        || (plot.right - plot.left) / knots.len().max(1) as f64 >= APART;
    if !apart {
        ribbon(&knots, stroke, plot, shapes);
    }
    for piece in frame.course(line) {
        let spots = lightened(piece.into_iter().map(|place| plot.spot(place)));
        let width = if apart { 3.0 } else { 2.0 };
        shapes.push(Shape::Path { spots, stroke, width, dashed: false });
    }
    if apart {
        for knot in &knots {
            whisker(knot, stroke, plot, shapes);
        }
        let seen = |k: &&Knot| (0.0..=1.0).contains(&k.at.1);
        let spots: Vec<Spot> = knots.iter().filter(seen).map(|k| plot.spot(k.at)).collect();
        if !spots.is_empty() {
            let radius = dot_radius(frame, line);
            shapes.push(Shape::Dots { spots, radius, fill: stroke, opacity: 1.0 });
        }
    }
    let beyond = |far: fn(f64) -> bool| -> Vec<f64> {
        knots.iter().filter(|k| far(k.at.1)).map(|k| k.at.0).collect()
    };
    arrows(beyond(|v| v > 1.0), true, stroke, plot, shapes);
    arrows(beyond(|v| v < 0.0), false, stroke, plot, shapes);
}

/// Lower lines have larger dots than those above them with values at the same places: where lines lie on each other, all
/// of them are seen as rings.
fn dot_radius(frame: &Frame<'_>, line: &Line) -> f64 {
    let lines = || frame.chart.layers.iter().filter(|l| matches!(l, Layer::Line(_)));
    let this = |l: &&Layer| matches!(l, Layer::Line(other) if std::ptr::eq(other, line));
    let shares = |l: &&Layer| match l {
        Layer::Line(other) => line.points.iter().any(|p| other.points.iter().any(|q| q.x == p.x)),
        _ => false,
    };
    let above = lines().rev().take_while(|l| !this(l)).filter(shares).count();
    let step = 4.0 / (lines().count().max(2) - 1) as f64;
    4.0 + step.min(1.6) * above as f64
}

/// A course with at most four spots in each column of half a pixel: the first, the lowest, the highest and the last,
/// in their order. More are not seen, and a trace has millions.
fn lightened(spots: impl Iterator<Item = Spot>) -> Vec<Spot> {
    let mut kept: Vec<Spot> = Vec::new();
    let mut column: Vec<Spot> = Vec::new();
    let of = |spot: &Spot| (spot.0 * 2.0).floor();
    for spot in spots {
        if column.first().is_some_and(|first| of(first) != of(&spot)) {
            kept.extend(outline(&column));
            column.clear();
        }
        column.push(spot);
    }
    kept.extend(outline(&column));
    kept
}

fn outline(column: &[Spot]) -> Vec<Spot> {
    if column.len() <= 4 {
        return column.to_vec();
    }
    let by = |a: &usize, b: &usize| column[*a].1.total_cmp(&column[*b].1);
    let mut chosen = vec![0, column.len() - 1];
    chosen.extend((0..column.len()).min_by(by));
    chosen.extend((0..column.len()).max_by(by));
    chosen.sort_unstable();
    chosen.dedup();
    chosen.into_iter().map(|index| column[index]).collect()
}

/// A band between the ends of all intervals.
fn ribbon(knots: &[Knot], fill: [u8; 3], plot: &Plot, shapes: &mut Vec<Shape>) {
    let ends = |k: &Knot| k.interval.map(|(low, high)| (k.at.0, low, high));
    let ends: Vec<(f64, f64, f64)> = knots.iter().filter_map(ends).collect();
    if ends.len() < 2 {
        return;
    }
    let lower = ends.iter().map(|&(u, low, _)| (u, low));
    let upper = ends.iter().rev().map(|&(u, _, high)| (u, high));
    let spots = lower.chain(upper).map(|place: Place| plot.spot(place)).collect();
    shapes.push(Shape::Area { spots, fill, opacity: 0.25 });
}

/// One interval: a stem with feet, but where the plot cuts it.
fn whisker(knot: &Knot, stroke: [u8; 3], plot: &Plot, shapes: &mut Vec<Shape>) {
    let Some((low, high)) = knot.interval else { return };
    let x = plot.x(knot.at.0);
    shapes.push(Shape::line((x, plot.y(low)), (x, plot.y(high)), stroke, 1.5));
    for y in [low, high].into_iter().filter(|end| *end > 0.0 && *end < 1.0).map(|end| plot.y(end)) {
        shapes.push(Shape::line((x - 5.0, y), (x + 5.0, y), stroke, 1.5));
    }
}

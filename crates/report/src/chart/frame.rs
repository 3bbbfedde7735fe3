//! A chart that was checked, with the range of each axis: what all drawings begin with.

use super::clip::{self, Place};
use super::describe::{
    Across, Axis, Chart, ChartError, Extent, Heat, Layer, Line, Mark, Points, Scale, Side, Walk,
    Zone,
};
use super::hue::Hue;
use super::range::{self, Sample};
use super::tick::{figure, figures};
use crate::number::RateUnit;

/// Text of an empty plot.
pub(super) const NOTHING: &str = "no values";

/// Range of an axis, in its unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub scale: Scale,
    pub low: f64,
    pub high: f64,
}

impl Span {
    /// 0 at the lower end, 1 at the upper one.
    pub(super) fn place(&self, value: f64) -> f64 {
        let (low, high) = (self.scale.forward(self.low), self.scale.forward(self.high));
        (self.scale.forward(value) - low) / (high - low)
    }

    /// The same, at the nearer end for what is beyond, or has no place on a logarithmic axis.
    fn place_within(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Log2 | Scale::Log10 if value <= 0.0 => 0.0,
            _ => self.place(value).clamp(0.0, 1.0),
        }
    }
}

/// A checked chart.
pub(super) struct Frame<'a> {
    pub chart: &'a Chart,
    pub x: Span,
    pub y: Span,
    pub y2: Option<Span>,
}

/// Positions of the points of a layer, inside and outside the plot.
#[derive(Default)]
pub(super) struct Dots {
    pub inside: Vec<Place>,
    /// Places along the x axis of those above and below the plot.
    pub above: Vec<f64>,
    pub below: Vec<f64>,
    pub beside: usize,
}

/// A place of a line's value, with the ends of its interval.
pub(super) struct Knot {
    pub at: Place,
    pub interval: Option<(f64, f64)>,
}

/// A name beside the plot: of a zone (from and to along its axis, 0 to 1) or of a mark (both the same).
pub(super) struct Tag {
    pub from: f64,
    pub to: f64,
    pub text: String,
    pub hue: Hue,
    pub zone: bool,
    /// Range on the other axis in which a mark holds.
    pub over: Option<(f64, f64)>,
}

/// A line of the legend.
pub(super) struct Key {
    pub text: String,
    pub hue: Hue,
    /// Number of the layer.
    pub layer: usize,
}

impl<'a> Frame<'a> {
    /// Checks all values and finds the ranges.
    pub(super) fn new(chart: &'a Chart) -> Result<Frame<'a>, ChartError> {
        for (index, layer) in chart.layers.iter().enumerate() {
            check_layer(chart, layer, &name_of(layer, index))?;
        }
        let along_x = |a: &Across| *a == Across::X;
        let x = span(&chart.x, &x_samples(chart), &wanted(chart, along_x), false)?;
        let side = |axis: &Axis, side: Side| {
            let along = |a: &Across| *a == Across::Y(side);
            span(axis, &y_samples(chart, side), &wanted(chart, along), true)
        };
        let y = side(&chart.y, Side::Left)?;
        let y2 = chart.y2.as_ref().map(|axis| side(axis, Side::Right)).transpose()?;
        Ok(Frame { chart, x, y, y2 })
    }

    /// Whether there is nothing to see but the axes, and zones and marks.
    pub(super) fn is_empty(&self) -> bool {
        !has_data(self.chart)
    }

    /// The span and the axis of a side; checked charts have those that their layers are on.
    pub(super) fn side(&self, side: Side) -> (&Span, &'a Axis) {
        match (side, &self.y2, &self.chart.y2) {
            (Side::Right, Some(span), Some(axis)) => (span, axis),
            _ => (&self.y, &self.chart.y),
        }
    }

    /// Position of a value on both axes, moved to the nearest edge if outside; `None` if an axis cannot represent it.
    pub(super) fn spot(&self, (at, value): (f64, f64)) -> Option<Place> {
        let place = (self.x.place_within(at), self.y.place_within(value));
        (place.0.is_finite() && place.1.is_finite()).then_some(place)
    }

    pub(super) fn dots(&self, points: &Points) -> Dots {
        let (y, _) = self.side(points.side);
        let mut dots = Dots::default();
        for &(at, value) in &points.points {
            let (u, v) = (self.x.place(at), y.place(value));
            match (u, v) {
                _ if !(0.0..=1.0).contains(&u) => dots.beside += 1,
                _ if v > 1.0 => dots.above.push(u),
                _ if v < 0.0 => dots.below.push(u),
                _ => dots.inside.push((u, v)),
            }
        }
        dots
    }

    /// The pieces of a line within the plot.
    pub(super) fn course(&self, line: &Line) -> Vec<Vec<Place>> {
        let (y, _) = self.side(line.side);
        let values: Vec<(f64, f64)> = line.points.iter().map(|p| (p.x, p.y)).collect();
        let corners = match line.walk {
            Walk::Apart => return Vec::new(),
            Walk::Straight => values,
            Walk::After => after(&values),
            Walk::Around => around(&values, self.chart.x.scale),
        };
        let places: Vec<Place> =
            corners.iter().map(|&(at, value)| (self.x.place(at), y.place(value))).collect();
        clip::polyline(&places)
    }

    /// The values of a line that lie within the plot, with their intervals cut to it.
    pub(super) fn knots(&self, line: &Line) -> Vec<Knot> {
        let (y, _) = self.side(line.side);
        let within = |knot: &Knot| (0.0..=1.0).contains(&knot.at.0);
        let knot = |p: &super::LinePoint| Knot {
            at: (self.x.place(p.x), y.place(p.y)),
            interval: p.interval.map(|(low, high)| (y.place_within(low), y.place_within(high))),
        };
        line.points.iter().map(knot).filter(within).collect()
    }

    /// Names of what lies across the x axis, or across the y axes; shared names of zones are left to the legend.
    pub(super) fn tags(&self, vertical: bool, rate: RateUnit) -> Vec<Tag> {
        let tag = |layer: &Layer| match layer {
            Layer::Mark(mark) if (mark.across == Across::X) == vertical => {
                self.mark_tag(mark, rate)
            }
            Layer::Zone(zone) if (zone.across == Across::X) == vertical => {
                self.zone_tag(zone, rate)
            }
            _ => None,
        };
        self.chart.layers.iter().filter_map(tag).collect()
    }

    fn across(&self, across: Across) -> (&Span, &'a Axis) {
        match across {
            Across::X => (&self.x, &self.chart.x),
            Across::Y(side) => self.side(side),
        }
    }

    fn mark_tag(&self, mark: &Mark, rate: RateUnit) -> Option<Tag> {
        let (span, axis) = self.across(mark.across);
        let other = if mark.across == Across::X { &self.y } else { &self.x };
        let at = span.place(mark.value);
        let value = figure(mark.value, axis.unit, rate);
        (0.0..=1.0).contains(&at).then(|| Tag {
            from: at,
            to: at,
            text: format!("{} {value}", mark.name).trim().to_owned(),
            hue: mark.hue,
            zone: false,
            over: mark.over.map(|(from, to)| (other.place_within(from), other.place_within(to))),
        })
    }

    /// The zone as far as it is within the plot; without a name if others share it.
    fn zone_tag(&self, zone: &Zone, rate: RateUnit) -> Option<Tag> {
        let (span, axis) = self.across(zone.across);
        let (from, to) = (span.place_within(zone.from), span.place_within(zone.to));
        let seen = zone.to >= span.low && zone.from <= span.high;
        let shared = self.namesakes(zone) > 1;
        let ends = figures(zone.from, zone.to, axis.unit, rate);
        let text = if shared { String::new() } else { format!("{} {ends}", zone.name) };
        seen.then(|| Tag {
            from,
            to,
            text: text.trim().to_owned(),
            hue: zone.hue,
            zone: true,
            over: None,
        })
    }

    fn namesakes(&self, zone: &Zone) -> usize {
        let same = |l: &&Layer| matches!(l, Layer::Zone(other) if other.name == zone.name);
        self.chart.layers.iter().filter(same).count()
    }

    /// The legend: each layer of data that has a name, and names that several zones share.
    pub(super) fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::new();
        let mut shared: Vec<&str> = Vec::new();
        for (layer, drawn) in self.chart.layers.iter().enumerate() {
            let (text, hue) = match drawn {
                Layer::Points(p) if !p.name.is_empty() => {
                    (format!("{} ({})", p.name, p.points.len()), p.hue)
                }
                Layer::Line(l) if !l.name.is_empty() => (l.name.clone(), l.hue),
                Layer::Zone(z) if !z.name.is_empty() && !shared.contains(&z.name.as_str()) => {
                    let count = self.namesakes(z);
                    if count < 2 {
                        continue;
                    }
                    shared.push(&z.name);
                    (format!("{} ({count}×)", z.name), z.hue)
                }
                _ => continue,
            };
            keys.push(Key { text, hue, layer });
        }
        keys
    }

    /// Sentences about the values beyond the plot: one per direction and axis; empty if there are none.
    pub(super) fn beyond(&self, rate: RateUnit) -> Vec<String> {
        self.beyond_in(rate, ["above, up to", "below, down to"])
    }

    /// The same in fewer letters, for narrow plots.
    pub(super) fn beyond_in_brief(&self, rate: RateUnit) -> Vec<String> {
        self.beyond_in(rate, ["to"; 2])
    }

    fn beyond_in(&self, rate: RateUnit, [up_to, down_to]: [&str; 2]) -> Vec<String> {
        let mut words = Vec::new();
        let mut beside = 0;
        for side in [Side::Left, Side::Right] {
            let (span, axis) = self.side(side);
            let values: Vec<(f64, f64)> =
                self.chart.layers.iter().flat_map(|l| on_side(l, side)).collect();
            let inside = |at: f64| (0.0..=1.0).contains(&self.x.place(at));
            beside += values.iter().filter(|v| !inside(v.0)).count();
            let seen = || values.iter().filter(|v| inside(v.0)).map(|v| v.1);
            let above: Vec<f64> = seen().filter(|&v| span.place(v) > 1.0).collect();
            let below: Vec<f64> = seen().filter(|&v| span.place(v) < 0.0).collect();
            let name = if self.y2.is_some() { format!("{}: ", axis.label) } else { String::new() };
            if let Some(highest) = above.iter().copied().reduce(f64::max) {
                let highest = figure(highest, axis.unit, rate);
                words.push(format!("▲ {name}{} {up_to} {highest}", above.len()));
            }
            if let Some(lowest) = below.iter().copied().reduce(f64::min) {
                let lowest = figure(lowest, axis.unit, rate);
                words.push(format!("▼ {name}{} {down_to} {lowest}", below.len()));
            }
        }
        if beside > 0 {
            words.push(format!("{beside} beyond the sides"));
        }
        words
    }
}

/// Corners of steps that begin at each value.
fn after(values: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut corners: Vec<(f64, f64)> = values.first().copied().into_iter().collect();
    for pair in values.windows(2) {
        corners.push((pair[1].0, pair[0].1));
        corners.push(pair[1]);
    }
    corners
}

/// Corners of steps around each value.
fn around(values: &[(f64, f64)], scale: Scale) -> Vec<(f64, f64)> {
    let xs: Vec<f64> = values.iter().map(|v| v.0).collect();
    let edges = edges(&xs, scale);
    let step = |(index, value): (usize, &(f64, f64))| {
        [(edges[index], value.1), (edges[index + 1], value.1)]
    };
    values.iter().enumerate().flat_map(step).collect()
}

/// Half-way between neighbours in the scale's space, and as far beyond the outer ones; one more than values.
fn edges(xs: &[f64], scale: Scale) -> Vec<f64> {
    let at: Vec<f64> = xs.iter().map(|&x| scale.forward(x)).collect();
    let (Some(&first), Some(&last)) = (at.first(), at.last()) else { return vec![] };
    let alone = if scale == Scale::Linear { (0.1 * first.abs()).max(0.5) } else { 0.5 };
    let half = |a: Option<&f64>, b: Option<&f64>| match (a, b) {
        (Some(a), Some(b)) if b > a => (b - a) / 2.0,
        _ => alone,
    };
    let mut edges = vec![first - half(at.first(), at.get(1))];
    edges.extend(at.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0));
    edges.push(last + half(at.iter().rev().nth(1), at.last()));
    edges.into_iter().map(|edge| scale.backward(edge)).collect()
}

fn on_side(layer: &Layer, side: Side) -> Vec<(f64, f64)> {
    match layer {
        Layer::Points(p) if p.side == side => p.points.clone(),
        Layer::Line(l) if l.side == side => l.points.iter().map(|p| (p.x, p.y)).collect(),
        _ => vec![],
    }
}

fn x_samples(chart: &Chart) -> Vec<Sample> {
    let values = |layer: &Layer| match layer {
        Layer::Points(p) => p.points.iter().map(|v| v.0).collect(),
        Layer::Line(l) => {
            let xs: Vec<f64> = l.points.iter().map(|p| p.x).collect();
            if l.walk == Walk::Around { edges(&xs, chart.x.scale) } else { xs }
        }
        Layer::Heat(h) => positive(vec![h.ends().0.0, h.ends().1.0], chart.x.scale),
        _ => vec![],
    };
    let sample =
        |layer| Sample { values: values(layer), all_below: 0, soft: vec![], stretches: true };
    chart.layers.iter().map(sample).collect()
}

/// A point more or less of a cloud is not the finding; of a line it is, unless it is long.
const CLOUD: usize = 8;
const LONG: usize = 200;

fn y_samples(chart: &Chart, side: Side) -> Vec<Sample> {
    let sample = |layer: &Layer| {
        let mut values: Vec<f64> = on_side(layer, side).iter().map(|v| v.1).collect();
        if let (Layer::Heat(h), Side::Left) = (layer, side) {
            values = positive(vec![h.ends().0.1, h.ends().1.1], chart.y.scale);
        }
        match layer {
            _ if values.is_empty() => None,
            Layer::Points(p) => {
                Some(Sample { values, all_below: CLOUD, soft: vec![], stretches: p.stretches })
            }
            Layer::Line(l) => {
                let soft = l.points.iter().filter_map(|p| p.interval).flat_map(|(a, b)| [a, b]);
                Some(Sample { values, all_below: LONG, soft: soft.collect(), stretches: true })
            }
            Layer::Heat(_) => {
                Some(Sample { values, all_below: LONG, soft: vec![], stretches: true })
            }
            _ => None,
        }
    };
    chart.layers.iter().filter_map(sample).collect()
}

/// Whether any layer has a value.
fn has_data(chart: &Chart) -> bool {
    chart.layers.iter().any(|layer| match layer {
        Layer::Points(points) => !points.points.is_empty(),
        Layer::Line(line) => !line.points.is_empty(),
        Layer::Heat(heat) => !heat.cells.is_empty(),
        Layer::Mark(_) | Layer::Zone(_) => false,
    })
}

/// Marked values on an axis; ends of zones only where there is nothing else.
fn wanted(chart: &Chart, along: impl Fn(&Across) -> bool) -> Vec<f64> {
    let data = has_data(chart);
    let values = |layer: &Layer| match layer {
        Layer::Mark(mark) if along(&mark.across) => vec![mark.value],
        Layer::Zone(zone) if along(&zone.across) && !data => vec![zone.from, zone.to],
        _ => vec![],
    };
    chart.layers.iter().flat_map(values).collect()
}

fn span(axis: &Axis, samples: &[Sample], wanted: &[f64], robust: bool) -> Result<Span, ChartError> {
    let (low, high) = match axis.extent {
        Extent::Given { low, high } => {
            let what = format!("axis {:?}", axis.label);
            check(low, axis, &what)?;
            check(high, axis, &what)?;
            if low >= high || (high - low) <= 1e-9 * low.abs().max(high.abs()) {
                return Err(ChartError::BadRange { what, low, high });
            }
            (low, high)
        }
        Extent::Automatic | Extent::WithZero => {
            let pad = if robust { 0.06 } else { 0.01 };
            // A zone may begin at a zero that a logarithmic axis does not have.
            let has = |v: &f64| axis.scale == Scale::Linear || *v >= LEAST;
            let zero = (axis.extent == Extent::WithZero).then_some(0.0);
            let wanted: Vec<f64> = wanted.iter().copied().chain(zero).filter(has).collect();
            range::automatic(samples, &wanted, axis.scale, pad, robust)
        }
    };
    Ok(Span { scale: axis.scale, low, high })
}

fn name_of(layer: &Layer, index: usize) -> String {
    let name = match layer {
        Layer::Points(p) => &p.name,
        Layer::Line(l) => &l.name,
        Layer::Mark(m) => &m.name,
        Layer::Zone(z) => &z.name,
        Layer::Heat(h) => &h.name,
    };
    if name.is_empty() { format!("layer {}", index + 1) } else { format!("layer {name:?}") }
}

fn check_layer(chart: &Chart, layer: &Layer, what: &str) -> Result<(), ChartError> {
    let y = |side: Side| match side {
        Side::Left => Ok(&chart.y),
        Side::Right => chart.y2.as_ref().ok_or(ChartError::NoRightAxis { what: what.to_owned() }),
    };
    let across = |across: Across| match across {
        Across::X => Ok(&chart.x),
        Across::Y(side) => y(side),
    };
    let ordered = |low: f64, high: f64| match low <= high {
        true => Ok(()),
        false => Err(ChartError::BadRange { what: what.to_owned(), low, high }),
    };
    match layer {
        Layer::Points(points) => {
            let axis = y(points.side)?;
            for &(at, value) in &points.points {
                check(at, &chart.x, what)?;
                check(value, axis, what)?;
            }
        }
        Layer::Line(line) => check_line(chart, line, y(line.side)?, what)?,
        Layer::Heat(heat) => check_heat(heat, what)?,
        Layer::Mark(mark) => {
            check(mark.value, across(mark.across)?, what)?;
            if let Some((from, to)) = mark.over {
                finite(from, what)?;
                finite(to, what)?;
                ordered(from, to)?;
            }
        }
        Layer::Zone(zone) => {
            across(zone.across)?;
            finite(zone.from, what)?;
            finite(zone.to, what)?;
            ordered(zone.from, zone.to)?;
        }
    }
    Ok(())
}

fn check_line(chart: &Chart, line: &Line, axis: &Axis, what: &str) -> Result<(), ChartError> {
    for point in &line.points {
        check(point.x, &chart.x, what)?;
        check(point.y, axis, what)?;
        if let Some((low, high)) = point.interval {
            finite(low, what)?;
            finite(high, what)?;
            if low > high {
                return Err(ChartError::BadRange { what: what.to_owned(), low, high });
            }
        }
    }
    if matches!(line.walk, Walk::Around | Walk::After) {
        for pair in line.points.windows(2) {
            if pair[1].x < pair[0].x {
                let (before, next) = (pair[0].x, pair[1].x);
                return Err(ChartError::Unordered { what: what.to_owned(), before, next });
            }
        }
    }
    Ok(())
}

fn check_heat(heat: &Heat, what: &str) -> Result<(), ChartError> {
    for (step, from, to) in [
        (heat.step.0, heat.ends().0.0, heat.ends().1.0),
        (heat.step.1, heat.ends().0.1, heat.ends().1.1),
    ] {
        finite(from, what)?;
        finite(to, what)?;
        // A NaN is not above zero either.
        if step.is_nan() || step <= 0.0 || to <= from {
            return Err(ChartError::BadRange { what: what.to_owned(), low: from, high: to });
        }
    }
    for cell in &heat.cells {
        finite(cell.value, what)?;
        if cell.value < LEAST {
            return Err(ChartError::NotPositive { what: what.to_owned(), value: cell.value });
        }
        if cell.column >= heat.size.0 || cell.row >= heat.size.1 {
            let (column, row) = (cell.column, cell.row);
            return Err(ChartError::OutsideGrid { what: what.to_owned(), column, row });
        }
    }
    Ok(())
}

/// Ends that an axis has a place for: a grid may begin at a zero that a logarithmic axis does not have.
fn positive(ends: Vec<f64>, scale: Scale) -> Vec<f64> {
    ends.into_iter().filter(|end| scale == Scale::Linear || *end >= LEAST).collect()
}

/// No drive has as much of anything, and no unit has a name for more.
const MOST: f64 = 1e24;
/// Below this a value on a logarithmic axis is a zero that was computed.
const LEAST: f64 = 1e-12;

fn finite(value: f64, what: &str) -> Result<(), ChartError> {
    let what = || what.to_owned();
    match value {
        _ if !value.is_finite() => Err(ChartError::NotFinite { what: what(), value }),
        _ if value.abs() > MOST => Err(ChartError::TooLarge { what: what(), value }),
        _ => Ok(()),
    }
}

fn check(value: f64, axis: &Axis, what: &str) -> Result<(), ChartError> {
    finite(value, what)?;
    if axis.scale != Scale::Linear && value < LEAST {
        return Err(ChartError::NotPositive { what: what.to_owned(), value });
    }
    Ok(())
}

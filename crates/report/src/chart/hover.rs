//! Chart data for the script of a page, so that a reader can query the value under the pointer.

use serde_json::{Value, json};
use stats::Unit;

use super::describe::{Axis, Chart, ChartError, Layer, LinePoint, Scale, Side};
use super::frame::{Frame, Span};
use super::tick::factor;
use super::values::unit;
use crate::number::RateUnit;

/// Box of the plot, axes and at most `most` values, as JSON, with throughput in the unit that is shown. Of a series with more, every
/// nth.
pub(super) fn data(
    chart: &Chart,
    plot: [f64; 4],
    rate: RateUnit,
    most: usize,
) -> Result<String, ChartError> {
    let frame = Frame::new(chart)?;
    let (y, left) = frame.side(Side::Left);
    let right = chart.y2.as_ref().zip(frame.y2.as_ref());
    let mut room = most;
    let mut series = Vec::new();
    for layer in &chart.layers {
        let (name, side, mut places) = places(layer);
        // Of a series that is too long, values as far apart as there is place for.
        let step = places.len().div_ceil(room.max(1)).max(1);
        places = places.into_iter().step_by(step).take(room).collect();
        if !places.is_empty() {
            room -= places.len();
            let along = factor(chart.x.unit, rate);
            let up = factor(frame.side(side).1.unit, rate);
            let ends = |place: &LinePoint| {
                place.interval.map(|(low, high)| [short(low * up), short(high * up)])
            };
            let intervals: Vec<_> = match places.iter().any(|place| place.interval.is_some()) {
                true => places.iter().map(ends).collect(),
                false => Vec::new(),
            };
            let flat = |place: &LinePoint| [short(place.x * along), short(place.y * up)];
            let flat: Vec<f64> = places.iter().flat_map(flat).collect();
            series.push(json!({ "n": name, "r": side == Side::Right, "p": flat, "i": intervals }));
        }
    }
    let data = json!({
        "box": plot.map(short),
        "x": axis(&chart.x, &frame.x, rate),
        "y": axis(left, y, rate),
        "r": right.map(|(title, span)| axis(title, span, rate)),
        "d": series,
    });
    Ok(data.to_string())
}

fn places(layer: &Layer) -> (&str, Side, Vec<LinePoint>) {
    match layer {
        Layer::Points(points) => {
            let places = points.points.iter().map(|(x, y)| LinePoint::new(*x, *y)).collect();
            (&points.name, points.side, places)
        }
        Layer::Line(line) => (&line.name, line.side, line.points.clone()),
        Layer::Mark(_) | Layer::Zone(_) | Layer::Heat(_) => ("", Side::Left, Vec::new()),
    }
}

fn axis(axis: &Axis, span: &Span, rate: RateUnit) -> Value {
    let by = factor(axis.unit, rate);
    let unit = if axis.unit == Unit::MbPerS { rate.name() } else { unit(axis.unit) };
    json!({
        "l": axis.label,
        "u": unit,
        "log": span.scale != Scale::Linear,
        "from": span.low * by,
        "to": span.high * by,
        "c": axis.classes,
    })
}

/// Rounds to five digits, the most that are shown.
fn short(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

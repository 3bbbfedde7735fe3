//! What the script of a page knows of a chart, so that a reader can ask it for the value under the pointer.

use serde_json::{Value, json};
use stats::Unit;

use super::describe::{Axis, Chart, ChartError, Layer, Scale, Side};
use super::frame::{Frame, Span};
use super::tick::factor;
use super::values::unit;
use crate::number::RateUnit;

/// Most values of a chart that the script is given, so that a page stays small; of what has more it tells where the
/// pointer is.
const VALUES_MAX: usize = 1500;

/// Box of the plot, axes and values, as JSON, with throughput in the unit that is shown.
pub(super) fn data(chart: &Chart, plot: [f64; 4], rate: RateUnit) -> Result<String, ChartError> {
    let frame = Frame::new(chart)?;
    let (y, left) = frame.side(Side::Left);
    let right = chart.y2.as_ref().zip(frame.y2.as_ref());
    let mut room = VALUES_MAX;
    let mut series = Vec::new();
    for layer in &chart.layers {
        let (name, side, places) = places(layer);
        if !places.is_empty() && places.len() <= room {
            room -= places.len();
            let along = factor(chart.x.unit, rate);
            let up = factor(frame.side(side).1.unit, rate);
            let flat = places.into_iter().flat_map(|(x, y)| [short(x * along), short(y * up)]);
            let flat: Vec<f64> = flat.collect();
            series.push(json!({ "n": name, "r": side == Side::Right, "p": flat }));
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

fn places(layer: &Layer) -> (&str, Side, Vec<(f64, f64)>) {
    match layer {
        Layer::Points(points) => (&points.name, points.side, points.points.clone()),
        Layer::Line(line) => {
            (&line.name, line.side, line.points.iter().map(|point| (point.x, point.y)).collect())
        }
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

/// Five digits: more are not told.
fn short(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

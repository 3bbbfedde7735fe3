//! What the script of a page knows of a chart, so that a reader can ask it for the value under the pointer.

use serde_json::{Value, json};

use super::describe::{Axis, Chart, ChartError, Layer, Scale, Side};
use super::frame::{Frame, Span};
use super::values::unit;

/// Most values of a chart that the script is given, so that a page stays small; of what has more it tells where the
/// pointer is.
const VALUES_MAX: usize = 1500;

/// Box of the plot, axes and values, as JSON.
pub(super) fn data(chart: &Chart, plot: [f64; 4]) -> Result<String, ChartError> {
    let frame = Frame::new(chart)?;
    let (y, left) = frame.side(Side::Left);
    let right = chart.y2.as_ref().zip(frame.y2.as_ref());
    let mut room = VALUES_MAX;
    let mut series = Vec::new();
    for layer in &chart.layers {
        let (name, side, places) = places(layer);
        if !places.is_empty() && places.len() <= room {
            room -= places.len();
            let flat: Vec<f64> = places.into_iter().flat_map(|(x, y)| [x, y]).map(short).collect();
            series.push(json!({ "n": name, "r": side == Side::Right, "p": flat }));
        }
    }
    let data = json!({
        "box": plot.map(short),
        "x": axis(&chart.x, &frame.x),
        "y": axis(left, y),
        "r": right.map(|(title, span)| axis(title, span)),
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

fn axis(axis: &Axis, span: &Span) -> Value {
    json!({
        "l": axis.label,
        "u": unit(axis.unit),
        "log": span.scale != Scale::Linear,
        "from": span.low,
        "to": span.high,
        "c": axis.classes,
    })
}

/// Five digits: more are not told.
fn short(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}

//! Enterprise tests as charts.

use pts::body::Body;
use pts::table::Table;
use report::chart::{Across, Axis, Chart, Hue, Layer, Line, LinePoint, Mark, Side};
use stats::Unit;

/// The chart that tells most of a test.
pub fn main(body: &Body) -> Option<Chart> {
    let curve = ["curve", "series", "samples"].iter().find_map(|key| body.tables.get(*key))?;
    over_time(body, curve)
}

/// IOPS over time, with the value that was found steady.
fn over_time(body: &Body, table: &Table) -> Option<Chart> {
    let times = table.column("time, s")?;
    let rates = table.column("IOPS")?;
    let points: Vec<LinePoint> = times
        .into_iter()
        .zip(rates)
        .filter_map(|(time, rate)| Some(LinePoint::new(time? * 1e9, rate?)))
        .collect();
    if points.len() < 2 {
        return None;
    }
    let axes = (Axis::new("Time", Unit::Ns), Axis::new("IOPS", Unit::Iops));
    let mut chart = Chart::new(format!("{}: {}", body.test.title(), table.title), axes.0, axes.1);
    chart.subtitle = format!("{} of {}", body.setup.addresses, body.device.name);
    chart.note = format!("{}; seed {}", body.device.name, body.setup.seed);
    chart.layers.push(Layer::Line(Line::new("IOPS", Hue::Blue, points)));
    if let Some(value) = body.steady.as_ref().and_then(|steady| steady.ours.value) {
        chart.layers.push(Layer::Mark(Mark {
            name: "steady".to_owned(),
            hue: Hue::Green,
            across: Across::Y(Side::Left),
            value: value.median,
            over: None,
        }));
    }
    Some(chart)
}

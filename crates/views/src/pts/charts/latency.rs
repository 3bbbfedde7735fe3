//! How many requests took how long.

use pts::body::Body;
use pts::table::Table;
use report::chart::{Axis, Chart, Hue, Layer, Line, LinePoint, Scale, Walk};
use stats::Unit;

use super::parts::{bare, hue, labelled};

/// Bins of the histogram's tables a decade.
const PER_DECADE: f64 = 20.0;
/// Value of an empty bin on a logarithmic axis, which has no zero: below one.
const NONE: f64 = 0.5;

/// The confidence-level plot: the response time that one request in N exceeds. `histograms` are names of lines with the
/// keys of their tables.
pub fn confidence(body: &Body, histograms: &[(&str, &str)]) -> Option<Chart> {
    let x = Axis::new("One request in N takes longer", Unit::Count).scaled(Scale::Log10);
    let y = Axis::new("Response time", Unit::Ns).scaled(Scale::Log10);
    let mut chart = bare(body, "response times by share of requests", x, y);
    for (at, (name, key)) in histograms.iter().enumerate() {
        let Some(table) = body.tables.get(*key) else { continue };
        // Cumulative shares are in the second column. The line begins at the shortest response time and ends at the
        // longest: a drive that is always equally fast has nothing between.
        let bins = labelled(table, 1);
        let least = bins.first().filter(|(us, _)| *us > 0.0).map(|(us, _)| (1.0, us * 1e3));
        let between = bins
            .iter()
            .filter(|(us, percent)| *us > 0.0 && *percent < 100.0 - 1e-9)
            .map(|(us, percent)| (100.0 / (100.0 - percent), us * 1e3));
        let places = least.into_iter().chain(between).chain(greatest(table));
        let mut points: Vec<LinePoint> = Vec::new();
        for (x, y) in places {
            // Shares are rounded: the last may lie beyond what there are requests for.
            if points.last().is_none_or(|last| x > last.x) {
                points.push(LinePoint::new(x, y));
            }
        }
        if points.len() < 2 {
            continue;
        }
        let line = Line::new(*name, hue(at, histograms.len()), points);
        chart.layers.push(Layer::Line(line));
    }
    (!chart.layers.is_empty()).then_some(chart)
}

/// The slowest bin: one of all requests.
fn greatest(table: &Table) -> Option<(f64, f64)> {
    let total: f64 = labelled(table, 0).iter().map(|bin| bin.1).sum();
    let last = labelled(table, 0).last()?.0;
    (total >= 1.0).then_some((total, last * 1e3))
}

/// Requests one after the other, and those that arrived on their own where they were asked for.
pub const LOOPS: [(&str, &str); 2] =
    [("one after the other", "histogram"), ("from when due", "open_loop_histogram")];

/// How many requests fell into each bin of response time.
pub fn histogram(body: &Body, key: &str) -> Option<Chart> {
    let table = body.tables.get(key)?;
    let x = Axis::new("Response time", Unit::Ns).scaled(Scale::Log10);
    let y = Axis::new("Requests (log)", Unit::Count).scaled(Scale::Log10);
    let bins: Vec<(i64, f64)> = labelled(table, 0)
        .into_iter()
        .filter(|(us, count)| *us > 0.0 && *count >= 1.0)
        .map(|(us, count)| (((us * 1e3).log10() * PER_DECADE).round() as i64, count))
        .collect();
    let (first, last) = (bins.first()?.0, bins.last()?.0);
    let most = bins.iter().map(|bin| bin.1).fold(1.0, f64::max);
    // Half a bin lower: a step lies around its middle. One beyond both ends, so that the steps begin at nothing.
    let middle = |bin: i64| 10f64.powf((bin as f64 - 0.5) / PER_DECADE);
    let points = (first - 1..=last + 1).map(|bin| {
        let count = bins.iter().find(|(at, _)| *at == bin).map_or(NONE, |(_, count)| *count);
        LinePoint::new(middle(bin), count)
    });
    let mut line = Line::new("", Hue::Blue, points.collect());
    line.walk = Walk::Around;
    let mut chart = bare(body, &table.title, x, y.from_to(NONE, most * 2.0));
    chart.layers.push(Layer::Line(line));
    Some(chart)
}

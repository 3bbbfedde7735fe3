//! Values of a chart as rows, for people who read numbers and for other programs.

use stats::Unit;

use super::describe::{Axis, Chart, Heat, Layer, Side};
use super::tick::{self, figure};
use crate::number::RateUnit;

/// A value of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Value<'a> {
    /// Name of its layer; empty where a chart has one that needs none.
    pub series: &'a str,
    /// Position on the x axis; the lower end for a cell.
    pub x: f64,
    /// Position on the y axis; the lower end for a cell.
    pub y: f64,
    /// The y axis that it belongs to.
    pub side: Side,
    /// Ends of its interval, where one is known.
    pub interval: Option<(f64, f64)>,
    /// Of a cell, how much lies in it, in the unit of the grid.
    pub amount: Option<f64>,
}

/// All values of a chart, in the order drawn. Zones and marks are about values, and are none.
pub fn rows(chart: &Chart) -> Vec<Value<'_>> {
    let mut rows = Vec::new();
    for layer in &chart.layers {
        match layer {
            Layer::Points(points) => rows.extend(points.points.iter().map(|&(x, y)| Value {
                series: &points.name,
                x,
                y,
                side: points.side,
                interval: None,
                amount: None,
            })),
            Layer::Line(line) => rows.extend(line.points.iter().map(|point| Value {
                series: &line.name,
                x: point.x,
                y: point.y,
                side: line.side,
                interval: point.interval,
                amount: None,
            })),
            Layer::Heat(grid) => rows.extend(cells(grid)),
            Layer::Mark(_) | Layer::Zone(_) => {}
        }
    }
    rows
}

fn cells(grid: &Heat) -> impl Iterator<Item = Value<'_>> {
    let value = |(x, y): (f64, f64), amount: f64| Value {
        series: &grid.name,
        x,
        y,
        side: Side::Left,
        interval: None,
        amount: Some(amount),
    };
    grid.cells.iter().map(move |cell| value(grid.corners(cell.column, cell.row).0, cell.value))
}

/// A value of an axis in words: three digits and the unit, or the name of its class.
pub(crate) fn written(axis: &Axis, value: f64, rate: RateUnit) -> String {
    if axis.classes.is_empty() {
        return figure(value, axis.unit, rate);
    }
    // A cell of a class begins half a class lower.
    let class = (value + 0.5).floor().max(0.0) as usize;
    axis.classes.get(class).cloned().unwrap_or_default()
}

/// The title of an axis, with its unit where ticks do not carry it.
pub fn axis_title(axis: &Axis, rate: RateUnit) -> String {
    tick::axis_title(axis, rate)
}

/// Name of a unit, for the head of a column of bare numbers; empty if it has none.
pub fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => "bytes",
        Unit::Ns => "ns",
        Unit::MbPerS => "MB/s",
        Unit::Iops => "IOPS",
        Unit::Percent => "%",
        Unit::Celsius => "°C",
        Unit::Count | Unit::Ratio => "",
    }
}

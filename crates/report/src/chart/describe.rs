//! Chart definitions: axes, layers and labels.

use stats::Unit;

use super::hue::Hue;

/// A chart, as data. Values are in the unit of the axis that they are on.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Title, in a few words.
    pub title: String,
    /// How it was measured, in one line; may be empty.
    pub subtitle: String,
    /// The axis at the bottom.
    pub x: Axis,
    /// The axis at the left.
    pub y: Axis,
    /// An axis at the right, for layers of another unit.
    pub y2: Option<Axis>,
    /// Layers, from the bottom up. Zones and marks are drawn under data, wherever they are in the list.
    pub layers: Vec<Layer>,
    /// Source of the numbers (drive, model, seed), in one line; may be empty.
    pub note: String,
}

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Quantity on the axis, without its unit: "Access time".
    pub label: String,
    /// Unit of all values on it.
    pub unit: Unit,
    /// Spacing of values.
    pub scale: Scale,
    /// Ends of the axis.
    pub extent: Extent,
    /// Names of 0, 1, 2 and so on, where the axis has classes instead of numbers; none otherwise.
    pub classes: Vec<String>,
}

/// Spacing of values along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// Each doubling is as long as any other; ticks at powers of two. Values must be above zero.
    Log2,
    /// Each factor of ten is as long as any other. Values must be above zero.
    Log10,
}

/// From where to where an axis goes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Extent {
    /// As the layers need it. The x axis holds all of them; a y axis holds the bulk of each.
    #[default]
    Automatic,
    /// As the layers need it, with zero on it: what levels off is seen to, and noise is not taken for a course. A
    /// logarithmic axis has no zero, and goes as the layers need it.
    WithZero,
    /// As said, in the axis' unit; what lies beyond is drawn at the edge.
    Given {
        /// The lower end.
        low: f64,
        /// The upper end, above `low`.
        high: f64,
    },
}

impl Chart {
    /// A chart without layers, whose subtitle and note are empty.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Chart {
        let (subtitle, note) = (String::new(), String::new());
        Chart { title: title.into(), subtitle, x, y, y2: None, layers: Vec::new(), note }
    }
}

impl Axis {
    /// A linear axis with an automatic range.
    pub fn new(label: impl Into<String>, unit: Unit) -> Axis {
        let (scale, extent, classes) = (Scale::Linear, Extent::Automatic, Vec::new());
        Axis { label: label.into(), unit, scale, extent, classes }
    }

    /// An axis of classes: the first at 0, the next at 1 and so on, each with room of its own.
    pub fn of_classes(label: impl Into<String>, classes: Vec<String>) -> Axis {
        let high = classes.len().max(1) as f64 - 0.5;
        Axis { classes, ..Axis::new(label, Unit::Count).from_to(-0.5, high) }
    }

    /// The same axis with another spacing.
    #[must_use]
    pub fn scaled(self, scale: Scale) -> Axis {
        Axis { scale, ..self }
    }

    /// The same axis with zero on it, if it is linear.
    #[must_use]
    pub fn with_zero(self) -> Axis {
        Axis { extent: Extent::WithZero, ..self }
    }

    /// The same axis from `low` to `high`.
    #[must_use]
    pub fn from_to(self, low: f64, high: f64) -> Axis {
        Axis { extent: Extent::Given { low, high }, ..self }
    }
}

/// The y axis that a layer belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// The one at the left, [`Chart::y`].
    #[default]
    Left,
    /// The one at the right, [`Chart::y2`].
    Right,
}

/// One thing to draw.
#[derive(Clone, Debug, PartialEq)]
pub enum Layer {
    /// Many single values.
    Points(Points),
    /// A course of values.
    Line(Line),
    /// A value worth a name.
    Mark(Mark),
    /// A stretch worth a name.
    Zone(Zone),
    /// A grid of shades.
    Heat(Heat),
}

/// The amount in each cell of a grid. Drawn in shades that are each the same factor apart; the legend has the least and the
/// greatest value. On the left axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// Meaning of a value, with the size of a cell: "reads in 16 ms and 4 MiB".
    pub name: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Lower ends of the first cell, on both axes.
    pub from: (f64, f64),
    /// Width and height of a cell, in the units of the axes.
    pub step: (f64, f64),
    /// How many columns and rows there are, empty ones among them.
    pub size: (u32, u32),
    /// Cells that hold anything; others are left as the page is.
    pub cells: Vec<HeatCell>,
}

/// One cell of a grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeatCell {
    /// From 0 on, to the right.
    pub column: u32,
    /// From 0 on, upwards.
    pub row: u32,
    /// How much lies in it; above zero.
    pub value: f64,
}

/// Single values of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// Name of the class in the legend, which adds their count.
    pub name: String,
    /// Colour of the class.
    pub hue: Hue,
    /// x and y of each.
    pub points: Vec<(f64, f64)>,
    /// Axis of the y values.
    pub side: Side,
    /// Whether an automatic y axis makes room for their bulk. A class of outliers is given `false`.
    pub stretches: bool,
}

/// A course of values, left to right.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// Colour.
    pub hue: Hue,
    /// The values; x does not fall from one to the next where `walk` is one of steps.
    pub points: Vec<LinePoint>,
    /// How one value leads to the next.
    pub walk: Walk,
    /// Axis of the y values.
    pub side: Side,
}

/// A value of a line, and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinePoint {
    /// Position on the x axis.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// Ends of its interval, lower first; `None` where none is known.
    pub interval: Option<(f64, f64)>,
}

/// How one value of a line leads to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Walk {
    /// Straight from one to the next.
    #[default]
    Straight,
    /// A value holds around its x, half-way to both neighbours: for classes such as alignments.
    Around,
    /// A value holds from its x to the next one: for counts over time.
    After,
    /// Values are not connected, and have their intervals: for medians of groups.
    Apart,
}

/// Axis whose values bound a mark or a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    /// Values of the x axis: a vertical line, or a column.
    X,
    /// Values of a y axis: a horizontal line, or a row.
    Y(Side),
}

/// A value worth a name; it is written after the name.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Meaning of the value: "erase block".
    pub name: String,
    /// Colour.
    pub hue: Hue,
    /// Axis of the value.
    pub across: Across,
    /// The value.
    pub value: f64,
    /// Range of the other axis on which it holds, such as a plateau's; `None`: everywhere.
    pub over: Option<(f64, f64)>,
}

/// A stretch worth a name; its ends are written after the name. A name that several zones share is written
/// once, in the legend, with their count.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// Meaning of the stretch: "slow zone".
    pub name: String,
    /// Colour.
    pub hue: Hue,
    /// Axis of the ends.
    pub across: Across,
    /// The lower end.
    pub from: f64,
    /// The upper end, not below `from`.
    pub to: f64,
}

impl Heat {
    /// Lower and upper ends of a cell on both axes.
    pub(super) fn corners(&self, column: u32, row: u32) -> ((f64, f64), (f64, f64)) {
        let from = |start: f64, step: f64, index: u32| start + step * f64::from(index);
        let end = |column, row| {
            (from(self.from.0, self.step.0, column), from(self.from.1, self.step.1, row))
        };
        (end(column, row), end(column.saturating_add(1), row.saturating_add(1)))
    }

    /// Lower and upper ends of the whole grid.
    pub(super) fn ends(&self) -> ((f64, f64), (f64, f64)) {
        let last = (self.size.0.max(1) - 1, self.size.1.max(1) - 1);
        (self.corners(0, 0).0, self.corners(last.0, last.1).1)
    }
}

impl Points {
    /// Points on the left axis, which makes room for them.
    pub fn new(name: impl Into<String>, hue: Hue, points: Vec<(f64, f64)>) -> Points {
        Points { name: name.into(), hue, points, side: Side::Left, stretches: true }
    }
}

impl Line {
    /// A straight line on the left axis.
    pub fn new(name: impl Into<String>, hue: Hue, points: Vec<LinePoint>) -> Line {
        Line { name: name.into(), hue, points, walk: Walk::Straight, side: Side::Left }
    }
}

impl LinePoint {
    /// A value without an interval.
    pub fn new(x: f64, y: f64) -> LinePoint {
        LinePoint { x, y, interval: None }
    }

    /// A value with its interval, lower end first.
    pub fn between(x: f64, y: f64, low: f64, high: f64) -> LinePoint {
        LinePoint { x, y, interval: Some((low, high)) }
    }
}

/// Reasons why a chart cannot be drawn.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChartError {
    /// A value is NaN or infinite.
    #[error("{what}: {value} is not a number that can be drawn")]
    NotFinite {
        /// Layer or axis.
        what: String,
        /// The value.
        value: f64,
    },
    /// A value is too large for any unit.
    #[error("{what}: {value} is beyond what can be drawn (10^24)")]
    TooLarge {
        /// Layer or axis.
        what: String,
        /// The value.
        value: f64,
    },
    /// A value on a logarithmic axis is not above zero.
    #[error("{what}: {value} has no place on a logarithmic axis, which begins above zero")]
    NotPositive {
        /// Layer or axis.
        what: String,
        /// The value.
        value: f64,
    },
    /// Two ends are the wrong way round, or equal where they may not be.
    #[error("{what}: the range from {low} to {high} is upside down or empty")]
    BadRange {
        /// Layer or axis.
        what: String,
        /// The lower end as given.
        low: f64,
        /// The upper end as given.
        high: f64,
    },
    /// The x of a line of steps falls.
    #[error("{what}: steps need x values that do not fall, and {next} follows {before}")]
    Unordered {
        /// The layer.
        what: String,
        /// An x.
        before: f64,
        /// The x after it.
        next: f64,
    },
    /// A cell of a grid lies outside it.
    #[error("{what}: a cell at column {column} and row {row} is outside the grid")]
    OutsideGrid {
        /// The layer.
        what: String,
        /// The column.
        column: u32,
        /// The row.
        row: u32,
    },
    /// A layer is on the right axis of a chart that has none.
    #[error("{what}: the chart has no axis at the right")]
    NoRightAxis {
        /// The layer.
        what: String,
    },
    /// The picture or the terminal is too small, or the picture too large.
    #[error(
        "a chart does not fit in {width} x {height}: at least {least_width} x {least_height}, at most {most}"
    )]
    Size {
        /// Width asked for.
        width: usize,
        /// Height asked for.
        height: usize,
        /// Least width.
        least_width: usize,
        /// Least height.
        least_height: usize,
        /// Most of either.
        most: usize,
    },
    /// The picture could not be made of the shapes.
    #[error("drawing the picture failed: {0}")]
    Raster(String),
}

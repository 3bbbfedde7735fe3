//! A chart with its caption, for a wide page and for a narrow one, and its values as a table.

use super::{Cell, HtmlError, Row, Table};
use crate::chart::{Canvas, Chart, Inks, Layer, Value, captioned, rows, written};
use crate::number::RateUnit;

/// Charts are as wide as a page and leave room for the header and a table on paper.
pub(super) const CANVAS: (u32, u32) = (1000, 520);

/// A telephone's: the same words on less paper, so that they are as large as those around.
const NARROW: (u32, u32) = (420, 400);
/// Bytes of a drawing that is made for both; of one with more, the narrow one has fewer values.
const TWICE_MAX: usize = 60_000;
/// Values of a chart that the script is given, so that a page stays small.
const READ_OUT: usize = 1500;
/// The same where there are many charts.
const READ_OUT_OF_MANY: usize = 120;
/// Values of a series on a narrow page, where a chart has too many.
const NARROW_VALUES: usize = 60;
/// Values that are listed; of more, files have all.
const LISTED_MAX: usize = 150;

/// A chart with what belongs to it.
pub(super) struct Figure<'a> {
    pub chart: &'a Chart,
    pub id: String,
    /// Drawn, for a wide page and a narrow one; once for both where that takes much room.
    pub drawn: Vec<String>,
    /// Its values, where they are few enough to be read.
    pub values: Option<Table>,
    /// How many there are.
    pub count: usize,
}

impl<'a> Figure<'a> {
    /// # Errors
    ///
    /// When a value cannot be drawn.
    ///
    /// Of `many` each is drawn once, so that all of them fit into a page that can be sent by mail.
    pub(super) fn of(
        chart: &'a Chart,
        id: &str,
        (rate, many): (RateUnit, bool),
        inks: &mut Inks,
    ) -> Result<Figure<'a>, HtmlError> {
        let read_out = if many { READ_OUT_OF_MANY } else { READ_OUT };
        let mut draw = |chart: &Chart, (width, height): (u32, u32), id: &str, class: &str| {
            let canvas = Canvas { width, height, rate, ..Canvas::default() };
            let failed = |error| HtmlError::Chart { title: chart.title.clone(), error };
            captioned(chart, canvas, (id, class, read_out), inks).map_err(failed)
        };
        let drawn = match many {
            true => vec![draw(chart, CANVAS, id, "only")?],
            false => {
                let wide = draw(chart, CANVAS, id, "wide")?;
                let thin = (wide.len() > TWICE_MAX).then(|| thinned(chart));
                let name = format!("{id}-narrow");
                let narrow = draw(thin.as_ref().unwrap_or(chart), NARROW, &name, "narrow")?;
                match narrow.len() <= TWICE_MAX {
                    true => vec![wide, narrow],
                    false => vec![draw(chart, CANVAS, id, "only")?],
                }
            }
        };
        let values = rows(chart);
        let count = values.len();
        let is_listed = !many && (1..=LISTED_MAX).contains(&count);
        let values = is_listed.then(|| table(chart, &values, rate));
        Ok(Figure { chart, id: id.to_owned(), drawn, values, count })
    }
}

/// The chart with every nth value of its long series.
fn thinned(chart: &Chart) -> Chart {
    fn every<T: Clone>(values: &[T]) -> Vec<T> {
        values.iter().step_by(values.len().div_ceil(NARROW_VALUES).max(1)).cloned().collect()
    }
    let mut chart = chart.clone();
    for layer in &mut chart.layers {
        match layer {
            Layer::Line(line) => line.points = every(&line.points),
            Layer::Points(points) => points.points = every(&points.points),
            Layer::Mark(_) | Layer::Zone(_) | Layer::Heat(_) => {}
        }
    }
    chart
}

/// Values as a table: names only where there are several series, intervals only where there are any.
fn table(chart: &Chart, values: &[Value<'_>], rate: RateUnit) -> Table {
    let is_named = values.iter().any(|value| !value.series.is_empty());
    let is_known = values.iter().any(|value| value.interval.is_some());
    let is_grid = values.iter().any(|value| value.amount.is_some());
    let y_axis = |value: &Value<'_>| match (&chart.y2, value.side) {
        (Some(axis), crate::chart::Side::Right) => axis.clone(),
        _ => chart.y.clone(),
    };
    let row = |value: &Value<'_>| {
        let y = y_axis(value);
        let mut cells = Vec::new();
        if is_named {
            cells.push(Cell::words(value.series));
        }
        cells.push(Cell::number(written(&y, value.y, rate)));
        if is_known {
            let ends = value.interval.map(|(low, high)| {
                format!("{}–{}", written(&y, low, rate), written(&y, high, rate))
            });
            cells.push(Cell::number(ends.unwrap_or_default()));
        }
        if is_grid {
            let amount = value.amount.map(crate::number::digits);
            cells.push(Cell::number(amount.unwrap_or_default()));
        }
        Row { name: written(&chart.x, value.x, rate), cells }
    };
    let mut columns = vec![chart.x.label.clone()];
    columns.extend(is_named.then(|| "Series".to_owned()));
    columns.push(match &chart.y2 {
        Some(right) => format!("{} or {}", chart.y.label, right.label),
        None => crate::chart::axis_title(&chart.y, rate),
    });
    columns.extend(is_known.then(|| "Interval".to_owned()));
    columns.extend(is_grid.then(|| "In it".to_owned()));
    Table {
        caption: format!("Values: {}", chart.title),
        columns,
        rows: values.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

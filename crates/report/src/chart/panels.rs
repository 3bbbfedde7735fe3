//! Several charts in one picture, and its background.

use super::describe::{Chart, ChartError};
use super::ground::Ground;
use super::picture::{self, Canvas};
use super::shape::Shape;

/// Most pixels of a picture of several charts, along each side.
const MOST: u32 = 32_768;

/// Several charts as shapes, each on a canvas of its own, in rows of `columns`; and the size of it all.
pub(super) fn shapes(
    charts: &[Chart],
    canvas: Canvas,
    columns: usize,
) -> Result<(Vec<Shape>, u32, u32), ChartError> {
    let columns = columns.clamp(1, charts.len().max(1));
    let rows = charts.len().div_ceil(columns).max(1);
    let side = |each: u32, count: usize| {
        let all = u64::from(each) * count as u64;
        u32::try_from(all).ok().filter(|all| *all <= MOST)
    };
    let (Some(width), Some(height)) = (side(canvas.width, columns), side(canvas.height, rows))
    else {
        return Err(ChartError::Size {
            width: canvas.width as usize * columns,
            height: canvas.height as usize * rows,
            least_width: 1,
            least_height: 1,
            most: MOST as usize,
        });
    };
    let mut all = Vec::new();
    if canvas.ground == Ground::Dark {
        let (width, height, fill) = (f64::from(width), f64::from(height), canvas.ground.page());
        all.push(Shape::Box { x: 0.0, y: 0.0, width, height, fill, opacity: 1.0 });
    }
    for (index, chart) in charts.iter().enumerate() {
        let right = (index % columns) as f64 * f64::from(canvas.width);
        let down = (index / columns) as f64 * f64::from(canvas.height);
        let shapes = picture::shapes(chart, canvas)?.into_iter();
        let shapes = shapes.map(|shape| shape.coloured(|colour| canvas.ground.of(colour)));
        all.extend(shapes.map(|shape| shape.moved(right, down)));
    }
    Ok((all, width, height))
}

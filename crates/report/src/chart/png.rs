//! Shapes as pixels.

use kuva::backend::raster::RasterBackend;
use kuva::render::color::Color;
use kuva::render::render::{PathData, Primitive, Scene, TextAnchor, TextSpan};

use super::describe::{Chart, ChartError};
use super::panels;
use super::picture::Canvas;
use super::shape::{Anchor, Rgb, Shape, Spot};

/// The chart as a PNG file, one pixel for each unit of the canvas. Its letters are drawn with a font that is
/// part of the program.
///
/// # Errors
///
/// When the chart has a value that cannot be drawn, or the canvas is too small or too large.
pub fn png(chart: &Chart, canvas: Canvas) -> Result<Vec<u8>, ChartError> {
    png_of_all(std::slice::from_ref(chart), canvas, 1)
}

/// Several charts in one picture, in rows of `columns`, each on a canvas of its own.
///
/// # Errors
///
/// As [`png`], and when all of it would be longer than 32,768 along a side.
pub fn png_of_all(charts: &[Chart], canvas: Canvas, columns: usize) -> Result<Vec<u8>, ChartError> {
    let (shapes, width, height) = panels::shapes(charts, canvas, columns)?;
    let mut scene = Scene::new(f64::from(width), f64::from(height));
    scene.elements = shapes.into_iter().map(primitive).collect();
    RasterBackend::new().with_scale(1.0).render_scene(&scene).map_err(ChartError::Raster)
}

fn primitive(shape: Shape) -> Primitive {
    match shape {
        Shape::Shade { x, y, width, height, fill } => {
            primitive(Shape::Box { x, y, width, height, fill, opacity: 1.0 })
        }
        Shape::Box { x, y, width, height, fill, opacity } => Primitive::Rect {
            x,
            y,
            width,
            height,
            fill: color(fill),
            stroke: None,
            stroke_width: None,
            opacity: Some(opacity),
        },
        Shape::Path { spots, stroke, width, dashed } => Primitive::PolyLine {
            points: spots,
            stroke: color(stroke),
            stroke_width: width,
            stroke_dasharray: dashed.then(|| "6,4".to_owned()),
        },
        Shape::Area { spots, fill, opacity } => Primitive::Path(Box::new(PathData {
            d: outline(&spots),
            fill: Some(color(fill)),
            stroke: Color::None,
            stroke_width: 0.0,
            opacity: Some(opacity),
            stroke_dasharray: None,
        })),
        Shape::Dots { spots, radius, fill, opacity } => Primitive::CircleBatch {
            cx: spots.iter().map(|s| s.0).collect(),
            cy: spots.iter().map(|s| s.1).collect(),
            r: radius,
            fill: color(fill),
            fill_opacity: Some(opacity),
            stroke: None,
            stroke_width: None,
        },
        Shape::Text { x, y, text, size, anchor, ink, bold } => {
            words(x, y, &text, size, anchor, ink, bold)
        }
    }
}

/// As spans: only these are drawn in bold, and only these do not take a dollar for mathematics.
fn words(x: f64, y: f64, text: &str, size: f64, anchor: Anchor, ink: Rgb, bold: bool) -> Primitive {
    let span = TextSpan {
        text: block::text::harmless(text).into_owned(),
        bold,
        italic: false,
        underline: false,
        code: false,
        math: false,
    };
    let anchor = match anchor {
        Anchor::Start => TextAnchor::Start,
        Anchor::Middle => TextAnchor::Middle,
        Anchor::End => TextAnchor::End,
    };
    // Rounded down: words then fit where they were measured to fit.
    let size = size as u32;
    Primitive::RichText { x, y, spans: vec![span], size, anchor, color: Some(color(ink)) }
}

fn outline(spots: &[Spot]) -> String {
    let corner = |(i, s): (usize, &Spot)| {
        format!("{}{:.1} {:.1} ", if i == 0 { "M" } else { "L" }, s.0, s.1)
    };
    let corners: String = spots.iter().enumerate().map(corner).collect();
    format!("{corners}Z")
}

fn color([red, green, blue]: Rgb) -> Color {
    Color::Rgb(red, green, blue)
}

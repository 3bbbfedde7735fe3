//! Shapes as SVG: one element a shape, places in tenths of a pixel.

use std::fmt::Write;

use super::describe::{Chart, ChartError};
use super::panels;
use super::picture::Canvas;
use super::shape::{Anchor, Rgb, Shape, Spot};
use crate::markup::escaped;

/// Fonts with like widths on the systems that people have; the first is that of the PNG.
pub(super) const FONTS: &str = "DejaVu Sans, Verdana, Geneva, sans-serif";

/// The chart as a document of its own, or to be put into HTML as it is. It scales with the room it is given.
///
/// # Errors
///
/// When the chart has a value that cannot be drawn, or the canvas is too small or too large.
pub fn svg(chart: &Chart, canvas: Canvas) -> Result<String, ChartError> {
    svg_of_all(std::slice::from_ref(chart), canvas, 1)
}

/// Several charts in one document, in rows of `columns`, each on a canvas of its own.
///
/// # Errors
///
/// As [`svg`], and when all of it would be longer than 32,768 along a side.
pub fn svg_of_all(charts: &[Chart], canvas: Canvas, columns: usize) -> Result<String, ChartError> {
    let (shapes, width, height) = panels::shapes(charts, canvas, columns)?;
    let title = charts.first().map_or("", |chart| chart.title.as_str());
    let page = hex(canvas.ground.page());
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"{FONTS}\" role=\"img\">\n<title>{}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{page}\"/>\n",
        escaped(title)
    );
    for shape in &shapes {
        element(&mut text, shape, &hex);
        text.push('\n');
    }
    text.push_str("</svg>\n");
    Ok(text)
}

/// Writes a shape; `paint` writes its colour.
pub(super) fn element(text: &mut String, shape: &Shape, paint: &dyn Fn(Rgb) -> String) {
    // Writing to a string does not fail.
    let _ = match shape {
        Shape::Box { x, y, width, height, fill, opacity } => write!(
            text,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}/>",
            number(*x),
            number(*y),
            number(*width),
            number(*height),
            paint(*fill),
            opaque("fill-opacity", *opacity),
        ),
        Shape::Shade { x, y, width, height, fill } => write!(
            text,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>",
            number(*x),
            number(*y),
            number(*width),
            number(*height),
            paint(*fill),
        ),
        Shape::Path { spots, stroke, width, dashed } => write!(
            text,
            "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{}/>",
            path(spots),
            paint(*stroke),
            number(*width),
            if *dashed { " stroke-dasharray=\"6,4\"" } else { "" },
        ),
        Shape::Area { spots, fill, opacity } => write!(
            text,
            "<path d=\"{}Z\" fill=\"{}\"{}/>",
            path(spots),
            paint(*fill),
            opaque("fill-opacity", *opacity),
        ),
        // Lines of no length with round ends are discs, in a tenth of the bytes that circles take.
        Shape::Dots { spots, radius, fill, opacity } => write!(
            text,
            "<path d=\"{}\" stroke=\"{}\" stroke-width=\"{}\" stroke-linecap=\"round\"{}/>",
            discs(spots),
            paint(*fill),
            number(2.0 * radius),
            // Discs of one path do not add up where they overlap: as opaque as two of them.
            opaque("stroke-opacity", 1.0 - (1.0 - opacity).powi(2)),
        ),
        Shape::Text { x, y, text: words, size, anchor, ink, bold } => write!(
            text,
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{}\"{}{}>{}</text>",
            number(*x),
            number(*y),
            number(*size),
            paint(*ink),
            match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            },
            if *bold { " font-weight=\"bold\"" } else { "" },
            escaped(words),
        ),
    };
}

fn path(spots: &[Spot]) -> String {
    let mut text = String::new();
    for (index, spot) in spots.iter().enumerate() {
        let letter = if index == 0 { 'M' } else { 'L' };
        let _ = write!(text, "{letter}{} {}", number(spot.0), number(spot.1));
    }
    text
}

fn discs(spots: &[Spot]) -> String {
    let mut text = String::new();
    for spot in spots {
        let _ = write!(text, "M{} {}h0", number(spot.0), number(spot.1));
    }
    text
}

/// Tenths of a pixel are finer than what is seen, and coarser than what processors disagree about.
fn number(value: f64) -> String {
    let tenths = (value * 10.0).round() as i64;
    let sign = if tenths < 0 { "-" } else { "" };
    let (whole, rest) = (tenths.abs() / 10, tenths.abs() % 10);
    if rest == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest}") }
}

fn opaque(name: &str, opacity: f64) -> String {
    if opacity >= 1.0 { String::new() } else { format!(" {name}=\"{opacity:.2}\"") }
}

pub(super) fn hex([red, green, blue]: Rgb) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

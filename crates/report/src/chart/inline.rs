//! A chart as a part of a page: one picture for a light and a dark ground, with words for those who cannot see it.
//!
//! Its colours are names. The page that holds it says once what each of them is on a light ground and on a dark one;
//! two pictures, one of which is hidden, would be twice as large, and be read out twice.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::describe::{Chart, ChartError, Layer};
use super::ground::Ground;
use super::hover;
use super::picture::{self, Canvas};
use super::shape::{Rgb, Shape};
use super::svg::{FONTS, element, hex};
use crate::markup::escaped;

/// Names of colours: what each is on a light page and on a dark one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inks(BTreeMap<String, (String, String)>);

impl Inks {
    /// Each name with its colours as CSS, the light page's first.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.0.iter().map(|(name, (light, dark))| (name.as_str(), light.as_str(), dark.as_str()))
    }

    fn add(&mut self, shape: &Shape, light: Rgb, dark: Rgb) {
        self.0.entry(name(shape, light)).or_insert_with(|| (hex(light), hex(dark)));
    }
}

/// Shades of a grid have a dark page's colour of their own, and so a name of their own.
fn name(shape: &Shape, light: Rgb) -> String {
    // Short, since every shape of every chart has one.
    let kind = if matches!(shape, Shape::Shade { .. }) { "s" } else { "" };
    format!("--{kind}{}", &hex(light)[1..])
}

/// The chart as an element of a page, with `id` as the stem of its names in it. Its colours are added to `inks`.
///
/// # Errors
///
/// When the chart has a value that cannot be drawn, or the canvas is too small or too large.
pub(crate) fn inline(
    chart: &Chart,
    canvas: Canvas,
    id: &str,
    inks: &mut Inks,
) -> Result<String, ChartError> {
    let (light, dark) = on_both(chart, canvas)?;
    Ok(element_of(chart, &light.0, &dark.0, &head(canvas, id, ""), id, inks))
}

/// The same for a page whose caption has the chart's title and notes, and whose script gets at most `values` of its values.
/// `class` is the element's.
///
/// # Errors
///
/// As [`inline`].
pub(crate) fn captioned(
    chart: &Chart,
    canvas: Canvas,
    (id, class, values): (&str, &str, usize),
    inks: &mut Inks,
) -> Result<String, ChartError> {
    let words = || String::new();
    let bare = Chart { title: words(), subtitle: words(), note: words(), ..chart.clone() };
    let (light, dark) = on_both(&bare, canvas)?;
    let data = escaped(&hover::data(chart, light.1, canvas.rate, values)?);
    let more = format!(" class=\"{class}\" data-plot=\"{data}\"");
    Ok(element_of(chart, &light.0, &dark.0, &head(canvas, id, &more), id, inks))
}

/// Shapes with the box of the plot.
type LaidOut = (Vec<Shape>, [f64; 4]);

/// The same shapes in the same places: only grids choose their colours by the ground.
fn on_both(chart: &Chart, canvas: Canvas) -> Result<(LaidOut, LaidOut), ChartError> {
    let on = |ground| picture::laid_out(chart, Canvas { ground, ..canvas });
    Ok((on(Ground::Light)?, on(Ground::Dark)?))
}

/// The tag that the element begins with.
fn head(canvas: Canvas, id: &str, more: &str) -> String {
    let (Canvas { width, height, .. }, id) = (canvas, escaped(id));
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\" role=\"img\" aria-labelledby=\"{id}-title {id}-desc\"{more}>"
    )
}

fn element_of(
    chart: &Chart,
    light: &[Shape],
    dark: &[Shape],
    head: &str,
    id: &str,
    inks: &mut Inks,
) -> String {
    let id = escaped(id);
    let mut text = format!(
        "{head}\n\
         <title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-desc\">{}</desc>\n",
        escaped(&chart.title),
        escaped(&words(chart)),
    );
    for (shape, twin) in light.iter().zip(dark) {
        let twin = twin.clone().coloured(|colour| Ground::Dark.of(colour));
        inks.add(shape, shape.colour(), twin.colour());
        element(&mut text, shape, &|colour| format!("var({})", name(shape, colour)));
        text.push('\n');
    }
    text.push_str("</svg>\n");
    text
}

/// Text description of a chart, for screen readers.
fn words(chart: &Chart) -> String {
    let mut text = format!("{} by {}.", chart.y.label, chart.x.label);
    if let Some(axis) = &chart.y2 {
        let _ = write!(text, " At the right: {}.", axis.label);
    }
    let mut part = |name: &str, what: String| {
        if !name.is_empty() {
            let _ = write!(text, " {name}: {what}.");
        }
    };
    for layer in &chart.layers {
        match layer {
            Layer::Line(line) => part(&line.name, format!("line of {} values", line.points.len())),
            Layer::Points(points) => part(&points.name, format!("{} points", points.points.len())),
            Layer::Mark(mark) => part(&mark.name, "a marked value".to_owned()),
            Layer::Zone(zone) => part(&zone.name, "a marked stretch".to_owned()),
            Layer::Heat(heat) => part(&heat.name, format!("{} shaded cells", heat.cells.len())),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Axis, Heat, HeatCell, Hue, Line, LinePoint};
    use stats::Unit;

    // Breaks when a page in the dark shows a light page's colours, or a colour that no one defines.
    #[test]
    fn every_colour_has_a_name_and_two_values() {
        let mut chart = Chart::new("<b>", Axis::new("x", Unit::Count), Axis::new("y", Unit::Iops));
        let points = vec![LinePoint::new(0.0, 1.0), LinePoint::new(1.0, 2.0)];
        chart.layers.push(Layer::Line(Line::new("\"&\"", Hue::Blue, points)));
        chart.layers.push(Layer::Heat(Heat {
            name: "cells".to_owned(),
            unit: Unit::Count,
            from: (0.0, 0.0),
            step: (1.0, 1.0),
            size: (1, 2),
            cells: vec![HeatCell { column: 0, row: 1, value: 3.0 }],
        }));
        let mut inks = Inks::default();
        let svg = inline(&chart, Canvas::default(), "c1", &mut inks).unwrap();
        assert!(svg.contains("&lt;b&gt;") && !svg.contains("<b>"), "{svg}");
        assert!(svg.contains("aria-labelledby=\"c1-title c1-desc\""), "{svg}");
        assert!(!svg.contains("#0072b2"), "a colour stands where its name should: {svg}");
        let used = svg.match_indices("var(").map(|(at, _)| {
            let rest = &svg[at + 4..];
            &rest[..rest.find(')').unwrap()]
        });
        let known: Vec<(&str, &str, &str)> = inks.all().collect();
        for name in used {
            let ink = known.iter().find(|(known, _, _)| *known == name);
            let (_, light, dark) = ink.unwrap_or_else(|| panic!("{name} is not defined"));
            assert!(light.starts_with('#') && light != dark, "{name} {light} {dark}");
        }
    }
}

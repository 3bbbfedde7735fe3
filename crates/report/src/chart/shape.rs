//! What a picture is made of, whatever draws it.

/// Red, green and blue.
pub(super) type Rgb = [u8; 3];

/// A point in pixels, from the upper left corner.
pub(super) type Spot = (f64, f64);

/// Which part of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// One thing in a picture; later ones lie on top.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// A filled rectangle.
    Box { x: f64, y: f64, width: f64, height: f64, fill: Rgb, opacity: f64 },
    /// A line through spots.
    Path { spots: Vec<Spot>, stroke: Rgb, width: f64, dashed: bool },
    /// A filled polygon.
    Area { spots: Vec<Spot>, fill: Rgb, opacity: f64 },
    /// Discs of one colour.
    Dots { spots: Vec<Spot>, radius: f64, fill: Rgb, opacity: f64 },
    /// A line of text; `y` is its baseline.
    Text { x: f64, y: f64, text: String, size: u32, anchor: Anchor, ink: Rgb, bold: bool },
}

impl Shape {
    pub(super) fn line(from: Spot, to: Spot, stroke: Rgb, width: f64) -> Shape {
        Shape::Path { spots: vec![from, to], stroke, width, dashed: false }
    }
}

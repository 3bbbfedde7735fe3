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
    Text { x: f64, y: f64, text: String, size: f64, anchor: Anchor, ink: Rgb, bold: bool },
}

impl Shape {
    pub(super) fn line(from: Spot, to: Spot, stroke: Rgb, width: f64) -> Shape {
        Shape::Path { spots: vec![from, to], stroke, width, dashed: false }
    }

    /// The same shape `by` times as large, in a picture `by` times as large.
    pub(super) fn scaled(self, by: f64) -> Shape {
        let far = |spots: Vec<Spot>| spots.into_iter().map(|(x, y)| (x * by, y * by)).collect();
        match self {
            Shape::Box { x, y, width, height, fill, opacity } => {
                let (x, y, width, height) = (x * by, y * by, width * by, height * by);
                Shape::Box { x, y, width, height, fill, opacity }
            }
            Shape::Path { spots, stroke, width, dashed } => {
                Shape::Path { spots: far(spots), stroke, width: width * by, dashed }
            }
            Shape::Area { spots, fill, opacity } => {
                Shape::Area { spots: far(spots), fill, opacity }
            }
            Shape::Dots { spots, radius, fill, opacity } => {
                Shape::Dots { spots: far(spots), radius: radius * by, fill, opacity }
            }
            Shape::Text { x, y, text, size, anchor, ink, bold } => {
                let (x, y, size) = (x * by, y * by, size * by);
                Shape::Text { x, y, text, size, anchor, ink, bold }
            }
        }
    }
}

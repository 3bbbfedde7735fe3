//! Primitives of a picture, for any renderer.

/// Red, green and blue.
pub(super) type Rgb = [u8; 3];

/// A point in pixels, from the upper left corner.
pub(super) type Spot = (f64, f64);

/// Part of a text that is placed at its position.
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
    /// A filled rectangle whose colour is meant for the page that it is on.
    Shade { x: f64, y: f64, width: f64, height: f64, fill: Rgb },
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

    /// The same shape elsewhere.
    pub(super) fn moved(mut self, right: f64, down: f64) -> Shape {
        match &mut self {
            Shape::Box { x, y, .. } | Shape::Shade { x, y, .. } | Shape::Text { x, y, .. } => {
                (*x, *y) = (*x + right, *y + down)
            }
            Shape::Path { spots, .. } | Shape::Area { spots, .. } | Shape::Dots { spots, .. } => {
                spots.iter_mut().for_each(|spot| *spot = (spot.0 + right, spot.1 + down));
            }
        }
        self
    }

    /// The colour that it is drawn in.
    pub(super) fn colour(&self) -> Rgb {
        match self {
            Shape::Box { fill, .. } | Shape::Shade { fill, .. } => *fill,
            Shape::Area { fill, .. } | Shape::Dots { fill, .. } => *fill,
            Shape::Path { stroke, .. } => *stroke,
            Shape::Text { ink, .. } => *ink,
        }
    }

    /// The same shape in the colour that `of` makes of its own, which is that of a light page.
    pub(super) fn coloured(mut self, of: impl Fn(Rgb) -> Rgb) -> Shape {
        match &mut self {
            Shape::Box { fill, .. } | Shape::Area { fill, .. } | Shape::Dots { fill, .. } => {
                *fill = of(*fill);
            }
            Shape::Path { stroke, .. } => *stroke = of(*stroke),
            Shape::Text { ink, .. } => *ink = of(*ink),
            Shape::Shade { .. } => {}
        }
        self
    }

    /// The same shape `by` times as large, in a picture `by` times as large.
    pub(super) fn scaled(self, by: f64) -> Shape {
        let far = |spots: Vec<Spot>| spots.into_iter().map(|(x, y)| (x * by, y * by)).collect();
        match self {
            Shape::Box { x, y, width, height, fill, opacity } => {
                let (x, y, width, height) = (x * by, y * by, width * by, height * by);
                Shape::Box { x, y, width, height, fill, opacity }
            }
            Shape::Shade { x, y, width, height, fill } => {
                let (x, y, width, height) = (x * by, y * by, width * by, height * by);
                Shape::Shade { x, y, width, height, fill }
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

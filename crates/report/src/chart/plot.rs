//! The box of a plot in a picture, and places in it.

use super::ground::Ground;
use super::shape::Spot;

/// The plot's box.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plot {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
    pub ground: Ground,
}

impl Plot {
    pub(super) fn x(&self, u: f64) -> f64 {
        self.left + u * (self.right - self.left)
    }

    pub(super) fn y(&self, v: f64) -> f64 {
        self.bottom - v * (self.bottom - self.top)
    }

    pub(super) fn spot(&self, (u, v): (f64, f64)) -> Spot {
        (self.x(u), self.y(v))
    }
}

//! Charts: one description of what is to be seen, drawn as SVG, as PNG and in a terminal.
//!
//! A [`Chart`] is plain data. Whoever has something to show fills it with values in the units of
//! [`stats::Unit`] (bytes, nanoseconds, MB/s, ...) and formats nothing: ticks, marked values and zones are
//! written here, as all numbers for people are. [`svg`], [`png`] and [`terminal`] draw it. All three give the
//! same output for the same chart, to the byte: nothing is taken from the clock, the system's fonts or
//! the order of a hash.
//!
//! Three rules hold in every drawing:
//! - Values far off do not flatten the others. The range of an automatic axis follows the bulk of each
//!   layer; what lies beyond is drawn at the edge as a triangle, and counted in words beside the axis.
//! - Colour is never alone: a terminal without colours has a glyph for each layer.
//! - Names stand outside the plot, so that they hide no data.
//!
//! Why the pictures are laid out here: of the libraries at hand, plotters (0.3.7) finds its fonts on the
//! machine or in a file, and kuva (0.6.0) has neither axes in powers of two nor zones with names nor an
//! edge for what was clipped, and writes the terminal's colours only. Taken from kuva is what is hard to do well
//! and needs no opinion: turning shapes into pixels, with the DejaVu font that it carries.

mod clip;
mod describe;
mod frame;
mod grid;
mod hue;
mod paint;
mod picture;
mod png;
mod range;
mod shape;
mod svg;
mod terminal;
mod text;
mod tick;

pub use describe::{
    Across, Axis, Chart, ChartError, Extent, Layer, Line, LinePoint, Mark, Points, Scale, Side,
    Walk, Zone,
};
pub use hue::Hue;
pub use picture::Canvas;
pub use png::png;
pub use svg::svg;
pub use terminal::terminal;

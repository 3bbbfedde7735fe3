//! Charts: one description of what is to be seen, drawn as SVG, as PNG and in a terminal.
//!
//! A [`Chart`] is plain data. The caller fills it with values in the units of
//! [`stats::Unit`] (bytes, nanoseconds, MB/s, ...) and formats nothing: ticks, marked values and zones are
//! written here, as all numbers for people are. [`svg`], [`png`] and [`terminal`] draw it. All three give the
//! same output for the same chart, to the byte: nothing is taken from the clock, the system's fonts or
//! the order of a hash.
//!
//! ```
//! use drivescope_report::Style;
//! use drivescope_report::chart::{Across, Axis, Canvas, Chart, Hue, Layer, Points, Zone};
//! use drivescope_report::chart::{svg, terminal};
//! use stats::Unit;
//!
//! # fn main() -> Result<(), drivescope_report::chart::ChartError> {
//! let times = vec![(0.0, 2.1e6), (4_194_304.0, 0.9e6), (8_388_608.0, 0.91e6)];
//! let (name, hue, across) = ("slow zone".to_owned(), Hue::Brown, Across::X);
//! let chart = Chart {
//!     layers: vec![
//!         Layer::Zone(Zone { name, hue, across, from: 0.0, to: 4_194_304.0 }),
//!         Layer::Points(Points::new("reads", Hue::Blue, times)),
//!     ],
//!     note: "sim:usb-8m, seed 7".to_owned(),
//!     ..Chart::new("Access time", Axis::new("Offset", Unit::Bytes), Axis::new("Time", Unit::Ns))
//! };
//! assert!(svg(&chart, Canvas::default())?.contains("slow zone 0–4 MiB"));
//! assert!(terminal(&chart, Style::default())?.plain().contains("slow zone 0–4 MiB"));
//! # Ok(())
//! # }
//! ```
//!
//! Three rules hold in every drawing:
//! - Values far off do not flatten the others. The range of an automatic axis follows the bulk of each
//!   layer; what lies beyond is drawn at the edge as a triangle, and counted in words beside the axis.
//! - Colour is never alone: a terminal without colours has a glyph for each layer.
//! - Names are outside the plot, so that they hide no data.
//!
//! Why all of this is laid out here and not by a library: kuva (0.6.0) has no axes in powers of two, no names
//! for shaded zones, and no edge for what was clipped; its terminal distinguishes classes by colour alone. plotters
//! (0.3.7) draws no terminal, and takes its letters from the machine's fonts or from a font that we would have
//! to carry. What is hard to do well and needs no opinion is kuva's: turning shapes into pixels, with a font
//! (DejaVu) that it carries.

mod clip;
mod describe;
mod frame;
mod grid;
mod ground;
mod heat;
mod hover;
mod hue;
mod inline;
mod paint;
mod panels;
mod picture;
mod plot;
mod png;
mod range;
mod shape;
mod svg;
mod terminal;
mod text;
mod tick;
mod values;

pub use describe::{
    Across, Axis, Chart, ChartError, Extent, Heat, HeatCell, Layer, Line, LinePoint, Mark, Points,
    Scale, Side, Walk, Zone,
};
pub use ground::Ground;
#[cfg(test)]
pub(crate) use ground::tests::contrast;
pub use hue::Hue;
pub(crate) use inline::{Inks, captioned, inline};
pub use picture::Canvas;
pub use png::{png, png_of_all};
pub use svg::{svg, svg_of_all};
pub use terminal::{terminal, terminal_within};
pub(crate) use values::written;
pub use values::{Value, axis_title, rows, unit};

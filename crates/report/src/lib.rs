//! Numbers, tables, charts and sentences formatted, for terminals and files. Nothing else formats, but for `formats`, whose
//! output is that of other programs.
//!
//! It knows no instrument. Callers who know both lay out an instrument's result as a [`Sheet`],
//! and every number on it is a [`stats::Quantity`].
//!
//! `sheet` is a result page, `number` formats quantities, `terminal` prints; `chart` describes and draws charts, `screen` is the
//! live view, `html` the report in HTML, `wrap` breaks lines at word ends.

mod answers;
pub mod chart;
mod command;
pub mod html;
mod markup;
pub mod number;
mod screen;
mod sheet;
mod spark;
mod styled;
mod tables;
pub mod terminal;
pub mod wrap;

pub use answers::{Answer, Answers, Said, ToDo, confidence, render_answers};
pub use command::render_commands;
pub use number::RateUnit;
pub use screen::{Item, Screen, render_screen};
pub use sheet::{Cell, Entry, Group, Listing, Row, Sheet, Standing, Tone};
pub use spark::spark;
pub use styled::Styled;
pub use tables::{Table, Tables, render_tables};
pub use terminal::{Style, render_listing, render_sheet};

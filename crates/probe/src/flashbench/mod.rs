//! Tables that flashbench printed, read back from wherever people put them: its own output, files with notes in
//! front, mailing lists, forums, articles.
//!
//! [`parse`] reads one text, [`parse_all`] several of one device. They return what the text says about a table (number
//! of open units, sizes, order), and what they left out or mended as [`Note`]s. A figure that is not certain is never
//! guessed: its row is left out with a note, or the text is refused.
//!
//! Formats, from flashbench's source (github.com/bradfa/flashbench, `flashbench.c` and `vm.c`): times are whole
//! nanoseconds below 1,000, then `%.3g` in µs and ms, `%.4g` in s; rates `%.3g` in powers of 1,000; sizes in powers
//! of 1,024; all of them cut after seven bytes.

mod around;
mod build;
mod command;
mod error;
pub mod face;
mod figure;
mod judge;
mod lines;
mod micro;
mod note;
mod other;
mod parse;
mod reader;
mod rows;
mod scatter;
pub mod tables;

pub use judge::judge;
pub use note::{Note, NoteKind};
pub use parse::{ParseError, TEXT_BYTES_MAX, parse, parse_all};
pub use tables::{
    AlignRow, AlignTable, Cut, DiffFrom, FindFatRow, FindFatTable, OpenAuRow, OpenAuTable, Other,
    OtherKind, Parsed, Point, Rate, Resolution, Scatter, Source, Table, Told,
};

//! Runs on their way to another machine: gzipped tar archives of run directories.

mod export;
mod import;

pub use export::Exported;
pub use import::{Imported, Limits, unpacked};

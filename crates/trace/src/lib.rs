//! Recordings of I/O: read from many formats, kept in one, analysed, and replayed with known fidelity.
//!
//! An [`Io`] is one row of every trace, whatever it came from, and a [`Source`] hands them out in the order of their
//! arrival. [`pair`] makes I/Os of the kernel's events, for recorders and recordings alike; [`import`] knows the
//! formats of others, [`container`] is our own, and [`export`] writes some of theirs. [`analyze`] looks at a source
//! once, in bounded memory. [`replay`] says what is to be issued when, and judges what came of it.

pub mod analyze;
pub mod container;
pub mod export;
pub mod import;
pub mod pair;
pub mod replay;
pub mod sort;

mod error;
mod info;
mod io;
mod output;
mod series;
mod source;

pub use error::{Place, TraceError};
pub use info::{EventTally, Mark, Space, TraceInfo};
pub use io::{Flags, Io, Kind, Stamp};
pub use output::{Existing, FileId, IsProtected, Pending, is_protected, protect};
pub use source::{BATCH, InMemory, Source, each_batch};

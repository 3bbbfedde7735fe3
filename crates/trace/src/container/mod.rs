//! Our own format: a Parquet file with a row for each I/O, and what is known of the whole in its footer.
//!
//! Any reader of Parquet opens it: DuckDB, pandas, Polars, Spark. A row is an [`Io`](crate::Io); its columns carry
//! their units in their names, times count from the trace's origin and are null where they are not known, and each flag
//! of an I/O is a boolean column, so that `where head and not meta` works as a query. The space is there by number, as
//! in the I/O, and by name, for people. [`TraceInfo`](crate::TraceInfo) is JSON in the footer's key-value metadata,
//! under [`KEY`].
//!
//! # What makes it ours
//! Parquet has room between its pieces, and we put two things there that other readers skip:
//!
//! - a [`Label`], right behind the first four bytes: who wrote it, in which version of the format, how
//!   long the file is, and a checksum of its footer;
//! - in the footer's JSON, where each row group lies, the span of its arrivals, and its checksum.
//!
//! So a file can be known by its first bytes, one that was cut short says by how much, and not a byte of it is
//! interpreted before a checksum has vouched for it. The alternative was Parquet's checksum of pages, which the
//! library that we use checks and does not write, and which leaves the footer alone. A file that other software has
//! written again has lost both, and is refused.
//!
//! The library writes; what is read is decoded here (`pages`, `encodings`, `thrift`). It takes what a header
//! claims for true: a forged file makes it panic, or ask for any amount of memory. The few encodings that our columns
//! have are less code than the guards would be, and are read about three times as fast as by its column readers.
//!
//! # Memory
//! A writer holds one row group, a reader one row group in its encoded form and a few batches: see [`GROUP`]. Both
//! also hold what the footer says, which grows by about 20 kB for each million I/Os.

mod checksums;
mod columns;
mod decode;
mod encodings;
mod label;
mod pages;
mod reader;
mod summary;
mod thrift;
mod writer;

use std::path::Path;

pub use checksums::Checksums;
pub use label::{Label, VERSION};
pub use reader::Reader;
pub use summary::KEY;
pub use writer::{GROUP, Writer, Written};

pub use crate::output::Existing;

use crate::{Source, TraceError, each_batch};

/// True when a file that begins with `first` is one of these, whole or not, of whatever version.
///
/// The first [`Label::END`] bytes decide.
pub fn is_container(first: &[u8]) -> bool {
    first.starts_with(label::PARQUET) && first[label::PARQUET.len()..].starts_with(label::MAGIC)
}

/// Writes all that comes from `source` to `path`.
///
/// # Errors
/// Those of the source and of [`Writer`]; then there is no file at `path`, or the one that was there before.
pub fn save(
    source: &mut dyn Source,
    path: &Path,
    existing: Existing,
) -> Result<Written, TraceError> {
    let mut writer = Writer::create(path, existing)?;
    each_batch(source, |batch, info| writer.write(batch, &info.spaces))?;
    writer.finish(source.info())
}

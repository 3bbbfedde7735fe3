//! Single I/Os, a file for each position of the schedule.
//!
//! One file for all of a run was rejected: a Parquet file says at its end where its columns are, so what
//! was written before a kill could not be read. Parts in a directory survive, and are read as one table
//! by whatever reads Parquet (`samples/*.parquet`).

use std::io::{self, Write};

use crate::{SampleRow, SamplesFormat};

mod csv;
mod parquet;

/// Writes the rows of one position.
pub(crate) fn write<W: Write + Send>(
    out: W,
    format: SamplesFormat,
    position: u32,
    rows: &mut dyn Iterator<Item = SampleRow>,
) -> io::Result<W> {
    match format {
        SamplesFormat::Csv => csv::write(out, position, rows),
        SamplesFormat::Parquet => parquet::write(out, position, rows),
    }
}

//! Single I/Os as CSV (RFC 4180, but for line feeds alone at the ends of lines).

use std::io::{self, BufWriter, Write};

use crate::SampleRow;
use crate::derived::csv_field;

const BUFFER: usize = 256 << 10;

/// Writes the rows of one position, below a line of names.
pub(super) fn write<W: Write>(
    out: W,
    position: u32,
    rows: &mut dyn Iterator<Item = SampleRow>,
) -> io::Result<W> {
    let mut out = BufWriter::with_capacity(BUFFER, out);
    writeln!(
        out,
        "position,step,run,submitter,op,offset_bytes,length_bytes,intended_ns,issued_ns,completed_ns"
    )?;
    for row in rows {
        writeln!(
            out,
            "{position},{},{},{},{},{},{},{},{},{}",
            csv_field(&row.step),
            row.run,
            row.submitter,
            row.op.word(),
            row.offset.0,
            row.len.0,
            row.intended_ns,
            row.issued_ns,
            row.completed_ns
        )?;
    }
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

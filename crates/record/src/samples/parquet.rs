//! Single I/Os as Apache Parquet.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use crate::SampleRow;

/// Columns have the names and units of the CSV's.
const SCHEMA: &str = "message samples {
    required int32 position (INTEGER(32,false));
    required binary step (STRING);
    required int32 run (INTEGER(32,false));
    required int32 submitter (INTEGER(16,false));
    required binary op (STRING);
    required int64 offset_bytes (INTEGER(64,false));
    required int64 length_bytes (INTEGER(64,false));
    required int64 intended_ns (INTEGER(64,false));
    required int64 issued_ns (INTEGER(64,false));
    required int64 completed_ns (INTEGER(64,false));
}";

/// Rows that are held in memory before they are written: some 10 MB.
const GROUP: usize = 128 << 10;
const BUFFER: usize = 256 << 10;

/// Writes the rows of one position.
pub(super) fn write<W: Write + Send>(
    out: W,
    position: u32,
    rows: &mut dyn Iterator<Item = SampleRow>,
) -> io::Result<W> {
    let schema = Arc::new(parse_message_type(SCHEMA).map_err(io_error)?);
    let properties = Arc::new(
        WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("drivescope {}", env!("CARGO_PKG_VERSION")))
            .build(),
    );
    let out = BufWriter::with_capacity(BUFFER, out);
    let mut file = SerializedFileWriter::new(out, schema, properties).map_err(io_error)?;
    let mut group = Vec::with_capacity(GROUP);
    loop {
        group.clear();
        group.extend(rows.take(GROUP));
        if group.is_empty() {
            break;
        }
        let written = file.next_row_group().and_then(|to| columns(to, position, &group));
        written.map_err(io_error)?;
    }
    let out = file.into_inner().map_err(io_error)?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Writes one group of rows, column by column, in the order of the schema.
///
/// Unsigned values go through the signed type of their size, as the format has it: what an
/// `INTEGER(64,false)` holds is those 64 bits.
fn columns<W: Write + Send>(
    mut to: SerializedRowGroupWriter<'_, W>,
    position: u32,
    rows: &[SampleRow],
) -> Result<(), ParquetError> {
    let mut names = Names::default();
    let steps = rows.iter().map(|r| names.of(&r.step)).collect();
    let ops = rows.iter().map(|r| names.of(r.op.word())).collect();
    let narrow = |f: fn(&SampleRow) -> u32| rows.iter().map(|r| f(r).cast_signed()).collect();
    let wide = |f: fn(&SampleRow) -> u64| rows.iter().map(|r| f(r).cast_signed()).collect();
    column::<Int32Type, _>(&mut to, vec![position.cast_signed(); rows.len()])?;
    column::<ByteArrayType, _>(&mut to, steps)?;
    column::<Int32Type, _>(&mut to, narrow(|r| r.run))?;
    column::<Int32Type, _>(&mut to, narrow(|r| r.submitter.into()))?;
    column::<ByteArrayType, _>(&mut to, ops)?;
    column::<Int64Type, _>(&mut to, wide(|r| r.offset.0))?;
    column::<Int64Type, _>(&mut to, wide(|r| r.len.0))?;
    column::<Int64Type, _>(&mut to, wide(|r| r.intended_ns))?;
    column::<Int64Type, _>(&mut to, wide(|r| r.issued_ns))?;
    column::<Int64Type, _>(&mut to, wide(|r| r.completed_ns))?;
    to.close().map(|_| ())
}

fn column<T: DataType, W: Write + Send>(
    to: &mut SerializedRowGroupWriter<'_, W>,
    values: Vec<T::T>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns than are written".into());
    let mut column = to.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(&values, None, None)?;
    column.close()
}

/// Gives the same bytes, not copies of them, to rows that follow each other with one name.
#[derive(Default)]
struct Names(Option<(String, ByteArray)>);

impl Names {
    fn of(&mut self, name: &str) -> ByteArray {
        match &self.0 {
            Some((last, bytes)) if last == name => bytes.clone(),
            _ => {
                let bytes = ByteArray::from(name);
                self.0 = Some((name.to_owned(), bytes.clone()));
                bytes
            }
        }
    }
}

/// The kernel's answer, where there is one under the library's word for it.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

//! One row group into I/Os.

use std::io::Cursor;
use std::sync::Arc;

use block::{Bytes, Nanos};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

use super::columns::OPTIONAL_STAMPS;
use crate::{Flags, Io, Kind, Stamp};

/// A row group that is being decoded.
pub(super) struct GroupReader {
    arrival: Column<Int64Type>,
    stamps: Vec<Column<Int64Type>>,
    op: Column<ByteArrayType>,
    offset: Column<Int64Type>,
    length: Column<Int64Type>,
    request: Column<Int64Type>,
    space: Column<Int32Type>,
    pid: Column<Int32Type>,
    cpu: Column<Int32Type>,
    error: Column<Int32Type>,
    flags: Vec<Column<BoolType>>,
    rows_left: usize,
}

impl GroupReader {
    /// Of a row group whose bytes begin at `at` of the file. The columns are those of our schema.
    pub(super) fn new(meta: &RowGroupMetaData, at: u64, bytes: Vec<u8>) -> Result<GroupReader> {
        let rows = usize::try_from(meta.num_rows())?;
        let end = at + bytes.len() as u64;
        let piece = Arc::new(Piece { at, end, bytes: bytes.into() });
        let mut columns = Columns { meta, piece, next: 0, rows };
        let arrival = columns.next()?;
        let stamps = columns.several(OPTIONAL_STAMPS.len())?;
        let op = columns.next()?;
        let offset = columns.next()?;
        let length = columns.next()?;
        let request = columns.next()?;
        // The name of the space is for people.
        columns.next += 1;
        Ok(GroupReader {
            arrival,
            stamps,
            op,
            offset,
            length,
            request,
            space: columns.next()?,
            pid: columns.next()?,
            cpu: columns.next()?,
            error: columns.next()?,
            flags: columns.several(Flags::ALL.len())?,
            rows_left: rows,
        })
    }

    /// Appends up to `most` I/Os to `ios`; none when there are no more.
    pub(super) fn read(&mut self, most: usize, ios: &mut Vec<Io>) -> Result<()> {
        let rows = most.min(self.rows_left);
        if rows == 0 {
            return Ok(());
        }
        self.rows_left -= rows;
        let begin = ios.len();
        for (_, at) in self.arrival.fetch(rows)? {
            let at = Nanos(at.cast_unsigned());
            ios.push(Io::arriving(at, Kind::Other, Bytes::ZERO, Bytes::ZERO));
        }
        let ios = &mut ios[begin..];
        for (column, (_, set)) in self.stamps.iter_mut().zip(OPTIONAL_STAMPS) {
            for (row, at) in column.fetch(rows)? {
                set(&mut ios[row], Stamp::at(Nanos(at.cast_unsigned())));
            }
        }
        for (row, word) in self.op.fetch(rows)? {
            ios[row].kind = kind(word)?;
        }
        for (row, bytes) in self.offset.fetch(rows)? {
            ios[row].offset = Bytes(bytes.cast_unsigned());
        }
        for (row, bytes) in self.length.fetch(rows)? {
            ios[row].length = Bytes(bytes.cast_unsigned());
        }
        for (row, bytes) in self.request.fetch(rows)? {
            ios[row].request_bytes = Bytes(bytes.cast_unsigned());
        }
        self.read_numbers(rows, ios)?;
        for (column, (flag, _)) in self.flags.iter_mut().zip(Flags::ALL) {
            for (row, set) in column.fetch(rows)? {
                let with = if *set { flag } else { Flags::NONE };
                ios[row].flags = ios[row].flags.with(with);
            }
        }
        Ok(())
    }

    fn read_numbers(&mut self, rows: usize, ios: &mut [Io]) -> Result<()> {
        for (row, id) in self.space.fetch(rows)? {
            ios[row].space = id.cast_unsigned();
        }
        for (row, id) in self.pid.fetch(rows)? {
            ios[row].pid = id.cast_unsigned();
        }
        for (row, number) in self.cpu.fetch(rows)? {
            ios[row].cpu = u16::try_from(*number)?;
        }
        for (row, number) in self.error.fetch(rows)? {
            ios[row].error = u16::try_from(*number)?;
        }
        Ok(())
    }
}

fn kind(word: &ByteArray) -> Result<Kind> {
    let word = word.data();
    let known = Kind::ALL.into_iter().find(|kind| kind.word().as_bytes() == word);
    known.ok_or_else(|| {
        ParquetError::General(format!("`{}` is no operation", String::from_utf8_lossy(word)))
    })
}

/// Opens the columns of a group, one after the other.
struct Columns<'a> {
    meta: &'a RowGroupMetaData,
    piece: Arc<Piece>,
    next: usize,
    rows: usize,
}

impl Columns<'_> {
    fn next<T: DataType>(&mut self) -> Result<Column<T>> {
        let column = self.meta.columns().get(self.next);
        let column =
            column.ok_or(ParquetError::IndexOutOfBound(self.next, self.meta.num_columns()))?;
        self.next += 1;
        let nullable = column.column_descr().max_def_level() > 0;
        let pages = SerializedPageReader::new(Arc::clone(&self.piece), column, self.rows, None)?;
        let reader = ColumnReaderImpl::new(column.column_descr_ptr(), Box::new(pages));
        Ok(Column { reader, nullable, values: Vec::new(), levels: Vec::new() })
    }

    fn several<T: DataType>(&mut self, count: usize) -> Result<Vec<Column<T>>> {
        (0..count).map(|_| self.next()).collect()
    }
}

/// A column that is being decoded.
struct Column<T: DataType> {
    reader: ColumnReaderImpl<T>,
    nullable: bool,
    values: Vec<T::T>,
    levels: Vec<i16>,
}

impl<T: DataType> Column<T> {
    /// The values of the next `rows` rows, each with its row's number among them; rows without one are left out.
    fn fetch(&mut self, rows: usize) -> Result<impl Iterator<Item = (usize, &T::T)>> {
        self.values.clear();
        self.levels.clear();
        let levels = self.nullable.then_some(&mut self.levels);
        let (read, _, _) = self.reader.read_records(rows, levels, None, &mut self.values)?;
        if read != rows {
            return Err(ParquetError::EOF(format!("a column ends {} rows early", rows - read)));
        }
        let (all, levels) = (self.values.len() == rows, &self.levels);
        Ok((0..rows).filter(move |row| all || levels[*row] != 0).zip(&self.values))
    }
}

/// The bytes of one row group, which are found by their place in the file.
struct Piece {
    at: u64,
    end: u64,
    bytes: bytes::Bytes,
}

impl Piece {
    fn from(&self, start: u64) -> Result<bytes::Bytes> {
        let inside = start.checked_sub(self.at).filter(|_| start <= self.end);
        let inside = inside.ok_or_else(|| beyond(start))?;
        Ok(self.bytes.slice(usize::try_from(inside)?..))
    }
}

fn beyond(start: u64) -> ParquetError {
    ParquetError::EOF(format!("byte {start} is not in the row group whose column it should be"))
}

impl Length for Piece {
    fn len(&self) -> u64 {
        self.end
    }
}

impl ChunkReader for Piece {
    type T = Cursor<bytes::Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.from(start).map(Cursor::new)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<bytes::Bytes> {
        let bytes = self.from(start)?;
        if length > bytes.len() {
            return Err(beyond(start + length as u64));
        }
        Ok(bytes.slice(..length))
    }
}

//! I/Os into a file.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use block::Nanos;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};

use super::columns::{self, OPTIONAL_STAMPS};
use super::label::Label;
use super::summary::{Group, KEY, Summary};
use crate::output::{Existing, Pending};
use crate::{Flags, Io, Kind, Space, Stamp, TraceError, TraceInfo};

/// I/Os in a row group: what a writer holds, some 40 MB, and the grain at which a reader skips.
pub const GROUP: usize = 256 << 10;

/// Size of a finished file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// I/Os.
    pub ios: u64,
    /// Length of the file in bytes.
    pub bytes: u64,
}

/// Writes a file of ours, row group after row group.
///
/// It is written under another name in the same directory, and gets its own once it is whole and on the disk: a file
/// that has its name is complete. Dropped before [`Writer::finish`], it leaves nothing.
pub struct Writer {
    file: String,
    pending: Pending,
    out: SerializedFileWriter<Summed>,
    waiting: Vec<Io>,
    names: Vec<ByteArray>,
    groups: Vec<Group>,
    ios: u64,
    last_arrival: Nanos,
}

impl Writer {
    /// Begins the file that will be at `path`.
    ///
    /// # Errors
    /// When the directory cannot be written, or a file is there that is to be kept.
    pub fn create(path: &Path, existing: Existing) -> Result<Writer, TraceError> {
        let file = path.display().to_string();
        let failed = |source| TraceError::Io { file: file.clone(), source };
        let (out, pending) = Pending::begin(path, existing).map_err(failed)?;
        let begun = || -> Result<_, ParquetError> {
            let properties = Arc::new(columns::properties()?);
            let mut out =
                SerializedFileWriter::new(Summed::new(out), columns::schema()?, properties)?;
            out.write_all(&Label::UNFINISHED.bytes())?;
            out.flush()?;
            out.inner_mut().begin();
            Ok(out)
        };
        let out = begun().map_err(|error| io_error(&file, error))?;
        Ok(Writer {
            pending,
            out,
            waiting: Vec::new(),
            names: Vec::new(),
            groups: Vec::new(),
            ios: 0,
            last_arrival: Nanos::ZERO,
            file,
        })
    }

    /// Takes the next I/Os, in the order of their arrival. `spaces` are those of [`TraceInfo::spaces`] that are
    /// known by now; I/Os of others get no name.
    ///
    /// # Errors
    /// When the disk does not take it, or an I/O arrived before its predecessor.
    pub fn write(&mut self, ios: &[Io], spaces: &[Space]) -> Result<(), TraceError> {
        let mut last = self.last_arrival;
        for io in ios {
            if io.arrival < last {
                return Err(TraceError::Unsuited(format!(
                    "{}: I/Os are kept in the order of their arrival, but one that arrived at {} ns follows one \
                     that arrived at {} ns",
                    self.file, io.arrival.0, last.0
                )));
            }
            last = io.arrival;
        }
        self.last_arrival = last;
        let mut rest = ios;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(GROUP - self.waiting.len()));
            self.waiting.extend_from_slice(now);
            rest = later;
            if self.waiting.len() == GROUP {
                self.write_group(spaces)?;
            }
        }
        Ok(())
    }

    /// Makes the file whole, and gives it its name. `info` is what is known of the trace now that its last I/O was
    /// written.
    ///
    /// # Errors
    /// When the disk does not take it, or a file has come there that is to be kept.
    pub fn finish(mut self, info: &TraceInfo) -> Result<Written, TraceError> {
        self.write_group(&info.spaces)?;
        let Writer { file, pending, mut out, groups, ios, .. } = self;
        let failed = |source| TraceError::Io { file: file.clone(), source };
        let summary = Summary { ios, groups, info: Cow::Borrowed(info) };
        let text = serde_json::to_string(&summary).map_err(|error| failed(error.into()))?;
        out.append_key_value_metadata(KeyValue::new(KEY.to_owned(), text));
        let tail_at = out.inner().length;
        let out = out.into_inner().map_err(|error| io_error(&file, error))?;
        let bytes = out.length;
        let label =
            Label { file_bytes: bytes, tail_at, tail_crc32: out.crc32(), ..Label::UNFINISHED };
        let publish = || -> io::Result<()> {
            let mut out = out.into_file();
            out.seek(SeekFrom::Start(super::label::PARQUET.len() as u64))?;
            out.write_all(&label.bytes())?;
            pending.publish(&out)
        };
        publish().map_err(failed)?;
        Ok(Written { ios, bytes })
    }

    /// Writes the I/Os that wait, when there are any, as one row group.
    fn write_group(&mut self, spaces: &[Space]) -> Result<(), TraceError> {
        let (Some(first), Some(last)) = (self.waiting.first(), self.waiting.last()) else {
            return Ok(());
        };
        let (first_ns, last_ns) = (first.arrival.0, last.arrival.0);
        // Names may have become known since, and none is taken back.
        for space in spaces.iter().skip(self.names.len()) {
            self.names.push(ByteArray::from(space.name.as_str()));
        }
        let at = self.out.inner().length;
        let written = self
            .out
            .next_row_group()
            .and_then(|group| write_columns(group, &self.waiting, &self.names))
            .and_then(|()| Ok(self.out.flush()?));
        written.map_err(|error| io_error(&self.file, error))?;
        let ios = self.waiting.len() as u64;
        let sum = self.out.inner_mut();
        let (bytes, crc32) = (sum.length - at, sum.crc32());
        sum.begin();
        self.groups.push(Group { ios, at, bytes, crc32, first_ns, last_ns });
        self.ios += ios;
        self.waiting.clear();
        Ok(())
    }
}

/// Writes one group, column by column, in the order of the schema.
///
/// Unsigned values go through the signed type of their size, as the format has it: what an `INTEGER(64,false)` holds
/// is those 64 bits.
fn write_columns(
    mut to: SerializedRowGroupWriter<'_, Summed>,
    ios: &[Io],
    names: &[ByteArray],
) -> Result<(), ParquetError> {
    let words = Kind::ALL.map(|kind| ByteArray::from(kind.word()));
    let wide = |f: fn(&Io) -> u64| ios.iter().map(|io| f(io).cast_signed()).collect::<Vec<_>>();
    let narrow = |f: fn(&Io) -> u32| ios.iter().map(|io| f(io).cast_signed()).collect::<Vec<_>>();
    column::<Int64Type>(&mut to, &wide(|io| io.arrival.0), None)?;
    for (stamp, _) in OPTIONAL_STAMPS {
        let known = ios.iter().filter_map(|io| stamp(io).get());
        let known: Vec<_> = known.map(|at| at.0.cast_signed()).collect();
        let levels = levels(ios, |io| stamp(io) != Stamp::NONE);
        column::<Int64Type>(&mut to, &known, Some(&levels))?;
    }
    let ops: Vec<_> = ios.iter().map(|io| words[io.kind as usize].clone()).collect();
    column::<ByteArrayType>(&mut to, &ops, None)?;
    column::<Int64Type>(&mut to, &wide(|io| io.offset.0), None)?;
    column::<Int64Type>(&mut to, &wide(|io| io.length.0), None)?;
    column::<Int64Type>(&mut to, &wide(|io| io.request_bytes.0), None)?;
    let name = |io: &Io| names.get(io.space as usize);
    let spaces: Vec<_> = ios.iter().filter_map(|io| name(io).cloned()).collect();
    let levels = levels(ios, |io| name(io).is_some());
    column::<ByteArrayType>(&mut to, &spaces, Some(&levels))?;
    column::<Int32Type>(&mut to, &narrow(|io| io.space), None)?;
    column::<Int32Type>(&mut to, &narrow(|io| io.pid), None)?;
    column::<Int32Type>(&mut to, &narrow(|io| io.cpu.into()), None)?;
    column::<Int32Type>(&mut to, &narrow(|io| io.error.into()), None)?;
    for (flag, _) in Flags::ALL {
        let set: Vec<_> = ios.iter().map(|io| io.flags.has(flag)).collect();
        column::<BoolType>(&mut to, &set, None)?;
    }
    to.close().map(|_| ())
}

/// Definition levels of the rows: 1 for those that have a value, 0 for others.
fn levels(ios: &[Io], has: impl Fn(&Io) -> bool) -> Vec<i16> {
    ios.iter().map(|io| i16::from(has(io))).collect()
}

fn column<T: DataType>(
    to: &mut SerializedRowGroupWriter<'_, Summed>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns than are written".into());
    let mut column = to.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

/// A file whose bytes are counted and summed.
struct Summed {
    file: File,
    crc32: crc32fast::Hasher,
    length: u64,
}

impl Summed {
    fn new(file: File) -> Summed {
        Summed { file, crc32: crc32fast::Hasher::new(), length: 0 }
    }

    /// Forgets the sum: what follows is a piece of its own.
    fn begin(&mut self) {
        self.crc32 = crc32fast::Hasher::new();
    }

    /// Sum of what was written since [`Summed::begin`].
    fn crc32(&self) -> u32 {
        self.crc32.clone().finalize()
    }

    fn into_file(self) -> File {
        self.file
    }
}

impl Write for Summed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.crc32.update(&bytes[..written]);
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The system's answer, where there is one under the library's word for it.
fn io_error(file: &str, error: ParquetError) -> TraceError {
    let source = match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        // Its last bytes reach the system when it hands the file over, and then of the answer only the words are left.
        other => match os_error(&other.to_string()) {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::other(other),
        },
    };
    TraceError::Io { file: file.to_owned(), source }
}

/// The number of the system's answer in an error's words.
fn os_error(words: &str) -> Option<i32> {
    let (_, rest) = words.rsplit_once("(os error ")?;
    rest.split_once(')')?.0.parse().ok()
}

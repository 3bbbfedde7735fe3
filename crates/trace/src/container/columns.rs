//! The columns, and how each is encoded.

use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, TypePtr};

use crate::{Io, Stamp};

/// The columns, in the order of the file; the last are those of [`crate::Flags::ALL`]. `space` is null for a number
/// without a name.
///
/// Times and addresses have signed types, though they are not negative: who opens the file takes differences of
/// them, and a difference of unsigned numbers is an error in DuckDB and a huge number in pandas. A value beyond 2^63
/// comes back as what it was, and looks negative to others.
const SCHEMA: &str = "message ios {
    required int64 arrival_ns;
    optional int64 remapped_ns;
    optional int64 allocated_ns;
    optional int64 slept_ns;
    optional int64 inserted_ns;
    optional int64 merged_ns;
    optional int64 issued_ns;
    optional int64 completed_ns;
    required binary op (STRING);
    required int64 offset_bytes;
    required int64 length_bytes;
    required int64 request_bytes;
    optional binary space (STRING);
    required int32 space_id (INTEGER(32,false));
    required int32 pid (INTEGER(32,false));
    required int32 cpu (INTEGER(16,false));
    required int32 error (INTEGER(16,false));
    required boolean sync;
    required boolean meta;
    required boolean fua;
    required boolean ahead;
    required boolean preflush;
    required boolean head;
    required boolean merged_back;
    required boolean merged_front;
    required boolean requeued;
    required boolean split;
    required boolean append;
}";

/// Values in a page at most. A reader holds a page of each column.
pub(super) const PAGE_ROWS: usize = 16 << 10;

/// Bytes of a page's values before they are compressed, at most: a reader refuses more. Pages are cut when they
/// exceed a quarter of it.
pub(super) const PAGE_BYTES: usize = 4 << 20;

/// A stamp of an I/O, for reading and for writing.
pub(super) type StampOf = (fn(&Io) -> Stamp, fn(&mut Io, Stamp));

/// The stamps that may be unknown, in the order of their columns, which begin behind the arrival.
pub(super) const OPTIONAL_STAMPS: [StampOf; 7] = [
    (|io| io.remapped, |io, stamp| io.remapped = stamp),
    (|io| io.allocated, |io, stamp| io.allocated = stamp),
    (|io| io.slept, |io, stamp| io.slept = stamp),
    (|io| io.inserted, |io, stamp| io.inserted = stamp),
    (|io| io.merged, |io, stamp| io.merged = stamp),
    (|io| io.issued, |io, stamp| io.issued = stamp),
    (|io| io.completed, |io, stamp| io.completed = stamp),
];

/// The schema as the library has it.
pub(super) fn schema() -> Result<TypePtr, ParquetError> {
    parse_message_type(SCHEMA).map(Arc::new)
}

/// How columns are encoded.
///
/// Times grow, so their differences are kept. Where few values are found, they are numbered. Pages are compressed by
/// the fastest level of zstd: the third makes the file a tenth smaller and takes twice the time. The index of pages is
/// left out, since a row group is small.
pub(super) fn properties() -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_created_by(format!("drivescope {}", env!("CARGO_PKG_VERSION")))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_write_batch_size(PAGE_ROWS)
        .set_data_page_size_limit(PAGE_BYTES / 4)
        .set_dictionary_page_size_limit(PAGE_BYTES / 4)
        .set_max_row_group_row_count(None);
    for name in STAMPS.into_iter().chain(["offset_bytes"]) {
        let column = ColumnPath::from(name);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    for name in ["arrival_ns", "completed_ns", "offset_bytes", "length_bytes", "space_id"] {
        properties = properties
            .set_column_statistics_enabled(ColumnPath::from(name), EnabledStatistics::Chunk);
    }
    Ok(properties.build())
}

/// Names of the columns with times.
const STAMPS: [&str; 8] = [
    "arrival_ns",
    "remapped_ns",
    "allocated_ns",
    "slept_ns",
    "inserted_ns",
    "merged_ns",
    "issued_ns",
    "completed_ns",
];

//! The pages of one column, one after the other.

use super::columns::{PAGE_BYTES, PAGE_ROWS};
use super::encodings::{delta, hybrid, plain, unpack};
use super::thrift::{Thrift, kind};
use crate::Kind;

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Values {
    /// 64 bits.
    Wide,
    /// 32 bits.
    Narrow,
    /// True or false.
    Truth,
    /// The word of a [`Kind`]; its number is the value.
    Word,
}

/// Why a page is none, in a few words.
pub(super) type Fault = &'static str;

/// Parquet's numbers of encodings.
mod encoding {
    pub const PLAIN: i64 = 0;
    pub const PLAIN_DICTIONARY: i64 = 2;
    pub const RLE: i64 = 3;
    pub const DELTA_BINARY_PACKED: i64 = 5;
    pub const RLE_DICTIONARY: i64 = 8;
}

/// A column that is being read: a page of it at a time.
#[derive(Debug)]
pub(super) struct Column {
    values: Values,
    optional: bool,
    /// Bytes of the group not read yet, from the next page on.
    left: std::ops::Range<usize>,
    dictionary: Vec<u64>,
    page: Vec<u64>,
    used: usize,
}

/// Header of a page.
#[derive(Debug, Default)]
struct Header {
    kind: i64,
    bytes: i64,
    packed_bytes: i64,
    values: i64,
    encoding: i64,
}

/// Reads pages; what it has is used again.
pub(super) struct Unpacker {
    zstd: zstd::bulk::Decompressor<'static>,
    unpacked: Vec<u8>,
    levels: Vec<u64>,
}

impl Unpacker {
    pub(super) fn new() -> std::io::Result<Unpacker> {
        let zstd = zstd::bulk::Decompressor::new()?;
        Ok(Unpacker { zstd, unpacked: Vec::new(), levels: Vec::new() })
    }
}

impl Column {
    /// The column of `rows` values whose pages begin at `at` of the group's bytes; `at` is then behind it.
    pub(super) fn find(
        group: &[u8],
        at: &mut usize,
        rows: usize,
        values: Values,
        optional: bool,
    ) -> Result<Column, Fault> {
        let begin = *at;
        let mut found = 0;
        while found < rows {
            let (header, content) = page(group, *at..group.len())?;
            if header.kind == DATA {
                found += usize::try_from(header.values).unwrap_or(0);
            }
            *at = content.end;
        }
        if found > rows {
            return Err("a column has more values than the group has rows");
        }
        Ok(Column {
            values,
            optional,
            left: begin..*at,
            dictionary: Vec::new(),
            page: Vec::new(),
            used: 0,
        })
    }

    /// Passes the next `rows` values to `take`; [`u64::MAX`] for one that is missing.
    pub(super) fn each(
        &mut self,
        group: &[u8],
        with: &mut Unpacker,
        rows: usize,
        mut take: impl FnMut(usize, u64) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut row = 0;
        while row < rows {
            if self.used == self.page.len() {
                self.next_page(group, with)?;
                continue;
            }
            let here = (rows - row).min(self.page.len() - self.used);
            for value in &self.page[self.used..self.used + here] {
                take(row, *value)?;
                row += 1;
            }
            self.used += here;
        }
        Ok(())
    }

    fn next_page(&mut self, group: &[u8], with: &mut Unpacker) -> Result<(), Fault> {
        if self.left.is_empty() {
            return Err("a column ends early");
        }
        let (header, content) = page(group, self.left.clone())?;
        self.left.start = content.end;
        let size = usize::try_from(header.bytes).map_err(|_| SIZE)?;
        with.unpacked.clear();
        with.unpacked.reserve(size);
        let unpacked = with.zstd.decompress_to_buffer(&group[content], &mut with.unpacked);
        if unpacked.ok() != Some(size) {
            return Err("a page does not unpack to the length that its header says");
        }
        let count = usize::try_from(header.values).map_err(|_| SIZE)?;
        let Unpacker { unpacked, levels, .. } = with;
        if header.kind == DICTIONARY {
            self.dictionary.clear();
            return self.plainly(unpacked, count, Where::Dictionary).ok_or(VALUES);
        }
        self.page.clear();
        self.used = 0;
        self.data(&header, unpacked, count, levels).ok_or(VALUES)
    }

    fn data(
        &mut self,
        header: &Header,
        bytes: &[u8],
        count: usize,
        levels: &mut Vec<u64>,
    ) -> Option<()> {
        let mut bytes = bytes;
        levels.clear();
        let mut present = count;
        if self.optional {
            let (length, rest) = bytes.split_first_chunk::<4>()?;
            let (packed, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            hybrid(packed, 1, count, levels)?;
            present = levels.iter().filter(|level| **level == 1).count();
            bytes = rest;
        }
        if present > 0 {
            match header.encoding {
                encoding::PLAIN => self.plainly(bytes, present, Where::Page)?,
                encoding::DELTA_BINARY_PACKED => delta(bytes, present, &mut self.page)?,
                encoding::RLE if self.values == Values::Truth => {
                    let (length, rest) = bytes.split_first_chunk::<4>()?;
                    hybrid(
                        rest.get(..u32::from_le_bytes(*length) as usize)?,
                        1,
                        present,
                        &mut self.page,
                    )?;
                }
                encoding::PLAIN_DICTIONARY | encoding::RLE_DICTIONARY => {
                    let (width, rest) = bytes.split_first()?;
                    hybrid(rest, u32::from(*width), present, &mut self.page)?;
                    for value in &mut self.page {
                        *value = *self.dictionary.get(usize::try_from(*value).ok()?)?;
                    }
                }
                _ => return None,
            }
        }
        if present < count {
            self.spread(levels);
        }
        Some(())
    }

    /// Moves values to their rows, from the last on, so that none is overwritten before it has moved.
    fn spread(&mut self, levels: &[u64]) {
        let mut from = self.page.len();
        self.page.resize(levels.len(), u64::MAX);
        for (row, level) in levels.iter().enumerate().rev() {
            let value = if *level == 1 {
                from -= 1;
                self.page[from]
            } else {
                u64::MAX
            };
            self.page[row] = value;
        }
    }

    /// Values as they are.
    fn plainly(&mut self, bytes: &[u8], count: usize, to: Where) -> Option<()> {
        let to = match to {
            Where::Dictionary => &mut self.dictionary,
            Where::Page => &mut self.page,
        };
        match self.values {
            Values::Wide => plain(bytes, 8, count, to),
            Values::Narrow => plain(bytes, 4, count, to),
            Values::Truth => unpack(bytes, 1, count, to),
            Values::Word => words(bytes, count, to),
        }
    }
}

/// Destination of values.
#[derive(Clone, Copy)]
enum Where {
    Dictionary,
    Page,
}

/// Words of operations, each behind its length.
fn words(mut bytes: &[u8], count: usize, to: &mut Vec<u64>) -> Option<()> {
    for _ in 0..count {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (word, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        let known = Kind::ALL.into_iter().find(|kind| kind.word().as_bytes() == word)?;
        to.push(known as u64);
        bytes = rest;
    }
    Some(())
}

const DATA: i64 = 0;
const DICTIONARY: i64 = 2;
const HEADER: Fault = "a page has no header";
const SIZE: Fault = "a page is larger than any that is written";
const VALUES: Fault = "a page does not hold the values that its header says";

/// The header of the page that begins `within`, and where its content is.
fn page(
    group: &[u8],
    within: std::ops::Range<usize>,
) -> Result<(Header, std::ops::Range<usize>), Fault> {
    let bytes = &group[within.clone()];
    let mut thrift = Thrift::new(bytes);
    let header = header(&mut thrift).ok_or(HEADER)?;
    let begin = within.start + bytes.len() - thrift.rest().len();
    let end =
        usize::try_from(header.packed_bytes).ok().and_then(|length| begin.checked_add(length));
    let end = end
        .filter(|end| *end <= within.end)
        .ok_or("a page is longer than what is left of the group")?;
    let data = header.kind == DATA;
    if !data && header.kind != DICTIONARY {
        return Err("a page is of a kind that is not written");
    }
    let most = if data { PAGE_ROWS } else { PAGE_BYTES };
    let values =
        usize::try_from(header.values).is_ok_and(|values| values <= most && (values > 0 || !data));
    let size = usize::try_from(header.bytes).is_ok_and(|bytes| bytes <= PAGE_BYTES);
    if values && size { Ok((header, begin..end)) } else { Err(SIZE) }
}

fn header(thrift: &mut Thrift<'_>) -> Option<Header> {
    let mut header = Header { values: -1, ..Header::default() };
    thrift.fields(|thrift, field| {
        match field.0 {
            1 => header.kind = thrift.integer(field)?,
            2 => header.bytes = thrift.integer(field)?,
            3 => header.packed_bytes = thrift.integer(field)?,
            // Of data and of a dictionary: their first two fields are the same.
            5 | 7 if field.1 == kind::STRUCT => thrift.fields(|thrift, field| {
                match field.0 {
                    1 => header.values = thrift.integer(field)?,
                    2 => header.encoding = thrift.integer(field)?,
                    _ => thrift.skip(field.1)?,
                }
                Some(())
            })?,
            _ => thrift.skip(field.1)?,
        }
        Some(())
    })?;
    Some(header)
}

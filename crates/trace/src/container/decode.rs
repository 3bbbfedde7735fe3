//! One row group into I/Os.

use block::{Bytes, Nanos};

use super::columns::OPTIONAL_STAMPS;
use super::pages::{Column, Fault, Unpacker, Values};
use crate::{Flags, Io, Kind, Stamp};

/// A row group that is being decoded.
pub(super) struct GroupReader {
    bytes: Vec<u8>,
    with: Unpacker,
    arrival: Column,
    stamps: Vec<Column>,
    op: Column,
    /// Offset, length, length of the request.
    sizes: Vec<Column>,
    /// Space, task, CPU, error.
    numbers: Vec<Column>,
    flags: Vec<Column>,
    rows_left: usize,
}

/// Sets what one column has of an I/O.
type Set = fn(&mut Io, u64) -> Result<(), Fault>;

const SIZES: [Set; 3] = [
    |io, bytes| put(&mut io.offset, Bytes(bytes)),
    |io, bytes| put(&mut io.length, Bytes(bytes)),
    |io, bytes| put(&mut io.request_bytes, Bytes(bytes)),
];

const NUMBERS: [Set; 4] = [
    |io, number| put(&mut io.space, u32::try_from(number).map_err(|_| LARGE)?),
    |io, number| put(&mut io.pid, u32::try_from(number).map_err(|_| LARGE)?),
    |io, number| put(&mut io.cpu, u16::try_from(number).map_err(|_| LARGE)?),
    |io, number| put(&mut io.error, u16::try_from(number).map_err(|_| LARGE)?),
];

const LARGE: Fault = "a number is larger than its column allows";

fn put<T>(to: &mut T, value: T) -> Result<(), Fault> {
    *to = value;
    Ok(())
}

impl GroupReader {
    /// Of a row group of `rows` I/Os. Its columns lie one behind the other, in the order of the schema.
    pub(super) fn new(bytes: Vec<u8>, rows: usize) -> Result<GroupReader, Fault> {
        let mut at = 0;
        let group = &*bytes;
        let mut column = |values, optional| Column::find(group, &mut at, rows, values, optional);
        let mut several = |count, values, optional| {
            (0..count).map(|_| column(values, optional)).collect::<Result<Vec<_>, _>>()
        };
        let mut arrival = several(1, Values::Wide, false)?;
        let stamps = several(OPTIONAL_STAMPS.len(), Values::Wide, true)?;
        let mut op = several(1, Values::Word, false)?;
        let sizes = several(SIZES.len(), Values::Wide, false)?;
        // The name of the space is for people.
        several(1, Values::Word, true)?;
        let numbers = several(NUMBERS.len(), Values::Narrow, false)?;
        let flags = several(Flags::ALL.len(), Values::Truth, false)?;
        let (Some(arrival), Some(op)) = (arrival.pop(), op.pop()) else {
            return Err("a column is missing");
        };
        if at != bytes.len() {
            return Err("something follows the last column");
        }
        let with = Unpacker::new().map_err(|_| "zstd has no memory")?;
        Ok(GroupReader { bytes, with, arrival, stamps, op, sizes, numbers, flags, rows_left: rows })
    }

    /// Appends up to `most` I/Os to `ios`; none when there are no more.
    pub(super) fn read(&mut self, most: usize, ios: &mut Vec<Io>) -> Result<(), Fault> {
        let rows = most.min(self.rows_left);
        self.rows_left -= rows;
        let begin = ios.len();
        let (group, with) = (&*self.bytes, &mut self.with);
        self.arrival.each(group, with, rows, |_, at| {
            ios.push(Io::arriving(Nanos(at), Kind::Other, Bytes::ZERO, Bytes::ZERO));
            Ok(())
        })?;
        let ios = &mut ios[begin..];
        for (column, (_, set)) in self.stamps.iter_mut().zip(OPTIONAL_STAMPS) {
            column.each(group, with, rows, |row, at| {
                set(&mut ios[row], Stamp::at(Nanos(at)));
                Ok(())
            })?;
        }
        self.op.each(group, with, rows, |row, number| {
            let kind = usize::try_from(number).ok().and_then(|number| Kind::ALL.get(number));
            put(&mut ios[row].kind, *kind.ok_or("an I/O has no operation")?)
        })?;
        let sizes = self.sizes.iter_mut().zip(SIZES);
        for (column, set) in sizes.chain(self.numbers.iter_mut().zip(NUMBERS)) {
            column.each(group, with, rows, |row, value| set(&mut ios[row], value))?;
        }
        for (column, (flag, _)) in self.flags.iter_mut().zip(Flags::ALL) {
            column.each(group, with, rows, |row, set| {
                let flags = ios[row].flags;
                put(&mut ios[row].flags, if set == 1 { flags.with(flag) } else { flags })
            })?;
        }
        Ok(())
    }
}

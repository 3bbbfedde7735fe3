//! As much of Thrift's compact protocol as the pages and the footer of a file of ours need.
//!
//! Read by hand, as the pages are: the library that writes them takes what a header claims for true, and a forged one
//! makes it panic or ask for any amount of memory. Here nothing is reserved, and each step takes a byte at least.

/// How deep structures are nested at most, in what is skipped.
const DEPTH: u32 = 16;

/// Bytes that are being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thrift<'a> {
    bytes: &'a [u8],
}

/// Types of fields, as their numbers are in the compact protocol.
pub(super) mod kind {
    pub const TRUE: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const BYTE: u8 = 3;
    pub const I16: u8 = 4;
    pub const I32: u8 = 5;
    pub const I64: u8 = 6;
    pub const DOUBLE: u8 = 7;
    pub const BINARY: u8 = 8;
    pub const LIST: u8 = 9;
    pub const SET: u8 = 10;
    pub const STRUCT: u8 = 12;
}

/// A field's number and type.
pub(super) type Field = (i64, u8);

impl<'a> Thrift<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Thrift<'a> {
        Thrift { bytes }
    }

    /// Returns the bytes not read yet.
    pub(super) fn rest(self) -> &'a [u8] {
        self.bytes
    }

    /// Calls `take` for each field of a structure, which has to read or to skip its value. `None` when the bytes are
    /// no structure, or `take` says so.
    pub(super) fn fields(
        &mut self,
        mut take: impl FnMut(&mut Thrift<'a>, Field) -> Option<()>,
    ) -> Option<()> {
        let mut number = 0_i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            number = match head >> 4 {
                0 => self.whole()?,
                by => number.checked_add(i64::from(by))?,
            };
            take(self, (number, head & 15))?;
        }
    }

    /// Calls `take` for each element of a list.
    pub(super) fn list(
        &mut self,
        mut take: impl FnMut(&mut Thrift<'a>, u8) -> Option<()>,
    ) -> Option<()> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        (0..count).try_for_each(|_| take(self, head & 15))
    }

    /// A whole number of any size, when the field is one.
    pub(super) fn integer(&mut self, (_, kind): Field) -> Option<i64> {
        matches!(kind, kind::I16 | kind::I32 | kind::I64).then(|| self.whole())?
    }

    /// Bytes.
    pub(super) fn binary(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    /// Passes over a value.
    pub(super) fn skip(&mut self, kind: u8) -> Option<()> {
        self.skip_within(kind, DEPTH, false)
    }

    fn skip_within(&mut self, kind: u8, depth: u32, element: bool) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match kind {
            // The value of a boolean field is in its head, that of an element in a byte.
            kind::TRUE | kind::FALSE if element => self.byte().map(drop),
            kind::TRUE | kind::FALSE => Some(()),
            kind::BYTE => self.byte().map(drop),
            kind::I16 | kind::I32 | kind::I64 => self.varint().map(drop),
            kind::DOUBLE => {
                self.bytes = self.bytes.get(8..)?;
                Some(())
            }
            kind::BINARY => self.binary().map(drop),
            kind::LIST | kind::SET => {
                self.list(|thrift, kind| thrift.skip_within(kind, depth, true))
            }
            kind::STRUCT => self.fields(|thrift, (_, kind)| thrift.skip_within(kind, depth, false)),
            // A map is nowhere in Parquet's headers.
            _ => None,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    /// A number as zigzag.
    fn whole(&mut self) -> Option<i64> {
        self.varint().map(unfold)
    }

    /// Seven bits a byte, the lowest first.
    pub(super) fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

/// Zigzag undone: 0, -1, 1, -2, …
pub(super) fn unfold(folded: u64) -> i64 {
    ((folded >> 1) ^ (folded & 1).wrapping_neg()).cast_signed()
}

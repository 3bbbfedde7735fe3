//! Layout of an event's record, read from its `format` file: it is internal to the kernel and changes.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Longest file that describes a layout.
const TEXT_MAX: usize = 64 << 10;

/// Position of a field in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// First byte.
    pub offset: usize,
    /// Length; 0 for text up to the record's end.
    pub size: usize,
    /// True when its first bit is a sign.
    pub signed: bool,
}

impl Field {
    /// Its bytes; `None` when the record is shorter.
    pub(crate) fn bytes<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        let rest = record.get(self.offset..)?;
        if self.size == 0 { Some(rest) } else { rest.get(..self.size) }
    }

    /// Its value, widened with its sign; `None` when the record is shorter, or the field is not a number.
    #[inline]
    pub(crate) fn number(&self, record: &[u8]) -> Option<u64> {
        let bytes = self.bytes(record)?;
        // The ring buffer is of this machine, so its byte order is too.
        Some(match (bytes.len(), self.signed) {
            (1, false) => u64::from(bytes[0]),
            (2, false) => u64::from(u16::from_ne_bytes(bytes.try_into().ok()?)),
            (4, false) => u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)),
            (1, true) => i64::from(bytes[0].cast_signed()).cast_unsigned(),
            (2, true) => i64::from(i16::from_ne_bytes(bytes.try_into().ok()?)).cast_unsigned(),
            (4, true) => i64::from(i32::from_ne_bytes(bytes.try_into().ok()?)).cast_unsigned(),
            (8, _) => u64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }
}

/// The layout of one event, or of a page of the ring buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// Number by which records name their event; `None` in the header of a page.
    pub id: Option<u16>,
    fields: Vec<(String, Field)>,
}

impl Format {
    /// Reads the file at `path`.
    pub(crate) fn read(path: &Path) -> io::Result<Format> {
        let format = Format::parse(&text_of(path)?);
        let none = || io::Error::new(io::ErrorKind::InvalidData, "it describes no fields");
        if format.fields.is_empty() { Err(none()) } else { Ok(format) }
    }

    /// Parses the text of such a file. Lines that do not describe a field are skipped.
    pub(crate) fn parse(text: &str) -> Format {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok());
        let fields = text.lines().filter_map(field).collect();
        Format { id, fields }
    }

    /// The field of this name.
    pub(crate) fn field(&self, name: &str) -> Option<Field> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, field)| *field)
    }
}

/// The text of a file that describes a layout, by one large read: `header_page` of an instance answers the first read
/// and none that follows (Linux 6.18), and `fs::read_to_string` begins with a small one.
fn text_of(path: &Path) -> io::Result<String> {
    let mut bytes = vec![0; TEXT_MAX];
    let read = File::open(path)?.read(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes[..read]).into_owned())
}

/// `field:char rwbs[10]; offset:34; size:10; signed:0;`
fn field(line: &str) -> Option<(String, Field)> {
    let rest = line.trim().strip_prefix("field:")?;
    let mut parts = rest.split(';').map(str::trim);
    let declared = parts.next()?;
    // `char rwbs[10]` has its length after its name, `__data_loc char[] cmd` before it.
    let name = declared.rsplit([' ', '*']).next()?.split('[').next()?;
    let mut told = Field { offset: 0, size: 0, signed: false };
    let mut placed = false;
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => {
                told.offset = value.trim().parse().ok()?;
                placed = true;
            }
            Some(("size", value)) => told.size = value.trim().parse().ok()?,
            Some(("signed", value)) => told.signed = value.trim() == "1",
            _ => {}
        }
    }
    placed.then(|| (name.to_owned(), told))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ISSUE: &str = "name: block_rq_issue\nID: 2104\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n\
        \tfield:unsigned nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
        \tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;\n\n\
        print fmt: \"%d,%d\", ((unsigned int) ((REC->dev) >> 20))\n";

    // Breaks when a kernel that lays its events out in another way is read with the layout of this one.
    #[test]
    fn fields_are_where_the_file_says() {
        let format = Format::parse(ISSUE);
        assert_eq!(format.id, Some(2104));
        let at = |name: &str| format.field(name).map(|field| (field.offset, field.size));
        assert_eq!(at("common_type"), Some((0, 2)));
        assert_eq!(at("dev"), Some((8, 4)));
        assert_eq!(at("rwbs"), Some((34, 10)));
        assert_eq!(at("nr_sector"), Some((24, 4)));
        assert_eq!(at("cmd"), Some((60, 4)));
        assert_eq!(at("sector"), None);
        assert!(format.field("common_pid").unwrap().signed);
    }

    #[test]
    fn numbers_are_widened_with_their_sign_and_never_read_beyond_the_end() {
        let record = (-5i32).to_ne_bytes();
        let field = |size, signed| Field { offset: 0, size, signed };
        assert_eq!(field(4, true).number(&record), Some((-5i64).cast_unsigned()));
        assert_eq!(field(4, false).number(&record), Some(u64::from((-5i32).cast_unsigned())));
        assert_eq!(field(8, false).number(&record), None);
        assert_eq!(field(3, false).number(&record), None);
        assert_eq!(Field { offset: 9, size: 0, signed: false }.bytes(&record), None);
    }
}

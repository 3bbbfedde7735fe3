//! Rows of a table: fields between separators, each with a role. Formats that are tables differ in their layout alone.

use block::{Bytes, Nanos};

use super::dates::date;
use super::fields::{decimal, operation, rwbs, whole};
use super::ops::Ops;
use super::options::ReadFlag;
use super::records::{Record, Row, Told, quoted};
use crate::{Flags, Io, Kind, Space, Stamp};

/// Separator of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// One such byte; blanks around a field do not belong to it.
    Byte(u8),
    /// Any number of blanks.
    Blanks,
}

/// Content of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing that is kept.
    Skip,
    /// When the I/O arrived, in units of this number of nanoseconds.
    Time(u64),
    /// When it was issued, on the same clock.
    Issued(u64),
    /// When it completed, on the same clock.
    Completed(u64),
    /// How long it took from its arrival. Empty where it is not known.
    Latency(u64),
    /// Its operation.
    Op(Op),
    /// Its offset, in units of this number of bytes.
    Offset(u64),
    /// How long it is, in units of this number of bytes.
    Length(u64),
    /// Part of the name of its address space.
    Space,
    /// The task's number.
    Pid,
    /// The task's name.
    Process,
    /// The CPU.
    Cpu,
}

/// How operations are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// In words.
    Word,
    /// In words, or the kernel's letters.
    Letters,
    /// As [`Layout::ops`] has it.
    Named,
    /// As 0 and 1.
    Flag(ReadFlag),
    /// In words, and empty where the recorder saw no answer: such a row is not an I/O that can be kept.
    WordOrNothing,
}

/// The form of a table's rows.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Form of a row in errors: `a row is TIME,OP,…`.
    pub form: String,
    /// Separator of fields.
    pub separator: Separator,
    /// Content of each column.
    pub roles: Vec<Role>,
    /// Rows may have more columns than these.
    pub more: bool,
    /// Word before an address space's name.
    pub space: &'static str,
    /// Times are dates instead of numbers.
    pub dates: bool,
    /// By how much the clock is set forward, where arrivals are reckoned from completions.
    pub shift: u64,
    /// Names of operations.
    pub ops: Ops,
}

/// Splits off the first field.
fn first(line: &[u8], separator: Separator) -> (&[u8], Option<&[u8]>) {
    match separator {
        Separator::Blanks => {
            let end =
                line.iter().position(|byte| *byte == b' ' || *byte == b'\t').unwrap_or(line.len());
            let rest = line[end..].trim_ascii_start();
            (&line[..end], (!rest.is_empty()).then_some(rest))
        }
        Separator::Byte(separator) => {
            if line.first().is_some_and(|byte| *byte == b'"' || byte.is_ascii_whitespace())
                && let Some(inner) = line.trim_ascii_start().strip_prefix(b"\"")
            {
                return quotation(inner, separator);
            }
            match find(line, separator) {
                Some(end) => (line[..end].trim_ascii(), Some(&line[end + 1..])),
                None => (line.trim_ascii(), None),
            }
        }
    }
}

/// Returns the position of the first `byte`. Fields are short, and for them this is faster than a search for long text.
fn find(line: &[u8], byte: u8) -> Option<usize> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut from = 0;
    while let Some(eight) = line.get(from..).and_then(<[u8]>::first_chunk) {
        // A byte of the difference is 0 where it is found; the lowest such sets the lowest high bit.
        let difference = u64::from_le_bytes(*eight) ^ (ONES * u64::from(byte));
        let zeroes = difference.wrapping_sub(ONES) & !difference & (ONES << 7);
        if zeroes != 0 {
            return Some(from + (zeroes.trailing_zeros() / 8) as usize);
        }
        from += 8;
    }
    line[from..].iter().position(|here| *here == byte).map(|at| from + at)
}

/// A field in quotation marks, up to the mark that closes it. A doubled mark within stays as it is: only names have it.
fn quotation(inner: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    let mut from = 0;
    while let Some(at) = memchr::memchr(b'"', &inner[from..]) {
        let end = from + at;
        if inner.get(end + 1) != Some(&b'"') {
            let rest = inner[end + 1..].trim_ascii_start();
            return (&inner[..end], rest.strip_prefix(&[separator]));
        }
        from = end + 2;
    }
    (inner, None)
}

/// All fields of a line.
pub fn split(line: &[u8], separator: Separator) -> Vec<&[u8]> {
    let line = if separator == Separator::Blanks { line.trim_ascii() } else { line };
    let (mut field, mut rest) = first(line, separator);
    let mut all = vec![field];
    while let Some(more) = rest {
        (field, rest) = first(more, separator);
        all.push(field);
    }
    all
}

/// Returns the error for a field that is missing or not a `what`.
fn wrong(field: &[u8], what: &str) -> String {
    if field.is_empty() {
        format!("lacks its {what}")
    } else {
        format!("{} is not a valid {what}", quoted(field))
    }
}

/// A table's row.
#[derive(Clone, Debug)]
pub struct Table {
    layout: Layout,
    /// The name of an address space that several columns make.
    name: Vec<u8>,
}

/// Fields of a row.
#[derive(Default)]
struct Said<'a> {
    arrival: Option<u64>,
    issued: Option<u64>,
    completed: Option<u64>,
    latency: Option<u64>,
    kind: Option<Kind>,
    op: &'a [u8],
    offset: u64,
    length: u64,
    space: Option<&'a [u8]>,
    joined: bool,
    pid: u32,
    process: &'a [u8],
    cpu: u16,
}

impl Table {
    /// Rows of `layout`.
    pub fn new(layout: Layout) -> Table {
        Table { layout, name: Vec::new() }
    }

    /// True when `line` has this form, whatever it says.
    pub fn fits(&mut self, line: &[u8]) -> bool {
        self.read(line, &mut Told::default()).is_ok_and(|record| record != Record::Blank)
    }

    fn field<'a>(
        &mut self,
        role: Role,
        field: &'a [u8],
        said: &mut Said<'a>,
    ) -> Result<(), String> {
        let time = |scale, what| decimal(field, scale).ok_or_else(|| wrong(field, what));
        let dates = self.layout.dates;
        let instant = |scale, what| match dates {
            true => date(field).map(|date| date.unix_ns).ok_or_else(|| wrong(field, "date")),
            false => time(scale, what),
        };
        let bytes = |scale, what| {
            whole(field).and_then(|n| n.checked_mul(scale)).ok_or_else(|| wrong(field, what))
        };
        match role {
            Role::Skip => {}
            Role::Time(scale) => said.arrival = Some(instant(scale, "time")?),
            Role::Issued(scale) if !field.is_empty() => {
                said.issued = Some(instant(scale, "time of issue")?)
            }
            Role::Completed(scale) if !field.is_empty() => {
                said.completed = Some(instant(scale, "time of completion")?);
            }
            Role::Latency(scale) if !field.is_empty() => {
                said.latency = Some(time(scale, "latency")?)
            }
            Role::Issued(_) | Role::Completed(_) | Role::Latency(_) => {}
            Role::Op(Op::Named) => said.kind = self.layout.ops.of(field)?,
            Role::Op(op) => {
                said.kind = kind(op, field)?;
                said.op = if op == Op::Letters { field } else { b"" };
            }
            Role::Offset(scale) => said.offset = bytes(scale, "address")?,
            Role::Length(scale) => said.length = bytes(scale, "length")?,
            Role::Space if said.space.is_none() => said.space = Some(field),
            Role::Space => {
                if !said.joined {
                    self.name.clear();
                    self.name.extend_from_slice(said.space.unwrap_or_default());
                    said.joined = true;
                }
                self.name.push(b'_');
                self.name.extend_from_slice(field);
            }
            Role::Pid => {
                let pid = whole(field).and_then(|n| u32::try_from(n).ok());
                said.pid = pid.ok_or_else(|| wrong(field, "process number"))?;
            }
            Role::Process => said.process = field,
            Role::Cpu => {
                let cpu = whole(field).and_then(|n| u16::try_from(n).ok());
                said.cpu = cpu.ok_or_else(|| wrong(field, "CPU number"))?;
            }
        }
        Ok(())
    }

    fn io(&self, said: &Said<'_>, kind: Kind, told: &mut Told) -> Result<Io, String> {
        let stamp = |at: Option<u64>| at.map_or(Stamp::NONE, |at| Stamp::at(Nanos(at)));
        let shift = self.layout.shift;
        let later = |at: Option<u64>| at.map(|at| at.saturating_add(shift));
        let (arrival, completed) = match (said.arrival, later(said.completed), said.latency) {
            (Some(arrival), _, Some(latency)) => {
                let at = arrival.checked_add(latency);
                let at =
                    at.ok_or_else(|| format!("a latency of {latency} ns ends beyond all times"))?;
                (arrival, Some(at))
            }
            (Some(arrival), completed, None) => (arrival, completed),
            (None, Some(completed), Some(latency)) => {
                let at = completed.checked_sub(latency);
                (at.ok_or("completes sooner after the first than it took")?, Some(completed))
            }
            _ => return Err("lacks its completion or its latency, and so its arrival".to_owned()),
        };
        // The meaning of a word with letters depends on the length, as for a flush before a write.
        let (kind, flags) = match operation(said.op) {
            None => rwbs(said.op, said.length).filter(|(kind, _)| *kind != Kind::Other),
            Some(_) => None,
        }
        .unwrap_or((kind, Flags::NONE));
        let name = if said.joined { self.name.as_slice() } else { said.space.unwrap_or_default() };
        let space = told.spaces.of(name, || Space {
            name: match (self.layout.space, String::from_utf8_lossy(name)) {
                ("", name) if name.is_empty() => "0".to_owned(),
                ("", name) => name.into_owned(),
                (word, name) => format!("{word} {name}"),
            },
            ..Space::default()
        })?;
        if !said.process.is_empty() {
            told.process(said.pid, said.process);
        }
        Ok(Io {
            issued: stamp(later(said.issued)),
            flags,
            completed: stamp(completed),
            space,
            pid: said.pid,
            cpu: said.cpu,
            ..Io::arriving(Nanos(arrival), kind, Bytes(said.offset), Bytes(said.length))
        })
    }

    /// A wrong number of fields.
    fn miscounted(&self, line: &[u8]) -> String {
        let count = split(line, self.layout.separator).len();
        let (few, form) = (self.layout.roles.len(), &self.layout.form);
        format!("has {count} fields; a row has {few}: {form}")
    }
}

fn kind(op: Op, field: &[u8]) -> Result<Option<Kind>, String> {
    let read_is_one = match op {
        Op::WordOrNothing if field.is_empty() => return Ok(None),
        Op::Word | Op::WordOrNothing => {
            let kind = operation(field).ok_or_else(|| wrong(field, "operation; write R or W"))?;
            return Ok(Some(kind));
        }
        Op::Letters => {
            let letters =
                || rwbs(field, 0).map(|(kind, _)| kind).filter(|kind| *kind != Kind::Other);
            let what = "operation; write R or W, or say what it is, such as --op 2a=write,28=read";
            return operation(field).or_else(letters).map(Some).ok_or_else(|| wrong(field, what));
        }
        Op::Named => return Ok(None),
        Op::Flag(flag) => flag == ReadFlag::One,
    };
    match field {
        b"0" | b"1" if (field == b"1") == read_is_one => Ok(Some(Kind::Read)),
        b"0" | b"1" => Ok(Some(Kind::Write)),
        _ => Err(wrong(field, "operation; write 0 or 1")),
    }
}

impl Row for Table {
    fn read(&mut self, line: &[u8], told: &mut Told) -> Result<Record, String> {
        let separator = self.layout.separator;
        let mut said = Said::default();
        let mut rest = Some(if separator == Separator::Blanks { line.trim_ascii() } else { line });
        for index in 0..self.layout.roles.len() {
            let Some(here) = rest else { return Err(self.miscounted(line)) };
            let (field, more) = first(here, separator);
            match self.layout.roles[index] {
                Role::Latency(scale) if field.first() == Some(&b'-') => {
                    let span = decimal(&field[1..], scale);
                    span.ok_or_else(|| wrong(field, "latency"))?;
                    told.negative_latencies += 1;
                }
                role => self.field(role, field, &mut said)?,
            }
            rest = more;
        }
        if rest.is_some() && !self.layout.more {
            return Err(self.miscounted(line));
        }
        match said.kind {
            Some(kind) => Ok(Record::Io(self.io(&said, kind, told)?)),
            None => Ok(Record::Ignored),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_where_they_are_first() {
        for length in 0..40 {
            for at in 0..length {
                // Neighbours of the byte by one bit and by one are not it.
                let mut line: Vec<u8> = (0..length).map(|n| [b'-', b'+', 0xac, 0][n % 4]).collect();
                assert_eq!(find(&line, b','), None);
                line[at] = b',';
                line[length - 1] = b',';
                assert_eq!(find(&line, b','), Some(at), "{line:?}");
            }
        }
    }

    #[test]
    fn quotation_marks_hold_separators() {
        let comma = Separator::Byte(b',');
        assert_eq!(split(b" \"a, b\" ,c", comma), [&b"a, b"[..], b"c"]);
        assert_eq!(split(b"\"a\"\"b\",", comma), [&b"a\"\"b"[..], b""]);
        assert_eq!(split(b"\"open, 2", comma), [&b"open, 2"[..]]);
        assert_eq!(split(b"a \t b  ", Separator::Blanks), [&b"a"[..], b"b"]);
    }
}

//! The table that wpaexporter writes of disks in an event trace of Windows: with a head, separated by semicolons where
//! the machine has decimal commas.
//!
//! `IO Type;Priority;Process (Name);Init Time (s);Complete Time (s);…;Size (B);Min Offset;…;Disk;Count`: seconds such as
//! `1,079943800`, bytes with points between thousands, offsets in bytes as `0x…`, all ones where there is none.

use block::{Bytes, Nanos};

use super::fields::{decimal, hexadecimal, operation, whole};
use super::options::{Options, SpaceRule};
use super::reading::Reading;
use super::records::{Record, Row, Told, quoted};
use super::sample::Sample;
use super::table::{Separator, split};
use crate::{Io, Stamp, TraceError};

/// The columns that are kept, by what their names begin with: operation, process, start, end, size, offset, disk.
const COLUMNS: [&[u8]; 7] = [
    b"IO Type",
    b"Process",
    b"Init Time (s)",
    b"Complete Time (s)",
    b"Size (B)",
    b"Min Offset",
    b"Disk",
];

/// True for the beginning of such a file.
pub fn begins(sample: &Sample) -> bool {
    sample.lines().next().is_some_and(|line| head(line).is_some())
}

/// The places of the columns of which `line` is the head.
fn head(line: &[u8]) -> Option<[usize; 7]> {
    let names = split(line, Separator::Byte(b';'));
    let mut places = [0; 7];
    for (place, wanted) in places.iter_mut().zip(COLUMNS) {
        // `Disk Service Time (µs)` is another column than `Disk`.
        *place = names.iter().position(|name| match wanted {
            b"Disk" => *name == wanted,
            _ => name.starts_with(wanted),
        })?;
    }
    Some(places)
}

/// How the rows of `samples` are read.
///
/// # Errors
/// [`TraceError`] when one has no such head.
pub fn settle(samples: &[Sample], options: &Options) -> Result<Reading, TraceError> {
    if let Some(sample) = samples.iter().find(|sample| !begins(sample)) {
        return Err(TraceError::Unsuited(format!(
            "{}: a table of wpaexporter's begins with a head, `IO Type;…;Init Time (s);Complete Time (s);…`",
            sample.file
        )));
    }
    Ok(Reading {
        source: "wpaexporter".to_owned(),
        settled: vec![
            "times are in s, addresses and lengths in bytes, as the head says".to_owned(),
            "each disk number is an address space of its own".to_owned(),
        ],
        resolution: Nanos(100),
        rule: options.spaces.unwrap_or(SpaceRule::Shared),
        ..Reading::of_rows(Wpa::default)
    })
}

/// A row, under the head.
#[derive(Default)]
struct Wpa {
    places: Option<[usize; 7]>,
    /// Names of tasks, which have no numbers, by the numbers that they are given.
    tasks: Vec<Vec<u8>>,
}

/// Most names of tasks that are kept; I/Os of later ones count for the last of these.
const TASKS_MAX: usize = 1 << 10;

/// A number with points between thousands and a comma before its parts.
fn number(text: &[u8], scale: u64) -> Option<u64> {
    let plain = text.iter().filter(|byte| **byte != b'.');
    let plain: Vec<u8> = plain.map(|byte| if *byte == b',' { b'.' } else { *byte }).collect();
    decimal(&plain, scale)
}

impl Row for Wpa {
    fn read(&mut self, line: &[u8], told: &mut Told) -> Result<Record, String> {
        let Some(places) = self.places else {
            self.places = Some(head(line).ok_or("is not a head of wpaexporter's")?);
            return Ok(Record::Blank);
        };
        let fields = split(line, Separator::Byte(b';'));
        let [op, process, start, end, size, offset, disk] =
            places.map(|place| fields.get(place).copied().unwrap_or_default());
        let wrong = |what: &str, field: &[u8]| format!("{} is not a valid {what}", quoted(field));
        let time = |field| number(field, 1_000_000_000).ok_or_else(|| wrong("time in s", field));
        let (arrival, completed) = (time(start)?, time(end)?);
        let kind = operation(op).ok_or_else(|| wrong("operation", op))?;
        let length = number(size, 1).ok_or_else(|| wrong("size in bytes", size))?;
        let offset = match hexadecimal(offset).ok_or_else(|| wrong("hexadecimal offset", offset))? {
            u64::MAX if length == 0 => 0,
            offset => offset,
        };
        let disk = whole(disk).ok_or_else(|| wrong("disk number", disk))?;
        let space = told.spaces.numbered(disk, "disk")?;
        let known = self.tasks.iter().position(|name| name == process);
        let task = known.unwrap_or_else(|| {
            if self.tasks.len() < TASKS_MAX {
                self.tasks.push(process.to_vec());
            }
            self.tasks.len() - 1
        });
        let pid = u32::try_from(task).unwrap_or(u32::MAX).saturating_add(1);
        if known.is_none() && self.tasks.last().is_some_and(|last| last == process) {
            told.process(pid, process);
        }
        Ok(Record::Io(Io {
            completed: Stamp::at(Nanos(completed)),
            space,
            pid,
            ..Io::arriving(Nanos(arrival), kind, Bytes(offset), Bytes(length))
        }))
    }
}

//! Contents of a table's columns: a map that a user writes, or the names in the table's own head.

use std::fmt;
use std::str::FromStr;

use super::choices::{AddressUnit, ReadFlag, TimeUnit};

/// A column map, as `--columns` has it: `time:us,op,offset:sectors,size:bytes`.
///
/// Each entry is what a column holds, perhaps its unit, and perhaps the column's name in the table's head or its
/// number from 1: `offset:sectors=lba` or `offset:sectors=3`. Without a name or number, entries are the columns in
/// their order; `-` is one that is left out, and columns behind the last entry are too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    text: String,
    entries: Vec<Entry>,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Content of the column.
    pub holds: Holds,
    /// The column.
    pub column: Column,
}

/// Reference to a column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// By its place, from 0.
    Place(usize),
    /// By its name in the head.
    Name(String),
}

/// Content of a column, with its unit where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Nothing that is kept.
    Nothing,
    /// When the I/O arrived.
    Time(Option<TimeUnit>),
    /// When it was issued.
    Issued(Option<TimeUnit>),
    /// When it completed.
    Completed(Option<TimeUnit>),
    /// How long it took.
    Latency(Option<TimeUnit>),
    /// Its operation; of numbers, the one that means a read.
    Op(Option<ReadFlag>),
    /// Its offset.
    Offset(Option<AddressUnit>),
    /// How long it is.
    Length(Option<AddressUnit>),
    /// Its address space, or a part of that one's name.
    Space,
    /// Its task.
    Pid,
    /// Its task's name.
    Process,
    /// Its CPU.
    Cpu,
}

/// Why a column map is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoColumns(String);

impl Columns {
    /// Its entries.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Columns {
    type Err = NoColumns;

    fn from_str(text: &str) -> Result<Columns, NoColumns> {
        let entries: Vec<Entry> = text
            .split(',')
            .enumerate()
            .map(|(place, entry)| Entry::parse(place, entry.trim()))
            .collect::<Result<_, _>>()?;
        let placed = |entry: &Entry| matches!(entry.column, Column::Place(_));
        if text.contains('=') && text.split(',').any(|entry| !entry.contains('=')) {
            return Err(NoColumns(
                "name the column of every entry, such as time:us=ts,op=rw, or of none".to_owned(),
            ));
        }
        let named: Vec<&str> = entries
            .iter()
            .filter_map(|entry| match &entry.column {
                Column::Name(name) => Some(name.as_str()),
                Column::Place(_) => None,
            })
            .collect();
        if !named.is_empty() && entries.iter().any(placed) {
            return Err(NoColumns("columns have names, or numbers, not both".to_owned()));
        }
        check(entries.iter().map(|entry| entry.holds))?;
        Ok(Columns { text: text.to_owned(), entries })
    }
}

/// Refuses a map without what an I/O must have, or with it twice.
fn check(all: impl Iterator<Item = Holds>) -> Result<(), NoColumns> {
    let mut counts = [0; 10];
    for holds in all {
        if let Some(index) = holds.once() {
            counts[index] += 1;
        }
    }
    // An I/O that completed at a time that is known arrived as long before as it took.
    let reckoned = counts[0] == 0 && counts[5] == 1 && counts[9] == 1;
    for (index, word) in ["time", "op", "offset", "size"].into_iter().enumerate() {
        if counts[index] == 0 && !(index == 0 && reckoned) {
            return Err(NoColumns(format!(
                "no column is the {word}; time (or completed and latency), op, offset and size are needed"
            )));
        }
    }
    let ends_twice = counts[5] + counts[9] > 1 && !reckoned;
    match ends_twice || counts.iter().any(|count| *count > 1) {
        true => Err(NoColumns(
            "two columns hold the same; only space may stand more than once".to_owned(),
        )),
        false => Ok(()),
    }
}

impl Entry {
    fn parse(place: usize, text: &str) -> Result<Entry, NoColumns> {
        let (what, column) = match text.split_once('=') {
            None => (text, Column::Place(place)),
            Some((what, name)) => match name.parse::<usize>() {
                Ok(0) => return Err(NoColumns(format!("`{text}`: columns are numbered from 1"))),
                Ok(number @ 1..=1024) => (what, Column::Place(number - 1)),
                Ok(_) => {
                    return Err(NoColumns(format!("`{text}`: no table has that many columns")));
                }
                Err(_) => (what, Column::Name(name.to_owned())),
            },
        };
        let (word, unit) = match what.split_once(':') {
            None => (what, None),
            Some((word, unit)) => (word, Some(unit)),
        };
        Ok(Entry { holds: Holds::parse(word, unit)?, column })
    }
}

impl Holds {
    fn parse(word: &str, unit: Option<&str>) -> Result<Holds, NoColumns> {
        let wrong = |error: &dyn fmt::Display| {
            NoColumns(format!("`{word}:{}`: {error}", unit.unwrap_or_default()))
        };
        let time = || unit.map(TimeUnit::from_str).transpose().map_err(|e| wrong(&e));
        let address = || unit.map(AddressUnit::from_str).transpose().map_err(|e| wrong(&e));
        let plain = |holds| match unit {
            None => Ok(holds),
            Some(_) => Err(wrong(&"has no unit")),
        };
        match word {
            "-" | "skip" => plain(Holds::Nothing),
            "time" => time().map(Holds::Time),
            "issued" => time().map(Holds::Issued),
            "completed" => time().map(Holds::Completed),
            "latency" => time().map(Holds::Latency),
            "op" => {
                let flag = match unit {
                    None => None,
                    Some("0-reads") => Some(ReadFlag::Zero),
                    Some("1-reads") => Some(ReadFlag::One),
                    Some(_) => return Err(wrong(&"write op, op:1-reads or op:0-reads")),
                };
                Ok(Holds::Op(flag))
            }
            "offset" => address().map(Holds::Offset),
            "size" => address().map(Holds::Length),
            "space" => plain(Holds::Space),
            "pid" => plain(Holds::Pid),
            "process" => plain(Holds::Process),
            "cpu" => plain(Holds::Cpu),
            _ => Err(NoColumns(format!(
                "`{word}` is nothing that a column holds: write time, op, offset, size, latency, issued, completed, \
                 space, pid, process, cpu, or - for one that is left out"
            ))),
        }
    }

    /// A number for each thing that a table has in one column only.
    fn once(self) -> Option<usize> {
        Some(match self {
            Holds::Nothing | Holds::Space => return None,
            Holds::Time(_) => 0,
            Holds::Op(_) => 1,
            Holds::Offset(_) => 2,
            Holds::Length(_) => 3,
            Holds::Issued(_) => 4,
            Holds::Completed(_) => 5,
            Holds::Latency(_) => 9,
            Holds::Pid => 6,
            Holds::Process => 7,
            Holds::Cpu => 8,
        })
    }
}

/// Returns the contents of a table's columns by the names in its head; `None` when they lack something that an I/O
/// needs, or have it twice.
pub fn by_head(names: &[&[u8]]) -> Option<Vec<Holds>> {
    let all: Vec<Holds> = names.iter().map(|name| by_name(name)).collect();
    check(all.iter().copied()).ok().map(|()| all)
}

/// Returns the content of the column with this name.
fn by_name(name: &[u8]) -> Holds {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let mut words: Vec<&str> =
        name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let time = words.last().and_then(|last| match *last {
        "ns" | "nsec" | "nanoseconds" | "nanos" => Some(TimeUnit::Nanos),
        "us" | "usec" | "microseconds" | "micros" => Some(TimeUnit::Micros),
        "ms" | "msec" | "milliseconds" | "millis" => Some(TimeUnit::Millis),
        "s" | "sec" | "secs" | "seconds" => Some(TimeUnit::Secs),
        _ => None,
    });
    let address = words.last().and_then(|last| match *last {
        "bytes" | "byte" => Some(AddressUnit::Bytes),
        "sectors" | "sector" => Some(AddressUnit::Sectors),
        _ => None,
    });
    if words.len() > 1 && (time.is_some() || address.is_some()) {
        words.pop();
    }
    match words.concat().as_str() {
        "time" | "timestamp" | "ts" | "arrival" | "arrivaltime" | "at" | "submittime" => {
            Holds::Time(time)
        }
        "issued" | "issuetime" | "issue" => Holds::Issued(time),
        "completed" | "completion" | "completiontime" | "endtime" => Holds::Completed(time),
        "latency" | "responsetime" | "response" | "duration" | "elapsed" | "elapsedtime"
        | "q2c" => Holds::Latency(time),
        "op" | "operation" | "iotype" | "rw" | "opcode" | "opname" | "type" | "kind" => {
            Holds::Op(None)
        }
        "offset" | "address" | "addr" | "lba" | "lbn" | "block" | "blkno" | "start" => {
            Holds::Offset(address)
        }
        "byteoffset" => Holds::Offset(Some(AddressUnit::Bytes)),
        "sector" | "sectornumber" | "startsector" => Holds::Offset(Some(AddressUnit::Sectors)),
        "size" | "length" | "len" | "iosize" | "count" => Holds::Length(address),
        "bytes" | "nbytes" => Holds::Length(Some(AddressUnit::Bytes)),
        "sectors" | "nsectors" | "sectorcount" => Holds::Length(Some(AddressUnit::Sectors)),
        "device" | "dev" | "disk" | "disknumber" | "devno" | "lun" | "asu" | "volume"
        | "volumeid" | "vol" | "host" | "hostname" | "deviceid" | "space" => Holds::Space,
        "pid" | "processid" => Holds::Pid,
        "process" | "processname" | "comm" | "task" => Holds::Process,
        "cpu" | "core" => Holds::Cpu,
        _ => Holds::Nothing,
    }
}

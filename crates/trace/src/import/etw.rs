//! Windows' event traces as text: the production and benchmark traces that Microsoft gave to SNIA IOTTA, and what
//! `xperf -o` writes.
//!
//! A header between `BeginHeader` and `EndHeader` names the columns of each event; then each line is an event. Of those
//! with a disk in them, `DiskRead`, `DiskWrite` and `DiskFlush` are logged at completion: `TimeStamp` is when the I/O
//! completed, `ElapsedTime` how long it took, both in microseconds; `ByteOffset` and `IOSize` are hexadecimal bytes.
//! Source: the README and headers of these traces.

use block::{Bytes, Nanos};

use super::fields::{hexadecimal, whole};
use super::options::{Options, SpaceRule};
use super::reading::Reading;
use super::records::{Record, Row, Told, quoted};
use super::sample::Sample;
use super::table::{Separator, split};
use crate::{Io, Kind, Stamp, TraceError};

/// Lines before `BeginHeader`, at most.
const BEFORE_HEADER: usize = 4;

/// The events that are I/Os.
const EVENTS: [(&[u8], Kind); 3] =
    [(b"DiskRead", Kind::Read), (b"DiskWrite", Kind::Write), (b"DiskFlush", Kind::Flush)];

/// True for the beginning of such a file.
pub fn begins(sample: &Sample) -> bool {
    sample.lines().take(BEFORE_HEADER).any(|line| line.trim_ascii() == b"BeginHeader")
}

/// How the rows of `samples` are read.
///
/// # Errors
/// [`TraceError`] when there is no header.
pub fn settle(samples: &[Sample], options: &Options) -> Result<Reading, TraceError> {
    if let Some(sample) = samples.iter().find(|sample| !begins(sample)) {
        return Err(TraceError::Unsuited(format!(
            "{}: an event trace of Windows' begins with a header between BeginHeader and EndHeader",
            sample.file
        )));
    }
    Ok(Reading {
        source: "ETW".to_owned(),
        settled: vec![
            "times and latencies are in us, addresses and lengths in hexadecimal bytes, as ETW has them".to_owned(),
            "a disk event is logged when it completes: it arrived as long before as it took".to_owned(),
            "each disk number is an address space of its own".to_owned(),
        ],
        resolution: Nanos::micros(1),
        rule: options.spaces.unwrap_or(SpaceRule::Shared),
        ..Reading::of_rows(Etw::default)
    })
}

/// Positions of an event's fields.
#[derive(Clone, Copy, Debug)]
struct Columns {
    time: usize,
    elapsed: usize,
    disk: usize,
    process: Option<usize>,
    /// Of what has a place; a flush has none.
    place: Option<(usize, usize)>,
}

/// Section of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Before,
    Header,
    Events,
}

/// A line.
#[derive(Debug, Default)]
struct Etw {
    part: Part,
    columns: [Option<Columns>; EVENTS.len()],
}

impl Etw {
    /// A line of the header: the names of an event's columns.
    fn header(&mut self, line: &[u8]) {
        let names = split(line, Separator::Byte(b','));
        let Some(event) = EVENTS.iter().position(|(event, _)| names[0] == *event) else { return };
        let find = |wanted: &[u8]| names.iter().position(|name| name.starts_with(wanted));
        self.columns[event] = (|| {
            Some(Columns {
                time: find(b"TimeStamp")?,
                elapsed: find(b"ElapsedTime")?,
                disk: find(b"DiskNum")?,
                process: find(b"Process Name"),
                place: find(b"ByteOffset").zip(find(b"IOSize")),
            })
        })();
    }

    fn event(&self, line: &[u8], told: &mut Told) -> Result<Record, String> {
        let fields = split(line, Separator::Byte(b','));
        let Some(event) = EVENTS.iter().position(|(event, _)| fields[0] == *event) else {
            return Ok(Record::Ignored);
        };
        let name = String::from_utf8_lossy(EVENTS[event].0);
        let columns = self.columns[event]
            .ok_or_else(|| format!("is a {name}, whose columns the header does not name"))?;
        let field = |index: usize| fields.get(index).copied().unwrap_or_default();
        let wrong = |what: &str, index: usize| {
            format!("{} is not a valid {what} of a {name}", quoted(field(index)))
        };
        let us = |index, what| {
            let ns = whole(field(index)).and_then(|us| us.checked_mul(1_000));
            ns.ok_or_else(|| wrong(what, index))
        };
        let (completed, elapsed) =
            (us(columns.time, "time in us")?, us(columns.elapsed, "elapsed time in us")?);
        let Some(arrival) = completed.checked_sub(elapsed) else {
            // It arrived before the trace began, so that what came before it is not known.
            return Ok(Record::Ignored);
        };
        let kind = EVENTS[event].1;
        let (offset, length) = match columns.place {
            Some((offset, length)) => (
                hexadecimal(field(offset)).ok_or_else(|| wrong("hexadecimal offset", offset))?,
                hexadecimal(field(length)).ok_or_else(|| wrong("hexadecimal size", length))?,
            ),
            None if kind.transfers() => {
                return Err(format!("is a {name}, whose place the header does not name"));
            }
            None => (0, 0),
        };
        let disk = whole(field(columns.disk)).ok_or_else(|| wrong("disk number", columns.disk))?;
        let space = told.spaces.numbered(disk, "disk")?;
        let pid = columns.process.and_then(|index| process(field(index), told)).unwrap_or(0);
        let io = Io::arriving(Nanos(arrival), kind, Bytes(offset), Bytes(length));
        Ok(Record::Io(Io { completed: Stamp::at(Nanos(completed)), space, pid, ..io }))
    }
}

/// The number of a task, of `name ( 1234)`.
fn process(field: &[u8], told: &mut Told) -> Option<u32> {
    let open = field.iter().rposition(|byte| *byte == b'(')?;
    let number = field[open + 1..].strip_suffix(b")")?.trim_ascii();
    let pid = whole(number).and_then(|pid| u32::try_from(pid).ok())?;
    told.process(pid, field[..open].trim_ascii());
    Some(pid)
}

impl Row for Etw {
    fn read(&mut self, line: &[u8], told: &mut Told) -> Result<Record, String> {
        match (self.part, line.trim_ascii()) {
            (Part::Before, b"BeginHeader") => self.part = Part::Header,
            (Part::Header, b"EndHeader") => {
                self.part = Part::Events;
                if self.columns.iter().all(Option::is_none) {
                    return Err("ends a header without DiskRead, DiskWrite and DiskFlush: the trace has no I/O \
                                of disks"
                        .to_owned());
                }
            }
            (Part::Before, _) => {}
            (Part::Header, line) => self.header(line),
            (Part::Events, line) => return self.event(line, told),
        }
        Ok(Record::Blank)
    }
}

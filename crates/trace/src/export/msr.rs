//! CSV as the traces of MSR Cambridge have it (SNIA IOTTA, MSR Cambridge Traces, 2007).
//!
//! A line is `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`, without a header: a Windows file time
//! (steps of 100 ns since 1601), names, `Read` or `Write`, bytes, bytes, and steps of 100 ns.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

use super::Exported;
use super::losses::Seen;
use super::text::{self, Lines, Out};
use crate::output::Existing;
use crate::{Io, Kind, Source, TraceError, TraceInfo};

/// The first instant of a trace without a date, in nanoseconds since 1970: 22 February 2007, 00:00 UTC, the day on
/// which the traces that have this format begin.
pub const DEFAULT_ORIGIN_UNIX_NS: i64 = 1_172_102_400 * 1_000_000_000;

/// 1 January 1601, in nanoseconds before 1970.
const FILE_TIME_BEGINS_NS: i128 = 11_644_473_600 * 1_000_000_000;

/// Writes all that comes from `source` to `path`.
///
/// # Errors
/// Those of the source, and when the file cannot be written.
pub fn write(
    source: &mut dyn Source,
    path: &Path,
    existing: Existing,
) -> Result<Exported, TraceError> {
    let mut table = Table::default();
    text::write(&mut table, source, path, existing)?;
    Ok(table.exported(source.info()))
}

#[derive(Default)]
struct Table {
    seen: Seen,
    origin_ns: i128,
    dated: bool,
    /// Hosts and disks, by the number of the space.
    disks: BTreeMap<u32, Rc<str>>,
    renamed: Vec<String>,
    written: u64,
    answered: u64,
}

impl Table {
    fn exported(self, info: &TraceInfo) -> Exported {
        let (left_out, sentence) = self.seen.left_out(Kind::transfers);
        let mut lost: Vec<_> = sentence.into_iter().collect();
        lost.extend(self.seen.coarser(100));
        lost.extend(self.seen.common(info));
        let mut notes = Vec::new();
        if !self.dated {
            notes.push(
                "The trace has no date, so that of MSR's is written: 2007-02-22 00:00 UTC."
                    .to_owned(),
            );
        }
        let unanswered = self.written - self.answered;
        if unanswered > 0 {
            notes.push(format!(
                "{unanswered} I/Os have no known completion; their response time is written as 0."
            ));
        }
        if !self.renamed.is_empty() {
            notes.push(format!("Spaces are called by host and disk: {}.", self.renamed.join("; ")));
        }
        Exported { ios: self.written, left_out, lost, notes }
    }

    /// Host and disk of a space, as two fields.
    fn disk(&mut self, number: u32, info: &TraceInfo) -> Rc<str> {
        if let Some(fields) = self.disks.get(&number) {
            return Rc::clone(fields);
        }
        let space = info.spaces.get(number as usize);
        let name = space.map_or("", |space| space.name.as_str());
        let (mut host, mut disk) = host_and_disk(name, number);
        while self.disks.values().any(|other| **other == *format!("{host},{disk}")) {
            (host, disk) = (format!("{host}_{number}"), number);
        }
        if format!("{host}_{disk}") != name {
            self.renamed.push(format!("`{name}` is {host},{disk}"));
        }
        let fields: Rc<str> = format!("{host},{disk}").into();
        self.disks.insert(number, Rc::clone(&fields));
        fields
    }
}

/// `hm_0` is host `hm`, disk 0; a name without a number at its end is a host with the space's number as disk.
fn host_and_disk(name: &str, number: u32) -> (String, u32) {
    let plain =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | '/');
    let front = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let host = front.strip_suffix(['_', '.', '-', ':', ',', ' ', '/']);
    let disk = name[front.len()..].parse::<u32>().ok();
    let (host, disk) = match (host, disk) {
        (Some(host), Some(disk)) if !host.is_empty() => (host, disk),
        _ => (name, number),
    };
    let host = if host.is_empty() { "space" } else { host };
    let mut host = text::word(host, plain).0;
    // A spreadsheet would take it for a formula.
    if host.starts_with('-') {
        host.replace_range(..1, "_");
    }
    (host, disk)
}

impl Lines for Table {
    fn begin(&mut self, _to: &mut Out, info: &TraceInfo) -> io::Result<()> {
        self.dated = info.origin_unix_ns.is_some();
        let origin = info.origin_unix_ns.unwrap_or(DEFAULT_ORIGIN_UNIX_NS);
        self.origin_ns = i128::from(origin) + FILE_TIME_BEGINS_NS;
        if self.origin_ns < 0 {
            return Err(io::Error::other("the trace is dated before 1601, where file times begin"));
        }
        Ok(())
    }

    fn io(&mut self, to: &mut Out, io: &Io, info: &TraceInfo) -> io::Result<()> {
        self.seen.see(io);
        let kind = match io.kind {
            Kind::Read => "Read",
            Kind::Write => "Write",
            _ => return Ok(()),
        };
        let tick = (self.origin_ns + i128::from(io.arrival.0)) / 100;
        // To the nearest step: a completion in the step of its arrival is not one at once.
        let response = io.q2c().map(|q2c| q2c.0 / 100 + u64::from(q2c.0 % 100 >= 50));
        self.written += 1;
        self.answered += u64::from(response.is_some());
        let (offset, length) = (io.offset.0, io.length.0);
        let response = response.unwrap_or(0);
        let disk = self.disk(io.space, info);
        writeln!(to, "{tick},{disk},{kind},{offset},{length},{response}")
    }

    fn end(&mut self, _to: &mut Out) -> io::Result<()> {
        Ok(())
    }
}

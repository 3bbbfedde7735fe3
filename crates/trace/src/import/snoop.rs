//! Output of tools that watch a machine's I/Os one by one: biosnoop (bcc, libbpf-tools) and iosnoop (perf-tools).
//!
//! ```text
//! TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  LAT(ms)
//! 0.381818    md2_raid1      342    nvme1n1 W 5244936    512       0.61
//! ```
//!
//! A head names the columns, which differ by flags and releases. A row is cut up from both ends, since the name of a task
//! may have blanks in it, and a disk that is not known may be left blank. biosnoop prints a row when the I/O completes,
//! with that time: it was issued `LAT(ms)` before, and waited `QUE(ms)` before that. iosnoop has both times with `-ts`.

use block::{Bytes, Nanos};

use super::evidence;
use super::fields::{decimal, digits_behind_point, operation, rwbs, whole};
use super::options::{Options, SpaceRule};
use super::reading::Reading;
use super::records::{Record, Row, Told, quoted};
use super::sample::Sample;
use crate::{Flags, Io, Space, Stamp, TraceError};

/// Number of first lines in which the head is looked for.
const BEFORE_HEAD: usize = 16;

/// The tool that printed a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// bcc's or libbpf-tools' biosnoop.
    Biosnoop,
    /// perf-tools' iosnoop.
    Iosnoop,
}

/// The tool that printed the file that `sample` is the beginning of; none when it has no such head.
pub fn tool(sample: &Sample) -> Option<Tool> {
    Some(head(sample)?.tool)
}

fn head(sample: &Sample) -> Option<Head> {
    sample.lines().take(BEFORE_HEAD).find_map(Head::of)
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Start,
    End,
    Comm,
    Pid,
    Disk,
    Kind,
    Sector,
    Bytes,
    Queued,
    Latency,
    /// Nothing that is kept.
    Other,
}

/// The columns that a head names.
#[derive(Clone, Debug)]
struct Head {
    tool: Tool,
    columns: Vec<Column>,
    /// The place among them of the name of the task, the only one that may have blanks in it.
    comm: usize,
}

impl Head {
    fn of(line: &[u8]) -> Option<Head> {
        let words: Vec<&[u8]> = words(line).collect();
        let columns: Vec<Column> = words.iter().map(|word| Self::column(word)).collect();
        let has = |column| columns.iter().filter(|one| **one == column).count();
        use Column::{Bytes, Comm, Disk, End, Kind, Latency, Pid, Queued, Sector, Start};
        let needed = [Comm, Pid, Disk, Kind, Sector, Bytes, Latency];
        if needed.into_iter().any(|column| has(column) != 1)
            || [Start, End, Queued].into_iter().any(|column| has(column) > 1)
        {
            return None;
        }
        let tool =
            if words.contains(&b"LATms".as_slice()) { Tool::Iosnoop } else { Tool::Biosnoop };
        if tool == Tool::Biosnoop && has(End) == 0 {
            return None;
        }
        let comm = columns.iter().position(|column| *column == Comm)?;
        Some(Head { tool, columns, comm })
    }

    fn column(word: &[u8]) -> Column {
        match word {
            b"STARTs" => Column::Start,
            b"TIME(s)" | b"ENDs" => Column::End,
            b"COMM" => Column::Comm,
            b"PID" => Column::Pid,
            b"DISK" | b"DEV" => Column::Disk,
            b"T" | b"TYPE" | b"RWFLAGS" | b"T/RWFLAGS" | b"FLAGS" => Column::Kind,
            b"SECTOR" | b"BLOCK" => Column::Sector,
            b"BYTES" => Column::Bytes,
            b"QUE(ms)" => Column::Queued,
            b"LAT(ms)" | b"LATms" => Column::Latency,
            _ => Column::Other,
        }
    }

    /// The field of each column of `line`; blank where its disk is. None when it has too few words.
    fn fields<'a>(&self, line: &'a [u8]) -> Option<Vec<&'a [u8]>> {
        let all: Vec<&[u8]> = words(line).collect();
        let behind = self.columns.len() - self.comm - 1;
        let disk = self.columns.iter().position(|column| *column == Column::Disk)?;
        // The word in the place of the disk is the number of the task, where the disk is blank.
        let from_end = self.columns.len() - disk;
        let here = *all.get(all.len().checked_sub(from_end)?)?;
        let blank =
            disk > self.comm + 1 && self.columns[disk - 1] == Column::Pid && whole(here).is_some();
        let behind_here = behind - usize::from(blank);
        let least = self.comm + 1 + behind_here;
        let last = all.len().checked_sub(behind_here).filter(|_| all.len() >= least)?;
        let mut fields = all[..self.comm].to_vec();
        fields.push(span(line, all[self.comm], all[last - 1]));
        fields.extend(&all[last..]);
        if blank {
            fields.insert(disk, b"");
        }
        Some(fields)
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// The part of `line` from the word `first` to the word `last`, both of which are parts of it.
fn span<'a>(line: &'a [u8], first: &'a [u8], last: &'a [u8]) -> &'a [u8] {
    let at = |word: &[u8]| word.as_ptr().addr() - line.as_ptr().addr();
    line.get(at(first)..at(last) + last.len()).unwrap_or(first)
}

/// How the rows of `samples` are read.
///
/// # Errors
/// [`TraceError`] when one has no head.
pub fn settle(samples: &[Sample], options: &Options) -> Result<Reading, TraceError> {
    if let Some(sample) = samples.iter().find(|sample| head(sample).is_none()) {
        return Err(TraceError::Unsuited(format!(
            "{}: what biosnoop and iosnoop print begins with a head, such as `TIME(s) COMM PID DISK T SECTOR BYTES \
             LAT(ms)`; keep that line in the file",
            sample.file
        )));
    }
    let tools: Vec<Head> = samples.iter().filter_map(head).collect();
    let tool = tools.first().map_or(Tool::Biosnoop, |head| head.tool);
    let timed = |head: &Head| head.columns.iter().any(|c| matches!(c, Column::Start | Column::End));
    let mut settled = Vec::new();
    // An I/O may have begun before the first row's time, from which biosnoop counts.
    let mut before = 0;
    let mut digits = 0;
    for (sample, head) in samples.iter().zip(&tools) {
        for line in sample.lines() {
            let Some(fields) = head.fields(line) else { continue };
            let Ok(times) = Times::of(head, &fields) else { continue };
            before = before.max(times.early());
            for (column, field) in head.columns.iter().zip(&fields) {
                if matches!(column, Column::Start | Column::End) {
                    digits = digits.max(digits_behind_point(field));
                }
            }
        }
    }
    settled.push("addresses are in sectors of 512 bytes, lengths in bytes".to_owned());
    settled.push(match (tool, tools.iter().all(timed)) {
        (Tool::Biosnoop, _) => {
            "times are in s, of the completion: an I/O was issued as long before as its latency, and arrived as long \
             before that as it was queued, where that is there"
                .to_owned()
        }
        (Tool::Iosnoop, true) => {
            "times are in s; where one of start and end is not there, it is reckoned by the latency".to_owned()
        }
        (Tool::Iosnoop, false) => {
            "it has no times, only an order: all I/Os arrive at 0 (iosnoop -ts records times)".to_owned()
        }
    });
    let shift = evidence::set_forward(before, &mut settled);
    Ok(Reading {
        source: match tool {
            Tool::Biosnoop => "biosnoop",
            Tool::Iosnoop => "iosnoop",
        }
        .to_owned(),
        settled,
        resolution: evidence::resolution_of(S, digits),
        rule: options.spaces.unwrap_or(SpaceRule::Shared),
        ..Reading::of_rows(move || Snoop { head: None, shift })
    })
}

const S: u64 = 1_000_000_000;

/// The times of a row.
#[derive(Default)]
struct Times {
    start: Option<u64>,
    end: Option<u64>,
    queued: Option<u64>,
    latency: u64,
}

impl Times {
    fn of(head: &Head, fields: &[&[u8]]) -> Result<Times, String> {
        let mut times = Times::default();
        for (column, field) in head.columns.iter().zip(fields) {
            let time = |scale| decimal(field, scale).ok_or_else(|| wrong("time", field));
            match column {
                Column::Start => times.start = Some(time(S)?),
                Column::End => times.end = Some(time(S)?),
                Column::Queued => times.queued = Some(time(S / 1_000)?),
                Column::Latency => times.latency = time(S / 1_000)?,
                _ => {}
            }
        }
        Ok(times)
    }

    /// How long before 0 the I/O arrived.
    fn early(&self) -> u64 {
        match (self.start, self.end) {
            (None, Some(end)) => {
                self.latency.saturating_add(self.queued.unwrap_or(0)).saturating_sub(end)
            }
            _ => 0,
        }
    }

    /// When it arrived, was issued and completed on a clock that is `shift` ahead; none when the first was before 0.
    fn instants(&self, shift: u64) -> Option<(u64, Option<u64>, u64)> {
        let at = |time: u64| time.checked_add(shift);
        if let Some(start) = self.start {
            let end = self.end.map_or_else(|| start.checked_add(self.latency), Some)?;
            return Some((at(start)?, None, at(end)?));
        }
        let Some(end) = self.end else { return Some((0, None, self.latency)) };
        let end = at(end)?;
        let issued = end.checked_sub(self.latency)?;
        match self.queued {
            Some(queued) => Some((issued.checked_sub(queued)?, Some(issued), end)),
            None => Some((issued, None, end)),
        }
    }
}

fn wrong(what: &str, field: &[u8]) -> String {
    format!("{} is not a valid {what}", quoted(field))
}

/// A row, under the head before it.
struct Snoop {
    head: Option<Head>,
    shift: u64,
}

impl Row for Snoop {
    fn read(&mut self, line: &[u8], told: &mut Told) -> Result<Record, String> {
        if let Some(head) = Head::of(line) {
            self.head = Some(head);
            return Ok(Record::Blank);
        }
        let ends = line.trim_ascii();
        let Some(head) = self.head.as_ref().filter(|_| !ends.starts_with(b"Ending tracing")) else {
            return Ok(Record::Blank);
        };
        let fields = head
            .fields(line)
            .ok_or_else(|| format!("{} has fewer words than the head has columns", quoted(line)))?;
        let field = |wanted| {
            let at = head.columns.iter().position(|column| *column == wanted);
            at.and_then(|at| fields.get(at).copied()).unwrap_or_default()
        };
        let times = Times::of(head, &fields)?;
        let number = |column, what| whole(field(column)).ok_or_else(|| wrong(what, field(column)));
        let offset = number(Column::Sector, "sector")?;
        let offset =
            offset.checked_mul(512).ok_or_else(|| wrong("sector", field(Column::Sector)))?;
        let length = number(Column::Bytes, "length")?;
        let letters = field(Column::Kind);
        let (kind, flags) = rwbs(letters, length)
            .or_else(|| Some((operation(letters)?, Flags::NONE)))
            .ok_or_else(|| wrong("operation", letters))?;
        let pid = number(Column::Pid, "process number")?;
        let pid = u32::try_from(pid).map_err(|_| wrong("process number", field(Column::Pid)))?;
        let Some((arrival, issued, completed)) = times.instants(self.shift) else {
            // It arrived before the clock began, by more than the first of its kind.
            return Ok(Record::Ignored);
        };
        let disk = field(Column::Disk);
        let space = told.spaces.of(disk, || Space {
            name: match disk {
                b"" => "unknown".to_owned(),
                disk => String::from_utf8_lossy(disk).into_owned(),
            },
            ..Space::default()
        })?;
        told.process(pid, field(Column::Comm));
        Ok(Record::Io(Io {
            issued: issued.map_or(Stamp::NONE, |at| Stamp::at(Nanos(at))),
            completed: Stamp::at(Nanos(completed)),
            space,
            pid,
            flags,
            ..Io::arriving(Nanos(arrival), kind, Bytes(offset), Bytes(length))
        }))
    }
}

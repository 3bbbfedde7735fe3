//! VMware's vscsi traces, as CloudPhysics kept them: records of a fixed length, little-endian.
//!
//! | version | bytes | fields |
//! |---|---|---|
//! | 1 | 32 | `u32` number, length, count of scatter-gather elements; `u16` command, version; `u64` block, time |
//! | 2 | 40 | `u16` command, version; `u32` number, length, count; `u64` block, time, response time |
//!
//! The version is in the upper byte of its field, the command is a SCSI operation code, the block counts 512 bytes,
//! lengths are in bytes, times in microseconds. Source: CloudPhysics' record definitions as libCacheSim has them
//! (`vscsi.h`), SCSI operation codes: SBC-4. There is one virtual disk in each file, and nothing in it names it.

use block::{Bytes, Nanos};

use super::compressed::Input;
use super::evidence;
use super::options::{Options, SpaceRule};
use super::reading::Reading;
use super::records::{Record, Records, Told, Trouble};
use super::sample::Sample;
use crate::{Io, Kind, Place, Space, Stamp, TraceError};

/// Version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// 32 bytes, no response times.
    One,
    /// 40 bytes.
    Two,
}

impl Version {
    /// The number in records and in messages.
    const fn number(self) -> u16 {
        match self {
            Version::One => 1,
            Version::Two => 2,
        }
    }

    /// Of a record.
    const fn bytes(self) -> usize {
        match self {
            Version::One => 32,
            Version::Two => 40,
        }
    }
}

/// A record.
#[derive(Clone, Copy, Debug)]
struct Fields {
    version: u16,
    command: u16,
    length: u32,
    block: u64,
    time_us: u64,
    response_us: Option<u64>,
}

fn fields(version: Version, record: &[u8]) -> Option<Fields> {
    let u16_at = |at: usize| Some(u16::from_le_bytes(record.get(at..at + 2)?.try_into().ok()?));
    let u32_at = |at: usize| Some(u32::from_le_bytes(record.get(at..at + 4)?.try_into().ok()?));
    let u64_at = |at: usize| Some(u64::from_le_bytes(record.get(at..at + 8)?.try_into().ok()?));
    Some(match version {
        Version::One => Fields {
            version: u16_at(14)?,
            command: u16_at(12)?,
            length: u32_at(4)?,
            block: u64_at(16)?,
            time_us: u64_at(24)?,
            response_us: None,
        },
        Version::Two => Fields {
            version: u16_at(2)?,
            command: u16_at(0)?,
            length: u32_at(8)?,
            block: u64_at(16)?,
            time_us: u64_at(24)?,
            response_us: Some(u64_at(32)?),
        },
    })
}

/// Returns the kind of a SCSI operation code; `None` for numbers of more than eight bits.
fn kind(command: u16) -> Option<Kind> {
    Some(match command {
        // READ and WRITE of 6, 10, 12, 16 bytes; WRITE AND VERIFY.
        0x08 | 0x28 | 0xa8 | 0x88 => Kind::Read,
        0x0a | 0x2a | 0xaa | 0x8a | 0x2e | 0xae | 0x8e => Kind::Write,
        // SYNCHRONIZE CACHE of 10 and 16 bytes.
        0x35 | 0x91 => Kind::Flush,
        // TEST UNIT READY, INQUIRY, reservations and so on; UNMAP and WRITE SAME too, of which the record
        // does not hold the range.
        0x00..=0xff => Kind::Other,
        _ => return None,
    })
}

/// Returns the version of a file, from its beginning.
pub fn version(sample: &Sample) -> Option<Version> {
    [Version::Two, Version::One].into_iter().find(|version| {
        let mut records = sample.bytes().chunks_exact(version.bytes()).take(64).peekable();
        records.peek().is_some()
            && records.all(|record| {
                fields(*version, record).is_some_and(|fields| {
                    fields.version >> 8 == version.number() && kind(fields.command).is_some()
                })
            })
    })
}

/// How the records of `samples` are read.
///
/// # Errors
/// [`TraceError::Ambiguous`] when lengths are not whole sectors, so that they may count something else.
pub fn settle(samples: &[Sample], options: &Options) -> Result<Reading, TraceError> {
    let file = samples.first().map_or("", |sample| sample.file.as_str());
    let Some(version) = samples.first().and_then(version) else {
        return Err(TraceError::Malformed {
            file: file.to_owned(),
            place: Place::Byte(0),
            reason: "no vscsi record of version 1 or 2 begins there".to_owned(),
        });
    };
    let records = || samples.iter().flat_map(|sample| sample.bytes().chunks_exact(version.bytes()));
    let transfers = || {
        records()
            .filter_map(|record| fields(version, record))
            .filter(|fields| kind(fields.command).is_some_and(Kind::transfers))
    };
    let odd = transfers().filter(|fields| fields.length % 512 != 0).count();
    if odd > 0 && options.format.is_none() {
        return Err(TraceError::Ambiguous {
            file: file.to_owned(),
            question: format!(
                "vscsi traces have lengths in bytes, but {odd} of the first {} are no multiples of 512",
                transfers().count()
            ),
            flag: "--format vscsi where lengths are in bytes nevertheless".to_owned(),
        });
    }
    let number = version.number();
    let first = samples.first().and_then(|sample| fields(version, sample.bytes()));
    let seconds = first.map(|fields| i128::from(fields.time_us / 1_000_000));
    Ok(Reading {
        source: format!("vscsi v{number}"),
        settled: vec![
            format!("version {number}, as the version field of its first records says"),
            match odd {
                0 => "addresses are in blocks of 512 bytes, lengths in bytes, of which all looked at are multiples of 512"
                    .to_owned(),
                _ => format!(
                    "addresses are in blocks of 512 bytes, lengths in bytes, as --format vscsi says, though {odd} of the \
                     first {} are no multiples of 512",
                    transfers().count()
                ),
            },
            "times are in us, as CloudPhysics has them; each file is one virtual disk".to_owned(),
        ],
        resolution: Nanos::micros(1),
        unix_offset: seconds.filter(|seconds| evidence::is_date(*seconds)).map(|_| 0),
        rule: options.spaces.unwrap_or(SpaceRule::PerFile),
        ..Reading::of_records(move |input| Box::new(Vscsi { input, version }))
    })
}

/// The records of a file.
struct Vscsi {
    input: Input,
    version: Version,
}

impl Records for Vscsi {
    fn next(&mut self, told: &mut Told) -> Result<Record, Trouble> {
        let size = self.version.bytes();
        let place = Place::Byte(self.input.position());
        let wrong = |reason: String| Trouble::Record { place, reason };
        let record = self.input.peek(size)?;
        if record.is_empty() {
            return Ok(Record::End);
        }
        let have = record.len();
        let read = fields(self.version, record);
        self.input.take(size);
        let Some(fields) = read else {
            return Err(wrong(format!(
                "{have} bytes are left of a record of {size}: the file is cut off; fetch it again"
            )));
        };
        let number = self.version.number();
        if fields.version >> 8 != number {
            return Err(wrong(format!(
                "a record has version {}, those before have {number}",
                fields.version >> 8
            )));
        }
        let kind = kind(fields.command)
            .ok_or_else(|| wrong(format!("{:#x} is not a SCSI operation code", fields.command)))?;
        if kind == Kind::Other {
            return Ok(Record::Ignored);
        }
        let ns = |us: u64| us.checked_mul(1_000);
        let arrival = ns(fields.time_us)
            .ok_or_else(|| wrong(format!("{} µs is not a time", fields.time_us)))?;
        let completed =
            fields.response_us.map(|us| ns(us).and_then(|span| arrival.checked_add(span)));
        let completed = match completed {
            None => Stamp::NONE,
            Some(Some(at)) => Stamp::at(Nanos(at)),
            Some(None) => return Err(wrong("its response time ends beyond all times".to_owned())),
        };
        let offset = fields
            .block
            .checked_mul(512)
            .ok_or_else(|| wrong(format!("block {} is not an address", fields.block)))?;
        let space = told
            .spaces
            .of(b"", || Space { name: "disk".to_owned(), ..Space::default() })
            .map_err(wrong)?;
        let (offset, length) = if kind == Kind::Flush { (0, 0) } else { (offset, fields.length) };
        let io = Io::arriving(Nanos(arrival), kind, Bytes(offset), Bytes(u64::from(length)));
        Ok(Record::Io(Io { completed, space, ..io }))
    }

    fn place(&self) -> Place {
        Place::Byte(self.input.position())
    }

    fn file(&self) -> &str {
        self.input.name()
    }
}

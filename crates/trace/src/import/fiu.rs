//! FIU's traces: IODedup (homes, mail, web-vm) and SRCMap, which have one form.
//!
//! `time pid process address length type major minor md5`, separated by blanks: nanoseconds from an unknown origin,
//! sectors of 512 bytes, `W` or `R`, and checksums of the content, which we do not keep. The names of processes may
//! have blanks, so a row is read from both ends. Source: the README of the traces at SNIA IOTTA.

use block::trace::DeviceNumber;
use block::{Bytes, Nanos};

use super::evidence;
use super::fields::{decimal, operation, whole};
use super::options::{AddressUnit, Options, SpaceRule, TimeUnit};
use super::reading::Reading;
use super::records::{Record, Row, Told, quoted};
use super::sample::Sample;
use crate::error::both;
use crate::{Io, Space, TraceError};

/// True for a row of this form.
pub fn is_row(line: &[u8]) -> bool {
    Fiu { scale: 1, address: AddressUnit::Sectors }.read(line, &mut Told::default()).is_ok()
}

/// How the rows of `samples` are read.
///
/// # Errors
/// [`TraceError::Ambiguous`] when times or addresses may be in another unit.
pub fn settle(samples: &[Sample], options: &Options) -> Result<Reading, TraceError> {
    let file = samples.first().map_or("", |sample| sample.file.as_str());
    let unit = options.time_unit.unwrap_or(TimeUnit::Nanos);
    let mut settled = vec![match options.time_unit {
        Some(unit) => format!("times are in {unit}, as --time-unit says"),
        None => "times are in ns, as FIU has them".to_owned(),
    }];
    let rows = || samples.iter().flat_map(Sample::lines).filter_map(parts);
    let times = rows().filter_map(|row| decimal(row.time, unit.nanos().0));
    let rate = evidence::plausible_rate(file, times, unit, options);
    let places = rows().filter_map(|row| Some((whole(row.address)?, whole(row.length)?)));
    let address = evidence::sectors_by_format(file, places, options, &mut settled);
    let ((), address) = both(rate, address)?;
    settled.push("each major and minor number is an address space of its own".to_owned());
    let row = Fiu { scale: unit.nanos().0, address };
    Ok(Reading {
        source: "FIU".to_owned(),
        settled,
        resolution: unit.nanos(),
        rule: options.spaces.unwrap_or(SpaceRule::Shared),
        ..Reading::of_rows(move || row)
    })
}

/// The fields of a row.
struct Parts<'a> {
    time: &'a [u8],
    pid: &'a [u8],
    process: &'a [u8],
    address: &'a [u8],
    length: &'a [u8],
    kind: &'a [u8],
    major: &'a [u8],
    minor: &'a [u8],
}

/// Cuts `line` up from both ends: two words before the process's name, six behind it.
fn parts(line: &[u8]) -> Option<Parts<'_>> {
    let line = line.trim_ascii();
    let from_front = |text: &'_ [u8]| text.iter().position(u8::is_ascii_whitespace);
    let (time, rest) = line.split_at(from_front(line)?);
    let rest = rest.trim_ascii_start();
    let (pid, mut rest) = rest.split_at(from_front(rest)?);
    let mut last = [&[][..]; 6];
    for place in last.iter_mut().rev() {
        let at = rest.iter().rposition(u8::is_ascii_whitespace)?;
        *place = &rest[at + 1..];
        rest = rest[..at].trim_ascii_end();
    }
    let [address, length, kind, major, minor, _] = last;
    Some(Parts { time, pid, process: rest.trim_ascii(), address, length, kind, major, minor })
}

/// A row.
#[derive(Clone, Copy)]
struct Fiu {
    scale: u64,
    address: AddressUnit,
}

impl Row for Fiu {
    fn read(&mut self, line: &[u8], told: &mut Told) -> Result<Record, String> {
        let form = "a row is `time pid process address length type major minor md5`";
        let row = parts(line).ok_or_else(|| format!("has fewer than 9 words; {form}"))?;
        let wrong =
            |what: &str, field: &[u8]| format!("{} is not a valid {what}; {form}", quoted(field));
        let arrival = decimal(row.time, self.scale).ok_or_else(|| wrong("time", row.time))?;
        let small = |field| whole(field).and_then(|n| u32::try_from(n).ok());
        let pid = small(row.pid).ok_or_else(|| wrong("process number", row.pid))?;
        let offset = self.address.of(row.address).ok_or_else(|| wrong("address", row.address))?;
        let length = self.address.of(row.length).ok_or_else(|| wrong("length", row.length))?;
        let kind = operation(row.kind).ok_or_else(|| wrong("type", row.kind))?;
        let major = small(row.major).ok_or_else(|| wrong("major number", row.major))?;
        let minor = small(row.minor).ok_or_else(|| wrong("minor number", row.minor))?;
        let key = (u64::from(major) << 32 | u64::from(minor)).to_le_bytes();
        let space = told.spaces.of(&key, || Space {
            name: format!("{major},{minor}"),
            device: Some(DeviceNumber::new(major, minor)),
            ..Space::default()
        })?;
        told.process(pid, row.process);
        Ok(Record::Io(Io {
            space,
            pid,
            ..Io::arriving(Nanos(arrival), kind, Bytes(offset), Bytes(length))
        }))
    }
}

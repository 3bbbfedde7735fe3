//! fio's I/O logs (`write_iolog`), version 2 and 3.
//!
//! The first line gives the version. Each other line has a file, an action, and for I/Os an offset and a length in
//! bytes; in version 3 microseconds since the start come before them. Source: fio's manual, "Trace file format", and
//! fio 3.33 itself.
//!
//! Version 2 has no times but those of its `wait` actions, and about these fio and its manual differ. The manual: wait
//! N microseconds after the wait before. fio since 2008 (`read_iolog_get`): wait until N milliseconds since the start
//! have passed. The waits show the meaning of a log: those of the manual go up and down, or are all alike, and those of
//! fio only ever go up.

use block::{Bytes, Nanos};

use super::fields::{Fields, whole};
use super::options::{Options, SpaceRule, TimeUnit};
use super::reading::Reading;
use super::records::{Record, Row, Told, quoted};
use super::sample::Sample;
use crate::{Io, Kind, Space, TraceError};

/// Waits that must all be longer than the one before to be taken for times since the start.
const RISING_MIN: usize = 16;

/// The version that the first line says.
pub fn version(sample: &Sample) -> Option<u8> {
    match sample.lines().next().map(<[u8]>::trim_ascii) {
        Some(b"fio version 2 iolog") => Some(2),
        Some(b"fio version 3 iolog") => Some(3),
        _ => None,
    }
}

/// Meaning of the waits of version 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waits {
    /// Microseconds since the wait before.
    SinceLast,
    /// Milliseconds since the start.
    SinceStart,
}

/// How the lines of `samples` are read.
///
/// # Errors
/// [`TraceError::Ambiguous`] when waits can be meant in both ways.
pub fn settle(samples: &[Sample], options: &Options) -> Result<Reading, TraceError> {
    let mut settled = Vec::new();
    let mut of_files = samples.iter().map(|sample| (sample, version(sample)));
    let Some((first, Some(version))) = of_files.next() else {
        return Err(TraceError::Unsuited(
            "a log of fio's begins with `fio version 2 iolog` or `fio version 3 iolog`".to_owned(),
        ));
    };
    if let Some((other, _)) = of_files.find(|(_, other)| *other != Some(version)) {
        return Err(TraceError::Unsuited(format!(
            "{} is not version {version} of fio's log, as {} is; import them one by one",
            other.file, first.file
        )));
    }
    if version == 3 && options.time_unit.is_some() {
        return Err(TraceError::Unsuited(
            "--time-unit is of no use for version 3 of fio's log, which has us; leave it out"
                .to_owned(),
        ));
    }
    let waits = if version == 2 {
        waits(first, samples, options, &mut settled)?
    } else {
        settled.push("times are in us since the start, as fio has them in version 3".to_owned());
        Waits::SinceStart
    };
    settled.push(
        "each file is an address space of its own; addresses and lengths are in bytes".to_owned(),
    );
    let resolution = if version == 2 && waits == Waits::SinceStart {
        Nanos::millis(1)
    } else {
        Nanos::micros(1)
    };
    Ok(Reading {
        source: format!("fio iolog v{version}"),
        settled,
        resolution,
        rule: options.spaces.unwrap_or(SpaceRule::Shared),
        ..Reading::of_rows(move || Fio { version, waits, now: 0, headed: false })
    })
}

/// Determines the meaning of the waits of version 2.
fn waits(
    first: &Sample,
    samples: &[Sample],
    options: &Options,
    settled: &mut Vec<String>,
) -> Result<Waits, TraceError> {
    match options.time_unit {
        Some(TimeUnit::Micros) => {
            settled
                .push("waits are in us since the wait before, as --time-unit us says".to_owned());
            return Ok(Waits::SinceLast);
        }
        Some(TimeUnit::Millis) => {
            settled.push("waits are in ms since the start, as --time-unit ms says".to_owned());
            return Ok(Waits::SinceStart);
        }
        Some(other) => {
            return Err(TraceError::Unsuited(format!(
                "--time-unit {other} is none of fio's: say us for waits after each other, ms for waits since the start"
            )));
        }
        None => {}
    }
    let mut count = 0;
    let (mut rising, mut falling, mut even) = (0usize, 0usize, 0usize);
    for sample in samples {
        let mut last = None;
        for wait in sample.lines().filter_map(wait_of) {
            count += 1;
            match last.map(|last: u64| wait.cmp(&last)) {
                Some(std::cmp::Ordering::Greater) => rising += 1,
                Some(std::cmp::Ordering::Less) => falling += 1,
                Some(std::cmp::Ordering::Equal) => even += 1,
                None => {}
            }
            last = Some(wait);
        }
    }
    if count == 0 {
        settled.push(
            "the log has no times: all I/Os arrive at 0, in the order of the log; replay it afap"
                .to_owned(),
        );
        return Ok(Waits::SinceLast);
    }
    if falling > 0 || (even > 0 && rising == 0) {
        settled.push(format!(
            "waits are in us since the wait before, as fio's manual has them, since of {count} waits {falling} are \
             shorter than the one before and {even} as long, which times since the start are not"
        ));
        return Ok(Waits::SinceLast);
    }
    if rising >= RISING_MIN {
        settled.push(format!(
            "waits are in ms since the start, as fio itself reads them, since none of {count} waits is shorter than \
             the one before"
        ));
        return Ok(Waits::SinceStart);
    }
    Err(TraceError::Ambiguous {
        file: first.file.clone(),
        question: format!(
            "its {count} waits may be microseconds since the wait before, as fio's manual has them, or milliseconds \
             since the start, as fio itself reads them"
        ),
        flag: "--time-unit us (since the wait before) or --time-unit ms (since the start)"
            .to_owned(),
    })
}

fn wait_of(line: &[u8]) -> Option<u64> {
    let fields = Fields::<3>::words(line);
    (fields.get()[1] == b"wait").then(|| whole(fields.get()[2])).flatten()
}

/// A line of a log.
struct Fio {
    version: u8,
    waits: Waits,
    /// Time of the last line.
    now: u64,
    headed: bool,
}

impl Fio {
    /// A wait of version 2.
    fn wait(&mut self, field: &[u8]) -> Result<Record, String> {
        let beyond = || format!("{} waits beyond all times", quoted(field));
        let span =
            whole(field).ok_or_else(|| format!("{} is not a time to wait", quoted(field)))?;
        self.now = match self.waits {
            Waits::SinceLast => span
                .checked_mul(1_000)
                .and_then(|ns| ns.checked_add(self.now))
                .ok_or_else(beyond)?,
            // A time in the past does not set the clock back.
            Waits::SinceStart => span.checked_mul(1_000_000).ok_or_else(beyond)?.max(self.now),
        };
        Ok(Record::Blank)
    }

    fn io(&self, fields: &[&[u8]; 5], told: &mut Told) -> Result<Record, String> {
        let [file, action, offset, length] = match self.version {
            3 => [fields[1], fields[2], fields[3], fields[4]],
            _ => [fields[0], fields[1], fields[2], fields[3]],
        };
        let kind = match action {
            b"read" => Kind::Read,
            b"write" => Kind::Write,
            b"trim" => Kind::Discard,
            b"sync" | b"datasync" | b"syncfs" | b"sync_file_range" => Kind::Flush,
            _ => {
                return Err(format!(
                    "{} is not an action: write read, write, trim, sync or datasync",
                    quoted(action)
                ));
            }
        };
        let number = |field: &[u8], what| {
            whole(field).ok_or_else(|| format!("{} is not a valid {what} in bytes", quoted(field)))
        };
        let (mut offset, mut length) = (number(offset, "offset")?, number(length, "length")?);
        if kind == Kind::Flush {
            // fio writes where the I/O before was; a flush has no place.
            (offset, length) = (0, 0);
        }
        let space = told.spaces.of(file, || Space {
            name: String::from_utf8_lossy(file).into_owned(),
            ..Space::default()
        })?;
        Ok(Record::Io(Io {
            space,
            ..Io::arriving(Nanos(self.now), kind, Bytes(offset), Bytes(length))
        }))
    }
}

impl Row for Fio {
    fn read(&mut self, line: &[u8], told: &mut Told) -> Result<Record, String> {
        if !self.headed {
            self.headed = true;
            if line.starts_with(b"fio version ") {
                return Ok(Record::Blank);
            }
        }
        let fields = Fields::<5>::words(line);
        let words = fields.get();
        if self.version == 3 {
            let time = whole(words[0]).and_then(|us| us.checked_mul(1_000));
            self.now = time.ok_or_else(|| format!("{} is not a time in us", quoted(words[0])))?;
        }
        let timed = usize::from(self.version == 3);
        match (fields.count() - timed.min(fields.count()), words[timed + 1]) {
            (2, b"add" | b"open" | b"close" | b"unlink" | b"stat") => Ok(Record::Blank),
            (3 | 4, b"wait") if self.version == 2 => self.wait(words[2]),
            (4, _) => self.io(words, told),
            (count, _) => Err(format!(
                "has {} words; a line is `{}filename action offset length`, or without the last two for a file",
                count + timed,
                if timed == 1 { "timestamp " } else { "" }
            )),
        }
    }
}

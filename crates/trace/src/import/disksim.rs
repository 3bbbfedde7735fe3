//! DiskSim, SSDSim and MQSim: one row of five words, three meanings.
//!
//! `time device address length type`, separated by blanks. Addresses and lengths are in sectors of 512 bytes, and each
//! device is an address space. They differ in what a time counts and which number is a read:
//!
//! | | time | type |
//! |---|---|---|
//! | DiskSim (`disksim_iotrace.c`) | milliseconds, with a point | hexadecimal flags, bit 0 set for a read |
//! | MQSim (`ASCII_Trace_Definition.h`) | nanoseconds, unless its workload file says otherwise | 1 read, 0 write |
//! | SSDSim | nanoseconds | 1 read, 0 write; variants turn it round |
//!
//! A time with a point is DiskSim's, since the others read whole numbers only. A file of whole numbers says
//! nothing about who wrote it, and so not which number is a read. What the I/Os do does not decide it either:
//! sequential runs, and places touched again, are found among reads and among writes, depending on the load and on
//! the cache above it.

use block::{Bytes, Nanos};

use super::evidence;
use super::fields::{Fields, decimal, digits_behind_point, hexadecimal, whole};
use super::options::{AddressUnit, Format, Options, ReadFlag, TimeUnit};
use super::reading::Reading;
use super::records::{Record, Row, Told, quoted};
use super::sample::Sample;
use crate::error::both;
use crate::{Io, Kind, TraceError};

/// True for a line of five words, of which the first is a time and the others are numbers.
pub fn is_row(line: &[u8]) -> bool {
    let fields = Fields::<5>::words(line);
    let [time, device, address, length, kind] = *fields.get();
    fields.count() == 5
        && decimal(time, 1).is_some()
        && [device, address, length].iter().all(|field| whole(field).is_some())
        && hexadecimal(kind).is_some()
}

/// How the rows of `samples` are to be read.
///
/// # Errors
/// [`TraceError::Ambiguous`] when nothing says which number is a read.
pub fn settle(samples: &[Sample], options: &Options) -> Result<Reading, TraceError> {
    let file = samples.first().map_or("", |sample| sample.file.as_str());
    let rows = || {
        samples.iter().flat_map(Sample::lines).filter(|line| is_row(line)).map(Fields::<5>::words)
    };
    let digits = rows().map(|row| digits_behind_point(row.get()[0])).max().unwrap_or(0);
    let mut settled = Vec::new();
    let read = read_flag(file, options, digits, &mut settled);
    let unit = time_unit(options, digits, &mut settled);
    let times = rows().filter_map(|row| decimal(row.get()[0], unit.nanos().0));
    let rate = evidence::plausible_rate(file, times, unit, options);
    let places = rows().filter_map(|row| Some((whole(row.get()[2])?, whole(row.get()[3])?)));
    let address = evidence::sectors_by_format(file, places, options, &mut settled);
    let rule = evidence::spaces(file, samples.len(), options, "device", &mut settled);
    let ((read, ()), (address, rule)) = both(both(read, rate), both(address, rule))?;
    let row = DiskSim { scale: unit.nanos().0, read, address };
    Ok(Reading {
        source: source(options, digits).to_owned(),
        resolution: evidence::resolution(unit, digits),
        rule,
        settled,
        ..Reading::of_rows(move || row)
    })
}

fn source(options: &Options, digits: usize) -> &'static str {
    match options.format {
        Some(Format::DiskSim) => "DiskSim",
        Some(Format::SsdSim) => "SSDSim",
        Some(Format::MqSim) => "MQSim",
        _ if digits > 0 => "DiskSim",
        _ => "SSDSim or MQSim",
    }
}

fn time_unit(options: &Options, digits: usize, settled: &mut Vec<String>) -> TimeUnit {
    let (unit, why) = match (options.time_unit, options.format) {
        (Some(unit), _) => (unit, "as --time-unit says"),
        (None, Some(Format::DiskSim)) => (TimeUnit::Millis, "as DiskSim has them"),
        (None, Some(Format::MqSim)) => {
            (TimeUnit::Nanos, "as MQSim has them unless its workload file says otherwise")
        }
        (None, Some(Format::SsdSim)) => (TimeUnit::Nanos, "as SSDSim has them"),
        (None, _) if digits > 0 => {
            (TimeUnit::Millis, "since they have a point, which only DiskSim's have")
        }
        (None, _) => {
            (TimeUnit::Nanos, "since they are whole numbers, which SSDSim's and MQSim's are")
        }
    };
    settled.push(format!("times are in {unit}, {why}"));
    unit
}

fn read_flag(
    file: &str,
    options: &Options,
    digits: usize,
    settled: &mut Vec<String>,
) -> Result<ReadFlag, TraceError> {
    let (flag, why) = match (options.read_flag, options.format) {
        (Some(flag), _) => (flag, "as --read-flag says"),
        (None, Some(Format::DiskSim)) => (ReadFlag::One, "as DiskSim has it"),
        (None, Some(Format::MqSim)) => (ReadFlag::One, "as MQSim has it"),
        (None, None) if digits > 0 => {
            (ReadFlag::One, "as DiskSim has it, the only one whose times have a point")
        }
        (None, format) => {
            let whose = match format {
                Some(Format::SsdSim) => "SSDSim has 1 for a read, variants of it have 0",
                _ => "DiskSim and MQSim have 1 for a read, variants of SSDSim have 0",
            };
            return Err(TraceError::Ambiguous {
                file: file.to_owned(),
                question: format!(
                    "which of 0 and 1 is a read is not known: {whose}, and nothing in the file says whose it is"
                ),
                flag: "--read-flag 1 or --read-flag 0, or --format mqsim where it is MQSim's"
                    .to_owned(),
            });
        }
    };
    settled.push(format!("{flag} is a read, {why}"));
    Ok(flag)
}

/// A row of the family.
#[derive(Clone, Copy)]
struct DiskSim {
    scale: u64,
    read: ReadFlag,
    address: AddressUnit,
}

impl Row for DiskSim {
    fn read(&mut self, line: &[u8], told: &mut Told) -> Result<Record, String> {
        let fields = Fields::<5>::words(line);
        if fields.count() != 5 {
            return Err(format!(
                "has {} words; a row is `time device address length type`",
                fields.count()
            ));
        }
        let [time, device, address, length, kind] = *fields.get();
        let wrong = |what: &str, field: &[u8]| format!("{} is not a valid {what}", quoted(field));
        let arrival = decimal(time, self.scale).ok_or_else(|| wrong("time", time))?;
        let device = whole(device).ok_or_else(|| wrong("device number", device))?;
        let offset = self.address.of(address).ok_or_else(|| wrong("address", address))?;
        let length = self.address.of(length).ok_or_else(|| wrong("length", length))?;
        // DiskSim has other flags in higher bits.
        let bit = hexadecimal(kind).ok_or_else(|| wrong("type; write 0 or 1", kind))? & 1;
        let kind =
            if (bit == 1) == (self.read == ReadFlag::One) { Kind::Read } else { Kind::Write };
        let space = told.spaces.numbered(device, "device")?;
        Ok(Record::Io(Io {
            space,
            ..Io::arriving(Nanos(arrival), kind, Bytes(offset), Bytes(length))
        }))
    }
}

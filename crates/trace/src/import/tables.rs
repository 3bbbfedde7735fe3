//! Published formats that are tables without a word on their columns: what each column holds is the format's.
//!
//! | format | row | time | address, length |
//! |---|---|---|---|
//! | SPC | `ASU,LBA,Size,Opcode,Timestamp` and more | seconds with a point, from 0 | sectors, bytes |
//! | MSR Cambridge | `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime` | FILETIME | bytes |
//! | SYSTOR '17 | `Timestamp,Response,IOType,LUN,Offset,Size` | seconds since 1970 | bytes |
//! | Alibaba | `device_id,opcode,offset,length,timestamp` | microseconds since 1970 | bytes |
//! | Tencent | `Timestamp,Offset,Size,IOType,VolumeID` | whole seconds since 1970 | sectors |
//! | K5cloud | `ID,Timestamp,Type,Offset,Length` | seconds since the first | bytes |
//!
//! Sources: the specification of SPC-1 traces with the UMass repository, and the README of each of the others where it
//! is published (SNIA IOTTA, Alibaba's and Tencent's repositories).

use block::Nanos;

use super::evidence::{self, FILETIME_TO_UNIX_S};
use super::fields::{decimal, digits_behind_point};
use super::ops::Ops;
use super::options::{Format, Options, ReadFlag, SpaceRule, TimeUnit};
use super::reading::Reading;
use super::records::is_head;
use super::sample::Sample;
use super::table::{Layout, Op, Role, Separator, Table, split};
use crate::TraceError;
use crate::error::both;

/// Properties of a published format.
pub struct Published {
    /// The format.
    pub format: Format,
    name: &'static str,
    form: &'static str,
    roles: &'static [Role],
    /// More columns may follow.
    more: bool,
    space: &'static str,
    time: TimeUnit,
    clock: Clock,
    /// Finer steps than this are none, however many digits there are.
    finest: Nanos,
    /// The address spaces of two files that have one name are one.
    shared: bool,
    says: &'static [&'static str],
}

/// Origin of the times.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    /// The beginning of the trace, so that there is a point in them.
    Beginning,
    /// 1970.
    Unix,
    /// 1601.
    FileTime,
}

const S: u64 = 1_000_000_000;

/// All of them.
pub const PUBLISHED: [Published; 6] = [
    Published {
        format: Format::Spc,
        name: "SPC",
        form: "ASU,LBA,Size,Opcode,Timestamp",
        roles: &[
            Role::Space,
            Role::Offset(512),
            Role::Length(1),
            Role::Op(Op::Word),
            Role::Time(S),
        ],
        more: true,
        space: "ASU",
        time: TimeUnit::Secs,
        clock: Clock::Beginning,
        finest: Nanos(1),
        shared: false,
        says: &["addresses are in sectors of 512 bytes and lengths in bytes, as SPC has them"],
    },
    Published {
        format: Format::Msr,
        name: "MSR Cambridge",
        form: "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
        roles: &[
            Role::Time(100),
            Role::Space,
            Role::Space,
            Role::Op(Op::Word),
            Role::Offset(1),
            Role::Length(1),
            Role::Latency(100),
        ],
        more: false,
        space: "",
        time: TimeUnit::FileTime,
        clock: Clock::FileTime,
        finest: Nanos(100),
        shared: true,
        says: &[
            "addresses and lengths are in bytes, response times in ticks of 100 ns, as MSR Cambridge has them",
        ],
    },
    Published {
        format: Format::Systor,
        name: "SYSTOR '17",
        form: "Timestamp,Response,IOType,LUN,Offset,Size",
        roles: &[
            Role::Time(S),
            Role::Latency(S),
            Role::Op(Op::WordOrNothing),
            Role::Space,
            Role::Offset(1),
            Role::Length(1),
        ],
        more: false,
        space: "LUN",
        time: TimeUnit::Secs,
        clock: Clock::Unix,
        finest: Nanos(1_000),
        shared: true,
        says: &[
            "addresses and lengths are in bytes, times accurate to the microsecond, as its README says",
            "rows without a type had no response, and are counted as ignored",
        ],
    },
    Published {
        format: Format::Alibaba,
        name: "Alibaba",
        form: "device_id,opcode,offset,length,timestamp",
        roles: &[
            Role::Space,
            Role::Op(Op::Word),
            Role::Offset(1),
            Role::Length(1),
            Role::Time(1_000),
        ],
        more: false,
        space: "device",
        time: TimeUnit::Micros,
        clock: Clock::Unix,
        finest: Nanos(1_000),
        shared: true,
        says: &["addresses and lengths are in bytes, as Alibaba's README says"],
    },
    Published {
        format: Format::Tencent,
        name: "Tencent CBS",
        form: "Timestamp,Offset,Size,IOType,VolumeID",
        roles: &[
            Role::Time(S),
            Role::Offset(512),
            Role::Length(512),
            Role::Op(Op::Flag(ReadFlag::Zero)),
            Role::Space,
        ],
        more: false,
        space: "volume",
        time: TimeUnit::Secs,
        clock: Clock::Unix,
        finest: Nanos(S),
        shared: true,
        says: &[
            "addresses and lengths are in sectors of 512 bytes, and 0 is a read, as Tencent's README says",
            "times are whole seconds: the I/Os of a second are spread over it evenly, in the order of the file",
        ],
    },
    Published {
        format: Format::K5cloud,
        name: "K5cloud",
        form: "ID,Timestamp,Type,Offset,Length",
        roles: &[Role::Space, Role::Time(S), Role::Op(Op::Word), Role::Offset(1), Role::Length(1)],
        more: false,
        space: "volume",
        time: TimeUnit::Secs,
        clock: Clock::Beginning,
        finest: Nanos(1),
        shared: true,
        says: &["addresses and lengths are in bytes, as K5cloud's README says"],
    },
];

impl Published {
    fn table(&self, unit: TimeUnit) -> Table {
        let roles = self.roles.iter().map(|role| match role {
            Role::Time(_) => Role::Time(unit.nanos().0),
            role => *role,
        });
        Table::new(Layout {
            form: self.form.to_owned(),
            separator: Separator::Byte(b','),
            roles: roles.collect(),
            more: self.more,
            space: self.space,
            dates: false,
            shift: 0,
            ops: Ops::default(),
        })
    }

    fn is_own_head(&self, head: &[u8]) -> bool {
        let names = split(head, Separator::Byte(b','));
        self.form.split(',').enumerate().all(|(index, own)| {
            names.get(index).is_some_and(|name| name.eq_ignore_ascii_case(own.as_bytes()))
        })
    }

    fn time_column(&self) -> usize {
        self.roles.iter().position(|role| matches!(role, Role::Time(_))).unwrap_or(0)
    }

    /// True when the rows of `sample` have this form, and their times are of this clock as far as that shows.
    pub fn fits(&self, sample: &Sample) -> bool {
        // A head with other names says that it is another table, however its rows look.
        let head = sample.lines().next().filter(|line| is_head(line));
        if head.is_some_and(|head| !self.is_own_head(head)) {
            return false;
        }
        let mut table = self.table(self.time);
        let column = self.time_column();
        sample.mostly(|line| {
            // Five whole numbers do not identify the format; a date among them makes it Tencent's.
            let dated = || self.plausible(split(line, Separator::Byte(b','))[column], self.time);
            table.fits(line) && (self.format != Format::Tencent || dated())
        })
    }

    /// True when a time in `unit` can be one of this clock: a date within living memory, or one with a point.
    fn plausible(&self, time: &[u8], unit: TimeUnit) -> bool {
        let seconds = decimal(time, unit.nanos().0).map(|ns| i128::from(ns / S));
        match self.clock {
            Clock::Beginning => true,
            Clock::Unix => seconds.is_some_and(evidence::is_date),
            Clock::FileTime => seconds.is_some_and(|s| evidence::is_date(s - FILETIME_TO_UNIX_S)),
        }
    }

    /// How the rows of `samples` are read.
    ///
    /// # Errors
    /// [`TraceError::Ambiguous`] when times could be in another unit, or address spaces one or several.
    pub fn settle(&self, samples: &[Sample], options: &Options) -> Result<Reading, TraceError> {
        let file = samples.first().map_or("", |sample| sample.file.as_str());
        let unit = options.time_unit.unwrap_or(self.time);
        let table = self.table(unit);
        let column = self.time_column();
        let mut row = table.clone();
        let times: Vec<&[u8]> = samples
            .iter()
            .flat_map(Sample::lines)
            .filter(|line| row.fits(line))
            .map(|line| split(line, Separator::Byte(b','))[column])
            .collect();
        let digits = times.iter().map(|time| digits_behind_point(time)).max().unwrap_or(0);
        let time = self.time_settled(file, &times, digits, unit, options).and_then(|time| {
            let ns = times.iter().filter_map(|time| decimal(time, unit.nanos().0));
            evidence::plausible_rate(file, ns, unit, options).map(|()| time)
        });
        let mut of_spaces = Vec::new();
        let rule = if self.shared {
            Ok(options.spaces.unwrap_or(SpaceRule::Shared))
        } else {
            evidence::spaces(file, samples.len(), options, self.space, &mut of_spaces)
        };
        let (time, rule) = both(time, rule)?;
        let says = self.says.iter().map(|&says| says.to_owned());
        let settled = std::iter::once(time).chain(says).chain(of_spaces).collect();
        // One row that is damaged does not make a clock finer.
        let whole = times.iter().filter(|time| digits_behind_point(time) == 0).count();
        let resolution = evidence::resolution(unit, digits).max(self.finest.min(unit.nanos()));
        Ok(Reading {
            source: self.name.to_owned(),
            settled,
            resolution,
            rule,
            unix_offset: self.unix_offset(&times, unit),
            spread: (self.format == Format::Tencent && 2 * whole > times.len()).then_some(Nanos(S)),
            ..Reading::of_rows(move || table.clone())
        })
    }

    fn time_settled(
        &self,
        file: &str,
        times: &[&[u8]],
        digits: usize,
        unit: TimeUnit,
        options: &Options,
    ) -> Result<String, TraceError> {
        if options.time_unit.is_some() {
            return Ok(format!("times are in {unit}, as --time-unit says"));
        }
        let from = match self.clock {
            Clock::Beginning if digits > 0 => "have a point, as seconds do",
            Clock::Beginning => "",
            Clock::Unix => "are dates so",
            Clock::FileTime => "are dates so, counted from 1601",
        };
        // One row in ten may be damaged.
        let plausible = times.iter().filter(|time| self.plausible(time, unit)).count();
        if !from.is_empty() && 10 * plausible >= 9 * times.len() {
            return Ok(format!(
                "times are in {unit}, as {} has them; those looked at {from}",
                self.name
            ));
        }
        if options.format.is_some() {
            return Ok(format!("times are in {unit}, as {} has them", self.name));
        }
        let example = times.first().map_or(String::new(), |time| super::records::quoted(time));
        Err(TraceError::Ambiguous {
            file: file.to_owned(),
            question: format!(
                "{} has times in {unit}, and times such as {example} may count something else",
                self.name
            ),
            flag: format!(
                "--time-unit s, ms, us, 100ns or ns, or --format {} where it is so",
                self.format
            ),
        })
    }

    /// Dates are dates only as long as they look like it: some publish them counted from the first.
    fn unix_offset(&self, times: &[&[u8]], unit: TimeUnit) -> Option<i128> {
        let is = times.first().is_some_and(|time| self.plausible(time, unit));
        match self.clock {
            Clock::Unix if is => Some(0),
            Clock::FileTime if is => Some(-FILETIME_TO_UNIX_S * i128::from(S)),
            _ => None,
        }
    }
}

/// The one that is `format`.
pub fn published(format: Format) -> Option<&'static Published> {
    PUBLISHED.iter().find(|one| one.format == format)
}

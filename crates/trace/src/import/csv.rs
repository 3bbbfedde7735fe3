//! Tables whose columns are named by the user, or by the table's own head.

use super::columns::{Column, Columns, Holds, by_head};
use super::dates::date;
use super::evidence;
use super::fields::{decimal, digits_behind_point, whole};
use super::options::{AddressUnit, Options, SpaceRule, TimeUnit};
use super::reading::Reading;
use super::records::is_head;
use super::sample::Sample;
use super::table::{Layout, Op, Role, Separator, Table, split};
use crate::error::both;
use crate::{Place, TraceError};

/// Possible separators of a table's fields.
const SEPARATORS: [Separator; 5] = [
    Separator::Byte(b','),
    Separator::Byte(b';'),
    Separator::Byte(b'\t'),
    Separator::Byte(b'|'),
    Separator::Blanks,
];

/// Contents and separator of a table's columns.
struct Form {
    separator: Separator,
    holds: Vec<Holds>,
    by: &'static str,
}

/// True when the head of `sample` names the contents of its columns.
pub fn has_head(sample: &Sample) -> bool {
    head(sample).is_some()
}

fn head(sample: &Sample) -> Option<Form> {
    let line = sample.lines().next().filter(|line| is_head(line))?;
    SEPARATORS.into_iter().find_map(|separator| {
        let holds = by_head(&split(line, separator))?;
        Some(Form { separator, holds, by: "as its head says" })
    })
}

/// The form that `columns` say the table has.
fn told(columns: &Columns, sample: &Sample) -> Result<Form, TraceError> {
    let malformed = |reason: String| TraceError::Malformed {
        file: sample.file.clone(),
        place: Place::Line(1),
        reason,
    };
    let names = sample.lines().next().filter(|line| is_head(line));
    let most = columns.entries().iter().filter_map(|entry| match entry.column {
        Column::Place(place) => Some(place + 1),
        Column::Name(_) => None,
    });
    let most = most.max().unwrap_or(1);
    // The separator at which most rows have as many fields as the map needs, the more the better.
    let separator = SEPARATORS
        .into_iter()
        .map(|separator| {
            let counts = sample.lines().take(1000).map(|line| split(line, separator).len());
            (counts.filter(|count| *count >= most.max(4)).count(), separator)
        })
        .rev()
        .max_by_key(|(count, _)| *count)
        .filter(|(count, _)| *count > 0)
        .map(|(_, separator)| separator);
    let Some(separator) = separator else {
        return Err(malformed(format!(
            "has no rows of {} columns, as --columns {columns} needs",
            most.max(4)
        )));
    };
    let heads: Vec<String> = names
        .map(|line| {
            split(line, separator)
                .iter()
                .map(|name| String::from_utf8_lossy(name).into_owned())
                .collect()
        })
        .unwrap_or_default();
    let mut holds = Vec::new();
    for entry in columns.entries() {
        let place = match &entry.column {
            Column::Place(place) => *place,
            Column::Name(name) => heads.iter().position(|head| head == name).ok_or_else(|| {
                malformed(format!(
                    "has no column `{name}`; its head has {}",
                    if heads.is_empty() { "no names".to_owned() } else { heads.join(", ") }
                ))
            })?,
        };
        if holds.len() <= place {
            holds.resize(place + 1, Holds::Nothing);
        }
        holds[place] = entry.holds;
    }
    Ok(Form { separator, holds, by: "as --columns says" })
}

/// How the rows of `samples` are read.
///
/// # Errors
/// [`TraceError::Ambiguous`] when nothing determines a unit.
pub fn settle(samples: &[Sample], options: &Options) -> Result<Reading, TraceError> {
    let Some(sample) = samples.first() else {
        return Err(TraceError::Unsuited("no table is there".to_owned()));
    };
    let form = match &options.columns {
        Some(columns) => told(columns, sample)?,
        None => head(sample).ok_or_else(|| TraceError::Ambiguous {
            file: sample.file.clone(),
            question: "it has no header that names its columns".to_owned(),
            flag: "--columns, such as --columns time:us,op,offset:bytes,size:bytes".to_owned(),
        })?,
    };
    let mut settling = Settling {
        samples,
        options,
        form: &form,
        settled: Vec::new(),
        digits: 0,
        unix_offset: None,
        dates: false,
    };
    let mut of_spaces = Vec::new();
    let rule = match form.holds.contains(&Holds::Space) {
        false => Ok(options.spaces.unwrap_or(SpaceRule::PerFile)),
        true => evidence::spaces(
            &sample.file,
            samples.len(),
            options,
            "address space column",
            &mut of_spaces,
        ),
    };
    let (roles, rule) = both(settling.roles(), rule)?;
    let dates = settling.dates;
    let shift = if dates { 0 } else { settling.shift(&roles) };
    let (digits, unix_offset, mut settled) =
        (settling.digits, settling.unix_offset, settling.settled);
    settled.append(&mut of_spaces);
    let time = roles.iter().find(|role| matches!(role, Role::Time(_)));
    let completed = || roles.iter().find(|role| matches!(role, Role::Completed(_)));
    let unit = match time.or_else(completed) {
        Some(Role::Time(scale) | Role::Completed(scale)) if !dates => *scale,
        _ => TimeUnit::Secs.nanos().0,
    };
    let words: Vec<&str> = roles.iter().map(|role| word(*role)).collect();
    let table = Table::new(Layout {
        form: words.join(","),
        separator: form.separator,
        roles,
        more: true,
        space: "",
        dates,
        shift,
        ops: options.ops.clone().unwrap_or_default(),
    });
    Ok(Reading {
        source: "table".to_owned(),
        settled,
        resolution: evidence::resolution_of(unit, digits),
        rule,
        unix_offset,
        ..Reading::of_rows(move || table.clone())
    })
}

fn word(role: Role) -> &'static str {
    match role {
        Role::Skip => "-",
        Role::Time(_) => "time",
        Role::Issued(_) => "issued",
        Role::Completed(_) => "completed",
        Role::Latency(_) => "latency",
        Role::Op(_) => "op",
        Role::Offset(_) => "offset",
        Role::Length(_) => "size",
        Role::Space => "space",
        Role::Pid => "pid",
        Role::Process => "process",
        Role::Cpu => "cpu",
    }
}

/// The columns of a table while their units are found.
struct Settling<'a> {
    samples: &'a [Sample],
    options: &'a Options,
    form: &'a Form,
    settled: Vec<String>,
    /// Digits behind the point of a time.
    digits: usize,
    unix_offset: Option<i128>,
    /// Times are dates.
    dates: bool,
}

impl Settling<'_> {
    fn file(&self) -> &str {
        self.samples.first().map_or("", |sample| sample.file.as_str())
    }

    /// The fields of a column, without the head.
    fn column(&self, index: usize) -> Vec<&[u8]> {
        let rows = self.samples.iter().flat_map(|sample| {
            let head = sample.lines().next().is_some_and(is_head);
            sample.lines().skip(usize::from(head))
        });
        rows.filter_map(|line| split(line, self.form.separator).get(index).copied()).collect()
    }

    fn place_of(&self, wanted: impl Fn(&Holds) -> bool) -> usize {
        self.form.holds.iter().position(wanted).unwrap_or(0)
    }

    /// The column of the arrival, or of the completion that it is reckoned from.
    fn place_of_time(&self) -> usize {
        let time = self.form.holds.iter().position(|holds| matches!(holds, Holds::Time(_)));
        time.unwrap_or_else(|| self.place_of(|holds| matches!(holds, Holds::Completed(_))))
    }

    /// By how much the clock is set forward so that what took longer than the time of its completion arrives at a time.
    fn shift(&mut self, roles: &[Role]) -> u64 {
        if roles.iter().any(|role| matches!(role, Role::Time(_))) {
            return 0;
        }
        let of = |place: usize| match roles.get(place) {
            Some(Role::Completed(scale) | Role::Latency(scale)) => *scale,
            _ => 1,
        };
        let completed = self.place_of_time();
        let latency = self.place_of(|holds| matches!(holds, Holds::Latency(_)));
        let early = self.column(completed).into_iter().zip(self.column(latency)).filter_map(
            |(at, took)| decimal(took, of(latency))?.checked_sub(decimal(at, of(completed))?),
        );
        let early = early.max().unwrap_or(0);
        self.settled.push("an I/O arrived as long before its completion as it took".to_owned());
        evidence::set_forward(early, &mut self.settled)
    }

    fn roles(&mut self) -> Result<Vec<Role>, TraceError> {
        let units = both(self.time(), self.addresses());
        let rest = both(self.op(), self.latency());
        let ((time, (offset, length)), (op, ())) = both(units, rest)?;
        let scale = time.nanos().0;
        // Instants of one row are of one clock.
        let of = |unit: Option<TimeUnit>| unit.map_or(scale, |unit| unit.nanos().0);
        let roles = self.form.holds.iter().map(|holds| match holds {
            Holds::Nothing => Role::Skip,
            Holds::Time(_) => Role::Time(scale),
            Holds::Issued(unit) => Role::Issued(of(*unit)),
            Holds::Completed(unit) => Role::Completed(of(*unit)),
            Holds::Latency(unit) => Role::Latency(of(*unit)),
            Holds::Op(_) => Role::Op(op),
            Holds::Offset(_) => Role::Offset(offset.bytes()),
            Holds::Length(_) => Role::Length(length.bytes()),
            Holds::Space => Role::Space,
            Holds::Pid => Role::Pid,
            Holds::Process => Role::Process,
            Holds::Cpu => Role::Cpu,
        });
        Ok(roles.collect())
    }

    fn time(&mut self) -> Result<TimeUnit, TraceError> {
        let place = self.place_of_time();
        let column = self.column(place);
        let all: Vec<_> = column.iter().filter_map(|time| date(time)).collect();
        if 2 * all.len() > column.len() {
            let unzoned = if all.iter().all(|date| date.zoned) {
                ""
            } else {
                ", of UTC where they name no zone"
            };
            let digits = all.iter().map(|date| date.digits).max().unwrap_or(0);
            self.settled.push(format!("times are dates{unzoned}"));
            (self.digits, self.unix_offset, self.dates) = (digits, Some(0), true);
            return Ok(TimeUnit::Secs);
        }
        let digits = column.iter().map(|time| digits_behind_point(time)).max().unwrap_or(0);
        let said = match self.form.holds[place] {
            Holds::Time(said) | Holds::Completed(said) => said,
            _ => None,
        };
        let (unit, why) = match (self.options.time_unit, said) {
            (Some(unit), _) => (unit, "as --time-unit says".to_owned()),
            (None, Some(unit)) => (unit, self.form.by.to_owned()),
            (None, None) => evidence::time_unit(self.file(), &column)?,
        };
        let seconds =
            |time: &&[u8]| decimal(time, unit.nanos().0).map(|ns| i128::from(ns / 1_000_000_000));
        let unix = evidence::epoch(column.iter().filter_map(seconds), unit);
        evidence::plausible_rate(
            self.file(),
            column.iter().filter_map(|time| decimal(time, unit.nanos().0)),
            unit,
            self.options,
        )?;
        self.settled.push(format!("times are in {unit}, {why}"));
        (self.digits, self.unix_offset) = (digits, unix);
        Ok(unit)
    }

    fn addresses(&mut self) -> Result<(AddressUnit, AddressUnit), TraceError> {
        let offset = self.place_of(|holds| matches!(holds, Holds::Offset(_)));
        let length = self.place_of(|holds| matches!(holds, Holds::Length(_)));
        let said = |place: usize| match self.form.holds[place] {
            Holds::Offset(unit) | Holds::Length(unit) => unit,
            _ => None,
        };
        let units = (said(offset), said(length));
        let (units, why) = match (self.options.address_unit, units) {
            (_, (Some(offset), Some(length))) => ((offset, length), self.form.by.to_owned()),
            (Some(unit), (offset, length)) => (
                (offset.unwrap_or(unit), length.unwrap_or(unit)),
                "as --address-unit says".to_owned(),
            ),
            (None, said) => {
                let numbers =
                    |place| self.column(place).into_iter().filter_map(whole).collect::<Vec<u64>>();
                let (offsets, lengths) = (numbers(offset), numbers(length));
                evidence::address_units(self.file(), &offsets, &lengths, said)?
            }
        };
        self.settled
            .push(format!("addresses are in {} and lengths in {}, {why}", units.0, units.1));
        Ok(units)
    }

    fn latency(&self) -> Result<(), TraceError> {
        match self.form.holds.contains(&Holds::Latency(None)) {
            false => Ok(()),
            true => Err(TraceError::Ambiguous {
                file: self.file().to_owned(),
                question: "what the latency counts is not said".to_owned(),
                flag: "--columns, with latency:ns, us, ms or s".to_owned(),
            }),
        }
    }

    fn op(&mut self) -> Result<Op, TraceError> {
        if let Some(ops) = &self.options.ops {
            self.settled.push(format!("operations are {ops}, as --op says"));
            return Ok(Op::Named);
        }
        let place = self.place_of(|holds| matches!(holds, Holds::Op(_)));
        let column = self.column(place);
        let numbers = column.iter().filter(|op| whole(op).is_some()).count();
        if 2 * numbers <= column.len() {
            return Ok(Op::Letters);
        }
        let said = match self.form.holds[place] {
            Holds::Op(said) => said,
            _ => None,
        };
        let (flag, why) = match (self.options.read_flag, said) {
            (Some(flag), _) => (flag, "as --read-flag says"),
            (None, Some(flag)) => (flag, self.form.by),
            (None, None) => {
                return Err(TraceError::Ambiguous {
                    file: self.file().to_owned(),
                    question: "operations are numbers, and nothing says which of 0 and 1 is a read"
                        .to_owned(),
                    flag: "--read-flag 1 or --read-flag 0, or --op such as 2a=write,28=read"
                        .to_owned(),
                });
            }
        };
        self.settled.push(format!("{flag} is a read, {why}"));
        Ok(Op::Flag(flag))
    }
}

//! Units inferred from the numbers in a file, and errors when these are not enough.

use block::Nanos;

use super::fields::decimal;
use super::options::{AddressUnit, Options, SpaceRule, TimeUnit};
use crate::TraceError;

/// I/Os a second beyond which a unit of time is not believed. No machine does more; a unit too fine shows so.
const RATE_MAX: f64 = 2e7;

/// No counter runs for so long.
const HUNDRED_YEARS_S: u64 = 3_153_600_000;

/// Rows below which rates and alignment say nothing.
const ROWS_MIN: usize = 16;

/// The finest step of times of `unit` with `digits` digits after the point.
pub fn resolution(unit: TimeUnit, digits: usize) -> Nanos {
    resolution_of(unit.nanos().0, digits)
}

/// The finest step of times that count `scale` nanoseconds, with `digits` digits after the point.
pub fn resolution_of(scale: u64, digits: usize) -> Nanos {
    Nanos((0..digits.min(20)).fold(scale, |step, _| (step / 10).max(1)))
}

/// Nanoseconds by which the clock of a file is set forward, whole seconds, where an I/O began `early` nanoseconds before the
/// time that it counts from; said in `settled`.
pub fn set_forward(early: u64, settled: &mut Vec<String>) -> u64 {
    const S: u64 = 1_000_000_000;
    let shift = early.div_ceil(S).saturating_mul(S);
    if shift > 0 {
        settled.push(format!(
            "I/Os that began before the time that the file counts from are there: its clock is set forward by {}",
            Nanos(shift).human()
        ));
    }
    shift
}

/// True for a count of seconds since 1970 that lies within living memory: 1990 to 2060.
pub fn is_date(seconds: i128) -> bool {
    (631_152_000..2_840_140_800).contains(&seconds)
}

/// Refuses times that would need a machine beyond all machines.
///
/// # Errors
/// [`TraceError::Ambiguous`] when there are too many a second, unless `--time-unit` says that it is so.
pub fn plausible_rate(
    file: &str,
    times: impl Iterator<Item = u64>,
    unit: TimeUnit,
    options: &Options,
) -> Result<(), TraceError> {
    let pace = Pace::of(times);
    if options.time_unit.is_some() || !pace.is_crowded() {
        return Ok(());
    }
    Err(TraceError::Ambiguous {
        file: file.to_owned(),
        question: format!(
            "if times are in {unit}, the first {} I/Os arrive within {} ns, which no machine does",
            pace.count,
            pace.ns()
        ),
        flag: "--time-unit ns, 100ns, us, ms or s".to_owned(),
    })
}

/// How close to each other the first I/Os arrive.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    count: usize,
    first: u64,
    last: u64,
    /// Greatest common divisor of all times: the tick of the clock, or more. Within one tick all is at one instant.
    grain: u64,
}

impl Pace {
    fn of(times: impl Iterator<Item = u64>) -> Pace {
        let start = Pace { first: u64::MAX, ..Pace::default() };
        times.fold(start, |pace, time| Pace {
            count: pace.count + 1,
            first: pace.first.min(time),
            last: pace.last.max(time),
            grain: common_divisor(pace.grain, time),
        })
    }

    fn ns(&self) -> u64 {
        self.last.saturating_sub(self.first)
    }

    fn is_crowded(&self) -> bool {
        // All at 0 are none at all.
        let ns = self.ns() as f64 + self.grain as f64;
        self.count >= ROWS_MIN && ns > 0.0 && self.count as f64 > RATE_MAX * ns / 1e9
    }

    fn is_sparse(&self) -> bool {
        const DAY_NS: f64 = 86_400e9;
        self.count >= ROWS_MIN && self.ns() as f64 > self.count as f64 * DAY_NS
    }
}

fn common_divisor(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The unit of addresses in a format that has sectors, checked against the addresses and lengths of its rows.
///
/// # Errors
/// [`TraceError::Ambiguous`] when the format was not named and all of them are multiples of 512, as bytes would be.
pub fn sectors_by_format(
    file: &str,
    places: impl Iterator<Item = (u64, u64)>,
    options: &Options,
    settled: &mut Vec<String>,
) -> Result<AddressUnit, TraceError> {
    if let Some(unit) = options.address_unit {
        settled.push(format!("addresses and lengths are in {unit}, as --address-unit says"));
        return Ok(unit);
    }
    let (mut count, mut whole) = (0, 0);
    for (offset, length) in places {
        count += 1;
        whole += usize::from(offset % 512 == 0 && length % 512 == 0);
    }
    if options.format.is_none() && count >= ROWS_MIN && whole == count {
        return Err(TraceError::Ambiguous {
            file: file.to_owned(),
            question: "the format has addresses and lengths in sectors, but all of them are multiples of 512, as \
                       bytes would be"
                .to_owned(),
            flag: "--address-unit sectors or --address-unit bytes".to_owned(),
        });
    }
    settled.push(format!(
        "addresses and lengths are in sectors of 512 bytes, as the format has them; {} of the first {count} rows are \
         no multiples of 512",
        count - whole
    ));
    Ok(AddressUnit::Sectors)
}

/// Returns the rule for address spaces of a format whose column counts from 0 in every file.
///
/// # Errors
/// [`TraceError::Ambiguous`] when there are several files.
pub fn spaces(
    file: &str,
    files: usize,
    options: &Options,
    word: &str,
    settled: &mut Vec<String>,
) -> Result<SpaceRule, TraceError> {
    match (options.spaces, files) {
        (Some(rule), _) => {
            settled.push(format!("address spaces are {rule}, as --spaces says"));
            Ok(rule)
        }
        (None, 0 | 1) => {
            settled.push(format!("each {word} is an address space of its own"));
            Ok(SpaceRule::Shared)
        }
        (None, _) => Err(TraceError::Ambiguous {
            file: file.to_owned(),
            question: format!(
                "{word} numbers start again in each file, or are the same in all {files} of them"
            ),
            flag: "--spaces per-file or --spaces shared".to_owned(),
        }),
    }
}

/// The unit of times that nothing names, by their size, and by how many there are in a second.
///
/// A number does not show whether it counts seconds, microseconds or nanoseconds. But a unit is out of the question when
/// the trace would then have more I/Os a second than any machine does, or fewer than one a day, or count
/// from an instant more than a hundred years ago without being a date. When one unit is left, it is the unit.
///
/// # Errors
/// [`TraceError::Ambiguous`] when several are left, or none.
pub fn time_unit(file: &str, column: &[&[u8]]) -> Result<(TimeUnit, String), TraceError> {
    let possible: Vec<TimeUnit> = TimeUnit::ALL
        .into_iter()
        .filter(|unit| {
            let pace = Pace::of(column.iter().filter_map(|time| decimal(time, unit.nanos().0)));
            let first_s = pace.first / 1_000_000_000;
            let aged = first_s > HUNDRED_YEARS_S
                && epoch(std::iter::once(i128::from(first_s)), *unit).is_none();
            // Fewer than there are: some would be beyond all times.
            let whole = pace.count == column.len() && pace.count > 0;
            whole && !aged && !pace.is_crowded() && !pace.is_sparse()
        })
        .collect();
    match possible.as_slice() {
        [unit] => Ok((
            *unit,
            "since in any other there would be too many or too few I/Os a second".to_owned(),
        )),
        several => {
            let words = if several.is_empty() { &TimeUnit::ALL[..] } else { several };
            let words: Vec<&str> = words.iter().map(|unit| unit.word()).collect();
            Err(TraceError::Ambiguous {
                file: file.to_owned(),
                question: format!(
                    "times may be in {}, and nothing in the file says which",
                    words.join(", ")
                ),
                flag: format!("--time-unit {}", words.join(" or ")),
            })
        }
    }
}

/// Returns the offset that turns times, whose seconds are `seconds`, into nanoseconds since 1970; `None` when they
/// are not dates.
pub fn epoch(mut seconds: impl Iterator<Item = i128>, unit: TimeUnit) -> Option<i128> {
    let first = seconds.next()?;
    if is_date(first) {
        Some(0)
    } else if unit == TimeUnit::FileTime && is_date(first - FILETIME_TO_UNIX_S) {
        Some(-FILETIME_TO_UNIX_S * 1_000_000_000)
    } else {
        None
    }
}

/// From 1601, where FILETIME begins, to 1970.
pub const FILETIME_TO_UNIX_S: i128 = 11_644_473_600;

/// The longest I/O that the block layer and most drives take as one, with room: in sectors.
const SECTORS_MAX: u64 = 32 << 11;

/// The units of addresses and lengths, as far as they are not said, by alignment.
///
/// They are sectors when most lengths and some addresses are not multiples of 512, and no length would be too long for
/// one I/O. They are bytes when all of them are multiples of 512, and some length would be too long for one I/O in
/// sectors. Between the two lie traces of which both can be true.
///
/// # Errors
/// [`TraceError::Ambiguous`] when it shows in neither way.
pub fn address_units(
    file: &str,
    offsets: &[u64],
    lengths: &[u64],
    said: (Option<AddressUnit>, Option<AddressUnit>),
) -> Result<((AddressUnit, AddressUnit), String), TraceError> {
    let odd = |numbers: &[u64]| numbers.iter().filter(|number| *number % 512 != 0).count();
    let (odd_offsets, odd_lengths) = (odd(offsets), odd(lengths));
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let enough = lengths.len() >= ROWS_MIN;
    let found = if enough && odd_offsets == 0 && odd_lengths == 0 && longest > SECTORS_MAX {
        Some((
            AddressUnit::Bytes,
            format!(
                "since all looked at are multiples of 512, and the longest, {longest} sectors, would be no one I/O"
            ),
        ))
    } else if enough && odd_offsets > 0 && 2 * odd_lengths > lengths.len() && longest <= SECTORS_MAX
    {
        Some((
            AddressUnit::Sectors,
            format!("since {odd_lengths} of {} lengths are no multiples of 512", lengths.len()),
        ))
    } else {
        None
    };
    match found {
        Some((unit, why)) => Ok(((said.0.unwrap_or(unit), said.1.unwrap_or(unit)), why)),
        None => Err(TraceError::Ambiguous {
            file: file.to_owned(),
            question: format!(
                "addresses and lengths may be in bytes or in sectors of 512: of the first {} rows {odd_offsets} \
                 addresses and {odd_lengths} lengths are no multiples of 512, the longest is {longest}",
                lengths.len()
            ),
            flag: "--address-unit bytes or --address-unit sectors".to_owned(),
        }),
    }
}

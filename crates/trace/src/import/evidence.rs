//! What a file says of units without saying it, and when that is too little.

use block::Nanos;

use super::options::{AddressUnit, Options, SpaceRule, TimeUnit};
use crate::TraceError;

/// I/Os a second beyond which a unit of time is not believed. No machine does more; a unit too fine shows so.
const RATE_MAX: f64 = 2e7;

/// Rows below which rates and alignment say nothing.
const ROWS_MIN: usize = 16;

/// The finest step of times of `unit` with so many digits behind the point.
pub fn resolution(unit: TimeUnit, digits: usize) -> Nanos {
    (0..digits).fold(unit.nanos(), |step, _| Nanos((step.0 / 10).max(1)))
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
    let (mut count, mut first, mut last) = (0usize, u64::MAX, 0);
    for time in times {
        count += 1;
        first = first.min(time);
        last = last.max(time);
    }
    let seconds = last.saturating_sub(first) as f64 / 1e9;
    if options.time_unit.is_some() || count < ROWS_MIN || count as f64 <= RATE_MAX * seconds {
        return Ok(());
    }
    Err(TraceError::Ambiguous {
        file: file.to_owned(),
        question: format!(
            "if times are in {unit}, the first {count} I/Os arrive within {} ns, which no machine does",
            last.saturating_sub(first)
        ),
        flag: "--time-unit ns, 100ns, us, ms or s".to_owned(),
    })
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

/// What the address spaces of a format are whose column counts from 0 in every file.
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
                "{word} numbers count anew in each file, or are the same in all {files} of them"
            ),
            flag: "--spaces per-file or --spaces shared".to_owned(),
        }),
    }
}

//! Checks common to all models and wrappers.

use std::fmt::Display;

use block::Bytes;

use crate::field::Fault;

/// A field with its table, its value, and the least and the most that it may be.
pub(crate) type Range<T = u64> = (&'static str, T, T, T);

/// Finds the first value that is out of its range; also refuses what is not a number.
pub(crate) fn within<T: PartialOrd + Display>(ranges: &[Range<T>]) -> Result<(), Fault> {
    for (key, value, low, high) in ranges {
        if !(low..=high).contains(&value) {
            let in_words = in_units(key, low, high);
            return Err((key, format!("{value} is outside {low} to {high}{in_words}")));
        }
    }
    Ok(())
}

/// Bounds of the field `key` in units that can be compared, where they are bytes.
fn in_units(key: &str, low: &impl Display, high: &impl Display) -> String {
    let about = |bound: &dyn Display| Some(Bytes(bound.to_string().parse().ok()?).about());
    match about(low).zip(about(high)).filter(|_| key.ends_with("bytes")) {
        Some((low, high)) => format!(" bytes ({low} to {high})"),
        None => String::new(),
    }
}

/// As [`within`], of values that must be powers of two as well.
pub(crate) fn powers_of_two(ranges: &[Range]) -> Result<(), Fault> {
    for &(key, value, low, high) in ranges {
        if !value.is_power_of_two() || !(low..=high).contains(&value) {
            return Err((key, format!("{value} is not a power of two from {low} to {high}")));
        }
    }
    Ok(())
}

//! What the checks of all models and wrappers have in common.

use std::fmt::Display;

use block::Bytes;

use crate::kind::Fault;

/// A field with its table, its value, and the least and the most that it may be.
pub(crate) type Range<T = u64> = (&'static str, T, T, T);

/// Finds the first value that is out of its range; also refuses what is not a number.
pub(crate) fn within<T: PartialOrd + Display>(ranges: &[Range<T>]) -> Result<(), Fault> {
    for (key, value, low, high) in ranges {
        if !(low..=high).contains(&value) {
            let [value, low, high] = [value, low, high].map(|value| told(key, value));
            return Err((key, format!("{value} is outside {low} to {high}")));
        }
    }
    Ok(())
}

/// `value` of the field `key`, with its unit where that is bytes.
fn told(key: &str, value: &impl Display) -> String {
    let value = value.to_string();
    let bytes = value.parse().ok().filter(|_| key.ends_with("bytes")).map(Bytes);
    bytes.map_or(value, Bytes::about)
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

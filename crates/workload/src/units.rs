//! Sizes and durations as text, the same in plan files and flags: `4KiB`, `1GiB`, `250ms`, `5s`.
//!
//! Binary units only, and every number carries its unit: a bare `4096` is refused rather than guessed,
//! except `0`. Short forms (`4K`, `1G`) are the binary ones, as in fio and diskspd.

use block::{Bytes, Nanos};
use thiserror::Error;

/// Text that is not a size or a duration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}` is not a {what}: {expected}")]
pub struct UnitError {
    text: String,
    what: &'static str,
    expected: &'static str,
}

const SIZES: [(&str, u64); 14] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("K", 1 << 10),
    ("k", 1 << 10),
    ("MiB", 1 << 20),
    ("M", 1 << 20),
    ("GiB", 1 << 30),
    ("G", 1 << 30),
    ("TiB", 1 << 40),
    ("T", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

const SPANS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a size such as `4KiB`, `512B`, `1G`.
///
/// # Errors
/// [`UnitError`] that says which forms are taken.
pub fn parse_bytes(text: &str) -> Result<Bytes, UnitError> {
    scaled(text, &SIZES).map(Bytes).ok_or_else(|| UnitError {
        text: text.to_owned(),
        what: "size",
        expected: "write a whole number with a unit, such as 512B, 4KiB, 1MiB or 1GiB (4K, 1M, 1G mean the same), or a fraction that is whole bytes, such as 1.5GiB",
    })
}

/// Reads a duration such as `5s`, `250ms`, `2m`.
///
/// # Errors
/// [`UnitError`] that says which forms are taken.
pub fn parse_nanos(text: &str) -> Result<Nanos, UnitError> {
    scaled(text, &SPANS).map(Nanos).ok_or_else(|| UnitError {
        text: text.to_owned(),
        what: "duration",
        expected: "write a number with a unit, such as 500ms, 5s, 2m or 1h",
    })
}

/// A decimal number with one of `units` behind it, exactly representable in the smallest unit.
fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    if text == "0" {
        return Some(0);
    }
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')?;
    let (number, unit) = (text[..split].replace('_', ""), text[split..].trim());
    let scale = units.iter().find(|(name, _)| *name == unit)?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let mut value = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    if number.contains('.') {
        let digits = u32::try_from(fraction.len()).ok().filter(|n| (1..=9).contains(n))?;
        let part = fraction.parse::<u64>().ok()?.checked_mul(scale)?;
        let base = 10u64.pow(digits);
        if part % base != 0 {
            return None;
        }
        value = value.checked_add(part / base)?;
    }
    Some(value)
}

/// Serde form of a [`Bytes`] as text.
pub mod bytes {
    use super::{Bytes, parse_bytes};
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes `4KiB`.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(value: &Bytes, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    /// Reads `4KiB`.
    ///
    /// # Errors
    /// When the text is not a size.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
        parse_bytes(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// Serde form of a [`Nanos`] as text.
pub mod nanos {
    use super::{Nanos, parse_nanos};
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes `5s`.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(value: &Nanos, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    /// Reads `5s`.
    ///
    /// # Errors
    /// When the text is not a duration.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Nanos, D::Error> {
        parse_nanos(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

macro_rules! optional {
    ($name:ident, $inner:ident, $type:ty, $parse:ident) => {
        /// Serde form of an optional value as text.
        pub mod $name {
            use super::{$parse, $type};
            use serde::{Deserialize, Deserializer, Serializer};

            /// Writes the text, or nothing.
            ///
            /// # Errors
            /// Those of the serializer.
            pub fn serialize<S: Serializer>(v: &Option<$type>, to: S) -> Result<S::Ok, S::Error> {
                match v {
                    Some(value) => to.collect_str(value),
                    None => to.serialize_none(),
                }
            }

            /// Reads the text, or nothing.
            ///
            /// # Errors
            /// When the text is not of the right form.
            pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Option<$type>, D::Error> {
                Option::<String>::deserialize(d)?
                    .map(|text| $parse(&text).map_err(serde::de::Error::custom))
                    .transpose()
            }
        }
    };
}
optional!(optional_bytes, bytes, Bytes, parse_bytes);
optional!(optional_nanos, nanos, Nanos, parse_nanos);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_need_a_unit_and_are_exact() {
        let read = |text: &str| parse_bytes(text).ok().map(|b| b.0);
        assert_eq!(read("4KiB"), Some(4096));
        assert_eq!(read("1.5 GiB"), Some(3 << 29));
        assert_eq!(read("1_000MB"), Some(1_000_000_000));
        assert_eq!(read("0"), Some(0));
        for bad in ["", "4096", "4 QiB", "-1K", ".", "1.K", "0.3B", "99999999999TiB", "1..5K", "_K"]
        {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations_need_a_unit_and_are_exact() {
        let read = |text: &str| parse_nanos(text).ok().map(|n| n.0);
        assert_eq!(read("0.5s"), Some(500_000_000));
        assert_eq!(read("2m"), Some(120_000_000_000));
        assert_eq!(read("5"), None);
        assert_eq!(read("0.1ns"), None);
    }

    #[test]
    fn what_is_printed_is_read_back() {
        for n in [1, 512, 4096, 1 << 30, (1 << 30) + 1, u64::MAX] {
            assert_eq!(parse_bytes(&Bytes(n).to_string()), Ok(Bytes(n)));
            assert_eq!(parse_nanos(&Nanos(n).to_string()), Ok(Nanos(n)));
        }
    }
}

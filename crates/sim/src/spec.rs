//! The text with which a user names a virtual drive: `sim:MODEL?key=value&key=value`.

use block::Bytes;

use crate::error::SimError;
use crate::field::Setting;

/// A spec taken apart, with nothing looked up yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    /// Built-in model or path.
    pub(crate) model: String,
    /// Overrides in the order given.
    pub(crate) overrides: Vec<(String, String)>,
}

impl Spec {
    pub(crate) fn parse(text: &str) -> Result<Spec, SimError> {
        let Some(rest) = text.strip_prefix("sim:") else {
            return Err(SimError::NotVirtual(text.to_owned()));
        };
        let (model, query) = match rest.split_once('?') {
            Some((model, query)) => (model, Some(query)),
            None => (rest, None),
        };
        if model.is_empty() {
            return Err(SimError::NotVirtual(text.to_owned()));
        }
        let mut overrides: Vec<(String, String)> = Vec::new();
        for pair in query.into_iter().flat_map(|query| query.split('&')) {
            let fault = |key: &str, what: &str| {
                Err(SimError::Override { key: key.to_owned(), what: what.to_owned() })
            };
            let Some((key, value)) = pair.split_once('=') else {
                return fault(pair, "has no value; write key=value, and & between two of them");
            };
            if value.is_empty() {
                return fault(key, "its value is empty");
            }
            if overrides.iter().any(|(known, _)| known == key) {
                return fault(key, "is given twice");
            }
            overrides.push((key.to_owned(), value.to_owned()));
        }
        Ok(Spec { model: model.to_owned(), overrides })
    }

    /// True when the model is a file: it ends in `.toml` or has a `/`, which no built-in name has.
    pub(crate) fn is_path(&self) -> bool {
        self.model.ends_with(".toml") || self.model.contains('/')
    }
}

/// Reads a size: a whole number with a decimal (`kB`, `MB`, `GB`, `TB`) or binary unit (`KiB` to
/// `TiB`), or with `B` or nothing for bytes.
pub(crate) fn size(text: &str) -> Result<Bytes, String> {
    const UNITS: [(&str, u64); 10] = [
        ("", 1),
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ];
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let scale = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
    match (number.parse::<u64>(), scale) {
        (Ok(number), Some(scale)) => number
            .checked_mul(scale)
            .map(Bytes)
            .ok_or_else(|| format!("`{text}` is more than 64 bits can hold")),
        _ => Err(format!("`{text}` is not a size; write it like 4TB, 500GB or 64MiB")),
    }
}

/// A capacity as users write it, rounded down to whole units of `unit_bytes`, called `unit` in errors, for the
/// field `key`.
pub(crate) fn capacity(
    key: &'static str,
    value: &str,
    unit_bytes: u64,
    unit: &str,
) -> Result<Setting, String> {
    let Bytes(bytes) = size(value)?;
    let whole = bytes - bytes % unit_bytes.max(1);
    if whole == 0 {
        // Rounded first, it would be refused as a 0 that the user did not write.
        return Err(format!("`{value}` is less than the {unit}, {unit_bytes} bytes"));
    }
    let whole = i64::try_from(whole).map_err(|_| format!("`{value}` is too large"))?;
    Ok((key, toml::Value::Integer(whole)))
}

/// The capacity that `spec` asks for, where a drive of `capacity` is smaller: its model consists of whole units.
pub fn rounded_from(spec: &str, capacity: Bytes) -> Option<Bytes> {
    let overrides = Spec::parse(spec).ok()?.overrides;
    let (_, asked) = overrides.iter().find(|(key, _)| key == "capacity")?;
    size(asked).ok().filter(|asked| *asked > capacity)
}

/// Reads the value of a model's field: what TOML takes for a number, a truth value or a list, and otherwise
/// a word. In quotes anything is a word, as a serial number of digits is.
pub(crate) fn value(text: &str) -> toml::Value {
    use toml::Value::{Array, Boolean, Float, Integer, String};
    match text.parse::<toml::Value>() {
        Ok(value @ (Integer(_) | Float(_) | Boolean(_) | Array(_) | String(_))) => value,
        _ => String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a capacity that was rounded passes for that asked for, or the other way round.
    #[test]
    fn a_capacity_that_was_rounded_is_known() {
        let spec = "sim:usb-tlc?seed=1&capacity=16012804096";
        let opened = crate::show(spec).unwrap().info.capacity_bytes;
        assert_eq!(opened, Bytes(16_009_658_368));
        assert_eq!(rounded_from(spec, opened), Some(Bytes(16_012_804_096)));
        assert_eq!(rounded_from("sim:usb-tlc?capacity=16009658368", opened), None);
        assert_eq!(rounded_from("sim:usb-tlc", opened), None);
    }

    #[test]
    fn a_spec_is_a_model_and_overrides_in_order() {
        let spec = Spec::parse("sim:dir/m.toml?seed=7&geometry.rpm=5400").unwrap();
        assert_eq!(spec.model, "dir/m.toml");
        assert!(spec.is_path());
        let pairs: Vec<String> = spec.overrides.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(pairs, ["seed=7", "geometry.rpm=5400"]);
        assert!(!Spec::parse("sim:hdd-7200").unwrap().is_path());
    }

    #[test]
    fn broken_specs_name_the_key() {
        for (text, words) in [
            ("/dev/sda", "not a virtual drive"),
            ("sim:", "not a virtual drive"),
            ("sim:m?seed", "?seed: has no value"),
            ("sim:m?seed=", "?seed: its value is empty"),
            ("sim:m?seed=1&seed=2", "?seed: is given twice"),
            ("sim:m?", "has no value"),
        ] {
            let error = Spec::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    // Breaks when a serial number of digits cannot be typed, or keeps its quotes.
    #[test]
    fn a_value_is_what_toml_takes_it_for_and_otherwise_a_word() {
        use toml::Value::{Boolean, Integer, String};
        assert_eq!(value("1_000"), Integer(1000));
        assert_eq!(value("true"), Boolean(true));
        for (text, word) in [("\"123\"", "123"), ("'a b'", "a b"), ("fifo", "fifo"), ("4GB", "4GB")]
        {
            assert_eq!(value(text), String(word.to_owned()));
        }
        assert!(value("[1, 2]").is_array());
        assert_eq!(value("1979-05-27"), String("1979-05-27".to_owned()), "no field is a date");
    }

    #[test]
    fn sizes_are_decimal_or_binary_and_never_guessed() {
        assert_eq!(size("4TB"), Ok(Bytes(4_000_000_000_000)));
        assert_eq!(size("64MiB"), Ok(Bytes::mib(64)));
        assert_eq!(size("512"), Ok(Bytes(512)));
        for text in ["4T", "", "TB", "-1GB", "1.5TB", "99999999TiB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}

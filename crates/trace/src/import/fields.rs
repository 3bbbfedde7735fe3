//! Fields of a line: split, and read as numbers, without copying.

use super::blkparse;
use crate::{Flags, Kind, pair};

/// The fields of a line, as far as there are places for them.
pub struct Fields<'a, const N: usize> {
    fields: [&'a [u8]; N],
    count: usize,
}

impl<'a, const N: usize> Fields<'a, N> {
    /// Splits at runs of blanks.
    pub fn words(line: &'a [u8]) -> Fields<'a, N> {
        let mut all = Fields { fields: [&[]; N], count: 0 };
        for field in line.split(|byte| *byte == b' ' || *byte == b'\t') {
            if !field.is_empty() {
                all.push(field);
            }
        }
        all
    }

    fn push(&mut self, field: &'a [u8]) {
        if let Some(place) = self.fields.get_mut(self.count) {
            *place = field;
        }
        self.count += 1;
    }

    /// How many the line has: more than `N` perhaps.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The first `N`.
    pub fn get(&self) -> &[&'a [u8]; N] {
        &self.fields
    }
}

/// A whole number of digits alone.
pub fn whole(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    let mut value = 0u64;
    // 19 digits always fit.
    for byte in &text[..text.len().min(19)] {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    match text.get(19) {
        None => Some(value),
        Some(byte @ b'0'..=b'9') => value.checked_mul(10)?.checked_add(u64::from(byte - b'0')),
        Some(_) => None,
    }
}

/// A whole number of hexadecimal digits, with or without `0x`.
pub fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X")).unwrap_or(text);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits
        .iter()
        .try_fold(0u64, |value, byte| Some(value << 4 | u64::from(char::from(*byte).to_digit(16)?)))
}

/// A decimal number of things of `scale` each, as a whole number of the smallest: `1.25` of 1000 are 1250. Digits
/// that are finer than the smallest are cut off.
pub fn decimal(text: &[u8], scale: u64) -> Option<u64> {
    if let Some(number) = whole(text) {
        return number.checked_mul(scale);
    }
    let point = text.iter().position(|byte| *byte == b'.').unwrap_or(text.len());
    let before = if point == 0 && text.len() > 1 { 0 } else { whole(&text[..point])? };
    let mut value = before.checked_mul(scale)?;
    let mut unit = scale;
    for byte in text.get(point + 1..).unwrap_or_default() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        unit /= 10;
        value = value.checked_add(unit * u64::from(digit))?;
    }
    Some(value)
}

/// Number of digits after the point.
pub fn digits_behind_point(text: &[u8]) -> usize {
    text.iter().position(|byte| *byte == b'.').map_or(0, |point| text.len() - point - 1)
}

/// The operation that a word means: `R`, `read`, `Write`, `W`, and so on, in capitals or not.
pub fn operation(word: &[u8]) -> Option<Kind> {
    match word {
        [b'R' | b'r'] => return Some(Kind::Read),
        [b'W' | b'w'] => return Some(Kind::Write),
        _ => {}
    }
    let is = |text: &str| word.eq_ignore_ascii_case(text.as_bytes());
    let any = |texts: &[&str]| texts.iter().any(|text| is(text));
    if any(&["read", "rd"]) {
        Some(Kind::Read)
    } else if any(&["write", "wr"]) {
        Some(Kind::Write)
    } else if any(&["f", "flush", "sync", "fsync", "datasync", "fdatasync"]) {
        Some(Kind::Flush)
    } else if any(&["d", "t", "discard", "trim", "unmap", "deallocate"]) {
        Some(Kind::Discard)
    } else {
        None
    }
}

/// The meaning of the kernel's letters for an I/O of `bytes`, such as `WS`, `RA`, `FF` or `DS`; none of other words.
pub fn rwbs(word: &[u8], bytes: u64) -> Option<(Kind, Flags)> {
    let traits = blkparse::traits(std::str::from_utf8(word).ok()?)?;
    let any = u32::try_from(bytes).unwrap_or(u32::MAX);
    Some((pair::kind(traits, any), pair::flags(traits, any)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_end_at_the_greatest() {
        assert_eq!(whole(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(whole(b"18446744073709551616"), None);
        assert_eq!(whole(b"99999999999999999999"), None);
        for wrong in [&b""[..], b"-1", b"+1", b"1 ", b"0x1", b"1.0", b"000000000000000000001"] {
            assert_eq!(whole(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn decimals_are_exact_and_never_round() {
        assert_eq!(decimal(b"1.25", 1_000), Some(1_250));
        assert_eq!(decimal(b"0.000001999", 1_000_000_000), Some(1_999));
        // A float would have made 1538323199.999999952.
        assert_eq!(
            decimal(b"1538323200.123456789", 1_000_000_000),
            Some(1_538_323_200_123_456_789)
        );
        assert_eq!(decimal(b"3.0000000009", 1_000_000_000), Some(3_000_000_000));
        assert_eq!(decimal(b".5", 10), Some(5));
        assert_eq!(decimal(b"5.", 10), Some(50));
        for wrong in [&b"."[..], b"", b"1e3", b"1.2.3", b"-1.0", b"18446744073709551615.9"] {
            assert_eq!(decimal(wrong, 10), None, "{wrong:?}");
        }
    }

    #[test]
    fn lines_have_more_fields_than_places() {
        let fields = Fields::<2>::words(b"a b\tc");
        assert_eq!((fields.count(), fields.get()), (3, &[&b"a"[..], b"b"]));
        assert_eq!(Fields::<3>::words(b"  a \t b  ").count(), 2);
    }
}

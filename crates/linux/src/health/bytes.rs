//! Numbers and text out of what a drive delivers. A place that was not delivered reads as zero, as the specifications
//! have it for fields that a drive does not know.

/// `N` bytes from `at` on.
pub(super) fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    for (to, from) in out.iter_mut().zip(bytes.get(at..).unwrap_or_default()) {
        *to = *from;
    }
    out
}

pub(super) fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

pub(super) fn u16_le(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array(bytes, at))
}

pub(super) fn u32_le(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

pub(super) fn u64_le(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}

pub(super) fn u16_be(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

/// A count of 16 bytes; one that is longer than 64 bits stops at the greatest number.
pub(super) fn u128_le(bytes: &[u8], at: usize) -> u64 {
    u64::try_from(u128::from_le_bytes(array(bytes, at))).unwrap_or(u64::MAX)
}

/// A big-endian number of any length; one that is longer than 64 bits stops at the greatest number.
pub(super) fn number_be(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0_u64, |sum, byte| match sum.checked_mul(256) {
        Some(shifted) => shifted | u64::from(*byte),
        None => u64::MAX,
    })
}

/// Printable text of a field that is padded with blanks or zeros; `None` when nothing else is in it.
pub(super) fn text(field: &[u8]) -> Option<String> {
    let plain =
        |b: &u8| if b.is_ascii_graphic() || *b == b' ' { char::from(*b) } else { '\u{fffd}' };
    let end = field.iter().rposition(|b| !matches!(b, 0 | b' ')).map_or(0, |last| last + 1);
    let text: String = field[..end].iter().map(plain).collect();
    let text = text.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    // If a count that does not fit were cut instead of saturated, a full counter would be reported as a small one.
    #[test]
    fn numbers_stop_at_their_greatest() {
        let mut long = [0xff; 16];
        assert_eq!((u128_le(&long, 0), number_be(&long)), (u64::MAX, u64::MAX));
        long[8..].fill(0);
        assert_eq!(u128_le(&long, 0), u64::MAX);
        assert_eq!(number_be(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 2]), 0x102);
        assert_eq!(number_be(&[1, 0, 0, 0, 0, 0, 0, 0, 0]), u64::MAX);
        assert_eq!((u32_le(&[1, 2], 0), u16_be(&[1], 0), byte(&[], 3)), (0x201, 0x100, 0));
    }

    #[test]
    fn text_is_what_can_be_read() {
        assert_eq!(text(b"  S4EV  \0\0"), Some("S4EV".to_owned()));
        assert_eq!(text(b"a\x1b[2J"), Some("a\u{fffd}[2J".to_owned()));
        assert_eq!((text(b"    "), text(&[0; 8]), text(b"")), (None, None, None));
    }
}

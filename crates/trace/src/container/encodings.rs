//! The encodings of Parquet that our columns have (Apache Parquet, "Encodings").
//!
//! All of them decode to 64 bits a value. What is asked for bounds what is made: never what the bytes claim.

use super::thrift::{Thrift, unfold};

/// Appends `count` numbers of `width` bits, in runs and in packed groups of eight.
pub(super) fn hybrid(bytes: &[u8], width: u32, count: usize, to: &mut Vec<u64>) -> Option<()> {
    if width > 32 {
        return None;
    }
    let mut thrift = Thrift::new(bytes);
    let end = to.len() + count;
    while to.len() < end {
        let head = thrift.varint()?;
        let left = end - to.len();
        if head & 1 == 0 {
            let rest = thrift.rest();
            let (value, rest) = rest.split_at_checked(width.div_ceil(8) as usize)?;
            let value = value.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
            let run = usize::try_from(head >> 1).unwrap_or(usize::MAX);
            // One of no length would go on for ever on no bytes.
            if run == 0 {
                return None;
            }
            to.resize(to.len() + run.min(left), value);
            thrift = Thrift::new(rest);
        } else {
            let groups = usize::try_from(head >> 1).ok().filter(|groups| *groups > 0)?;
            let packed = groups.checked_mul(width as usize)?;
            let rest = thrift.rest();
            // The last group may be cut off behind its last value.
            let (values, rest) = rest.split_at_checked(packed).unwrap_or((rest, &[]));
            unpack(values, width, left.min(groups.saturating_mul(8)), to)?;
            thrift = Thrift::new(rest);
        }
    }
    Some(())
}

/// Appends `count` numbers whose differences are packed in blocks.
pub(super) fn delta(bytes: &[u8], count: usize, to: &mut Vec<u64>) -> Option<()> {
    let mut thrift = Thrift::new(bytes);
    let block = usize::try_from(thrift.varint()?).ok()?;
    let parts = usize::try_from(thrift.varint()?).ok().filter(|parts| (1..=64).contains(parts))?;
    let part = block / parts;
    let total = thrift.varint()?;
    if total != count as u64 || part == 0 || part % 32 != 0 || part > 1 << 16 {
        return None;
    }
    let end = to.len() + count;
    let mut value = unfold(thrift.varint()?).cast_unsigned();
    to.push(value);
    while to.len() < end {
        let least = unfold(thrift.varint()?).cast_unsigned();
        let (widths, mut rest) = thrift.rest().split_at_checked(parts)?;
        for width in widths {
            let left = end - to.len();
            if left == 0 {
                break;
            }
            let width = u32::from(*width);
            if width > 64 {
                return None;
            }
            let packed = part / 8 * width as usize;
            // As above.
            let (values, behind) = rest.split_at_checked(packed).unwrap_or((rest, &[]));
            let begin = to.len();
            unpack(values, width, left.min(part), to)?;
            for difference in &mut to[begin..] {
                value = value.wrapping_add(least).wrapping_add(*difference);
                *difference = value;
            }
            rest = behind;
        }
        thrift = Thrift::new(rest);
    }
    Some(())
}

/// Appends `count` numbers of `width` bits, packed side by side, the lowest bit first.
pub(super) fn unpack(bytes: &[u8], width: u32, count: usize, to: &mut Vec<u64>) -> Option<()> {
    let width = width as usize;
    if bytes.len() < (count * width).div_ceil(8) {
        return None;
    }
    if width == 0 {
        to.resize(to.len() + count, 0);
        return Some(());
    }
    let mask = u64::MAX >> (64 - width);
    to.extend((0..count).map(|number| {
        let bit = number * width;
        let (at, shift) = (bit / 8, bit % 8);
        let low = eight(bytes, at) >> shift;
        // Nine bytes may hold what eight do not.
        let high = if shift + width > 64 { eight(bytes, at + 8) << (64 - shift) } else { 0 };
        (low | high) & mask
    }));
    Some(())
}

/// Appends `count` numbers of `size` bytes each.
pub(super) fn plain(bytes: &[u8], size: usize, count: usize, to: &mut Vec<u64>) -> Option<()> {
    let bytes = bytes.get(..count.checked_mul(size)?)?;
    let whole = |value: &[u8]| value.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
    to.extend(bytes.chunks_exact(size).map(whole));
    Some(())
}

/// Up to eight bytes from `at` on; zeroes for those that are not there.
fn eight(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    match rest.first_chunk::<8>() {
        Some(all) => u64::from_le_bytes(*all),
        None => rest.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(decode: impl FnOnce(&mut Vec<u64>) -> Option<()>) -> Option<Vec<u64>> {
        let mut values = Vec::new();
        decode(&mut values).map(|()| values)
    }

    // The examples of Parquet's own description of its encodings: if one failed, other software's reading of our
    // files and ours would differ.
    #[test]
    fn the_examples_of_the_format_are_decoded() {
        // 0 to 7 in three bits each, packed, and a run of four 4s.
        let packed = [3, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        assert_eq!(decoded(|to| hybrid(&packed, 3, 8, to)), Some((0..8).collect()));
        assert_eq!(decoded(|to| hybrid(&[8, 4], 3, 4, to)), Some(vec![4; 4]));
        // 1 to 5: the first, then differences of 1 that take no bits.
        let deltas = [128, 1, 4, 5, 2, 2, 0, 0, 0, 0];
        assert_eq!(decoded(|to| delta(&deltas, 5, to)), Some(vec![1, 2, 3, 4, 5]));
        // 7 5 3 1 2 3 4 5: differences from -2, in two bits: 0 0 0 3 3 3 3.
        let packed = [128, 1, 4, 8, 14, 3, 2, 0, 0, 0, 0b1100_0000, 0b0011_1111, 0, 0, 0, 0, 0, 0];
        assert_eq!(decoded(|to| delta(&packed, 8, to)), Some(vec![7, 5, 3, 1, 2, 3, 4, 5]));
    }

    // A claim of more than there is ends in a refusal, and not in memory.
    #[test]
    fn claims_are_not_believed() {
        assert_eq!(decoded(|to| hybrid(&[0xff, 0xff, 0xff, 0xff, 0x0f], 1, 10, to)), None);
        assert_eq!(decoded(|to| hybrid(&[0, 1], 1, 10, to)), None);
        assert_eq!(decoded(|to| hybrid(&[8, 1], 33, 4, to)), None);
        assert_eq!(decoded(|to| delta(&[128, 1, 4, 0xff, 0xff, 3, 0], 5, to)), None);
        assert_eq!(decoded(|to| delta(&[128, 1, 0, 5, 2], 5, to)), None);
        assert_eq!(decoded(|to| delta(&[128, 1, 4, 5, 2, 2, 65, 0, 0, 0], 5, to)), None);
        assert_eq!(decoded(|to| plain(&[1, 2, 3], 2, 2, to)), None);
    }

    #[test]
    fn any_width_is_unpacked() {
        for width in 1..=64_u32 {
            let values: Vec<u64> = (1..40_u64)
                .map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - width))
                .collect();
            let mut bits: Vec<bool> = Vec::new();
            for value in &values {
                bits.extend((0..width).map(|bit| value >> bit & 1 == 1));
            }
            let byte =
                |bits: &[bool]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
            let bytes: Vec<u8> = bits.chunks(8).map(byte).collect();
            assert_eq!(
                decoded(|to| unpack(&bytes, width, values.len(), to)),
                Some(values),
                "{width}"
            );
        }
    }
}

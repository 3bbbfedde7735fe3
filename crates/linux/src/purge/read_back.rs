//! Whether what a drive held is still there: the same places read before and after.
//!
//! Places are the first and the last MiB, where tables and superblocks lie, and one at random in each of equal strata
//! of the whole. A place that read as nothing but zeros or ones before shows nothing afterwards; it is counted apart.

use std::io;

use block::Bytes;
use serde::{Deserialize, Serialize};

/// Strata of the whole, with a place in each.
pub const STRATA: u64 = 512;

/// Minimum length read at a place.
pub const PLACE_BYTES: u64 = 4096;

/// Both ends are read in full for this long.
const END_BYTES: u64 = 1 << 20;

/// Probability that the bound on the share that is kept holds.
const CONFIDENCE: f64 = 0.95;

/// A place, in bytes from the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Offset of its first byte.
    pub offset: Bytes,
    /// Its length.
    pub len: Bytes,
    /// True for a place drawn at random.
    pub is_drawn: bool,
}

/// Places to be read on a drive of this size, in the order of their offsets and without two that overlap. `seed` draws
/// them: a drive cannot know beforehand where it will be asked.
pub fn places(size: Bytes, logical_block: Bytes, seed: u64) -> Vec<Place> {
    let len = PLACE_BYTES.max(logical_block.0);
    let count = size.0 / len;
    let end = (END_BYTES / len).min(count);
    let ends = (0..end).chain(count.saturating_sub(end).max(end)..count);
    let place =
        |index: u64, is_drawn| Place { offset: Bytes(index * len), len: Bytes(len), is_drawn };
    let mut places: Vec<Place> = ends.map(|index| place(index, false)).collect();
    let (first, rest) = (end, count.saturating_sub(2 * end));
    let strata = STRATA.min(rest);
    let mut random = seed;
    for stratum in 0..strata {
        // In 128 bits: the product of a large drive's places and the strata does not fit into 64.
        let edge = |n: u64| (u128::from(rest) * u128::from(n) / u128::from(strata)) as u64;
        let (from, to) = (edge(stratum), edge(stratum + 1));
        places.push(place(first + from + next(&mut random) % (to - from), true));
    }
    places.sort_by_key(|place| place.offset);
    places
}

/// SplitMix64: as good as any where a draw needs no more than not to be foreseen.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Content read at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing but this byte, 00h or FFh.
    Blank(u8),
    /// Something else.
    Data(Vec<u8>),
    /// It could not be read.
    Unreadable,
}

/// Reads places, each by `read`, which fills a buffer from an offset.
pub fn look(
    places: &[Place],
    read: &mut dyn FnMut(Bytes, &mut [u8]) -> io::Result<()>,
) -> Vec<Content> {
    let one = |place: &Place| {
        let mut buffer = vec![0; place.len.0 as usize];
        match read(place.offset, &mut buffer) {
            Err(_) => Content::Unreadable,
            Ok(()) => match buffer.first() {
                Some(&byte @ (0x00 | 0xff)) if buffer.iter().all(|b| *b == byte) => {
                    Content::Blank(byte)
                }
                _ => Content::Data(buffer),
            },
        }
    };
    places.iter().map(one).collect()
}

/// Content that a method promises for reads after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Promise {
    /// Zeros.
    Zeros,
    /// No longer what was there.
    Gone,
    /// Nothing at all.
    Nothing,
}

/// Verdict of reading back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Old data reads as something else.
    Proven,
    /// Something reads as it did before, or not as the method promises.
    Refuted,
    /// It cannot be determined.
    Unprovable,
}

/// Counts of places, and what they show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadBack {
    /// Places that were read.
    pub samples: usize,
    /// Length of each.
    pub sample_bytes: Bytes,
    /// Those that held data before.
    pub held_data_before: usize,
    /// Those of them that read as before.
    pub kept: usize,
    /// Offset of the first of those.
    pub first_kept_at: Option<Bytes>,
    /// Those that read as zeros now.
    pub zeros: usize,
    /// Those that read as ones now.
    pub ones: usize,
    /// Those that cannot be read now.
    pub unreadable: usize,
    /// `zeros` as a share of all, 0 to 1.
    pub zero_share: f64,
    /// Largest share, where none was kept, of the whole drive that may have been, at 95% confidence, by the places
    /// drawn at random that held data.
    pub kept_share_max: Option<f64>,
    /// Verdict on these counts.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}

/// Judges what was read before and after a method that makes this promise.
pub fn judge(
    places: &[Place],
    before: &[Content],
    after: &[Content],
    promise: Promise,
) -> ReadBack {
    let all = || places.iter().zip(before).zip(after).map(|((place, was), is)| (place, was, is));
    let held = |was: &Content| matches!(was, Content::Data(_));
    let count = |what: &dyn Fn(&Content) -> bool| after.iter().filter(|is| what(is)).count();
    let samples = after.len();
    let kept = all().filter(|(_, was, is)| held(was) && was == is);
    let zeros = count(&|is| *is == Content::Blank(0x00));
    let drawn = all().filter(|(place, was, _)| place.is_drawn && held(was)).count();
    let mut result = ReadBack {
        samples,
        sample_bytes: places.first().map_or(Bytes::ZERO, |place| place.len),
        held_data_before: before.iter().filter(|was| held(was)).count(),
        kept: kept.clone().count(),
        first_kept_at: kept.map(|(place, ..)| place.offset).next(),
        zeros,
        ones: count(&|is| *is == Content::Blank(0xff)),
        unreadable: count(&|is| *is == Content::Unreadable),
        zero_share: zeros as f64 / samples.max(1) as f64,
        kept_share_max: None,
        verdict: Verdict::Unprovable,
        reason: String::new(),
    };
    if result.kept == 0 && drawn > 0 {
        result.kept_share_max = Some(1.0 - (1.0 - CONFIDENCE).powf(1.0 / drawn as f64));
    }
    (result.verdict, result.reason) = verdict(&result, promise);
    result
}

fn verdict(seen: &ReadBack, promise: Promise) -> (Verdict, String) {
    let ReadBack { samples, held_data_before: held, kept, zeros, unreadable, .. } = *seen;
    let readable = samples - unreadable;
    let at = seen.first_kept_at.map_or(String::new(), |at| format!(", the first at byte {}", at.0));
    let kept_words = format!("{kept} of {held} places that held data read as they did before{at}");
    let blind =
        (unreadable > 0).then(|| format!("{unreadable} of {samples} places cannot be read"));
    match promise {
        Promise::Nothing if kept > 0 => {
            let reason = format!("{kept_words}; this method never promised to erase anything");
            (Verdict::Unprovable, reason)
        }
        _ if kept > 0 => (Verdict::Refuted, kept_words),
        Promise::Zeros if zeros < readable => {
            let other = readable - zeros;
            (Verdict::Refuted, format!("{other} of {samples} places do not read as zeros"))
        }
        _ if blind.is_some() => (Verdict::Unprovable, blind.unwrap_or_default()),
        _ if samples == 0 => (Verdict::Unprovable, "nothing was read".to_owned()),
        Promise::Zeros => (Verdict::Proven, format!("all {samples} places read as zeros")),
        _ if held == 0 => {
            let reason =
                format!("none of {samples} places held data before: there was nothing to lose");
            (Verdict::Unprovable, reason)
        }
        _ => (Verdict::Proven, gone(seen)),
    }
}

fn gone(seen: &ReadBack) -> String {
    let ReadBack { samples, held_data_before: held, zeros, ones, .. } = *seen;
    let now = match (zeros, ones) {
        (zeros, _) if zeros == samples => "all read as zeros".to_owned(),
        (_, ones) if ones == samples => "all read as ones".to_owned(),
        _ => format!("{zeros} of {samples} read as zeros and {ones} as ones"),
    };
    let bound = seen.kept_share_max.map_or(String::new(), |share| {
        format!("; at 95% confidence no more than {:.1}% of the drive is kept", share * 100.0)
    });
    format!("none of {held} places that held data reads as before, and {now}{bound}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        // A place beyond the end cannot be read, and two that overlap count one byte twice.
        #[test]
        fn places_lie_within_apart_and_at_both_ends(
            size in 0_u64..1 << 50, shift in 9_u32..17, seed in any::<u64>(),
        ) {
            let block = 1_u64 << shift;
            let len = block.max(PLACE_BYTES);
            let size = size / block * block;
            let places = places(Bytes(size), Bytes(block), seed);
            let mut end = 0;
            for place in &places {
                prop_assert!(place.offset.0 >= end && place.len.0 == len);
                prop_assert_eq!(place.offset.0 % block, 0);
                end = place.offset.0 + place.len.0;
            }
            prop_assert!(end <= size);
            let whole = size / len;
            if whole > 0 {
                prop_assert_eq!(places[0].offset.0, 0);
                prop_assert_eq!(end, whole * len);
            }
            if whole > 4 * (END_BYTES / len) + STRATA {
                let drawn = places.iter().filter(|place| place.is_drawn).count() as u64;
                prop_assert_eq!(drawn, STRATA);
            }
        }
    }

    fn drive(bytes: u8) -> Vec<Content> {
        let at = places(Bytes(64 << 20), Bytes(512), 7);
        look(&at, &mut |offset, buffer| {
            let noise = offset.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
            buffer
                .iter_mut()
                .for_each(|b| *b = if bytes == 0 { 0 } else { bytes ^ noise as u8 | 1 });
            buffer[0] = bytes;
            Ok(())
        })
    }

    fn judged(before: &[Content], after: &[Content], promise: Promise) -> ReadBack {
        judge(&places(Bytes(64 << 20), Bytes(512), 7), before, after, promise)
    }

    // The one thing that this is for: a drive that says that it erased, and did not.
    #[test]
    fn what_reads_as_before_refutes_a_promise_and_only_a_promise() {
        let (before, zeros) = (drive(0x5a), drive(0));
        let gone = judged(&before, &zeros, Promise::Gone);
        assert_eq!(gone.verdict, Verdict::Proven, "{}", gone.reason);
        assert_eq!((gone.samples, gone.kept, gone.zero_share), (1024, 0, 1.0));
        // Of a share of 0.58% 512 places would have shown one with 95%.
        let bound = gone.kept_share_max.unwrap();
        assert!((0.0058..0.0059).contains(&bound), "{bound}");

        let kept = judged(&before, &before, Promise::Gone);
        assert_eq!((kept.verdict, kept.kept), (Verdict::Refuted, 1024), "{}", kept.reason);
        assert_eq!(kept.first_kept_at, Some(Bytes(0)));
        let silent = judged(&before, &before, Promise::Nothing);
        assert_eq!(silent.verdict, Verdict::Unprovable, "{}", silent.reason);

        let mut one = zeros.clone();
        one[1000] = before[1000].clone();
        let kept = judged(&before, &one, Promise::Gone);
        assert_eq!((kept.verdict, kept.kept), (Verdict::Refuted, 1), "{}", kept.reason);
    }

    #[test]
    fn what_cannot_show_anything_proves_nothing() {
        let (data, zeros) = (drive(0x5a), drive(0));
        let blank = judged(&zeros, &zeros, Promise::Gone);
        assert_eq!(blank.verdict, Verdict::Unprovable, "{}", blank.reason);
        assert_eq!(judged(&zeros, &zeros, Promise::Zeros).verdict, Verdict::Proven);
        // Scrambled is gone, but no zeros.
        let scrambled = drive(0xa4);
        assert_eq!(judged(&data, &scrambled, Promise::Gone).verdict, Verdict::Proven);
        assert_eq!(judged(&data, &scrambled, Promise::Zeros).verdict, Verdict::Refuted);
        let mut blind = zeros.clone();
        blind[3] = Content::Unreadable;
        assert_eq!(judged(&data, &blind, Promise::Gone).verdict, Verdict::Unprovable);
        assert_eq!(judged(&data, &blind, Promise::Zeros).verdict, Verdict::Unprovable);
        assert_eq!(judge(&[], &[], &[], Promise::Zeros).verdict, Verdict::Unprovable);
    }
}

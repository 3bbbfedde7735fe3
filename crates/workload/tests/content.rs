//! Written data must cost the drive what the plan says: not compress, not repeat, unless asked to.

use std::collections::HashSet;

use block::{Bytes, Payload};
use drivescope_workload::content::SectorContent;
use drivescope_workload::plan::Content;
use miniz_oxide::deflate::compress_to_vec;

fn content(compressible_percent: u8, dedup_percent: u8) -> Content {
    Content { compressible_percent, dedup_percent }
}

/// Data that `payload` writes in `count` writes of `block` bytes, one after the other, into one buffer
/// that still holds the write before.
fn written(payload: &mut SectorContent, block: usize, count: usize) -> Vec<u8> {
    let mut buffer = vec![0xa5; block];
    let mut all = Vec::with_capacity(block * count);
    for index in 0..count {
        payload.fill(Bytes((index * block) as u64), &mut buffer);
        all.extend_from_slice(&buffer);
    }
    all
}

/// Compressed by plain size, each `unit` on its own, as stores do it.
fn ratio(data: &[u8], unit: usize) -> f64 {
    let compressed: usize = data.chunks(unit).map(|c| compress_to_vec(c, 6).len()).sum();
    compressed as f64 / data.len() as f64
}

#[test]
fn by_default_nothing_compresses() {
    // 128 KiB is the unit of Btrfs and, by default, of ZFS; it holds the pool of 32 KiB four times, and
    // deflate's window reaches back far enough to find repeats of it.
    for block in [4096, 128 << 10, 1 << 20] {
        let mut payload = SectorContent::new(content(0, 0), 9, 0);
        let data = written(&mut payload, block, (2 << 20) / block);
        for unit in [4096, 128 << 10] {
            let ratio = ratio(&data, unit);
            assert!((0.98..1.02).contains(&ratio), "{block}, by {unit}: {ratio}");
        }
    }
}

#[test]
fn no_compressor_with_a_longer_memory_finds_repeats_either() {
    // Long-range matchers look for equal strings at any distance: not even 8 aligned bytes repeat in
    // 16 MiB, 512 times the pool.
    let mut payload = SectorContent::new(content(0, 0), 9, 0);
    let data = written(&mut payload, 1 << 20, 16);
    let words: HashSet<&[u8; 8]> = data.as_chunks::<8>().0.iter().collect();
    assert_eq!(words.len(), data.len() / 8);
    let mut counts = [0u32; 256];
    data.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    assert!(
        counts.iter().all(|n| n.abs_diff(65_536) < 1_600),
        "each byte equally often: {counts:?}"
    );
}

#[test]
fn no_two_sectors_are_ever_alike() {
    // Over submitters, sizes, repeated writes to one place and a new run's seed.
    let mut seen = HashSet::new();
    let mut total = 0;
    for (seed, submitter) in [(1, 0), (1, 1), (1, 63), (2, 0), (2, 1)] {
        let mut payload = SectorContent::new(content(0, 0), seed, submitter);
        let mut buffer = vec![0; 1 << 20];
        for size in [512, 512, 1024, 4096, 4096, 3 * 512, 68 << 10, 1 << 20, 512, 1 << 20] {
            payload.fill(Bytes(8192), &mut buffer[..size]);
            for sector in buffer[..size].chunks(512) {
                total += 1;
                // The first word alone is unique within a run.
                assert!(seen.insert((seed, sector[..8].to_vec())), "{seed} {submitter} {size}");
                assert!(seen.insert((u64::MAX, sector.to_vec())));
            }
        }
    }
    assert_eq!(seen.len(), 2 * total);
}

#[test]
fn all_of_a_compressible_plan_leaves_unique_sectors() {
    let mut payload = SectorContent::new(content(100, 0), 1, 0);
    let data = written(&mut payload, 4096, 500);
    let sectors: HashSet<&[u8]> = data.chunks(512).collect();
    assert_eq!(sectors.len(), 4000);
    assert!(data.chunks(512).all(|s| s[8..].iter().all(|byte| *byte == 0)));
}

#[test]
fn compression_comes_near_its_knob() {
    for percent in [10, 25, 50, 75, 90] {
        let mut payload = SectorContent::new(content(percent, 0), 3, 0);
        let data = written(&mut payload, 64 << 10, 32);
        let zeros = data.iter().filter(|byte| **byte == 0).count() as f64 / data.len() as f64;
        let wanted = f64::from(percent) / 100.0;
        assert!((zeros - wanted).abs() < 0.007, "{percent}: {zeros} zeros");
        for unit in [4096, 128 << 10] {
            let saved = 1.0 - ratio(&data, unit);
            assert!((saved - wanted).abs() < 0.03, "{percent} by {unit}: {saved}");
        }
    }
}

#[test]
fn repeats_come_near_their_knob_and_lie_close_by() {
    for percent in [0, 30, 50, 100] {
        for block in [4096, 1 << 20] {
            let mut payload = SectorContent::new(content(0, percent), 4, 2);
            let data = written(&mut payload, block, (32 << 20) / block);
            let blocks = data.len() / 4096;
            let distinct = data.chunks(4096).collect::<HashSet<_>>().len();
            let repeated = 1.0 - distinct as f64 / blocks as f64;
            let wanted = f64::from(percent) / 100.0;
            assert!((repeated - wanted).abs() < 0.025, "{percent} in {block}: {repeated}");
        }
    }
    let mut payload = SectorContent::new(content(0, 50), 4, 2);
    let data = written(&mut payload, 1 << 20, 32);
    let mut last = std::collections::HashMap::new();
    for (index, block) in data.chunks(4096).enumerate() {
        if let Some(before) = last.insert(block, index) {
            assert!(index - before < 20 * 1024, "an overwritten block would be no repeat");
        }
    }
}

#[test]
fn parts_of_blocks_never_repeat() {
    // A store that deduplicates 4 KiB at multiples of 4 KiB could not use them.
    let mut payload = SectorContent::new(content(0, 100), 4, 0);
    let mut seen = HashSet::new();
    let mut buffer = vec![0; 4096];
    for (offset, size) in [(0, 512), (512, 4096), (4096, 2048), (1024, 4096), (8192, 512)] {
        payload.fill(Bytes(offset), &mut buffer[..size]);
        for sector in buffer[..size].chunks(512) {
            assert!(seen.insert(sector.to_vec()), "{size} at {offset}");
        }
    }
}

#[test]
fn what_the_buffer_held_does_not_matter() {
    // Reads leave their data in the same buffers, and another run may have written that before.
    for knobs in [content(0, 0), content(60, 40)] {
        let make = |buffers: [u8; 2]| {
            let mut payload = SectorContent::new(knobs, 8, 5);
            let mut all = Vec::new();
            for (index, fill) in buffers.into_iter().enumerate() {
                let mut buffer = vec![fill; 12 << 10];
                payload.fill(Bytes(index as u64 * 4096), &mut buffer);
                all.extend(buffer);
            }
            all
        };
        assert_eq!(make([0, 0]), make([0xff, 0x5a]));
    }
}

#[test]
fn lengths_that_are_no_whole_sectors_are_filled_to_the_end() {
    for knobs in [content(0, 0), content(50, 0)] {
        for len in [0, 1, 7, 8, 9, 511, 513, 4097, 5000] {
            let fill = |value: u8| {
                let mut payload = SectorContent::new(knobs, 8, 5);
                let mut buffer = vec![value; len];
                payload.fill(Bytes(0), &mut buffer);
                buffer
            };
            assert_eq!(fill(0), fill(0xff), "{len}");
        }
    }
}

// A write that is prepared and does not come must leave no trace in those after it, repeats included.
#[test]
fn what_is_rewound_is_made_again() {
    for dedup_percent in [0, 50] {
        let (mut plain, mut tried) = (
            SectorContent::new(content(0, dedup_percent), 9, 3),
            SectorContent::new(content(0, dedup_percent), 9, 3),
        );
        let mut wanted = written(&mut plain, 64 << 10, 4);
        assert_eq!(written(&mut tried, 64 << 10, 4), wanted);
        tried.mark();
        for blocks in [1, 40, 100] {
            tried.fill(Bytes(0), &mut vec![0; blocks * 4096]);
            tried.rewind();
        }
        wanted = written(&mut plain, 64 << 10, 16);
        assert_eq!(written(&mut tried, 64 << 10, 16), wanted, "{dedup_percent}% repeats");
    }
}

#[test]
fn the_content_of_a_seed_is_frozen() {
    // Later versions must be able to recognize what an earlier one wrote. Computed by frozen.py.
    let mut payload = SectorContent::new(content(0, 0), 5, 3);
    let mut buffer = vec![0; 1024];
    payload.fill(Bytes(0), &mut buffer);
    let words: Vec<u64> =
        buffer.as_chunks::<8>().0.iter().map(|w| u64::from_le_bytes(*w)).collect();
    assert_eq!(
        [words[0], words[1], words[63], words[64], words[127]],
        [
            0xc469_af94_ba4b_01ea,
            0x3575_dafd_be7b_309b,
            0x4399_c210_0493_31c1,
            0xe0eb_b788_48c0_eeb4,
            0xde5f_938c_867c_4599
        ]
    );
}

//! Disks at the ends of what a model may state.

use crate::common;
use crate::common::{MIB, random, request, run_requests, virtual_hdd};
use block::{Nanos, Op, Request, Target};
use drivescope_sim::{SimError, open};
use proptest::prelude::*;

/// Reads and writes everywhere, forced or not, to the last block, and flushes; all must complete.
fn exercise(overrides: &str) {
    let mut target = virtual_hdd(overrides);
    let (capacity, block) = (target.info().capacity_bytes.0, target.info().logical_block_bytes.0);
    let mut count = 0;
    let mut place = random(1, 0, capacity, block);
    let samples = run_requests(&mut target, 4, Nanos::secs(40), |slot| {
        count += 1;
        let op = [Op::Read, Op::Write, Op::Read, Op::Write, Op::Flush][count % 5];
        let offset = if count % 7 == 0 { capacity - block } else { place(slot) };
        let len = if count % 3 == 0 { block } else { (capacity - offset).min(MIB) };
        Request { fua: count % 4 == 0, ..request(op, offset, len, slot) }
    });
    assert!(samples.len() > 3, "{overrides}: only {} completed", samples.len());
    for sample in &samples {
        let expected = if sample.op == Op::Flush { 0 } else { sample.len };
        assert_eq!(sample.outcome.bytes().unwrap().0, expected, "{overrides}: {sample:?}");
    }
    let media = target.media();
    let served = media.cache_taken_write_bytes + media.medium_served_write_bytes;
    assert!(served.0 > 0 && media.medium_read_bytes.0 > 0, "{overrides}: {media:?}");
}

// Breaks when some value that the model's check lets pass makes the drive stall, panic or lose a request.
#[test]
fn a_disk_works_at_either_end_of_each_parameter() {
    for overrides in [
        "?capacity=1MiB",
        "?capacity=1MiB&geometry.heads=64&geometry.zones=256",
        "?capacity=1024TiB",
        "?capacity=1024TiB&geometry.rpm=60000&geometry.heads=64",
        "?capacity=1GiB&geometry.zones=1&geometry.heads=1",
        "?capacity=64MiB&geometry.inner_sectors_per_track=8&geometry.outer_sectors_per_track=8",
        "?geometry.outer_sectors_per_track=100000",
        "?geometry.physical_block_bytes=512",
        "?geometry.physical_block_bytes=65536&geometry.logical_block_bytes=4096&capacity=4TB",
        "?geometry.rpm=600",
        "?geometry.rpm=60000&geometry.head_switch_ns=0&geometry.cylinder_switch_ns=0&seek.guard_ns=0",
        "?geometry.head_switch_ns=8333333&geometry.cylinder_switch_ns=8333333",
        "?seek.guard_ns=8333333",
        "?seek.settle_jitter_ns=1910000",
        "?memory.segments=1&memory.read_ahead_bytes=0",
        "?memory.segment_bytes=4096&memory.read_ahead_bytes=4096&memory.read_bytes=4096",
        "?memory.read_ahead_bytes=16777216",
        "?memory.write_bytes=262144&schedule.destage_chunk_bytes=4096&memory.write_runs=1",
        "?schedule.queue_depth=1&schedule.age_limit_ns=1&schedule.destage_window=1",
        "?schedule.queue_depth=65535&schedule.destage_window=65535",
        "?link.bytes_per_s=1000000",
        "?link.command_ns=1&link.command_jitter_ns=0&link.access_ns=0",
    ] {
        for cache in ["write_back", "write_through"] {
            exercise(&format!("{overrides}&write_cache={cache}"));
        }
    }
}

// Breaks when a disk that cannot be is made all the same, or is refused without its key: 2^41 sectors at 8 a
// track and 600 turns a minute would take longer to read than 64 bits of nanoseconds.
#[test]
fn impossible_disks_are_refused_with_the_key() {
    let slow = "geometry.rpm=600&geometry.heads=1&geometry.physical_block_bytes=512\
        &geometry.outer_sectors_per_track=8&geometry.inner_sectors_per_track=8\
        &geometry.cylinder_switch_ns=100000000&capacity=1024TiB";
    for (query, key, words) in [
        (slow, "capacity", "292 years"),
        ("capacity=0", "capacity", "`0` is less than the physical block, 4096 bytes"),
        ("capacity=1044480", "capacity", "outside 1048576"),
        ("capacity=1025TiB", "capacity", "outside 1048576"),
        ("capacity=18446744073709551615B", "capacity", "too large"),
        ("capacity=1MiB&geometry.zones=1", "geometry.zones", "too few"),
        ("identity.temperature_c=nan", "identity.temperature_c", "outside -100"),
        ("identity.temperature_c=inf", "identity.temperature_c", "outside -100"),
        ("geometry.rpm=7200.5", "geometry.rpm", "is not a whole number"),
        ("geometry.heads=-1", "geometry.heads", "`-1` is not a whole number"),
        ("geometry.rpm.x=1", "geometry.rpm.x", "`rpm` is a field and no table"),
        ("geometry.=1", "geometry.", "there is no field"),
        ("memory.write_cache=1", "memory.write_cache", ""),
        ("memory.segments=65537", "memory.segments", "outside 1 to 65536"),
    ] {
        match open(&format!("sim:hdd-7200?{query}")) {
            Err(SimError::Override { key: at, what }) => {
                assert_eq!(at, key, "{query}: {what}");
                assert!(what.contains(words), "{query}: {what}");
            }
            other => panic!("{query}: {other:?}"),
        }
    }
}

/// Values of the parameters that decide about arithmetic: about half of such disks can be.
fn any_overrides() -> impl Strategy<Value = String> {
    let size = prop_oneof![1_u64 << 20..1 << 30, 1_u64 << 30..1 << 51];
    let sectors = || prop_oneof![7_u64..20, 8_u64..100_001];
    let parts = (
        size,
        590_u64..60_100,
        1_u64..65,
        1_u64..257,
        [sectors(), sectors()],
        [9_u32..17, 9_u32..17],
        [1_u64..60_000_000, 1_u64..60_000_000, 1_u64..60_000_000],
    );
    parts.prop_map(|(size, rpm, heads, zones, mut sectors, mut blocks, mut times)| {
        sectors.sort_unstable();
        blocks.sort_unstable();
        times.sort_unstable();
        let ([inner, outer], [one, average, full]) = (sectors, times);
        let [logical, physical] = blocks.map(|power| 1_u64 << power);
        format!(
            "geometry.logical_block_bytes={logical}&geometry.physical_block_bytes={physical}\
             &capacity={size}&geometry.rpm={rpm}&geometry.heads={heads}&geometry.zones={zones}\
             &geometry.outer_sectors_per_track={outer}&geometry.inner_sectors_per_track={inner}\
             &seek.track_to_track_ns={one}&seek.average_ns={average}&seek.full_stroke_ns={full}\
             &seek.settle_jitter_ns=0&geometry.head_switch_ns=0&geometry.cylinder_switch_ns=900000\
             &seek.guard_ns=0&memory.read_ahead_bytes=65536"
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    // Breaks when overrides make the model overflow or divide by zero instead of naming what is wrong; or
    // when a disk that is let pass cannot serve its first and last blocks.
    #[test]
    fn any_geometry_is_either_refused_or_works(overrides in any_overrides()) {
        match open(&format!("sim:hdd-7200?{overrides}")) {
            Err(SimError::Override { what, .. }) => prop_assert!(!what.is_empty()),
            Err(other) => prop_assert!(false, "{other}"),
            Ok(mut target) => {
                let (capacity, block) =
                    (target.info().capacity_bytes.0, target.info().logical_block_bytes.0);
                let last = capacity - block;
                for offset in [0, last, 0] {
                    let read = common::reads_of(&mut target, std::iter::once(offset), block);
                    prop_assert_eq!(read[0].outcome.bytes().unwrap().0, block);
                }
            }
        }
    }
}

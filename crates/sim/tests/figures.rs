//! The figures of `sim:hdd-7200` compared with those of the disks that it represents, and with what its
//! own geometry requires.

use crate::common::{
    GIB, Load, MIB, disk, mb_per_s, random, reads_of, run, shared_cursor, virtual_hdd,
};
use block::{Bytes, Nanos, Target};

/// SEQ1M reads of the disks modelled: 175–180 MB/s; 3% beyond on either side.
const SEQUENTIAL_MB_S: std::ops::RangeInclusive<f64> = 0.97 * 175.0..=1.03 * 180.0;

// Breaks when read-ahead stops between two requests of a reader at depth 1 (a turn lost a request:
// 75 MB/s), when the skew does not cover a switch (a turn lost a track: 95 MB/s), or when depth
// makes the drive read anything twice.
#[test]
fn sequential_reads_run_at_the_media_rate_at_every_depth() {
    for (depth, seed) in [(1, 1), (8, 2), (32, 3)] {
        let mut target = virtual_hdd(&format!("?seed={seed}"));
        let samples =
            run(&mut target, Load::read(MIB, depth, Nanos::secs(5)), shared_cursor(0, GIB, MIB));
        let rate = mb_per_s(&samples);
        assert!(SEQUENTIAL_MB_S.contains(&rate), "Q{depth}: {rate:.1} MB/s");
        let read = target.media().medium_read_bytes.0;
        let returned: u64 = samples.iter().map(|s| s.len).sum();
        assert!(read < returned + 8 * MIB, "Q{depth}: {read} read for {returned} returned");
    }
}

// Breaks when an access costs another time than on the disks modelled (CrystalDiskMark: 0.59–0.60
// MB/s at depth 1), or when the queue is not used to shorten it (1.65 MB/s at depth 32).
#[test]
fn random_reads_within_a_gibibyte_match_the_disks_modelled() {
    for (depth, expected) in [(1, 0.60), (32, 1.65)] {
        for seed in 1..=4 {
            let mut target = virtual_hdd(&format!("?seed={seed}"));
            let load = Load::read(4096, depth, Nanos::secs(30));
            let rate = mb_per_s(&run(&mut target, load, random(seed, 0, GIB, 4096)));
            let off = (rate / expected - 1.0).abs();
            assert!(off < 0.05, "Q{depth}, seed {seed}: {rate:.3} MB/s, expected {expected}");
        }
    }
}

// Writes of the disks modelled, CrystalDiskMark: 1.59 MB/s at depth 1 and 1.51–1.52 at depth 32,
// much alike since the cache makes a queue of its own. Breaks when depth matters to cached writes.
#[test]
fn random_writes_are_bound_by_destaging_whatever_the_depth() {
    for depth in [1, 32] {
        let mut target = virtual_hdd("");
        let load = Load::write(4096, depth, Nanos::secs(20));
        run(&mut target, load, random(1, 0, GIB, 4096));
        let rate = mb_per_s(&run(&mut target, load, random(2, 0, GIB, 4096)));
        assert!((1.45..1.65).contains(&rate), "Q{depth}: {rate:.3} MB/s");
    }
}

// Breaks when zones are not laid out as the truth says, or streaming loses time at some zone's track length.
#[test]
fn each_zone_streams_at_its_own_rate_from_outer_to_half_of_it() {
    let truth = drivescope_sim::show("sim:hdd-7200").unwrap().truth.hdd.unwrap();
    assert_eq!(truth.zones.len(), 24);
    let mut rates = Vec::new();
    for zone in [0, 11, 23].map(|index| &truth.zones[index]) {
        let mut target = virtual_hdd("");
        let load = Load::read(MIB, 1, Nanos::secs(3));
        let start = zone.offset_bytes.round_down(Bytes::mib(1)).0 + MIB;
        let rate = mb_per_s(&run(&mut target, load, shared_cursor(start, GIB, MIB)));
        let told = zone.streaming_bytes_per_s as f64 / 1e6;
        assert!((rate / told - 1.0).abs() < 0.01, "{rate:.1} MB/s measured, {told:.1} told");
        rates.push(rate);
    }
    let ratio = rates[0] / rates[2];
    assert!(rates[0] > rates[1] && rates[1] > rates[2], "{rates:?}");
    assert!((1.95..2.05).contains(&ratio), "outer to inner {ratio:.3}");
}

// Breaks when the first sector of a zone does not follow the last one of the zone before at the cylinder's
// skew: streams would lose a turn there, a rate that a mean over the zone hides.
#[test]
fn streams_cross_from_zone_to_zone_without_losing_a_turn() {
    for model in ["hdd-7200", "hdd-sg", "hdd-wd"] {
        let truth = drivescope_sim::show(&format!("sim:{model}")).unwrap().truth.hdd.unwrap();
        let edge = truth.zones[5].offset_bytes.round_down(Bytes::mib(1)).0;
        let forced = Load { fua: true, ..Load::write(MIB, 8, Nanos::secs(1)) };
        let read = Load::read(MIB, 1, Nanos::secs(1));
        for load in [read, Load { depth: 8, ..read }, forced] {
            let mut target = disk(model, "");
            let stream = shared_cursor(edge - 64 * MIB, GIB, MIB);
            let samples = run(&mut target, load, stream);
            // After the first requests, which come at once and where the arm is not.
            let between: Vec<u64> = samples[8..]
                .windows(2)
                .map(|pair| pair[1].completed.since(pair[0].completed).0)
                .collect();
            let longest = between.iter().max().unwrap();
            let slowest = truth.zones[5].streaming_bytes_per_s as f64;
            let limit = MIB as f64 / slowest * 1e9 + truth.rotation_ns as f64 / 2.0;
            assert!((*longest as f64) < limit, "{model}, {load:?}: {longest} ns between two");
            assert!(samples.last().unwrap().offset > edge + 16 * MIB, "the edge was crossed");
        }
    }
}

#[test]
fn what_was_just_read_comes_again_at_link_rate_and_what_was_long_ago_does_not() {
    let mut target = virtual_hdd("");
    reads_of(&mut target, (0..64).map(|i| i * MIB), MIB);
    let before = target.media().medium_served_read_bytes;
    let again = reads_of(&mut target, (56..64).map(|i| i * MIB), MIB);
    assert_eq!(target.media().medium_served_read_bytes, before, "the last 8 MiB are in memory");
    // 1 MiB at 550 MB/s takes 1.91 ms, and the command 60 to 76 µs beside it.
    for sample in &again {
        assert!((1_950_000..2_000_000).contains(&sample.latency_ns()), "{sample:?}");
    }
    let first = reads_of(&mut target, (0..8).map(|i| i * MIB), MIB);
    let waited = target.media().medium_served_read_bytes.0 - before.0;
    assert_eq!(waited, 8 * MIB, "a segment is a window of 16 MiB: the first 8 MiB have left it");
    assert!(mb_per_s(&first) < 200.0);
}

// Breaks when writes do not complete in memory, when memory is endless, or when destaging does not
// keep up with the platters' rate.
#[test]
fn writes_run_at_link_rate_until_memory_is_full_and_then_at_the_media_rate() {
    for depth in [1, 8, 32] {
        let mut target = virtual_hdd("");
        let load = Load::write(MIB, depth, Nanos::secs(8));
        let samples = run(&mut target, load, shared_cursor(0, GIB, MIB));
        let burst = mb_per_s(&samples[..12]);
        // Jitter of the two ends can lend a burst some 0.1% above the link.
        assert!((500.0..=552.0).contains(&burst), "Q{depth}: burst {burst:.1} MB/s");
        let sustained = mb_per_s(&samples[100..]);
        assert!((168.0..182.0).contains(&sustained), "Q{depth}: sustained {sustained:.1} MB/s");
        let held = target.media().cache_taken_write_bytes.0 - target.media().medium_write_bytes.0;
        assert!(held <= 17 * MIB, "memory holds 16 MiB, not {held}");
    }
}

// Breaks when destaging cuts a long run inside a physical block: each cut would cost a turn, and a partition
// that begins at sector 63 five sixths of the rate. Only the two ends of a run are parts of blocks.
#[test]
fn streams_off_the_physical_block_run_at_the_media_rate_too() {
    for depth in [1, 8] {
        let read = Load::read(MIB, depth, Nanos::secs(8));
        for load in [read, Load::write(MIB, depth, Nanos::secs(8))] {
            let mut target = virtual_hdd("");
            let samples = run(&mut target, load, shared_cursor(63 * 512, GIB, MIB));
            let sustained = mb_per_s(&samples[100..]);
            assert!((168.0..182.0).contains(&sustained), "{load:?}: {sustained:.1} MB/s");
        }
    }
}

// Breaks when write-through completes in memory: at depth 1 each request must lose most of a turn,
// since the next arrives after its sector has gone by.
#[test]
fn writes_through_lose_a_turn_each_at_depth_1() {
    let mut target = virtual_hdd("?write_cache=write_through");
    let load = Load::write(MIB, 1, Nanos::secs(5));
    let rate = mb_per_s(&run(&mut target, load, shared_cursor(0, GIB, MIB)));
    assert!((60.0..90.0).contains(&rate), "{rate:.1} MB/s");
    assert_eq!(target.media().cache_taken_write_bytes, Bytes::ZERO);
    assert_eq!(target.info().write_cache, Some(block::WriteCache::WriteThrough));
}

// Breaks when distance costs nothing: a third of the stroke on average, as the data sheets have it,
// is 8.5 ms of seek, 4.2 of turn and 0.7 of electronics.
#[test]
fn random_reads_over_the_whole_disk_pay_for_distance() {
    let mut target = virtual_hdd("");
    let capacity = target.info().capacity_bytes.0;
    let samples =
        run(&mut target, Load::read(4096, 1, Nanos::secs(30)), random(1, 0, capacity, 4096));
    let mean =
        samples.iter().map(|s| s.latency_ns()).sum::<u64>() as f64 / samples.len() as f64 / 1e6;
    assert!((12.4..14.0).contains(&mean), "{mean:.2} ms");
}

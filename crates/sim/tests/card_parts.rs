//! Behaviour of each part of a virtual card, seen from outside and by its own counters.

use crate::common::{MIB, one, reads_of, request, setup};
use crate::flashbench::{open_au, open_au_in, scattered};
use block::{Bytes, Drive, Nanos, Op, Request, Target, Time};
use drivescope_sim::{SimError, VirtualTarget, open, show};

const KIB: u64 = 1 << 10;

fn card(spec: &str) -> VirtualTarget {
    open(&format!("sim:{spec}")).unwrap()
}

/// A card on which each time is its plan.
fn quiet(spec: &str, more: &str) -> VirtualTarget {
    card(&format!("{spec}?link.jitter_ns=0&link.spike_ppm=0{more}"))
}

/// Latency of one I/O, in nanoseconds.
fn time(target: &mut VirtualTarget, op: Op, offset: u64, len: u64) -> u64 {
    let mut lanes = target.open(&setup(1)).unwrap();
    let sample = one(&mut lanes[0], request(op, offset, len, 0));
    assert_eq!(sample.outcome.bytes(), Ok(Bytes(len)), "{op:?} at {offset}");
    sample.latency_ns()
}

/// The last rate of a table of `-O` against its first.
fn slowdown(rows: &[(u64, f64)]) -> f64 {
    rows[0].1 / rows[rows.len() - 1].1
}

// The README warns of it: a card that was never written answers reads in another way.
#[test]
fn what_was_never_written_is_answered_without_the_medium() {
    let mut target = quiet("sdcard-4m", "&state=fresh");
    let empty = time(&mut target, Op::Read, 64 * MIB, KIB);
    assert_eq!(target.media().medium_read_bytes, Bytes::ZERO);
    time(&mut target, Op::Write, 64 * MIB, 4 * MIB);
    let written = time(&mut target, Op::Read, 64 * MIB, KIB);
    assert_eq!(time(&mut target, Op::Read, 80 * MIB, KIB), empty);
    assert_eq!(written, time(&mut quiet("sdcard-4m", ""), Op::Read, 64 * MIB, KIB));
    assert!(written > empty + 60_000, "{written} and {empty} ns");
    assert_eq!(target.media().medium_read_bytes, Bytes(KIB));
}

// Breaks when a merge on a card without old data copies something: a first pass over a new card would
// show a cliff that it has not.
#[test]
fn a_fresh_card_has_nothing_to_copy() {
    let mut fresh = quiet("sdcard-4m", "&state=fresh");
    for unit in [5, 15, 25, 35, 45] {
        time(&mut fresh, Op::Write, unit * 4 * MIB, MIB);
    }
    let media = fresh.media();
    assert_eq!((media.medium_read_bytes.0, media.erases), (0, 0));
    assert_eq!(media.medium_write_bytes, Bytes::mib(5));
    // Opened again and closed by the next but one, a unit is copied as far as it was written before.
    for unit in [5, 55, 65] {
        time(&mut fresh, Op::Write, unit * 4 * MIB + MIB, MIB);
    }
    let media = fresh.media();
    assert_eq!((media.medium_read_bytes, media.erases), (Bytes::mib(1), 1));
    assert_eq!(media.medium_write_bytes, Bytes::mib(8 + 1));
}

// The exact account of a merge: what was not rewritten is copied, the old block erased, no more.
#[test]
fn closing_a_unit_copies_what_was_not_rewritten() {
    let mut target = quiet("sdcard-4m", "");
    let write = |target: &mut VirtualTarget, unit: u64| {
        time(target, Op::Write, unit * 4 * MIB, MIB);
    };
    write(&mut target, 10);
    write(&mut target, 20);
    let before = target.media();
    assert_eq!((before.medium_write_bytes, before.erases), (Bytes::mib(2), 0));
    assert_eq!(before.medium_read_bytes, Bytes::ZERO);
    write(&mut target, 30);
    let after = target.media();
    assert_eq!(after.medium_write_bytes, Bytes::mib(2 + 1 + 3), "the rest of unit 10 is 3 MiB");
    assert_eq!((after.medium_read_bytes, after.erases), (Bytes::mib(3), 1));
    // Of 20 and 30, which are open now, the one left alone longer goes: 30, though it was opened last.
    time(&mut target, Op::Write, 20 * 4 * MIB + MIB, MIB);
    write(&mut target, 40);
    let media = target.media();
    assert_eq!(media.erases, 2);
    time(&mut target, Op::Write, 20 * 4 * MIB + 2 * MIB, MIB);
    assert_eq!(target.media().erases, 2, "20 is still open");
    assert_eq!(media.medium_read_bytes, Bytes::mib(6));
}

#[test]
fn a_unit_rewritten_in_order_costs_no_copy() {
    let mut target = quiet("sdcard-4m", "");
    for block in 0..1024 {
        time(&mut target, Op::Write, 40 * MIB + block * 4 * KIB, 4 * KIB);
    }
    let media = target.media();
    assert_eq!(media.medium_write_bytes, Bytes::mib(4), "small writes fill pages together");
    assert_eq!((media.medium_read_bytes.0, media.erases), (0, 1));
    assert_eq!(media.medium_served_write_bytes, Bytes::mib(4));
}

// Breaks when a part of a page is written without the rest of it.
#[test]
fn a_write_below_a_page_rewrites_the_page() {
    let mut target = quiet("sdcard-4m", "");
    let ends: u64 = 4 * MIB / (16 * KIB);
    for group in 0..ends {
        time(&mut target, Op::Write, 40 * MIB + group * 16 * KIB + 4 * KIB, 4 * KIB);
    }
    let media = target.media();
    // The last group is still being filled; its last 8 KiB come with what is written next.
    assert_eq!(media.medium_write_bytes.0, 4 * MIB - 8 * KIB);
    assert_eq!(media.medium_read_bytes.0, ends * 12 * KIB - 8 * KIB);
    let part = time(&mut target, Op::Write, 8 * MIB + 4 * KIB, 4 * KIB);
    let mut other = quiet("sdcard-4m", "");
    let begin = time(&mut other, Op::Write, 8 * MIB, 4 * KIB);
    // An array read, four codewords, and a quarter of a page programmed once more.
    assert_eq!(part - begin, 60_000 + 4 * 5_000 + 300_000 / 4);
}

#[test]
fn random_writing_has_a_limit_of_its_own() {
    let rate = |overrides: &str, nr, order: fn(u64) -> Vec<u64>| {
        let mut target = quiet("sdcard-4m", overrides);
        slowdown(&open_au_in(&mut target, 4 * MIB, 64 * KIB, nr, order))
    };
    let linear: fn(u64) -> Vec<u64> = |places| (0..places).collect();
    assert!(rate("", 2, linear) < 2.5);
    assert!(rate("", 1, scattered) < 2.5, "one unit may be written at random");
    assert!(rate("", 2, scattered) > 10.0, "and not two");
    assert!(rate("&write.open_au_random=2", 2, scattered) < 2.5);
    assert!(rate("&write.open_au_random=0", 1, linear) < 2.5);
    assert!(rate("&write.open_au_random=0", 1, scattered) > 5.0, "a log in order only");
}

/// Times of 32 KiB, the least of 8 reads each, over `from..to`.
fn scatter(target: &mut VirtualTarget, from: u64, to: u64) -> Vec<u64> {
    let offsets = (from..to).step_by(32 << 10);
    let mut least = vec![u64::MAX; offsets.clone().count()];
    for _ in 0..8 {
        let samples = reads_of(target, offsets.clone(), 32 * KIB);
        for (least, sample) in least.iter_mut().zip(samples) {
            *least = sample.latency_ns().min(*least);
        }
    }
    least
}

/// Groups of times with at least `gap` between them: the middle of each, and how many are in it.
fn bands(mut times: Vec<u64>, gap: u64) -> Vec<(u64, usize)> {
    times.sort_unstable();
    let groups = times.chunk_by(|a, b| b - a < gap);
    groups.map(|group| (group[group.len() / 2], group.len())).collect()
}

// The article's scatter plots: two bands, near 1.65 and 1.75 ms, behind a slower beginning; three bands
// on another stick.
#[test]
fn reads_lie_in_as_many_bands_as_a_cell_has_bits() {
    let mut mlc = card("usb-8m?seed=3");
    let found = bands(scatter(&mut mlc, 8 * MIB, 32 * MIB), 15_000);
    assert_eq!(found.len(), 2, "{found:?}");
    for ((time, count), published) in found.iter().zip([1_650_000.0, 1_750_000.0]) {
        let off = *time as f64 / published - 1.0;
        println!("band at {time} ns, {count} reads, {:+.1}% off", off * 100.0);
        assert!(off.abs() < 0.15 && *count > 300);
    }
    let zone = scatter(&mut mlc, 0, 4 * MIB);
    let slowest = found[1].0;
    assert!(zone.iter().all(|time| *time > slowest + 40_000), "the zone is slower than both bands");

    let found = bands(scatter(&mut card("usb-tlc"), 5 * MIB, 10 * MIB), 15_000);
    assert_eq!(found.len(), 3, "{found:?}");
    let mut slc = quiet("sdcard-4m", "&read.lookup_ns=0");
    assert_eq!(bands(scatter(&mut slc, 8 * MIB, 12 * MIB), 15_000).len(), 1);
}

// Writes of 16 KiB far faster than writes of 32 KiB, which an article called impossible.
#[test]
fn small_writes_go_to_a_log_and_larger_ones_fall_off_the_cliff() {
    let rows = open_au(&mut quiet("card-3m", ""), 3 * MIB, 12 * KIB, 8);
    let rate = |kib| rows.iter().find(|(len, _)| *len == kib * KIB).unwrap().1;
    println!("24 KiB: {:.0} kB/s, 12 KiB: {:.0} kB/s", rate(24) / 1e3, rate(12) / 1e3);
    assert!(rate(12) > 3.0 * rate(24), "{} and {}", rate(12), rate(24));
    let rows = open_au(&mut quiet("card-3m", ""), 3 * MIB, 24 * KIB, 5);
    assert!(slowdown(&rows) < 3.0, "5 units are open at once");
}

#[test]
fn the_log_is_merged_when_the_host_is_quiet_and_not_before() {
    let mut target = quiet("card-3m", "");
    for unit in 0..3 {
        for block in 0..8 {
            time(&mut target, Op::Write, (5 + unit) * 3 * MIB + block * 40 * KIB, 4 * KIB);
        }
    }
    target.pause(Nanos::millis(400));
    assert_eq!(target.media().erases, 0);
    target.pause(Nanos::secs(20));
    assert_eq!(target.media().erases, 3, "one for each unit with small writes");
    let merged = target.media();
    target.pause(Nanos::secs(20));
    assert_eq!(target.media(), merged, "and then it rests");
}

#[test]
fn discard_empties_whole_units() {
    let mut target = quiet("sdcard-4m", "");
    let held = [16, 20, 24].map(|mib| time(&mut target, Op::Read, mib * MIB, KIB));
    time(&mut target, Op::Discard, 18 * MIB, 8 * MIB);
    let now = [16, 20, 24].map(|mib| time(&mut target, Op::Read, mib * MIB, KIB));
    assert!(now[1] < held[1], "20 to 24 MiB are empty");
    assert_eq!(now[0], held[0], "half a unit keeps its data");
    assert_eq!(now[2], held[2]);
    let mut stick = quiet("usb-8m", "");
    let mut lanes = stick.open(&setup(1)).unwrap();
    let refused = one(&mut lanes[0], request(Op::Discard, 0, 8 * MIB, 0));
    assert_eq!(refused.outcome.bytes(), Err(block::Errno(95)));
}

// Breaks when commands overlap: a card would show a depth that it has not.
#[test]
fn commands_are_served_one_by_one_in_order() {
    for depth in [1, 4] {
        let mut target = quiet("usb-8m", &format!("&link.queue_depth={depth}"));
        let alone = time(&mut target, Op::Read, 100 * MIB, 4 * KIB);
        let mut lanes = target.open(&setup(8)).unwrap();
        let requests: Vec<Request> =
            (0..8).map(|slot| request(Op::Read, 100 * MIB, 4 * KIB, slot)).collect();
        let begun = lanes[0].now();
        lanes[0].submit(&requests).unwrap();
        let mut done = Vec::new();
        while done.len() < 8 {
            lanes[0].wait_until(Time::NEVER, &mut done).unwrap();
        }
        let slots: Vec<u16> = done.iter().map(|c| c.slot).collect();
        assert_eq!(slots, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(done[7].completed.since(begun).0, 8 * alone);
    }
}

#[test]
fn memory_for_reads_saves_what_it_holds_and_is_off_by_default() {
    let pair = |more: &str| {
        let mut target = quiet("sdcard-4m", more);
        let first = time(&mut target, Op::Read, 40 * MIB, KIB);
        let again = time(&mut target, Op::Read, 40 * MIB + 2 * KIB, KIB);
        (first, again, target.media().cache_served_read_bytes.0)
    };
    let (first, again, served) = pair("");
    assert_eq!((first, served), (again, 0));
    let (first, again, served) = pair("&read.page_buffer=true");
    assert!(again + 100_000 < first && served == KIB, "{first} and {again} ns, {served} bytes");

    let stream = |more: &str| {
        let mut target = quiet("usb-8m", more);
        let samples = reads_of(&mut target, (0..256).map(|i| 64 * MIB + i * 16 * KIB), 16 * KIB);
        samples.iter().map(|s| s.latency_ns()).sum::<u64>() / 256
    };
    let (plain, ahead) = (stream(""), stream("&read.read_ahead_groups=4"));
    assert!(ahead + 30_000 < plain, "{plain} and {ahead} ns");
}

// The erase block that powers of two do not find.
#[test]
fn an_erase_block_of_three_shows_at_multiples_of_three() {
    let mut target = quiet("card-3m", "");
    let mut across = |mib: u64| {
        let [before, on, after] = [KIB, KIB / 2, 0]
            .map(|before| time(&mut target, Op::Read, mib * MIB - before, KIB) as i64);
        on - (before + after) / 2
    };
    for mib in [63, 64, 65, 66, 128, 129, 192, 256] {
        let step = across(mib);
        // The look-up of a unit is 180 µs beside the group's array read.
        assert_eq!(step > 200_000, mib % 3 == 0, "at {mib} MiB: {step} ns");
    }
}

#[test]
fn a_flush_has_nothing_to_do_and_keeps_its_turn() {
    let mut target = quiet("usb-8m", "");
    let write = time(&mut quiet("usb-8m", ""), Op::Write, 80 * MIB, 16 * KIB);
    let mut lanes = target.open(&setup(2)).unwrap();
    let begun = lanes[0].now();
    lanes[0]
        .submit(&[request(Op::Write, 80 * MIB, 16 * KIB, 0), request(Op::Flush, 0, 0, 1)])
        .unwrap();
    let mut done = Vec::new();
    while done.len() < 2 {
        lanes[0].wait_until(Time::NEVER, &mut done).unwrap();
    }
    assert_eq!((done[0].slot, done[1].slot), (0, 1));
    assert_eq!(done[1].completed.since(begun).0, write + 5_000);
}

// Breaks when the zone's writes open units: a file system's tables would then throw out its files.
#[test]
fn writes_to_the_zone_at_the_beginning_open_no_unit() {
    let mut target = quiet("usb-8m", "");
    let mut in_turns = |second: u64| {
        let mut sum = 0;
        for block in 0..64 {
            time(&mut target, Op::Write, second + block % 8 * 64 * KIB, 16 * KIB);
            sum += time(&mut target, Op::Write, 80 * MIB + block * 16 * KIB, 16 * KIB);
        }
        sum / 64
    };
    let (with_zone, with_unit) = (in_turns(MIB), in_turns(160 * MIB));
    assert!(with_zone + 800_000 < with_unit, "{with_zone} and {with_unit} ns");
}

#[test]
fn what_a_card_cannot_be_is_told_with_its_key() {
    for (query, key, words) in [
        ("capacity=1kB", "capacity", "`1kB` is less than the erase block, 4194304 bytes"),
        ("state=steady", "state", "fresh or filled"),
        ("write_cache=write_back", "write_cache", "no volatile write cache"),
        ("geometry.erase_block_bytes=5000000", "geometry.erase_block_bytes", "not a multiple"),
        ("geometry.page_bytes=3000", "geometry.page_bytes", "power of two"),
        ("geometry.planes=0", "geometry.planes", "outside 1 to 4"),
        ("cells.levels=8", "cells.levels", "cells.read_ns: it has 2 values, and there are 3"),
        ("cells.codeword_bytes=16384", "cells.codeword_bytes", "to the page"),
        ("write.open_au_random=3", "write.open_au_random", "outside 0 to 2"),
        ("write.merge=never", "write.merge", "unknown variant"),
        ("link.queue_depth=0", "link.queue_depth", "outside 1 to 256"),
        ("fat.bytes=1", "fat.bytes", "the field `lookup_ns` is missing"),
    ] {
        match open(&format!("sim:sdcard-4m?{query}")) {
            Err(SimError::Override { key: at, what }) => {
                assert_eq!(at, key);
                assert!(what.contains(words), "{query}: {what}");
            }
            other => panic!("{query}: {other:?}"),
        }
    }
    let error = open("sim:usb-8m?fat.bytes=20000").unwrap_err().to_string();
    assert!(error.contains("fat.bytes") && error.contains("not a multiple of 16384"), "{error}");
    let error = open("sim:card-3m?log.bytes=16384").unwrap_err().to_string();
    assert!(error.contains("log.bytes"), "{error}");
}

#[test]
fn the_truth_of_the_shipped_cards_is_what_was_published_of_them() {
    let truth = |name: &str| show(&format!("sim:{name}")).unwrap().truth;
    let card = truth("sdcard-4m");
    assert_eq!(
        (card.erase_block_bytes, card.page_bytes),
        (Some(Bytes::mib(4)), Some(Bytes::kib(8)))
    );
    assert_eq!((card.planes, card.open_au_linear, card.fat_zone_bytes), (Some(2), Some(2), None));
    let stick = truth("usb-8m");
    assert_eq!(
        (stick.erase_block_bytes, stick.page_bytes),
        (Some(Bytes::mib(8)), Some(Bytes::kib(16)))
    );
    assert_eq!((stick.open_au_linear, stick.fat_zone_bytes), (Some(1), Some(Bytes::mib(4))));
    assert_eq!((stick.cell_levels, truth("usb-tlc").cell_levels), (Some(4), Some(8)));
    assert_eq!(truth("card-3m").erase_block_bytes, Some(Bytes::mib(3)));
    for name in ["sdcard-4m", "usb-8m", "usb-tlc", "card-3m"] {
        let truth = truth(name);
        assert_eq!(truth.initial_state.as_deref(), Some("filled"));
        assert_eq!(truth.real_capacity_bytes, Some(card_capacity(name)));
        assert!(truth.card.unwrap().reads_show_boundaries);
    }
    let fresh = show("sim:usb-8m?state=fresh&capacity=2GB").unwrap();
    assert_eq!(fresh.truth.initial_state.as_deref(), Some("fresh"));
    assert_eq!(fresh.info.capacity_bytes, Bytes(2_000_000_000 / (8 * MIB) * 8 * MIB));
}

fn card_capacity(name: &str) -> Bytes {
    card(name).info().capacity_bytes
}

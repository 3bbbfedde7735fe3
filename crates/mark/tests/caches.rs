//! Caches above the drive and in it: each way they can be mistaken for a drive, from runs made up for it.

mod world;

use block::{ArcCounters, Bytes, Layer, Medium, Nanos, Stack, WriteCache};
use drivescope_mark::cache::{Answer, Found, Held};
use drivescope_mark::{Body, Direction};
use stats::remedy::Run;
use stats::{Evidence, Remedy, Verdict};
use world::*;

/// Breaks when ZFS's cache is mistaken for a drive; when a dataset that keeps no data in it is refuted all the same, so that
/// no remedy is left; or when the remedy does not name the dataset.
#[test]
fn zfs_is_judged_by_what_its_cache_fetched() {
    let on_zfs = |hits: u64, misses: u64, prefetched: u64, page_cache: bool| {
        let mut world = World::sound().each(|_, run| {
            run.before.arc = Some(ArcCounters::default());
            run.after.arc = Some(ArcCounters {
                demand_data_hits: hits,
                demand_data_misses: misses,
                prefetch_data_misses: prefetched,
            });
            run.before.devices.clear();
            run.after.devices.clear();
        });
        let told = [("source", "tank/home"), ("version", "2.2.6-1"), ("direct_io", "ignored")];
        let attributes = told.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let page_cache = page_cache.then(|| "ARC".to_owned());
        let layer = Layer { kind: "zfs".to_owned(), page_cache, attributes, ..Layer::default() };
        world.stack = Stack { layers: vec![layer], leaves: vec![leaf(Medium::Unknown)] };
        world.body()
    };
    let verdict = |body: &Body| body.tests[0].proofs.reached.verdict;
    let cached = on_zfs(500, 0, 0, true);
    assert_eq!(verdict(&cached), Verdict::Refuted);
    assert_eq!(
        cached.tests[0].proofs.reached.evidence["arc_data_lookups"],
        Evidence::Count(8 * 500)
    );
    let codes = ["zfs_cache", "not_reached"];
    for code in codes {
        let caveat = cached.caveats.iter().find(|caveat| caveat.code == code).unwrap();
        let dataset = Some("tank/home".to_owned());
        assert_eq!(caveat.remedy, Remedy::UncachedDataset { dataset });
    }
    assert!(cached.caveats.iter().any(|caveat| caveat.cause.contains("2.2.6-1 ignores O_DIRECT")));
    assert_eq!(verdict(&on_zfs(0, 500, 0, true)), Verdict::Unprovable, "all was fetched");
    assert_eq!(verdict(&on_zfs(490, 10, 490, true)), Verdict::Unprovable, "foreseen, and fetched");
    assert_eq!(verdict(&on_zfs(0, 0, 0, true)), Verdict::Refuted, "nothing was looked up");
    assert_eq!(verdict(&on_zfs(0, 0, 0, false)), Verdict::Unprovable, "direct I/O is honoured");
}

/// Breaks when no doubt says what a file that is written in place lacks, or that there is such a thing.
#[test]
fn a_file_without_copy_on_write_is_told_from_one_with() {
    let on_btrfs = |in_place| {
        let mut world = World::sound();
        world.plan = plan("SEQ1MQ8T1", Direction::Write);
        let layer = Layer { kind: "btrfs".to_owned(), ..Layer::default() };
        world.stack.layers.insert(0, layer);
        world.in_place = in_place;
        world.body()
    };
    let of = |body: &Body, code: &str| body.caveats.iter().find(|c| c.code == code).cloned();
    let (usual, in_place) = (on_btrfs(false), on_btrfs(true));
    assert_eq!(of(&usual, "copy_on_write").unwrap().remedy, Run::NoCopyOnWrite.into());
    assert_eq!(of(&usual, "written_in_place"), None);
    assert!(of(&in_place, "written_in_place").unwrap().cause.contains("without its checksums"));
    assert_eq!(of(&in_place, "copy_on_write"), None);
    assert!(in_place.setup.in_place);
}

/// Result of the cache probe: `served` and `not_served` MiB, in both ways of reading.
fn asked(answer: Answer, served: Option<u64>, not_served: Option<u64>) -> Found {
    let (served_bytes, not_served_bytes) = (served.map(Bytes::mib), not_served.map(Bytes::mib));
    let held = || Held { served_bytes, not_served_bytes, looks: Vec::new() };
    Found {
        answer,
        reason: String::new(),
        in_sequence: held(),
        scattered: held(),
        read_bytes: Bytes::mib(8),
        took_ns: Nanos::secs(1),
    }
}

/// Breaks when a number that the drive's cache made is accepted because the drive does not report its size; or when one of
/// the medium's is withdrawn, or doubted, although the drive was seen to have no such cache.
#[test]
fn pattern_holds_reads_against_a_cache_that_was_found_by_asking() {
    let laps = |found: Found, rotational| {
        let mut world = World::sound().each(|_, run| {
            let slots: Vec<u64> = (0..500).map(|i| i % 64).collect();
            run.audit = audit(MIB, &slots);
            run.audit.slots = 64;
        });
        world.info.rotational = Some(rotational);
        world.cache = Some(found);
        world.test().proofs.pattern.verdict
    };
    let seen = |served, not_served| asked(Answer::Seen, Some(served), not_served);
    for rotational in [true, false] {
        assert_eq!(laps(seen(64, Some(128)), rotational), Verdict::Refuted);
        assert_eq!(laps(seen(16, Some(128)), rotational), Verdict::Unprovable, "between the ends");
        assert_eq!(laps(seen(16, Some(32)), rotational), Verdict::Proven);
        assert_eq!(laps(seen(16, None), rotational), Verdict::Unprovable, "no upper end");
        assert_eq!(laps(asked(Answer::NoneSeen, None, Some(4)), rotational), Verdict::Proven);
    }
    let undecided = || asked(Answer::Undecided, None, None);
    assert_eq!(laps(undecided(), true), Verdict::Unprovable, "a disk may have 256 MiB");
    assert_eq!(laps(undecided(), false), Verdict::Proven);
}

/// Breaks when what a volatile cache takes in passing is shown as a drive's speed of writing without a word; or when writes
/// that were mostly on the medium are doubted.
#[test]
fn pattern_holds_writes_against_the_flush_after_them() {
    let with = |elapsed_per_second: f64, write_cache, told: Option<u64>| {
        let mut world = World::sound().each(|_, run| {
            run.totals.written = Bytes(run.run.bytes);
            run.elapsed_ns = (1e9 * elapsed_per_second) as u64;
        });
        world.plan = plan("SEQ1MQ8T1", Direction::Write);
        world.info.write_cache = Some(write_cache);
        world.info.cache_bytes = told.map(Bytes::mib);
        world.test().proofs.pattern
    };
    let (back, through) = (WriteCache::WriteBack, WriteCache::WriteThrough);
    let swallowed = with(3.0, back, None);
    assert_eq!(swallowed.verdict, Verdict::Unprovable);
    assert!(swallowed.reason.contains("3.0 times as long"), "{}", swallowed.reason);
    assert_eq!(with(3.0, back, Some(1024)).verdict, Verdict::Unprovable);
    assert_eq!(with(3.0, back, Some(64)).verdict, Verdict::Proven, "500 MiB do not fit 64");
    assert_eq!(with(1.1, back, None).verdict, Verdict::Proven);
    assert_eq!(with(3.0, through, None).verdict, Verdict::Proven, "nothing is volatile");
}

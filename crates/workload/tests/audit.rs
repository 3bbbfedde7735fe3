//! The audit against a naive count, against the faults that it is there to expose, and, where it
//! samples, against an exact cache.

mod common;

use std::collections::{HashMap, HashSet};

use block::{Bytes, Op, Time};
use common::{OWN, SHARED, offsets, phase, region, share, step, streams, take};
use drivescope_workload::audit::{Audit, AuditSummary, uniform_unique};
use drivescope_workload::plan::{Address, Region};
use drivescope_workload::rng::Rng;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence::WithSource;

const BLOCK: u64 = 4096;

fn space(slots: u64) -> Region {
    region(1 << 20, slots * BLOCK)
}

/// The account of block reads (submitter, block) in this order of issue.
fn audit(slots: u64, submitters: usize, reads: &[(usize, u64)]) -> AuditSummary {
    let mut audits = accounts(slots, submitters);
    for (at, (submitter, slot)) in reads.iter().enumerate() {
        let offset = Bytes((1 << 20) + slot * BLOCK);
        audits[*submitter].note(Op::Read, offset, Bytes(BLOCK), Time(at as u64));
    }
    Audit::merge(audits)
}

fn accounts(slots: u64, submitters: usize) -> Vec<Audit> {
    (0..submitters).map(|_| Audit::new(space(slots), Bytes(BLOCK))).collect()
}

/// LRU stack distances in blocks, by a list in order of use: `None` for a first access.
fn distances(reads: &[(usize, u64)]) -> Vec<Option<u64>> {
    let mut stack: Vec<u64> = Vec::new();
    let distance = |(_, slot): &(usize, u64)| {
        let place = stack.iter().rev().position(|s| s == slot);
        stack.retain(|s| s != slot);
        stack.push(*slot);
        place.map(|p| p as u64)
    };
    reads.iter().map(distance).collect()
}

/// Share of reads that an LRU cache of this many blocks serves, by running one.
fn served(reads: &[(usize, u64)], room: usize) -> f64 {
    let mut used: HashMap<u64, u64> = HashMap::new();
    let mut order = std::collections::BTreeMap::new();
    let mut hits = 0;
    for (now, (_, slot)) in (0u64..).zip(reads) {
        if let Some(before) = used.insert(*slot, now) {
            order.remove(&before);
            hits += 1;
        }
        order.insert(now, *slot);
        if used.len() > room
            && let Some((_, oldest)) = order.pop_first()
        {
            used.remove(&oldest);
        }
    }
    f64::from(hits) / reads.len() as f64
}

fn close(got: f64, wanted: f64, by: f64) -> bool {
    (got - wanted).abs() <= by
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn short_runs_are_counted_exactly(
        (slots, reads) in (1..60u64).prop_flat_map(|slots| {
            (Just(slots), prop::collection::vec((0..4usize, 0..slots), 0..300))
        }),
    ) {
        let got = audit(slots, 4, &reads);
        let unique = |of: &dyn Fn(usize) -> bool| {
            reads.iter().filter(|r| of(r.0)).map(|r| r.1).collect::<HashSet<_>>().len() as u64
        };
        let all = unique(&|_| true);
        let own: u64 = (0..4).map(|n| unique(&|s| s == n)).sum();
        let total = reads.len() as u64;
        prop_assert!(got.exact && got.reuse.exact && !got.reuse.cut_short);
        prop_assert_eq!((got.accesses, got.total_bytes), (total, Bytes(total * BLOCK)));
        prop_assert_eq!((got.blocks_touched, got.unique_bytes), (all, Bytes(all * BLOCK)));
        prop_assert_eq!(got.coverage, all as f64 / slots as f64);
        prop_assert_eq!(got.repeated_within_bytes, Bytes((total - own) * BLOCK));
        prop_assert_eq!(got.repeated_across_bytes, Bytes((own - all) * BLOCK));
        prop_assert_eq!(got.outside_bytes, Bytes(0));
        let bits = reads.iter().fold(0, |bits, r| bits | r.1);
        let alignment = (bits != 0).then(|| Bytes(BLOCK << bits.trailing_zeros()));
        prop_assert_eq!(got.alignment, alignment);

        let distances = distances(&reads);
        let mut again: Vec<u64> = distances.iter().copied().flatten().collect();
        again.sort_unstable();
        prop_assert_eq!((got.reuse.sampled, got.reuse.again), (total, again.len() as u64));
        for (percent, quantile) in [(1, got.reuse.p01), (10, got.reuse.p10), (50, got.reuse.p50)] {
            let rank = (again.len() * percent).div_ceil(100);
            let wanted = rank.checked_sub(1).map(|index| Bytes(again[index] * BLOCK));
            prop_assert_eq!(quantile, wanted, "{}%", percent);
        }
        for room in 0..=slots {
            let hits = again.iter().filter(|d| **d < room).count();
            let wanted = if reads.is_empty() { 0.0 } else { hits as f64 / reads.len() as f64 };
            prop_assert_eq!(got.share_within(Bytes(room * BLOCK)), wanted);
            prop_assert_eq!(got.share_within(Bytes(room * BLOCK + BLOCK - 1)), wanted);
            prop_assert!(reads.is_empty() || room == 0 || served(&reads, room as usize) == wanted);
        }
    }

    /// Completions come in any order; what a cache sees is the order of issue.
    #[test]
    fn the_order_of_notes_does_not_matter(
        reads in prop::collection::vec((0..3usize, 0..20u64), 1..100), seed: u64,
    ) {
        let mut shuffled: Vec<usize> = (0..reads.len()).collect();
        Rng::for_path(seed, &[]).shuffle(&mut shuffled);
        let mut audits = accounts(20, 3);
        for at in shuffled {
            let (submitter, slot) = reads[at];
            let offset = Bytes((1 << 20) + slot * BLOCK);
            audits[submitter].note(Op::Read, offset, Bytes(BLOCK), Time(at as u64));
        }
        prop_assert_eq!(Audit::merge(audits), audit(20, 3, &reads));
    }
}

#[test]
fn a_cursor_per_outstanding_operation_is_exposed() {
    // diskspd for Linux at -o8: operation i begins at block i and goes on by one block each time.
    let reads: Vec<_> = (0..2000u64).flat_map(|turn| (0..8).map(move |i| (0, turn + i))).collect();
    let got = audit(1 << 18, 1, &reads);
    assert!(close(got.unique_bytes.0 as f64 / got.total_bytes.0 as f64, 0.125, 0.001));
    assert!(got.reuse.p50 <= Some(Bytes(8 * BLOCK)), "{:?}", got.reuse.p50);
    assert!(close(got.share_within(Bytes::kib(64)), 0.875, 0.001), "a drive's cache serves 7 of 8");
    assert_eq!(got.repeated_across_bytes, Bytes(0));
}

#[test]
fn submitters_that_all_begin_at_zero_are_exposed() {
    let reads: Vec<_> = (0..3000u64).flat_map(|slot| (0..4).map(move |s| (s, slot))).collect();
    let got = audit(1 << 18, 4, &reads);
    assert_eq!(got.unique_bytes, Bytes(3000 * BLOCK));
    assert_eq!(got.repeated_within_bytes, Bytes(0));
    assert_eq!(got.repeated_across_bytes, Bytes(9000 * BLOCK));
    assert_eq!(got.reuse.p50, Some(Bytes(0)));
    assert!(close(got.share_within(Bytes::mib(8)), 0.75, 1e-9));
}

#[test]
fn submitters_with_the_same_seed_are_exposed() {
    let one: Vec<u64> = {
        let mut rng = Rng::for_path(1, &[]);
        (0..4000).map(|_| rng.below(1 << 22)).collect()
    };
    let reads: Vec<_> = one.iter().flat_map(|slot| (0..4).map(move |s| (s, *slot))).collect();
    let got = audit(1 << 22, 4, &reads);
    assert!(got.repeated_across_bytes.0 > 11_900 * BLOCK, "{:?}", got.repeated_across_bytes);
    assert!(got.share_within(Bytes::mib(1)) > 0.74);
}

#[test]
fn random_offsets_of_too_coarse_an_alignment_are_exposed() {
    let mut rng = Rng::for_path(1, &[]);
    let slots = 1 << 14;
    let reads: Vec<_> = (0..4 * slots).map(|_| (0, rng.below(slots / 16) * 16)).collect();
    let got = audit(slots, 1, &reads);
    assert_eq!(got.coverage, 1.0 / 16.0);
    assert_eq!(got.alignment, Some(Bytes::kib(64)));
    let (mean, sd) = uniform_unique(slots, 4 * slots);
    assert!(got.blocks_touched as f64 + 100.0 * sd < mean, "far below {mean} +- {sd}");
    // A handful of accesses shows the alignment, long before coverage shows anything.
    assert_eq!(audit(slots, 1, &reads[..40]).alignment, Some(Bytes::kib(64)));
}

#[test]
fn our_own_streams_show_none_of_these_faults() {
    let slots = 1 << 14;
    for (address, unique) in [(OWN, 1.0), (SHARED, 1.0), (Address::Random, 0.787)] {
        let step = step(4, &[phase(BLOCK, address, &[share(Op::Read, 100)])]);
        let mut all = streams(&step, space(slots), 77);
        let mut audits = accounts(slots, 4);
        // Half a lap, 32 outstanding each.
        for turn in 0..slots / 256 {
            for (stream, audit) in all.iter_mut().zip(&mut audits) {
                for offset in offsets(&take(stream, 32)) {
                    audit.note(Op::Read, Bytes(offset), Bytes(BLOCK), Time(turn));
                }
            }
        }
        let got = Audit::merge(audits);
        let share = got.unique_bytes.0 as f64 / got.total_bytes.0 as f64;
        assert!(close(share, unique, 0.01), "{address:?}: {share}");
        assert_eq!(got.alignment, Some(Bytes(BLOCK)), "{address:?}");
        assert!(got.share_within(Bytes(slots * BLOCK / 64)) < 0.02, "{address:?}");
        if address == Address::Random {
            let (mean, sd) = uniform_unique(slots, got.accesses);
            assert!(
                close(got.blocks_touched as f64, mean, 5.0 * sd),
                "{} {mean}",
                got.blocks_touched
            );
        }
    }
}

#[test]
fn long_random_runs_are_sampled_and_agree_with_a_real_cache() {
    let slots = 1 << 16;
    for seed in 0..3 {
        let mut rng = Rng::for_path(seed, &[]);
        let reads: Vec<_> = (0..400_000).map(|i| (i % 4, rng.below(slots))).collect();
        let got = audit(slots, 4, &reads);
        assert!(!got.reuse.exact && !got.reuse.cut_short && got.reuse.rate < 1.0);
        for room in [1 << 10, 1 << 13, 1 << 15] {
            let wanted = served(&reads, room);
            let share = got.share_within(Bytes(room as u64 * BLOCK));
            assert!(
                close(share, wanted, 0.03),
                "seed {seed}, {room} blocks: {share}, not {wanted}"
            );
        }
        let unique = reads.iter().map(|r| r.1).collect::<HashSet<_>>().len() as u64;
        assert_eq!((got.blocks_touched, got.exact), (unique, true), "only distances are sampled");
    }
}

#[test]
fn the_distance_of_long_sequential_laps_is_the_lap() {
    let lap = 300_000;
    let reads: Vec<_> = (0..2 * lap).map(|i| (0, i % lap)).collect();
    let got = audit(1 << 20, 1, &reads);
    let lap_bytes = (lap * BLOCK) as f64;
    for quantile in [got.reuse.p01, got.reuse.p50] {
        let got = quantile.unwrap_or_default().0 as f64;
        assert!(close(got / lap_bytes, 1.0, 0.08), "{got} of {lap_bytes}");
    }
    assert_eq!(got.share_within(Bytes(lap / 2 * BLOCK)), 0.0);
    assert!(close(got.share_within(Bytes(lap * 2 * BLOCK)), 0.5, 0.02));
}

#[test]
fn a_long_run_over_a_few_blocks_is_judged_by_its_beginning() {
    let reads: Vec<_> = (0..500_000).map(|i| (i % 2, (i as u64 / 2) % 8)).collect();
    let got = audit(1 << 22, 2, &reads);
    assert!(got.reuse.cut_short && !got.reuse.exact);
    assert_eq!(got.reuse.rate, 1.0);
    assert_eq!((got.blocks_touched, got.exact), (8, true));
    assert!(got.share_within(Bytes(8 * BLOCK)) > 0.999);
    assert!(
        close(got.share_within(Bytes(7 * BLOCK)), 0.5, 0.001),
        "the other submitter's is still there"
    );
}

#[test]
fn one_hot_block_among_many_keeps_the_account_bounded_and_right() {
    // Half of all reads go to one block, so that no rate of sampling by block evens them out.
    let (mut with, mut without) = (0, 0);
    for seed in 0..12 {
        let mut rng = Rng::for_path(seed, &[]);
        let hot = rng.below(1 << 20);
        let reads: Vec<_> = (0..300_000)
            .map(|_| (0, if rng.below(2) == 0 { hot } else { rng.below(1 << 20) }))
            .collect();
        let got = audit(1 << 20, 1, &reads);
        assert!(got.repeated_within_bytes.0 > got.total_bytes.0 / 2);
        assert!(got.reuse.sampled < 25_000, "{}", got.reuse.sampled);
        let share = got.share_within(Bytes::kib(512));
        assert!(close(share, 0.5, 0.04), "seed {seed}: {share} {:?}", got.reuse.correction);
        assert!(got.reuse.p50 < Some(Bytes::kib(512)), "{:?}", got.reuse.p50);
        *(if got.reuse.correction < 0 { &mut with } else { &mut without }) += 1;
    }
    assert!(with > 0 && without > 0, "the hot block in the sample, and not: {with}, {without}");
}

#[test]
fn regions_beyond_the_bitmap_are_estimated_closely() {
    let slots = 1u64 << 32;
    let mut rng = Rng::for_path(3, &[]);
    let reads: Vec<_> = (0..400_000).map(|i| (i % 2, rng.below(1 << 21) * 1000)).collect();
    let got = audit(slots, 2, &reads);
    let unique = reads.iter().map(|r| r.1).collect::<HashSet<_>>().len() as f64;
    assert!(!got.exact);
    assert!(close(got.blocks_touched as f64 / unique, 1.0, 0.003), "{}", got.blocks_touched);
    assert!(got.outside_bytes == Bytes(0) && got.alignment == Some(Bytes(8 * BLOCK)));
}

#[test]
fn writes_count_and_flushes_discards_and_nothing_do_not() {
    let mut account = Audit::new(space(16), Bytes(BLOCK));
    let at = |slot: u64| Bytes((1 << 20) + slot * BLOCK);
    account.note(Op::Write, at(1), Bytes(BLOCK), Time(0));
    account.note(Op::Read, at(1), Bytes(BLOCK), Time(1));
    account.note(Op::Flush, Bytes(0), Bytes(0), Time(2));
    account.note(Op::Discard, at(2), Bytes(BLOCK), Time(3));
    account.note(Op::Read, at(3), Bytes(0), Time(4));
    let got = Audit::merge(vec![account]);
    assert_eq!((got.accesses, got.blocks_touched, got.reuse.again), (2, 1, 1));
    assert_eq!((got.outside_bytes, got.exact), (Bytes(0), true));
}

#[test]
fn accesses_of_several_blocks_of_parts_and_outside_are_seen_as_such() {
    let account = |offset: u64, len: u64| {
        let mut account = Audit::new(region(1 << 20, 16 * BLOCK + 512), Bytes(BLOCK));
        account.note(Op::Read, Bytes(offset), Bytes(len), Time(0));
        let got = Audit::merge(vec![account]);
        (got.blocks_touched, got.outside_bytes.0, got.exact)
    };
    let base = 1 << 20;
    assert_eq!(account(base + 2 * BLOCK, 3 * BLOCK), (3, 0, true));
    assert_eq!(account(base + 2 * BLOCK + 512, BLOCK), (2, 0, false));
    assert_eq!(account(base - BLOCK, 2 * BLOCK), (1, BLOCK, true));
    assert_eq!(account(base - BLOCK, BLOCK), (0, BLOCK, true));
    assert_eq!(account(base + 15 * BLOCK, 2 * BLOCK), (1, BLOCK, true));
    assert_eq!(account(base + 16 * BLOCK, 512), (0, 512, true), "the tail belongs to no block");
    assert_eq!(account(u64::MAX - 10, 100), (0, 100, true));
}

#[test]
fn blocks_that_are_no_power_of_two_are_counted_alike() {
    let block = 3 * 512;
    let mut account = Audit::new(region(512, 100 * block), Bytes(block));
    for slot in [0, 99, 50, 99] {
        account.note(Op::Read, Bytes(512 + slot * block), Bytes(block), Time(slot));
    }
    let got = Audit::merge(vec![account]);
    assert_eq!((got.blocks_touched, got.coverage, got.exact), (3, 0.03, true));
}

#[test]
fn accounts_of_nothing_are_nothing() {
    assert_eq!(Audit::merge(Vec::new()), AuditSummary::default());
    let empty = Audit::merge(vec![Audit::new(region(0, 0), Bytes(BLOCK))]);
    assert_eq!(
        (empty.coverage, empty.alignment, empty.share_within(Bytes::gib(1))),
        (0.0, None, 0.0)
    );
    assert_eq!(empty.reuse.p50, None);
}

#[test]
#[should_panic(expected = "different regions")]
fn accounts_of_different_regions_are_not_mixed() {
    Audit::merge(vec![Audit::new(space(4), Bytes(BLOCK)), Audit::new(space(5), Bytes(BLOCK))]);
}

#[test]
fn the_expected_count_of_different_blocks_is_that_of_draws() {
    assert_eq!(uniform_unique(1, 5), (1.0, 0.0));
    assert_eq!(uniform_unique(0, 5), (0.0, 0.0));
    let (mean, sd) = uniform_unique(1000, 1500);
    assert!(close(mean, 777.0, 0.1), "1000 (1 - 0.999^1500) = {mean}");
    let mut rng = Rng::for_path(4, &[]);
    let counts: Vec<f64> = (0..2000)
        .map(|_| (0..1500).map(|_| rng.below(1000)).collect::<HashSet<_>>().len() as f64)
        .collect();
    let average = counts.iter().sum::<f64>() / 2000.0;
    let spread = (counts.iter().map(|c| (c - average).powi(2)).sum::<f64>() / 1999.0).sqrt();
    assert!(close(average, mean, 1.0) && close(spread / sd, 1.0, 0.08), "{average} {spread} {sd}");
}

//! Addresses at a distance of their own: each cursor on its way, and the defects that testers have, to the block.

mod common;

use block::{Bytes, Op};
use common::{offsets, phase, region, share, step, streams, take};
use drivescope_workload::plan::{Address, Arrival, Cursors, Phase, Step};
use drivescope_workload::stream::{Access, Stream};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence::WithSource;

const KIB: u64 = 1024;

fn read(block: u64, address: Address, depth: u16) -> Phase {
    let mut phase = phase(block, address, &[share(Op::Read, 100)]);
    phase.arrival = Arrival::ClosedLoop { depth };
    phase
}

fn strided(stride: u64, apart: u64, cursors: Cursors) -> Address {
    Address::Strided { stride: Bytes(stride), apart: Bytes(apart), cursors }
}

fn one(step: &Step, length: u64) -> Stream {
    streams(step, region(0, length), 1).remove(0)
}

/// The next offset for this place in the queue.
fn next(stream: &mut Stream, slot: u16) -> u64 {
    let mut out = [Access::default()];
    stream.fill_for(slot, &mut out);
    out[0].offset.0
}

// The order that a trace of diskspd for Linux shows with eight outstanding: every block eight times.
#[test]
fn a_cursor_for_each_slot_transfers_each_block_as_often_as_there_are_slots() {
    let address = strided(KIB, 0, Cursors::Slot);
    let step = step(1, &[read(KIB, address, 8)]);
    let mut stream = one(&step, 100 * KIB);
    let order: Vec<u64> = (0..32).map(|turn| next(&mut stream, turn % 8) / KIB).collect();
    let expected: Vec<u64> = (0..4).flat_map(|lap| lap..lap + 8).collect();
    assert_eq!(order, expected);
    // A slot whose transfers complete late falls behind, and the others do not wait.
    let order: Vec<u64> = (0..3).map(|_| next(&mut stream, 5) / KIB).collect();
    assert_eq!(order, [9, 10, 11]);
    assert_eq!(next(&mut stream, 0) / KIB, 4);
}

#[test]
fn a_cursor_goes_back_to_where_it_began_when_no_block_fits() {
    let own = |submitters| {
        step(submitters, &[read(4 * KIB, strided(3 * KIB, 2 * KIB, Cursors::Submitter), 4)])
    };
    let mut all = streams(&own(2), region(8 * KIB, 12 * KIB), 1);
    let kib = |stream: &mut Stream| -> Vec<u64> {
        offsets(&take(stream, 5)).iter().map(|offset| offset / KIB).collect()
    };
    // Blocks of 4 KiB in 8..20 KiB: the last begins at 16.
    assert_eq!(kib(&mut all[0]), [8, 11, 14, 8, 11]);
    assert_eq!(kib(&mut all[1]), [10, 13, 16, 10, 13]);
    let shared = step(2, &[read(4 * KIB, strided(3 * KIB, 0, Cursors::Shared), 4)]);
    let mut all = streams(&shared, region(8 * KIB, 12 * KIB), 1);
    assert_eq!(kib(&mut all[0]), [8, 11, 14, 8, 11]);
    assert_eq!(kib(&mut all[1]), [14, 8, 11, 14, 8]);
}

#[test]
fn submitters_with_one_seed_draw_alike_and_others_do_not() {
    let heads = |alike| {
        let address = Address::Aligned { align: Bytes(64 * KIB), alike };
        let step = step(3, &[read(4 * KIB, address, 1)]);
        let mut all = streams(&step, region(4 * KIB, 1 << 30), 7);
        [0, 1, 2].map(|n: usize| offsets(&take(&mut all[n], 40)))
    };
    let alike = heads(true);
    assert!(alike[0] == alike[1] && alike[1] == alike[2]);
    let own = heads(false);
    assert!(own[0] != own[1] && own[1] != own[2]);
    assert_eq!(own[0], alike[0], "the first has the same draws in both");
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    // Breaks when a transfer would leave the region, at whatever distance.
    #[test]
    fn every_place_lies_in_the_region_at_its_distance(
        block in 1..50u64, distance in 1..70u64, length in 1..900u64, depth in 1..9u16, which in 0..5usize,
        submitters in 1..4u16, apart in 0..60u64, seed: u64,
    ) {
        let (block, distance, apart, length) = (block * 512, distance * 512, apart * 512, length * 512);
        let address = match which {
            0 => strided(distance, apart, Cursors::Submitter),
            1 => strided(distance, 0, Cursors::Shared),
            2 => strided(distance, apart, Cursors::Slot),
            3 => Address::Aligned { align: Bytes(distance), alike: false },
            _ => Address::Aligned { align: Bytes(distance), alike: true },
        };
        let apart = if let Address::Strided { apart, .. } = address { apart.0 } else { 0 };
        let step = step(submitters, &[read(block, address, depth)]);
        let place = region(1 << 20, length);
        for (id, mut stream) in (0..).zip(streams(&step, place, seed)) {
            let fits = id * apart + block <= length;
            for turn in 0..60u16 {
                let mut out = [Access::default()];
                stream.fill_for(turn * 7 % depth, &mut out);
                let (offset, len) = (out[0].offset.0, out[0].len.0);
                prop_assert!(offset >= place.offset.0 && offset + len <= place.offset.0 + length);
                prop_assert_eq!(len, if fits { block } else { 0 }, "{}", id);
                if fits {
                    let from = offset - place.offset.0 - id * apart * u64::from(which == 0 || which == 2);
                    prop_assert_eq!(from % distance, 0);
                }
            }
        }
    }
}

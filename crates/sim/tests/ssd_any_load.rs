//! Whatever is issued to a solid-state drive, each request completes once, in time that does not run back, and what
//! the drive counted adds up.

use crate::common;
use crate::common::play::{Paced, bytes_of, each_is_answered_once, play};
use crate::common::{AROUND, request, setup};
use block::{Bytes, Environment, Op, Request, Target};
use proptest::prelude::*;

/// A drive of a few dies with small blocks, so that every part of it is in use after a few writes.
const SMALL: &str = "capacity=4MiB&nand.channels=2&nand.dies_per_channel=1&nand.planes=1\
    &nand.page_bytes=16384&nand.pages_per_block=12&layout.chunk_bytes=8192\
    &layout.logical_block_bytes=512&layout.over_provisioning=0.2";

/// The kinds of drive, each made small.
fn any_drive() -> impl Strategy<Value = String> {
    let model = prop_oneof![
        Just("tlc-pslc?slc.bytes=300000&memory.write_bytes=65536&"),
        Just("tlc-pslc?slc.bytes=300000&slc.when_full=fold&memory.write_bytes=4096&"),
        Just("qlc-pslc?slc.bytes=300000&memory.write_bytes=32768&"),
        Just("qlc-pslc?slc.bytes=300000&slc.when_full=direct&memory.write_bytes=4096&"),
        Just("enterprise-28op?memory.write_bytes=65536&layout.collection=fifo&"),
        Just("mlc-nvme?memory.write_bytes=8192&nand.copyback=true&"),
        Just("sata-a?memory.write_bytes=65536&nand.reads_before_program=1&"),
        Just("sata-b?memory.write_bytes=131072&layout.collection=choices&layout.choices=3&"),
    ];
    let state = prop_oneof![Just("fresh"), Just("filled"), Just("steady")];
    let cache = prop_oneof![Just("write_back"), Just("write_through")];
    let flash = (model, state, cache, any::<bool>()).prop_map(|(model, state, cache, plp)| {
        format!(
            "sim:{model}{SMALL}&state={state}&write_cache={cache}\
             &memory.power_loss_protection={plp}"
        )
    });
    prop_oneof![
        12 => flash,
        1 => Just("sim:optane?capacity=4MiB&nand.channels=2&nand.dies_per_channel=1".to_owned())
    ]
}

/// Requests: aligned to the logical block or not, inside or beyond the end.
fn any_request() -> impl Strategy<Value = Paced> {
    let op = prop_oneof![
        4 => Just(Op::Read),
        12 => Just(Op::Write),
        1 => Just(Op::Flush),
        1 => Just(Op::Discard)
    ];
    let place = prop_oneof![0_u64..64, 0_u64..8_200, (0_u64..1_024).prop_map(|u| u * 8)];
    let blocks = prop_oneof![3 => Just(8_u64), 1 => 0_u64..20, 1 => 100_u64..2_000];
    let gap = prop_oneof![4 => Just(0_u64), 1 => 0_u64..20_000_000];
    (op, 0_u8..10, place, blocks, gap).prop_map(|(op, fua, at, blocks, gap)| {
        let skew = if gap % 10 == 1 { 100 } else { 0 };
        let plain = request(op, at * 512 + skew, blocks * 512, 0);
        (Request { fua: fua == 0, ..plain }, gap)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // Breaks when a request is forgotten (a drive whose buffer is full of rows that are never programmed, a die without a
    // free block), answered twice, answered before it was issued, or when what the drive counted does not add up.
    #[test]
    fn each_request_completes_once_and_the_counters_add_up(
        requests in proptest::collection::vec(any_request(), 1..300),
        seed in any::<u64>(),
        spec in any_drive(),
        depth in 1_u16..40,
    ) {
        let mut target = drivescope_sim::open(&format!("{spec}&seed={seed}")).unwrap();
        let done = play(&mut target, &requests, depth)?;
        each_is_answered_once(&requests, &done)?;
        let [read, written] = [Op::Read, Op::Write].map(|op| bytes_of(op, &requests, &done));
        // After a flush all written data is on the medium.
        common::one(&mut target.open(&setup(1)).unwrap()[0], request(Op::Flush, 0, 0, 0));
        let media = target.media();
        prop_assert_eq!(media.host_write_bytes.0, written);
        prop_assert_eq!(media.cache_served_read_bytes.0 + media.medium_served_read_bytes.0, read);
        let taken = media.cache_taken_write_bytes.0 + media.medium_served_write_bytes.0;
        prop_assert_eq!(taken, written);
        let told = target.environment().snapshot().endurance.unwrap();
        prop_assert_eq!(told.host_write_bytes, Bytes(written));
        prop_assert_eq!(told.media_write_bytes, media.medium_write_bytes);
        prop_assert_eq!(media, target.environment().media());
    }

    // Breaks when a wrapper and a drive with commands that have it to themselves wait for each other, when a piece of
    // a command is forgotten, or when what vanishes takes a request with it.
    #[test]
    fn each_request_completes_once_whatever_stands_around(
        requests in proptest::collection::vec(any_request(), 1..150),
        seed in any::<u64>(),
        spec in any_drive(),
        depth in 1_u16..40,
        around in proptest::sample::subsequence(AROUND.to_vec(), 1..=AROUND.len()),
    ) {
        let spec = format!("{spec}&seed={seed}{}", around.concat());
        let history = || -> Result<_, TestCaseError> {
            let mut target = drivescope_sim::open(&spec).unwrap();
            let done = play(&mut target, &requests, depth)?;
            Ok((done, target.media(), target.environment().snapshot()))
        };
        let (done, media, snapshot) = history()?;
        each_is_answered_once(&requests, &done)?;
        let told = snapshot.endurance.unwrap();
        prop_assert_eq!(told.media_write_bytes, media.medium_write_bytes);
        prop_assert!((done, media, snapshot) == history()?, "one seed, two histories");
    }
}

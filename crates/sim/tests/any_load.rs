//! Whatever is issued, each request completes once, in time that does not run back.

use crate::common::play::{Paced, each_is_answered_once, play};
use crate::common::{AROUND, disk, request};
use block::{Op, Request};
use proptest::prelude::*;

/// Requests over a small disk: aligned to the logical block or not, inside or beyond its end.
fn any_request() -> impl Strategy<Value = Paced> {
    let op = prop_oneof![
        6 => Just(Op::Read),
        6 => Just(Op::Write),
        1 => Just(Op::Flush),
        1 => Just(Op::Discard)
    ];
    let place = prop_oneof![0_u64..64, 0_u64..40_000, 38_000_u64..40_100];
    let blocks = prop_oneof![0_u64..20, 500_u64..5_000];
    (op, any::<bool>(), place, blocks, 0_u64..20_000_000).prop_map(|(op, fua, at, blocks, gap)| {
        // A tenth are off the logical block's boundary.
        let skew = if gap % 10 == 0 { 100 } else { 0 };
        let plain = request(op, at * 512 + skew, blocks * 512, 0);
        (Request { fua: fua && gap % 3 == 0, ..plain }, gap)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    // Breaks when a request is forgotten (a stall), answered twice, answered before it was issued,
    // or when an odd one makes the model panic.
    #[test]
    fn each_request_completes_once(
        requests in proptest::collection::vec(any_request(), 1..120),
        seed in any::<u64>(),
        model in prop_oneof![Just("hdd-7200"), Just("hdd-sg"), Just("hdd-wd")],
        cache in prop_oneof![Just("write_back"), Just("write_through")],
        depth in 1_u16..40,
        around in proptest::sample::subsequence(AROUND.to_vec(), 0..=AROUND.len()),
    ) {
        let small = "&capacity=20MB&geometry.zones=3&geometry.heads=2&memory.write_runs=8\
            &geometry.inner_sectors_per_track=10&geometry.outer_sectors_per_track=20\
            &schedule.destage_chunk_bytes=65536&memory.write_bytes=1048576&memory.read_ahead_bytes=65536&memory.segment_bytes=65536\
            &memory.read_bytes=131072";
        let around = around.concat();
        let mut target = disk(model, &format!("?seed={seed}&write_cache={cache}{small}{around}"));
        let done = play(&mut target, &requests, depth)?;
        each_is_answered_once(&requests, &done)?;
    }
}

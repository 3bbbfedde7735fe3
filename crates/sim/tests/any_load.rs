//! Whatever is issued, each request completes once, in time that does not run back.

mod common;

use block::{Drive, Op, Request, Target, Time};
use common::{AROUND, disk, request, setup};
use proptest::prelude::*;

/// Requests over a small disk: aligned to the logical block or not, inside or beyond its end.
fn any_request() -> impl Strategy<Value = (Request, u64)> {
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
        let mut lanes = target.open(&setup(u16::MAX)).unwrap();
        let drive = &mut lanes[0];
        let mut done = Vec::new();
        for (slot, (request, gap)) in requests.iter().enumerate() {
            let slot = u16::try_from(slot).unwrap();
            drive.submit(&[Request { slot, ..*request }]).unwrap();
            while usize::from(slot) + 1 - done.len() > usize::from(depth) {
                let before = done.len();
                drive.wait_until(Time::NEVER, &mut done).unwrap();
                prop_assert!(done.len() > before, "nothing completes any more");
            }
            let until = Time(drive.now().0 + gap);
            while drive.now() < until {
                drive.wait_until(until, &mut done).unwrap();
            }
        }
        while done.len() < requests.len() {
            let before = done.len();
            drive.wait_until(Time::NEVER, &mut done).unwrap();
            prop_assert!(done.len() > before, "nothing completes any more");
        }
        let mut slots: Vec<u16> = done.iter().map(|c| c.slot).collect();
        slots.sort_unstable();
        prop_assert!(slots.windows(2).all(|w| w[0] < w[1]), "a request was answered twice");
        prop_assert!(done.windows(2).all(|w| w[0].completed <= w[1].completed));
        for c in &done {
            prop_assert!(c.completed > c.issued);
            let (request, _) = &requests[usize::from(c.slot)];
            if let Ok(bytes) = c.outcome.bytes() {
                let expected = if request.op == Op::Flush { 0 } else { request.len.0 };
                prop_assert_eq!(bytes.0, expected);
            }
        }
    }
}

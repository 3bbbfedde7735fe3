//! Whatever is issued to a card, each request completes once, in order, and the counters add up.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which the lint does not know for such")]

mod common;

use block::{Completion, Drive, Nanos, Op, Request, Target, Time};
use common::{GIB, Load, request, run, setup};
use drivescope_sim::{MediaCounters, open};
use proptest::prelude::*;

/// Requests over a small card: aligned to the logical block or not, inside or beyond its end.
fn any_request() -> impl Strategy<Value = (Request, u64)> {
    let op = prop_oneof![
        6 => Just(Op::Read),
        9 => Just(Op::Write),
        1 => Just(Op::Flush),
        1 => Just(Op::Discard)
    ];
    let place = prop_oneof![0_u64..64, 0_u64..65_536, 61_000_u64..61_500];
    let blocks = prop_oneof![0_u64..40, 0_u64..40, 500_u64..5_000, Just(3_072), Just(6_144)];
    let gap = prop_oneof![Just(0), 0_u64..3_000_000_000];
    (op, any::<bool>(), place, blocks, gap).prop_map(|(op, fua, at, blocks, gap)| {
        // A tenth are off the logical block's boundary.
        let skew = if gap % 10 == 9 { 100 } else { 0 };
        let plain = request(op, at * 512 + skew, blocks * 512, 0);
        (Request { fua: fua && gap % 3 == 0, ..plain }, gap)
    })
}

/// Issues all requests, at most `depth` at once; gives what became of them and what moved.
fn play(spec: &str, requests: &[(Request, u64)], depth: u16) -> (Vec<Completion>, MediaCounters) {
    let mut target = open(spec).unwrap();
    let mut done = Vec::new();
    {
        let mut lanes = target.open(&setup(u16::MAX)).unwrap();
        let drive = &mut lanes[0];
        for (slot, (request, gap)) in requests.iter().enumerate() {
            let slot = u16::try_from(slot).unwrap();
            drive.submit(&[Request { slot, ..*request }]).unwrap();
            while usize::from(slot) + 1 - done.len() > usize::from(depth) {
                let before = done.len();
                drive.wait_until(Time::NEVER, &mut done).unwrap();
                assert!(done.len() > before, "nothing completes any more");
            }
            let until = Time(drive.now().0 + gap);
            while drive.now() < until {
                drive.wait_until(until, &mut done).unwrap();
            }
        }
        while done.len() < requests.len() {
            let before = done.len();
            drive.wait_until(Time::NEVER, &mut done).unwrap();
            assert!(done.len() > before, "nothing completes any more");
        }
    }
    (done, target.media())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    // Breaks when a request is forgotten or answered twice, when one overtakes another, when an odd one
    // makes the model panic, when bytes vanish between host and medium, or when one seed gives two histories.
    #[test]
    fn each_request_completes_once_and_bytes_are_conserved(
        requests in proptest::collection::vec(any_request(), 1..150),
        seed in any::<u64>(),
        model in prop_oneof![
            Just("sdcard-4m?capacity=32MiB"),
            Just("usb-8m?capacity=32MiB&fat.bytes=1048576"),
            Just("usb-8m?capacity=32MiB&fat.bytes=16777216&link.discard=true"),
            Just("card-3m?capacity=32MiB&log.bytes=65536"),
            Just("card-3m?capacity=32MiB&write.merge=switch&read.read_ahead_groups=3"),
        ],
        state in prop_oneof![Just("fresh"), Just("filled")],
        linear in 1_u64..4,
        random in 0_u64..4,
        queue in 1_u64..5,
        depth in 1_u16..40,
    ) {
        let random = random.min(linear);
        let spec = format!(
            "sim:{model}&seed={seed}&state={state}&write.open_au_linear={linear}\
             &write.open_au_random={random}&link.queue_depth={queue}"
        );
        let (done, media) = play(&spec, &requests, depth);
        let mut slots: Vec<u16> = done.iter().map(|c| c.slot).collect();
        slots.sort_unstable();
        prop_assert!(slots.windows(2).all(|w| w[0] < w[1]), "a request was answered twice");
        prop_assert!(done.windows(2).all(|w| w[0].completed <= w[1].completed));
        let (mut read, mut written, mut served) = (0, 0, Vec::new());
        for c in &done {
            prop_assert!(c.completed > c.issued);
            let (request, _) = &requests[usize::from(c.slot)];
            if let Ok(bytes) = c.outcome.bytes() {
                let expected = if request.op == Op::Flush { 0 } else { request.len.0 };
                prop_assert_eq!(bytes.0, expected);
                served.push(c.slot);
                read += if request.op == Op::Read { bytes.0 } else { 0 };
                written += if request.op == Op::Write { bytes.0 } else { 0 };
            }
        }
        prop_assert!(served.windows(2).all(|w| w[0] < w[1]), "one was served before an earlier one");
        prop_assert_eq!(media.cache_served_read_bytes.0 + media.medium_served_read_bytes.0, read);
        prop_assert_eq!(media.medium_served_write_bytes.0, written);
        prop_assert!(media.medium_write_bytes.0 >= written);
        let again = play(&spec, &requests, depth);
        prop_assert_eq!((done, media), again);
    }
}

/// Hash (FNV-1a) of the latencies of a mixed load on a card.
fn history(spec: &str) -> u64 {
    let mut target = open(spec).unwrap();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (op, block, seed) in [(Op::Write, 12_288, 1), (Op::Read, 32_768, 2), (Op::Write, 65_536, 3)]
    {
        let load = Load { op, fua: false, block, depth: 2, duration: Nanos::secs(20) };
        for sample in run(&mut target, load, common::random(seed, 0, GIB / 4, block)) {
            for byte in sample.latency_ns().to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
    }
    hash
}

// The seed is part of a run's record. Breaks when a model, a draw or an order changes, and with it every
// record of such a card: then the new values belong into the change log as well as here.
#[test]
fn the_history_of_a_seed_is_frozen() {
    let seven = ["sdcard-4m", "usb-8m", "usb-tlc", "card-3m"]
        .map(|name| history(&format!("sim:{name}?seed=7")));
    let frozen = [
        0x6b93_2714_35cd_c9c6,
        0x8700_96a0_e895_60b5,
        0x07ec_0b37_a822_5763,
        0x4572_7347_5003_bd8e,
    ];
    assert_eq!(seven, frozen, "{seven:#x?}");
    assert_ne!(history("sim:usb-8m?seed=8"), seven[1]);
}

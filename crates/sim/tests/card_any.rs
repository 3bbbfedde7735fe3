//! Whatever is issued to a card, each request completes once, in order, and the counters add up.

use crate::common;
use crate::common::play::{Paced, bytes_of, each_is_answered_once, play};
use crate::common::{GIB, Load, request, run};
use block::{Nanos, Op, Request};
use drivescope_sim::open;
use proptest::prelude::*;

/// Requests over a small card: aligned to the logical block or not, inside or beyond its end.
fn any_request() -> impl Strategy<Value = Paced> {
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
        let history = || -> Result<_, TestCaseError> {
            let mut target = open(&spec).unwrap();
            let done = play(&mut target, &requests, depth)?;
            Ok((done, target.media()))
        };
        let (done, media) = history()?;
        each_is_answered_once(&requests, &done)?;
        let served = done.iter().filter(|c| c.outcome.bytes().is_ok()).map(|c| c.slot);
        prop_assert!(served.is_sorted(), "one was served before an earlier one");
        let [read, written] = [Op::Read, Op::Write].map(|op| bytes_of(op, &requests, &done));
        prop_assert_eq!(media.cache_served_read_bytes.0 + media.medium_served_read_bytes.0, read);
        prop_assert_eq!(media.medium_served_write_bytes.0, written);
        prop_assert!(media.medium_write_bytes.0 >= written);
        prop_assert_eq!((done, media), history()?);
    }
}

/// Hash (FNV-1a) of the latencies of a mixed load on a card.
fn latencies(spec: &str) -> u64 {
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
        .map(|name| latencies(&format!("sim:{name}?seed=7")));
    let frozen = [
        0x6b93_2714_35cd_c9c6,
        0x8700_96a0_e895_60b5,
        0x07ec_0b37_a822_5763,
        0x4572_7347_5003_bd8e,
    ];
    assert_eq!(seven, frozen, "{seven:#x?}");
    assert_ne!(latencies("sim:usb-8m?seed=8"), seven[1]);
}

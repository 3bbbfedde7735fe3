//! One seed gives one history on every machine: hashes of histories, as they were when each model was made.

use crate::common::{GIB, MIB, disk, random, request, run_requests, shared_cursor};
use block::{Nanos, Op, Request};

/// FNV-1a with 64 bits (Fowler, Noll, Vo): what became of each request, and what moved inside.
fn history(model: &str, seed: u64) -> u64 {
    let mut target = disk(model, &format!("?seed={seed}"));
    let mut places = random(seed, 0, 8 * GIB, 4096);
    let mut stream = shared_cursor(16 * GIB, GIB, MIB);
    let mut count = 0_u32;
    let samples = run_requests(&mut target, 12, Nanos::secs(20), |slot| {
        count += 1;
        let op = if count.is_multiple_of(3) { Op::Write } else { Op::Read };
        match (count % 50, slot) {
            (0, _) => request(Op::Flush, 0, 0, slot),
            (7, _) => Request { fua: true, ..request(op, places(slot), 4096, slot) },
            (_, 0..4) => request(op, stream(slot), MIB, slot),
            _ => request(op, places(slot), 512 << (count % 6), slot),
        }
    });
    let media = target.media();
    let inside = [media.medium_read_bytes.0, media.medium_write_bytes.0, media.seeks];
    let each = samples.iter().flat_map(|s| {
        [s.offset, s.len, s.issued.0, s.completed.0, u64::from(s.outcome.bytes().is_ok())]
    });
    each.chain(inside).flat_map(u64::to_le_bytes).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

// Breaks when a model's history changes: by a change of the model, which makes earlier records irreproducible
// and must be announced, or by anything that differs between machines, which must not happen.
#[test]
fn histories_are_those_of_every_machine() {
    for (model, expected) in [
        ("hdd-7200", 0x7b2f_63c7_5788_f0d7),
        ("hdd-sg", 0x66b5_32e4_63b8_5047),
        ("hdd-wd", 0xd629_9012_ffce_0eb7),
    ] {
        let hash = history(model, 7);
        assert_eq!(hash, expected, "{model}: {hash:#018x}");
        assert_ne!(hash, history(model, 8), "{model}: the seed makes no difference");
    }
}

//! Kinds of fakes, and drives that are honest, drawn from seeds.

use super::model::{Dice, Nothing, PAGE, Spec};

/// The kinds of fakes.
pub const KINDS: [&str; 20] = [
    "limbo",
    "limbo, cache to 8 MiB",
    "limbo, cache to 100 MiB",
    "limbo, cache to 512 MiB",
    "limbo, all pass 8 MiB",
    "limbo, all pass 100 MiB",
    "limbo, all pass 512 MiB",
    "garbage beyond",
    "garbage beyond, cache to 100 MiB",
    "wrap at a power of two",
    "wrap at a power of two, all pass 100 MiB",
    "wrap at a power of two, written late from 512 MiB",
    "wrap at an odd size",
    "wrap at an odd size, all pass 512 MiB",
    "wrap at an odd size, written late from 100 MiB",
    "wrap above the real end",
    "wrap above the real end, cache to 100 MiB",
    "EIO beyond",
    "EIO of writes beyond",
    "small card, cache to 16 MiB",
];

const MIB: f64 = 1048576.0;

/// A fake of a kind.
pub fn fake(kind: usize, seed: u64) -> Spec {
    let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d).wrapping_add(kind as u64));
    let name = KINDS[kind];
    let is_small = name.starts_with("small");
    // As people buy them.
    let claimed = match is_small {
        true => dice.size(8.0 * MIB, 700.0 * MIB),
        false => dice.size(2e9, 2e12),
    };
    // 0.4 to 50% of it are missing.
    let missing = dice.size(0.004 * claimed as f64, 0.5 * claimed as f64);
    let (mut claimed, mut real) = (claimed, claimed - missing.max(PAGE));
    let mut wrap = None;
    if name.contains("power of two") {
        real = 1 << real.ilog2();
        claimed = (real + missing).max(real + PAGE);
        wrap = Some(real);
    } else if name.contains("odd size") {
        wrap = Some(real);
    } else if name.contains("above the real end") {
        // The controller was made for the next power of two.
        let module = 1_u64 << (real.ilog2() + 1);
        claimed = module + dice.size(0.1 * module as f64, module as f64);
        wrap = Some(module);
    }
    let cache = match name {
        _ if name.ends_with(" 8 MiB") => dice.size(0.25 * MIB, 8.0 * MIB),
        _ if name.ends_with(" 16 MiB") => dice.size(0.25 * MIB, 16.0 * MIB),
        _ if name.ends_with("100 MiB") => dice.size(8.0 * MIB, 100.0 * MIB),
        _ if name.ends_with("512 MiB") => dice.size(100.0 * MIB, 512.0 * MIB),
        _ => 0,
    };
    let nothing = match name {
        _ if name.contains("garbage") => Nothing::Garbage,
        _ if name.starts_with("EIO of writes") => Nothing::FailsWrites,
        _ if name.starts_with("EIO") => Nothing::Fails,
        _ => Nothing::Zeros,
    };
    Spec {
        claimed,
        real,
        wrap,
        nothing,
        cache,
        all_pass: name.contains("all pass"),
        is_late: name.contains("late"),
        ..speeds(claimed, &mut dice)
    }
}

/// A drive that holds what it states, small and large, fast and slow, noisy or not.
pub fn honest(seed: u64) -> Spec {
    let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d).wrapping_add(99));
    let claimed = dice.size(30e6, 2e12);
    speeds(claimed, &mut dice)
}

/// An honest drive with times of its own.
fn speeds(claimed: u64, dice: &mut Dice) -> Spec {
    // Large drives that are slow are not sold.
    let slowest = if claimed > 64_000_000_000 { 8e6 } else { 2e6 };
    Spec {
        claimed,
        real: claimed,
        wrap: None,
        nothing: Nothing::Zeros,
        cache: 0,
        all_pass: false,
        is_late: false,
        reorders: dice.below(2) == 0,
        access_ns: dice.size(1e5, 4e6),
        write_rate: dice.size(slowest, 3e8),
        spike_ns: dice.below(4) * 100_000_000,
        seed: dice.roll(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a kind is not what its name says, so that a score says nothing of it.
    #[test]
    fn fakes_are_what_their_kind_says() {
        for (kind, name) in KINDS.iter().enumerate() {
            for seed in 0..50 {
                let spec = fake(kind, seed);
                assert!(spec.real < spec.claimed, "{name}: {spec:?}");
                assert!(spec.shortfall() <= spec.claimed * 3 / 4, "{name}: {spec:?}");
                assert_eq!(spec.cache > 0, name.contains("MiB"), "{name}: {spec:?}");
                assert_eq!(spec.wrap.is_some(), name.contains("wrap"), "{name}: {spec:?}");
                assert!(spec.claimed.is_multiple_of(PAGE) && spec.real.is_multiple_of(PAGE));
            }
        }
        let sizes: Vec<u64> = (0..200).map(|seed| honest(seed).claimed).collect();
        assert!(sizes.iter().any(|s| *s < 100_000_000) && sizes.iter().any(|s| *s > 1 << 40));
    }
}

//! The turning of the disk can be seen in the samples alone.

use crate::common;
use crate::common::{GIB, Load, Sample, run, virtual_hdd};
use block::{Nanos, Op};

/// Strength with which instants gather at one phase of a period, 0 to 1 (Rayleigh's resultant).
fn resultant(instants: &[f64], period: f64) -> f64 {
    let (mut x, mut y) = (0.0, 0.0);
    for at in instants {
        let angle = std::f64::consts::TAU * (at / period).fract();
        x += angle.cos();
        y += angle.sin();
    }
    f64::hypot(x, y) / instants.len() as f64
}

/// The period from 5 to 12.5 ms at which the mean of all groups' resultants is greatest, and that mean.
fn period_ns(groups: &[Vec<f64>]) -> (f64, f64) {
    let mut best = (0.0, 0.0);
    let mut period = 5.0e6;
    while period < 12.5e6 {
        let strength =
            groups.iter().map(|g| resultant(g, period)).sum::<f64>() / groups.len() as f64;
        if strength > best.1 {
            best = (period, strength);
        }
        // Over at most a second, a step of 10^-4 moves the last instant by less than a hundredth
        // of a turn per turn passed.
        period *= 1.0 + 1e-4;
    }
    best
}

// Breaks when reading a sector again does not wait for it to come round. Forced to the medium, the
// same sector can be had once a turn, so latencies are whole turns.
#[test]
fn the_same_sector_again_takes_a_whole_turn() {
    let mut target = virtual_hdd("?seed=5");
    let load = Load { fua: true, ..Load::read(4096, 1, Nanos::secs(2)) };
    let samples = run(&mut target, load, |_| 123 * 4096);
    assert!(samples.len() > 200, "{}", samples.len());
    for sample in &samples[1..] {
        let off = sample.latency_ns().abs_diff(8_333_333);
        assert!(off < 10_000, "{sample:?} is {off} ns off one turn");
    }
}

// Breaks when an access's rotational wait is drawn instead of following from where the sector is:
// the mean would be the same, and no probe could find the period.
#[test]
fn the_period_comes_out_of_reads_all_over_one_track() {
    let mut target = virtual_hdd("?seed=6");
    // Drawn, not cycled: a cycle comes back to a sector always after the same count of turns, and
    // then any fraction of that time would pass for the period.
    let mut pick = common::random(2, 0, 8, 1);
    let load = Load { fua: true, ..Load::read(4096, 1, Nanos::secs(1)) };
    let samples = run(&mut target, load, |slot| pick(slot) * 40 * 4096);
    assert_period(&by_offset(&samples));
}

// The same from ordinary random reads: 24 places in a GiB, in another order each time round, so that
// none is still in memory when its turn comes.
#[test]
fn the_period_comes_out_of_random_reads() {
    let mut target = virtual_hdd("?seed=7");
    let mut pick = common::random(3, 0, 24, 1);
    let load = Load::read(4096, 1, Nanos::secs(1));
    let samples = run(&mut target, load, |slot| pick(slot) * (GIB / 24 / 4096) * 4096);
    let from_medium: Vec<Sample> =
        samples.into_iter().filter(|s| s.latency_ns() > 300_000).collect();
    assert_period(&by_offset(&from_medium));
}

/// Completions by address, each in nanoseconds since the group's first.
fn by_offset(samples: &[Sample]) -> Vec<Vec<f64>> {
    let mut offsets: Vec<u64> = samples.iter().map(|s| s.offset).collect();
    offsets.sort_unstable();
    offsets.dedup();
    let group = |offset| {
        let own = samples.iter().filter(move |s| s.offset == offset);
        own.map(|s| s.completed.0 as f64).collect::<Vec<f64>>()
    };
    offsets.into_iter().map(group).filter(|g| g.len() > 2).collect()
}

fn assert_period(groups: &[Vec<f64>]) {
    assert!(groups.len() >= 5, "{} places were read more than twice", groups.len());
    let (period, strength) = period_ns(groups);
    assert!((period / 8_333_333.0 - 1.0).abs() < 2e-3, "{period} ns, strength {strength:.3}");
    assert!(strength > 0.9, "{strength:.3}");
}

// Breaks when writes forced to the medium do not wait for their sector either.
#[test]
fn forced_writes_of_one_sector_take_a_whole_turn_too() {
    let mut target = virtual_hdd("");
    let load = Load { op: Op::Write, fua: true, ..Load::read(4096, 1, Nanos::secs(1)) };
    let samples = run(&mut target, load, |_| 0);
    for sample in &samples[1..] {
        assert!(sample.latency_ns().abs_diff(8_333_333) < 10_000, "{sample:?}");
    }
}

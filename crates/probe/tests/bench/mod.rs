//! A virtual drive on the bench.

#![allow(dead_code, reason = "each example uses a part of this")]

use std::sync::atomic::AtomicBool;

use block::{Bytes, Nanos, Target};
use drivescope_probe::{Desk, NoKeeper, Terms};
use engine::TargetBench;
use workload::plan::Region;

/// Opens `spec` and lets `work` have a desk at which everything is allowed.
pub fn at<R>(spec: &str, work: impl FnOnce(&mut Desk<'_>) -> R) -> R {
    on_terms(spec, |_| {}, work)
}

/// As [`at`], with terms of the caller's.
pub fn on_terms<R>(
    spec: &str,
    change: impl FnOnce(&mut Terms),
    work: impl FnOnce(&mut Desk<'_>) -> R,
) -> R {
    let mut target = sim::open(spec).unwrap();
    let mut environment = target.environment();
    let cancel = AtomicBool::new(false);
    let mut terms = Terms {
        region: Region { offset: Bytes::ZERO, length: target.info().capacity_bytes },
        may_write: true,
        time_budget: Nanos::secs(100_000),
        write_budget: Bytes(u64::MAX),
        seed: 1,
    };
    change(&mut terms);
    let mut bench = TargetBench::new(&mut target, &mut environment, &cancel);
    let mut keeper = NoKeeper;
    work(&mut Desk::new(&mut bench, terms, &mut keeper))
}

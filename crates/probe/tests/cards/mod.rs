//! Virtual drives on a desk, with noise at a stated level.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::sync::atomic::AtomicBool;

use block::{Bytes, Nanos, Target};
use drivescope_probe as probe;
use engine::TargetBench;
use probe::{Desk, NoKeeper, Terms};
use workload::plan::Region;

/// What may be done: a whole drive written, in an hour and 4 GiB.
pub fn terms(capacity: Bytes, seed: u64) -> Terms {
    Terms {
        region: Region { offset: Bytes(0), length: capacity },
        may_write: true,
        time_budget: Nanos::secs(3600),
        write_budget: Bytes(4 << 30),
        seed,
    }
}

/// Sits down at a desk with the drive of `spec`.
pub fn at_desk<R>(
    spec: &str,
    change: impl FnOnce(&mut Terms),
    work: impl FnOnce(&mut Desk<'_>) -> R,
) -> R {
    let mut target = sim::open(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
    let mut environment = target.environment();
    let mut terms = terms(target.info().capacity_bytes, 1);
    change(&mut terms);
    let cancel = AtomicBool::new(false);
    let mut bench = TargetBench::new(&mut target, &mut environment, &cancel);
    let mut keeper = NoKeeper;
    let mut desk = Desk::new(&mut bench, terms, &mut keeper);
    work(&mut desk)
}

/// A drawn card whose noise has a standard deviation of `level` times what a boundary of erase blocks costs a read.
pub fn drawn(seed: u64, level: f64) -> (String, sim::Truth) {
    let base = format!("sim:random-card?seed={seed}");
    let description = sim::show(&base).unwrap();
    let parameters = serde_json::to_value(&description.parameters).unwrap();
    let field = |table: &str, key: &str| parameters[table][key].as_u64().unwrap();
    let step = match field("read", "lookup_ns") {
        0 => 50_000,
        step => step,
    };
    let jitter = (level * step as f64 * 12.0_f64.sqrt()) as u64;
    let spike = 12 * field("read", "command_ns");
    let spec = format!("{base}&link.jitter_ns={jitter}&link.spike_ppm=10000&link.spike_ns={spike}");
    (spec, description.truth)
}

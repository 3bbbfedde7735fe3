//! A virtual drive on the bench, for probes that read.
#![allow(dead_code, reason = "each test uses its part")]

use std::sync::atomic::AtomicBool;

use block::{Bytes, Nanos, Target};
use drivescope_probe::{Desk, Finding, Known, Name, NoKeeper, Outcome, Spent, Terms};
use engine::TargetBench;
use workload::plan::Region;

/// What may be touched.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// First byte and length; the whole drive when the length is 0.
    pub offset: u64,
    pub length: u64,
    pub time: Nanos,
    pub seed: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { offset: 0, length: 0, time: Nanos::secs(600), seed: 7 }
    }
}

/// Gives `work` a desk at the virtual drive `spec`; gives what it gave, and what was spent.
pub fn at_desk<R>(spec: &str, limits: Limits, work: impl FnOnce(&mut Desk<'_>) -> R) -> (R, Spent) {
    let mut target = sim::open(spec).unwrap();
    let mut environment = target.environment();
    let cancel = AtomicBool::new(false);
    let whole = target.info().capacity_bytes;
    let length = if limits.length == 0 { whole } else { Bytes(limits.length) };
    let terms = Terms {
        region: Region { offset: Bytes(limits.offset), length },
        may_write: false,
        time_budget: limits.time,
        write_budget: Bytes(0),
        seed: limits.seed,
    };
    let mut keeper = NoKeeper;
    let mut bench = TargetBench::new(&mut target, &mut environment, &cancel);
    let mut desk = Desk::new(&mut bench, terms, &mut keeper);
    let result = work(&mut desk);
    (result, desk.spent())
}

/// Group of pages given.
pub fn group(bytes: u64) -> Known {
    let mut known = Known::new();
    known.give(Name::MultiPlanePage, bytes);
    known
}

/// What was said of `name`.
pub fn finding<E>(outcome: &Outcome<E>, name: Name) -> &Finding {
    outcome.findings.iter().find(|finding| finding.name == name).unwrap()
}

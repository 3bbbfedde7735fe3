//! Virtual drives on a desk, with noise at a stated level, and scores.

#![allow(dead_code, reason = "each example uses a part of this")]

use std::sync::atomic::AtomicBool;

use block::{Bytes, Nanos, Target};
use drivescope_probe::{Desk, Finding, NoKeeper, Spent, Terms, Verdict};
use engine::TargetBench;
use workload::plan::Region;

/// Terms that allow writes to the whole drive, for an hour and up to 4 GiB.
pub fn terms(capacity: Bytes, seed: u64) -> Terms {
    Terms {
        region: Region { offset: Bytes(0), length: capacity },
        may_write: true,
        time_budget: Nanos::secs(3600),
        write_budget: Bytes(4 << 30),
        seed,
    }
}

/// Sits down at a desk with the drive of `spec`, whose terms `change` alters. What was spent comes back too.
pub fn at_desk<R>(
    spec: &str,
    change: impl FnOnce(&mut Terms),
    work: impl FnOnce(&mut Desk<'_>) -> R,
) -> (R, Spent) {
    let mut target = sim::open(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
    let mut environment = target.environment();
    let mut terms = terms(target.info().capacity_bytes, 1);
    change(&mut terms);
    let cancel = AtomicBool::new(false);
    let mut bench = TargetBench::new(&mut target, &mut environment, &cancel);
    let mut keeper = NoKeeper;
    let mut desk = Desk::new(&mut bench, terms, &mut keeper);
    let result = work(&mut desk);
    (result, desk.spent())
}

/// A drawn card whose noise has a standard deviation of `level` times what a boundary of erase blocks costs a read
/// (50 µs where it costs nothing), and of whose commands 1% take some ten times as long as a read.
pub fn drawn(seed: u64, level: f64) -> (String, sim::Truth) {
    let base = format!("sim:random-card?seed={seed}");
    let description = sim::show(&base).unwrap();
    let parameters = serde_json::to_value(&description.parameters).unwrap();
    let field = |table: &str, key: &str| parameters[table][key].as_u64().unwrap();
    let step = match field("read", "lookup_ns") {
        0 => 50_000,
        step => step,
    };
    // The mean of four uniform draws: its standard deviation is the half width over the root of 12.
    let jitter = (level * step as f64 * 12.0_f64.sqrt()) as u64;
    let spike = 12 * field("read", "command_ns");
    let noise = format!("link.jitter_ns={jitter}&link.spike_ppm=10000&link.spike_ns={spike}");
    (format!("{base}&{noise}"), description.truth)
}

/// How many answers were right, wrong, or that it does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    pub right: u32,
    pub wrong: u32,
    pub unknown: u32,
}

impl Score {
    /// Counts an answer; `truth` is null where there is no such thing. Whatever is not right is printed.
    pub fn count(&mut self, about: &str, finding: &Finding, truth: Option<u64>) {
        match finding.verdict {
            Verdict::Found if truth.is_some() && finding.value == truth => self.right += 1,
            Verdict::None if truth.is_none() => self.right += 1,
            Verdict::Unknown => {
                self.unknown += 1;
                println!("{about}: {:?} unknown, is {truth:?}: {}", finding.name, finding.reason);
            }
            _ => {
                self.wrong += 1;
                println!("{about}: WRONG, is {truth:?}: {finding:?}");
            }
        }
    }
}

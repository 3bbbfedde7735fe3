//! Steps for tests that run an engine's whole loop on a target.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::sync::atomic::AtomicBool;

use block::{Bytes, Environment, Extents, NullSink, Snapshot, Stack, Target};
use engine::{Control, Samples, run_step};
use workload::plan::{Content, Plan, Region, Step};

/// An environment in which nothing is counted.
#[derive(Default)]
pub struct Bare(Stack);

impl Environment for Bare {
    fn stack(&self) -> &Stack {
        &self.0
    }

    fn snapshot(&mut self) -> Snapshot {
        Snapshot::default()
    }

    fn extents(&mut self) -> Option<Extents> {
        None
    }
}

/// Arrivals of a closed loop.
pub fn closed(depth: u16) -> String {
    format!(r#"{{ kind = "closed_loop", depth = {depth} }}"#)
}

/// Operations of one kind only.
pub fn only(op: &str) -> String {
    format!(r#"[{{ op = "{op}", percent = 100 }}]"#)
}

/// A plan of one step with one measured phase of random accesses; each of the rest is TOML.
pub fn plan(block: &str, arrival: &str, stop: &str, ops: &str) -> Plan {
    let text = format!(
        r#"
        schema = "drivescope.plan/1"
        seed = 1
        [[step]]
        name = "test"
        submitters = 1
        [[step.phase]]
        name = "all"
        measured = true
        block = "{block}"
        address = {{ pattern = "random" }}
        stop = {stop}
        arrival = {arrival}
        ops = {ops}
        "#
    );
    Plan::from_toml(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs `step` once on all of `target`.
pub fn run<T: Target>(target: &mut T, step: &Step) -> Samples {
    let cancel = AtomicBool::new(false);
    let control = Control { cancel: &cancel, trace_cap: 0 };
    let region = Region { offset: Bytes::ZERO, length: target.info().capacity_bytes };
    let seeded = (region, Content::default(), 7);
    run_step(target, &mut Bare::default(), step, seeded, control, &mut NullSink).unwrap()
}

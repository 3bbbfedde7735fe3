//! Steps and runs of them, for the tests of this crate.
#![allow(dead_code, reason = "each test file uses its part")]

use std::sync::Arc;

use block::{Bytes, Op};
use drivescope_workload::plan::{Address, Arrival, OpShare, Phase, Region, Share, Step, Stop};
use drivescope_workload::stream::{Access, SharedCursors, Stream};

pub const OWN: Address = Address::Sequential { share: Share::Partition };
pub const SHARED: Address = Address::Sequential { share: Share::Cursor };
pub const ADDRESSES: [Address; 3] = [OWN, SHARED, Address::Random];

pub fn share(op: Op, percent: u8) -> OpShare {
    OpShare { op, fua: false, percent }
}

pub fn phase(block: u64, address: Address, ops: &[OpShare]) -> Phase {
    Phase {
        name: "phase".to_owned(),
        measured: true,
        block: Bytes(block),
        address,
        stop: Stop { ios: Some(1), ..Stop::default() },
        arrival: Arrival::ClosedLoop { depth: 1 },
        ops: ops.to_vec(),
        region: None,
        blocks: Vec::new(),
    }
}

pub fn step(submitters: u16, phases: &[Phase]) -> Step {
    Step { name: "step".to_owned(), submitters, order: None, engine: None, phases: phases.to_vec() }
}

pub fn region(offset: u64, length: u64) -> Region {
    Region { offset: Bytes(offset), length: Bytes(length) }
}

/// The streams of all submitters of a run.
pub fn streams(step: &Step, region: Region, seed: u64) -> Vec<Stream> {
    let shared = Arc::new(SharedCursors::new(step, region, seed));
    let stream = |n| Stream::new(step, region, n, seed, Arc::clone(&shared));
    (0..step.submitters).map(stream).collect()
}

pub fn take(stream: &mut Stream, n: usize) -> Vec<Access> {
    let mut out = vec![Access::default(); n];
    stream.fill(&mut out);
    out
}

pub fn offsets(accesses: &[Access]) -> Vec<u64> {
    accesses.iter().map(|a| a.offset.0).collect()
}

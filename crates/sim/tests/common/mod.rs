//! A closed loop over a virtual drive, small enough to be trusted at sight.

pub mod play;

use block::{Bytes, Completion, Drive, LaneSetup, Nanos, Op, Outcome, Request, Target, Time};
use drivescope_sim::VirtualTarget;

pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;

/// Surroundings of a drive of at least 4 MiB, each of them in effect within a second.
pub const AROUND: [&str; 6] = [
    "&neighbour.ios_per_s=300&neighbour.block_bytes=4096&neighbour.read_percent=60&neighbour.active_ns=50000000\
     &neighbour.quiet_ns=30000000",
    "&host.queue_depth=3&host.link_bytes_per_s=40000000",
    "&heat.throttle_above_c=36&heat.resume_below_c=35&heat.time_constant_ns=10000000",
    "&faults.unreadable=1MiB+64KiB&faults.unwritable=2MiB+64KiB&faults.error_after_ns=50000000",
    "&faults.real_capacity_bytes=3000000&faults.storm.period_ns=100000000&faults.storm.length_ns=20000000",
    "&faults.vanish_at_ns=400000000",
];

/// The disk, with overrides such as `?seed=7`.
pub fn virtual_hdd(overrides: &str) -> VirtualTarget {
    disk("hdd-7200", overrides)
}

/// A disk of the given model, with overrides.
pub fn disk(model: &str, overrides: &str) -> VirtualTarget {
    drivescope_sim::open(&format!("sim:{model}{overrides}")).unwrap()
}

/// One I/O with what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    pub op: Op,
    pub slot: u16,
    pub offset: u64,
    pub len: u64,
    pub issued: Time,
    pub completed: Time,
    pub outcome: Outcome,
}

impl Sample {
    fn new(request: &Request, completion: &Completion) -> Sample {
        let Request { op, slot, offset: Bytes(offset), len: Bytes(len), .. } = *request;
        let Completion { issued, completed, outcome, .. } = *completion;
        Sample { op, slot, offset, len, issued, completed, outcome }
    }

    pub fn latency_ns(&self) -> u64 {
        self.completed.since(self.issued).0
    }
}

/// Load of the loop.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub op: Op,
    pub fua: bool,
    pub block: u64,
    pub depth: u16,
    pub duration: Nanos,
}

impl Load {
    pub fn read(block: u64, depth: u16, duration: Nanos) -> Load {
        Load { op: Op::Read, fua: false, block, depth, duration }
    }

    pub fn write(block: u64, depth: u16, duration: Nanos) -> Load {
        Load { op: Op::Write, ..Load::read(block, depth, duration) }
    }
}

pub fn setup(depth: u16) -> LaneSetup<'static> {
    LaneSetup { depth, block_bytes_max: Bytes::mib(64), ..LaneSetup::default() }
}

pub fn request(op: Op, offset: u64, len: u64, slot: u16) -> Request {
    Request { op, fua: false, submitter: 0, slot, offset: Bytes(offset), len: Bytes(len) }
}

/// Keeps `depth` requests outstanding for `duration`; `next` gives the offset for a slot. Returns
/// what completed within the duration, in that order.
pub fn run(
    target: &mut VirtualTarget,
    load: Load,
    mut next: impl FnMut(u16) -> u64,
) -> Vec<Sample> {
    let Load { op, fua, block, depth, duration } = load;
    run_requests(target, depth, duration, |slot| Request {
        fua,
        ..request(op, next(slot), block, slot)
    })
}

/// As [`run`], but `next` gives the whole request for a slot.
pub fn run_requests(
    target: &mut VirtualTarget,
    depth: u16,
    duration: Nanos,
    mut next: impl FnMut(u16) -> Request,
) -> Vec<Sample> {
    let mut lanes = target.open(&setup(depth)).unwrap();
    let drive = &mut lanes[0];
    let until = drive.now() + duration;
    let mut issued = vec![request(Op::Flush, 0, 0, 0); usize::from(depth)];
    let mut free: Vec<u16> = (0..depth).collect();
    let (mut samples, mut done): (Vec<Sample>, Vec<Completion>) = (Vec::new(), Vec::new());
    while drive.now() < until {
        for slot in free.drain(..) {
            let request = Request { slot, ..next(slot) };
            issued[usize::from(slot)] = request;
            drive.submit(&[request]).unwrap();
        }
        done.clear();
        drive.wait_until(until, &mut done).unwrap();
        for c in &done {
            samples.push(Sample::new(&issued[usize::from(c.slot)], c));
            free.push(c.slot);
        }
    }
    samples
}

/// Reads each offset once, one after the other.
pub fn reads_of(
    target: &mut VirtualTarget,
    offsets: impl Iterator<Item = u64>,
    len: u64,
) -> Vec<Sample> {
    let mut lanes = target.open(&setup(1)).unwrap();
    let read = |offset| one(&mut lanes[0], request(Op::Read, offset, len, 0));
    offsets.map(read).collect()
}

/// Issues one request and waits for it.
pub fn one(drive: &mut impl Drive, request: Request) -> Sample {
    drive.submit(&[request]).unwrap();
    let mut done = Vec::new();
    drive.wait_until(Time::NEVER, &mut done).unwrap();
    assert_eq!(done.len(), 1, "one request, one completion");
    Sample::new(&request, &done[0])
}

/// One cursor for the whole queue, around and around a region.
pub fn shared_cursor(start: u64, span: u64, block: u64) -> impl FnMut(u16) -> u64 {
    let mut at = 0;
    move |_| {
        let offset = start + at;
        at = (at + block) % span;
        offset
    }
}

/// The addresses of diskspd for Linux at `-oN` without `-si`: a cursor for each slot, one block apart,
/// each moving on from its own last request by one block, so that every block is read `depth` times.
pub fn private_cursors(depth: u16, span: u64, block: u64) -> impl FnMut(u16) -> u64 {
    let mut cursors: Vec<u64> = (0..u64::from(depth)).map(|slot| slot * block).collect();
    move |slot| {
        let cursor = &mut cursors[usize::from(slot)];
        let offset = *cursor;
        *cursor = (offset + block) % span;
        offset
    }
}

/// Uniform over the block-size slots of a region. SplitMix64 (Steele, Lea, Flood 2014).
pub fn random(seed: u64, start: u64, span: u64, block: u64) -> impl FnMut(u16) -> u64 {
    let mut state = seed;
    move |_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        start + (z % (span / block)) * block
    }
}

/// Rate of the samples between the first and the last completion, in MB/s (10^6 bytes).
pub fn mb_per_s(samples: &[Sample]) -> f64 {
    let first = samples.first().unwrap().completed;
    let last = samples.last().unwrap().completed;
    let bytes: u64 = samples[1..].iter().map(|s| s.len).sum();
    bytes as f64 / 1e6 / last.since(first).as_secs_f64()
}

//! The same seed gives the same samples on every machine: each built-in model's answers to one small plan
//! come to a committed number.
//!
//! A model that is added, or meant to answer otherwise, is entered with
//! `DRIVESCOPE_BLESS=1 cargo test -p drivescope-sim --test suite golden`, and the difference is reviewed.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::common::{random, request, setup};
use block::{Bytes, Drive, Environment, Nanos, Op, Request, Target, Time};
use drivescope_sim::{MediaCounters, VirtualTarget};

/// A line for each model: name and hash.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden.txt");

/// FNV-1a, 64 bits: not against enemies, and small enough to be trusted at sight.
struct Hash(u64);

impl Hash {
    fn add(&mut self, value: u64) {
        for byte in value.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// Operations at a depth, and where: in a part of the drive that is small beside any model.
struct Step {
    op: Op,
    fua: bool,
    block: u64,
    depth: u16,
    ios: u64,
    sequential: bool,
}

const SPAN: u64 = 64 << 20;

const PLAN: [Step; 9] = {
    const fn step(op: Op, block: u64, depth: u16, ios: u64, sequential: bool) -> Step {
        Step { op, fua: false, block, depth, ios, sequential }
    }
    [
        step(Op::Write, 1 << 20, 4, 40, true),
        step(Op::Read, 1 << 20, 8, 40, true),
        step(Op::Write, 4096, 1, 60, false),
        step(Op::Write, 4096, 32, 200, false),
        step(Op::Flush, 0, 1, 1, true),
        Step { fua: true, ..step(Op::Write, 16_384, 2, 20, false) },
        step(Op::Discard, 1 << 20, 1, 4, false),
        step(Op::Read, 4096, 32, 300, false),
        Step { fua: true, ..step(Op::Read, 512, 1, 30, false) },
    ]
};

fn carry_out(target: &mut VirtualTarget, step: &Step, hash: &mut Hash) {
    let grain = step.block.max(512);
    let mut cursor = 0;
    let mut draw = random(grain ^ step.ios, 0, SPAN, grain);
    let mut next = |slot: u16| {
        let offset = if step.sequential { cursor } else { draw(slot) };
        cursor = (cursor + step.block) % SPAN;
        Request { fua: step.fua, ..request(step.op, offset, step.block, slot) }
    };
    let mut lanes = target.open(&setup(step.depth)).unwrap();
    let drive = &mut lanes[0];
    let (mut issued, mut done) = (0, Vec::new());
    let mut free: Vec<u16> = (0..step.depth).collect();
    let mut finished = 0;
    while finished < step.ios {
        for slot in free.drain(..) {
            if issued < step.ios {
                drive.submit(&[next(slot)]).unwrap();
                issued += 1;
            }
        }
        done.clear();
        drive.wait_until(Time::NEVER, &mut done).unwrap();
        assert!(!done.is_empty(), "nothing completes any more");
        for c in &done {
            hash.add(u64::from(c.slot));
            hash.add(c.issued.0);
            hash.add(c.completed.0);
            hash.add(c.outcome.0 as u64);
            free.push(c.slot);
            finished += 1;
        }
    }
}

/// The hash of all that a drive answers to the plan, and of what it counted.
fn hash(name: &str, seed: u64) -> u64 {
    played(name, seed).0
}

/// That hash, and what the drive counted inside.
fn played(name: &str, seed: u64) -> (u64, MediaCounters) {
    let and = if name.contains('?') { '&' } else { '?' };
    let mut target = drivescope_sim::open(&format!("sim:{name}{and}seed={seed}")).unwrap();
    assert!(target.info().capacity_bytes >= Bytes(SPAN), "{name} is too small for the plan");
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    for step in &PLAN {
        carry_out(&mut target, step, &mut hash);
        target.pause(Nanos::millis(100));
    }
    let snapshot = target.environment().snapshot();
    let (device, media) = (&snapshot.devices[0], target.media());
    let inside =
        [media.medium_read_bytes, media.medium_write_bytes, media.copied_bytes, media.folded_bytes];
    for Bytes(counted) in inside {
        hash.add(counted);
    }
    hash.add(media.erases);
    for counted in [device.reads, device.read_bytes.0, device.writes, device.busy_ns.0] {
        hash.add(counted);
    }
    (hash.0, media)
}

/// Behaviour that the models as they come do not show within so few operations: collection by each policy, folding,
/// and all that may surround a drive.
const MORE: [&str; 5] = [
    "enterprise-28op?state=steady&capacity=4GiB",
    "mlc-nvme?state=steady&capacity=32GiB&nand.pages_per_block=64&layout.collection=fifo",
    "sata-a?state=steady&capacity=8GiB&layout.collection=choices&layout.choices=3",
    "qlc-pslc?state=filled&capacity=16GiB&nand.pages_per_block=64&slc.bytes=8000000&slc.idle_before_fold_ns=1000000",
    "sata-b?state=filled&capacity=8GiB&host.link_bytes_per_s=300000000&faults.unreadable=16MiB+4KiB\
     &faults.error_after_ns=1000000&faults.storm.period_ns=20000000&faults.storm.length_ns=4000000\
     &heat.throttle_above_c=35&heat.resume_below_c=34&heat.time_constant_ns=10000000&neighbour.ios_per_s=5000",
];

/// All that has a hash, as written after `sim:`, without the seed.
fn hashed() -> impl Iterator<Item = String> {
    let models = drivescope_sim::list().into_iter().map(|info| info.name);
    models.chain(MORE.map(str::to_owned))
}

fn committed() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(FILE).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(name, hash)| (name.to_owned(), hash.trim().to_owned())).collect()
}

// Breaks when a model's behaviour changes unasked, or depends on the machine, the build or the run.
#[test]
fn one_seed_gives_what_is_committed_on_every_machine() {
    let hashes: BTreeMap<String, String> =
        hashed().map(|name| (name.clone(), format!("{:016x}", hash(&name, 7)))).collect();
    if std::env::var_os("DRIVESCOPE_BLESS").is_some() {
        let mut text = String::new();
        for (name, hash) in &hashes {
            writeln!(text, "{name} {hash}").unwrap();
        }
        std::fs::write(FILE, text).unwrap();
    }
    assert_eq!(
        hashes,
        committed(),
        "a model answers otherwise than is committed; if that is meant, run this test with DRIVESCOPE_BLESS=1"
    );
}

// Breaks when the operations no longer reach what the drives after the built-in models are there for: the committed
// hashes would then hold nothing of it.
#[test]
fn the_drives_that_are_hashed_besides_collect_and_fold() {
    for name in MORE {
        let (_, media) = played(name, 7);
        let moved = if name.starts_with("qlc") { media.folded_bytes } else { media.copied_bytes };
        let expected = if name.contains("state=steady") || name.starts_with("qlc") { 1 } else { 0 };
        assert!(moved >= Bytes(expected) && media.erases >= expected, "{name}: {media:?}");
    }
}

// Breaks when a model's noise does not come from the seed, or never reaches its answers.
#[test]
fn another_seed_gives_something_else() {
    for name in hashed() {
        let [first, again, other] = [7, 7, 8].map(|seed| hash(&name, seed));
        assert_eq!(first, again, "{name}: one seed, two histories");
        assert_ne!(first, other, "{name}: the seed makes no difference");
    }
}

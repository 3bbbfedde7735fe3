//! `probe align` on drives made for a purpose: what no model does.

use std::collections::VecDeque;

use block::{Bytes, DriveInfo, DriveKind, Environment, Nanos, Op, Payload, Snapshot, Stack};
use drivescope_probe::align::{Evidence, Options, probe};
use drivescope_probe::{Desk, Finding, Known, NoKeeper, Outcome, Terms};
use engine::{Bench, BenchError, Sample};
use workload::plan::Region;
use workload::rng::Rng;
use workload::script::Script;

const CAPACITY: u64 = 8 << 30;

/// A drive whose reads take what a function says: of where, how long, when, and of random numbers.
struct Made<F> {
    info: DriveInfo,
    now: Nanos,
    rng: Rng,
    takes: F,
}

impl<F: FnMut(u64, u64, Nanos, &mut Rng) -> f64> Bench for Made<F> {
    fn info(&self) -> &DriveInfo {
        &self.info
    }

    fn stack(&self) -> Stack {
        sim::open("sim:usb-8m").unwrap().environment().stack().clone()
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn snapshot(&mut self) -> Snapshot {
        sim::open("sim:usb-8m").unwrap().environment().snapshot()
    }

    fn pause(&mut self, span: Nanos) {
        self.now += span;
    }

    fn stream(
        &mut self,
        _: &Script,
        _: u16,
        _: &dyn Fn() -> Box<dyn Payload>,
        _: engine::Streamed<'_>,
    ) -> Result<(), BenchError> {
        unreachable!("align asks for single accesses")
    }

    fn run(
        &mut self,
        script: &Script,
        _: &dyn Fn() -> Box<dyn Payload>,
    ) -> Result<Vec<Sample>, BenchError> {
        let take = |access: &workload::script::Access| {
            assert_eq!(access.op, Op::Read);
            let issued = self.now;
            let ns = (self.takes)(access.offset.0, access.len.0, issued, &mut self.rng);
            self.now += Nanos(ns.max(1.0) as u64);
            Sample {
                submitter: 0,
                op: Op::Read,
                offset: access.offset,
                len: access.len,
                intended: issued,
                issued,
                completed: self.now,
            }
        };
        Ok(script.accesses().iter().map(take).collect())
    }
}

/// Probes a drive of 8 GiB with blocks of `logical` bytes.
fn run(
    logical: u64,
    seed: u64,
    takes: impl FnMut(u64, u64, Nanos, &mut Rng) -> f64,
) -> Outcome<Evidence> {
    let info = DriveInfo {
        name: "made".to_owned(),
        kind: DriveKind::Virtual,
        model: None,
        serial: None,
        capacity_bytes: Bytes(CAPACITY),
        logical_block_bytes: Bytes(logical),
        physical_block_bytes: Bytes(logical),
        rotational: None,
        write_cache: None,
        cache_bytes: None,
        link_bytes_per_s: None,
    };
    let mut made = Made { info, now: Nanos::ZERO, rng: Rng::for_path(seed, &[1]), takes };
    let terms = Terms {
        region: Region { offset: Bytes::ZERO, length: Bytes(CAPACITY) },
        may_write: false,
        time_budget: Nanos::secs(600),
        write_budget: Bytes::ZERO,
        seed,
    };
    let mut keeper = NoKeeper;
    let mut desk = Desk::new(&mut made, terms, &mut keeper);
    probe(&mut desk, &Known::new(), &Options::default()).unwrap()
}

fn values(outcome: &Outcome<Evidence>) -> [Option<u64>; 3] {
    // Of a class the greatest: the pages that are read at once.
    let value = |finding: &Finding| finding.value.or(finding.one_of.last().copied());
    let values: Vec<Option<u64>> = outcome.findings.iter().map(value).collect();
    values.try_into().unwrap()
}

/// Boundaries of `size` that a read crosses.
fn crossed(offset: u64, len: u64, size: u64) -> f64 {
    ((offset + len - 1) / size - offset / size) as f64
}

/// A normal deviate, about.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

/// Time of a read on a card with pages of `page` and erase blocks of `block` bytes, in nanoseconds, without noise.
fn card(offset: u64, len: u64, page: u64, block: u64) -> f64 {
    400e3
        + 20.0 * len as f64
        + 70e3 * crossed(offset, len, page)
        + 110e3 * crossed(offset, len, block)
}

// Breaks when heavy tails, of which no model has as heavy ones, move a mean: a fifth of all reads is late.
#[test]
fn heavy_tails_do_not_move_an_answer() {
    for seed in 0..4 {
        let outcome = run(512, seed, |offset, len, _, rng| {
            let late =
                if rng.unit() < 0.05 { 300e3 * rng.exponential().exp().min(50.0) } else { 0.0 };
            card(offset, len, 16384, 6 << 20) + 20e3 * normal(rng) + 15e3 * rng.exponential() + late
        });
        assert_eq!(values(&outcome), [6 << 20, 16384, 16384].map(Some), "{:#?}", outcome.findings);
    }
}

// Breaks when a drive that becomes slower while it is asked, or is disturbed for a while, is given steps by that.
#[test]
fn drift_is_no_step() {
    for seed in 0..4 {
        let outcome = run(512, seed, |offset, len, now, rng| {
            let warm = 150e3 * now.as_secs_f64() / 45.0;
            let busy = if now.as_secs_f64() % 7.0 < 1.5 { 200e3 * rng.unit() } else { 0.0 };
            card(offset, len, CAPACITY, CAPACITY) + warm + busy + 10e3 * normal(rng)
        });
        assert_eq!(values(&outcome), [None; 3], "{:#?}", outcome.findings);
        let outcome = run(512, seed, |offset, len, now, rng| {
            let warm = 150e3 * now.as_secs_f64() / 45.0;
            card(offset, len, 8192, 4 << 20) + warm + 10e3 * normal(rng)
        });
        assert_eq!(values(&outcome), [4 << 20, 8192, 8192].map(Some), "{:#?}", outcome.findings);
    }
}

// Breaks when reads that overlap are answered from memory and counted as if the drive had made them.
#[test]
fn a_cache_is_seen_and_gone_round() {
    for seed in 0..3 {
        let mut kept: VecDeque<u64> = VecDeque::new();
        let outcome = run(512, seed, |offset, len, _, rng| {
            let lines = offset / 4096..=(offset + len - 1) / 4096;
            let hit = lines.clone().all(|line| kept.contains(&line));
            kept.extend(lines);
            while kept.len() > 2048 {
                kept.pop_front();
            }
            let time = if hit { 60e3 } else { card(offset, len, 16384, 2 << 20) };
            time + 10e3 * normal(rng)
        });
        assert!(outcome.evidence.conditions.has_read_cache());
        assert_eq!(values(&outcome)[0], Some(2 << 20), "{:#?}", outcome.findings);
        assert!(outcome.caveats.iter().any(|caveat| caveat.code == "read_cache"));
    }
}

// Breaks when a file on a disk in memory, a loop device on it or a fast drive gets a number from its jitter or from
// the size of the system's pages.
#[test]
fn a_loop_device_has_no_number() {
    for seed in 0..4 {
        let outcome = run(512, seed, |offset, len, _, rng| {
            let pages = crossed(offset, len, 4096);
            let slow = if rng.unit() < 0.02 { 80e3 * rng.exponential() } else { 0.0 };
            8e3 + 0.7e3 * pages + 1.5e3 * rng.exponential() + slow
        });
        assert_eq!(values(&outcome), [None; 3], "{:#?}", outcome.findings);
    }
}

// Breaks when a size that is neither 2^k nor 3 x 2^k is rounded to one that is.
#[test]
fn other_sizes_are_not_rounded() {
    for block in [5 << 20, 9 << 20, 7 << 19, 18_750 << 10] {
        let outcome = run(512, block, |offset, len, _, rng| {
            card(offset, len, 16384, block) + 10e3 * normal(rng)
        });
        let told = values(&outcome)[0];
        assert!(told.is_none_or(|told| told == block), "{block}: {:#?}", outcome.findings);
    }
}

// Breaks when one of two steps is taken for the erase block by chance.
#[test]
fn two_steps_leave_it_open() {
    let outcome = run(512, 1, |offset, len, _, rng| {
        card(offset, len, 16384, 4 << 20)
            + 80e3 * crossed(offset, len, 32 << 20)
            + 10e3 * normal(rng)
    });
    assert_eq!(values(&outcome)[0], None, "{:#?}", outcome.findings);
}

// Breaks when a pattern that only larger reads show is not found, or the page that only smaller ones show is lost.
#[test]
fn the_block_size_that_shows_speaks() {
    let outcome = run(512, 2, |offset, len, _, rng| {
        let block = if len >= 8192 { 4 << 20 } else { CAPACITY };
        card(offset, len, 8192, block) + 10e3 * normal(rng)
    });
    assert_eq!(values(&outcome)[0], Some(4 << 20), "{:#?}", outcome.findings);
    assert!(outcome.evidence.spoke_bytes.unwrap().0 >= 8192);
}

// Breaks when reads of less than two logical blocks are asked for.
#[test]
fn logical_blocks_of_4096_bytes_are_respected() {
    let outcome = run(4096, 3, |offset, len, _, rng| {
        assert!(offset.is_multiple_of(4096) && len.is_multiple_of(4096));
        card(offset, len, 16384, 12 << 20) + 10e3 * normal(rng)
    });
    assert_eq!(values(&outcome), [12 << 20, 16384, 16384].map(Some), "{:#?}", outcome.findings);
    assert_eq!(outcome.evidence.blocks[0].block_bytes.0, 8192);
}

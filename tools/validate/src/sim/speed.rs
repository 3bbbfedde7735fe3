//! How much a core simulates in a second, and what memory that takes.

use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, Result};
use block::{Bytes, NullSink, Op, Target as _};
use engine::{Control, run_step};
use rustix::time::{ClockId, clock_gettime};
use stats::paired_ratio;
use workload::plan::{Address, Arrival, Content, OpShare, Phase, Region, Step, Stop};

use super::claims::Claims;
use super::drive::{Drive, UNIT};
use super::oracles::addresses::Addresses;
use super::oracles::bare_ftl::BareFtl;
use crate::middle::{CONFIDENCE, Middle};

const SPEC: &str = "sim:enterprise-28op?state=steady";
/// I/Os of one round of each arm.
const IOS: u64 = 8_000_000;
const ROUNDS: u32 = 8;
const DEPTH: u16 = 32;
/// Least simulated writes a second of CPU, in millions.
const RATE_MIN: f64 = 2.0;
/// Most time of a simulated write, as a multiple of the bare log's.
const RATIO_MAX: f64 = 3.0;
/// Blocks of the bare log, of all dies together.
const BARE_BLOCKS: usize = 1200;

pub(super) fn check(claims: &mut Claims) -> Result<()> {
    claims.section(
        "Speed and memory",
        format!(
            "{ROUNDS} rounds of {IOS} uniform random 4 KiB writes on `{SPEC}` at depth {DEPTH} through the measuring \
             engine, histograms and account of addresses included, each beside as many on a bare page-mapped log of the \
             same size with greedy collection (no time, no queue, no histogram), in CPU time of the process; medians \
             with intervals of 95%. Memory is what the process grew by when the drive was opened and written, for each \
             physical page."
        ),
    );
    let before = resident()?;
    let mut drive = Drive::open(SPEC)?;
    simulate(&mut drive, 0, IOS)?;
    let grown = resident()?.saturating_sub(before);
    let op = drive.truth("over_provisioning")?;
    let pages = drive.units() as f64 * (1.0 + op);
    let bytes = grown as f64 / pages;
    // Spare blocks and what does not grow with the drive are in it too. Half of it would be one table alone.
    claims.within(SPEC, "memory, bytes a physical page", (bytes, 2), (4.1, 8.125 * 1.02));

    let units = drive.units() as usize;
    let mut bare = BareFtl::filled(units, BARE_BLOCKS, (pages / BARE_BLOCKS as f64) as usize);
    let mut addresses = Addresses(7);
    let mut write_bare = |count: u64| {
        let begun = cpu_time();
        (0..count).for_each(|_| bare.write(addresses.below(units as u64) as u32));
        per_io(cpu_time() - begun, count)
    };
    write_bare(3 * units as u64);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        if round % 2 == 0 {
            theirs.push(write_bare(IOS));
        }
        ours.push(simulate(&mut drive, 1 + u64::from(round), IOS)?);
        if round % 2 == 1 {
            theirs.push(write_bare(IOS));
        }
    }
    let show = |ns: &[f64]| Middle::of(ns).map_or(String::new(), |middle| middle.show(0));
    claims.told(SPEC, "ns of CPU a simulated write", show(&ours));
    claims.told("bare log", "ns of CPU a write", show(&theirs));
    let rates: Vec<f64> = ours.iter().map(|ns| 1e3 / ns).collect();
    let rate = Middle::of(&rates).context("no rounds")?;
    claims.told(SPEC, "million simulated writes a second of CPU", rate.show(2));
    let ratio = paired_ratio(&ours, &theirs, CONFIDENCE).context("too few rounds for a ratio")?;
    let interval = match (ratio.low, ratio.high) {
        (Some(low), Some(high)) => format!(" ({low:.1}–{high:.1})"),
        _ => String::new(),
    };
    let found = format!("{:.1}{interval}", ratio.ratio);
    claims.told(SPEC, "time, of the bare log's", found);
    // Each by itself: a rate that is reached does not excuse a log that is slow for what it does.
    let what = "million simulated writes a second of CPU, the middle";
    claims.within(SPEC, what, (rate.median, 2), (RATE_MIN, f64::INFINITY));
    let what = "time, of the bare log's, the middle";
    claims.within(SPEC, what, (ratio.ratio, 1), (f64::NEG_INFINITY, RATIO_MAX));
    Ok(())
}

/// CPU time of a simulated write, in nanoseconds.
fn simulate(drive: &mut Drive, seed: u64, ios: u64) -> Result<f64> {
    let phase = Phase {
        name: "measure".to_owned(),
        measured: true,
        block: Bytes(UNIT),
        address: Address::Random,
        stop: Stop { ios: Some(ios), ..Stop::default() },
        arrival: Arrival::ClosedLoop { depth: DEPTH },
        ops: vec![OpShare { op: Op::Write, fua: false, percent: 100 }],
        region: None,
        blocks: Vec::new(),
    };
    let step = Step {
        name: "writes".to_owned(),
        submitters: 1,
        order: None,
        engine: None,
        phases: vec![phase],
    };
    let region = Region { offset: Bytes::ZERO, length: drive.target.info().capacity_bytes };
    let mut environment = drive.target.environment();
    let never = AtomicBool::new(false);
    let control = Control { cancel: &never, trace_cap: 0 };
    let begun = cpu_time();
    let given = (region, Content::default(), seed);
    run_step(&mut drive.target, &mut environment, &step, given, control, &mut NullSink)?;
    Ok(per_io(cpu_time() - begun, ios))
}

fn per_io(span: Duration, ios: u64) -> f64 {
    span.as_nanos() as f64 / ios as f64
}

/// Of this process and its threads.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// Bytes of memory that this process has.
fn resident() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    Ok(kib.context("/proc/self/status has no VmRSS")? << 10)
}

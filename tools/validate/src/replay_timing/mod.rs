//! `replay-timing`: when reads of a schedule reach the block layer, beside other replayers and beside bare loops.
//!
//! Every replayer runs the same Poisson schedule on the same loop device, one after the other, in an order drawn
//! for each round; the kernel's own events show when each read was queued. Two bare loops, one that sleeps until
//! shortly before each read and one that never sleeps, show the best that the machine allows: a replay adds to them the
//! cost of reading ahead, claiming, keeping slots and reporting.

mod arms;
mod figures;
mod schedule;
mod table;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result, bail};
use block::{Bytes, Waiting};
use clap::Args;

use crate::latency::tracefs::Trace;
use crate::loop_device::LoopOnNewFile;
use crate::provenance::{self, Machine};
use crate::stop::stop_flag;
use crate::{fio, order, sheet};
use arms::{Arm, Ground, Told};
use figures::Errors;
use schedule::Schedule;

/// Rounds that the table promises at least.
const ROUNDS_MIN: u32 = 6;
/// Reads that the table promises at least.
const READS_MIN: u32 = 20_000;
/// Size of the device: more blocks than reads.
const SIZE: Bytes = Bytes::mib(128);
/// Size of a read.
const BLOCK: Bytes = Bytes::kib(4);

/// Options of `replay-timing`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Rounds; each runs everybody once
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Reads of each run
    #[arg(long, default_value_t = READS_MIN, value_parser = clap::value_parser!(u32).range(100..=30_000))]
    reads: u32,
    /// Reads a second, in the mean
    #[arg(long, default_value_t = 5_000.0)]
    per_s: f64,
    /// Leave the other replayers out, and run only ours and the bare loops
    #[arg(long)]
    alone: bool,
    /// Directory of the file under the loop device [default: target/validate]
    #[arg(long)]
    loop_on: Option<PathBuf>,
    /// Seed of schedule and orders [default: a fresh one, which is recorded]
    #[arg(long)]
    seed: Option<u64>,
    /// Output directory of the table [default: docs/validation; target/validate for less than 6 rounds of 20,000 reads]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Facts common to all rounds.
struct Setting {
    options: Options,
    seed: u64,
    fio: String,
    commit: String,
    machine: Machine,
    load: String,
    loop_on: String,
}

/// One arm's run in one round.
struct Run {
    arm: Arm,
    errors: Errors,
    told: Told,
}

/// Runs the rounds and writes the table; false when something that is claimed does not hold.
///
/// # Errors
/// When something is missing or fails.
pub fn run(options: &Options) -> Result<bool> {
    let trial = options.rounds < ROUNDS_MIN || options.reads < READS_MIN || options.alone;
    let dir = sheet::table_dir(options.out.as_deref(), trial)?;
    let work = sheet::work_dir()?;
    let on = options.loop_on.clone().unwrap_or_else(|| work.clone());
    let setting = Setting {
        seed: options.seed.unwrap_or_else(provenance::fresh_seed),
        fio: fio::version()?,
        commit: provenance::commit()?,
        machine: Machine::here(),
        load: provenance::load(),
        loop_on: provenance::filesystem(&on)?,
        options: options.clone(),
    };
    let stop = stop_flag()?;
    let schedule = Schedule::poisson(options.reads, options.per_s, (SIZE, BLOCK), setting.seed)?;
    let device = LoopOnNewFile::make(&on, SIZE, &stop)?;
    let trace = Trace::of(device.device.kernel_number()?)?;
    let ground =
        Ground { schedule: &schedule, device: device.device.path(), dir: &work, cancel: &stop };
    ground.prepare()?;
    let mut runs = Vec::new();
    let ours = |arm: &Arm| matches!(arm, Arm::Drivescope(_) | Arm::Bare(_));
    for round in 0..options.rounds {
        let arms = Arm::ALL.into_iter().filter(|arm| !options.alone || ours(arm)).collect();
        for arm in order::abba(arms, "replay-timing", setting.seed, round) {
            runs.push(one(arm, &ground, &trace).with_context(|| arm.name())?);
            if stop.load(Ordering::Relaxed) {
                bail!("stopped");
            }
        }
        eprintln!("round {}/{} done", round + 1, options.rounds);
    }
    let raw = table::raw(&runs, &schedule);
    let path = dir.join("replay-timing.csv");
    fs::write(&path, raw).with_context(|| format!("{}: cannot be written", path.display()))?;
    let claims = table::claims(&runs);
    sheet::write(&dir.join("replay-timing.md"), &table::text(&runs, &claims, &schedule, &setting))?;
    Ok(claims.iter().all(|claim| claim.met))
}

/// One run, under the trace.
fn one(arm: Arm, ground: &Ground<'_>, trace: &Trace) -> Result<Run> {
    let (told, recording) = trace.during(|| ground.run(arm))?;
    if recording.lost > 0 {
        bail!("{} events were lost; the figures would be those of a part", recording.lost);
    }
    let errors = Errors::of(ground.schedule, &recording.events, told.start_ns);
    let all = ground.schedule.reads.len();
    if errors.count() < all && !told.ended {
        bail!("of {all} reads only {} came to the block layer one by one", errors.count());
    }
    Ok(Run { arm, errors, told })
}

/// The pairs that are compared: ours, and the bare loop that waits alike.
const PAIRS: [(Waiting, &str); 2] = [(Waiting::Spin, "spin"), (Waiting::SleepThenSpin, "default")];

//! `loop`: what a read costs in our loop and in fio's, where the read itself costs next to nothing.
//!
//! The rounds of all settings are interleaved; a round of a setting holds each contender once, in an
//! order drawn at random, and the next round runs them backwards ([`order::abba`]). Programs are
//! compared within rounds only. Every latency is recorded on both sides.

mod contend;
mod finding;
mod round;
mod setting;
mod table;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};
use block::Bytes;
use clap::Args;

use crate::binary::Binary;
use crate::loop_device::{self, LoopOnNewFile};
use crate::one_cpu::OneCpu;
use crate::provenance::{self, Machine};
use crate::stop::stop_flag;
use crate::zram::Zram;
use crate::{fio, order, sheet};
use contend::{Length, Programs};
use round::{Journal, Row, Setup};
use setting::{Contender, Place, Setting};

/// Rounds that the table promises at least.
const ROUNDS_MIN: u32 = 15;
/// Size of what is read.
const SIZE: Bytes = Bytes::mib(256);
/// Runs of a program from which the cost of its start is taken: CPU time comes in steps of 10 ms.
const START_UPS: u32 = 5;

/// Options of `loop`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Rounds of each setting; an even count closes the last ABBA
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Measured seconds of each run
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// Load before them, in milliseconds
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=60_000))]
    ramp_ms: u32,
    /// Only these settings, such as cached-Q32,zram-Q1
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Directory of the file under the loop device. In memory by default, where reads are fast enough
    /// that the tester can be seen, and no disk's noise hides it
    #[arg(long, default_value = "/dev/shm")]
    loop_on: PathBuf,
    /// fio's t/io_uring, to take part without a claim; it records no latency
    #[arg(long, value_name = "PATH")]
    t_io_uring: Option<PathBuf>,
    /// Seed of the orders [default: a fresh one, which is recorded]
    #[arg(long)]
    seed: Option<u64>,
    /// Output directory of the table [default: docs/validation; target/validate for trials: under 15 rounds
    /// or with --only]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Runs the rounds and writes the table; false when some claim is surely not met.
///
/// # Errors
/// When something is missing or fails.
pub fn run(options: &Options) -> Result<bool> {
    let settings = chosen(&options.only)?;
    let trial = options.rounds < ROUNDS_MIN || !options.only.is_empty();
    let dir = sheet::table_dir(options.out.as_deref(), trial)?;
    let setup = Setup {
        seed: options.seed.unwrap_or_else(provenance::fresh_seed),
        rounds: options.rounds,
        ramp_ms: options.ramp_ms,
        window_ms: options.seconds * 1000,
        size_bytes: SIZE.0,
        fio: fio::version()?,
        loop_on: provenance::filesystem(&options.loop_on)?,
        commit: provenance::commit()?,
        machine: Machine::here(),
    };
    let (load, stop) = (provenance::load(), stop_flag()?);
    let programs = Programs {
        binary: Binary::find()?,
        t_io_uring: options.t_io_uring.clone(),
        dir: sheet::work_dir()?,
    };
    let journal = Journal::create(&dir.join("loop.csv"), &setup)?;
    let places = Places::prepare(&settings, &options.loop_on, &stop)?;
    let start_ups = start_ups(&settings, &programs, &places, &stop)?;
    let rows = measure(&settings, &programs, &places, &setup, &journal, &stop)?;
    let findings = finding::Findings::of(&settings, &rows, &start_ups, &setup);
    sheet::write(&dir.join("loop.md"), &table::text(&findings, &setup, &load))?;
    Ok(!findings.any_not_shown())
}

fn chosen(only: &[String]) -> Result<Vec<Setting>> {
    if only.is_empty() {
        return Ok(Setting::ALL.to_vec());
    }
    only.iter().map(|name| name.trim().parse()).collect()
}

/// Targets that the settings read.
#[derive(Debug)]
struct Places {
    cached: PathBuf,
    zram: Option<Zram>,
    looped: Option<LoopOnNewFile>,
}

impl Places {
    fn prepare(settings: &[Setting], loop_on: &Path, stop: &AtomicBool) -> Result<Places> {
        let wanted = |place| settings.iter().any(|setting| setting.place == place);
        let cached = sheet::work_dir()?.join("cached.img");
        if wanted(Place::Cached) {
            loop_device::prepare(&cached, SIZE, stop)?;
        }
        let zram = if wanted(Place::Zram) { Some(Zram::filled(SIZE, stop)?) } else { None };
        let looped = match wanted(Place::Loop) {
            true => Some(LoopOnNewFile::make(loop_on, SIZE, stop)?),
            false => None,
        };
        Ok(Places { cached, zram, looped })
    }

    fn target(&self, place: Place) -> Result<PathBuf> {
        match place {
            Place::Cached => Ok(self.cached.clone()),
            Place::Zram => self.zram.as_ref().map(Zram::path).context("no zram was made"),
            Place::Loop => self
                .looped
                .as_ref()
                .map(|on| on.device.path().to_owned())
                .context("no loop was made"),
        }
    }

    /// Brings the cached file into the page cache, should some of it have left.
    fn warm(&self) -> Result<()> {
        let mut file = File::open(&self.cached).context("the cached file is gone")?;
        let mut chunk = vec![0u8; 1 << 20];
        while file.read(&mut chunk)? > 0 {}
        Ok(())
    }
}

/// User CPU time, in nanoseconds, that each program takes for its start and end alone: the mean of a
/// few runs that do next to nothing else. Not of `t/io_uring`, which cannot run that short.
fn start_ups(
    settings: &[Setting],
    programs: &Programs,
    places: &Places,
    stop: &AtomicBool,
) -> Result<BTreeMap<Contender, f64>> {
    let mut known = BTreeMap::new();
    for setting in settings {
        for contender in setting.contenders(false) {
            if known.contains_key(&contender) {
                continue;
            }
            let mut user_ns = 0.0;
            for seed in 0..START_UPS {
                let target = places.target(setting.place)?;
                let length = Length::START_UP;
                let ran = programs.run(contender, *setting, &target, length, seed.into());
                stopped(stop)?;
                user_ns += ran.with_context(|| format!("{contender}"))?.cpu.user_ns as f64;
            }
            known.insert(contender, user_ns / f64::from(START_UPS));
        }
    }
    Ok(known)
}

fn stopped(stop: &AtomicBool) -> Result<()> {
    if stop.load(Ordering::Relaxed) {
        bail!("stopped");
    }
    Ok(())
}

/// Makes all rounds.
fn measure(
    settings: &[Setting],
    programs: &Programs,
    places: &Places,
    setup: &Setup,
    journal: &Journal,
    stop: &AtomicBool,
) -> Result<Vec<Row>> {
    let length = Length { ramp_ms: setup.ramp_ms, window_ms: setup.window_ms };
    let mut rows = Vec::new();
    for round in 0..setup.rounds {
        let mut settings = settings.to_vec();
        order::shuffle(&mut settings, &[setup.seed, u64::from(round)]);
        for setting in settings {
            let target = places.target(setting.place)?;
            if setting.place == Place::Cached {
                places.warm()?;
            }
            let _held = if setting.on_one_cpu { Some(OneCpu::hold()?) } else { None };
            let all = setting.contenders(programs.t_io_uring.is_some());
            let all = order::abba(all, &setting.to_string(), setup.seed, round);
            let mut said = Vec::new();
            for (position, contender) in (0..).zip(all) {
                let seed = u64::from(round) << 8 | u64::from(position);
                let ran = programs.run(contender, setting, &target, length, seed);
                stopped(stop)?;
                let figures = ran.with_context(|| format!("{contender}, {setting}"))?;
                let row = Row { setting, round, position, contender, figures };
                journal.append(&row)?;
                said.push(format!("{contender} {:.0}", figures.iops / 1e3));
                rows.push(row);
            }
            eprintln!("round {}/{}, {setting}: {} kIOPS", round + 1, setup.rounds, said.join(", "));
        }
    }
    Ok(rows)
}

//! `latency`: how far our recorded latency is from the kernel's own, beside fio's.
//!
//! Both programs read loop devices with direct I/O, one I/O after the other or a few at a time, while
//! a trace of our own stamps each I/O's way through the block layer with the testers' clock. Each single
//! I/O is matched with its trace by its address, and what the tester recorded is compared with Q2C,
//! from the block layer's queue to completion (btt's term). Only durations are compared, so no two
//! clocks need to agree on an instant.

mod matching;
mod ring;
mod table;
mod testers;
pub(crate) mod tracefs;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail};
use block::Bytes;
use clap::Args;

use crate::binary::Binary;
use crate::engine::Engine;
use crate::loop_device::LoopOnNewFile;
use crate::provenance::{self, Machine};
use crate::stop::stop_flag;
use crate::{fio, order, sheet};
use matching::Pair;
use testers::Testers;
use tracefs::Trace;

/// Rounds that the table promises at least.
const ROUNDS_MIN: u32 = 12;
/// Size of the device. Our addresses are drawn with replacement; of this many blocks few are drawn twice.
const SIZE: Bytes = Bytes::mib(512);
/// Size of a read.
const BLOCK: Bytes = Bytes::kib(4);
/// Depths at which I/Os can be matched without doubt and the queue is short.
const DEPTHS: [u16; 2] = [1, 4];
/// Share of a trial's I/Os that must be matched.
const MATCHED_MIN: f64 = 0.9;
/// Attempts at a trial before the validation gives up.
const TRIES: u32 = 4;

/// Options of `latency`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Rounds; each runs every tester with every engine once
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// I/Os of each trial
    #[arg(long, default_value_t = 3000, value_parser = clap::value_parser!(u32).range(100..=20_000))]
    ios: u32,
    /// Directories of the files under the loop devices [default: /dev/shm, where a read is a copy
    /// of memory and noise is least, and target/validate, where a device completes it]
    #[arg(long, value_delimiter = ',')]
    loop_on: Vec<PathBuf>,
    /// Seed of the orders [default: a fresh one, which is recorded]
    #[arg(long)]
    seed: Option<u64>,
    /// Output directory of the table [default: docs/validation; target/validate for trials of under 12 rounds]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Program that measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tester {
    Drivescope,
    /// As it comes.
    Fio,
    /// With [`fio::tuning`].
    FioTuned,
}

/// One tester with one engine at one depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    tester: Tester,
    engine: Engine,
    depth: u16,
}

impl Case {
    /// All of them.
    fn all() -> Vec<Case> {
        let mut all = Vec::new();
        for depth in DEPTHS {
            for engine in Engine::ALL.into_iter().filter(|engine| engine.has_depth(depth)) {
                all.push(Case { tester: Tester::Drivescope, engine, depth });
                all.push(Case { tester: Tester::Fio, engine, depth });
                if !fio::tuning(engine, depth).is_empty() {
                    all.push(Case { tester: Tester::FioTuned, engine, depth });
                }
            }
        }
        all
    }

    fn name(&self) -> String {
        let engine = self.engine.name();
        match self.tester {
            Tester::Drivescope => format!("drivescope {engine}"),
            Tester::Fio => format!("fio {engine}"),
            Tester::FioTuned => format!("fio {engine} tuned"),
        }
    }
}

/// Percentiles of the I/Os of one trial, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spread {
    p10: i64,
    median: i64,
    p90: i64,
}

impl Spread {
    /// Of at least one value.
    fn of(mut values: Vec<i64>) -> Option<Spread> {
        values.sort_unstable();
        // Nearest rank: of thousands of values, interpolation would change nothing.
        let at =
            |tenths: usize| values.get((values.len() * tenths).div_ceil(10).max(1) - 1).copied();
        Some(Spread { p10: at(1)?, median: at(5)?, p90: at(9)? })
    }
}

/// Results of one trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trial {
    /// I/Os matched with the kernel's.
    matched: usize,
    /// The kernel's own latencies.
    q2c: Spread,
    d2c: Spread,
    /// Completion latency, less Q2C.
    clat: Spread,
    /// Submission latency, where it is recorded.
    slat: Option<Spread>,
    /// Both together, less Q2C.
    total: Spread,
    /// I/Os whose completion latency is shorter than Q2C.
    shorter: usize,
}

impl Trial {
    fn of(pairs: &[Pair]) -> Option<Trial> {
        let ns = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let spread = |f: &dyn Fn(&Pair) -> i64| Spread::of(pairs.iter().map(f).collect());
        let slat: Vec<i64> = pairs.iter().filter_map(|p| p.tester.slat_ns.map(ns)).collect();
        Some(Trial {
            matched: pairs.len(),
            q2c: spread(&|p| ns(p.kernel.q2c_ns))?,
            d2c: spread(&|p| ns(p.kernel.d2c_ns))?,
            clat: spread(&|p| ns(p.tester.clat_ns) - ns(p.kernel.q2c_ns))?,
            slat: Spread::of(slat),
            total: spread(&|p| ns(p.tester.total_ns) - ns(p.kernel.q2c_ns))?,
            shorter: pairs.iter().filter(|p| p.tester.clat_ns < p.kernel.q2c_ns).count(),
        })
    }

    const HEAD: &str = "loop_on,round,depth,tester,matched,q2c_p10_ns,q2c_median_ns,q2c_p90_ns,\
         d2c_p10_ns,d2c_median_ns,d2c_p90_ns,clat_less_q2c_p10_ns,clat_less_q2c_median_ns,\
         clat_less_q2c_p90_ns,slat_p10_ns,slat_median_ns,slat_p90_ns,total_less_q2c_p10_ns,\
         total_less_q2c_median_ns,total_less_q2c_p90_ns,clat_shorter_than_q2c";

    fn line(&self, loop_on: &str, round: usize, case: &Case) -> String {
        let mut line = format!("{loop_on},{round},{},{},{}", case.depth, case.name(), self.matched);
        for spread in [Some(self.q2c), Some(self.d2c), Some(self.clat), self.slat, Some(self.total)]
        {
            let _ = match spread {
                Some(Spread { p10, median, p90 }) => write!(line, ",{p10},{median},{p90}"),
                None => write!(line, ",,,"),
            };
        }
        let _ = write!(line, ",{}", self.shorter);
        line
    }
}

/// Facts common to all trials.
struct Setup {
    rounds: u32,
    ios: u32,
    seed: u64,
    fio: String,
    commit: String,
    machine: Machine,
    load: String,
}

/// The trials of one loop device.
struct Place {
    /// Filesystem of the file under it.
    loop_on: String,
    trials: Vec<(Case, Trial)>,
    /// Trials that were not counted.
    rejected: u32,
}

/// Runs the rounds and writes the table; false when our latency is shorter than the kernel's own.
///
/// # Errors
/// When something is missing or fails; also when no trial without loss could be made.
pub fn run(options: &Options) -> Result<bool> {
    let dir = sheet::table_dir(options.out.as_deref(), options.rounds < ROUNDS_MIN)?;
    let setup = Setup {
        rounds: options.rounds,
        ios: options.ios,
        seed: options.seed.unwrap_or_else(provenance::fresh_seed),
        fio: fio::version()?,
        commit: provenance::commit()?,
        machine: Machine::here(),
        load: provenance::load(),
    };
    let stop = stop_flag()?;
    let testers =
        Testers { binary: Binary::find()?, dir: sheet::work_dir()?, ios: options.ios, size: SIZE };
    let loops = match &options.loop_on[..] {
        [] => vec![PathBuf::from("/dev/shm"), sheet::work_dir()?],
        named => named.to_vec(),
    };
    let mut raw = Trial::HEAD.to_owned() + "\n";
    let mut places = Vec::new();
    for dir in loops {
        let place = measure(&dir, &testers, &setup, &stop)?;
        for (index, (case, trial)) in place.trials.iter().enumerate() {
            let round = index / Case::all().len();
            raw += &(trial.line(&place.loop_on, round, case) + "\n");
        }
        places.push(place);
    }
    let path = dir.join("latency.csv");
    fs::write(&path, raw).with_context(|| format!("{}: cannot be written", path.display()))?;
    sheet::write(&dir.join("latency.md"), &table::text(&places, &setup))?;
    Ok(places.iter().all(|place| table::shorter(&place.trials) == 0))
}

/// All rounds on a loop device over a file in `dir`.
fn measure(dir: &Path, testers: &Testers, setup: &Setup, stop: &AtomicBool) -> Result<Place> {
    let loop_on = provenance::filesystem(dir)?;
    let mut place = Place { loop_on, trials: Vec::new(), rejected: 0 };
    let on = LoopOnNewFile::make(dir, SIZE, stop)?;
    let trace = Trace::of(on.device.kernel_number()?)?;
    for round in 0..setup.rounds {
        let cases = order::abba(Case::all(), &place.loop_on, setup.seed, round);
        for (position, case) in (0..).zip(cases) {
            let seed = u64::from(round) << 16 | position << 8;
            let (trial, again) = one(&case, testers, &trace, &on, seed, stop)
                .with_context(|| format!("{}, depth {}", case.name(), case.depth))?;
            place.rejected += again;
            place.trials.push((case, trial));
        }
        eprintln!("loop device on {}: round {}/{} done", place.loop_on, round + 1, setup.rounds);
    }
    Ok(place)
}

/// One trial without loss, and how many were rejected before it.
fn one(
    case: &Case,
    testers: &Testers,
    trace: &Trace,
    on: &LoopOnNewFile,
    seed: u64,
    stop: &AtomicBool,
) -> Result<(Trial, u32)> {
    for again in 0..TRIES {
        let run = || testers.run(case, on.device.path(), seed | u64::from(again));
        let ran = trace.during(run);
        if stop.load(Ordering::Relaxed) {
            bail!("stopped");
        }
        let ((), recording) = ran?;
        let ios = testers.recorded(case)?;
        let kernel = matching::kernel_ios(&recording.events, BLOCK.0);
        let pairs = matching::pairs(&ios, &kernel);
        let enough = pairs.len() as f64 >= MATCHED_MIN * f64::from(testers.ios);
        if recording.lost == 0
            && enough
            && let Some(trial) = Trial::of(&pairs)
        {
            return Ok((trial, again));
        }
        eprintln!(
            "{}, depth {}: a trial is rejected: {} events lost, {} of {} I/Os matched",
            case.name(),
            case.depth,
            recording.lost,
            pairs.len(),
            testers.ios
        );
    }
    bail!("{TRIES} trials in a row lost events, or had too few I/Os that could be matched")
}

#[cfg(test)]
mod tests {
    use super::*;
    use matching::{KernelIo, TesterIo};

    fn pair(q2c_ns: u64, slat_ns: Option<u64>, clat_ns: u64) -> Pair {
        let total_ns = clat_ns + slat_ns.unwrap_or(0);
        Pair {
            tester: TesterIo { offset_bytes: 0, slat_ns, clat_ns, total_ns },
            kernel: KernelIo { q2c_ns, d2c_ns: q2c_ns - 200 },
        }
    }

    // Latencies that differ tenfold from I/O to I/O must not hide a bias of half a microsecond: it is
    // taken I/O by I/O, not from the medians of both.
    #[test]
    fn the_bias_is_taken_io_by_io() {
        let pairs: Vec<Pair> =
            (1..=1000).map(|i| pair(i * 100_000, Some(300), i * 100_000 + 500)).collect();
        let trial = Trial::of(&pairs).unwrap();
        assert_eq!(trial.clat, Spread { p10: 500, median: 500, p90: 500 });
        assert_eq!(trial.total.median, 800);
        assert_eq!(trial.slat.unwrap().p90, 300);
        assert_eq!(trial.q2c.median - trial.d2c.median, 200);
        // fio's clat may begin after the block layer has the I/O.
        let shorter = Trial::of(&[pair(9_000, None, 8_600), pair(9_000, None, 9_000)]).unwrap();
        assert_eq!((shorter.clat.median, shorter.shorter, shorter.slat), (-400, 1, None));
        assert_eq!(trial.shorter, 0);
        assert_eq!(Trial::of(&[]), None);
    }

    #[test]
    fn a_spread_takes_the_nearest_ranks() {
        let spread = Spread::of((1..=10).rev().collect()).unwrap();
        assert_eq!(spread, Spread { p10: 1, median: 5, p90: 9 });
        assert_eq!(Spread::of(vec![7]), Some(Spread { p10: 7, median: 7, p90: 7 }));
    }

    #[test]
    fn a_line_has_a_cell_for_every_column() {
        let case = Case::all()[0];
        for slat in [Some(100), None] {
            let trial = Trial::of(&[pair(9_000, slat, 9_500)]).unwrap();
            assert_eq!(
                trial.line("tmpfs", 0, &case).split(',').count(),
                Trial::HEAD.split(',').count()
            );
        }
    }

    #[test]
    fn every_engine_is_tried_by_both_at_each_depth_it_has() {
        let all = Case::all();
        let count =
            |tester, depth| all.iter().filter(|c| c.tester == tester && c.depth == depth).count();
        assert_eq!([count(Tester::Drivescope, 1), count(Tester::Drivescope, 4)], [3, 2]);
        assert_eq!([count(Tester::Fio, 1), count(Tester::Fio, 4)], [3, 2]);
        assert_eq!([count(Tester::FioTuned, 1), count(Tester::FioTuned, 4)], [1, 2]);
    }
}

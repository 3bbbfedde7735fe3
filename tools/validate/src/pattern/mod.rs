//! `pattern`: how often reading again finds what a virtual drive's cache holds, compared with its model.

mod score;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use block::{Bytes, Nanos, Target as _};
use clap::Args;
use engine::TargetBench;
use mark::cache::{self, Found};
use workload::plan::{Region, Schedule};
use workload::rng::Rng;

use crate::provenance::{self, Machine};
use crate::sheet;
use crate::stop::stop_flag;
use crate::threads::on_threads;
use score::{Mark, Row, Truth};

/// Drives of each sort that the table promises at least.
const SEEDS_MIN: u64 = 1000;
/// Keeps the draw of disks apart from all others.
const PATH: u64 = 0x7061_7474;

/// Options of `pattern`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Drives drawn of each sort
    #[arg(long, default_value_t = SEEDS_MIN, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 1)]
    first_seed: u64,
    /// Output directory of the table [default: docs/validation; target/validate for trials of under 1000 seeds]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Drives of one sort.
struct Sort {
    name: &'static str,
    /// The drive of a seed.
    spec: fn(u64) -> String,
}

const SORTS: [Sort; 9] = [
    Sort { name: "disks drawn", spec: disk },
    Sort { name: "disks drawn, without a cache for reads", spec: bare_disk },
    Sort { name: "hdd-7200", spec: |seed| format!("sim:hdd-7200?seed={seed}") },
    Sort { name: "hdd-wd", spec: |seed| format!("sim:hdd-wd?seed={seed}") },
    Sort { name: "hdd-sg", spec: |seed| format!("sim:hdd-sg?seed={seed}") },
    Sort { name: "cards drawn", spec: |seed| format!("sim:random-card?seed={seed}") },
    Sort {
        name: "SSDs drawn, filled",
        spec: |seed| format!("sim:random-ssd?seed={seed}&state=filled"),
    },
    Sort { name: "sata-a, filled", spec: |seed| format!("sim:sata-a?seed={seed}&state=filled") },
    Sort {
        name: "mlc-nvme, filled",
        spec: |seed| format!("sim:mlc-nvme?seed={seed}&state=filled"),
    },
];

/// A disk whose cache is drawn: up to 128 MiB in up to 4096 segments, at one of the usual speeds.
fn disk(seed: u64) -> String {
    let mut rng = Rng::for_path(seed, &[PATH]);
    let mut doubled = |low: u64, octaves: u64| low << rng.below(octaves);
    let (bytes, segments) = (doubled(4 << 20, 6), doubled(8, 10));
    let segment = doubled(128 << 10, 9).min(bytes);
    let ahead = doubled(64 << 10, 6).min(segment);
    let rpm = [5400, 5900, 7200, 10_000][rng.below(4) as usize];
    format!(
        "sim:hdd-7200?seed={seed}&memory.read_bytes={bytes}&memory.segments={segments}\
         &memory.segment_bytes={segment}&memory.read_ahead_bytes={ahead}&geometry.rpm={rpm}"
    )
}

/// A disk that holds one block of what it read.
fn bare_disk(seed: u64) -> String {
    format!(
        "sim:hdd-7200?seed={seed}&memory.read_bytes=4096&memory.segments=1&memory.segment_bytes=4096\
         &memory.read_ahead_bytes=0"
    )
}

/// Scores all drives and writes the table; false when more answers are wrong than error allows.
///
/// # Errors
/// When a drive cannot be made or read, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let dir = sheet::table_dir(options.out.as_deref(), options.seeds < SEEDS_MIN)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let stop = stop_flag()?;
    let mut raw = format!("{}\n", Mark::HEAD);
    let mut rows = Vec::new();
    for sort in SORTS {
        eprintln!("{}: asking {} drives", sort.name, options.seeds);
        let marks = asked(&sort, options, &stop)?;
        for (seed, mark) in (options.first_seed..).zip(&marks) {
            let _ = writeln!(raw, "{},{seed},{}", sort.name, mark.line());
        }
        rows.push(Row::of(sort.name, &marks));
    }
    let path = dir.join("pattern.csv");
    fs::write(&path, raw).with_context(|| format!("{}: cannot be written", path.display()))?;
    let seeds = format!("{}–{}", options.first_seed, options.first_seed + options.seeds - 1);
    let more = [("Seeds", seeds), ("Load average at the start", load)];
    let head = sheet::provenance(&commit, &Machine::here(), "pattern.csv", &more);
    sheet::write(&dir.join("pattern.md"), &score::page(&head, &rows))?;
    Ok(rows.iter().all(Row::is_within_error))
}

fn asked(sort: &Sort, options: &Options, stop: &AtomicBool) -> Result<Vec<Mark>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    on_threads(threads, options.seeds as usize, stop, |at| {
        let seed = options.first_seed + at as u64;
        let spec = (sort.spec)(seed);
        let truth = Truth::of(&spec)?;
        let found = ask(&spec, seed, stop).with_context(|| format!("{spec}: cannot be asked"))?;
        Ok(Mark::new(truth, found))
    })
}

/// Asks as a mark of the default region does.
fn ask(spec: &str, seed: u64, stop: &AtomicBool) -> Result<Found> {
    let mut target = ::sim::open(spec)?;
    let mut environment = target.environment();
    let capacity = target.info().capacity_bytes;
    let region = Region { offset: Bytes::ZERO, length: capacity.min(Bytes::gib(1)) };
    let area = cache::area(region, capacity);
    let mut bench = TargetBench::new(&mut target, &mut environment, stop);
    let budget: Nanos = Schedule::CACHE_PROBE;
    Ok(cache::ask(&mut bench, area, budget, seed)?)
}

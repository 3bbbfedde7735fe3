//! `burst`: where `drivescope mark` says that the rate of writes falls for good, on drawn drives of which it is known how
//! much their single-bit cells and their memory take.

use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use stats::proportion_interval;

use crate::binary::{Binary, number, text};
use crate::provenance::{self, Machine};
use crate::sheet;
use crate::stop;
use crate::threads::on_threads;

/// Seeds of the drawn drives. Chosen before any of them was looked at; use others when you change the inference.
const SEEDS: Range<u64> = 73_000..74_000;
/// Greatest share of the knees that are reported at a wrong place.
const WRONG_MAX: f64 = 0.01;
/// While a cache fills, a drive moves a part of it on: this much more than it holds may have been written.
const MOVED_ON: f64 = 1.15;
/// Runs of which none is faster than another by more than this show no fall.
const FALLS: f64 = 1.25;

/// Options of `burst`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Seeds of the drawn drives, such as 0..20 [default: 73000..74000]
    #[arg(long, value_parser = crate::probe::seeds)]
    seeds: Option<Range<u64>>,
    /// Output directory of the table [default: docs/validation; target/validate for trials of less than everything]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Assessment of a knee that was found, or of finding none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// A knee where the cache was full.
    Cache,
    /// A knee where the memory was full, of a drive without such a cache, or before its cache was.
    Memory,
    /// A knee where all had been written once, and cells had to be made free from then on.
    Blank,
    /// No knee, and there was none to be seen: nothing was full, or the link was the limit before and after.
    NoneRight,
    /// No knee, though the cache was full.
    Missed,
    /// A knee where nothing was full.
    Wrong,
}

impl Mark {
    const ALL: [Mark; 6] =
        [Mark::Cache, Mark::Memory, Mark::Blank, Mark::NoneRight, Mark::Missed, Mark::Wrong];

    fn words(self) -> &'static str {
        match self {
            Mark::Cache => "a knee where the single-bit cells were full",
            Mark::Memory => "a knee where the memory was full",
            Mark::Blank => "a knee where all had been written once",
            Mark::NoneRight => "no knee, and none to be seen",
            Mark::Missed => "no knee, though the single-bit cells were full",
            Mark::Wrong => "a knee elsewhere",
        }
    }
}

/// True figures of a drive.
#[derive(Clone, Copy, Debug)]
struct Truth {
    /// Bytes that single-bit cells take; 0 without such.
    cache: f64,
    /// Bytes that the drive's memory takes.
    memory: f64,
    /// Bytes after which there is nothing left that was never written.
    capacity: f64,
    /// Bits that a cell holds otherwise.
    bits: f64,
}

/// A drive and what was said of it.
struct Row {
    seed: u64,
    truth: Truth,
    /// Bytes until the knee.
    knee: Option<[f64; 3]>,
    /// MB/s before and after it.
    rates: Option<(f64, f64)>,
    written: f64,
    mark: Mark,
}

/// True when `[low, high]` and `[least, most]` meet.
fn meets([_, low, high]: [f64; 3], least: f64, most: f64) -> bool {
    high >= least && low <= most
}

/// `runs` are bytes of each.
fn mark(truth: Truth, knee: Option<[f64; 3]>, rates: Option<(f64, f64)>, runs: &[f64]) -> Mark {
    // Memory is emptied at the sustained rate while it fills at that of the burst.
    let filled = rates.map_or(1.0, |(burst, sustained)| burst / (burst - sustained).max(1e-9));
    let memory = truth.memory * filled;
    let full = MOVED_ON * (truth.cache + memory);
    let Some(knee) = knee else {
        let least = runs.iter().copied().fold(f64::INFINITY, f64::min);
        let falls = runs.iter().any(|run| *run > FALLS * least);
        let was_full = truth.cache > 0.0 && runs.iter().sum::<f64>() > full;
        return if was_full && falls { Mark::Missed } else { Mark::NoneRight };
    };
    // Cells that are lent from free ones get fewer with what is written.
    let lent = truth.cache * truth.bits / (truth.bits + 1.0);
    if truth.cache > 0.0 && meets(knee, lent, full) {
        Mark::Cache
    } else if knee[2] >= truth.capacity {
        Mark::Blank
    } else if meets(knee, truth.memory, MOVED_ON * memory) {
        Mark::Memory
    } else {
        Mark::Wrong
    }
}

/// Writes all over each drive, and writes the table; false when too many knees are reported at a wrong place.
///
/// # Errors
/// When a run fails, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let binary = Binary::find()?;
    let out = sheet::table_dir(options.out.as_deref(), options.seeds.is_some())?;
    let commit = provenance::commit()?;
    let stop = stop::stop_flag()?;
    let seeds: Vec<u64> = options.seeds.clone().unwrap_or(SEEDS).collect();
    let rows = on_threads(2, seeds.len(), &stop, |at| row(&binary, seeds[at]))?;
    let path = out.join("burst.csv");
    fs::write(&path, csv(&rows))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let head = sheet::provenance(&commit, &Machine::here(), "burst.csv", &[]);
    let (wrong, told) = wrong(&rows);
    sheet::write(&out.join("burst.md"), &page(&head, &rows, &seeds))?;
    Ok(wrong as f64 <= WRONG_MAX * told as f64)
}

fn row(binary: &Binary, seed: u64) -> Result<Row> {
    let spec = format!("sim:random-ssd?seed={seed}&state=fresh");
    let told = ::sim::show(&spec).map_err(|error| anyhow::anyhow!("{spec}: {error}"))?;
    let bytes = |bytes: Option<block::Bytes>| bytes.map_or(0.0, |b| b.0 as f64);
    let truth = Truth {
        cache: bytes(told.truth.slc_cache_bytes),
        memory: bytes(told.truth.write_buffer_bytes),
        capacity: bytes(told.truth.real_capacity_bytes),
        bits: f64::from(told.truth.cell_levels.unwrap_or(2)).log2(),
    };
    let line =
        "mark SPEC --write-only --tests SEQ1MQ8T1 --span all --runs 6 --duration 3s --warm-up 0s";
    let line = line.split(' ').map(|word| if word == "SPEC" { &spec } else { word }.to_owned());
    let body = binary.body(&line.chain(["--seed=3".to_owned()]).collect::<Vec<_>>())?;
    let test = body.pointer("/tests/0").with_context(|| format!("{spec}: no test"))?;
    let writes = &test["writes"];
    let of = |name: &str| writes[name]["value"].as_f64();
    let knee = &writes["until_knee_bytes"];
    let knee = match knee.is_null() {
        true => {
            text(writes, "/reason").with_context(|| format!("{spec}: no knee and no reason"))?;
            None
        }
        false => Some([number(knee, "/value")?, number(knee, "/low")?, number(knee, "/high")?]),
    };
    let runs = test["runs"].as_array().into_iter().flatten();
    let runs: Vec<f64> = runs.filter_map(|run| run["bytes"].as_f64()).collect();
    let rates = of("burst_mb_s").zip(of("sustained_mb_s"));
    let mark = mark(truth, knee, rates, &runs);
    Ok(Row { seed, truth, knee, rates, written: runs.iter().sum(), mark })
}

/// Knees that are reported at a wrong place, and all that are reported.
fn wrong(rows: &[Row]) -> (usize, usize) {
    let wrong = rows.iter().filter(|row| row.mark == Mark::Wrong).count();
    (wrong, rows.iter().filter(|row| row.knee.is_some()).count())
}

fn csv(rows: &[Row]) -> String {
    let mut text = "seed,slc_cache_bytes,write_buffer_bytes,knee_bytes,knee_low_bytes,knee_high_bytes,burst_mb_s,\
                    sustained_mb_s,written_bytes,mark\n"
        .to_owned();
    for row in rows {
        let Truth { cache, memory, .. } = row.truth;
        let knee = row
            .knee
            .map_or_else(|| ",,".to_owned(), |[at, low, high]| format!("{at},{low},{high}"));
        let rates = row.rates.map_or_else(|| ",".to_owned(), |(a, b)| format!("{a},{b}"));
        let (seed, written, words) = (row.seed, row.written, row.mark.words());
        let _ = writeln!(text, "{seed},{cache},{memory},{knee},{rates},{written},\"{words}\"");
    }
    text
}

fn page(head: &str, rows: &[Row], seeds: &[u64]) -> String {
    let (wrong, told) = wrong(rows);
    let share = proportion_interval(wrong, told.max(1), 0.95);
    let bound = share.map_or(String::new(), |s| format!("at most {:.2}% at 95%", 100.0 * s.high));
    let cached = rows.iter().filter(|row| row.truth.cache > 0.0).count();
    let ends = seeds.first().zip(seeds.last());
    let (first, last) = ends.map_or((0, 0), |(a, b)| (*a, *b));
    let table: Vec<Vec<String>> = Mark::ALL
        .into_iter()
        .map(|mark| {
            let those = |with: bool| {
                let of = |row: &&Row| row.mark == mark && (row.truth.cache > 0.0) == with;
                rows.iter().filter(of).count().to_string()
            };
            vec![mark.words().to_owned(), those(true), those(false)]
        })
        .collect();
    let elsewhere: String = rows
        .iter()
        .filter(|row| row.mark == Mark::Wrong)
        .map(|row| {
            let ([at, low, high], Truth { cache, memory, .. }) =
                (row.knee.unwrap_or_default(), row.truth);
            let mb = |bytes: f64| format!("{:.1}", bytes / 1e6);
            let (at, low, high) = (mb(at), mb(low), mb(high));
            format!(
                "- seed {}: {at} MB ({low} to {high}); its cells take {} MB, its memory {}\n",
                row.seed,
                mb(cache),
                mb(memory)
            )
        })
        .collect();
    let elsewhere = if elsewhere.is_empty() { "Nothing.\n".to_owned() } else { elsewhere };
    format!(
        "# Where writes become slow for good\n\nOf {told} knees that `drivescope mark` told of {} drawn drives, {wrong} are \
         elsewhere than where something was full ({bound}).\n\n{head}Each `sim:random-ssd?state=fresh` of the seeds {first} to \
         {last}, which were chosen before any was looked at, is written from end to end for 6 runs of 3 s without a warm-up; \
         {cached} of them have a cache of single-bit cells. What they and the drive's memory take is what `drivescope sim show` \
         says. A knee is right when its interval meets the size of the cache (of cells that are lent, what is left of them when they are \
         full), or up to {:.0}% more than cache and memory together, since a part is moved on meanwhile, where memory counts for \
         all that passes through it until it is full, being emptied at the sustained rate; or the same of the memory alone; or lies \
         beyond the capacity, where cells have to be made free from then on.\n\n{}\n## What is wrong\n\n{elsewhere}",
        rows.len(),
        100.0 * (MOVED_ON - 1.0),
        sheet::table(1, &["said", "drives with such a cache", "without"], &table),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    // Breaks when a knee is called right wherever it lies, or a drive whose cache was never full counts as missed.
    #[test]
    fn a_knee_is_right_where_something_was_full() {
        let cached = Truth { cache: 100.0, memory: 10.0, capacity: 1000.0, bits: 3.0 };
        let rates = Some((500.0, 100.0));
        let at = |value: f64| Some([value, value - 2.0, value + 2.0]);
        let (much, little) = ([600.0, 100.0], [60.0, 30.0]);
        assert_eq!(mark(cached, at(110.0), rates, &much), Mark::Cache);
        assert_eq!(mark(cached, at(12.0), rates, &much), Mark::Memory);
        assert_eq!(mark(cached, at(50.0), rates, &much), Mark::Wrong);
        assert_eq!(mark(cached, at(150.0), rates, &much), Mark::Wrong);
        assert_eq!(mark(cached, at(1005.0), rates, &much), Mark::Blank);
        assert_eq!(mark(cached, None, None, &much), Mark::Missed);
        assert_eq!(mark(cached, None, None, &little), Mark::NoneRight);
        assert_eq!(mark(cached, None, None, &[500.0, 490.0]), Mark::NoneRight, "the link's rate");
        let plain = Truth { cache: 0.0, ..cached };
        assert_eq!(mark(plain, None, None, &much), Mark::NoneRight);
        assert_eq!(mark(plain, at(110.0), rates, &much), Mark::Wrong);
    }
}

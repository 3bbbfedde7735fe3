//! `decisive`: how many of the numbers of a default `mark` are confirmed within the time that people wait, and right, on virtual
//! drives whose tests were also made alone.

mod real;
mod score;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::Value;

use crate::binary::Binary;
use crate::provenance::{self, Machine};
use crate::sheet;
use score::{CONFIRMED_MIN, MARGIN, Score, Test, WITHIN_S, score, tests};

/// The rules were made without looking at the draws of these seeds.
const SEED: u64 = 8_700_000_000;
/// Seeds of each drive; another count is a trial.
const SEEDS: u64 = 3;
/// A hard disk, SATA and NVMe drives, caches of single-bit cells, memory that is written in place, a card, a stick, and a drive
/// that somebody else uses.
const DRIVES: [&str; 10] = [
    "hdd-7200",
    "sata-a",
    "mlc-nvme",
    "tlc-pslc",
    "qlc-pslc",
    "enterprise-28op",
    "optane",
    "sdcard-4m",
    "usb-8m",
    NEIGHBOUR,
];
const NEIGHBOUR: &str = "sata-b?neighbour.ios_per_s=40";

/// Work that writes leave on the drives of the second table, in seconds, and what it adds to a read, in microseconds.
const LEFT_S: [u64; 4] = [0, 2, 20, 60];
const ADDED_US: [u64; 2] = [20, 500];
/// Drives of each kind there, per seed of the first table.
const PLANTED: u64 = 3;
const PLANTED_ON: &str = "mlc-nvme";
const WAKES: [&str; 8] = [
    "work left, s",
    "delay of a read, µs",
    "reads",
    "slower",
    "of them named",
    "confirmed and not named",
    "named, not slower",
    "longest wait, s",
];
/// Share of the reads in the wake of writes that are named, at least.
const NAMED_MIN: f64 = 0.95;

/// Options of `decisive`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Seeds of each drive; another count is a trial
    #[arg(long, default_value_t = SEEDS)]
    seeds: u64,
    /// Another binary, whose numbers are scored beside
    #[arg(long, value_name = "PROGRAM")]
    before: Option<PathBuf>,
    /// Mark the real stacks alone and print how they came out
    #[arg(long)]
    real_alone: bool,
    /// Output directory of the table [default: docs/validation; target/validate for trials]
    #[arg(long)]
    out: Option<PathBuf>,
}

fn target(drive: &str, seed: u64) -> String {
    let with = if drive.contains('?') { '&' } else { '?' };
    format!("sim:{drive}{with}seed={seed}")
}

/// Rates of each test made alone, on a drive that nothing else was done to: of those that are called a burst that of the first run
/// with the default settings, of the others that of longer runs.
fn alone(binary: &Binary, drive: &str, seed: u64, body: &Value) -> Result<Vec<Option<f64>>> {
    let target = target(drive, seed);
    tests(body)
        .map(|test| {
            let (name, op) = test.words();
            let direction = if op == "read" { "--read-only" } else { "--write-only" };
            let words = ["mark", &target, "--tests", &name.replace(' ', ""), direction];
            let long = ["--duration", "8s", "--warm-up", "2s"];
            let long = long.into_iter().filter(|_| !test.is_burst());
            let words = words.into_iter().chain(["--seed", "1", "--runs", "6"]).chain(long);
            let words: Vec<String> = words.map(str::to_owned).collect();
            let body = binary.body(&words)?;
            let first = |test: Test<'_>| test.0["runs"][0]["mb_s"].as_f64();
            let alone = tests(&body).next();
            Ok(alone.and_then(|alone| if test.is_burst() { first(alone) } else { alone.rate() }))
        })
        .collect()
}

/// How reads came out of marks whose tests follow on each other in any order, on drives that work on for a while after writes.
#[derive(Clone, Copy, Debug, Default)]
struct Wake {
    reads: usize,
    /// Of those: half of the runs or more are slower than on a drive without such work, by more than the margin.
    slower: usize,
    /// Of those: named.
    named: usize,
    /// Of the slower ones: confirmed and not named.
    overlooked: usize,
    /// Of the others: those that are named although they are not slower.
    named_for_nothing: usize,
    waited_s: f64,
}

impl Wake {
    fn add(&mut self, body: &Value, calm: &Value) {
        self.waited_s = self.waited_s.max(body["settle_ns"].as_f64().unwrap_or(0.0) / 1e9);
        for (test, calm) in
            tests(body).zip(tests(calm)).filter(|(test, _)| test.words().1 == "read")
        {
            let (name, op) = test.words();
            let is_of_test = |caveat: &&Value| {
                caveat["code"] == "not_settled"
                    && caveat["subject"].to_string().contains(&format!("{name} {op}"))
            };
            let is_named = body["caveats"].as_array().into_iter().flatten().any(|c| is_of_test(&c));
            let is_slower = test
                .rate()
                .zip(calm.rate())
                .is_some_and(|(rate, calm)| rate < calm * (1.0 - MARGIN));
            self.reads += 1;
            self.slower += usize::from(is_slower);
            self.named += usize::from(is_slower && is_named);
            self.overlooked += usize::from(is_slower && !is_named && test.is_confirmed());
            self.named_for_nothing += usize::from(!is_slower && is_named);
        }
    }

    fn cells(&self) -> [String; 6] {
        let counts = [self.reads, self.slower, self.named, self.overlooked, self.named_for_nothing];
        let [reads, slower, named, overlooked, for_nothing] = counts.map(|count| count.to_string());
        [reads, slower, named, overlooked, for_nothing, format!("{:.0}", self.waited_s)]
    }
}

/// Marks drives with planted work after writes, `seeds` times [`PLANTED`] of each kind.
fn wakes(binary: &Binary, seeds: u64) -> Result<Vec<(u64, u64, Wake)>> {
    let mut wakes = Vec::new();
    let of = |query: &str, seed: u64| {
        let target = target(&format!("{PLANTED_ON}{query}"), seed);
        let words = ["mark", &target, "--order", "interleaved", "--runs", "6", "--size", "4GiB"];
        let seed = seed.to_string();
        let words = words.into_iter().chain(["--duration", "1s", "--seed", &seed]);
        binary.body(&words.map(str::to_owned).collect::<Vec<_>>())
    };
    let seeds = SEED + 1000..SEED + 1000 + seeds * PLANTED;
    let calm = seeds.clone().map(|seed| of("", seed)).collect::<Result<Vec<_>>>()?;
    for left_s in LEFT_S {
        for added_us in ADDED_US {
            if left_s == 0 && added_us != ADDED_US[0] {
                continue;
            }
            let (most, added) = ((left_s * 1_000_000_000).max(1), added_us * 1000);
            let query = format!(
                "?aftermath.work_per_mib_ns={}&aftermath.most_ns={most}&aftermath.read_added_ns={added}",
                most.div_ceil(16)
            );
            let mut wake = Wake::default();
            for (seed, calm) in seeds.clone().zip(&calm) {
                wake.add(&of(&query, seed)?, calm);
            }
            wakes.push((left_s, added_us, wake));
        }
    }
    Ok(wakes)
}

fn row(drive: &str, name: &str, score: &Score) -> Vec<String> {
    vec![
        format!("`sim:{drive}`"),
        name.to_owned(),
        score.all().to_string(),
        score.confirmed.to_string(),
        score.wrong.to_string(),
        score.in_states.to_string(),
        score.provisional.to_string(),
        score.rejected.to_string(),
        format!("{:.0}%", 100.0 * score.share()),
        format!("{:.0}", score.longest_s),
        format!("{:.1}", score.bytes as f64 / 1e9),
    ]
}

/// Marks each drive and writes the table; false when a claim does not hold.
///
/// # Errors
/// When a mark fails, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    if options.real_alone {
        let (claims, section) = real::section()?;
        print!("{}\n{section}", sheet::claims(&claims));
        return Ok(claims.iter().all(|(_, holds)| *holds));
    }
    let out = sheet::table_dir(options.out.as_deref(), options.seeds != SEEDS)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let binary = Binary::find()?;
    let mut programs = vec![("now", binary.clone())];
    programs.extend(options.before.clone().map(|path| ("before", Binary::at(path))));
    let mut rows = Vec::new();
    let mut csv =
        "drive,program,numbers,confirmed,wrong,in_states,provisional,rejected,longest_s,bytes\n"
            .to_owned();
    let mut total = vec![Score::default(); programs.len()];
    let (of_real, real_section) = real::section()?;
    for drive in DRIVES {
        let mut scores = vec![Score::default(); programs.len()];
        for seed in SEED..SEED + options.seeds {
            let words =
                ["mark".to_owned(), target(drive, seed), "--seed".to_owned(), seed.to_string()];
            let mut truth = None;
            for ((_, program), sum) in programs.iter().zip(&mut scores) {
                let body = program.body(&words)?;
                let truth = match &truth {
                    Some(truth) => truth,
                    None => truth.insert(alone(&binary, drive, seed, &body)?),
                };
                *sum = sum.with(score(&body, truth));
            }
        }
        for (((name, _), score), sum) in programs.iter().zip(&scores).zip(&mut total) {
            *sum = sum.with(*score);
            rows.push(row(drive, name, score));
            let Score { confirmed, wrong, in_states, provisional, rejected, longest_s, bytes } =
                score;
            let _ = writeln!(
                csv,
                "{drive},{name},{},{confirmed},{wrong},{in_states},{provisional},{rejected},{longest_s:.1},{bytes}",
                score.all()
            );
        }
    }
    for ((name, _), sum) in programs.iter().zip(&total) {
        rows.push(row("all", name, sum));
    }
    let path = out.join("decisive.csv");
    fs::write(&path, csv).with_context(|| format!("{}: cannot be written", path.display()))?;
    let now = total[0];
    let wakes = wakes(&binary, options.seeds)?;
    let sum = |of: fn(&Wake) -> usize| wakes.iter().map(|(.., wake)| of(wake)).sum::<usize>();
    let (slower, named) = (sum(|wake| wake.slower), sum(|wake| wake.named));
    let mut claims = of_real;
    claims.extend([
        (
            format!("at least {:.0}% confirmed and right", 100.0 * CONFIRMED_MIN),
            now.share() >= CONFIRMED_MIN,
        ),
        ("no number confirmed and wrong".to_owned(), now.wrong == 0),
        (format!("each mark within {WITHIN_S:.0} s on the drive"), now.longest_s <= WITHIN_S),
        (
            format!(
                "reads in the wake of writes are named ({named} of {slower}), {:.0}% at least",
                100.0 * NAMED_MIN
            ),
            named as f64 >= NAMED_MIN * slower as f64,
        ),
    ]);
    let holds = claims.iter().all(|(_, holds)| *holds);
    let claims = sheet::claims(&claims);
    let head = sheet::provenance(
        &commit,
        &Machine::here(),
        "decisive.csv",
        &[("Load average at the start", load)],
    );
    let columns = [
        "drive",
        "program",
        "numbers",
        "confirmed",
        "of them wrong",
        "states named",
        "provisional",
        "rejected",
        "confirmed and right",
        "longest, s",
        "GB",
    ];
    let wake_rows: Vec<Vec<String>> = (wakes.iter())
        .map(|(left_s, added_us, wake)| {
            [left_s.to_string(), added_us.to_string()].into_iter().chain(wake.cells()).collect()
        })
        .collect();
    let page = format!(
        "# Decisiveness of the default benchmark\n\n{head}{} marks of each drive with the default settings. A number is \
         confirmed when all six proofs are proven; right when it, or a state that is named beside it, lies within {:.0}% of the \
         same test made alone on a new drive (windows of 8 s; where the number is called a burst, the first of the default ones). Numbers of several states that are not confirmed do not count in the \
         share. Seconds are those of the virtual drive.\n\n{claims}\n{}\n\n{real_section}\n\n## Reads in the wake of writes\n\n\
         `sim:{PLANTED_ON}` with work that writes leave (`aftermath`) and that delays reads meanwhile, marked with reads and writes in any order \
         (`--order interleaved --duration 1s --size 4GiB`), beside the same drive without such work. A read is slower where its \
         number is by over {:.0}%.\n\n{}",
        options.seeds,
        100.0 * MARGIN,
        sheet::table(2, &columns, &rows),
        100.0 * MARGIN,
        sheet::table(2, &WAKES, &wake_rows)
    );
    sheet::write(&out.join("decisive.md"), &page)?;
    Ok(holds)
}

//! `decisive`: how many of the numbers of a default `mark` are confirmed within the time that people wait, and right, on virtual
//! drives whose tests were also made alone.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use serde_json::Value;

use crate::binary::Binary;
use crate::provenance::{self, Machine};
use crate::{sheet, stacks};

/// The rules were made without looking at the draws of these seeds.
const SEED: u64 = 8_700_000_000;
/// Seeds of each drive; another count is a trial.
const SEEDS: u64 = 3;
/// Share of the numbers of single states that are confirmed and right.
const CONFIRMED_MIN: f64 = 0.9;
/// Time that a mark may take on the drive.
const WITHIN_S: f64 = 300.0;
/// A number that is further from that of its test alone is wrong.
const MARGIN: f64 = 0.05;

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

/// Makes what [`STACKS`] names on this machine's disk, and marks it.
const SCRIPT: &str = "tools/validate/src/decisive/stacks.sh";
const STACKS: [&str; 4] = ["ext4", "xfs", "btrfs", "loop"];

/// Options of `decisive`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Seeds of each drive; another count is a trial
    #[arg(long, default_value_t = SEEDS)]
    seeds: u64,
    /// Another binary, whose numbers are scored beside
    #[arg(long, value_name = "PROGRAM")]
    before: Option<PathBuf>,
    /// Mark the real stacks alone; a trial
    #[arg(long)]
    real_alone: bool,
    /// Output directory of the table [default: docs/validation; target/validate for trials]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// How the numbers of a drive came out.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    confirmed: usize,
    /// Of those: further from the test alone than the margin, in no state that was named.
    wrong: usize,
    /// Not confirmed, in several states, which were named.
    in_states: usize,
    provisional: usize,
    rejected: usize,
    /// The longest mark, on the drive.
    longest_s: f64,
    /// Bytes of the measured windows of all marks.
    bytes: u64,
}

impl Score {
    fn all(&self) -> usize {
        self.confirmed + self.in_states + self.provisional + self.rejected
    }

    /// Numbers that answer what was asked, of those of a single state.
    fn share(&self) -> f64 {
        (self.confirmed - self.wrong) as f64 / (self.all() - self.in_states).max(1) as f64
    }

    /// Adds a number; wrong where it is confirmed and neither its median nor a state `is_right`.
    fn add(&mut self, test: &Test<'_>, is_right: impl Fn(f64) -> bool) {
        let states = test.states();
        if test.is_confirmed() {
            self.confirmed += 1;
            self.wrong += usize::from(!test.rate().into_iter().chain(states).any(is_right));
        } else if test.0["headline"] != true {
            self.rejected += 1;
        } else if states.is_empty() {
            self.provisional += 1;
        } else {
            self.in_states += 1;
        }
    }

    fn with(self, other: Score) -> Score {
        Score {
            confirmed: self.confirmed + other.confirmed,
            wrong: self.wrong + other.wrong,
            in_states: self.in_states + other.in_states,
            provisional: self.provisional + other.provisional,
            rejected: self.rejected + other.rejected,
            longest_s: self.longest_s.max(other.longest_s),
            bytes: self.bytes + other.bytes,
        }
    }
}

/// A test of a body, by name and direction.
struct Test<'a>(&'a Value);

impl Test<'_> {
    fn words(&self) -> (&str, &str) {
        let word = |field: &str| self.0[field].as_str().unwrap_or_default();
        (word("name"), word("op"))
    }

    fn rate(&self) -> Option<f64> {
        self.0["mb_s"]["median"].as_f64()
    }

    fn is_confirmed(&self) -> bool {
        self.lacking().is_empty() && self.0["headline"] == true
    }

    /// Proofs that are not proven.
    fn lacking(&self) -> Vec<&str> {
        let proofs = self.0["proofs"].as_object().into_iter().flatten();
        let lacking = proofs.filter(|(_, proof)| proof["verdict"] != "proven");
        lacking.map(|(name, _)| name.as_str()).collect()
    }

    /// Medians of the states that are named.
    fn states(&self) -> Vec<f64> {
        let states = self.0["states"]["states"].as_array();
        states.into_iter().flatten().filter_map(|state| state["mb_s"].as_f64()).collect()
    }

    /// True where the number is called the rate of first writes.
    fn is_burst(&self) -> bool {
        self.0["writes"]["shown"] == "burst"
    }

    fn bytes(&self) -> u64 {
        let runs = self.0["runs"].as_array();
        runs.into_iter().flatten().filter_map(|run| run["bytes"].as_u64()).sum()
    }
}

fn tests(body: &Value) -> impl Iterator<Item = Test<'_>> {
    body["tests"].as_array().into_iter().flatten().map(Test)
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

fn score(body: &Value, alone: &[Option<f64>]) -> Score {
    let mut score = Score {
        longest_s: body["elapsed_ns"].as_f64().unwrap_or(f64::NAN) / 1e9,
        bytes: tests(body).map(|test| test.bytes()).sum(),
        ..Score::default()
    };
    for (test, truth) in tests(body).zip(alone) {
        let is_near = |rate: f64, truth: f64| (rate / truth - 1.0).abs() <= MARGIN;
        score.add(&test, |rate| truth.is_some_and(|truth| is_near(rate, truth)));
    }
    score
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

/// Numbers of a real stack, and the proofs that those not confirmed lack.
struct Real {
    name: String,
    score: Score,
    open: Vec<String>,
}

impl Real {
    fn of(name: &str, body: &Value) -> Real {
        let mut score = score(body, &[]);
        let mut open = Vec::new();
        for test in tests(body) {
            // The right values are unknown.
            score.add(&test, |_| true);
            let lacking = test.lacking();
            if !lacking.is_empty() {
                let (test, op) = test.words();
                open.push(format!("{test} {op}: {}", lacking.join(", ")));
            }
        }
        Real { name: name.to_owned(), score, open }
    }

    fn cells(&self) -> Vec<String> {
        let Score { confirmed, in_states, provisional, rejected, longest_s, bytes, .. } =
            self.score;
        vec![
            self.name.clone(),
            self.score.all().to_string(),
            confirmed.to_string(),
            in_states.to_string(),
            provisional.to_string(),
            rejected.to_string(),
            format!("{:.0}%", 100.0 * self.score.share()),
            format!("{longest_s:.0}"),
            format!("{:.1}", bytes as f64 / 1e9),
            self.open.join("; "),
        ]
    }
}

/// Marks filesystems and a loop device of this machine; second, the reasons of those that it does not make.
fn real() -> Result<(Vec<Real>, Vec<String>)> {
    let work = stacks::fresh_dir("decisive")?;
    let disk = stacks::disk_under(&work)?;
    let said = stacks::run_script(SCRIPT, &work, &disk)?;
    let left = said.stderr.lines().filter_map(|line| line.strip_prefix("left "));
    let left: Vec<String> = left.map(str::to_owned).collect();
    let mut real = Vec::new();
    for name in STACKS {
        let path = work.join(name).with_extension("json");
        if !path.exists() {
            ensure!(left.iter().any(|why| why.starts_with(name)), "{name} was not measured");
            continue;
        }
        let text = fs::read(&path).with_context(|| path.display().to_string())?;
        let document: Value =
            serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
        real.push(Real::of(name, &document["body"]));
    }
    fs::remove_dir_all(&work).with_context(|| format!("{}: stays", work.display()))?;
    Ok((real, left))
}

/// Marks each drive and writes the table; false when a claim does not hold.
///
/// # Errors
/// When a mark fails, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let is_trial = options.seeds != SEEDS || options.real_alone;
    let out = sheet::table_dir(options.out.as_deref(), is_trial)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let binary = Binary::find()?;
    let mut programs = vec![("now", binary.clone())];
    programs.extend(options.before.clone().map(|path| ("before", Binary::at(path))));
    let mut rows = Vec::new();
    let mut csv =
        "drive,program,numbers,confirmed,wrong,in_states,provisional,rejected,longest_s,bytes\n"
            .to_owned();
    let mut total = vec![Score::default(); programs.len()];
    let (real, left) = real()?;
    for drive in DRIVES.into_iter().filter(|_| !options.real_alone) {
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
    let wakes = if options.real_alone { Vec::new() } else { wakes(&binary, options.seeds)? };
    let sum = |of: fn(&Wake) -> usize| wakes.iter().map(|(.., wake)| of(wake)).sum::<usize>();
    let (slower, named) = (sum(|wake| wake.slower), sum(|wake| wake.named));
    let all_real = real.iter().fold(Score::default(), |sum, real| sum.with(real.score));
    let claims = [
        (
            format!(
                "at least {:.0}% confirmed on filesystems and a loop device of this machine ({} of {})",
                100.0 * CONFIRMED_MIN,
                all_real.confirmed,
                all_real.all() - all_real.in_states
            ),
            all_real.share() >= CONFIRMED_MIN,
        ),
        (format!("each mark of these within {WITHIN_S:.0} s"), all_real.longest_s <= WITHIN_S),
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
    ];
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
    let real_columns = [
        "target",
        "numbers",
        "confirmed",
        "states named",
        "provisional",
        "rejected",
        "of them confirmed",
        "time, s",
        "GB",
        "checks that are not proven",
    ];
    let real_rows: Vec<Vec<String>> = real.iter().map(Real::cells).collect();
    let left: String = left.iter().map(|why| format!("\nLeft out: {why}.\n")).collect();
    let page = format!(
        "# Decisiveness of the default benchmark\n\n{head}{} marks of each drive with the default settings. A number is \
         confirmed when all six proofs are proven; right when it, or a state that is named beside it, lies within {:.0}% of the \
         same test made alone on a new drive (windows of 8 s; where the number is called a burst, the first of the default ones). Numbers of several states that are not confirmed do not count in the \
         share. Seconds are those of the virtual drive.\n\n{claims}\n{}\n\n## Filesystems and a loop device\n\n\
         One default mark each: of a directory of a filesystem on a loop device with direct I/O, and of such a device itself. All lie \
         on this machine's disk, which others use too. Nobody knows what is right there.\n\n{}{left}\n\n## Reads in the wake of writes\n\n\
         `sim:{PLANTED_ON}` with work that writes leave (`aftermath`) and that delays reads meanwhile, marked with reads and writes in any order \
         (`--order interleaved --duration 1s --size 4GiB`), beside the same drive without such work. A read is slower where its \
         number is by over {:.0}%.\n\n{}",
        options.seeds,
        100.0 * MARGIN,
        sheet::table(2, &columns, &rows),
        sheet::table(1, &real_columns, &real_rows),
        100.0 * MARGIN,
        sheet::table(2, &WAKES, &wake_rows)
    );
    sheet::write(&out.join("decisive.md"), &page)?;
    Ok(holds)
}

//! `capacity`: drives that are fake in twenty ways, and honest ones, asked by `probe capacity`. In process and in virtual
//! time, on drives that are written here ([`model`]).

mod draw;
mod model;

use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use ::probe::capacity::{self, Options as Asked};
use ::probe::{Desk, Finding, Known, NoKeeper, Terms, Verdict};
use anyhow::{Context as _, Result, anyhow};
use block::{Bytes, Nanos, Target as _};
use clap::Args;
use engine::TargetBench;
use stats::proportion_interval;
use workload::plan::Region;

use crate::provenance::{self, Machine};
use crate::threads::on_threads;
use crate::{sheet, stop};
use draw::KINDS;
use model::{Made, Nowhere, Spec};

/// Seeds of the fakes, of each kind. Chosen before any was looked at; use others when you change the probe.
const SEEDS: Range<u64> = 7_800_000_000..7_800_000_020;
/// Honest drives for each seed.
const HONEST: u64 = 10;
/// Least share of the fakes that lack more than their cache holds which are found to the byte.
const EXACT_MIN: f64 = 0.95;
/// Least share of the honest drives that are called genuine.
const GENUINE_MIN: f64 = 0.95;

/// Options of `capacity`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Seeds of each kind, such as 0..5; ten honest drives for each [default: 7800000000..7800000020]
    #[arg(long, value_parser = crate::probe::seeds)]
    seeds: Option<Range<u64>>,
    /// Threads
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// Output directory of the table [default: docs/validation; target/validate for trials of less than everything]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Worth of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// The size that it has.
    Exact,
    /// The evidence does not decide.
    Unknown,
    /// A fake that is called genuine with a statement of a cache that it exceeds, or lacks no more than it.
    Limited,
    /// A size that it has not.
    Wrong,
}

/// A drive and what was said of it.
struct Row {
    /// Its place in [`KINDS`]; none of an honest one.
    kind: Option<usize>,
    seed: u64,
    spec: Spec,
    finding: Finding,
    /// The stated limit of caches.
    limit: Option<u64>,
    elapsed: Nanos,
    written: u64,
    mark: Mark,
}

impl Row {
    /// True of a fake that must be found.
    fn exceeds(&self) -> bool {
        self.spec.shortfall() > self.spec.cache
    }
}

fn mark(spec: &Spec, finding: &Finding, limit: Option<u64>) -> Mark {
    match finding.value.filter(|_| finding.verdict == Verdict::Found) {
        None => Mark::Unknown,
        Some(value) if value == spec.real => Mark::Exact,
        Some(value) if value != spec.claimed => Mark::Wrong,
        // The stated limit must be true: the cache is larger, or holds all that is missing.
        Some(_)
            if limit.is_some_and(|limit| spec.cache <= limit) && spec.shortfall() > spec.cache =>
        {
            Mark::Wrong
        }
        Some(_) => Mark::Limited,
    }
}

/// Probes the drive of a kind and a seed.
fn row(kind: Option<usize>, seed: u64) -> Result<Row> {
    let spec = kind.map_or_else(|| draw::honest(seed), |kind| draw::fake(kind, seed));
    row_of(kind, seed, spec)
}

/// Probes one drive.
fn row_of(kind: Option<usize>, seed: u64, spec: Spec) -> Result<Row> {
    let (mut drive, mut nowhere) = (Made::new(spec), Nowhere::default());
    let cancel = AtomicBool::new(false);
    let terms = Terms {
        region: Region { offset: Bytes::ZERO, length: drive.info().capacity_bytes },
        may_write: true,
        time_budget: Nanos::secs(1800),
        write_budget: Bytes::gib(16),
        seed,
    };
    let mut keeper = NoKeeper;
    let (outcome, elapsed) = {
        let mut bench = TargetBench::new(&mut drive, &mut nowhere, &cancel);
        let mut desk = Desk::new(&mut bench, terms, &mut keeper);
        let outcome = capacity::probe(&mut desk, &Known::new(), &Asked::default())
            .map_err(|halt| anyhow!("{kind:?}, seed {seed}: {halt}"))?;
        (outcome, desk.spent().elapsed_ns)
    };
    let finding = outcome.findings.into_iter().next().context("no finding")?;
    let limit = outcome.evidence.cache_limit_bytes;
    let mark = mark(&spec, &finding, limit);
    Ok(Row { kind, seed, spec, finding, limit, elapsed, written: drive.written, mark })
}

/// Probes all, and writes the table; false when the claim does not hold.
///
/// # Errors
/// When a probe fails, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let out = sheet::table_dir(options.out.as_deref(), options.seeds.is_some())?;
    let (commit, stop) = (provenance::commit()?, stop::stop_flag()?);
    let seeds = options.seeds.clone().unwrap_or(SEEDS);
    let mut jobs: Vec<(Option<usize>, u64)> = Vec::new();
    for seed in seeds.clone() {
        jobs.extend((0..KINDS.len()).map(|kind| (Some(kind), seed)));
        jobs.extend((0..HONEST).map(|n| (None, seed * HONEST + n)));
    }
    let rows =
        on_threads(options.jobs.into(), jobs.len(), &stop, |at| row(jobs[at].0, jobs[at].1))?;
    let path = out.join("capacity.csv");
    fs::write(&path, csv(&rows))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let head = sheet::provenance(&commit, &Machine::here(), "capacity.csv", &[]);
    let score = Score::of(&rows);
    sheet::write(&out.join("capacity.md"), &page(&head, &rows, &score, &seeds))?;
    Ok(score.holds())
}

/// Counts of the claim.
#[derive(Debug, Default)]
struct Score {
    /// Fakes that lack more than their cache holds.
    exceed: usize,
    exact: usize,
    /// Of them, those that were called genuine, whatever limit was stated.
    genuine: usize,
    /// Wrong answers of any drive.
    wrong: usize,
    honest: usize,
    honest_genuine: usize,
}

impl Score {
    fn of(rows: &[Row]) -> Score {
        let mut score = Score::default();
        for row in rows {
            score.wrong += usize::from(row.mark == Mark::Wrong);
            if row.kind.is_none() {
                score.honest += 1;
                score.honest_genuine += usize::from(row.mark == Mark::Exact);
            } else if row.exceeds() {
                score.exceed += 1;
                score.exact += usize::from(row.mark == Mark::Exact);
                score.genuine += usize::from(row.finding.value == Some(row.spec.claimed));
            }
        }
        score
    }

    fn holds(&self) -> bool {
        self.wrong == 0
            && self.genuine == 0
            && self.exact as f64 >= EXACT_MIN * self.exceed as f64
            && self.honest_genuine as f64 >= GENUINE_MIN * self.honest as f64
    }
}

fn csv(rows: &[Row]) -> String {
    let mut text = "kind,seed,claimed_bytes,real_bytes,cache_bytes,write_bytes_per_s,found_bytes,limit_bytes,seconds,\
                    written_bytes,mark\n"
        .to_owned();
    for row in rows {
        let Spec { claimed, real, cache, write_rate, .. } = row.spec;
        let kind = row.kind.map_or("honest", |kind| KINDS[kind]);
        let number = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        let _ = writeln!(
            text,
            "\"{kind}\",{},{claimed},{real},{cache},{write_rate},{},{},{:.1},{},{:?}",
            row.seed,
            number(row.finding.value),
            number(row.limit),
            row.elapsed.0 as f64 / 1e9,
            row.written,
            row.mark
        );
    }
    text
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// A line of the table.
fn line(name: &str, rows: &[&Row]) -> Vec<String> {
    let count = |mark: Mark, exceeds: bool| {
        let those = rows.iter().filter(|row| row.mark == mark && row.exceeds() == exceeds);
        those.count().to_string()
    };
    let exceed = rows.iter().filter(|row| row.exceeds()).count();
    let written = median(rows.iter().map(|row| row.written as f64 / 1e6).collect());
    let seconds = median(rows.iter().map(|row| row.elapsed.0 as f64 / 1e9).collect());
    vec![
        name.to_owned(),
        exceed.to_string(),
        count(Mark::Exact, true),
        count(Mark::Unknown, true),
        count(Mark::Limited, true),
        (rows.len() - exceed).to_string(),
        count(Mark::Exact, false),
        count(Mark::Unknown, false),
        count(Mark::Limited, false),
        rows.iter().filter(|row| row.mark == Mark::Wrong).count().to_string(),
        format!("{written:.0}"),
        format!("{seconds:.0}"),
    ]
}

fn page(head: &str, rows: &[Row], score: &Score, seeds: &Range<u64>) -> String {
    let of = |kind: Option<usize>| rows.iter().filter(|row| row.kind == kind).collect::<Vec<_>>();
    let mut lines: Vec<Vec<String>> =
        KINDS.iter().enumerate().map(|(kind, name)| line(name, &of(Some(kind)))).collect();
    lines.push(line("honest", &of(None)));
    let bound = proportion_interval(score.genuine, score.exceed.max(1), 0.95);
    let bound = bound.map_or(String::new(), |b| format!(", at most {:.1}% at 95%", 100.0 * b.high));
    let mut others = String::new();
    for row in rows.iter().filter(|row| {
        row.mark == Mark::Wrong || row.mark != Mark::Exact && (row.kind.is_none() || row.exceeds())
    }) {
        let kind = row.kind.map_or("honest", |kind| KINDS[kind]);
        let Spec { claimed, real, cache, .. } = row.spec;
        let _ = writeln!(
            others,
            "- {kind}, seed {}: states {claimed}, has {real}, cache {cache}: {:?}: {}",
            row.seed, row.mark, row.finding.reason
        );
    }
    let others = if others.is_empty() { "Nothing.\n".to_owned() } else { others };
    let columns = [
        "drives",
        "lack more than the cache",
        "exact",
        "unknown",
        "genuine",
        "lack less",
        "exact",
        "unknown",
        "genuine, as is stated",
        "wrong",
        "MB written",
        "seconds",
    ];
    format!(
        "# Fakes and honest drives, asked for their size\n\nOf {} fakes that lack more than their cache holds, `probe \
         capacity` called {} genuine{bound}, and found {} to the byte; of {} honest drives it called {} genuine within the \
         stated limit. Wrong answers: {}.\n\n{head}Drives of seeds {} to {} of each kind, and {HONEST} honest ones for each seed \
         of 30 MB to 2 TB, with write rates from 2 MB/s on, noise of 30%, and in three of four pauses of 100 to 300 ms; \
         every other one serves requests that are under way together in any order. 0.4 to 50% of what a fake states is \
         missing (of those that wrap at or above a power of two up to three quarters). The drives are written for this \
         table, of the crate block alone. Drives whose cache holds all that is missing keep what they are given until the \
         power goes, and nothing can find them; the verdict says so. Medians of bytes written, what was put back \
         included, and of the drives' own time.\n\n{}\n## What was not exact\n\n{others}",
        score.exceed,
        score.genuine,
        score.exact,
        score.honest,
        score.honest_genuine,
        score.wrong,
        seeds.start,
        seeds.end - 1,
        sheet::table(1, &columns, &lines),
    )
}

#[cfg(test)]
mod tests {
    use ::probe::Name;

    use super::model::Nothing;
    use super::*;

    // Breaks when a fake that passes for genuine counts as found, or as covered by a limit that does not hold.
    #[test]
    fn an_answer_counts_for_what_it_is() {
        let spec = draw::fake(2, 1);
        let said = |value: u64| Finding::found(Name::RealCapacity, value, 0.9, "");
        let (cache, lacks_more) =
            (spec.cache, Spec { claimed: spec.real + 2 * spec.cache, ..spec });
        assert_eq!(mark(&lacks_more, &said(spec.real), None), Mark::Exact);
        assert_eq!(mark(&lacks_more, &said(spec.real + 512), None), Mark::Wrong);
        assert_eq!(mark(&lacks_more, &said(lacks_more.claimed), Some(cache)), Mark::Wrong);
        assert_eq!(mark(&lacks_more, &said(lacks_more.claimed), Some(cache - 1)), Mark::Limited);
        let lacks_less = Spec { claimed: spec.real + spec.cache, ..spec };
        assert_eq!(mark(&lacks_less, &said(lacks_less.claimed), Some(cache)), Mark::Limited);
        let unknown = Finding::unknown(Name::RealCapacity, "");
        assert_eq!(mark(&lacks_more, &unknown, None), Mark::Unknown);
    }

    // Breaks when a place passes for kept since it arrived at a cache after what was to push it out, or a run below a
    // lost sector passes for kept since it arrived late: both gave sizes that drives had not.
    #[test]
    fn the_order_of_arrival_makes_no_size_wrong() {
        let wrapping = row(Some(16), 7_700_000_011).unwrap();
        assert_eq!(wrapping.mark, Mark::Exact, "{:?} {:?}", wrapping.spec, wrapping.finding);
        for seed in 0..6 {
            // The first run and what follows it are 32 MiB long.
            let cache = (30 << 20) + seed * (256 << 10);
            let (claimed, real) = (16 << 30, (10 << 30) + seed * 4096);
            let speeds = draw::honest(7_500_000_004);
            let spec =
                Spec { claimed, real, cache, all_pass: true, reorders: true, seed, ..speeds };
            let fake = row_of(None, seed, spec).unwrap();
            assert_eq!(fake.mark, Mark::Exact, "{spec:?} {:?}", fake.finding);
        }
    }

    // Breaks when the model of a fake keeps more than its cache, or the probe passes it.
    #[test]
    fn a_fake_is_found_and_an_honest_drive_is_not() {
        let fake = row(Some(1), 7_500_000_001).unwrap();
        assert_eq!(fake.mark, Mark::Exact, "{:?} {:?}", fake.spec, fake.finding);
        let honest = row(None, 7_500_000_004).unwrap();
        assert_eq!(honest.mark, Mark::Exact, "{:?} {:?}", honest.spec, honest.finding);
    }

    /// Public cases of fakes with their right values, beside the workspace where they are at hand.
    const CASES: &str =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases/public-2026-11/flash");

    /// The drive that a case describes; one behind a map of pages is honest for as little as a sample writes.
    fn case(name: &str) -> Option<Spec> {
        let text = fs::read_to_string(format!("{CASES}/{name}.txt")).ok()?;
        let field = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
        let size = |key: &str| field(key).map(|size| size.trim().parse::<u64>().unwrap());
        let claimed = size("claimed=").unwrap();
        let kind = field("kind=").unwrap();
        let spec = draw::honest(7_500_000_004);
        Some(Spec {
            claimed,
            // As the program that makes the case does, it keeps all of the page in which its end lies.
            real: if kind == "thin" {
                claimed
            } else {
                size("real=").unwrap().next_multiple_of(model::PAGE)
            },
            cache: size("cache=").unwrap_or(0),
            nothing: if kind == "limboerr" { Nothing::Fails } else { Nothing::Zeros },
            access_ns: 200_000,
            write_rate: 100_000_000,
            ..spec
        })
    }

    // Breaks when a fake that people described gets another size than it has, or one that no sampling sees a
    // confidence.
    #[test]
    fn published_fakes_get_their_size() {
        let cases = [
            "capacity-f3-158-eio-beyond",
            "capacity-f3-204-limbo-cache3m-2tb",
            "capacity-f3-258-thin-nvme",
            "capacity-f3-50-limbo-cache3m",
            "capacity-f3-52-limbo-cache63m",
            "capacity-small-30mb",
        ];
        for name in cases {
            let Some(spec) = case(name) else {
                println!("skipped: this machine has no {CASES}");
                return;
            };
            let row = row_of(None, 1, spec).unwrap();
            assert_eq!(row.mark, Mark::Exact, "{name}: {spec:?} {:?}", row.finding);
            if name.contains("thin") {
                assert_eq!(row.finding.confidence, None);
                assert!(row.finding.reason.contains("--full"), "{}", row.finding.reason);
            } else {
                assert!(row.finding.reason.contains("fake"), "{name}: {}", row.finding.reason);
            }
        }
    }
}

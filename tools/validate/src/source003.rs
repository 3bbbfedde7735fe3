//! `source003`: the measurements of an article that compared disks with diskspd for Linux, made again on virtual disks
//! like its own: with diskspd's offsets, which it had, and with right ones, side by side.
//!
//! 21 runs of each load, of which the first is left out, with 5 s between them, as its author made them. The disk goes on
//! from run to run with what the run before left in its memory; so it is the same instrument that `drivescope diskspd`
//! is, called again and again, and not the binary, whose virtual disks are new each time.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result, bail};
use block::{Nanos, NullSink, Target as _};
use clap::Args;
use engine::Control;
use mark::diskspd::{How, Manner, Options as Line, run as run_line};
use stats::{Evidence, Verdict, coefficient_of_variation, median, range_over_mean};
use workload::rng::Rng;

use crate::provenance::{self, Machine};
use crate::sheet;

/// Runs of each load; the first is left out.
const RUNS: u32 = 21;
/// Between two runs.
const PAUSE: Nanos = Nanos::secs(5);
/// Root of the seeds of right runs, which differ from run to run.
const SEED: u64 = 20_231_028;
/// The disks: the article's "SG", and its "WD1" and "WD2".
const DISKS: [&str; 2] = ["hdd-sg", "hdd-wd"];
const MIB: f64 = 1_048_576.0;
/// Depths and threads that the article's author took for the whole range.
const COUNTS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Options of `source003`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Runs of each load, of which the first is left out; another count is a trial
    #[arg(long, default_value_t = RUNS, value_parser = clap::value_parser!(u32).range(3..=1000))]
    runs: u32,
    /// Output directory of the table [default: docs/validation; target/validate for trials]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// A load in diskspd's words, without what is the same for all.
#[derive(Clone, Debug)]
struct Load {
    /// `SEQ1M Q8T1 read`.
    name: String,
    words: String,
}

impl Load {
    fn new(is_random: bool, depth: u32, threads: u32, writes: bool) -> Load {
        let (name, block, order) =
            if is_random { ("RND4K", "4K", " -r") } else { ("SEQ1M", "1M", "") };
        let (way, percent) = if writes { ("write", 100) } else { ("read", 0) };
        Load {
            name: format!("{name} Q{depth}T{threads} {way}"),
            words: format!("-Zr -b{block} -o{depth} -t{threads} -Sd -w{percent}{order}"),
        }
    }
}

/// Results of the runs of one load.
struct Found {
    /// MiB/s of each, without the first.
    rates: Vec<f64>,
    /// Runs whose pattern was refuted, without the first.
    refuted: usize,
    /// Share of the bytes that were new, of the last run.
    unique: f64,
}

/// A line of the table.
struct Row {
    section: &'static str,
    disk: &'static str,
    load: String,
    /// The varied parameter.
    with: String,
    /// Emulated, right.
    found: [Found; 2],
}

/// A disk that is loaded again and again.
struct Disk {
    target: sim::VirtualTarget,
    made: u64,
}

impl Disk {
    fn new(name: &str) -> Result<Disk> {
        Ok(Disk { target: sim::open(&format!("sim:{name}"))?, made: 0 })
    }

    /// Runs a command line once; MiB/s, whether its pattern was refuted, and the share of new bytes.
    fn once(&mut self, line: &str, manner: Manner) -> Result<(f64, bool, f64)> {
        let words: Vec<&str> = line.split_whitespace().chain(["disk"]).collect();
        let line = Line::parse(&words)?;
        self.made += 1;
        let fresh = Rng::for_path(SEED, &[self.made]).next_u64() >> 11;
        let seed = line.named_seed(manner).unwrap_or(fresh);
        let plan = line.plan(self.target.info(), seed, manner)?;
        let how = How {
            engine: "virtual",
            direct: true,
            cpus: 1,
            extents: None,
            ceiling: None,
            look_again: None,
            interval: None,
        };
        let never = AtomicBool::new(false);
        let control = Control { cancel: &never, trace_cap: 0 };
        self.target.pause(PAUSE);
        let mut environment = self.target.environment();
        let ran = run_line(&plan, &mut self.target, &mut environment, how, control, &mut NullSink)?;
        if let Some(broken) = ran.broken {
            bail!("{broken}");
        }
        let bytes: u64 = ran.threads.iter().map(|t| t.reads.bytes.0 + t.writes.bytes.0).sum();
        let test = ran.body.tests.first().context("a run without a test")?;
        let evidence = |name: &str| match test.proofs.pattern.evidence.get(name) {
            Some(Evidence::Count(bytes)) => *bytes as f64,
            _ => 0.0,
        };
        let unique = evidence("unique_bytes_within_runs") / evidence("total_bytes").max(1.0);
        let refuted = test.proofs.pattern.verdict == Verdict::Refuted;
        Ok((bytes as f64 / MIB / ran.window.as_secs_f64(), refuted, unique))
    }
}

/// Runs `loads` one after the other, `runs` times each: each by itself, or in turns.
fn measure(
    disk: &str,
    loads: &[String],
    manner: Manner,
    runs: u32,
    in_turns: bool,
) -> Result<Vec<Found>> {
    let empty = || Found { rates: Vec::new(), refuted: 0, unique: 0.0 };
    let mut found: Vec<Found> = loads.iter().map(|_| empty()).collect();
    let mut disk = Disk::new(disk)?;
    let (outer, inner) =
        if in_turns { (runs as usize, loads.len()) } else { (loads.len(), runs as usize) };
    for a in 0..outer {
        for b in 0..inner {
            let (run, load) = if in_turns { (a, b) } else { (b, a) };
            let (rate, refuted, unique) = disk.once(&loads[load], manner)?;
            if run > 0 {
                let found = &mut found[load];
                found.rates.push(rate);
                found.refuted += usize::from(refuted);
                found.unique = unique;
            }
        }
    }
    Ok(found)
}

/// One load after the other in both manners.
fn both(
    section: &'static str,
    disk: &'static str,
    loads: &[(Load, String, String)],
    runs: u32,
    in_turns: bool,
) -> Result<Vec<Row>> {
    let lines: Vec<String> =
        loads.iter().map(|(load, _, more)| format!("{} {more}", load.words)).collect();
    // Loads of one table do not meet on the disk, unless they are to take turns on it.
    let of = |manner| -> Result<Vec<Found>> {
        if in_turns {
            return measure(disk, &lines, manner, runs, true);
        }
        let each = lines.iter().map(|line| {
            let mut found = measure(disk, std::slice::from_ref(line), manner, runs, false)?;
            found.pop().context("a load without runs")
        });
        each.collect()
    };
    let pairs = of(Manner::Emulated)?.into_iter().zip(of(Manner::Right)?);
    let rows = loads.iter().zip(pairs).map(|((load, with, _), (emulated, right))| Row {
        section,
        disk,
        load: load.name.clone(),
        with: with.clone(),
        found: [emulated, right],
    });
    Ok(rows.collect())
}

const FOUR: [(bool, u32); 4] = [(false, 8), (false, 1), (true, 32), (true, 1)];
const USUAL: &str = "-W5 -d10 -f1G";

const BLOCKED: &str = "The four loads, each by itself";
const IN_TURNS: &str = "The four loads in turns";
const DEPTH: &str = "Depth (-o)";
const THREADS: &str = "Threads (-t)";
const SIZE: &str = "Data size";
const WAITING: &str = "Waiting (-W) and measured time (-d)";

fn all(disk: &'static str, runs: u32) -> Result<Vec<Row>> {
    let usual = |load: Load, with: String| (load, with, USUAL.to_owned());
    let ways = [false, true];
    let four = || -> Vec<_> {
        let each = ways.iter().flat_map(|way| FOUR.map(|(r, q)| Load::new(r, q, 1, *way)));
        each.map(|load| usual(load, String::new())).collect()
    };
    let swept = |of: fn(bool, u32, bool) -> Load, letter: &str| -> Vec<_> {
        let kinds = [(false, false), (false, true), (true, false), (true, true)];
        let each = kinds.iter().flat_map(|(random, writes)| {
            COUNTS.map(|count| usual(of(*random, count, *writes), format!("{letter} = {count}")))
        });
        each.collect()
    };
    let mut sizes = Vec::new();
    for (random, writes) in [(false, false), (false, true), (true, false), (true, true)] {
        for (words, size) in [
            ("0.25", "256M"),
            ("0.5", "512M"),
            ("1", "1G"),
            ("3", "3G"),
            ("5", "5G"),
            ("8", "8G"),
            ("10", "10G"),
        ] {
            let load = Load::new(random, 1, 1, writes);
            sizes.push((load, format!("{words} GiB"), format!("-W5 -d10 -f{size}")));
        }
    }
    let mut times = Vec::new();
    for (random, depth) in [(false, 8), (false, 1), (true, 32)] {
        for writes in ways {
            for (warm_up, duration) in
                [(0, 5), (0, 10), (0, 20), (5, 5), (5, 10), (5, 20), (10, 5), (10, 10), (10, 20)]
            {
                let load = Load::new(random, depth, 1, writes);
                let with = format!("-W{warm_up} -d{duration}");
                let more = format!("{with} -f1G");
                times.push((load, with, more));
            }
        }
    }
    let mut rows = both(BLOCKED, disk, &four(), runs, false)?;
    rows.extend(both(IN_TURNS, disk, &four(), runs, true)?);
    rows.extend(both(DEPTH, disk, &swept(|r, n, w| Load::new(r, n, 1, w), "Q"), runs, false)?);
    rows.extend(both(THREADS, disk, &swept(|r, n, w| Load::new(r, 1, n, w), "T"), runs, false)?);
    rows.extend(both(SIZE, disk, &sizes, runs, false)?);
    rows.extend(both(WAITING, disk, &times, runs, false)?);
    Ok(rows)
}

/// Makes all runs and writes the table; false when what was claimed of the two kinds of offsets does not hold.
///
/// # Errors
/// When a virtual disk cannot be loaded, or the table not be written.
pub fn run(options: &Options) -> Result<bool> {
    let out = sheet::table_dir(options.out.as_deref(), options.runs != RUNS)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let mut rows = Vec::new();
    for disk in DISKS {
        eprintln!("{disk}");
        rows.extend(all(disk, options.runs)?);
    }
    let claims = claims(&rows);
    fs::write(out.join("source003.csv"), csv(&rows)).context("source003.csv cannot be written")?;
    let more = [("Load average at the start", load)];
    let head = sheet::provenance(&commit, &Machine::here(), "source003.csv", &more);
    sheet::write(&out.join("source003.md"), &page(&head, &rows, &claims, options.runs))?;
    Ok(claims.iter().all(|(_, _, holds)| *holds))
}

/// Claims about the two kinds of offsets: the claim, the finding, whether it holds.
fn claims(rows: &[Row]) -> Vec<(String, String, bool)> {
    let row = rows.iter().find(|row| {
        row.section == BLOCKED && row.disk == "hdd-wd" && row.load == "SEQ1M Q8T1 read"
    });
    let Some(Row { found: [emulated, right], .. }) = row else { return Vec::new() };
    let of = |found: &Found| {
        let cv = coefficient_of_variation(&found.rates).unwrap_or(f64::NAN);
        (median(&found.rates).unwrap_or(f64::NAN), 100.0 * cv)
    };
    let ((fast, wide), (slow, narrow)) = (of(emulated), of(right));
    let words = |rate: f64, cv: f64| format!("{rate:.1} MiB/s, CV {cv:.2}%");
    let refuted = emulated.refuted == emulated.rates.len();
    vec![
        (
            "hdd-wd, SEQ1M Q8T1 read, emulated: above 300 MB/s".to_owned(),
            words(fast, wide),
            fast > 300.0,
        ),
        ("the same: CV above 5%".to_owned(), words(fast, wide), wide > 5.0),
        (
            "the same: pattern refuted in every run".to_owned(),
            format!("{} of {}", emulated.refuted, emulated.rates.len()),
            refuted,
        ),
        (
            "hdd-wd, SEQ1M Q8T1 read, right: 175 ± 5 MB/s".to_owned(),
            words(slow, narrow),
            (170.0..=180.0).contains(&slow),
        ),
        ("the same: CV below 1.5%".to_owned(), words(slow, narrow), narrow < 1.5),
    ]
}

fn csv(rows: &[Row]) -> String {
    let mut text = "section,disk,load,with,offsets,run,mib_s\n".to_owned();
    for row in rows {
        for (offsets, found) in ["emulated", "right"].iter().zip(&row.found) {
            for (run, rate) in (2..).zip(&found.rates) {
                let (section, disk, load, with) = (row.section, row.disk, &row.load, &row.with);
                let _ = writeln!(text, "{section},{disk},{load},{with},{offsets},{run},{rate}");
            }
        }
    }
    text
}

fn page(head: &str, rows: &[Row], claims: &[(String, String, bool)], runs: u32) -> String {
    let mut text = format!(
        "# diskspd's offsets and right ones\n\n{head}The loads of an article that made 14,000 runs with diskspd for Linux and \
         found it useless ([method](../method/diskspd.md)), on virtual disks like its own: *emulated* with the offsets that \
         diskspd makes, *right* with those of `drivescope diskspd`. {runs} runs of each, of which the first is left out; 5 s \
         between them; the disk goes on. The words are the article's, `-Zr -b1M -o8 -t1 -Sd -w0 -W5 -d10` on 1 GiB where \
         nothing else stands. Rates are MiB/s, which diskspd calls MB/s: median; R/Avg is (largest − smallest) / mean; CV \
         is the standard deviation / mean. *new* is the share of the bytes that the run had not transferred before, \
         *refuted* the runs in which the proof *pattern* was.\n\n",
    );
    if !claims.is_empty() {
        let lines: Vec<Vec<String>> = claims
            .iter()
            .map(|(claim, found, holds)| {
                let holds = if *holds { "yes" } else { "**no**" };
                vec![claim.clone(), found.clone(), holds.to_owned()]
            })
            .collect();
        text += &sheet::table(3, &["claim", "found", "holds"], &lines);
    }
    for section in [BLOCKED, IN_TURNS, DEPTH, THREADS, SIZE, WAITING] {
        let _ = writeln!(text, "\n## {section}\n");
        let lines: Vec<Vec<String>> =
            rows.iter().filter(|row| row.section == section).map(cells).collect();
        let head = [
            "disk", "load", "with", "emulated", "R/Avg", "CV", "new", "refuted", "right", "R/Avg",
            "CV", "new", "refuted",
        ];
        text += &sheet::table(3, &head, &lines);
    }
    text
}

fn cells(row: &Row) -> Vec<String> {
    let mut cells = vec![row.disk.to_owned(), row.load.clone(), row.with.clone()];
    for found in &row.found {
        let percent = |share: Option<f64>| {
            share.map_or("–".to_owned(), |share| format!("{:.1}%", 100.0 * share))
        };
        let rate = median(&found.rates).unwrap_or(f64::NAN);
        cells.push(if rate < 10.0 { format!("{rate:.2}") } else { format!("{rate:.1}") });
        cells.push(percent(range_over_mean(&found.rates)));
        cells.push(percent(coefficient_of_variation(&found.rates)));
        cells.push(percent(Some(found.unique)));
        cells.push(format!("{}/{}", found.refuted, found.rates.len()));
    }
    cells
}

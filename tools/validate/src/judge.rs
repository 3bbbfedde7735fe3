//! `judge`: fio's own results on served virtual drives, stopped before and after they came to rest. Is the answer right, and
//! is a fresh plateau ever called steady?
//!
//! A drive is served as a file, in real time, and fio writes to it; what each case has to come to follows from what the
//! drive is and from how much was written: before the free space is used up, on the way, and long after. Each case has
//! a drive of its own, drawn from its seed.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::Value;
use stats::{Verdict, proportion_interval};

use crate::binary::Binary;
use crate::provenance::{self, Machine};
use crate::serve::server::Server;
use crate::{fio, sheet, stop};

/// Cases that the table promises.
const CASES: u64 = 48;

/// Options of `judge`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Cases
    #[arg(long, default_value_t = CASES, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    cases: u64,
    /// First seed
    #[arg(long, default_value_t = 9_000_000)]
    first_seed: u64,
    /// Output directory of the table [default: docs/validation; target/validate for trials of fewer cases]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Kind of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// Stopped while there was free space.
    Fresh,
    /// Stopped soon after it was used up.
    Transition,
    /// Stopped long after.
    Settled,
    /// Long after, and nothing was said of the drive's capacity.
    Untold,
    /// One permutation written again and again, for as long.
    Replayed,
    /// Stopped fresh by fio's own rule, which called it steady.
    FioSays,
}

impl Sort {
    const ALL: [Sort; 6] =
        [Sort::Fresh, Sort::Transition, Sort::Settled, Sort::Untold, Sort::Replayed, Sort::FioSays];

    fn words(self) -> &'static str {
        match self {
            Sort::Fresh => "stopped on the fresh plateau",
            Sort::Transition => "stopped on the way",
            Sort::Settled => "stopped long after",
            Sort::Untold => "long after, capacity not told",
            Sort::Replayed => "one permutation, as long",
            Sort::FioSays => "ended on the plateau by fio's steadystate",
        }
    }

    /// True if `verdict` is acceptable: *steady* only for a drive that is steady.
    fn may_say(self, verdict: Option<Verdict>) -> bool {
        match self {
            Sort::Settled => verdict == Some(Verdict::Proven),
            Sort::Fresh | Sort::Transition | Sort::FioSays => verdict != Some(Verdict::Proven),
            Sort::Untold => verdict == Some(Verdict::Unprovable),
            Sort::Replayed => verdict == Some(Verdict::Refuted),
        }
    }
}

/// A case, drawn from its seed.
#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    sort: Sort,
    over_provisioning: f64,
    fills: f64,
    jobs: u64,
    per_io: bool,
}

/// How it came out.
struct Outcome {
    case: Case,
    verdict: Option<Verdict>,
    reason: String,
    written_fills: f64,
    is_right: bool,
}

impl Case {
    fn draw(seed: u64, nth: u64) -> Case {
        let sort = Sort::ALL[(nth % Sort::ALL.len() as u64) as usize];
        let mut draw = sim_stream(seed);
        let mut between = |low: f64, high: f64| low + (high - low) * draw();
        // Little enough of amplification that a case takes seconds, and spread over what enterprise drives have.
        let over_provisioning = between(0.2, 0.8);
        let free = 1.0 + over_provisioning;
        let fills = match sort {
            Sort::Fresh => between(0.2, 0.9) * free,
            Sort::Transition => free + between(0.1, 0.5),
            Sort::Settled | Sort::Untold | Sort::Replayed => between(10.0, 13.0),
            Sort::FioSays => free,
        };
        let jobs = if between(0.0, 1.0) < 0.5 { 1 } else { 3 };
        let per_io = between(0.0, 1.0) < 0.3;
        Case { seed, sort, over_provisioning, fills, jobs, per_io }
    }

    fn capacity_bytes(&self) -> u64 {
        if self.sort == Sort::FioSays { CAPACITY_FIO_SAYS_BYTES } else { CAPACITY_BYTES }
    }

    fn model(&self) -> String {
        format!(
            "enterprise-28op?seed={}&capacity={}&state=fresh&layout.over_provisioning={:.3}\
             &memory.write_bytes=1048576&nand.channels=1&nand.dies_per_channel=1&nand.pages_per_block=8",
            self.seed,
            self.capacity_bytes(),
            self.over_provisioning
        )
    }

    fn fio(&self, file: &Path, dir: &Path) -> Command {
        let mut fio = Command::new("fio");
        let prefix = dir.join("x");
        let mut add = |argument: String| {
            fio.arg(argument);
        };
        for fixed in [
            "--name=x",
            "--rw=randwrite",
            "--bs=4k",
            "--direct=1",
            "--ioengine=io_uring",
            "--iodepth=8",
        ] {
            add(fixed.to_owned());
        }
        for fixed in ["--thread=1", "--group_reporting=1", "--output-format=json", "--randrepeat=0"]
        {
            add(fixed.to_owned());
        }
        add(format!("--numjobs={}", self.jobs));
        add(format!("--filename={}", file.display()));
        add(format!("--size={}", self.capacity_bytes()));
        add(format!("--output={}", dir.join("x.json").display()));
        add(format!("--write_bw_log={}", prefix.display()));
        add(format!("--write_iops_log={}", prefix.display()));
        if !self.per_io {
            add("--log_avg_msec=100".to_owned());
        }
        let share = self.fills / self.jobs as f64;
        let bytes = (share * CAPACITY_BYTES as f64) as u64 / 4096 * 4096;
        match self.sort {
            Sort::Replayed => {
                add("--norandommap=0".to_owned());
                add("--randrepeat=1".to_owned());
                // Each job goes over the whole range, once a loop.
                add(format!("--loops={}", (share.ceil() as u64).max(2)));
            }
            Sort::FioSays => {
                add("--norandommap=1".to_owned());
                add("--time_based=1".to_owned());
                add("--runtime=60".to_owned());
                add("--ss=iops:50%".to_owned());
                add("--ss_dur=2".to_owned());
            }
            _ => {
                add("--norandommap=1".to_owned());
                add(format!("--io_size={bytes}"));
            }
        }
        fio
    }
}

/// Bytes of a drive: few enough that ten fills take seconds.
const CAPACITY_BYTES: u64 = 32 << 20;
/// Size for `Sort::FioSays`, large enough for fio's two seconds of samples within the plateau.
const CAPACITY_FIO_SAYS_BYTES: u64 = 160 << 20;

/// Numbers of [0, 1), from `seed`: SplitMix64.
fn sim_stream(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Judges all cases and writes the table; false when one came out wrong.
///
/// # Errors
/// When a program is missing or fails, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let binary = Binary::find()?;
    let out = sheet::table_dir(options.out.as_deref(), options.cases < CASES)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let testers = vec![("Load average at the start", load), ("Beside", fio::version()?)];
    let stop = stop::stop_flag()?;
    let mut outcomes = Vec::new();
    for nth in 0..options.cases {
        if stop.load(Ordering::Relaxed) {
            bail!("stopped");
        }
        let case = Case::draw(options.first_seed.wrapping_add(nth), nth);
        eprintln!("judge: case {} of {}, {}", nth + 1, options.cases, case.sort.words());
        outcomes.push(tried(case, &binary)?);
    }
    let path = out.join("judge.csv");
    fs::write(&path, csv(&outcomes))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let head = sheet::provenance(&commit, &Machine::here(), "judge.csv", &testers);
    sheet::write(&out.join("judge.md"), &table(&head, &outcomes))?;
    Ok(outcomes.iter().all(|outcome| outcome.is_right))
}

fn tried(case: Case, binary: &Binary) -> Result<Outcome> {
    let dir = sheet::work_dir()?.join("judge");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
    let server = Server::start(binary, &case.model())?;
    let output = case
        .fio(server.file(), &dir)
        .stdin(Stdio::null())
        .output()
        .context("fio cannot be started")?;
    let served = server.stop()?;
    if !output.status.success() {
        bail!(
            "fio ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let mut judge = binary.command();
    judge.arg("judge").arg(dir.join("x.json")).args(["--json", "--purged"]);
    if case.sort != Sort::Untold {
        judge.arg(format!("--capacity={}B", case.capacity_bytes()));
    }
    let output = judge.stdin(Stdio::null()).output().context("drivescope cannot be started")?;
    let said = || String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let document: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("drivescope judge printed no JSON: {}", said()))?;
    let steady = document
        .pointer("/body/results/0/steady")
        .with_context(|| format!("drivescope judge has no result: {}", said()))?;
    let verdict = serde_json::from_value(steady["verdict"].clone())?;
    let reason = steady["reason"].as_str().unwrap_or_default().to_owned();
    let written = served["write_bytes"].as_u64().unwrap_or(0);
    let written_fills = written as f64 / case.capacity_bytes() as f64;
    // fio's rule ends a job when it likes; the case is one only when that was on the plateau.
    let is_on_plateau = written_fills < 1.0 + case.over_provisioning;
    let is_right = case.sort.may_say(verdict) || (case.sort == Sort::FioSays && !is_on_plateau);
    Ok(Outcome { case, verdict, reason, written_fills, is_right })
}

fn csv(outcomes: &[Outcome]) -> String {
    let mut text =
        "seed,sort,over_provisioning,jobs,log,written_fills,verdict,right,reason\n".to_owned();
    for outcome in outcomes {
        let case = &outcome.case;
        let log = if case.per_io { "an I/O a line" } else { "windows" };
        let _ = writeln!(
            text,
            "{},{},{:.3},{},{log},{:.3},{},{},\"{}\"",
            case.seed,
            case.sort.words(),
            case.over_provisioning,
            case.jobs,
            outcome.written_fills,
            outcome.verdict.map_or("", Verdict::as_str),
            outcome.is_right,
            outcome.reason.replace('"', "'")
        );
    }
    text
}

fn table(head: &str, outcomes: &[Outcome]) -> String {
    let wrong = outcomes.iter().filter(|outcome| !outcome.is_right).count();
    let unsteady = |outcome: &&Outcome| {
        !matches!(outcome.case.sort, Sort::Settled | Sort::Untold)
            && (outcome.case.sort != Sort::FioSays
                || outcome.written_fills < 1.0 + outcome.case.over_provisioning)
    };
    let none_steady = outcomes.iter().filter(unsteady).count();
    let called = outcomes
        .iter()
        .filter(unsteady)
        .filter(|outcome| outcome.verdict == Some(Verdict::Proven))
        .count();
    let bound =
        proportion_interval(called, none_steady, 0.95).map_or(1.0, |interval| interval.high);
    let rows: Vec<Vec<String>> = Sort::ALL.iter().map(|sort| row(*sort, outcomes)).collect();
    let columns =
        ["what fio did", "cases", "fills written", "steady", "not steady", "unprovable", "right"];
    format!(
        "# Results of others\n\n{} of {} cases are right; of {none_steady} that were not steady {called} were called so (below \
         {:.1}%, 95%).\n\n{head}fio writes 4 KiB at random to virtual drives of 32 MiB (160 MiB where its own rule has to have its samples), purged, over-provisioning drawn \
         from 20 to 80%, which `drivescope sim serve` serves as files; `drivescope judge --purged --capacity` gets its \
         JSON and its logs: of one thread or three, windows of 100 ms or a line an I/O. A drive has free space for 1 + \
         over-provisioning fills.\n\n{}",
        outcomes.len() - wrong,
        outcomes.len(),
        100.0 * bound,
        sheet::table(1, &columns, &rows)
    )
}

fn row(sort: Sort, outcomes: &[Outcome]) -> Vec<String> {
    let own: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.case.sort == sort).collect();
    let said = |verdict| own.iter().filter(|outcome| outcome.verdict == Some(verdict)).count();
    let fills = || own.iter().map(|outcome| outcome.written_fills);
    let (least, most) = (fills().fold(f64::INFINITY, f64::min), fills().fold(0.0, f64::max));
    vec![
        sort.words().to_owned(),
        own.len().to_string(),
        if own.is_empty() { "–".to_owned() } else { format!("{least:.2} to {most:.2}") },
        said(Verdict::Proven).to_string(),
        said(Verdict::Refuted).to_string(),
        said(Verdict::Unprovable).to_string(),
        own.iter().filter(|outcome| outcome.is_right).count().to_string(),
    ]
}

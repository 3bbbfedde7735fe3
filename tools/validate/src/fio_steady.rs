//! `fio-steady`: fio's own detection of steady state, run on a load that falls to nothing; beside it the replicas of its
//! versions, and our rule, on the samples that fio kept.
//!
//! Nothing is stored: the engine is `null`. Jobs of 100 IOPS end one after the other, so that the group falls in steps that
//! are too small to see in a window of minutes.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde_json::Value;
use stats::steady::fio::{Check, Criterion, Limit, Replica, Settings, Version};
use stats::steady::{Detector, Prior, Span, Start, Verdict};

use crate::binary::number;
use crate::provenance::{self, Machine};
use crate::{fio, sheet};

/// Jobs; each is a step.
const JOBS: u32 = 40;
/// IOPS of a job.
const JOB_IOPS: u32 = 100;
/// How long a step lasts in the table that is promised.
const STEP_S: u32 = 50;
/// Bytes of an I/O.
const BLOCK_BYTES: u64 = 4096;
/// Windows, as shares of the whole time: `ss_dur` of 1,800 and of 1,000 seconds.
const WINDOWS: [f64; 2] = [0.9, 0.5];
/// The limit that fio is given, in percent of the mean a sample.
const LIMIT_PERCENT: f64 = 0.01;

/// Options of `fio-steady`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Seconds of a step, of which there are 40
    #[arg(long, default_value_t = STEP_S, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    step: u32,
    /// Output directory of the table [default: docs/validation; target/validate for trials with shorter steps]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Figures that fio printed at the end of a job, and the samples that it kept.
struct Said {
    window_s: u32,
    attained: bool,
    slope_per_sample: f64,
    mean: f64,
    samples: Vec<u64>,
}

/// Runs fio with each window, all at once, and writes the table; false when a replica disagrees with the program, or our
/// rule calls one of the loads steady.
///
/// # Errors
/// When fio is missing or fails, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let out = sheet::table_dir(options.out.as_deref(), options.step < STEP_S)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let version = fio::version()?;
    let dir = sheet::work_dir()?.join("fio-steady");
    fs::create_dir_all(&dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
    let whole_s = JOBS * options.step;
    eprintln!("fio-steady: {} runs at once, {whole_s} s", WINDOWS.len());
    let mut under_way = Vec::new();
    for share in WINDOWS {
        let window_s = (share * f64::from(whole_s)) as u32;
        let file = dir.join(format!("{window_s}.json"));
        under_way.push((window_s, started(window_s, options.step, &file)?, file));
    }
    let mut all = Vec::new();
    for (window_s, child, file) in under_way {
        all.push(ended(window_s, child, &file)?);
    }
    let path = out.join("fio-steady.csv");
    fs::write(&path, csv(&all))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let testers = vec![("Load average at the start", load), ("Beside", version.clone())];
    let head = sheet::provenance(&commit, &Machine::here(), "fio-steady.csv", &testers);
    let rows: Vec<Row> = all.iter().map(|said| Row::of(said, &version)).collect::<Result<_>>()?;
    sheet::write(&out.join("fio-steady.md"), &table(&head, options.step, &rows))?;
    Ok(rows.iter().all(|row| row.agrees && row.ours.is_empty()))
}

fn started(window_s: u32, step_s: u32, output: &Path) -> Result<Child> {
    let mut fio = Command::new("fio");
    fio.args(["--ioengine=null", "--size=1t", "--bs=4k", "--rw=randwrite", "--norandommap=1"]);
    fio.args(["--time_based=1", "--thread=1", "--group_reporting=1", "--output-format=json"]);
    fio.arg(format!("--rate_iops={JOB_IOPS}"))
        .arg(format!("--ss=iops_slope:{LIMIT_PERCENT}%"))
        .arg(format!("--ss_dur={window_s}"))
        .arg(format!("--output={}", output.display()));
    for job in 1..=JOBS {
        fio.arg(format!("--name=j{job}")).arg(format!("--runtime={}", job * step_s));
    }
    fio.stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("fio cannot be started")
}

fn ended(window_s: u32, child: Child, file: &Path) -> Result<Said> {
    let output = child.wait_with_output().context("fio cannot be waited for")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("fio ended with {}: {}", output.status, said.trim());
    }
    let text =
        fs::read_to_string(file).with_context(|| format!("{}: cannot be read", file.display()))?;
    let value: Value = serde_json::from_str(&text).context("fio's JSON cannot be read")?;
    let steady = value.pointer("/jobs/0/steadystate").context("fio tells no steady state")?;
    let samples = steady.pointer("/data/iops").and_then(Value::as_array).context("no samples")?;
    Ok(Said {
        window_s,
        attained: number(steady, "/attained")? != 0.0,
        slope_per_sample: number(steady, "/slope")?,
        mean: number(steady, "/data/iops_mean")?,
        samples: samples.iter().filter_map(Value::as_u64).collect(),
    })
}

/// A line of the table.
struct Row {
    window_s: u32,
    mean: f64,
    slope_per_sample: f64,
    attained: bool,
    /// By version, what the replica computes of the samples that fio kept.
    replicas: [Check; 2],
    /// The replica of the program that ran says the same.
    agrees: bool,
    /// Drives on which our rule calls the load steady.
    ours: Vec<String>,
}

impl Row {
    fn of(said: &Said, version: &str) -> Result<Row> {
        let replica = |version| {
            let limit = Limit::Percent(LIMIT_PERCENT);
            let settings = Settings::new(version, Criterion::IopsSlope, limit, said.window_s);
            let mut replica = Replica::new(settings)?;
            said.samples.iter().filter_map(|&iops| replica.push(iops)).last()
        };
        let of = |version| replica(version).context("fio kept fewer samples than its window has");
        let replicas = [of(Version::V3_33)?, of(Version::V3_42)?];
        let slope = |check: &Check| check.slope_per_sample.unwrap_or(f64::NAN);
        // fio prints six places.
        let is_same = |check: &Check| {
            (slope(check) - said.slope_per_sample).abs() < 1e-5 && check.attained == said.attained
        };
        Ok(Row {
            window_s: said.window_s,
            mean: said.mean,
            slope_per_sample: said.slope_per_sample,
            attained: said.attained,
            agrees: match version {
                "fio-3.33" => is_same(&replicas[0]),
                "fio-3.42" => is_same(&replicas[1]),
                // Other versions may compute like either of the two.
                _ => replicas.iter().any(is_same),
            },
            replicas,
            ours: called_steady(&said.samples),
        })
    }
}

/// Drives of an eighth of what was written to all of it, from a purge, a fill and the unknown, on which our rule calls the
/// load steady at any time.
fn called_steady(samples: &[u64]) -> Vec<String> {
    let bytes = |iops: u64| iops * BLOCK_BYTES;
    let all: u64 = samples.iter().map(|&iops| bytes(iops)).sum();
    let mut called = Vec::new();
    for parts in [1, 2, 4, 8] {
        for start in [Start::Purged, Start::SequentialFill, Start::Unknown] {
            let Some(mut detector) = Detector::new(Prior::new((all / parts).max(1), start)) else {
                continue;
            };
            for &iops in samples {
                detector.push(&Span {
                    bytes_written: bytes(iops),
                    duration_ns: 1_000_000_000,
                    value: iops as f64,
                    amplification: None,
                    disturbed: false,
                    idle_ns: 0,
                });
                if detector.judgement().verdict == Verdict::Yes {
                    called.push(format!("1/{parts} of it, {start:?}"));
                    break;
                }
            }
        }
    }
    called
}

fn csv(all: &[Said]) -> String {
    let mut text = "window_s,sample,iops\n".to_owned();
    for said in all {
        for (at, iops) in said.samples.iter().enumerate() {
            let _ = writeln!(text, "{},{at},{iops}", said.window_s);
        }
    }
    text
}

fn table(head: &str, step_s: u32, rows: &[Row]) -> String {
    let yes = |is: bool| if is { "steady" } else { "no" }.to_owned();
    let slope =
        |check: &Check| check.slope_per_sample.map_or("–".to_owned(), |s| format!("{s:.3}"));
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let [old, new] = &row.replicas;
            vec![
                row.window_s.to_string(),
                format!("{:.0}", row.mean),
                format!("{:.3}", row.slope_per_sample),
                yes(row.attained),
                slope(old),
                yes(old.attained),
                slope(new),
                yes(new.attained),
                if row.ours.is_empty() { "no".to_owned() } else { row.ours.join("; ") },
            ]
        })
        .collect();
    let columns = [
        "window, s",
        "mean, IOPS",
        "fio: slope a sample",
        "fio",
        "replica of 3.33: slope",
        "replica of 3.33",
        "replica of 3.42: slope",
        "replica of 3.42",
        "ours",
    ];
    format!(
        "# fio's rule of steady state, run\n\n{head}{JOBS} jobs of {JOB_IOPS} IOPS on the null engine, of which one ends \
         every {step_s} s: the group falls in a straight line from {} IOPS to nothing, by {:.1} IOPS a second, and nothing of it \
         is steady. `ss=iops_slope:{LIMIT_PERCENT}%`, `ss_dur` as told. The replicas and our rule get the samples that fio kept \
         for its last window; ours with drives of an eighth of what was written up to all of it, after a purge, a fill, and \
         after nobody knows what.\n\n{}",
        JOBS * JOB_IOPS,
        f64::from(JOB_IOPS) / f64::from(step_s),
        sheet::table(1, &columns, &cells)
    )
}

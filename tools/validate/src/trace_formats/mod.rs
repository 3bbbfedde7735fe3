//! `trace-formats`: what reading traces costs. Rows a second of each CSV format, beside two of the fastest readers of
//! CSV there are, on the same files; and memory, which must not grow with the file.
//!
//! The files are made here, in the forms of the published traces. Polars and DuckDB are installed into a virtual
//! environment of Python's for the occasion, and passed over where that cannot be done. They parse and keep columns
//! and no more; `trace import` also settles units and polarity, numbers address spaces, and puts rows in order.

mod made;
mod peers;
mod table;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::binary::Binary;
use crate::memory;
use crate::provenance::{self, Machine};
use crate::sheet;
use made::Form;
use peers::Peers;

/// Rows of the largest file.
const ROWS: u64 = 50_000_000;
/// Rows of the files on which rates are taken.
const RATE_ROWS: u64 = 5_000_000;
/// Rounds of rates.
const ROUNDS: u32 = 6;
/// Rows of the large file for each row of the small one.
const SMALLER: u64 = 10;

/// Options of `trace-formats`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Rows of the largest file; it takes some 50 bytes each on the disk
    #[arg(long, default_value_t = ROWS, value_parser = clap::value_parser!(u64).range(1000..=1_000_000_000))]
    rows: u64,
    /// Rows of the files on which rates are taken
    #[arg(long, default_value_t = RATE_ROWS, value_parser = clap::value_parser!(u64).range(1000..=100_000_000))]
    rate_rows: u64,
    /// Rounds of rates
    #[arg(long, default_value_t = ROUNDS, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Output directory of the table [default: docs/validation; target/validate for trials with fewer rows or rounds]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Rates of one format, one a round, in rows a second.
#[derive(Debug, Default)]
struct Rates {
    form: &'static str,
    bytes: u64,
    ours: Vec<f64>,
    written: Vec<f64>,
    polars: Vec<f64>,
    duckdb: Vec<f64>,
}

/// Peak memory of one verb on the small and the large file of a format.
#[derive(Debug)]
struct Peaks {
    form: &'static str,
    verb: &'static str,
    small: Peak,
    large: Peak,
}

/// Measures, and writes the table; false when memory grows with the file.
///
/// # Errors
/// When a file cannot be made, or drivescope fails on it.
pub fn run(options: &Options) -> Result<bool> {
    let binary = Binary::find()?;
    let trial = options.rows < ROWS || options.rate_rows < RATE_ROWS || options.rounds < ROUNDS;
    let out = sheet::table_dir(options.out.as_deref(), trial)?;
    let (commit, load) = (provenance::commit()?, provenance::load());
    let dir = Scratch::new(sheet::work_dir()?.join("trace-formats"))?;
    let peers = Peers::install(&dir.0);
    let mut raw = "what,format,rows,round,reader,value\n".to_owned();
    let mut rates = Vec::new();
    for form in Form::ALL {
        let found = rate(&binary, form, options, &dir.0, &peers, &mut raw)?;
        eprintln!("{}: {:.2} million rows a second", form.word(), middle(&found.ours) / 1e6);
        rates.push(found);
    }
    let mut peaks = Vec::new();
    for form in [Form::Msr, Form::Alibaba] {
        peaks.extend(peak(&binary, form, options, &dir.0, &mut raw)?);
    }
    let path = out.join("trace-formats.csv");
    fs::write(&path, raw).with_context(|| format!("{}: cannot be written", path.display()))?;
    let more = [("Load average at the start", load), ("Beside", peers.versions.clone())];
    let head = sheet::provenance(&commit, &Machine::here(), "trace-formats.csv", &more);
    sheet::write(&out.join("trace-formats.md"), &table::text(&head, options, &rates, &peaks))?;
    Ok(peaks.iter().all(Peaks::is_constant))
}

impl Peaks {
    /// Ten times the rows, and memory is the same but for noise: a tenth, or what an allocator keeps.
    fn is_constant(&self) -> bool {
        let (small, large) = (self.small.bytes as f64, self.large.bytes as f64);
        large <= small * 1.1 || large - small <= f64::from(8 << 20)
    }
}

/// A directory that goes with what is in it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(path: PathBuf) -> Result<Scratch> {
        // Leftovers of a run that was killed.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).with_context(|| format!("{}: cannot be made", path.display()))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Rates of one format, readers in turns.
fn rate(
    binary: &Binary,
    form: Form,
    options: &Options,
    dir: &Path,
    peers: &Peers,
    raw: &mut String,
) -> Result<Rates> {
    let rows = options.rate_rows;
    let path = dir.join(form.file_name());
    let bytes = made::make(form, rows, &path)?;
    let mut rates = Rates { form: form.word(), bytes, ..Rates::default() };
    for round in 0..options.rounds {
        let mut note = |reader: &str, seconds: f64, to: &mut Vec<f64>| {
            let rate = rows as f64 / seconds;
            let _ = writeln!(raw, "rows_per_s,{},{rows},{round},{reader},{rate:.0}", form.word());
            to.push(rate);
        };
        note("drivescope", timed(binary, form, &path, None, rows)?, &mut rates.ours);
        let container = dir.join("out.parquet");
        note(
            "drivescope -o",
            timed(binary, form, &path, Some(&container), rows)?,
            &mut rates.written,
        );
        if let Some(seconds) = peers.polars(&path, form.has_head(), rows)? {
            note("polars", seconds, &mut rates.polars);
        }
        if let Some(seconds) = peers.duckdb(&path, form.has_head(), rows)? {
            note("duckdb", seconds, &mut rates.duckdb);
        }
    }
    fs::remove_file(&path)?;
    Ok(rates)
}

/// Seconds of `trace import`, from its start to its end; that it found all rows is looked at.
fn timed(binary: &Binary, form: Form, path: &Path, to: Option<&Path>, rows: u64) -> Result<f64> {
    let begun = Instant::now();
    let output = import(binary, form, path, to)
        .stdin(Stdio::null())
        .output()
        .context("cannot start drivescope")?;
    let seconds = begun.elapsed().as_secs_f64();
    found(&output.stdout, &output.stderr, rows, "requests")
        .with_context(|| form.word().to_owned())?;
    Ok(seconds)
}

fn import(binary: &Binary, form: Form, path: &Path, to: Option<&Path>) -> Command {
    let mut command = binary.command();
    command
        .args(["trace", "import", "--json", "--format", form.word()])
        .args(form.flags())
        .arg(path);
    if let Some(to) = to {
        command.arg("--force").arg("-o").arg(to);
    }
    command
}

/// Checks that drivescope reported `rows` I/Os.
fn found(stdout: &[u8], stderr: &[u8], rows: u64, name: &str) -> Result<()> {
    let document: serde_json::Value = serde_json::from_slice(stdout)
        .with_context(|| String::from_utf8_lossy(stderr).trim().to_owned())?;
    match document["body"][name].as_u64() {
        Some(found) if found == rows => Ok(()),
        found => {
            bail!("{found:?} of {rows} rows were found: {}", String::from_utf8_lossy(stderr).trim())
        }
    }
}

/// Peak memory of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Peak {
    bytes: u64,
}

/// Runs a verb of drivescope on a trace of `rows`, which it has to find all.
fn of(command: Command, rows: u64) -> Result<Peak> {
    let ran = memory::run(command)?;
    found(&ran.stdout, b"", rows, "requests")?;
    Ok(Peak { bytes: ran.peak_bytes })
}

/// Peak memory of `trace import -o` on the text, and of `trace analyze` on what it wrote.
fn peak(
    binary: &Binary,
    form: Form,
    options: &Options,
    dir: &Path,
    raw: &mut String,
) -> Result<[Peaks; 2]> {
    let mut import_peaks = Vec::new();
    let mut analyze_peaks = Vec::new();
    for rows in [options.rows / SMALLER, options.rows] {
        let (path, container) = (dir.join(form.file_name()), dir.join("out.parquet"));
        made::make(form, rows, &path)?;
        let peak = of(import(binary, form, &path, Some(&container)), rows)?;
        let _ = writeln!(raw, "peak_bytes,{},{rows},0,import -o,{}", form.word(), peak.bytes);
        eprintln!("{}: {rows} rows imported with {} MiB", form.word(), peak.bytes >> 20);
        import_peaks.push(peak);
        fs::remove_file(&path)?;
        let mut analyze = binary.command();
        analyze.args(["trace", "analyze", "--json"]).arg(&container);
        let peak = of(analyze, rows)?;
        let _ = writeln!(raw, "peak_bytes,{},{rows},0,analyze,{}", form.word(), peak.bytes);
        eprintln!("{}: {rows} rows analysed with {} MiB", form.word(), peak.bytes >> 20);
        analyze_peaks.push(peak);
        fs::remove_file(&container)?;
    }
    let pair = |verb, peaks: Vec<Peak>| -> Result<Peaks> {
        let sizes = <[Peak; 2]>::try_from(peaks);
        let [small, large] = sizes.map_err(|_| anyhow::anyhow!("two sizes were measured"))?;
        Ok(Peaks { form: form.word(), verb, small, large })
    };
    Ok([pair("trace import -o", import_peaks)?, pair("trace analyze", analyze_peaks)?])
}

/// The median; 0 of none.
fn middle(values: &[f64]) -> f64 {
    stats::median(values).unwrap_or(0.0)
}

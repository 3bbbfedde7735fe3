//! `btt`: what `trace analyze --btt` prints beside Debian's btt, on real recordings of the kernel's.
//!
//! Each recording is made by the kernel's own tracer and read by both; every field of the summary is compared, and
//! every difference has to be one of btt's known faults. What btt has of a recording with bios that it loses is
//! compared with our analysis of the others.

mod case;
mod compare;
mod recorder;
mod seen;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use trace::Io;
use trace::analyze::body::Body;
use trace::analyze::{self, Analysis, Lens};

use crate::binary::Binary;
use crate::provenance::{self, Machine};
use crate::{fio, sheet, stop};

use case::{CASES, Case};
use compare::{Difference, Fault, Known};
use recorder::BlkTracer;
use seen::Seen;

/// Seconds of each load that the table promises at least.
const SECONDS_MIN: u32 = 2;

/// Options of `btt`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Seconds of each load
    #[arg(long, default_value_t = SECONDS_MIN, value_parser = clap::value_parser!(u32).range(1..=600))]
    seconds: u32,
    /// Only recordings whose name begins so
    #[arg(long)]
    only: Option<String>,
    /// Keep recordings and both summaries under target/validate
    #[arg(long)]
    keep: bool,
    /// Output directory of the table [default: docs/validation; target/validate for trials]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Comparison of one recording.
#[derive(Debug)]
struct Compared {
    case: Case,
    events: u64,
    requests: u64,
    split: u64,
    replaced: u64,
    fields: usize,
    different: Vec<Difference>,
}

impl Compared {
    fn unexplained(&self) -> usize {
        self.different.iter().filter(|difference| difference.fault.is_none()).count()
    }
}

/// Records, compares, and writes the table; false when a difference is not explained.
///
/// # Errors
/// When a program is missing or fails, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let binary = Binary::find()?;
    let trial = options.seconds < SECONDS_MIN || options.only.is_some();
    let out = sheet::table_dir(options.out.as_deref(), trial)?;
    let (commit, work) = (provenance::commit()?, fs::canonicalize(sheet::work_dir()?)?);
    let testers = vec![("Beside", format!("{}, {}", version("btt")?, fio::version()?))];
    let stop = stop::stop_flag()?;
    let chosen = |case: &&Case| {
        options.only.as_ref().is_none_or(|only| case.name.starts_with(only.as_str()))
    };
    let mut all = Vec::new();
    for case in CASES.iter().filter(chosen) {
        eprintln!("{}: {}", case.name, case.what);
        all.push(measure(case, options, &binary, &work).with_context(|| case.name)?);
        ensure!(!stop.load(Ordering::Relaxed), "stopped");
    }
    let path = out.join("btt.csv");
    fs::write(&path, csv(&all))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let head = sheet::provenance(&commit, &Machine::here(), "btt.csv", &testers);
    sheet::write(&out.join("btt.md"), &text(&head, &all))?;
    Ok(all.iter().all(|compared| compared.unexplained() == 0))
}

fn version(program: &str) -> Result<String> {
    let output = Command::new(program).arg("-V").output();
    let output = output.with_context(|| format!("{program} is missing: install blktrace"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    Ok(said.lines().next().unwrap_or_default().trim().to_owned())
}

fn measure(case: &Case, options: &Options, binary: &Binary, work: &Path) -> Result<Compared> {
    let dir = work.join(format!("btt-{}", case.name));
    fs::create_dir_all(&dir)?;
    let events = {
        let devices = case::devices(case, work)?;
        let names: Vec<String> = devices.iter().map(case::Device::name).collect();
        let tracer = BlkTracer::start(&names)?;
        case::load(case, &devices, work, options.seconds)?;
        tracer.finish(&dir.join("recording"))?
    };
    let compared = compare_recording(case, events, binary, &dir)?;
    if !options.keep {
        fs::remove_dir_all(&dir)?;
    }
    Ok(compared)
}

/// Both summaries of the recording in `dir`.
fn compare_recording(case: &Case, events: u64, binary: &Binary, dir: &Path) -> Result<Compared> {
    let at = |name: &str| dir.join(name).to_string_lossy().into_owned();
    // In the directory: btt leaves files for plots wherever it is started.
    let in_dir = |program: &str, arguments: &[&str]| -> Result<String> {
        let output = Command::new(program).args(arguments).current_dir(dir).output();
        let output = output.with_context(|| format!("{program} is missing: install blktrace"))?;
        ensure!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    in_dir("blkparse", &["-i", "recording", "-d", "recording.bin", "-o", "recording.txt"])?;
    let theirs = in_dir("btt", &["-i", "recording.bin"])?;
    let mut command = binary.command();
    let output =
        command.args(["trace", "analyze", &at("recording.blktrace.0"), "--btt"]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let ours = String::from_utf8_lossy(&output.stdout).into_owned();
    fs::write(at("btt.txt"), &theirs)?;
    fs::write(at("ours.txt"), &ours)?;
    let (ios, info) = read(&dir.join("recording.blktrace.0"))?;
    let seen = seen::seen(&ios);
    let followed = of(&seen, &info);
    let known = Known { split: seen.split, replaced: seen.replaced, followed: Some(&followed) };
    let (fields, different) =
        compare::compare(&compare::read(&ours), &compare::read(&theirs), &known);
    Ok(Compared {
        case: *case,
        events,
        requests: ios.len() as u64,
        split: seen.split,
        replaced: seen.replaced,
        fields,
        different,
    })
}

fn read(file: &Path) -> Result<(Vec<Io>, trace::TraceInfo)> {
    let mut source = trace::import::open(&[file.to_owned()], &trace::import::Options::default())?;
    let mut all = Vec::new();
    trace::each_batch(&mut *source, |batch, _| {
        all.extend_from_slice(batch);
        Ok(())
    })?;
    Ok((all, source.info().clone()))
}

/// The analysis of what btt follows to the end.
fn of(seen: &Seen, info: &trace::TraceInfo) -> Body {
    let options = analyze::Options { only: vec![Lens::Phases], ..analyze::Options::default() };
    let mut analysis = Analysis::new(&options);
    analysis.see(&seen.followed);
    analysis.finish(info)
}

fn csv(all: &[Compared]) -> String {
    let mut text = "recording,place,ours,btt,fault\n".to_owned();
    for compared in all {
        for Difference { place, ours, theirs, fault } in &compared.different {
            let fault = fault.map_or("", Fault::name);
            let _ = writeln!(text, "{},\"{place}\",{ours},{theirs},{fault}", compared.case.name);
        }
    }
    text
}

fn text(head: &str, all: &[Compared]) -> String {
    let mut text = format!(
        "# Analysis beside btt\n\n\
         Every field of btt's summary, on recordings made by the kernel's own tracer. Fields are equal when they are \
         the same to the last digit, or decimal fractions that differ by one in it.\n\n{head}"
    );
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    let columns = [
        "recording",
        "scheduler",
        "what",
        "differences, by fault of btt's",
        "events",
        "I/Os",
        "split",
        "same sector",
        "fields",
        "equal",
        "unexplained",
    ];
    text.push_str(&sheet::table(4, &columns, &rows));
    text
}

fn row(compared: &Compared) -> Vec<String> {
    let mut faults: BTreeMap<Fault, usize> = BTreeMap::new();
    for fault in compared.different.iter().filter_map(|difference| difference.fault) {
        *faults.entry(fault).or_insert(0) += 1;
    }
    let faults = faults.iter().map(|(fault, n)| format!("{} {n}", fault.name()));
    let mut row = vec![
        compared.case.name.to_owned(),
        compared.case.schedulers.join(", "),
        compared.case.what.to_owned(),
        faults.collect::<Vec<_>>().join(", "),
    ];
    let equal = compared.fields - compared.different.len();
    let numbers = [compared.events, compared.requests, compared.split, compared.replaced];
    row.extend(numbers.map(|n| n.to_string()));
    row.extend([compared.fields, equal, compared.unexplained()].map(|n| n.to_string()));
    row
}

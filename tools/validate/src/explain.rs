//! `explain`: what `drivescope explain` says of commands that people run, against what they do when they are run.
//!
//! fio logs the address of each I/O; dd and hdparm report how much they read, and a loop device counts the bytes that
//! reached it. The streams of diskspd for Linux are those of its source, made again here (`streams`), since the program
//! itself is dead.

mod case;
mod measure;
mod score;
mod streams;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result, bail};
use block::Bytes;
use clap::Args;

use crate::binary::Binary;
use crate::loop_device::LoopOnNewFile;
use crate::provenance::{self, Machine};
use crate::{fio, sheet, stop};
use case::Case;
use score::Scored;

/// Size of the device that replaces LOOP in the commands.
const LOOP: Bytes = Bytes::mib(64);

/// Options of `explain`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Only cases whose line or origin holds this text
    #[arg(long)]
    only: Option<String>,
    /// Output directory of the table [default: docs/validation; target/validate for trials of some cases]
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Runs all cases and writes the table; false when a prediction did not hold.
///
/// # Errors
/// When a program is missing or fails, or the table cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let binary = Binary::find()?;
    let out = sheet::table_dir(options.out.as_deref(), options.only.is_some())?;
    let commit = provenance::commit()?;
    let testers =
        vec![("Load average at the start", provenance::load()), ("Beside", fio::version()?)];
    let stop = stop::stop_flag()?;
    let dir = sheet::work_dir()?.join("explain");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).with_context(|| format!("{}: cannot be made", dir.display()))?;
    let dir = dir.canonicalize().context("the directory of trials has no path")?;
    let device = LoopOnNewFile::make(&dir, LOOP, &stop)?;
    let mut cases = case::all()?;
    if let Some(only) = &options.only {
        cases.retain(|case| case.shown().contains(only) || case.from.contains(only));
    }
    let mut scored = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            bail!("stopped");
        }
        eprintln!("explain: {} of {}, {}", index + 1, cases.len(), case.from);
        let one = tried(case, &binary, &dir, &device).with_context(|| case.from.clone())?;
        scored.push(one);
    }
    let path = out.join("explain.csv");
    fs::write(&path, csv(&scored))
        .with_context(|| format!("{}: cannot be written", path.display()))?;
    let head = sheet::provenance(&commit, &Machine::here(), "explain.csv", &testers);
    sheet::write(&out.join("explain.md"), &table(&head, &scored))?;
    Ok(scored.iter().all(Scored::is_right))
}

fn tried(
    case: &Case,
    binary: &Binary,
    dir: &std::path::Path,
    device: &LoopOnNewFile,
) -> Result<Scored> {
    let place = case::Place { dir, device: device.device.path() };
    let told = case.explained(binary, &place, LOOP)?;
    let done = measure::measured(case, &place, &device.device, &told)?;
    Ok(score::scored(case, &told, &done))
}

fn csv(scored: &[Scored]) -> String {
    let mut text =
        "from,command,set,job,what,at_least,expected,at_most,measured,right\n".to_owned();
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "'").replace('\n', " "));
    for one in scored {
        for line in &one.lines {
            let _ = writeln!(
                text,
                "{},{},{},{},{},{},{},{},{},{}",
                quoted(&one.from),
                quoted(&one.command),
                quoted(&one.set),
                quoted(&line.job),
                line.what,
                line.min,
                line.expected.map_or(String::new(), |value| value.to_string()),
                line.max.map_or(String::new(), |value| value.to_string()),
                line.measured,
                line.is_right
            );
        }
    }
    text
}

fn table(head: &str, scored: &[Scored]) -> String {
    let lines = || scored.iter().flat_map(|one| &one.lines);
    let exact = lines().filter(|line| line.is_exact()).count();
    let wrong = lines().filter(|line| !line.is_right).count();
    let rows: Vec<Vec<String>> = scored.iter().map(row).collect();
    let columns = ["command", "from", "set", "predicted and measured", "right"];
    format!(
        "# What commands really do\n\n{} of {} commands did what was predicted: {} of {} predictions held, {exact} of them \
         exact to the byte.\n\n{head}Each command is explained and then run, both with the sizes and times under *set*, so that \
         it fits here. fio logs every address; dd and hdparm say how much they read, and a loop device counts what reached \
         it; the streams of diskspd for Linux are made again from its source. Where a number is not exact, its bounds are \
         told; where a job ends by time, how much it transfers is left open and not counted. FILE and LOOP stand for a file \
         and a loop device of 64 MiB.\n\n{}",
        scored.iter().filter(|one| one.is_right()).count(),
        scored.len(),
        lines().count() - wrong,
        lines().count(),
        sheet::table(4, &columns, &rows)
    )
}

fn row(one: &Scored) -> Vec<String> {
    let lines: Vec<String> = one.lines.iter().map(score::Line::words).collect();
    vec![
        format!("`{}`", one.command.replace(['\n', '|'], " ").trim()),
        one.from.clone(),
        one.set.clone(),
        lines.join("; "),
        format!("{} of {}", one.lines.iter().filter(|line| line.is_right).count(), one.lines.len()),
    ]
}

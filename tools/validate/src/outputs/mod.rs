//! `outputs`: what many command lines print and write, recorded over one binary of drivescope and compared with the
//! record of another, which shows that a change of the code changed no output.
//!
//! The command lines are in `tools/validate/outputs.txt`. They measure virtual drives with fixed seeds and read files
//! that lie with them, so that nothing depends on the machine but what [`masks`] takes away.

mod compare;
mod inputs;
mod list;
mod masks;
mod recorder;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};

use crate::binary::Binary;
use crate::sheet;

/// Command lines of the program, in groups.
const LIST: &str = include_str!("../../outputs.txt");

/// Options of `outputs`.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Without a verb: record twice with the binary built beside this one, and compare the two
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// The two halves of a comparison.
#[derive(Clone, Debug, Subcommand)]
enum Verb {
    /// Run each command line over a binary, and store what it printed and wrote
    Record(RecordOptions),
    /// Print each command line whose two records differ; exit code 1 when one does
    Compare(CompareOptions),
}

/// Options of `outputs record`.
#[derive(Args, Clone, Debug)]
struct RecordOptions {
    /// The drivescope to run
    #[arg(long, value_name = "PATH")]
    binary: PathBuf,
    /// Directory for the records; one that is there is replaced
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Command lines, in the place of tools/validate/outputs.txt
    #[arg(long, value_name = "FILE")]
    list: Option<PathBuf>,
    /// Only groups whose name contains this
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Groups that run at a time
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
    /// Print how long the slowest lines took
    #[arg(long)]
    times: bool,
}

/// Options of `outputs compare`.
#[derive(Args, Clone, Debug)]
struct CompareOptions {
    /// Records of before
    before: PathBuf,
    /// Records of after
    after: PathBuf,
    /// Most lines of a difference that are printed
    #[arg(long, value_name = "N", default_value_t = 24)]
    lines: usize,
}

/// Records, compares, or does both with one binary; false when outputs differ.
///
/// # Errors
/// When a command line cannot be run, or a record cannot be written or read.
pub fn run(options: &Options) -> Result<bool> {
    match &options.verb {
        Some(Verb::Record(options)) => record(options).map(|()| true),
        Some(Verb::Compare(options)) => compare(options),
        None => {
            let dir = sheet::work_dir()?;
            let [before, after] = ["outputs-1", "outputs-2"].map(|name| dir.join(name));
            for to in [&before, &after] {
                record(&RecordOptions {
                    binary: Binary::find()?.path().to_owned(),
                    to: to.clone(),
                    list: None,
                    group: None,
                    jobs: 2,
                    times: false,
                })?;
            }
            compare(&CompareOptions { before, after, lines: 24 })
        }
    }
}

fn record(options: &RecordOptions) -> Result<()> {
    let text = match &options.list {
        Some(path) => fs::read_to_string(path).with_context(|| format!("{}", path.display()))?,
        None => LIST.to_owned(),
    };
    let mut groups = list::parse(&text)?;
    if let Some(part) = &options.group {
        groups.retain(|group| group.name.contains(part));
    }
    let times = recorder::all(&groups, &options.binary, &options.to, options.jobs)?;
    eprintln!("{} command lines recorded in {}", times.len(), options.to.display());
    if options.times {
        let mut times = times;
        times.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
        times
            .iter()
            .take(20)
            .for_each(|(line, took)| eprintln!("{:7.2} s  {line}", took.as_secs_f64()));
    }
    Ok(())
}

fn compare(options: &CompareOptions) -> Result<bool> {
    let compared = compare::compare(&options.before, &options.after, options.lines)?;
    print!("{}", compared.text);
    println!("{} command lines, {} of them differ", compared.lines, compared.differ);
    Ok(compared.differ == 0)
}

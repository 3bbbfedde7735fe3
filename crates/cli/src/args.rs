//! Every flag, once: help, completions and the man page are made from these definitions.

mod compare;
mod diskspd;
mod explain;
mod files;
mod flashbench;
mod given;
mod groups;
mod health;
mod import;
mod judge;
mod keep;
mod load;
mod probe;
mod pts;
mod purge;
mod record;
mod report;
mod shell;
mod sim;
mod survey;
mod sweep;
mod targets;
mod trace;
mod trend;
mod typed;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use drives::TargetSpec;
use workload::units::parse_nanos;

pub use compare::CompareArgs;
pub use diskspd::{DiskspdArgs, diskspd_help};
pub use explain::ExplainArgs;
pub use files::{FilesArgs, ResultArgs};
pub use flashbench::{FlashbenchArgs, flashbench_help};
pub use given::{BesideResume, Given};
pub use health::{HealthArgs, Patient, RECORDING};
pub use import::{ImportArgs, ImportFlashbenchArgs, ImportVerb};
pub use judge::JudgeArgs;
pub use keep::{KeepArgs, PlaceArgs, RecordArgs};
pub use load::{ConsentArgs, HowArgs, LiveArgs, LoadArgs, OutputArgs, TargetArgs, WriteArgs};
pub use probe::{
    ChainArgs, PlainArgs, ProbeArgs, ProbePlaceArgs, ProbeVerb, RowsArgs, RowsVerb, ScatterArgs,
};
pub use pts::{NamedTests, PtsArgs, PtsConsentArgs};
pub use purge::{PurgeArgs, method as purge_method};
pub use record::{Repetitions, RerunArgs, RunsArgs, RunsForm, RunsVerb};
pub use report::{ReportArgs, ShowArgs};
pub use shell::{CompletionsArgs, ManArgs};
pub use sim::{ServeArgs, SimArgs, SimVerb};
pub use survey::SurveyArgs;
pub use sweep::{SweepArgs, SweepLoadArgs};
pub use trace::{
    ExportFormat, MapName, ModeName, PlayArgs, ReadingArgs, TraceAnalyzeArgs, TraceArgs,
    TraceCompareArgs, TraceExportArgs, TraceImportArgs, TraceRecordArgs, TraceReplayArgs,
    TraceVerb,
};
pub use trend::TrendArgs;
pub use typed::{takes, values_of};
pub use values::{Cpus, Span};
use values::{
    archive_file, cpus, hazard, lasting, named, page_file, picture, share, share_or_none, size,
    span, spare, table_file, trace_file,
};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Yellow.on_default().bold())
    .usage(AnsiColor::Yellow.on_default().bold())
    .literal(AnsiColor::Green.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

/// The whole command line.
pub fn command() -> Command {
    groups::grouped(Cli::command())
}

/// A command line, the program's name first, and the flags that were typed in it.
///
/// # Errors
/// The mistake in it, or the help that it asks for.
pub fn parse(words: Vec<OsString>) -> Result<(Cli, Given), clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(words)?;
    Ok((Cli::from_arg_matches(&matches)?, Given::of(&command, &matches)))
}

/// Measures what a storage device really does, and proves each number
#[derive(Debug, Parser)]
#[command(name = "drivescope", version, styles = STYLES, max_term_width = 80)]
#[command(after_help = "\
Examples:
  drivescope survey                    the disk under the current directory
  drivescope mark sim:hdd-7200         a virtual disk: no hardware, no root
  drivescope devices                   what can be measured here

Exit codes: 0 done; 1 done, and a number was withdrawn or the answer is no;
2 wrong use or environment; 3 refused for safety; 130 stopped by Ctrl-C.")]
pub struct Cli {
    /// Subcommand.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// One page of conclusions about a drive: a good start
    Survey(Box<SurveyArgs>),
    /// Quick benchmark: throughput, IOPS and latency, with proofs
    Mark(MarkArgs),
    /// Print the plan of `mark` as TOML
    Plan(PlanArgs),
    /// Run a plan from a file
    Run(RunArgs),
    /// Repeat a recorded run and compare the two
    Rerun(RerunArgs),
    /// Compare drives or runs: faster, slower, equivalent, undecided
    Compare(Box<CompareArgs>),
    /// Run one load under many settings to see which of them matter
    Sweep(Box<SweepArgs>),
    /// Show whether a drive has become slower over its recorded runs
    Trend(TrendArgs),
    /// Write recorded runs as an HTML page, pictures or tables
    Report(ReportArgs),
    /// Show a recorded run in the terminal, with its plots
    Show(ShowArgs),
    /// List, show, remove, export and import recorded runs
    Runs(RunsArgs),
    /// Find erase block, page size, open units, true capacity of flash
    Probe(Box<ProbeArgs>),
    /// Run enterprise tests (SNIA PTS) in steady state
    Pts(Box<PtsArgs>),
    /// Record, import, analyze, replay and compare application I/O
    Trace(Box<TraceArgs>),
    /// Compatibility mode for flashbench, with verdicts
    #[command(disable_help_flag = true)]
    Flashbench(FlashbenchArgs),
    /// Compatibility mode for diskspd, with verdicts
    #[command(disable_help_flag = true)]
    Diskspd(DiskspdArgs),
    /// Import results of fio, diskspd, CrystalDiskMark, flashbench
    Import(ImportArgs),
    /// Check results of fio, ezFIO, TKperf, diskspd for steady state
    Judge(JudgeArgs),
    /// Explain what a fio, diskspd, dd or hdparm command really does
    Explain(ExplainArgs),
    /// Merge survey rows of many drives into a table
    Rows(RowsArgs),
    /// List the drives of this machine and which of them are in use
    Devices(DevicesArgs),
    /// Report wear, errors and temperature (SMART)
    Health(HealthArgs),
    /// Erase a whole drive and verify that it is empty
    Purge(PurgeArgs),
    /// List, show or serve virtual drives
    Sim(SimArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
    /// Print a man page
    Man(ManArgs),
}

/// `mark`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope mark                          8 tests, 6 runs each, under 4 minutes
  drivescope mark --quick /mnt/usb         a shorter one, under 45 s
  drivescope mark --profile nvme --json    for scripts
  drivescope mark --tests SEQ1MQ8T1,RND4KQ1T1 --until 2% --budget 5m
  drivescope mark /dev/sdb --span 1GiB     a device: reads only
  drivescope mark sim:hdd-7200 --seed 7    a virtual disk, the same each time
  drivescope mark --resume last            go on after Ctrl-C, a crash, a reboot

A directory gets a test file, which is removed at the end. An existing file or
a device is only read, unless --write and --consent say otherwise.")]
pub struct MarkArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// Run this plan instead of what the flags under Load and Repetition say
    #[arg(long, value_name = "PLAN.toml", help_heading = "Load", conflicts_with_all = [
        "quick", "profile", "tests", "read_only", "write_only", "mix", "duration", "warm_up",
        "pause", "settle", "dsync", "cache_probe", "shared_cursor", "compressible", "dedup", "runs", "discard_first",
        "order", "until", "budget", "decide_within"])]
    pub plan: Option<PathBuf>,
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub record: RecordArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope plan --profile nvme > nvme.toml
  drivescope plan --tests RND4KQ1T1 --runs 1 --seed 7
  drivescope plan --span 1GiB > as-mark.toml
  drivescope run nvme.toml /mnt/usb

A plan holds for any target. Where it names no part (--span), run takes all of
a device; mark takes the first GiB by default.")]
pub struct PlanArgs {
    #[command(flatten)]
    pub load: LoadArgs,
    /// Part of the target to use: LENGTH, OFFSET+LENGTH or all
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub span: Option<Span>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `run`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope run nvme.toml /mnt/usb
  drivescope run plan.toml sim:hdd-7200 --samples io.csv
  drivescope run --resume last

A plan that writes runs on a directory (in a test file), on a virtual drive,
or on a device with --write and --consent.")]
pub struct RunArgs {
    /// The plan, as `drivescope plan` prints it; - for standard input
    #[arg(value_name = "PLAN.toml", required_unless_present = "resume")]
    pub plan: Option<PathBuf>,
    #[command(flatten)]
    pub target: TargetArgs,
    /// Root seed of all randomness, instead of the plan's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub record: RecordArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `devices`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope devices
  drivescope devices --json
  drivescope devices /dev/nvme0n1")]
pub struct DevicesArgs {
    /// Only these, as /dev/NAME or NAME
    pub devices: Vec<TargetSpec>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

//! How a trace is issued again: what `trace replay` and `trace compare` share.

use block::{Bytes, EngineChoice, Nanos};
use clap::{Args, ValueEnum};
use drives::TargetSpec;
use trace::replay::{Clock, Count, Layout};
use workload::units::{parse_bytes, parse_nanos};

use crate::args::values::{Choice, one_of};
use crate::args::{Cpus, KeepArgs, PlaceArgs, Span, cpus, hazard, lasting, named, span};

/// When requests are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
    /// At their own times, whatever is still outstanding
    Timed,
    /// As soon as no more is outstanding than there was in the original
    Outstanding,
    /// As fast as possible, at a fixed queue depth
    Afap,
    /// At their own times, stretched, with idle time capped or scaled by itself
    Scaled,
}

/// Units in which the outstanding is counted.
const COUNTS: [Choice<Count>; 2] =
    [("blocks", "Blocks of 512 bytes", Count::Blocks), ("ios", "I/Os", Count::Ios)];

/// Instants of an I/O by which it is replayed.
const CLOCKS: [Choice<Clock>; 2] = [
    ("queue", "Q: when it was handed to the block layer", Clock::Queue),
    ("issue", "D: when it was issued to the driver", Clock::Issue),
];

/// Mapping of addresses that are beyond the target's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MapName {
    /// Nowhere: a trace that does not fit is refused
    Fit,
    /// To the remainder: addresses wrap at the end of the target
    Wrap,
    /// Squeezed or stretched, a MiB at a time, to the target's size
    Scale,
    /// To a place drawn by --seed, a MiB at a time
    Hash,
}

/// Layouts of several address spaces on one target.
const LAYOUTS: [Choice<Layout>; 3] = [
    (
        "packed",
        "One behind the other, each from its first used address to its last",
        Layout::Packed,
    ),
    ("side-by-side", "One behind the other, each as large as it is", Layout::SideBySide),
    ("overlaid", "Over each other, all from the same beginning", Layout::Overlaid),
];

/// When requests are issued, and where they go.
#[derive(Clone, Debug, Args)]
pub struct PlayArgs {
    /// When requests are issued
    #[arg(long, value_enum, default_value_t = ModeName::Timed, help_heading = "Time")]
    pub mode: ModeName,
    /// outstanding: derive what was outstanding by a timed replay on this drive, for a trace without completions
    #[arg(long, value_name = "DRIVE", help_heading = "Time")]
    pub reference: Option<TargetSpec>,
    /// outstanding: what is counted
    #[arg(long, default_value = "blocks", help_heading = "Time", value_parser = one_of(&COUNTS))]
    pub count: Count,
    /// afap: most requests outstanding
    #[arg(long, value_name = "N", default_value_t = 32, help_heading = "Time",
          value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub depth: u16,
    /// scaled, and the replay on --reference: multiply times by this; 2 is half the rate
    #[arg(long, value_name = "X", default_value_t = 1.0, help_heading = "Time", value_parser = factor)]
    pub factor: f64,
    /// scaled: longest idle time (nothing outstanding) that is left
    #[arg(long, value_name = "TIME", help_heading = "Time", value_parser = parse_nanos)]
    pub idle_max: Option<Nanos>,
    /// scaled: multiply idle times alone
    #[arg(long, help_heading = "Time")]
    pub idle_only: bool,
    /// Timestamp to replay by
    #[arg(long, default_value = "queue", help_heading = "Time", value_parser = one_of(&CLOCKS))]
    pub times: Clock,
    /// Leave out what arrived before this, since the trace's beginning
    #[arg(long, value_name = "TIME", help_heading = "Time", value_parser = parse_nanos)]
    pub from: Option<Nanos>,
    /// Leave out what arrived from this on
    #[arg(long, value_name = "TIME", help_heading = "Time", value_parser = lasting)]
    pub until: Option<Nanos>,
    /// Replay it N times, one after the other
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Time",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub loops: u32,
    /// Mapping of addresses beyond the end of the target
    #[arg(long, value_enum, default_value_t = MapName::Fit, help_heading = "Addresses")]
    pub map: MapName,
    /// How several address spaces of the trace lie on the target
    #[arg(long, default_value = "packed", help_heading = "Addresses", value_parser = one_of(&LAYOUTS))]
    pub layout: Layout,
    /// Offset of an address space on the target, such as hda1=100GiB; once for each
    #[arg(long, value_name = "SPACE=OFFSET", help_heading = "Addresses", value_parser = part, conflicts_with = "layout")]
    pub space: Vec<(String, Bytes)>,
    /// Part of the target to use: LENGTH, OFFSET+LENGTH or all
    #[arg(long, value_name = "SPAN", help_heading = "Addresses", value_parser = span)]
    pub region: Option<Span>,
    /// Leave writes, discards and the like out
    #[arg(long, conflicts_with_all = ["write", "writes_as_reads"], help_heading = "Addresses")]
    pub reads_only: bool,
    /// Issue reads in the place of writes; the result says so
    #[arg(long, conflicts_with = "write", help_heading = "Addresses")]
    pub writes_as_reads: bool,
    #[command(flatten)]
    pub tester: TesterArgs,
    #[command(flatten)]
    pub consent: PlayConsentArgs,
}

/// How requests reach the drive.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Tester")]
pub struct TesterArgs {
    /// How I/O is issued: auto, io_uring, libaio or psync
    #[arg(long, value_name = "ENGINE", default_value = "auto")]
    pub engine: EngineChoice,
    /// Replay even if the target lies in this machine's memory
    #[arg(long)]
    pub anyway: bool,
    /// Submitters, which take requests in one global order
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub submitters: u16,
    /// Most requests outstanding, over all submitters; more than the trace needs
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u16).range(1..=16384))]
    pub slots: u16,
    /// Never sleep: a CPU each for the submitters, and the least error
    #[arg(long)]
    pub spin: bool,
    /// Keep the submitters on these CPUs, such as 0,2-3
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub cpus: Option<Cpus>,
    /// I/O errors that a replay goes on after
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub errors: u64,
    /// Set the device's I/O scheduler while the replay lasts, such as none
    #[arg(long, value_name = "NAME", value_parser = named)]
    pub scheduler: Option<String>,
    /// Seed of the content written, and of a virtual drive's own noise [default: a fresh one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
}

/// Whether and where a run is recorded.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Record")]
pub struct RunRecordArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Keep no record of this run
    #[arg(long)]
    pub no_record: bool,
}

impl RunRecordArgs {
    /// As the record has it. Single I/Os have a file of their own (`--save`).
    pub fn keep(&self) -> KeepArgs {
        KeepArgs { place: self.place.clone(), no_record: self.no_record, ..KeepArgs::default() }
    }
}

/// Consent to writing.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Writing")]
pub struct PlayConsentArgs {
    /// Also write to an existing file or a device; its data is lost
    #[arg(long)]
    pub write: bool,
    /// Consent to writing: the drive's serial number or by-id name, or the file's name; once for each drive
    #[arg(long, value_name = "WORD", requires = "write")]
    pub consent: Vec<String>,
    /// Write although the device carries this, such as partitions or signature:ext4
    #[arg(long, value_name = "HAZARD", value_delimiter = ',', requires = "write", value_parser = hazard)]
    pub allow: Vec<String>,
}

fn factor(text: &str) -> Result<f64, String> {
    let known = text.parse::<f64>().ok().filter(|x| (1e-6..=1e6).contains(x));
    known.ok_or_else(|| "write a number from 0.000001 to 1000000, such as 2 or 0.5".to_owned())
}

fn part(text: &str) -> Result<(String, Bytes), String> {
    let (name, offset) =
        text.split_once('=').ok_or("write SPACE=OFFSET, such as 0=0 or hda1=100GiB")?;
    Ok((name.to_owned(), parse_bytes(offset).map_err(|error| error.to_string())?))
}

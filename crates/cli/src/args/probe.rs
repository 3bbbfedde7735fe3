//! Flags of `probe`, of `rows`.

use std::path::PathBuf;

use bench::opening::Place;
use block::{Bytes, EngineChoice, Nanos};
use clap::{Args, Subcommand};
use drives::TargetSpec;
use workload::units::parse_bytes;

use super::{
    BesideResume, Cpus, FilesArgs, RecordArgs, Span, WriteArgs, cpus, lasting, named, span,
};

/// `probe`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
Examples:
  drivescope probe sim:usb-8m                 a virtual stick: its structure
  drivescope probe /dev/sdb                   reads only: nothing is changed
  drivescope probe /dev/sdb --write --consent SERIAL
                                              all of it; what it holds is lost
  drivescope probe align /dev/mmcblk0         one probe
  drivescope probe /dev/sdb --row             one line, for a survey
  drivescope probe --restore last --write --consent SERIAL
                                              what probe capacity left, killed

Whether it holds what it states, and how fast it writes for long, are asked by
themselves: probe capacity, probe speed-class.

Answers are found, none or unknown. Exit code 1: nothing was found, the drive
holds less than it reports, or a partition begins within an erase block.")]
pub struct ProbeArgs {
    /// One probe instead of all
    #[command(subcommand)]
    pub verb: Option<ProbeVerb>,
    #[command(flatten)]
    pub chain: ChainArgs,
}

/// All probes, one after the other.
#[derive(Debug, Args)]
#[command(mut_arg("target", |target| target.required_unless_present("restore")))]
pub struct ChainArgs {
    #[command(flatten)]
    pub place: ProbePlaceArgs,
    /// Put back what a run of probe capacity had overwritten when it was killed: its id, or last
    #[arg(long, help_heading = "Restoring", value_name = "RUN", conflicts_with_all = ["resume", "row", "plot"], value_parser = named)]
    pub restore: Option<String>,
    /// Also overwrite what was changed since
    #[arg(long, help_heading = "Restoring", requires = "restore")]
    pub restore_all: bool,
    /// Print one line for a survey, without a serial number or anything else of yours
    #[arg(long, help_heading = "Output", conflicts_with = "json", add = BesideResume)]
    pub row: bool,
    #[command(flatten)]
    pub output: FilesArgs,
    #[command(flatten)]
    pub record: RecordArgs,
}

/// The probes as verbs.
#[derive(Debug, Subcommand)]
pub enum ProbeVerb {
    /// Erase block, page and multi-plane page, by reads across boundaries
    Align(AlignArgs),
    /// How many erase blocks may be open at once; writes
    OpenAu(OpenAuArgs),
    /// The zone at the beginning for file allocation tables; writes
    #[command(after_help = "\
Examples:
  drivescope probe fat sim:sdcard-4m
  drivescope probe fat /dev/mmcblk0 --write --consent SERIAL")]
    Fat(PlainArgs),
    /// Access times by offset: bands of cells, slower and faster zones, periods
    Scatter(ScatterArgs),
    /// Access time and rate, from reads of growing size
    #[command(after_help = "\
Examples:
  drivescope probe interval sim:card-3m
  drivescope probe interval /dev/sdb --plot interval.svg")]
    Interval(PlainArgs),
    /// Chunk, interleaving and mapping policy
    #[command(after_help = "\
Examples:
  drivescope probe parallelism sim:tlc-pslc
  drivescope probe parallelism /dev/nvme0n1")]
    Parallelism(PlainArgs),
    /// Memory that takes writes before the medium does; writes
    #[command(after_help = "\
Examples:
  drivescope probe write-buffer sim:usb-8m
  drivescope probe write-buffer /dev/mmcblk0 --write --consent SERIAL")]
    WriteBuffer(PlainArgs),
    /// The part written with one bit a cell: size, plateaus, recovery; writes
    #[command(after_help = "\
Examples:
  drivescope probe slc-cache sim:tlc-pslc
  drivescope probe slc-cache /dev/nvme0n1 --write --consent SERIAL \\
      --write-budget 64GB")]
    SlcCache(PlainArgs),
    /// Speed and access time over the whole range
    #[command(after_help = "\
Examples:
  drivescope probe surface sim:hdd-7200
  drivescope probe surface /dev/sdb --plot surface.svg")]
    Surface(PlainArgs),
    /// Real capacity; writes, and restores what it overwrote
    Capacity(CapacityArgs),
    /// Speed classes of SD cards; writes
    #[command(after_help = "\
Examples:
  drivescope probe speed-class sim:sdcard-4m
  drivescope probe speed-class /dev/mmcblk0 --write --consent SERIAL
  drivescope probe speed-class /              in a test file of 1 GiB there")]
    SpeedClass(PlainArgs),
}

/// Target of probes, and limits on time and writes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Target")]
pub struct ProbePlaceArgs {
    /// Block device, file, or virtual drive (sim:usb-8m)
    // An option also where it is required: the verbs under `probe` have one of their own, and its own is empty then.
    #[arg(required_unless_present = "resume", add = BesideResume)]
    pub target: Option<TargetSpec>,
    /// Part to probe: LENGTH, OFFSET+LENGTH or all
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub region: Option<Span>,
    /// How I/O is issued: auto, io_uring, libaio or psync
    #[arg(long, value_name = "ENGINE", default_value = "auto", add = BesideResume)]
    pub engine: EngineChoice,
    /// Keep the tester on these CPUs, such as 0,2-3
    #[arg(long, value_name = "LIST", value_parser = cpus, add = BesideResume)]
    pub cpus: Option<Cpus>,
    /// Probe even if the target lies in this machine's memory
    #[arg(long, add = BesideResume)]
    pub anyway: bool,
    #[command(flatten)]
    pub writing: WriteArgs,
    /// Longest time that it may take
    #[arg(help_heading = "Limits", long, value_name = "TIME", value_parser = lasting, default_value = "30m")]
    pub time_budget: Nanos,
    /// Most that it may write
    #[arg(help_heading = "Limits", long, value_name = "SIZE", value_parser = parse_bytes, default_value = "16GiB")]
    pub write_budget: Bytes,
    /// Take this for the erase block, whatever reads show
    #[arg(help_heading = "Limits", long, value_name = "SIZE", value_parser = parse_bytes)]
    pub erase_block: Option<Bytes>,
    /// Take this for the page
    #[arg(help_heading = "Limits", long, value_name = "SIZE", value_parser = parse_bytes)]
    pub page: Option<Bytes>,
    /// Root seed of all randomness [default: a fresh one, which is recorded]
    #[arg(help_heading = "Limits", long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
}

impl ProbePlaceArgs {
    /// The drive or file that is probed; a path without a name where the user named none.
    pub fn target(&self) -> &TargetSpec {
        static UNNAMED: TargetSpec = TargetSpec::Path(String::new());
        self.target.as_ref().unwrap_or(&UNNAMED)
    }

    /// The same, as it is opened.
    pub fn place(&self) -> Place<'_> {
        Place {
            target: self.target(),
            engine: self.engine,
            cpus: self.cpus.as_deref(),
            buffered: false,
            write: self.writing.write,
            consent: self.writing.consent.as_ref(),
            allow: &self.writing.allow,
            seed: self.seed,
            what: "probed",
        }
    }
}

/// A probe without flags of its own.
#[derive(Debug, Args)]
pub struct PlainArgs {
    #[command(flatten)]
    pub place: ProbePlaceArgs,
    #[command(flatten)]
    pub output: FilesArgs,
    #[command(flatten)]
    pub record: RecordArgs,
}

/// `probe align`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope probe align sim:sdcard-4m
  drivescope probe align /dev/mmcblk0 --blocksize 1KiB,4KiB
  drivescope probe align /dev/sdb --plot boundaries.png")]
pub struct AlignArgs {
    /// Sizes of reads [default: 1 KiB to 64 KiB, those that speak]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_bytes)]
    pub blocksize: Vec<Bytes>,
    #[command(flatten)]
    pub plain: PlainArgs,
}

/// `probe open-au`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope probe open-au sim:sdcard-4m
  drivescope probe open-au /dev/mmcblk0 --erase-block 4MiB \\
      --write --consent SERIAL")]
pub struct OpenAuArgs {
    #[command(flatten)]
    pub plain: PlainArgs,
}

/// `probe scatter`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope probe scatter sim:usb-tlc --plot bands.png
  drivescope probe scatter /dev/sdb --order 12 --blocksize 8KiB --span 4 \\
      --data scatter.txt
  gnuplot -p -e 'plot \"scatter.txt\"'")]
pub struct ScatterArgs {
    /// Reads at 2^N places from the beginning
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(4..=16))]
    pub order: Option<u32>,
    /// Each read is N blocks long
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub span: Option<u64>,
    /// Distance of the places [default: the multi-plane page, where it is found]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub blocksize: Option<Bytes>,
    /// Write offset (MiB) and least time (ms) of each place, as flashbench does
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    #[command(flatten)]
    pub plain: PlainArgs,
}

/// `probe capacity`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope probe capacity sim:fake-64g
  drivescope probe capacity /dev/sdb --write --consent SERIAL
  drivescope probe capacity /dev/sdb --full --write --consent SERIAL
                                              all of it; what it holds is lost

--full resumes after an interruption: --resume RUN.")]
pub struct CapacityArgs {
    /// Write the whole drive and read it back; erases everything on it
    #[arg(long, conflicts_with_all = ["region", "keep_originals"])]
    pub full: bool,
    /// Do not keep and restore what is overwritten
    #[arg(long)]
    pub destructive: bool,
    /// Save what is overwritten in this directory until it is restored [default: the runs directory]
    #[arg(long, value_name = "DIR", conflicts_with = "destructive", add = BesideResume)]
    pub keep_originals: Option<PathBuf>,
    #[command(flatten)]
    pub plain: PlainArgs,
}

/// `rows`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope probe /dev/sdb --row >> rows.txt        a row of a drive
  drivescope rows merge rows.txt from-the-list.txt   a table of all")]
pub struct RowsArgs {
    #[command(subcommand)]
    pub verb: RowsVerb,
}

/// Verbs of `rows`.
#[derive(Debug, Subcommand)]
pub enum RowsVerb {
    /// Make one table of survey rows
    #[command(after_help = "\
Examples:
  drivescope probe /dev/sdb --row >> rows.txt
  drivescope rows merge rows.txt from-the-list.txt")]
    Merge {
        /// Files with rows, among other lines, or archives of scripts/field-trial; - for standard input
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

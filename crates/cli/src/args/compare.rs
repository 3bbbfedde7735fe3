//! Flags of `compare`.

use block::{Bytes, EngineChoice};
use clap::Args;
use drives::TargetSpec;
use workload::units::parse_bytes;

use super::{
    BesideResume, Cpus, FilesArgs, LoadArgs, RecordArgs, Span, cpus, share, share_or_none, span,
};

/// `compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope compare /mnt/old /mnt/new          measured now, in turns
  drivescope compare /dev/sdb /dev/sdc --tests RND4KQ1T1 --runs 12
  drivescope compare sim:hdd-sg sim:hdd-wd --tests RND4KQ32T1 --write-only
  drivescope compare /mnt/ext4 /mnt/xfs /mnt/btrfs --size 256MiB --runs 14
  drivescope compare 20261121T2335 last --tolerance 5%
  drivescope compare before.json after.json --json
  drivescope compare --resume last
  drivescope compare a1.json,a2.json,a3.json,a4.json,a5.json \\
                     b1.json,b2.json,b3.json,b4.json,b5.json

A side is a recorded run (its id, the beginning of it, or last), what
mark --json printed, or a target. Targets are measured in blocks, each with a
run of every target in random order, so that what changes with time falls on all
alike. A directory gets a test file; existing files and devices are only read:
to compare what writing to them does, mark them with --write and compare the
runs.

Each side is compared with those named before it. Faster and slower hold
together at 98%, over all tests; equivalent is within the margin; undecided
says about how many runs would decide. Sides that were measured each by itself
are faster or slower only beyond --session-offset: their runs cannot show how
far another session would be from theirs. A side may have several sessions, with
commas in between: where those of two sides took turns, each is one observation.

Exit codes: 0 no difference beyond the tolerance is known; 1 one is, or a number
was withdrawn, or the sides have no test in common.")]
pub struct CompareArgs {
    /// Recorded runs, documents or targets
    #[arg(value_names = ["SIDE", "SIDE"], num_args = 2.., required_unless_present = "resume")]
    pub sides: Vec<TargetSpec>,
    /// Two sides are equivalent when the interval of their ratio lies within this share of 1
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "2%")]
    pub margin: f64,
    /// Differences of at most this share do not cause exit code 1 [default: none]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub tolerance: Option<f64>,
    /// Difference that two sessions of one drive may have, of sides that were measured each by
    /// itself; 0% when you know that nothing changed in between
    #[arg(long, value_name = "SHARE", value_parser = share_or_none, default_value = "25%")]
    pub session_offset: f64,
    /// Size of the test files; on files, devices and virtual drives, of the part used
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Targets")]
    pub size: Option<Bytes>,
    /// Part of each file, device or virtual drive to use: LENGTH, OFFSET+LENGTH or all
    #[arg(long, value_name = "SPAN", value_parser = span, conflicts_with = "size", help_heading = "Targets")]
    pub span: Option<Span>,
    /// How I/O is issued: auto, io_uring, libaio or psync
    #[arg(long, value_name = "ENGINE", default_value = "auto", help_heading = "Targets")]
    pub engine: EngineChoice,
    /// Go through the page cache on purpose
    #[arg(long, help_heading = "Targets")]
    pub buffered: bool,
    /// Make test files in directories on Btrfs that are written in place: no
    /// copies on write, no checksums, no compression
    #[arg(long)]
    pub no_cow: bool,
    /// Keep the submitters on these CPUs, such as 0,2-3
    #[arg(long, value_name = "LIST", value_parser = cpus, help_heading = "Targets")]
    pub cpus: Option<Cpus>,
    /// Most that the runs of a target and its test file may write; runs that write
    /// are shortened alike to stay within it
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, help_heading = "Targets")]
    pub write_budget: Option<Bytes>,
    /// Measure even if a target lies in this machine's memory
    #[arg(long, help_heading = "Targets", add = BesideResume)]
    pub anyway: bool,
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub record: RecordArgs,
    #[command(flatten)]
    pub files: FilesArgs,
    /// Show throughput in MiB/s (2^20) instead of MB/s (10^6)
    #[arg(long, help_heading = "Output", add = BesideResume)]
    pub mib: bool,
}

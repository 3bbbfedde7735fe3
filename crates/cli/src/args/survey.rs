//! Flags of `survey`.

use block::{Bytes, EngineChoice, Nanos};
use clap::Args;
use drives::TargetSpec;
use workload::units::parse_bytes;

use super::{BesideResume, FilesArgs, LiveArgs, RecordArgs, WriteArgs, lasting};

/// `survey`.
#[derive(Debug, Args)]
#[command(mut_arg("report", |report| report.conflicts_with("no_record")))]
#[command(after_help = "\
Examples:
  drivescope survey                        the disk under the current directory
  drivescope survey /dev/sdb               a drive: reads only
  drivescope survey /dev/sdb --write --consent SERIAL
                                           everything; what it holds is lost
  drivescope survey sim:usb-8m --seed 7    a virtual stick
  drivescope survey /dev/sdb --plan        which parts, how long, how many bytes
  drivescope survey --report disk.html     the whole as a page, with every chart
  drivescope survey --resume last          go on where it was stopped

Each part is a run of its own, which the survey names. Without a target, and
where the current directory cannot be measured, a virtual drive is taken.

Exit codes: 0 done; 1 done, and nothing was concluded or something is bad (it
holds less than it reports, is failing or worn, has a partition off the grid of
erase blocks, is never steady, or no result passed its checks); 2 wrong use or
environment; 3 refused for safety; 130 stopped by Ctrl-C.")]
pub struct SurveyArgs {
    /// Directory, file, block device, or virtual drive (sim:usb-8m) [default: the current directory]
    #[arg(help_heading = "Target", add = BesideResume)]
    pub target: Option<TargetSpec>,
    /// How I/O is issued: auto, io_uring, libaio or psync
    #[arg(help_heading = "Target", long, value_name = "ENGINE", default_value = "auto", add = BesideResume)]
    pub engine: EngineChoice,
    /// Survey even if the target lies in this machine's memory
    #[arg(help_heading = "Target", long, add = BesideResume)]
    pub anyway: bool,
    #[command(flatten)]
    pub writing: WriteArgs,
    /// Longest time that all parts may take, on the drive's clock
    #[arg(help_heading = "Limits", long, value_name = "TIME", value_parser = lasting, default_value = "15m")]
    pub time_budget: Nanos,
    /// Most that all parts may write, where writing is allowed
    #[arg(help_heading = "Limits", long, value_name = "SIZE", value_parser = parse_bytes, default_value = "16GiB")]
    pub write_budget: Bytes,
    /// Root seed of all randomness [default: a fresh one, which is recorded]
    #[arg(help_heading = "Limits", long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Print which parts it has, how long they take and what they write, and end
    #[arg(long, help_heading = "Output")]
    pub plan: bool,
    #[command(flatten)]
    pub files: FilesArgs,
    #[command(flatten)]
    pub live: LiveArgs,
    #[command(flatten)]
    pub record: RecordArgs,
}

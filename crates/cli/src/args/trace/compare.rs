//! Flags of `trace compare`.

use std::path::PathBuf;

use clap::Args;
use drives::TargetSpec;

use super::{PlayArgs, ReadingArgs, RunRecordArgs};
use crate::args::FilesArgs;

/// `trace compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope trace compare app.parquet sim:sata-a sim:sata-b
  drivescope trace compare app.parquet /dev/sdb /dev/sdc --reads-only --rounds 8

Rounds are interleaved: A, B, B, A, … Exit code 1: this trace does not
distinguish the drives.")]
pub struct TraceCompareArgs {
    /// The trace, of any format that `trace import` reads
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// Block device, file, or virtual drive (sim:sata-a)
    #[arg(value_name = "DRIVE-A")]
    pub a: TargetSpec,
    /// The other
    #[arg(value_name = "DRIVE-B")]
    pub b: TargetSpec,
    /// Rounds on each drive; 6 are the fewest that have a 95% interval
    #[arg(long, value_name = "N", default_value_t = 6, help_heading = "Repetition",
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    #[command(flatten)]
    pub play: PlayArgs,
    #[command(flatten)]
    pub files: FilesArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
    #[command(flatten)]
    pub record: RunRecordArgs,
}

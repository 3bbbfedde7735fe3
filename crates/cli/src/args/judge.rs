//! Flags of `judge`.

use std::path::PathBuf;

use block::Bytes;
use clap::Args;
use workload::units::parse_bytes;

use super::spare;

/// `judge`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope judge result.json --capacity 1TB --purged
  drivescope judge x_bw.1.log x_bw.2.log --capacity 960GB --purged --uniform
  drivescope judge details_1000GB_8cores/       all that ezFIO left there
  drivescope judge tkperf.xml --json
  drivescope judge result.json --whole-drive --over-provisioning 7%

Reads fio's JSON (json, json+) and its logs of bandwidth, IOPS and latency,
ezFIO's CSV files, TKperf's XML and diskspd's text. Logs that a JSON names, or
that are called after its jobs, are found beside it; drivescope lists the
latter. Give what a file does not contain: without the drive's capacity nothing
can be shown to be steady, since a fresh drive is as flat.

Exit codes: 0 all were in a steady state; 1 one was not, or it cannot be shown;
2 a file cannot be read, with file and line.")]
pub struct JudgeArgs {
    /// Results, or directories of them
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Bytes of the drive
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub capacity: Option<Bytes>,
    /// The range that the file names (fio's size) is the whole drive
    #[arg(long, conflicts_with = "capacity")]
    pub whole_drive: bool,
    /// The drive had been purged before the first byte of the result
    #[arg(long, conflicts_with = "filled")]
    pub purged: bool,
    /// All of the drive had been written, in order, before the first byte of the result
    #[arg(long)]
    pub filled: bool,
    /// Spare space of the drive, as a share of its capacity
    #[arg(long, value_name = "SHARE", value_parser = spare)]
    pub over_provisioning: Option<f64>,
    /// Addresses were drawn uniformly, each from all (fio's norandommap)
    #[arg(long)]
    pub uniform: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

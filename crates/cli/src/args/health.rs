//! Flags of `health`.

use std::path::PathBuf;

use clap::Args;

use super::named;

/// `health`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sudo drivescope health /dev/nvme0n1
  sudo drivescope health /dev/md0              each drive below it
  drivescope health /home                      the drives that it lies on
  drivescope health /dev/sda --json > monday.json
  drivescope health /dev/sda --since monday.json
  drivescope health sim:mlc-nvme               what a model knows of itself
  sudo drivescope health /dev/sda --record-commands sda.commands
  drivescope health commands:sda.commands      the same, without the drive

Asking changes nothing on the drive, and wakes no disk that rests. A drive that
does not judge itself is said to be \"not told\", and never good.

Exit codes: 0 done; 1 done, and a drive fails or says that it will; 2 wrong use
or environment.")]
pub struct HealthArgs {
    /// Device, or what lies on one; virtual drive; recorded commands (commands:FILE)
    #[arg(value_parser = named)]
    pub device: String,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    /// Also what changed since an earlier reading of the same drive, made with --json
    #[arg(long, value_name = "FILE.json")]
    pub since: Option<PathBuf>,
    /// Ask a disk that rests too, which may make it turn
    #[arg(long)]
    pub wake: bool,
    /// Write what is asked and answered to this file; the serial number is in it
    #[arg(long, value_name = "FILE")]
    pub record_commands: Option<PathBuf>,
}

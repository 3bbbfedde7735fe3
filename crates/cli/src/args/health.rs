//! Flags of `health`.

use std::fmt::{Display, Formatter};
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use drives::{TargetSpec, Unnamed};

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
does not judge itself is reported as \"unknown\", never as good.

Exit codes: 0 done; 1 done, and a drive fails, says that it will, is worn out or
has lost data; 2 wrong use or environment.")]
pub struct HealthArgs {
    /// Device, or what lies on one; virtual drive; recorded commands (commands:FILE)
    /// [default: list the devices]
    pub device: Option<Patient>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    /// Also what changed since an earlier reading of the same drive, made with --json
    #[arg(long, value_name = "FILE.json", requires = "device")]
    pub since: Option<PathBuf>,
    /// Ask a disk that rests too, which may make it turn
    #[arg(long, requires = "device")]
    pub wake: bool,
    /// Write what is asked and answered to this file; the serial number is in it
    #[arg(long, value_name = "FILE", requires = "device")]
    pub record_commands: Option<PathBuf>,
}

/// Beginning of the name of a recording of commands.
pub const RECORDING: &str = "commands:";

/// Drive whose health is asked, or a recording of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Patient {
    /// A target, or what lies below it.
    Drive(TargetSpec),
    /// Recorded commands in this file.
    Recording(PathBuf),
}

impl FromStr for Patient {
    type Err = Unnamed;

    fn from_str(text: &str) -> Result<Patient, Unnamed> {
        match text.strip_prefix(RECORDING) {
            Some(file) => Ok(Patient::Recording(file.into())),
            None => text.parse().map(Patient::Drive),
        }
    }
}

impl Display for Patient {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Patient::Drive(target) => target.fmt(f),
            Patient::Recording(file) => write!(f, "{RECORDING}{}", file.display()),
        }
    }
}

//! Flags of `trend`.

use clap::Args;

use super::{PlaceArgs, named, share};

/// `trend`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope trend S4EVNX0R123456      a drive by its serial number
  drivescope trend /dev/nvme0n1        the drive that is there now
  drivescope trend .                   the drive under this directory
  drivescope trend sim:hdd-wd --json   a virtual one

Each recorded mark of the drive is one point; tests that were made in the
same way are held together, six runs at least. A change is a level that lasts:
one bad day is none. Slower and faster hold together at 95%, over all tests;
unchanged is within the margin; undecided says about how many runs would decide.

Exit codes: 0 no test is known to have become slower; 1 one is.")]
pub struct TrendArgs {
    /// Serial number, world-wide identifier, model, device, directory or virtual drive
    #[arg(value_name = "DRIVE", value_parser = named)]
    pub drive: String,
    /// Changes of at most this percentage count as no change
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "2%")]
    pub margin: f64,
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Show throughput in MiB/s (2^20) instead of MB/s (10^6)
    #[arg(long, help_heading = "Output")]
    pub mib: bool,
}

//! `flashbench`, whose words are flashbench's own, and its help.

use std::ffi::OsString;

use clap::Args;
use probe::flashbench::face::HELP;

/// Help on consent, after that on flashbench's own options.
const CONSENT_HELP: &str = "
Before -O, -f and -p write to a real device:
      --consent=WORD       the drive's serial number or by-id name, or the
                           file's name
      --allow=HAZARD       what on it may be lost, such as partitions or
                           signature:vfat

Not of flashbench:
      --engine=NAME        how I/O is issued: auto, io_uring, libaio or psync
      --version            prints which drivescope this is
";

const EXAMPLES: &str = "\
Examples:
  drivescope flashbench -a sim:sdcard-4m
  drivescope flashbench -a -b 1024 /dev/mmcblk0     where boundaries are
  drivescope flashbench -s --scatter-order=10 -o scatter.txt /dev/sdb
  drivescope flashbench -O --open-au-nr=4 -e 4194304 --consent=SERIAL /dev/sdb
                                                    what it holds is lost
  ln -s \"$(command -v drivescope)\" ~/bin/flashbench
                                                    for scripts that call it";

/// flashbench's options, those of consent, and examples.
pub fn flashbench_help() -> String {
    format!("{HELP}{CONSENT_HELP}\n{EXAMPLES}\n")
}

/// `flashbench`.
#[derive(Debug, Args)]
#[command(override_help = flashbench_help(), after_help = EXAMPLES)]
pub struct FlashbenchArgs {
    /// flashbench's options, and the device
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION|DEVICE")]
    pub arguments: Vec<OsString>,
}

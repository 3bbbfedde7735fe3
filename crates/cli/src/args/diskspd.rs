//! `diskspd`, whose words are diskspd's own, and its help.

use std::ffi::OsString;

use clap::Args;
use mark::diskspd::HELP;

/// Help on our own options, after that on diskspd's.
const OWN_HELP: &str = "
Not of diskspd:
      --emulate=diskspd-linux  make offsets as diskspd for Linux does, to see
                           what comes of it: a cursor for each transfer
                           outstanding, all threads at the same place or with
                           the same draws, -r at multiples of 64K, the same seed
                           each time
      --strict             exit code 1 when what the report shows is refuted;
                           it is 0 otherwise, so that scripts run unchanged
      --consent=WORD       before -w writes to what is there: a device's serial
                           number or by-id name, a file's name; once for each
      --allow=HAZARD       what on it may be lost, such as partitions
      --engine=NAME        auto, io_uring, libaio or psync, in the place of -x
      --version            print which drivescope this is

Warnings about the report go to stderr: whether the bytes reached the device,
whether offsets were the ones meant, and whether this machine was the limit.
";

const EXAMPLES: &str = "\
Examples:
  drivescope diskspd -b4K -r -o32 -t4 -L sim:sata-a
  drivescope diskspd -b1M -Sd -d30 /dev/sdb       a device: reads only
  drivescope diskspd -c1G -w100 -Sd test.dat      a file, which it makes
  drivescope diskspd -w100 -Sd --consent=test.dat test.dat
                                                  the same file again
  drivescope diskspd -w30 -r -Sd --consent=SERIAL /dev/sdb
                                                  what it holds is lost
  ln -s \"$(command -v drivescope)\" ~/bin/diskspd
                                                  for scripts that call diskspd";

/// diskspd's options, those that it does not have, and examples.
pub fn diskspd_help() -> String {
    format!("{HELP}{OWN_HELP}\n{EXAMPLES}\n")
}

/// `diskspd`.
#[derive(Debug, Args)]
#[command(override_help = diskspd_help(), after_help = EXAMPLES)]
pub struct DiskspdArgs {
    /// diskspd's options, and the targets
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION|TARGET")]
    pub arguments: Vec<OsString>,
}

//! Flags of `explain`.

use block::Bytes;
use clap::Args;

use super::size;

/// `explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope explain -- fio --name=x --rw=randread --size=1g --numjobs=4
  drivescope explain ssd-test.fio               a job file of fio
  drivescope explain 'diskspd -b1M -o8 -t1 -Sd -w0 file' --target-size 1GiB
  drivescope explain SEQ1MQ8T1 1GiB             what KDiskMark does for it
  drivescope explain - --json < command.txt
  drivescope explain --plan job.fio > plan.toml; drivescope run plan.toml .

Reads fio (command lines and job files), diskspd for Linux, dd, hdparm (its
timings) and KDiskMark's names of tests. Nothing is run, and no file is opened
but a job file. Text in quotes is parted as a shell does it; variables and
patterns stay as they are written.")]
pub struct ExplainArgs {
    /// A command behind --, or in quotes; a job file; - for standard input
    #[arg(required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Size of the file or device, where the command leaves it to that
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub target_size: Option<Bytes>,
    /// Print what to run instead as a plan, in TOML
    #[arg(long, conflicts_with = "json")]
    pub plan: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

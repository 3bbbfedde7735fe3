//! Flags of `sweep`.

use block::Nanos;
use clap::Args;
use mark::sweep::Vary;
use mark::{Direction, TestSpec};
use workload::plan::Order;
use workload::units::parse_nanos;

use super::values::{Choice, one_of};
use super::{HowArgs, OutputArgs, RecordArgs, TargetArgs, lasting, share};

/// `sweep`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope sweep sim:hdd-wd --vary depth=1..32 --vary threads=1,2,4
  drivescope sweep /mnt/usb --vary size=256M,1G..8G --csv usb.csv
  drivescope sweep . --vary warm-up=0,5,10 --vary duration=5,10,20 --plan
  drivescope sweep /dev/sdb --vary order=blocked,interleaved --vary depth=1,8
  drivescope sweep sim:hdd-sg --vary depth=1..32 --vary block=4K..1M \\
      --one-at-a-time --plot sweep.png
  drivescope sweep /mnt/usb --vary engine=io_uring,libaio --vary depth=1,32
  drivescope sweep --resume last

FACTOR is pattern (seq, rnd), block, depth, threads, op (read, write, mix70),
size, warm-up, duration, order (blocked, interleaved) or engine (io_uring,
libaio, psync; of files and devices). LEVELS are values and ranges: 1..32
doubles (1, 2, 4 ... 32), 1..9/4 adds (1, 5, 9). A bare time counts seconds.

All levels of all factors meet, unless --one-at-a-time. Each block has one run
of every setting, in a new random order.

Exit codes: 0 done; 1 done, and a number was withdrawn.")]
pub struct SweepArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    /// Vary this factor over these levels, such as depth=1,2,4..32; once for each
    #[arg(
        long,
        value_name = "FACTOR=LEVELS",
        help_heading = "Sweep",
        required_unless_present = "resume"
    )]
    pub vary: Vec<Vary>,
    /// Vary each factor about the base, instead of all combinations
    #[arg(long, help_heading = "Sweep")]
    pub one_at_a_time: bool,
    /// Load of the factors that are not varied, in the familiar notation
    #[arg(long, value_name = "TEST", default_value = "SEQ1MQ1T1", help_heading = "Sweep")]
    pub base: TestSpec,
    /// Operation: read, write, or mix70 for 70% reads
    #[arg(long, value_name = "OP", default_value = "read", help_heading = "Sweep")]
    pub op: Direction,
    /// R/Avg of 20 runs above which a setting is unstable
    #[arg(long, value_name = "SHARE", default_value = "10%", value_parser = share, help_heading = "Sweep")]
    pub unstable_above: f64,
    /// Levels within this share of each other are no matter
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = share, help_heading = "Sweep")]
    pub margin: f64,
    /// Print levels, settings, runs and time, and measure nothing
    #[arg(long, help_heading = "Sweep", conflicts_with = "resume")]
    pub plan: bool,
    #[command(flatten)]
    pub load: SweepLoadArgs,
    #[command(flatten)]
    pub record: RecordArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Settings of the load that are constant unless varied.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub struct SweepLoadArgs {
    /// Measured time of each run
    #[arg(long, value_name = "TIME", value_parser = lasting, default_value = "3s")]
    pub duration: Nanos,
    /// Load before the measured time, without a gap
    #[arg(long, value_name = "TIME", value_parser = parse_nanos, default_value = "1s")]
    pub warm_up: Nanos,
    /// Idle time before each run
    #[arg(long, value_name = "TIME", value_parser = parse_nanos, default_value = "200ms")]
    pub pause: Nanos,
    #[command(flatten)]
    pub how: HowArgs,
    /// Runs of each setting; 6 are the fewest that have a 95% interval
    #[arg(help_heading = "Repetition", long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub runs: u32,
    /// Runs of each setting before the counted ones, kept out of the result
    #[arg(help_heading = "Repetition", long, value_name = "N", default_value_t = 0, num_args = 0..=1, default_missing_value = "1")]
    pub discard_first: u32,
    /// Order of the runs, unless it is varied
    #[arg(help_heading = "Repetition", long, default_value = "interleaved", value_parser = one_of(&ORDERS))]
    pub order: Order,
    /// Root seed of all randomness [default: a fresh one, which is recorded]
    #[arg(help_heading = "Repetition", long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
}

/// Names of the orders of a sweep.
const ORDERS: [Choice<Order>; 2] = [
    (
        "interleaved",
        "Every setting once, in a random order drawn for each round",
        Order::Interleaved,
    ),
    ("blocked", "All runs of a setting before the next setting", Order::Blocked),
];

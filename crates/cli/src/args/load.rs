//! Flags of a benchmark that several verbs share: target, load, output.

use std::path::PathBuf;

use block::{Bytes, EngineChoice, Nanos};
use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser as _};
use drives::TargetSpec;
use instruments::mark::{TargetSettings, WriteConsent};
use live::When;
use mark::{Profile, TestSpec};
use workload::plan::Order;
use workload::units::{parse_bytes, parse_nanos};

use super::files::FilesArgs;
use super::given::{BesideResume, Given};
use super::keep::KeepArgs;
use super::values::{
    Choice, Cpus, Span, cpus, hazard, lasting, one_of, percent, share, span, table_file,
};

/// Consent to writing.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Target")]
pub struct WriteArgs {
    /// Also write to an existing file or a device; its data is lost
    #[arg(long, add = BesideResume)]
    pub write: bool,
    /// Consent to writing: the drive's serial number or by-id name, or the file's name
    #[arg(long, value_name = "WORD", requires = "write", add = BesideResume)]
    pub consent: Option<String>,
    /// Write although the device carries this, such as partitions or signature:ext4
    #[arg(long, value_name = "HAZARD", value_delimiter = ',', requires = "write", value_parser = hazard, add = BesideResume)]
    pub allow: Vec<String>,
}

/// Consent to writing, and clearing up before.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Target")]
pub struct ConsentArgs {
    #[command(flatten)]
    pub writing: WriteArgs,
    /// Remove test files that an earlier run left in the directory
    #[arg(long, add = BesideResume)]
    pub remove_leftovers: bool,
}

/// Target, and how it is reached.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Target")]
pub struct TargetArgs {
    /// Directory, file, block device, or virtual drive (sim:hdd-7200, null:)
    #[arg(default_value = ".", add = BesideResume)]
    pub target: TargetSpec,
    /// Size of the test file; on a file, a device or a virtual drive, of the part used
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub size: Option<Bytes>,
    /// Part of a file or device to use: LENGTH, OFFSET+LENGTH or all [default: a
    /// file's all, a device's first 1GiB; of a plan its own part, or all]
    #[arg(long, value_name = "SPAN", value_parser = span, conflicts_with = "size")]
    pub span: Option<Span>,
    /// How I/O is issued: auto, io_uring, libaio or psync
    #[arg(long, value_name = "ENGINE", default_value = "auto")]
    pub engine: EngineChoice,
    /// Poll for completions (io_uring, on drives with polling queues)
    #[arg(long)]
    pub iopoll: bool,
    /// Go through the page cache on purpose
    #[arg(long)]
    pub buffered: bool,
    /// Make the test file of a directory on Btrfs one that is written in place:
    /// no copies on write, no checksums, no compression
    #[arg(long)]
    pub no_cow: bool,
    /// Keep the submitters on these CPUs, such as 0,2-3
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub cpus: Option<Cpus>,
    /// Most that the runs and their test file may write; runs that write are
    /// shortened alike to stay within it
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub write_budget: Option<Bytes>,
    /// Measure even if the target lies in this machine's memory
    #[arg(long, add = BesideResume)]
    pub anyway: bool,
    #[command(flatten)]
    pub consent: ConsentArgs,
}

impl ConsentArgs {
    /// The same, as the benchmark takes it.
    pub fn settings(&self) -> WriteConsent {
        WriteConsent {
            write: self.writing.write,
            consent: self.writing.consent.clone(),
            allow: self.writing.allow.clone(),
            remove_leftovers: self.remove_leftovers,
        }
    }
}

impl TargetArgs {
    /// The same, as the benchmark takes it.
    pub fn settings(&self) -> TargetSettings {
        TargetSettings {
            target: self.target.clone(),
            size: self.size,
            span: self.span,
            engine: self.engine,
            iopoll: self.iopoll,
            buffered: self.buffered,
            no_cow: self.no_cow,
            cpus: self.cpus.clone(),
            anyway: self.anyway,
            write_budget: self.write_budget,
            consent: self.consent.settings(),
        }
    }
}

/// Load of `mark`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub struct LoadArgs {
    /// Short runs on a small file: 256 MiB, 500 ms
    #[arg(long)]
    pub quick: bool,
    /// Tests to run
    #[arg(long, default_value = "default", conflicts_with = "tests", value_parser = one_of(&PROFILES))]
    pub profile: Profile,
    /// Tests in the familiar notation, such as SEQ1MQ8T1,RND4KQ32T16
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub tests: Option<Vec<TestSpec>>,
    /// Only read
    #[arg(long, conflicts_with_all = ["write_only", "mix"])]
    pub read_only: bool,
    /// Only write
    #[arg(long)]
    pub write_only: bool,
    /// Also mix reads and writes, with this percentage of reads
    #[arg(long, value_name = "PERCENT", value_parser = percent::<1, 99>)]
    pub mix: Option<u8>,
    /// Measured time of each run [default: 3s; --quick: 500ms]
    #[arg(long, value_name = "TIME", value_parser = lasting)]
    pub duration: Option<Nanos>,
    /// Load before the measured time, without a gap [default: 1s; --quick: 100ms]
    #[arg(long, value_name = "TIME", value_parser = parse_nanos)]
    pub warm_up: Option<Nanos>,
    /// Idle time before each run [default: 200ms; --quick: 50ms]
    #[arg(long, value_name = "TIME", value_parser = parse_nanos)]
    pub pause: Option<Nanos>,
    /// Most time to wait before a run until the drive has recovered from writes
    /// of earlier runs; 0s for none [default: 5s; --quick: 1s]
    #[arg(long, value_name = "TIME", value_parser = parse_nanos)]
    pub settle: Option<Nanos>,
    #[command(flatten)]
    pub how: HowArgs,
    /// Runs of each test [default: 6, the fewest that have a 95% interval; of
    /// targets that are compared, the fewest that can tell all tests apart]
    #[arg(help_heading = "Repetition", long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub runs: Option<u32>,
    /// Runs of each test before the counted ones, kept out of the result
    #[arg(help_heading = "Repetition", long, value_name = "N", default_value_t = 0, num_args = 0..=1, default_missing_value = "1")]
    pub discard_first: u32,
    /// Order of the runs
    #[arg(help_heading = "Repetition", long, default_value = "reads-first", value_parser = one_of(&ORDERS))]
    pub order: Order,
    /// Go on until every median is known within this share, such as 2%
    #[arg(help_heading = "Repetition", long, value_name = "SHARE", value_parser = share)]
    pub until: Option<f64>,
    /// Longest time that --until may take
    #[arg(requires = "until", help_heading = "Repetition", long, value_name = "TIME", value_parser = lasting, default_value = "5m")]
    pub budget: Nanos,
    /// Most time in all for more runs of tests that are left undecided; 0s for
    /// none [default: half as long again as planned; with --runs: 0s]
    #[arg(conflicts_with = "until", help_heading = "Repetition", long, value_name = "TIME", value_parser = parse_nanos)]
    pub decide_within: Option<Nanos>,
    /// Root seed of all randomness [default: a fresh one, which is recorded]
    #[arg(help_heading = "Repetition", long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
}

/// How the result is shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    #[command(flatten)]
    pub files: FilesArgs,
    /// Show throughput in MiB/s (2^20) instead of MB/s (10^6)
    #[arg(long, add = BesideResume)]
    pub mib: bool,
    #[command(flatten)]
    pub live: LiveArgs,
    /// Write every single I/O to this CSV file
    #[arg(long, value_name = "FILE.csv", value_parser = PathBufValueParser::new().try_map(table_file), add = BesideResume)]
    pub samples: Option<PathBuf>,
    /// Most I/Os per run in the samples file, or in the record
    #[arg(long, value_name = "N", default_value_t = 1_000_000,
          value_parser = clap::value_parser!(u64).range(1..=20_000_000), add = BesideResume)]
    pub samples_max: u64,
}

/// Whether it is shown on a full screen while it goes on.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct LiveArgs {
    /// Show curve, state and time left on a full screen from the start; l does so later, q ends the run
    #[arg(long, conflicts_with_all = ["no_live", "no_progress", "quiet"], add = BesideResume)]
    pub live: bool,
    /// Show a line of progress and take no keys
    #[arg(long, add = BesideResume)]
    pub no_live: bool,
}

impl LiveArgs {
    /// When a run has a live view; `by_default` where the terminal is good for it, otherwise when the user types `l`.
    pub fn when(self, by_default: bool) -> When {
        match (self.live, self.no_live) {
            (true, _) => When::Asked,
            (_, true) => When::Never,
            _ if by_default => When::Possible,
            _ => When::OnKey,
        }
    }
}

/// How a load is made, whatever the load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub struct HowArgs {
    /// Each write is durable when it completes (FUA, or write and flush)
    #[arg(long)]
    pub dsync: bool,
    /// Threads of a sequential test take turns on one cursor, instead of a part each
    #[arg(long)]
    pub shared_cursor: bool,
    /// Most time for finding out what the drive's own cache holds, where the
    /// result depends on it; 0s for never
    #[arg(long, value_name = "TIME", value_parser = parse_nanos, default_value = "1s")]
    pub cache_probe: Nanos,
    /// Share of the written data that compresses away, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0,
          value_parser = percent::<0, 100>)]
    pub compressible: u8,
    /// Share of written 4 KiB blocks that repeat an earlier one, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0,
          value_parser = percent::<0, 100>)]
    pub dedup: u8,
}

impl LoadArgs {
    /// # Errors
    /// When flags contradict the profile.
    pub fn check(&self) -> anyhow::Result<()> {
        let contradicts = [("--read-only", self.read_only), ("--dsync", self.how.dsync)];
        let found = contradicts.into_iter().find(|(_, is_given)| *is_given);
        match found.filter(|_| self.is_commit()) {
            None => Ok(()),
            Some((flag, _)) => anyhow::bail!(
                "--profile commit writes into the cache and durably, side by side; leave out {flag}"
            ),
        }
    }

    /// True for the profile of a database's log.
    pub fn is_commit(&self) -> bool {
        self.tests.is_none() && self.profile == Profile::Commit
    }
}

impl OutputArgs {
    /// Refuses a limit of single I/Os when none are kept.
    ///
    /// # Errors
    /// When `--samples-max` was typed and neither a file nor the record takes single I/Os.
    pub fn check(&self, keep: &KeepArgs, given: &Given) -> anyhow::Result<()> {
        if given.has("samples_max") && self.trace_cap(keep) == 0 {
            anyhow::bail!("--samples-max is for --samples or --keep-samples; give one of them");
        }
        Ok(())
    }

    /// Most single I/Os to keep per run; none when neither a file nor the record wants them.
    pub fn trace_cap(&self, keep: &KeepArgs) -> usize {
        let most = usize::try_from(self.samples_max).unwrap_or(usize::MAX);
        if self.samples.is_some() || keep.keep_samples.is_some() { most } else { 0 }
    }
}

/// Names of profiles.
const PROFILES: [Choice<Profile>; 5] = [
    ("default", "SEQ1M Q8T1, SEQ1M Q1T1, RND4K Q32T1, RND4K Q1T1", Profile::Default),
    ("nvme", "SEQ1M Q8T1, SEQ128K Q32T1, RND4K Q32T16, RND4K Q1T1", Profile::Nvme),
    ("peak", "SEQ1M Q8T1, RND4K Q32T1", Profile::Peak),
    ("real-world", "SEQ1M Q1T1, RND4K Q1T1", Profile::RealWorld),
    (
        "commit",
        "SEQ4K, SEQ8K, SEQ16K Q1T1 writes, into the cache and durable: a database's log",
        Profile::Commit,
    ),
];

/// Names of orders.
const ORDERS: [Choice<Order>; 3] = [
    (
        "reads-first",
        "All tests that read, in rounds of random order, then all that write",
        Order::ReadsFirst,
    ),
    ("interleaved", "Every test once, in another random order each time", Order::Interleaved),
    ("blocked", "All runs of a test before the next test", Order::Blocked),
];

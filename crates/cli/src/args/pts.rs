//! Flags of `pts`.

use block::{Bytes, EngineChoice, Nanos};
use clap::Args;
use drives::TargetSpec;
use pts::options::{Addresses, Load, Minute, Rule, Test};
use workload::units::{parse_bytes, parse_nanos};

use super::purge::{Asked, method};
use super::values::{Choice, one_of};
use super::{
    BesideResume, Cpus, FilesArgs, KeepArgs, LiveArgs, Span, WriteArgs, cpus, share, span, spare,
};

/// `pts`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope pts wsat 'sim:mlc-nvme?capacity=8GiB' --minute 2%
  drivescope pts all 'sim:enterprise-28op?capacity=8GiB' --minute 50ms
  drivescope pts iops /dev/nvme0n1 --plan       how long, how many bytes; asks
  sudo drivescope pts iops /dev/nvme0n1 --write --consent SERIAL
  sudo drivescope pts --resume last --write --consent SERIAL

All that the drive holds is lost. Each test begins with a purge. The
specification's verdict on steady state stands beside one that counts bytes.

Exit codes: 0 done, and steady where that is asked; 1 done, and not steady;
2 wrong use or environment; 3 refused for safety; 130 stopped by Ctrl-C.")]
pub struct PtsArgs {
    /// Test to run
    #[arg(required_unless_present = "resume", value_parser = one_of(&TESTS))]
    pub test: Option<NamedTests>,
    /// Block device, file, or virtual drive (sim:enterprise-28op)
    #[arg(required_unless_present = "resume")]
    pub target: Option<TargetSpec>,
    /// Go on with a run that was broken off: its name, or last
    #[arg(long, value_name = "RUN", help_heading = "Record")]
    pub resume: Option<String>,
    /// The drive, when it has another name now than when the run was begun
    #[arg(long, value_name = "DEVICE", requires = "resume", help_heading = "Record", add = BesideResume)]
    pub device: Option<TargetSpec>,
    #[command(flatten)]
    pub consent: PtsConsentArgs,
    /// Settings of PTS-C: 75% of the range
    #[arg(long, conflicts_with = "enterprise")]
    pub client: bool,
    /// Settings of PTS-E, as without either
    #[arg(long)]
    pub enterprise: bool,
    /// Length of a minute: a time, or a share of the range to be written, such as 2%
    #[arg(long, value_name = "TIME|SHARE", default_value = "60s", value_parser = minute)]
    pub minute: Minute,
    /// Range of addresses (ActiveRange): LENGTH, OFFSET+LENGTH or all
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub range: Option<Span>,
    /// Submitters, where the specification leaves it open
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: u16,
    /// Requests outstanding per submitter, likewise
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub depth: u16,
    /// Most rounds; wsat ends by fills or time instead
    #[arg(long, value_name = "N", default_value_t = 25, value_parser = clap::value_parser!(u32).range(5..=1000))]
    pub rounds_max: u32,
    /// Criterion that ends rounds: pts, five rounds of the specification; bytes, windows of the range without drift;
    /// or a number of fills, such as 2fills, steady or not
    #[arg(long, value_name = "RULE", default_value = "pts", value_parser = rule)]
    pub until: Rule,
    /// Addresses of random writes
    #[arg(long, default_value = "uniform", value_parser = one_of(&ADDRESSES))]
    pub addresses: Addresses,
    /// Over-provisioning of the drive, where it is known, such as 7%
    #[arg(long, value_name = "SHARE", value_parser = spare)]
    pub over_provisioning: Option<f64>,
    /// The medium is written in place (no flash): nothing has to be used up first
    #[arg(long)]
    pub in_place: bool,
    /// After the response times of latency and wsat, once more those of requests that arrive on their own, at
    /// this share of the rate, from when each was due
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub open_loop: Option<f64>,
    /// Load of wsat and dirth
    #[arg(long, default_value = "rnd4k", value_parser = one_of(&LOADS))]
    pub load: Load,
    /// Fills of preconditioning before iops, throughput and latency
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=20))]
    pub fills: u32,
    /// Do not empty the drive before each test
    #[arg(long)]
    pub no_purge: bool,
    /// How the drive is emptied; see drivescope purge --help
    #[arg(long, value_name = "METHOD", default_value = "auto", value_parser = method, conflicts_with = "no_purge")]
    pub purge_method: Asked,
    /// Print how long it takes and what it writes, and ask before it begins
    #[arg(long)]
    pub plan: bool,
    /// Bytes that the drive is rated to be written (TBW); refuse to go beyond
    #[arg(long, value_name = "SIZE", value_parser = limit)]
    pub tbw: Option<Bytes>,
    /// Root seed of all randomness [default: a fresh one, which is recorded]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub keep: KeepArgs,
    #[command(flatten)]
    pub output: PtsOutputArgs,
}

/// Consent, and how I/O is issued.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Target")]
#[command(mut_arg("write", |write| write.help("Write to a device or a file; what it holds is lost")))]
pub struct PtsConsentArgs {
    #[command(flatten)]
    pub writing: WriteArgs,
    /// Test even if the target lies in this machine's memory
    #[arg(long, add = BesideResume)]
    pub anyway: bool,
    /// Most that may be written; refuse to begin what needs more
    #[arg(long, value_name = "SIZE", value_parser = limit, add = BesideResume)]
    pub write_budget: Option<Bytes>,
    /// How I/O is issued: auto, io_uring, libaio or psync
    #[arg(long, value_name = "ENGINE", default_value = "auto", add = BesideResume)]
    pub engine: EngineChoice,
    /// Keep the submitters on these CPUs, such as 0,2-3
    #[arg(long, value_name = "LIST", value_parser = cpus, add = BesideResume)]
    pub cpus: Option<Cpus>,
}

/// How the result is shown.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct PtsOutputArgs {
    #[command(flatten)]
    pub files: FilesArgs,
    #[command(flatten)]
    pub live: LiveArgs,
}

/// A test, or several under one name.
#[derive(Clone, Copy, Debug)]
pub struct NamedTests {
    /// The name.
    pub name: &'static str,
    /// The tests.
    pub tests: &'static [Test],
}

const fn named(
    name: &'static str,
    help: &'static str,
    tests: &'static [Test],
) -> Choice<NamedTests> {
    (name, help, NamedTests { name, tests })
}

/// Names of tests.
const TESTS: [Choice<NamedTests>; 11] = [
    named("iops", "Random I/O by share of reads and block size", &[Test::Iops]),
    named("throughput", "Sequential I/O of large blocks", &[Test::Throughput]),
    named("latency", "Response times, one request at a time", &[Test::Latency]),
    named("wsat", "Write saturation: random writes from a purge on", &[Test::Wsat]),
    named("hir", "Host idle recovery: writes with pauses", &[Test::Hir]),
    named("xsr", "Cross stimulus recovery: sequential, random, sequential writes", &[Test::Xsr]),
    named("cbw", "Enterprise composite of sizes and hot data, by threads and depth", &[Test::Cbw]),
    named("dirth", "Demand intensity of one load, by threads and depth", &[Test::Dirth]),
    named("qd-sweep", "Random writes by queue depth, in true steady state", &[Test::QdSweep]),
    named("ezfio", "ezFIO's sequence, each part in the state that it claims", &[Test::Ezfio]),
    named("all", "The eight tests of the specification, one after the other", &Test::PTS),
];

/// Names of address modes.
const ADDRESSES: [Choice<Addresses>; 4] = [
    ("uniform", "Each drawn independently", Addresses::Uniform),
    ("fresh", "Each block once a pass, each pass in an order of its own", Addresses::Fresh),
    (
        "replayed",
        "Each block once a pass, all passes in one order: no preconditioning",
        Addresses::Replayed,
    ),
    ("hot-cold", "80% of the accesses to 20% of the range", Addresses::HotCold),
];

const fn load(block: Bytes, read_percent: u8, is_random: bool) -> Load {
    Load { block, read_percent, is_random, is_composite: false }
}

/// Names of loads.
const LOADS: [Choice<Load>; 5] = [
    ("rnd4k", "RND 4 KiB, writes", Load::RANDOM_WRITES),
    ("rnd8k-rw65", "RND 8 KiB, 65% reads", load(Bytes::kib(8), 65, true)),
    ("seq128k-rw90", "SEQ 128 KiB, 90% reads", load(Bytes::kib(128), 90, false)),
    ("seq512-rw50", "SEQ 0.5 KiB, 50% reads", load(Bytes(512), 50, false)),
    (
        "composite",
        "The enterprise composite, 40% reads",
        Load { is_composite: true, ..load(Bytes::kib(4), 40, true) },
    ),
];

/// The rule that ends rounds.
fn rule(text: &str) -> Result<Rule, String> {
    let fills = text.strip_suffix("fills").map(|count| count.trim().parse());
    match (text, fills) {
        ("pts", _) => Ok(Rule::Pts),
        ("bytes", _) => Ok(Rule::Bytes),
        (_, Some(Ok(fills))) if fills > 0.0 && fills <= 1_000.0 => Ok(Rule::Fills(fills)),
        _ => {
            Err("write pts, bytes, or a count of fills from above 0 to 1000, such as 2fills"
                .to_owned())
        }
    }
}

/// A limit that leaves something.
fn limit(text: &str) -> Result<Bytes, String> {
    match parse_bytes(text) {
        Ok(Bytes::ZERO) => Err("a test writes; leave it out, or allow some".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(error) => Err(error.to_string()),
    }
}

/// A time, or a share of the range.
fn minute(text: &str) -> Result<Minute, String> {
    if text.ends_with('%') {
        return share(text).map(|percent| Minute::Fill(percent / 100.0));
    }
    match parse_nanos(text) {
        Ok(Nanos(ns)) if ns >= 1_000_000 => Ok(Minute::Time(Nanos(ns))),
        Ok(_) => Err("a minute of less than 1 ms measures nothing".to_owned()),
        Err(error) => Err(format!("{error}; or a share of the range, such as 2%")),
    }
}

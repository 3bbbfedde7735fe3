//! The body of `explain --json`: a contract. Fields keep their names and units.

use block::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use stats::Caveat;
use workload::plan::Plan;

/// Prediction of a command's I/O.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explained {
    /// The command as it was read, words parted by blanks.
    pub command: String,
    /// Program of the command.
    pub tool: Tool,
    /// Jobs, in the order in which they begin.
    pub jobs: Vec<Job>,
    /// Reasons why its numbers may mislead.
    pub caveats: Vec<Caveat>,
    /// Commands and a plan to run instead.
    pub equivalent: Equivalent,
}

/// Programs whose commands are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// fio, its command line or a job file.
    Fio,
    /// diskspd for Linux.
    Diskspd,
    /// dd of GNU coreutils.
    Dd,
    /// hdparm, its timings.
    Hdparm,
    /// KDiskMark, by the names of its tests.
    Kdiskmark,
}

/// One load of a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Its name in the command, or the program's.
    pub name: String,
    /// Description, in one sentence without a full stop.
    pub what: String,
    /// Files or devices, as named; none where the program makes names of its own.
    pub targets: Vec<String>,
    /// Jobs of the same group run at the same time; groups follow each other, from 0.
    pub group: u32,
    /// Threads or processes that do the same, at least 1.
    pub threads: u64,
    /// Smallest size of a transfer.
    pub block_bytes_min: Bytes,
    /// Largest size of a transfer.
    pub block_bytes_max: Bytes,
    /// Access pattern.
    pub order: Order,
    /// Outstanding I/Os per thread that the command names.
    pub depth_asked: u64,
    /// Outstanding I/Os per thread that come about.
    pub depth_effective: u64,
    /// Through which caches above the drive.
    pub way: Way,
    /// Different bytes that all threads together may touch; null when the command leaves it to the target's size.
    pub span_bytes: Option<Bytes>,
    /// Bytes read, of all threads.
    pub read_bytes: Amount,
    /// Bytes written, of all threads.
    pub write_bytes: Amount,
    /// Reads and writes, of all threads.
    pub ios: Amount,
    /// Bytes at different addresses among those read and written.
    pub unique_bytes: Amount,
    /// Share of the bytes that had been read or written before by the same job, 0 to 1.
    pub duplicate_share: Share,
    /// How soon data come again.
    pub reuse: Reuse,
    /// Flushes in between, such as fsync; 0 where none is asked for.
    pub flushes: Amount,
    /// End condition.
    pub ends_by: EndsBy,
    /// Longest time that it is given, load before the measured time included; null where no time ends it.
    pub time_max_ns: Option<Nanos>,
    /// Above this rate of all threads together, in bytes per second, the data end before the time does; null where
    /// only one of them ends it.
    pub early_above_bytes_per_s: Option<f64>,
    /// Bytes that the program writes before, where the file is not there yet.
    pub laid_out_bytes: Option<Bytes>,
}

/// A count, as exactly as it follows from the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// At least.
    pub min: u64,
    /// Most likely; null when it depends on the drive's speed.
    pub expected: Option<u64>,
    /// At most; null without a limit.
    pub max: Option<u64>,
}

impl Amount {
    /// Exactly this.
    pub const fn exactly(count: u64) -> Amount {
        Amount { min: count, expected: Some(count), max: Some(count) }
    }

    /// Up to this, or without a limit.
    pub const fn up_to(max: Option<u64>) -> Amount {
        Amount { min: 0, expected: None, max }
    }

    /// The count, where it is exact.
    pub fn exact(self) -> Option<u64> {
        self.expected.filter(|count| self.min == *count && self.max == Some(*count))
    }

    /// True when `count` is what was predicted.
    pub fn holds(self, count: u64) -> bool {
        count >= self.min && self.max.is_none_or(|max| count <= max)
    }

    /// Each of its counts replaced by `share` of it.
    pub(super) fn scaled(self, share: impl Fn(u64) -> u64) -> Amount {
        Amount {
            min: share(self.min),
            expected: self.expected.map(&share),
            max: self.max.map(&share),
        }
    }
}

/// A share, 0 to 1, as exactly as it follows from the command.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// At least.
    pub min: f64,
    /// Most likely; null when it depends on the drive's speed.
    pub expected: Option<f64>,
    /// At most.
    pub max: f64,
}

/// Access pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Order {
    /// One block after the other.
    Sequential,
    /// One block after the other, each at a fixed distance from the one before.
    Strided {
        /// From the beginning of one block to that of the next.
        step_bytes: u64,
    },
    /// The same block over and over.
    SameBlock,
    /// As many cursors as I/Os outstanding, a block apart, each of which goes through all.
    PrivateCursors {
        /// Cursors.
        cursors: u64,
    },
    /// Each block once a pass, in random order.
    RandomOnce,
    /// Each access drawn from all blocks, whatever was drawn before.
    RandomFree {
        /// Alignment of the offsets.
        align_bytes: u64,
    },
    /// Something else, of which only the most is known.
    Other,
}

impl Order {
    /// True where the next address does not follow from the one before.
    pub fn is_random(self) -> bool {
        matches!(self, Order::RandomOnce | Order::RandomFree { .. } | Order::Other)
    }
}

/// Through which caches above the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// O_DIRECT is asked for.
    Direct,
    /// The kernel's page cache.
    PageCache,
    /// Data in memory alone.
    Memory,
}

/// How soon data come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "class", rename_all = "snake_case")]
pub enum Reuse {
    /// Not at all.
    Never,
    /// Within this many bytes: any cache has them.
    AtOnce {
        /// Bytes between one access and the next to the same address.
        within_bytes: u64,
    },
    /// After a pass over all data: a cache of that size has them.
    AfterPass {
        /// Bytes of a pass.
        bytes: u64,
    },
    /// At random within this many bytes.
    AtRandom {
        /// Different bytes that accesses are drawn from.
        bytes: u64,
    },
    /// Not known: the command leaves the span to the target's size.
    Unknown,
}

/// End condition of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndsBy {
    /// All data have been transferred.
    Size,
    /// The time is over.
    Time,
    /// Whichever comes first, which depends on the drive's speed.
    SizeOrTime,
    /// The end of the target, whose size the command does not give.
    Target,
}

/// Equivalent of a command, to run instead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Equivalent {
    /// Command lines of drivescope, one after the other; `PLAN.toml` is the file that holds `plan`.
    pub commands: Vec<String>,
    /// The same as one plan; null where there is nothing to plan.
    pub plan: Option<Plan>,
    /// Differences from the command, each in one sentence without a full stop.
    pub differs: Vec<String>,
}

//! Result of a test: the body of its document. Its fields are a contract.

use std::collections::BTreeMap;

use block::{DriveInfo, DriveKind, Stack, WriteCache};
use serde::{Deserialize, Serialize};
use stats::steady::{State, Verdict};
use stats::{Caveat, Lenient, Unit};

use crate::options::{Options, Profile, Test, Until};
use crate::rig::Purged;
use crate::table::Table;
use crate::window::{Latency, Window};

/// A test, from the purge to its tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Body {
    /// The test.
    pub test: Test,
    /// The device that was measured.
    pub device: Device,
    /// How; null where the drive was not purged.
    pub purge: Option<Purged>,
    /// Stages of preconditioning, in order.
    pub preconditioning: Vec<Preconditioning>,
    /// Rounds, or samples, of the value that steady state is judged by.
    pub rounds: Vec<Round>,
    /// Steady or not, by three rules; `None` when none of them was applied.
    pub steady: Option<Steady>,
    /// Bytes that were programmed into the media for each byte that the host wrote, over the last rounds; `None` when the drive
    /// does not report them.
    pub write_amplification: Option<Spread>,
    /// Tables that the specification requires, by name.
    pub tables: BTreeMap<String, Table>,
    /// Settings of the test.
    pub setup: Setup,
    /// Bytes written by the test.
    pub bytes_written: u64,
    /// Longest unintended idle time of the drive between two stretches.
    pub gap_ns_max: u64,
    /// False when it ended before its end.
    pub is_whole: bool,
    /// Why it ended before its end, if it did.
    pub ended_by: Option<String>,
    /// Deviations from the specification.
    pub deviations: Vec<String>,
    /// Doubts.
    pub caveats: Vec<Caveat>,
}

/// The device that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// As the user named it.
    pub name: String,
    /// Kind of the device.
    pub kind: Lenient<DeviceKind>,
    /// As it states it.
    pub model: Option<String>,
    /// As it states it.
    pub serial: Option<String>,
    /// Its size.
    pub capacity_bytes: u64,
    /// Its unit of addressing.
    pub logical_block_bytes: u64,
    /// Whether its write cache is on, where that is known.
    pub write_cache: Option<Lenient<WriteCache>>,
    /// Layers under it, the target first.
    pub stack: Vec<String>,
}

/// Sort of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// A drive of this machine.
    Block,
    /// A regular file.
    File,
    /// A model in virtual time.
    Virtual,
    /// The null engine, which completes at once.
    Null,
}

impl From<DriveKind> for DeviceKind {
    fn from(kind: DriveKind) -> DeviceKind {
        match kind {
            DriveKind::Virtual => DeviceKind::Virtual,
            DriveKind::Null => DeviceKind::Null,
            DriveKind::File => DeviceKind::File,
            DriveKind::BlockDevice => DeviceKind::Block,
        }
    }
}

/// Settings of a test, for the report's header.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// Class of drives that the settings are for.
    pub profile: Lenient<Profile>,
    /// How I/O was issued.
    pub engine: String,
    /// Pattern of the data written: always random.
    pub data_pattern: String,
    /// First byte of the range of addresses (ActiveRange).
    pub range_offset_bytes: u64,
    /// Its length.
    pub range_bytes: u64,
    /// Length of a minute; null until it was known.
    pub minute_ns: Option<u64>,
    /// Submitters, where left to the operator.
    pub threads: u16,
    /// Requests outstanding per submitter, likewise.
    pub depth: u16,
    /// The rule that ended rounds.
    pub until: Lenient<Until>,
    /// Addresses of random writes.
    pub addresses: String,
    /// The medium is written in place, as the operator said: nothing is fresh at first, and used up later.
    #[serde(default)]
    pub in_place: bool,
    /// Seed of all that was drawn.
    pub seed: u64,
}

/// A stage of preconditioning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preconditioning {
    /// Kind of the stage: one of the specification's two.
    pub kind: Lenient<StageKind>,
    /// The load.
    pub load: String,
    /// Submitters.
    pub threads: u16,
    /// Requests outstanding per submitter.
    pub depth: u16,
    /// Bytes written.
    pub bytes_written: u64,
    /// Of them, those of stretches that were disturbed and made again.
    #[serde(default)]
    pub bytes_again: u64,
    /// The others, as a multiple of the range.
    pub fills: f64,
    /// Share of the range that it reached, 0 to 1.
    pub coverage: f64,
    /// How far apart in bytes written two writes of one block lie; null for random addresses.
    pub overwrite_distance_bytes: Option<u64>,
    /// How long it took.
    pub duration_ns: u64,
    /// False where it does not bring a drive to its steady state, with the reason in `reason`.
    pub is_accepted: bool,
    /// Why it is accepted or not.
    pub reason: String,
}

/// Sort of a stage of preconditioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageKind {
    /// Independent of the workload.
    Wipc,
    /// The workload itself.
    Wdpc,
}

impl StageKind {
    /// The specification's abbreviation.
    pub fn abbreviation(self) -> &'static str {
        match self {
            StageKind::Wipc => "WIPC",
            StageKind::Wdpc => "WDPC",
        }
    }
}

/// A round, or a sample, of the value that steady state is judged by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// From 1.
    pub index: u32,
    /// Bytes written in all of it.
    pub bytes_written: u64,
    /// I/Os per second of the load that is tracked.
    pub iops: f64,
    /// Its megabytes (10^6 bytes) per second.
    pub mb_s: f64,
    /// Its response times.
    pub latency_ns: Latency,
}

/// Steady or not, by three rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steady {
    /// The tracked value, such as `IOPS of RND 4KiB 0/100`.
    pub tracked: String,
    /// In what unit its values are, also in the window of the specification; null in results that older versions made. Those of
    /// fio's rule and of ours are I/Os a second, whatever is tracked.
    #[serde(default)]
    pub unit: Option<Unit>,
    /// The specification's.
    pub pts: PtsVerdict,
    /// fio's, for comparison; null where it has too few samples.
    pub fio: Option<FioVerdict>,
    /// Ours.
    pub ours: Ours,
}

/// Answer of the specification's rule, or of fio's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleVerdict {
    /// The rule was met.
    Steady,
    /// It was not.
    NotSteady,
    /// The specification's was not met so far, and may still be.
    TooFewRounds,
}

impl RuleVerdict {
    /// Its name in records, such as `too_few_rounds`.
    pub fn as_str(self) -> &'static str {
        match self {
            RuleVerdict::Steady => "steady",
            RuleVerdict::NotSteady => "not_steady",
            RuleVerdict::TooFewRounds => "too_few_rounds",
        }
    }
}

/// The specification's verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PtsVerdict {
    /// Whether the rule was met.
    pub verdict: Lenient<RuleVerdict>,
    /// The round at which it was reached.
    pub round: Option<u32>,
    /// The five rounds that the verdict rests on.
    pub window: Option<PtsWindow>,
}

/// Five rounds, with what the specification computes of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PtsWindow {
    /// Its first round.
    pub first_round: u32,
    /// Mean of the tracked value.
    pub average: f64,
    /// Greatest less least.
    pub range: f64,
    /// The largest range allowed.
    pub allowed_range: f64,
    /// Slope of the best linear fit, per round.
    pub slope_per_round: f64,
    /// Its value at round 0.
    pub intercept: f64,
    /// Change of the fit over the window.
    pub slope_excursion: f64,
    /// The largest change allowed.
    pub allowed_slope_excursion: f64,
}

impl From<stats::steady::snia::Window> for PtsWindow {
    fn from(window: stats::steady::snia::Window) -> PtsWindow {
        PtsWindow {
            first_round: u32::try_from(window.first_round).unwrap_or(u32::MAX),
            average: window.average,
            range: window.range,
            allowed_range: window.allowed_range,
            slope_per_round: window.slope_per_round,
            intercept: window.intercept,
            slope_excursion: window.slope_excursion,
            allowed_slope_excursion: window.allowed_slope_excursion,
        }
    }
}

/// fio's verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FioVerdict {
    /// Whether the rule was met.
    pub verdict: Lenient<RuleVerdict>,
    /// When it would have been attained, in seconds of the load since its beginning.
    pub at_s: Option<f64>,
    /// The rule, as fio's options.
    pub rule: String,
    /// The value that a user of fio would have reported as steady.
    pub value: Option<f64>,
}

/// Our verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ours {
    /// State of the drive.
    pub state: Lenient<State>,
    /// Whether its value may be taken.
    pub verdict: Lenient<Verdict>,
    /// Bytes written when it was given.
    pub at_bytes: Option<u64>,
    /// Bytes written before the window that it rests on.
    pub from_bytes: Option<u64>,
    /// The steady value.
    pub value: Option<Spread>,
    /// Why, in a sentence without a full stop.
    pub reason: String,
    /// Over-provisioning, from where the drive fell off its fresh plateau; null where that was not seen.
    pub over_provisioning: Option<f64>,
    /// Fresh rate to steady rate, as theory has it for that over-provisioning.
    pub expected_ratio: Option<f64>,
}

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Its median.
    pub median: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Body {
    /// Of a test that has not begun.
    pub fn new(
        test: Test,
        info: &DriveInfo,
        stack: &Stack,
        options: &Options,
        setup: Setup,
    ) -> Body {
        Body {
            test,
            device: Device::of(info, stack),
            purge: None,
            preconditioning: Vec::new(),
            rounds: Vec::new(),
            steady: None,
            write_amplification: None,
            tables: BTreeMap::new(),
            setup,
            bytes_written: 0,
            gap_ns_max: 0,
            is_whole: false,
            ended_by: None,
            deviations: options.deviations(&[test]),
            caveats: Vec::new(),
        }
    }

    /// True when ours says steady or periodic, or no rule was to be met.
    pub fn is_steady(&self) -> bool {
        self.steady.as_ref().is_none_or(|steady| steady.ours.verdict == Verdict::Yes)
    }
}

impl Device {
    fn of(info: &DriveInfo, stack: &Stack) -> Device {
        Device {
            name: info.name.clone(),
            kind: DeviceKind::from(info.kind).into(),
            model: info.model.clone(),
            serial: info.serial.clone(),
            capacity_bytes: info.capacity_bytes.0,
            logical_block_bytes: info.logical_block_bytes.0,
            write_cache: info.write_cache.map(Lenient::Known),
            stack: stack
                .layers
                .iter()
                .map(|layer| format!("{} {}", layer.kind, layer.name))
                .collect(),
        }
    }
}

/// Median, least and greatest of some values; none of none.
pub(crate) fn spread(values: &[f64]) -> Option<Spread> {
    let median = stats::median(values)?;
    let (low, high) = match stats::median_interval(values, 0.95) {
        Some(interval) => (interval.low, interval.high),
        None => values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        }),
    };
    Some(Spread { median, low, high })
}

/// Write amplification over the windows in which the drive reports it.
pub(crate) fn amplification(windows: &[Window]) -> Option<Spread> {
    let told: Vec<f64> = windows.iter().filter_map(Window::write_amplification).collect();
    spread(&told)
}

//! One result of another tool, in terms that all of them share: what was asked for, what is known of the bytes, and what is
//! known of its course in time.

use serde::Serialize;
use stats::{Caveat, Remedy};

use super::fio_cell::Cell;
use super::measured::{Asked, Measured, ToldLatency};

/// Format of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// fio's `--output-format=json` or `json+`, with any text around it.
    FioJson,
    /// fio's `write_bw_log`, `write_iops_log`, `write_lat_log`.
    FioLog,
    /// The CSV files of ezFIO.
    Ezfio,
    /// The XML file of TKperf.
    Tkperf,
    /// The text that diskspd prints.
    Diskspd,
    /// The XML that diskspd prints with `-Rxml`.
    DiskspdXml,
    /// fio's `write_hist_log`.
    FioHistLog,
    /// The text that CrystalDiskMark copies.
    CrystalDiskMark,
}

impl Format {
    /// Its name for people.
    pub fn words(self) -> &'static str {
        match self {
            Format::FioJson => "fio JSON",
            Format::FioLog => "fio log",
            Format::Ezfio => "ezFIO",
            Format::Tkperf => "TKperf",
            Format::Diskspd => "diskspd",
            Format::DiskspdXml => "diskspd XML",
            Format::FioHistLog => "fio histogram log",
            Format::CrystalDiskMark => "CrystalDiskMark",
        }
    }

    /// The program whose it is.
    pub fn tool(self) -> &'static str {
        match self {
            Format::FioJson | Format::FioLog | Format::FioHistLog => "fio",
            Format::Ezfio => "ezFIO",
            Format::Tkperf => "TKperf",
            Format::Diskspd | Format::DiskspdXml => "diskspd",
            Format::CrystalDiskMark => "CrystalDiskMark",
        }
    }
}

/// In which order addresses were written, as far as the result says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// One after the other.
    Sequential,
    /// Each drawn from all, whatever was drawn before.
    Uniform,
    /// Each once in a pass, and each pass in an order of its own.
    Permutations,
    /// Each once in a pass, and each pass in the same order: to a log-structured drive a sequential overwrite.
    Replayed,
    /// Only read.
    ReadsOnly,
    /// Random, and the result does not show how it was drawn.
    Random,
    /// Not known.
    Unknown,
}

/// Load on the drive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Load {
    /// In the tool's own words, such as `randwrite, 4k`.
    pub words: String,
    /// The order of the addresses written.
    pub pattern: Pattern,
    /// Count of bytes of an I/O, where all are of one size.
    pub block_bytes: Option<u64>,
}

/// A number that the tool reports, which is what is judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Name of the figure, such as `write`.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit, such as `IOPS`.
    pub unit: &'static str,
}

/// Quantity that the values of a series count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// I/Os a second.
    Iops,
    /// Bytes a second.
    BytesPerSecond,
    /// Nanoseconds an I/O takes, on average.
    LatencyNs,
}

impl Quantity {
    /// Its unit, for people.
    pub fn unit(self) -> &'static str {
        match self {
            Quantity::Iops => "IOPS",
            Quantity::BytesPerSecond => "B/s",
            Quantity::LatencyNs => "ns",
        }
    }
}

/// A stretch of time without a gap to the next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Since the beginning of the series.
    pub start_ns: u64,
    /// How long it is.
    pub duration_ns: u64,
    /// Bytes written in it; `None` where the series does not report them.
    pub written_bytes: Option<u64>,
    /// Mean in it, of all threads together.
    pub value: f64,
}

/// Course of a result in time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Quantity of its values.
    pub quantity: Quantity,
    /// In the order of time.
    pub windows: Vec<Window>,
    /// Files of threads that were added up.
    pub threads: u64,
    /// Kind of its source, such as `bandwidth log`.
    pub source: &'static str,
    /// Bytes that the same job wrote before the first window.
    pub skipped_bytes: u64,
}

impl Series {
    /// Total of the bytes written; `None` if any window does not report them.
    pub fn written_bytes(&self) -> Option<u64> {
        self.windows
            .iter()
            .try_fold(0_u64, |sum, window| Some(sum.saturating_add(window.written_bytes?)))
    }
}

/// Rounds as the SNIA's rule has them: one value of the tracking variable each.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rounds {
    /// The tracked value, such as `4k random writes, IOPS`.
    pub tracked: String,
    /// A value a round.
    pub values: Vec<f64>,
    /// Bytes written in each round, where known.
    pub written_bytes: Option<Vec<u64>>,
}

/// Settings and result of fio's own detection of a steady state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FioSteadyState {
    /// Criterion: `iops`, `bw` or `lat`, with `_slope` or not.
    pub criterion: String,
    /// The limit that it was given; in percent of the mean where `percent` says so.
    pub limit: f64,
    /// Whether the limit is in percent of the mean.
    pub percent: bool,
    /// Whether it looks at the slope, and else at the largest deviation.
    pub slope: bool,
    /// Length of its window.
    pub duration_s: f64,
    /// Time between two samples.
    pub interval_s: f64,
    /// Its result.
    pub attained: bool,
    /// The slope that it reports, in the unit of the samples, a sample.
    pub reported_slope: Option<f64>,
    /// The window's samples of IOPS, in order.
    pub iops: Vec<f64>,
    /// The window's samples of bytes a second, in order.
    pub bytes_per_s: Vec<f64>,
}

impl FioSteadyState {
    /// The samples that it looked at; those of latency are not in the file.
    pub fn samples(&self) -> &[f64] {
        if self.criterion.starts_with("iops") {
            &self.iops
        } else if self.criterion.starts_with("bw") {
            &self.bytes_per_s
        } else {
            &[]
        }
    }

    /// Count of samples in its window.
    pub fn samples_count(&self) -> u64 {
        let of_options = (self.duration_s / self.interval_s.max(f64::MIN_POSITIVE)).floor();
        (self.iops.len() as u64).max(of_options.clamp(0.0, 1e15) as u64)
    }
}

/// The tool's own claim of a steady state.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// fio's `steadystate` block.
    Fio(FioSteadyState),
    /// TKperf's, by the SNIA's rule.
    Tkperf {
        /// Its result.
        reached: bool,
    },
}

/// State before the first I/O of the result, as far as the result itself reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Before {
    /// Bytes that the same tool is known to have written to the same range before it.
    pub written_bytes: u64,
    /// Whether the whole drive is known to have been written before it.
    pub filled: bool,
}

/// One result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recorded {
    /// Its name, such as a job's.
    pub name: String,
    /// Its format.
    pub format: Format,
    /// The files it was read from.
    pub files: Vec<String>,
    /// The version that the tool reports.
    pub tool_version: Option<String>,
    /// Its load.
    pub load: Load,
    /// Bytes of the range that was addressed.
    pub range_bytes: Option<u64>,
    /// Bytes of the drive, where the result has them.
    pub drive_bytes: Option<u64>,
    /// State before it.
    pub before: Before,
    /// Bytes written in total.
    pub written_bytes: Option<u64>,
    /// Figures that the tool reports.
    pub figures: Vec<Figure>,
    /// Its course in time.
    pub series: Option<Series>,
    /// Rounds, where the tool works in rounds.
    pub rounds: Option<Rounds>,
    /// The tool's own claim of a steady state.
    pub claim: Option<Claim>,
    /// Doubts about it, independent of its state.
    pub caveats: Vec<Caveat>,
    /// Options of the tool, in terms that a run of ours has too.
    #[serde(skip)]
    pub asked: Asked,
    /// Figures that can become a run comparable with our own: by direction, where the tool separates them.
    #[serde(skip)]
    pub measured: Vec<Measured>,
    /// Latencies of reads and writes together, where the tool reports them beside those of each: percentiles of both cannot be
    /// computed from those.
    #[serde(skip)]
    pub together: ToldLatency,
    /// Logs under its names that another run wrote.
    #[serde(skip)]
    pub(crate) left_out: Vec<String>,
    /// Options and time of a run of fio, by which rounds are recognized.
    #[serde(skip)]
    pub(crate) cell: Option<Cell>,
}

impl Recorded {
    /// One of which nothing is known yet but its name and its file.
    pub(crate) fn of(name: impl Into<String>, format: Format, file: &str) -> Recorded {
        Recorded {
            name: name.into(),
            format,
            files: vec![file.to_owned()],
            tool_version: None,
            load: Load {
                words: "unknown".to_owned(),
                pattern: Pattern::Unknown,
                block_bytes: None,
            },
            range_bytes: None,
            drive_bytes: None,
            before: Before::default(),
            written_bytes: None,
            figures: Vec::new(),
            series: None,
            rounds: None,
            claim: None,
            caveats: Vec::new(),
            asked: Asked::default(),
            measured: Vec::new(),
            together: ToldLatency::default(),
            left_out: Vec::new(),
            cell: None,
        }
    }

    /// Reads and writes as what one run did; none when nothing was moved.
    pub fn all(&self) -> Option<Measured> {
        let mut all = Measured::of_all(&self.measured)?;
        let told = &self.together.percentiles;
        if all.latency.percentiles.is_empty() && !told.is_empty() {
            all.latency.percentiles.clone_from(told);
        }
        Some(all)
    }

    /// Adds a doubt.
    pub(crate) fn doubt(
        &mut self,
        code: &str,
        cause: impl Into<String>,
        remedy: impl Into<Remedy>,
    ) {
        self.caveats.push(Caveat::new(code, &self.name, cause, remedy));
    }
}

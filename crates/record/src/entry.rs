//! Entries that the caller records while a run is made: the caller's side of the journal.

use block::{Bytes, Op, UnixNanos};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Envelope, RunId};

/// Facts about a run that are known before its first step.
#[derive(Clone, Debug)]
pub struct Head {
    /// Origin of the run: machine, date and program; also its name.
    pub envelope: Envelope,
    /// When it begins. The run's name has only the second, which does not order two runs of the same second.
    pub begun: UnixNanos,
    /// The plan in its text form.
    pub plan: String,
    /// Data by which the caller can resume or repeat the run; opaque here, except that the index
    /// shows its members `verb`, `target` and `drive`, where they are text, until the run ends, and that
    /// a member `bare` means that the run was imported as a document alone.
    pub setup: Value,
    /// Positions in the schedule, where they are known beforehand.
    pub steps: Option<u32>,
    /// Whether single I/Os are kept, and in which form.
    pub samples: Option<SamplesFormat>,
}

/// In which form single I/Os are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SamplesFormat {
    /// RFC 4180, one line per I/O: read by everything, some 90 bytes per I/O.
    Csv,
    /// Apache Parquet with Snappy: read by DuckDB, pandas, Polars, R; some 25 bytes per I/O.
    Parquet,
}

impl SamplesFormat {
    /// How names of its files end.
    pub fn extension(self) -> &'static str {
        match self {
            SamplesFormat::Csv => "csv",
            SamplesFormat::Parquet => "parquet",
        }
    }
}

/// A finished step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepEntry {
    /// Position in the schedule, from 0; each at most once in a run.
    pub position: u32,
    /// The step's name.
    pub step: String,
    /// Repetition of the step, from 0.
    pub run: u32,
    /// False for a run that is made to warm up and not judged.
    pub counted: bool,
    /// Completions per slice of time, per phase.
    pub series: Vec<PhaseSeries>,
    /// Latencies, per phase and operation.
    pub histograms: Vec<PhaseHistogram>,
    /// Figures that the instrument computed; opaque here.
    pub figures: Value,
}

/// Completions per slice of time during one phase.
///
/// Instants are nanoseconds since an origin that all steps of a run share, so that a log of the run
/// is in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseSeries {
    /// The phase's name.
    pub phase: String,
    /// True when its samples count.
    pub measured: bool,
    /// When it began.
    pub began_ns: u64,
    /// Length of a slice.
    pub slice_ns: u64,
    /// I/Os completed, per slice.
    pub ios: Vec<u64>,
    /// Bytes transferred, per slice; as many as `ios`.
    pub bytes: Vec<u64>,
}

/// Latencies of one operation during one phase. Instants as in [`PhaseSeries`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseHistogram {
    /// The phase's name.
    pub phase: String,
    /// The operation.
    pub op: String,
    /// When the phase began.
    pub began_ns: u64,
    /// Its length.
    pub window_ns: u64,
    /// The longest latency.
    pub max_ns: u64,
    /// All latencies in nanoseconds: HdrHistogram's V2 form, deflated, as base64 (`HISTFAAA…`).
    pub encoded: String,
}

/// One I/O. Times are nanoseconds since the step's first request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleRow {
    /// The step's name.
    pub step: String,
    /// Repetition of the step, from 0.
    pub run: u32,
    /// Logical submitter.
    pub submitter: u16,
    /// The operation.
    pub op: Op,
    /// Its first byte on the target.
    pub offset: Bytes,
    /// How much was transferred.
    pub len: Bytes,
    /// When it was meant to be issued.
    pub intended_ns: u64,
    /// When it was handed to the drive.
    pub issued_ns: u64,
    /// When its completion was seen.
    pub completed_ns: u64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It has no end yet: it is still being made, or its process was killed. It can be resumed.
    Running,
    /// Ended on request before its plan was done. It can be resumed.
    Interrupted,
    /// Ended by an error of the drive or the program. It can be resumed.
    Broken,
    /// Its plan was done; nothing can be added.
    Finished,
}

impl State {
    /// The word for it, as files and the index have it.
    pub fn word(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Interrupted => "interrupted",
            State::Broken => "broken",
            State::Finished => "finished",
        }
    }
}

/// Summary of a run in a list of runs; kept small.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The verb that the user called: `mark`.
    pub verb: String,
    /// The target as the user named it.
    pub target: String,
    /// The drive, in a few words.
    pub drive: String,
    /// The result, in one line.
    pub headline: String,
}

/// Result of ending a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The run.
    pub id: RunId,
    /// Its directory.
    pub dir: std::path::PathBuf,
    /// How it ended.
    pub state: State,
    /// Steps in its journal.
    pub steps: u32,
    /// Bytes of all its files.
    pub bytes: Bytes,
    /// Positions whose single I/Os could not be written, with the reason. Their steps are whole.
    pub samples_lost: Vec<(u32, String)>,
    /// Why the index could not be brought up to date. Nothing is lost: the next list updates it again.
    pub index: Option<String>,
}

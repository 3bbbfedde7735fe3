//! Flags about the record of a run.

use std::path::PathBuf;

use bench::engines;
use clap::Args;
use record::{Runs, SamplesFormat};
use runner::place::Keep;

use super::BesideResume;
use super::values::{Choice, one_of};

/// Directory of recorded runs.
#[derive(Clone, Debug, Default, Args)]
pub struct PlaceArgs {
    /// Directory of recorded runs [default: $DRIVESCOPE_RUNS_DIR, else
    /// $XDG_DATA_HOME/drivescope/runs, else ~/.local/share/drivescope/runs]
    #[arg(long, value_name = "DIR", help_heading = "Record", add = BesideResume)]
    pub runs_dir: Option<PathBuf>,
}

impl PlaceArgs {
    /// The recorded runs.
    ///
    /// # Errors
    /// When nothing says where they are.
    pub fn runs(&self) -> anyhow::Result<Runs> {
        runner::place::runs(self.runs_dir.as_deref())
    }

    /// The flag again, with a space before it, for a command in a message.
    pub fn flag(&self) -> String {
        self.runs_dir.as_ref().map_or(String::new(), |dir| {
            format!(" --runs-dir {}", block::quoted(&dir.to_string_lossy()))
        })
    }
}

/// Whether and where a run is recorded.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Record")]
pub struct KeepArgs {
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Keep no record of this run
    #[arg(long)]
    pub no_record: bool,
    /// Keep every single I/O in the record, in this form
    #[arg(long, value_name = "FORMAT", conflicts_with = "no_record", value_parser = one_of(&SAMPLES))]
    pub keep_samples: Option<SamplesFormat>,
    /// The run that this one is a part of. A survey gives it to its parts.
    #[arg(long, hide = true, value_name = "RUN", conflicts_with = "no_record")]
    pub part_of: Option<String>,
}

/// Record of a run, and the run to resume.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Record")]
pub struct RecordArgs {
    #[command(flatten)]
    pub keep: KeepArgs,
    /// Go on with a run that was interrupted or killed: its id, or last. Plan and
    /// target come from its record, and the drive must be the same
    #[arg(long, value_name = "RUN", conflicts_with = "no_record")]
    pub resume: Option<String>,
}

/// Forms of recorded I/Os.
const SAMPLES: [Choice<SamplesFormat>; 2] = [
    ("parquet", "Apache Parquet: small, for DuckDB, pandas, R", SamplesFormat::Parquet),
    ("csv", "Comma-separated text", SamplesFormat::Csv),
];

impl KeepArgs {
    /// The same, as the runner takes it.
    pub fn keep(&self) -> Keep {
        Keep {
            runs_dir: self.place.runs_dir.clone(),
            no_record: self.no_record,
            samples: self.keep_samples,
            part_of: self.part_of.clone(),
            is_optional: self.part_of.is_some(),
            engine_refused: Some(engines::refused),
            announced: None,
        }
    }
}

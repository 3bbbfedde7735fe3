//! Flags about recorded runs.

use std::path::PathBuf;

use block::EngineChoice;
use clap::builder::{PathBufValueParser, TypedValueParser as _};
use clap::{Args, Subcommand, ValueEnum};

use super::{ConsentArgs, OutputArgs, archive_file, named, share};

/// `rerun`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope rerun last
  drivescope rerun 20261121T2335 --margin 5% --json

Plan, seed, target and settings are those of the record; the drive must be the
same. Exit code 1: some number differs by more than the margin.")]
pub struct RerunArgs {
    /// The run: its id, the beginning of it, or last
    pub run: String,
    /// A number agrees when the interval of its ratio lies within this share of 1, or
    /// when it is the same to the last bit
    #[arg(long, value_name = "SHARE", value_parser = share, default_value = "2%")]
    pub margin: f64,
    /// How I/O is issued: auto, io_uring, libaio or psync [default: as it was recorded]
    #[arg(long, value_name = "ENGINE", help_heading = "Target")]
    pub engine: Option<EngineChoice>,
    #[command(flatten)]
    pub consent: ConsentArgs,
    #[command(flatten)]
    pub record: KeepArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `runs`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  drivescope runs list
  drivescope runs show last
  drivescope runs export last --output my-ssd.tar.gz
  drivescope runs export last --format fio-json --output my-ssd.json
  drivescope runs import my-ssd.tar.gz

A run is a directory of TOML, JSON, CSV and histogram files that can be read
without drivescope; where they are, runs list tells. RUN is a run's id, the
beginning of it, or last.")]
pub struct RunsArgs {
    #[command(subcommand)]
    pub verb: RunsVerb,
}

/// Verbs of `runs`.
#[derive(Debug, Subcommand)]
pub enum RunsVerb {
    /// List recorded runs, newest first
    #[command(after_help = "\
Examples:
  drivescope runs list
  drivescope runs list --drive sim:hdd-wd --json")]
    List {
        /// Only those of this drive: serial number, model, device, directory or virtual drive
        #[arg(long, value_name = "DRIVE", value_parser = named)]
        drive: Option<String>,
        #[command(flatten)]
        place: PlaceArgs,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a run as it was recorded
    #[command(after_help = "\
Examples:
  drivescope runs show last
  drivescope runs show 20261121T2335 --json")]
    Show {
        /// The run
        run: String,
        #[command(flatten)]
        place: PlaceArgs,
        /// Print the recorded document, and what is known of the record
        #[arg(long)]
        json: bool,
        /// Show throughput in MiB/s (2^20) instead of MB/s (10^6)
        #[arg(long)]
        mib: bool,
    },
    /// Remove runs
    #[command(after_help = "\
Examples:
  drivescope runs rm 20261121T2335
  drivescope runs rm last --yes")]
    Rm {
        /// The runs
        #[arg(required = true, value_name = "RUN")]
        runs: Vec<String>,
        #[command(flatten)]
        place: PlaceArgs,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write runs to an archive (.tar.gz), or one in fio's form
    #[command(after_help = "\
Examples:
  drivescope runs export last --output my-ssd.tar.gz
  drivescope runs export last --format fio-json --output my-ssd.json")]
    Export {
        /// The runs [default: all]
        #[arg(value_name = "RUN")]
        runs: Vec<String>,
        #[command(flatten)]
        place: PlaceArgs,
        /// Where to; - for standard output
        #[arg(long, short, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(archive_file))]
        output: PathBuf,
        /// Write over a file that exists
        #[arg(long)]
        force: bool,
        /// In which form
        #[arg(long, value_enum, value_name = "FORM", default_value_t = RunsForm::Archive)]
        format: RunsForm,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Take runs from archives, or marks from what --json printed
    #[command(after_help = "\
Examples:
  drivescope runs import my-ssd.tar.gz
  drivescope runs import theirs.json")]
    Import {
        /// Archives (.tar.gz) or documents (.json)
        #[arg(required = true)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        place: PlaceArgs,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Make the index anew from the runs' directories
    #[command(after_help = "\
Examples:
  drivescope runs reindex
  drivescope runs reindex --runs-dir /mnt/usb/runs")]
    Reindex {
        #[command(flatten)]
        place: PlaceArgs,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Forms that runs are exported in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunsForm {
    /// Whole records (.tar.gz), which `runs import` takes
    Archive,
    /// A mark as fio's json+: for fio's own tools, fio-plot, and `import`
    FioJson,
}

/// Where runs are kept.
#[derive(Clone, Debug, Default, Args)]
pub struct PlaceArgs {
    /// Directory of recorded runs [default: $DRIVESCOPE_RUNS_DIR, else
    /// $XDG_DATA_HOME/drivescope/runs, else ~/.local/share/drivescope/runs]
    #[arg(long, value_name = "DIR", help_heading = "Record")]
    pub runs_dir: Option<PathBuf>,
}

impl PlaceArgs {
    /// The flag again, with a space before it, for a command that is told to the user.
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
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "no_record")]
    pub keep_samples: Option<SamplesName>,
    /// The run that this one is a part of. A survey gives it to its parts.
    #[arg(long, hide = true, value_name = "RUN", conflicts_with = "no_record")]
    pub part_of: Option<String>,
}

/// What is recorded, and what a record is gone on with.
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
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SamplesName {
    /// Apache Parquet: small, for DuckDB, pandas, R
    Parquet,
    /// Comma-separated text
    Csv,
}

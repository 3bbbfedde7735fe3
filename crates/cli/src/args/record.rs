//! Flags about recorded runs.

use std::path::PathBuf;

use block::EngineChoice;
use clap::builder::{PathBufValueParser, TypedValueParser as _};
use clap::{Args, Subcommand, ValueEnum};
use views::fio::Repetition;

use super::{ConsentArgs, KeepArgs, OutputArgs, PlaceArgs, archive_file, named, share};

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
without drivescope; runs list shows their place. RUN is a run's id, the
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
  drivescope runs export last --format fio-json --output my-ssd.json
  drivescope runs export last --format fio-json --output my-ssd/
                                           a file for each test, for fio-plot
  drivescope runs export last --format fio-json --run all -o my-ssd/")]
    Export {
        /// The runs [default: all]
        #[arg(value_name = "RUN")]
        runs: Vec<String>,
        #[command(flatten)]
        place: PlaceArgs,
        /// Output file; - for standard output; in fio's form also a directory, for
        /// a file per test
        #[arg(long, short, value_name = "FILE", value_parser = PathBufValueParser::new().try_map(archive_file))]
        output: PathBuf,
        /// Write over a file that exists
        #[arg(long)]
        force: bool,
        /// In which form
        #[arg(long, value_enum, value_name = "FORM", default_value_t = RunsForm::Archive)]
        format: RunsForm,
        /// In fio's form, which of a test's runs: median, best, a number from 1, or
        /// all, each in a directory of its own
        #[arg(long = "run", value_name = "WHICH", default_value = "median", value_parser = repetition)]
        repetition: Repetitions,
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
    /// Rebuild the index from the runs' directories
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

/// Runs of each test that are exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetitions {
    /// Each.
    All,
    /// One.
    One(Repetition),
}

fn repetition(text: &str) -> Result<Repetitions, String> {
    Ok(match text {
        "all" => Repetitions::All,
        "median" => Repetitions::One(Repetition::Median),
        "best" => Repetitions::One(Repetition::Best),
        number => match number.parse() {
            Ok(number) if number > 0 => Repetitions::One(Repetition::Number(number)),
            _ => return Err("expected median, best, all or a number from 1".to_owned()),
        },
    })
}

/// Forms that runs are exported in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunsForm {
    /// Whole records (.tar.gz), which `runs import` takes
    Archive,
    /// A mark as fio's json+: for fio's own tools, fio-plot, and `import`
    FioJson,
}
